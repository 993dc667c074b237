"""The gate that couples neighbouring data sets: exact samples of the privacy loss.

Every private value carries its value on the data set D and on many neighbours D'_1, D'_2, ... side by
side. A release is drawn once, under D, and the logarithm of its density ratio to each neighbour is
added to that neighbour's loss: after a run, ``loss[j]`` holds exact samples, one per lane, of the
privacy-loss random variable ``ln P_D(releases) / P_D'_j(releases)`` of everything released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant.gates.assuming import Assuming
from accountant.gates.gate import Mask
from accountant.gates.lineage import RecordId
from accountant.gates.movement import distance, excess
from accountant.gates.private import Private
from accountant.gates.private_gate import PrivateGate
from accountant.gates.private_sums import PrivateSums
from accountant.gates.random_streams import RandomStream, stream_generator
from accountant.gates.release import DrawOutput, check_owner, check_release, sample, split_functions
from accountant.gates.simulation import lane_randomness
from accountant.place import Place, calling_place
from mechanisms import (
    Domain,
    LaneStreams,
    Mechanism,
    NumpyNoise,
    PostProcessed,
)
from mechanisms.domains.domain import own_copy
from mechanisms.domains.float_bounds import grid_of
from mechanisms.parameters import ParameterError


@dataclass(frozen=True, slots=True)
class Divergence:
    """A public value that differs between neighbours, or a movement beyond the declared bound.

    Attributes
    ----------
    kind
        ``"declassified"`` or ``"sensitivity"`` or ``"stability"``.
    where
        The line.
    neighbour
        The first neighbour (index into the losses) that shows it.
    share
        The share of lanes that show it for that neighbour.
    message
        The difference in words.
    """

    kind: str
    where: Place
    neighbour: int
    share: float
    message: str


class Coupled(Assuming, PrivateGate):
    """A gate that runs D and its neighbours on the same released values.

    Parameters
    ----------
    seed, lanes
        As for `Simulation`.
    neighbours
        The number of neighbours of D.

    Attributes
    ----------
    loss
        Shape (neighbours, lanes): the privacy loss of all releases so far, ``inf`` after a
        declassified value that differs.
    hidden
        Shape (neighbours, lanes): where a declassified value that is not itself shown differed, so that the
        loss depends on the code's use of it.
    more_than_seen
        True if a function followed a mechanism's own output: the loss is that of the output, which shows at least as
        much as the function's value.
    rests_on_word
        True if a mechanism's densities, from which the loss is computed, rest on an assumption.
    drew
        True if anything of `random`, of a copy or of a generator that it spawned may have been drawn before the last
        release.
    divergences
        One entry per line of code and kind, the first time it shows.
    """

    def __init__(self, seed: int | np.random.SeedSequence, lanes: int, neighbours: int) -> None:
        self.lanes = lanes
        self.neighbours = neighbours
        self._noise_streams = lane_randomness(seed, lanes, 0, RandomStream.NOISE)
        self._noise = NumpyNoise(self._noise_streams)
        self._random: _OwnGenerator | _OwnStreams = (
            _OwnGenerator(stream_generator(seed, RandomStream.OWN_DRAWS, 0).bit_generator)
            if lanes == 1
            else _OwnStreams(seed, lanes, key=(RandomStream.OWN_DRAWS,))
        )
        self.loss: npt.NDArray[np.float64] = np.zeros((neighbours, lanes))
        self.hidden: npt.NDArray[np.bool_] = np.zeros((neighbours, lanes), dtype=bool)
        self.more_than_seen = False
        self.rests_on_word = False
        self.drew = False
        self._undrawn = _state(self._random)
        self._loss_before: npt.NDArray[np.float64] | None = None
        self._divergences: dict[tuple[str, Place], Divergence] = {}

    @property
    def divergences(self) -> Sequence[Divergence]:
        """The differences between neighbours that must not occur, in order of appearance."""
        return list(self._divergences.values())

    @property
    def loss_before_draws(self) -> npt.NDArray[np.float64]:
        """The loss of the releases that came before anything of `random` was drawn.

        `loss` is that of the releases together with the draws. An adversary that does not see the draws sees the mean
        over them, which reveals less; the releases before them it sees in full.
        """
        return self.loss if self._loss_before is None else self._loss_before

    def private(self, values: npt.ArrayLike, domain: Domain, record: RecordId) -> Private:
        """Let one round's data in, side by side.

        Parameters
        ----------
        values
            Shape (1 + neighbours, lanes, n), or (1, lanes, n) where all neighbours agree with D.
        domain, record
            As for `Gate.private`.

        Raises
        ------
        DomainError
            If a value lies outside the domain.
        ParameterError
            If the number of data sets or lanes is not the gate's.
        """
        self.check_open()
        array = grid_of(domain).onto(np.asarray(domain.check(own_copy(values, "values"), "values")))
        allowed = [(worlds, self.lanes, *domain.shape) for worlds in (1 + self.neighbours, 1)]
        if array.shape not in allowed:
            raise ParameterError(f"values of shape {array.shape}: must be {allowed[0]} or {allowed[1]}")
        return Private(self, array.reshape(array.shape[0], self.lanes, -1), domain=domain)

    def release(
        self, mechanism: Mechanism, private: Private | PrivateSums, where: Mask | None = None
    ) -> npt.NDArray[Any]:
        """Draw under D, and add the log density ratio to every neighbour's loss; see `more_than_seen`."""
        own, private, where = check_release(self, mechanism, private, where)
        self.assume(*own.assumptions)
        self.rests_on_word |= bool(own.assumptions)
        values = private._values
        mechanism, published, unseen = _with_stored_outputs(own.mechanism)
        through = None
        if values.shape[0] > 1:
            self._note_draws()
            through = self._other_draw(mechanism, values if where is None else values[:, where])
        outputs = drawn = sample(
            self, published, values[0].copy(), where, self._noise, self._noise_streams, through=through
        )
        if unseen:
            drawn, self.more_than_seen = unseen[0], True
        if values.shape[0] > 1:
            moved = distance(values[1:], values[0], categorical=private._categories > 0)
            self._check_movement(mechanism, moved if where is None else moved * where, calling_place())
            if where is not None:
                drawn, values = drawn.ravel() if unseen else drawn[..., where], values[:, where]
            with np.errstate(divide="ignore", invalid="ignore"):
                under_d = mechanism.log_density(drawn, values[0])
                ratios = under_d - mechanism.log_density(drawn, values[1:])
                if where is None:
                    self.loss += ratios.sum(axis=-1)
                else:
                    np.add.at(self.loss.T, np.nonzero(where)[0], ratios.T)
        return outputs

    def declassify(
        self, private: Private | PrivateSums, reason: str, *, shown: bool = True
    ) -> npt.NDArray[Any]:
        """Publish D's value; neighbours on which it differs get an infinite loss."""
        self.check_open()
        check_owner(self, private)
        values = private._values
        if values.shape[0] > 1:
            self._note_draws()
            differs = (values[1:] != values[0]).any(axis=-1)
            self.loss[differs] = np.inf
            if not shown:
                self.hidden |= differs
            self._note(
                "declassified",
                differs,
                calling_place(),
                f"{reason}: the published value differs between neighbours",
            )
        published: npt.NDArray[Any] = values[0].copy()
        return published

    def check_stability(self, values: npt.NDArray[Any], results: npt.NDArray[Any], stability: float) -> None:
        """Check a map's declared stability on every neighbour."""
        if values.shape[0] > 1:
            moved_in = np.abs(values[1:] - values[0]).sum(axis=-1)
            moved_out = np.abs(results[1:] - results[0]).sum(axis=-1)
            broken = moved_out > stability * moved_in * (1 + 1e-12) + 1e-12
            self._note(
                "stability",
                broken,
                calling_place(),
                f"a map declared with stability {stability:g} moved its result by "
                f"{moved_out.max():g} when one record moved its input by {moved_in.max():g}",
            )

    def _other_draw(self, mechanism: Mechanism, worlds: npt.NDArray[Any]) -> DrawOutput | None:
        """Return a function that draws a release in place of its mechanism, or None; gates with other laws have one.

        Parameters
        ----------
        mechanism
            The mechanism without the functions that follow it.
        worlds
            The released values of each data set, D first.
        """
        return None

    def _note_draws(self) -> None:
        """Note, before a release, that the learner's own randomness was drawn from.

        Draws of a copy, or of a generator that it spawned, leave no trace: that there is one counts as a draw.
        """
        if not self.drew and (self._random.copied or _state(self._random) != self._undrawn):
            self.drew, self._loss_before = True, self.loss.copy()

    def _check_movement(self, mechanism: Mechanism, moved: npt.NDArray[Any], place: Place) -> None:
        broken, by = excess(moved, mechanism.sensitivity)
        self._note(
            "sensitivity",
            broken,
            place,
            f"one record moved the value of this release by {by} that its {type(mechanism).__name__} is "
            "calibrated for",
        )

    def _note(self, kind: str, shown: npt.NDArray[np.bool_], place: Place, message: str) -> None:
        if (kind, place) not in self._divergences and shown.any():
            shares = shown.mean(axis=-1)
            neighbour = int(np.argmax(shares))
            self._divergences[kind, place] = Divergence(
                kind, place, neighbour, float(shares[neighbour]), message
            )


class _CopyNotes:
    """A mixin of randomness that notes if it is copied or pickled."""

    copied = False

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.copied = True
        return super().__reduce_ex__(protocol)


class _OwnGenerator(_CopyNotes, np.random.Generator):
    """A learner's randomness in one lane."""


class _OwnStreams(_CopyNotes, LaneStreams):
    """A learner's randomness in many lanes."""


def _state(randomness: _OwnGenerator | _OwnStreams) -> Any:
    """Return the state of a gate's randomness, which every draw changes, and the number of generators it spawned."""
    if isinstance(randomness, LaneStreams):
        return randomness.state()
    seeds = randomness.bit_generator.seed_seq
    return randomness.bit_generator.state, getattr(seeds, "n_children_spawned", 0)


def _with_stored_outputs(mechanism: Mechanism) -> tuple[Mechanism, Mechanism, list[npt.NDArray[Any]]]:
    """Return a mechanism without the functions that follow it, the one to publish through, and a list of outputs.

    The one to publish through is the given mechanism; it also appends the output before the functions to the list.
    """
    unseen: list[npt.NDArray[Any]] = []
    inner, function = split_functions(mechanism)
    if function is None:
        return mechanism, mechanism, unseen

    def keep(output: npt.NDArray[Any]) -> Any:
        unseen.append(np.array(output))  # a copy: the functions may work in place
        return function(output)

    return inner, PostProcessed(inner, keep), unseen
