"""Upper bounds on the communication of distributed linear learners' clients, as formulas.

In each of P phases, each of U_l clients sends a real number for every action of the phase's support, S at most; phase l
has 2^l rounds at least. Where every play has a client of its own, that one sends a number.

*Bits.* In the shuffle model n clients send g + b bits for each of s numbers (`mechanisms.ShuffledMean`). Calibrated are
``g = ceil(2 mu sqrt(n / s))`` and b, which is searched for; but the proxy of the noise, ``(b + 1) / (g^2 n)``, is at
most ``(1.3)^2`` times the central one, ``4 s / (mu n)^2``, wherever the learner's theorem applies. So all clients of a
phase send at most ``n G + c G^2`` bits, ``G = 2 mu sqrt(n s) + s`` and ``c = 4 (1.3 / mu)^2``: it rises in s. With a
client for each play it is that of each of at most ``S P`` batches of n plays, T in all, with s = 1: summed by ``sum
n^(3/2) <= T^(3/2)`` and ``sum sqrt(n) <= sqrt(S P T)``. The published protocols state g and b themselves
(`ShuffledMean.vector_as_printed`, `scalar_as_printed`); here each is rounded up by adding 1, as the terms then rise in
s, and are summed in the same way.

>>> str(REALS["dp-dpe-central"])
'S*Sum(ceiling(2**(alpha*l) - 1/1000000000), (l, 1, FloorLog2(T + 2) - 1))'
"""

from __future__ import annotations

import math

import sympy as sp

from algorithms.linear.linear_phases import SHUFFLED
from algorithms.theory.linear_regret import LINEAR_BOUNDS, alpha, shuffles_well, support
from algorithms.theory.regret_bound import FloorLog2, Instance, T, delta, epsilon, mu

_l = sp.Symbol("l", integer=True, positive=True)
_phases = FloorLog2(T + 2) - 1
_clients = sp.ceiling(2 ** (alpha * _l) - sp.Rational(1, 10**9))
_phased = support * sp.Sum(_clients, (_l, 1, _phases))

REALS: dict[str, sp.Expr] = {
    f"{prefix}{name}": _phased if "dpe" in name else T
    for prefix in ("", "published/")
    for name in ("dpe", "dp-dpe-central", "dp-dpe-local", "pe", "dp-pe-central", "dp-pe-local")
}
"""The real numbers that all clients send together, at most, by the learner's registered name."""

_noisy = 4 * sp.Rational(SHUFFLED.numerator, SHUFFLED.denominator) ** 2 / mu**2
_levels = 2 * mu * sp.sqrt(_clients * support) + support
_batches = support * sp.Max(1, FloorLog2(sp.floor(T / support + 1)) + 1)
_shrunk = epsilon / (18 * sp.sqrt(sp.log(2 / delta)))
_logarithm = sp.log(4 * support / delta)
_printed_levels = (
    sp.Max(_shrunk * sp.sqrt(_clients) / (6 * sp.sqrt(5 * _logarithm)), sp.sqrt(support), 10) + 1
)
_printed_noisy = 720 * sp.log(2 / delta) / epsilon**2
_unequal = 4 * T + 4 * sp.sqrt(_batches * T) + _batches  # at least the sum of (2 sqrt(n) + 1)^2

BITS: dict[str, sp.Expr] = {
    "dp-dpe-shuffle": sp.Sum(_clients * _levels + _noisy * _levels**2, (_l, 1, _phases)),
    "dp-pe-shuffle": T * (2 * mu * sp.sqrt(T) + 1)
    + _noisy * (4 * mu**2 * T + 4 * mu * sp.sqrt(_batches * T) + _batches),
    "published/dp-dpe-shuffle": sp.Sum(
        support * _clients * (_printed_levels + 1)
        + 180 * support * _printed_levels**2 * _logarithm / _shrunk**2,
        (_l, 1, _phases),
    ),
    "published/dp-pe-shuffle": T * (2 * sp.sqrt(T) + 2) + _printed_noisy * _unequal,
}
"""The bits that all clients send together, at most, by the learner's registered name."""


def formula(learner: str) -> str:
    """Return a learner's formula, in the symbols of its bound; empty if there is none."""
    return str(REALS.get(learner) or BITS.get(learner) or "")


def most_sent(learner: str, instance: Instance) -> dict[str, float]:
    """Return the reals or bits that clients send at most; nothing for learners and settings without a formula."""
    if int(instance.settings.get("fixed_clients", 0)):
        return {}
    if learner in REALS:
        return {"reals": LINEAR_BOUNDS[learner].value_of(REALS[learner], instance)}
    fewest = math.ceil(2.0 ** float(instance.settings.get("alpha", 0.8))) if "dpe" in learner else 1
    if learner not in BITS or not (learner.startswith("published/") or shuffles_well(instance, fewest)):
        return {}
    return {"bits": LINEAR_BOUNDS[learner].value_of(BITS[learner], instance)}
