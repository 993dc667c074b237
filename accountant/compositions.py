"""Composition theorems by name, so that a saved ledger finds its own."""

from __future__ import annotations

from .advanced import AdvancedComposition
from .composition import BasicComposition, Composition
from .gaussian_composition import GaussianComposition
from .plan import PlannedComposition
from .renyi import RenyiComposition
from .zero_concentrated import ZeroConcentratedComposition

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
