"""Charges, limits, guarantees and what is left, of every composition theorem, as recorded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from syrupy.assertion import SnapshotAssertion

from accountant import (
    AdvancedComposition,
    BasicComposition,
    Budget,
    GaussianComposition,
    RenyiComposition,
    ZeroConcentratedComposition,
)
from accountant.filters.composition_theorem import Composition, UnsupportedCharge
from mechanisms import (
    Binomial,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    RandomizedResponse,
    Sensitivity,
)

UNIT = Sensitivity(1, 1, 1)
THEOREMS: dict[str, Composition] = {
    "basic": BasicComposition(),
    "advanced": AdvancedComposition(failures=0.1),
    "zCDP": ZeroConcentratedComposition(failures=0.1),
    "Gaussian": GaussianComposition(failures=0.1),
    "Renyi": RenyiComposition(failures=0.1),
    "Renyi, one order": RenyiComposition(orders=(8.0,)),
    "Renyi, an order expected": RenyiComposition(orders=(2.0, 8.0, 32.0), expected=8.0, failures=0.1),
}
MECHANISMS: dict[str, tuple[Mechanism, Sensitivity]] = {
    "Laplace": (Laplace(scale=20.0, sensitivity=Sensitivity(2, 2, 1)), UNIT),
    "response": (
        RandomizedResponse(size=3, epsilon=0.05),
        RandomizedResponse(size=3, epsilon=0.05).sensitivity,
    ),
    "discrete Laplace": (DiscreteLaplace(scale=5.0, sensitivity=UNIT), UNIT),
    "Gaussian": (Gaussian(sigma=20.0, sensitivity=UNIT, delta=1e-9), UNIT),
    "Gaussian that moves little": (Gaussian(sigma=20.0, sensitivity=UNIT), Sensitivity(0.5, 0.5, 0.5)),
    "binomial": (Binomial(trials=400, shift=1, delta=1e-9), UNIT),
}
BUDGETS = (Budget(1.0, 1e-6), Budget(4.0, 1e-2), Budget(math.inf, 1e-6), Budget.unlimited())


def shown(value: object) -> str:
    if isinstance(value, Fraction | float):
        return f"{float(value):.9g}"
    return (
        "none" if value is None else " ".join(map(shown, value)) if isinstance(value, tuple) else str(value)
    )


def stated(theorem: Composition) -> Iterator[str]:
    """Give every answer of a theorem, a line each; a refusal is one."""
    units = [each.bit_length() for each in getattr(theorem, "denominators", ())]
    yield f"{theorem.name} {theorem.settings()} {units}"
    total = theorem.zero_spend
    for name, (mechanism, moved) in MECHANISMS.items():
        try:
            cost = theorem.charge(mechanism, moved)
        except UnsupportedCharge as refusal:
            yield f"{name}: {refusal}"
            continue
        yield f"{name}: {cost}: {shown(cost.values)}"
        total = theorem.amount(
            tuple(3 * one + more for one, more in zip(cost.values, total.values, strict=True))
        )
    spends = {"nothing": theorem.zero_spend, "three of each": total, "all": theorem.infinite_spend}
    for budget in BUDGETS:
        yield f"{budget}, boxes {shown(tuple(map(tuple, theorem.boxes(budget))))}"  # type: ignore[attr-defined]
        for name, spent in spends.items():
            left = theorem.remaining_spend(spent, budget)
            yield f"  {name}: fits {theorem.fits(spent, budget)}, left {shown(left.values)}"
            yield f"    guarantees {shown(theorem.guarantee(spent, budget).values)}"
        for delta in (1e-9, 1e-2):
            try:
                yield f"  promises {shown(theorem.promise(budget, delta).upper)} at {delta:g}"
            except UnsupportedCharge as refusal:
                yield f"  promises nothing: {refusal}"
    for name, spent in spends.items():
        for delta in (1e-12, 1e-2):
            try:
                yield f"odometer, {name}, {delta:g}: {shown(theorem.odometer(spent, delta).values)}"
            except UnsupportedCharge as refusal:
                yield f"odometer, {name}, {delta:g}: {refusal}"
    ordered = list(spends.values())
    yield f"exceeds {[theorem.exceeds(one, other) for one in ordered for other in ordered]}"


@pytest.mark.parametrize("name", THEOREMS)
def test_what_a_theorem_states_is_as_recorded(name: str, snapshot: SnapshotAssertion) -> None:
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    assert "\n".join(stated(THEOREMS[name])) == snapshot
