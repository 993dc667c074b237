"""The gate that only samples: many independent lanes, no ledger."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from accountant.gates.gate import Mask, Value
from accountant.gates.lineage import RecordId
from accountant.gates.private import Private, refuse_read
from accountant.gates.private_gate import PrivateGate
from accountant.gates.private_sums import PrivateSums
from accountant.gates.random_streams import RandomStream, stream_generator
from accountant.gates.release import GateMechanism, check_owner, check_release, checked_mechanism, sample
from accountant.place import Place
from mechanisms import Assumption, Domain, LaneStreams, Mechanism, NumpyNoise, Randomness
from mechanisms.domains.float_bounds import grid_of


class Simulation(PrivateGate):
    """A gate that samples the same noise as any other and tracks nothing.

    Samples guarantee nothing, so nothing is examined or assumed for them. Mechanisms and transformations are used as
    they are given.

    Parameters
    ----------
    seed
        An int or SeedSequence. Lanes are drawn in blocks with a seed each, so a lane's outcome depends
        on `seed` and its own number only.
    lanes
        The number of independent runs: a multiple of the block size, or 1 for code that cannot work on many.
    first_block
        The number of the first lane's block, where a run is split over workers.
    transcript
        Keep the outputs of every release and declassification, for auditors.
    permissive
        Answer reads of raw values instead of refusing them: for auditing code that leaks.

    Attributes
    ----------
    published
        With `transcript`: for every release and declassification, the record that entered last before it
        and the public array, NaN where nothing was released.
    """

    def __init__(
        self,
        seed: int | np.random.SeedSequence,
        lanes: int,
        *,
        first_block: int = 0,
        transcript: bool = False,
        permissive: bool = False,
    ) -> None:
        self.lanes = lanes
        self._record: RecordId | None = None
        self._noise_streams = lane_randomness(seed, lanes, first_block, RandomStream.NOISE)
        self._noise = NumpyNoise(self._noise_streams)
        self._random = lane_randomness(seed, lanes, first_block, RandomStream.OWN_DRAWS)
        self._permissive = permissive
        self.published: list[tuple[RecordId | None, npt.NDArray[Any]]] | None = [] if transcript else None

    def private(self, values: npt.ArrayLike, domain: Domain, record: RecordId) -> Private:
        """Let data in, unchecked: simulated data are in their domain by construction."""
        self.check_open()
        given = np.asarray(values)
        array = grid_of(domain).onto(given)
        if array is given:  # nothing to round: the caller may use its buffer again
            array = array.copy()
        self._record = record
        return Private(self, array.reshape(1, self.lanes, -1), domain=domain)

    def release(
        self, mechanism: Mechanism, private: Private | PrivateSums, where: Mask | None = None
    ) -> npt.NDArray[Any]:
        """Sample the mechanism; see `Gate.release`."""
        own, private, where = check_release(self, mechanism, private, where)
        values = private._values[0].copy()
        outputs = sample(self, own.mechanism, values, where, self._noise, self._noise_streams)
        if self.published is not None:
            sent = outputs if where is None else np.where(where, outputs, np.nan)
            self.published.append((self._record, sent))
        return outputs

    def declassify(
        self, private: Private | PrivateSums, reason: str, *, shown: bool = True
    ) -> npt.NDArray[Any]:
        """Return the value as it is."""
        self.check_open()
        check_owner(self, private)
        values: npt.NDArray[Any] = private._values[0].copy()
        if shown and self.published is not None:
            self.published.append((self._record, values))
        return values

    def examine(self, value: Value) -> tuple[Value, tuple[Assumption, ...]]:
        """Return the value as it is."""
        return value, ()

    def examine_mechanism(self, mechanism: Mechanism) -> GateMechanism:
        """Return the mechanism as it is, with its properties for releases."""
        return GateMechanism.of_mechanism(checked_mechanism(mechanism))

    def assume(self, *assumptions: Assumption) -> None:
        """Keep nothing."""

    def check_stability(self, values: npt.NDArray[Any], results: npt.NDArray[Any], stability: float) -> None:
        """Accept: nothing is known here."""

    def raw_read(self, private: Private, how: str, where: Place) -> npt.NDArray[Any]:
        """Refuse, or answer in permissive mode."""
        if not self._permissive:
            refuse_read(how, where)
        values: npt.NDArray[Any] = private._values[0]
        return values


def lane_randomness(
    seed: int | np.random.SeedSequence, lanes: int, first_block: int, stream: RandomStream
) -> Randomness:
    """Return a gate's randomness of one kind: streams of lane blocks, or one generator for a single lane."""
    if lanes != 1:
        return LaneStreams(seed, lanes, first_block, key=(stream,))
    return stream_generator(seed, stream, first_block)
