"""What every private learner releases of one record, with symbols for K, L and epsilon.

K is the size of a super arm (of a basis, of a list), L the number of arms. A plan says what one record is
part of at most; `privacy_proof` compares its cost with the learner's claim for all K, L and epsilon. The
runtime ledger of each learner is tested against the same plan.

>>> print(privacy_proof("published/dpucb-mat"))
the round-0 vector pays L*epsilon/K = 2, more than 1, at K = 1, L = 2, epsilon = 1
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from accountant.symbolic import (
    Above,
    Declassified,
    Proved,
    Refuted,
    SymbolicLaplace,
    SymbolicPlan,
    SymbolicResponse,
    SymbolicStep,
    Unknown,
    Values,
    Whole,
    prove,
)

if TYPE_CHECKING:
    import sympy as sp


@functools.cache
def symbols() -> tuple[sp.Symbol, sp.Symbol, sp.Symbol]:
    """Return K, L and epsilon."""
    import sympy

    size, arms, epsilon = sympy.symbols("K L epsilon", positive=True)
    return size, arms, epsilon


def _values() -> Values:
    size, arms, epsilon = symbols()
    return Values({size: Whole(1), arms: Whole(size), epsilon: Above(0)})


def _cucb_ldp1() -> SymbolicPlan:
    size, _, epsilon = symbols()
    sent = SymbolicStep(
        SymbolicLaplace(size / epsilon, coordinates=size),
        size,
        "each of at most K played outcomes is sent once",
    )
    return SymbolicPlan(_values(), {"one user": (sent,)}, "Chen et al. 2020, Algorithm 1")


def _cucb_ldp2() -> SymbolicPlan:
    _, _, epsilon = symbols()
    sent = SymbolicStep(SymbolicLaplace(1 / epsilon), 1, "the least-pulled played outcome is sent once")
    return SymbolicPlan(_values(), {"one user": (sent,)}, "Chen et al. 2020, Algorithm 2")


def _matroid_round() -> SymbolicStep:
    size, _, epsilon = symbols()
    return SymbolicStep(
        SymbolicLaplace(size / epsilon, coordinates=size),
        size,
        "each of the K outcomes enters one batch, whose sum is released once",
    )


def _matroid() -> SymbolicPlan:
    return SymbolicPlan(
        _values(), {"one round": (_matroid_round(),)}, "matroid bandits paper, Algorithms 2 and 3, repaired"
    )


def _cascade_ucb_rr() -> SymbolicPlan:
    size, _, epsilon = symbols()
    sent = SymbolicStep(SymbolicResponse(size + 1, epsilon), 1, "one symbol: the clicked position, or none")
    return SymbolicPlan(_values(), {"one user": (sent,)}, "cascading bandits paper, repaired")


def _matroid_as_printed() -> SymbolicPlan:
    size, arms, epsilon = symbols()
    noise = SymbolicLaplace(size / epsilon, coordinates=arms)
    return SymbolicPlan(
        _values(),
        {
            "the round-0 vector": (SymbolicStep(noise, arms, "line 2: one noisy value of every element"),),
            "one round": (SymbolicStep(noise, size, "each of the K outcomes enters one batch"),),
        },
        "matroid bandits paper, Algorithms 2 and 3",
    )


def _cascade_as_printed() -> SymbolicPlan:
    size, _, epsilon = symbols()
    return SymbolicPlan(
        _values(),
        {
            "one user": (
                SymbolicStep(Declassified("how many numbers are sent is the position of the click")),
                SymbolicStep(
                    SymbolicLaplace(size / epsilon, coordinates=size), size, "every examined position"
                ),
            ),
            "the round-0 vector": (SymbolicStep(Declassified("w_0 is used raw")),),
        },
        "cascading bandits paper, Algorithm 2",
    )


_PLANS: dict[str, Callable[[], SymbolicPlan]] = {
    "cucb-ldp1": _cucb_ldp1,
    "cucb-ldp2": _cucb_ldp2,
    "dpucb-mat": _matroid,
    "dpts-mat": _matroid,
    "cascade-ucb-rr": _cascade_ucb_rr,
    "published/dpucb-mat": _matroid_as_printed,
    "published/dpts-mat": _matroid_as_printed,
    "published/cascade-ucb-ldp-laplace": _cascade_as_printed,
}
PLANNED = tuple(_PLANS)
"""The registered names of learners with a plan: all that claim privacy."""


@functools.cache
def symbolic_plan(name: str) -> SymbolicPlan:
    """Return the plan of a learner by its registered name.

    Raises
    ------
    ValueError
        If no plan is known: the learner claims no privacy, or does not exist.
    """
    if name not in _PLANS:
        raise ValueError(f"name={name!r}: no plan is known; there are plans for {', '.join(PLANNED)}")
    return _PLANS[name]()


def privacy_proof(name: str) -> Proved | Refuted | Unknown:
    """Decide for all K, L and epsilon whether every record of a learner pays at most the epsilon it claims.

    Raises
    ------
    ValueError
        As `symbolic_plan`.
    """
    return prove(symbolic_plan(name), symbols()[2])
