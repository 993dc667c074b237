"""A test of local privacy by regret alone, against a lower bound (`algorithms.theory.lower_bounds`).

A learner is played on two instances of two arms that differ in one mean. A locally private one cannot do well on both:
if upper limits on both regrets fall below the two-point bound at the claimed epsilon, the claim is false, for any
messages of the learner. No view, mechanism or neighbouring data enter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from algorithms.learner import check_epsilon
from algorithms.theory.lower_bounds import two_point_bound
from algorithms.theory.regret_bound import Instance
from mechanisms.parameters import ParameterError
from verify.regret_claims.plain_problem import plain_problem
from verify.regret_claims.simulated_regret import check_numbers, simulated_regret
from verify.sampling.betting_means import mean_at_most


@dataclass(frozen=True)
class LocalPrivacyAudit:
    """The result of a test of local privacy by regret.

    Attributes
    ----------
    claim
        The epsilon of local privacy that was tested.
    gap, horizon, runs
        The gap of the two arms, the number of rounds of a run, and the number of runs.
    regrets
        Upper limits on the expected regret on either instance.
    least
        Least sum of both regrets of a learner that keeps the claim.
    error
        The probability that a true claim is called impossible, at most.
    """

    claim: float
    gap: float
    horizon: int
    runs: int
    regrets: tuple[float, float]
    least: float
    error: float

    @property
    def impossible(self) -> bool:
        """True if no learner of the claimed privacy has so little regret."""
        return sum(self.regrets) < self.least


def audit_local_privacy(
    make: type[Any],
    claim: float,
    *,
    epsilon: float = 1.0,
    gap: float = 0.3,
    horizon: int = 10_000,
    runs: int = 2048,
    seed: int = 0,
    error: float = 1e-4,
    **where: Any,
) -> LocalPrivacyAudit:
    """Ask whether a learner's regret is possible for one that is `claim`-locally private.

    Parameters
    ----------
    make
        The learner's class; it is to play one of two arms, or show one of two items.
    claim
        The epsilon of local privacy to be tested.
    epsilon
        The epsilon of the learner, if it takes one.
    gap
        D: means are (1/2, 1/2 - D), then (1/2, 1/2 + D); in (0, 1/2).
    horizon, runs, seed
        The horizon, number of runs and seed of the simulations.
    error
        The probability that a true claim is called impossible, at most.
    where
        Workers and store, as `algorithms.simulate.simulate` takes them; the answer does not depend on them.

    Raises
    ------
    ProblemError
        If the learner plays neither arms nor lists.
    ParameterError
        If a number is out of range.

    Examples
    --------
    >>> from algorithms import CUCB
    >>> audit_local_privacy(CUCB, 0.1, horizon=4000, runs=256).impossible
    True
    """
    check_numbers(epsilon=epsilon, horizon=horizon, runs=runs, seed=seed, error=error)
    check_epsilon(claim)
    if not 0 < gap < 0.5:
        raise ParameterError(f"gap = {gap!r}: must be a number above 0 and below 1/2")
    limits = []
    for number, sign in enumerate((-1.0, 1.0)):
        instance = Instance(plain_problem(make.family, [0.5, 0.5 + sign * gap]), epsilon, horizon)
        trace = simulated_regret(make, instance, runs=runs, seed=2 * seed + number, **where)
        limits.append(mean_at_most(trace.regret[-1], horizon * gap, error / 2))
    least = two_point_bound(horizon, gap, claim, limits[0] / gap)
    return LocalPrivacyAudit(claim, gap, horizon, runs, (limits[0], limits[1]), least, error)
