"""What the clients of distributed linear learners send at most, as formulas.

In each of P phases, each of U_l clients sends a real number for every action of the phase's support, S at most; phase l
has 2^l rounds at least. Where every play has a client of its own, that one sends a number. What the bits of the shuffle
model add up to has no formula here: how many there are is found numerically for each phase.

>>> str(COMMUNICATION["dp-dpe-central"])
'S*Sum(ceiling(2**(alpha*l) - 1/1000000000), (l, 1, FloorLog2(T + 2) - 1))'
"""

from __future__ import annotations

import sympy as sp

from algorithms.theory.linear_regret import LINEAR_BOUNDS, alpha, support
from algorithms.theory.regret_bound import FloorLog2, Instance, T

_l = sp.Symbol("l", integer=True, positive=True)
_phases = FloorLog2(T + 2) - 1
_phased = support * sp.Sum(sp.ceiling(2 ** (alpha * _l) - sp.Rational(1, 10**9)), (_l, 1, _phases))

COMMUNICATION: dict[str, sp.Expr] = {
    f"{prefix}{name}": _phased if "dpe" in name else T
    for prefix in ("", "published/")
    for name in ("dpe", "dp-dpe-central", "dp-dpe-local", "pe", "dp-pe-central", "dp-pe-local")
}
"""The real numbers that all clients send together, at most, by the learner's registered name."""


def most_reals(learner: str, instance: Instance) -> float | None:
    """Return the real numbers that clients send at most; None for learners and settings without a formula."""
    if learner not in COMMUNICATION or int(instance.settings.get("fixed_clients", 0)):
        return None
    return LINEAR_BOUNDS[learner].number(COMMUNICATION[learner], instance)
