"""Bounds on a privacy loss from its Rényi divergences at several orders, by a mixture of supermartingales.

Let L be the loss of a run, D_α the sum of its releases' divergences of order α, chosen adaptively. Each
exp((α-1)(L - D_α)) is a supermartingale that starts at 1, and so is the mixture Σ w_α exp((α-1)(L - D_α)) for weights
w_α declared in advance with sum 1. Write φ(L) = δ Σ w_α exp((α-1)(L - D_α)).

- *At every moment* L stays below the root of φ(L) = 1, but for probability δ (Ville's inequality).
- *At the end* the run is (ε, δ)-DP if φ(L) >= 1 - e^{ε-L} for all L: then δ(ε) = E(1 - e^{ε-L})^+ <= E φ(L) <= δ. The
  least such ε is the maximum of L + ln(1 - φ(L)), a concave function, where φ + φ′ = δ Σ α w_α exp(...) = 1. With one
  order it is the ε of Canonne, Kamath & Steinke 2020, Proposition 12.

The order that is the best one in the end may depend on the releases: each term alone is the one of a union bound over
orders at shares w_α δ, and the sum is larger.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray

_SLACK = 1e-13  # covers the rounding of a few floating-point operations
_NEGLIGIBLE = -45.0  # logarithm: a term that is left out makes the bound larger, by less than the slack


@dataclass(frozen=True, slots=True)
class _Terms:
    """Terms exp(log_weight + slope (L - divergence)) of finite divergence."""

    slopes: FloatArray
    log_weights: FloatArray
    divergences: FloatArray

    @classmethod
    def from_divergences(
        cls,
        orders: Sequence[float],
        weights: Sequence[float],
        divergences: Iterable[float],
        delta: float,
    ) -> _Terms | None:
        if delta <= 0.0:
            return None
        rows = [
            (order - 1.0, math.log(weight) + math.log(delta * (1.0 - _SLACK)), size)
            for order, weight, size in zip(orders, weights, divergences, strict=True)
            if size < math.inf
        ]
        return cls(*np.array(rows).T) if rows else None

    def root(self, log_factors: FloatArray) -> tuple[float, float]:
        """Return L where the sum of the terms times factors is 1, and by how much it may be off.

        The logarithm F of the sum is convex, with a slope of at least the least one: from the right, Newton's steps go
        down to the root, and |F| over that slope bounds the distance.
        """
        weights = self.log_weights + log_factors
        at = float(np.min(self.divergences - weights / self.slopes))  # one term alone is 1 here
        for _ in range(100):
            logs = weights + self.slopes * (at - self.divergences)
            shares = np.exp(logs)
            total = float(shares.sum())
            step = math.log(total) * total / float(shares @ self.slopes)
            if not abs(step) > 1e-15 * (1.0 + abs(at)):
                break
            at -= step
        return at, abs(math.log(total)) / float(self.slopes.min())

    def without_negligible(self, at: float) -> _Terms:
        logs = self.log_weights + self.slopes * (at - self.divergences)
        keep = logs > logs.max() + _NEGLIGIBLE
        return _Terms(self.slopes[keep], self.log_weights[keep], self.divergences[keep])

    def slack(self, at: float) -> float:
        """Return the most by which rounded exponents move a bound: no more than moving every divergence so far."""
        return _SLACK * float(np.max(np.abs(self.log_weights) / self.slopes + abs(at) + self.divergences))


def epsilon_of_mixture(
    orders: Sequence[float], weights: Sequence[float], divergences: Iterable[float], delta: float
) -> float:
    """Return the ε of (ε, δ)-DP that divergences at these orders imply, rounded up; see the module.

    Parameters
    ----------
    orders
        Above 1.
    weights
        Positive, with sum 1 up to rounding.
    divergences
        One for each order; inf where none is known.
    delta
        Below 1; inf is returned for 0.
    """
    terms = _Terms.from_divergences(orders, weights, divergences, delta)
    if terms is None:
        return math.inf
    if not terms.divergences.all():  # divergence 0 at some order: no loss at all
        return 0.0
    at, _ = terms.root(np.log1p(terms.slopes))
    terms = terms.without_negligible(at)
    at, off = terms.root(np.log1p(terms.slopes))
    shares = np.exp(terms.log_weights + terms.slopes * (at - terms.divergences))
    rest = 1.0 - float(shares.sum())
    if rest <= 0.0:
        return math.inf
    tangent = abs(1.0 - float(shares @ terms.slopes) / rest) * off  # concave: it lies below its tangent
    return max(0.0, at + math.log(rest) + tangent + 2.0 * terms.slack(at))


def loss_at_every_moment(
    orders: Sequence[float], weights: Sequence[float], divergences: Iterable[float], delta: float
) -> float:
    """Return a bound that the loss never exceeds but for probability δ, rounded up; parameters as above."""
    terms = _Terms.from_divergences(orders, weights, divergences, delta)
    if terms is None:
        return math.inf
    if not terms.divergences.all():  # divergence 0 at some order: no loss at all
        return 0.0
    at, _ = terms.root(np.zeros(terms.slopes.shape))
    terms = terms.without_negligible(at)
    at, off = terms.root(np.zeros(terms.slopes.shape))
    return max(0.0, at + off + 2.0 * terms.slack(at))
