"""Gates with a tape: they report every operation on private values to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accountant.gates.private import Private
    from accountant.gates.private_sums import PrivateSums
    from accountant.gates.taped import Tape


class OnTape:
    """Mixin of all gates: it reports the operations on private values to the gate's tape, if it has one."""

    _tape: Tape | None = None

    def on_tape(self, tape: Tape) -> None:
        """Attach a tape that records inputs and outputs from now on, or that replays them: for verifiers."""
        self._tape = tape

    def operates(self, value: Private | PrivateSums, *public: object) -> None:
        """Note an operation on a private value, with its public operands, before it."""
        if self._tape is not None:
            self._tape.note_operation(value, public)
