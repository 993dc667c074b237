"""Composition theorems by name, so that a saved ledger finds its own."""

from __future__ import annotations

from accountant.filters.advanced import AdvancedComposition
from accountant.filters.composition_theorem import BasicComposition, Composition
from accountant.filters.gaussian_composition import GaussianComposition
from accountant.filters.renyi import RenyiComposition
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from accountant.plans.plan import PlannedComposition

COMPOSITIONS: dict[str, type[Composition]] = {
    theorem.name: theorem
    for theorem in (
        BasicComposition,
        AdvancedComposition,
        ZeroConcentratedComposition,
        RenyiComposition,
        GaussianComposition,
        PlannedComposition,
    )
}
