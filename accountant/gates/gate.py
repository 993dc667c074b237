"""The gate: the interface through which a learner uses private data.

A learner talks to a gate and nothing else, so the same learner runs under every gate:

=============  =====================================================================================
`Accountant`   checks domain, sensitivity and trust, charges every record, refuses over budget
`Simulation`   samples noise only, in many independent lanes
`Coupled`      carries neighbouring data sets side by side and sums exact privacy losses
`Recorder`     runs code that holds raw data itself; `Replay` forces the same released values again
=============  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from accountant.gates.lineage import RecordId
from accountant.gates.private import Private
from accountant.gates.private_sums import PrivateSums
from accountant.place import Place
from mechanisms import Assumption, Domain, Mechanism, Randomness

if TYPE_CHECKING:
    from accountant.gates.release import GateMechanism

Mask = npt.NDArray[np.bool_]
"""The coordinates that take part: an array of truth values."""
Value = TypeVar("Value")


class Gate(Protocol):
    """The interface through which a learner uses private data."""

    @property
    def lanes(self) -> int:
        """The number of independent runs, the length of the leading axis."""

    @property
    def random(self) -> Randomness:
        """Data-independent randomness for the learner's own draws, shape (lanes, ...)."""

    def private(self, values: npt.ArrayLike, domain: Domain, record: RecordId) -> Private:
        """Let the data of one record in; from here on they are `Private`.

        Parameters
        ----------
        values
            Shape (lanes, *domain.shape), or domain.shape for a single lane.
        domain
            The domain of the values; its sensitivity is how far this record can move them.
        record
            The name of the record. The same name later means the same record; its losses add up.

        Raises
        ------
        DomainError
            If a value lies outside the domain.
        """

    def sums(self, size: int) -> PrivateSums:
        """Open `size` running private sums per lane."""

    def release(
        self, mechanism: Mechanism, private: Private | PrivateSums, where: Mask | None = None
    ) -> npt.NDArray[Any]:
        """Add the mechanism's noise to a private value and make the result public.

        Parameters
        ----------
        mechanism
            Acts on each coordinate independently.
        private
            Shape (lanes, n).
        where
            Optional public mask of shape (lanes, n): release these coordinates only; the others
            are 0 in the result, cost nothing and draw nothing.

        Returns
        -------
        ndarray
            The public outputs, shape (lanes, n).
        """

    def declassify(
        self, private: Private | PrivateSums, reason: str, *, shown: bool = True
    ) -> npt.NDArray[Any]:
        """Make a private value public as it is, at the price epsilon = infinity.

        For algorithms that are published without protection at this place; `reason` names the place
        in the publication and appears in every report. `shown` is False if the value itself is not sent out,
        but only used by code with visible effects (such as how many numbers a message holds).
        """

    def examine(self, value: Value) -> tuple[Value, tuple[Assumption, ...]]:
        """Return the object that is used in place of a mechanism, transformation or domain, and its assumptions.

        A gate whose results are guarantees uses a copy without other references
        (`mechanisms.assumptions.examine_value`); one that only samples uses the value as it is, and notes nothing.
        """

    def examine_mechanism(self, mechanism: Mechanism) -> GateMechanism:
        """Return the mechanism that is used in place of one, as `examine` does, and its properties for releases.

        Raises
        ------
        ParameterError
            If it is no mechanism.
        """

    def assume(self, *assumptions: Assumption) -> None:
        """Keep the unchecked assumptions of a release; a strict gate refuses."""

    def try_function(
        self, function: Callable[[Any], Any], values: npt.NDArray[Any], domain: Domain | None
    ) -> None:
        """Test that a declared function depends on nothing but its argument; only gates of a verifier do."""

    def operates(self, value: Private | PrivateSums, *public: object) -> None:
        """Note an operation on a private value, with its public operands, before it."""

    def close(self, why: str, where: Place) -> None:
        """Shut the gate: an error has revealed something about private data."""

    def check_open(self) -> None:
        """Raise `GateClosed` if the gate was shut."""

    def check_stability(self, values: npt.NDArray[Any], results: npt.NDArray[Any], stability: float) -> None:
        """Compare a map's declared stability with the known values (coupled gates know neighbours)."""

    def raw_read(self, private: Private, how: str, where: Place) -> npt.NDArray[Any]:
        """Answer an attempt to read a private value outside `release` and `declassify`."""
