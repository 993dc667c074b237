"""Gates for replaying a learner: the same released values again, on a neighbouring data set.

A `Taped` simulation keeps what every release and declassification made public. A `Retold` one answers the
same calls with what was taped, on other data. Whatever the learner then does differently flowed around its
gate: through attributes, closures, globals or caught errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant.gates.gate import Mask
from accountant.gates.private import Private
from accountant.gates.private_sums import PrivateSums
from accountant.gates.replay import Difference
from accountant.gates.simulation import Simulation
from accountant.place import Place, calling_place
from mechanisms import Mechanism


@dataclass(frozen=True, slots=True)
class Published:
    """One taped call: how, with which mechanism, where it was allowed, what came out, and the line."""

    how: str
    mechanism: Mechanism | None
    where: Mask | None
    outputs: npt.NDArray[Any]
    place: Place


class Taped(Simulation):
    """A simulation that keeps every public value, in order."""

    def __init__(self, seed: int | np.random.SeedSequence, lanes: int) -> None:
        super().__init__(seed, lanes)
        self.seed = seed
        self.tape: list[Published] = []

    def release(
        self, mechanism: Mechanism, private: Private | PrivateSums, where: Mask | None = None
    ) -> npt.NDArray[Any]:
        """Sample, and tape the outputs."""
        outputs = super().release(mechanism, private, where)
        mask = None if where is None else np.array(where)
        self.tape.append(Published("release", mechanism, mask, outputs.copy(), calling_place()))
        return outputs

    def declassify(
        self, private: Private | PrivateSums, reason: str, *, shown: bool = True
    ) -> npt.NDArray[Any]:
        """Publish the value, and tape it."""
        values = super().declassify(private, reason, shown=shown)
        self.tape.append(Published("declassify", None, None, values.copy(), calling_place()))
        return values


class Retold(Simulation):
    """A simulation that answers every call with what was taped.

    Attributes
    ----------
    difference
        The first call that differs from the tape, or None.
    """

    def __init__(self, seed: int | np.random.SeedSequence, lanes: int, tape: list[Published]) -> None:
        super().__init__(seed, lanes)
        self._tape = tape
        self._position = 0
        self.difference: Difference | None = None

    def release(
        self, mechanism: Mechanism, private: Private | PrivateSums, where: Mask | None = None
    ) -> npt.NDArray[Any]:
        """Return the taped outputs."""
        outputs = super().release(mechanism, private, where)
        return self._retell("release", mechanism, where, outputs)

    def declassify(
        self, private: Private | PrivateSums, reason: str, *, shown: bool = True
    ) -> npt.NDArray[Any]:
        """Return the taped values."""
        return self._retell("declassify", None, None, super().declassify(private, reason, shown=shown))

    def _retell(
        self, how: str, mechanism: Mechanism | None, where: Mask | None, own: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        place = calling_place()
        if self._position >= len(self._tape):
            self._note("more-calls", place, f"on a neighbouring data set this line makes another {how}")
            return own
        taped = self._tape[self._position]
        self._position += 1
        same_mask = (where is None) == (taped.where is None) and (
            where is None or taped.where is None or np.array_equal(where, taped.where)
        )
        if (taped.how, taped.place) != (how, place):
            self._note("place", place, f"on D the same call is the {taped.how} at {taped.place}")
        elif taped.mechanism != mechanism:
            self._note("mechanism", place, f"the mechanism is {mechanism}; on D it is {taped.mechanism}")
        elif not same_mask or taped.outputs.shape != own.shape:
            self._note("mask", place, "which values are released depends on raw data")
        return taped.outputs.copy()

    def finish(self) -> None:
        """Compare the number of calls, after the run."""
        if self._position < len(self._tape):
            missing = self._tape[self._position]
            self._note("fewer-calls", missing.place, "on a neighbouring data set this call is not made")

    def _note(self, kind: str, place: Place, message: str) -> None:
        if self.difference is None:
            self.difference = Difference(kind, place, message)
