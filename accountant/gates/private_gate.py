"""The parts that all gates of private values share: their randomness, running sums, and the reports to a tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from accountant.gates.closing import Closing
from accountant.gates.private_sums import PrivateSums
from mechanisms import Domain, Randomness

if TYPE_CHECKING:
    from accountant.gates.private import Private
    from accountant.gates.taped import Tape


class PrivateGate(Closing):
    """Base class of all gates of private values; it reports the operations on these to its tape, if it has one."""

    lanes: int
    _random: Randomness
    _tape: Tape | None = None

    @property
    def random(self) -> Randomness:
        """Data-independent randomness for the learner's own draws; neighbours share it."""
        return self._random

    def sums(self, size: int) -> PrivateSums:
        """Open `size` running private sums per lane."""
        return PrivateSums(self, self.lanes, size)  # type: ignore[arg-type]  # each subclass is a whole `Gate`

    def try_function(
        self, function: Callable[[Any], Any], values: npt.NDArray[Any], domain: Domain | None
    ) -> None:
        """Do nothing: a function is not called more often than its results are used."""

    def on_tape(self, tape: Tape) -> None:
        """Attach a tape that records inputs and outputs from now on, or that replays them: for verifiers."""
        self._tape = tape

    def operates(self, value: Private | PrivateSums, *public: object) -> None:
        """Note an operation on a private value, with its public operands, before it."""
        if self._tape is not None:
            self._tape.note_operation(value, public)
