"""Lower bounds on the regret of private learners.

The papers' are about ``liminf Reg / ln T`` of consistent learners: at a finite T, or for a learner that knows its
horizon, they contradict nothing, so they are shown and decide nothing. `two_point_bound` holds at every T for every
locally private learner, and decides.

>>> str(LOWER_BOUNDS["semi-bandit local, B_inf"].per_log)
'B_inf**2*(L - 1)/(64*Delta*(exp(epsilon) - 1)**2)'
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import sympy as sp

from algorithms.theory.regret_bound import B1, B, Delta, K, L, epsilon

p = sp.Symbol("p", positive=True)


@dataclass(frozen=True)
class _RegretLowerBound:
    """A lower bound on ``liminf Reg(T) / ln T`` of consistent learners.

    Attributes
    ----------
    per_log
        The bound, in epsilon, K, L, B_inf, B_1, Delta and p (the mean of the best arms); None where a source leaves
        its constant open.
    source, regime, instance
        The theorem, where it applies, and the instance that attains it.
    problem
        The instance as options of the commands, of moderate size; empty where a source leaves it open.
    printed, correction
        The statement of the paper where it differs, and its error.
    """

    per_log: sp.Expr | None
    source: str
    regime: str
    instance: str
    problem: str = ""
    printed: str = ""
    correction: str = ""


_EQUAL_GAPS = "--problem cascade --set items=8 --set positions=2 --set good=0.5 --set other=0.3"
_LISTS = (L - K) * (1 - p) ** (K - 1)
_clipped = sp.Min(4, sp.exp(2 * epsilon))

LOWER_BOUNDS: dict[str, _RegretLowerBound] = {
    "semi-bandit local, B_inf": _RegretLowerBound(
        B**2 * (L - 1) / (64 * (sp.exp(epsilon) - 1) ** 2 * Delta),
        "Chen et al. 2020, Theorem 5",
        "epsilon-LDP, consistent, 0 < Delta / B_inf < 0.35; with 128 epsilon^2 where epsilon <= 1/2",
        "one of m arms; Bernoulli, 1/2 on the best and 1/2 - Delta / B_inf elsewhere",
        "--problem top-k --set arms=6 --set size=1 --set good=0.5 --set other=0.3",
    ),
    "semi-bandit local, B_1": _RegretLowerBound(
        B1**2 * (L - K) * K / (64 * (sp.exp(epsilon) - 1) ** 2 * Delta),
        "Chen et al. 2020, Theorem 6",
        "epsilon-LDP, consistent, m / K whole, 0 < Delta / (B_1 K) < 0.35",
        "m / K disjoint paths of K identical weights; Bernoulli, 1/2 on the best path, 1/2 - Delta / (B_1 K) elsewhere",
        "--problem identical-paths --set paths=4 --set length=4 --set gap=0.8",
    ),
    "semi-bandit central, B_1": _RegretLowerBound(
        None,
        "Chen et al. 2020, Theorem 9",
        "epsilon-DP, m >= 2 K",
        "the best super arm, and K - 1 public arms of identical weight with each of m - 2 K + 1 private arms",
        "--problem public-arms --set arms=12 --set size=4 --set gap=0.2",
        printed="Omega(B_1^2 m K ln T / Delta + B_1 m K ln T / epsilon)",
        correction="the means of its instance are in no copy of the paper (here 1/2, and 1/2 - Delta for "
        "private arms); for B_inf the product form Omega(m B_inf^2 "
        "ln T / (epsilon Delta)) is refuted at K = 1, Delta = epsilon^2",
    ),
    "cascade local": _RegretLowerBound(
        _LISTS * (p - Delta) * (1 - p + Delta) / (2 * _clipped * (sp.exp(epsilon) - 1) ** 2 * Delta),
        "cascading bandits paper, Theorem 11, corrected",
        "epsilon-LDP, consistent",
        "w = p for K items, p - Delta for the others",
        _EQUAL_GAPS,
        printed="(L - K) p (1 - p)^K / (2 min(4, e^(2 epsilon)) (e^epsilon - 1)^2 Delta)",
        correction="d(p || p - Delta) <= Delta^2 / (p (1 - p)) is false for small p (p = .1, Delta = .09: .14 > .09); "
        "(p - Delta) (1 - p + Delta) is right",
    ),
    "cascade central": _RegretLowerBound(
        _LISTS / (200 * epsilon),
        "cascading bandits paper, Theorem 12; the constant of its proof",
        "epsilon-DP, consistent",
        "w = p for K items, p - Delta for the others",
        _EQUAL_GAPS,
        printed="Omega((L - K) (1 - p)^(K - 1) (ln T / Delta + ln T / epsilon))",
    ),
}
"""The papers' lower bounds by setting."""


def two_point_bound(horizon: int, gap: float, epsilon_value: float, plays: float) -> float:
    """Return a lower bound on the sum of an epsilon-LDP learner's regrets on two instances, at this horizon.

    Two Bernoulli arms, one of which is played and seen by a locally private message: means (1/2, 1/2 - D) and
    (1/2, 1/2 + D). Let A be that arm 2 is played in more than half of the rounds. Either instance loses D in half of
    them where A (its complement) holds, so by Bretagnolle and Huber

    ``Reg + Reg' >= (T D / 4) exp(-E[N_2] kl(1/2 - D tau, 1/2 + D tau))``, ``tau = tanh(epsilon / 2)``,

    since every epsilon-LDP message about a bit is a function of its randomized response, for all earlier messages.
    It decreases with ``E[N_2] = Reg / D``, so an upper bound on that is enough.

    Parameters
    ----------
    horizon
        T.
    gap
        D, in (0, 1/2).
    epsilon_value
        The claimed epsilon.
    plays
        E[N_2] on the first instance, or an upper bound on it.
    """
    shift = gap * math.tanh(epsilon_value / 2)
    divergence = 2 * shift * math.log((0.5 + shift) / (0.5 - shift))  # kl(1/2 - shift, 1/2 + shift)
    return horizon * gap / 4 * math.exp(-plays * divergence)
