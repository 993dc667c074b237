"""The share of a budget's δ that is declared, before anything is released, for releases that fail outright."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

from accountant.budget import Budget, Cost
from accountant.filters.composition_theorem import NumberLimits, UnsupportedCharge, implied_epsilon
from accountant.filters.spend import NamedNumbers, Spend
from mechanisms import Mechanism
from mechanisms.composition.enclosure import Bound
from mechanisms.parameters import ParameterError, real


@dataclass(frozen=True, slots=True)
class _DeltaSplit:
    """Two exact parts of a δ.

    Attributes
    ----------
    failures
        The largest sum of the releases' own δ.
    losses
        The δ for the joint loss of all releases that do not fail.
    """

    failures: Fraction
    losses: Fraction


@dataclass(frozen=True)
class DeclaredFailures(NamedNumbers):
    """Base class of the filters that add up numbers, δ among them, and split δ between failures and losses.

    A release with a δ_i of its own is, but for probability δ_i, one that the theorem has a cost for: an
    (ε_i, δ_i)-DP pair is a post-processing of one that gives everything away with probability δ_i and else is
    ε_i-DP (Kairouz, Oh & Viswanath 2015, Theorem 3.4; Murtagh & Vadhan 2016), approximate zCDP is defined so, and a
    loss that is infinite with probability δ_i is so by itself. The run fails if one of them does.

    The theorem's own bound is at most δ′ = δ - δ_f for the releases that do not fail, where δ_f, the part for failures,
    is `failures` times δ, declared with the theorem. While Σ δ_i <= δ_f always, δ_i chosen adaptively, the run is
    (ε, δ)-DP: tell the adversary, too, which release failed. Its gain is at most the probability that one did, which is
    E Σ δ_i <= δ_f, and else that of a run in which none does, at most δ′.

    No undeclared split can be better. To give the losses all δ that the failures have not used lets the outcome choose
    the split: the true δ of such a run is larger than the budget's by
    up to a factor of 2 (Gaussian DP, in the limit), 1.25 (zCDP), 1.21 (one Rényi order) or 1.04 (three). If the
    outcome may choose between splits (a_j, b_j), what a union bound proves, max a_j + Σ b_j <= δ, lies within the one
    declared split (max a_j, Σ b_j). A run of releases without loss might declare its split at the first release with
    one; that could gain what the declaration costs, 1 to 3 %, and no practical run begins so: it is not supported.

    Parameters
    ----------
    failures
        The share of the budget's δ for failures, in [0, 1). With 0, the default, releases that have a δ of their own
        are refused. Where there are some 0.1 is a good value: it costs 1 % of the ρ, Σ ε² or μ² that losses may sum
        to at δ = 1e-6 and 3 % at δ = 0.01; one half costs 6 % and 20 %.

    Raises
    ------
    ParameterError
        If it is not in that range.
    """

    failures: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        share = real("failures", self.failures)
        if not 0.0 <= share < 1.0:
            raise ParameterError(
                f"failures = {self.failures!r}: a share of the budget's delta for failures must be in [0, 1)"
            )
        object.__setattr__(self, "failures", share)

    def settings(self) -> dict[str, Any]:
        """Return the parameters as JSON-able data, exact to the last bit."""
        return {"failures": self.failures.hex()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Rebuild from `settings`; those of a file without a declared share have none for failures."""
        return cls(failures=float.fromhex(settings.get("failures", "0x0p+0")))

    def check(self, budget: Budget) -> None:
        """Raise `ValueError` for a budget that these theorems cannot guarantee."""
        if budget.delta == 0 and not math.isinf(budget.epsilon):
            raise ParameterError(
                f"budget = {budget}: the {self.name} guarantees no epsilon at delta = 0; give the budget a delta, or "
                "use basic composition"
            )

    def promise(self, budget: Budget, delta: float) -> Bound:
        """Return the epsilon at `delta` that (epsilon, delta)-DP of the budget implies."""
        return implied_epsilon(self.name, budget, delta)

    @abc.abstractmethod
    def _loss_limits(self, epsilon: float, losses: Fraction) -> NumberLimits:
        """Return the limit of each number but δ by itself, for a finite ε at the part of δ for losses."""

    def _limits(self, budget: Budget) -> NumberLimits:
        """Return the limit of each number by itself."""
        failed: NumberLimits = (self.failure_limit(budget),)
        limits: NumberLimits = (None,) * (len(self._names) - 1)
        if not limits_nothing(budget):
            limits = self._loss_limits(budget.epsilon, self.split(budget.delta).losses)
        return (*failed, *limits) if self._names[0] == "delta" else (*limits, *failed)

    @abc.abstractmethod
    def _epsilon(self, spent: Spend, losses: Fraction) -> float:
        """Return the ε that a total implies at the part of δ for losses; infinity if there is none."""

    def guarantee(self, spent: Spend, budget: Budget) -> Cost:
        """Return the ε that a total implies at the budget's δ, the declared share of it being for failures."""
        delta = _failed(spent)
        if budget.delta == 1.0:
            return Cost(Fraction(0), Fraction(1))
        split = self.split(budget.delta)
        if delta > split.failures:
            return Cost(None, max(Fraction(budget.delta), delta))
        epsilon = self._epsilon(spent, split.losses)
        return Cost(_epsilon_at(budget, epsilon, self.fits(spent, budget)), Fraction(budget.delta))

    def _rank(self, spent: Spend) -> tuple[Any, ...]:
        """Order totals by the first number, then by δ."""
        first = spent.values[0]
        return first is None, first or Fraction(0), _failed(spent)

    def split(self, delta: float) -> _DeltaSplit:
        """Return the declared parts of a δ."""
        return _split(self.failures, delta)

    def failure_limit(self, budget: Budget) -> Fraction | None:
        """Return the largest sum of the releases' own δ; None for no limit.

        Without a limit on ε it is all of δ: the loss of a run in which nothing failed is finite.
        """
        if budget.delta == 1.0:
            return None
        return Fraction(budget.delta) if math.isinf(budget.epsilon) else self.split(budget.delta).failures

    def paid_by_failures(self, mechanism: Mechanism, delta: float) -> Fraction:
        """Return the δ that a release takes of the share for failures.

        Raises
        ------
        UnsupportedCharge
            If there is none.
        """
        if delta > 0.0 and self.failures == 0.0:
            raise UnsupportedCharge(
                f"{type(mechanism).__name__} has delta = {delta:g} of its own, and no share of the budget's delta is "
                f"declared for that: use {type(self).__name__}(failures=0.1)"
            )
        return Fraction(delta)

    def failures_in_odometer(self, failed: Fraction, delta: float) -> _DeltaSplit:
        """Return the parts of the δ of an odometer.

        Raises
        ------
        UnsupportedCharge
            If more has been spent on failures than their part, or nothing is left for losses.
        """
        split = self.split(delta)
        if failed > split.failures:
            raise UnsupportedCharge(
                f"the releases alone have delta = {float(failed):g}, more than the declared share for failures, "
                f"{float(split.failures):g} of {delta:g}"
            )
        if split.losses <= 0:
            raise UnsupportedCharge(f"no bound holds at every moment with delta = {delta:g}")
        return split


def _failed(spent: Spend) -> Fraction:
    """Return the δ of a total."""
    delta = spent.values[spent.names.index("delta")]
    assert delta is not None
    return delta


@functools.lru_cache(maxsize=1024)
def _split(share: float, delta: float) -> _DeltaSplit:
    failures = Fraction(share) * Fraction(delta)
    return _DeltaSplit(failures, Fraction(delta) - failures)


def _epsilon_at(budget: Budget, epsilon: float, fits: bool) -> Fraction | None:
    """Return an ε that is implied at a budget's δ; None if it is infinite.

    What fits is within the budget: the inverse of a limit may end a little above it.
    """
    within = min(epsilon, budget.epsilon) if fits else epsilon
    return None if math.isinf(within) else Fraction(within)


def limits_nothing(budget: Budget) -> bool:
    """Return True if every loss is within the budget, so that failures alone count, if any do."""
    return math.isinf(budget.epsilon)
