"""The terms of an accountant's charges, which a ledger saves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accountant.budget import Budget
from accountant.compositions import COMPOSITIONS
from accountant.filters.composition_theorem import Composition
from accountant.trust import Trust
from mechanisms import Neighbouring
from mechanisms.parameters import ParameterError


@dataclass(frozen=True)
class Terms:
    """Budget, theorem, trust and strictness of an accountant.

    Attributes
    ----------
    budget
        The most that each record may lose in total.
    composition
        The theorem that adds up losses.
    trust
        The parties that see raw values.
    strict
        True if releases that rest on unchecked assumptions are refused.
    """

    budget: Budget
    composition: Composition
    trust: Trust
    strict: bool

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data, exact to the last bit."""
        return {
            "budget": self.budget.to_list(),
            "composition": self.composition.name,
            "settings": self.composition.settings(),
            "trust": self.trust.value,
            "neighbours": Neighbouring.REPLACE_ONE.value,
            "strict": self.strict,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Terms:
        """Return the terms that `to_dict` described.

        Raises
        ------
        ParameterError
            If the composition theorem is unknown, or the terms are for another neighbouring relation. Terms without
            the key are older, and for replacing a record: nothing else was ever accounted for.
        """
        if saved["composition"] not in COMPOSITIONS:
            raise ParameterError(
                f"composition = {saved['composition']!r}: must be one of {sorted(COMPOSITIONS)}"
            )
        relation = Neighbouring.from_name(saved.get("neighbours", Neighbouring.REPLACE_ONE))
        if relation is not Neighbouring.REPLACE_ONE:
            raise ParameterError(f"neighbours = {relation.value!r}: an accountant's must be 'replace one'")
        return cls(
            Budget.from_list(saved["budget"]),
            COMPOSITIONS[saved["composition"]].from_settings(saved.get("settings", {})),
            Trust(saved["trust"]),
            bool(saved.get("strict", False)),
        )
