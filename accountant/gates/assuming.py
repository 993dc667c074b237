"""Gates that collect the unchecked assumptions of their releases."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from accountant.gates.private import Private, refuse_read
from accountant.gates.release import GateMechanism, checked_mechanism
from accountant.place import Place, calling_place
from accountant.refusals import AssumptionRefused
from mechanisms import Assumption, AssumptionKind, Mechanism
from mechanisms.assumptions import examine_value


class Assuming:
    """Mixin of gates that give guarantees: it keeps each assumption once, in order, or refuses if strict."""

    strict: bool = False
    _assumed: tuple[Assumption, ...] = ()

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """The unchecked assumptions of this run, once each, in order of their first use."""
        return self._assumed

    examine = staticmethod(examine_value)

    def examine_mechanism(self, mechanism: Mechanism) -> GateMechanism:
        """Return a copy of the mechanism to which no caller has a reference, and its properties for releases."""
        return GateMechanism.of_mechanism(*self.examine(checked_mechanism(mechanism)))

    def assume(self, *assumptions: Assumption) -> None:
        """Keep assumptions that a release, a transformation or the gate itself rests on.

        Raises
        ------
        AssumptionRefused
            If the gate is strict.
        """
        for assumption in assumptions:
            if self.strict:
                raise AssumptionRefused(assumption, calling_place())
            if assumption not in self._assumed:
                self._assumed = (*self._assumed, assumption)

    def raw_read(self, private: Private, how: str, where: Place) -> npt.NDArray[Any]:
        """Refuse: values leave these gates through `release` only; no coupled run goes on with one that was read."""
        refuse_read(how, where)


def declared_stability(stability: float, place: Place) -> Assumption:
    """Return the assumption that a map has the stability that it declares."""
    message = f"a map has the stability {stability:g} that it declares"
    return Assumption(AssumptionKind.DECLARED_STABILITY, message, str(place))
