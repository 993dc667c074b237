"""Risk to one person of a composition: the error rates of attacks that guess whether a record is in the data.

An attack is a test of two neighbouring data sets by all that was released. With P the law of the releases where the
record takes part, Q the law where it does not, and δ(ε) = sup_E P(E) - e^ε Q(E), for every test

    true positive rate <= inf over real ε of δ(ε) + e^ε · false positive rate,

and the best test attains it (Dong, Roth, Su 2022, Prop. 2.12). Everything here follows from that curve; if two
directions of the neighbouring relation differ, it is the larger of both. Answers are those of `ComposedLoss`: upper
ends hold for every attack and every data set, and where no data sets are known that lose so much there is no lower end.

>>> from mechanisms import GaussianProfile
>>> from mechanisms.composition.composed_loss import compose
>>> rate = true_positive_rate(compose([(GaussianProfile(1.0), 1)]), 0.001)
>>> f"{rate.lower:.4f} {rate.upper:.4f}"
'0.0183 0.0183'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from mechanisms.composition.composed_loss import ComposedLoss, reverse_of
from mechanisms.composition.enclosure import Bound, Enclosure
from mechanisms.losses.privacy_loss import ROUNDING
from mechanisms.numerics.deadline import time_is_over
from mechanisms.numerics.rounding import up
from mechanisms.parameters import ParameterError, open_unit, real

_CONVEXITY = "convexity of the profile"
_PROFILE = "privacy profile"
_GUESS = "a guess"
_STEPS = 1e-3 * 4.0 ** np.arange(7)
_FAR = 40.0
_LEAST_RATE = 1e-300
"""The smallest false positive rate: up to its inverse, and e^ε beside it, all is a float."""
_WIDTH = 1e-7
"""The target width of intervals of δ: the chords lose as much."""

_DeltaCurve = Callable[[float], Enclosure | Bound]
"""δ at every real ε, in one direction."""


@dataclass(frozen=True, slots=True)
class Risk:
    """Success rates that no attack on one composition exceeds.

    Attributes
    ----------
    advantage
        The largest difference of true and false positive rate.
    accuracy
        The largest share of right answers if the record takes part in half of all cases.
    true_positive_rates
        The largest true positive rate at some false positive rates. The same number bounds the probability to
        reconstruct a record that would be guessed with that rate without the releases.
    profile
        Upper bounds on δ at some ε, from which the whole trade-off curve follows: as pairs (ε, δ).
    """

    advantage: Enclosure | Bound
    accuracy: Enclosure | Bound
    true_positive_rates: dict[float, Enclosure | Bound]
    profile: tuple[tuple[float, float], ...] = ()

    def within(self, epsilon: float, delta: float) -> Risk:
        """Return the risks, none above its bound by δ(epsilon) <= delta in both directions, or by another risk.

        A true positive rate y at a false one k has y <= δ + e^ε k, and as the complement tests the other direction
        1 - k <= δ + e^ε (1 - y). Together y - k <= (e^ε - 1 + 2δ) / (e^ε + 1).
        """
        keep, off = math.exp(-epsilon), 1.0 + 16 * ROUNDING
        both = (-math.expm1(-epsilon) + 2.0 * keep * delta) / (1.0 + keep) * off if epsilon else delta
        most = min(both, self.advantage.upper)

        def at_most(found: Enclosure | Bound, upper: float) -> Enclosure | Bound:
            return found.at_most([Bound(min(1.0, upper), _PROFILE, found.neighbouring)])

        def largest_rate(k: float) -> float:
            first = delta + k / keep if keep else math.inf
            return min(first, keep * (delta + k) - math.expm1(-epsilon), k + most) * off

        return Risk(
            at_most(self.advantage, most),
            at_most(self.accuracy, math.nextafter(0.5 + 0.5 * most, 1.0)),
            {k: at_most(found, largest_rate(k)) for k, found in self.true_positive_rates.items()},
            tuple((x, min(d, most, delta if x >= epsilon else 1.0)) for x, d in self.profile),
        )


FALSE_POSITIVE_RATES = (0.1, 0.01, 1e-3, 1e-5)
"""The false-positive rates of `risk_of` by default."""


def risk_of(loss: ComposedLoss, false_positive_rates: tuple[float, ...] = FALSE_POSITIVE_RATES) -> Risk:
    """Return the risks of a composition together.

    Raises
    ------
    ParameterError
        If a false positive rate is not at least 1e-300 and below 1.
    """
    advantage = membership_advantage(loss)
    rates = {rate: true_positive_rate(loss, rate) for rate in false_positive_rates}
    return Risk(advantage, attack_accuracy(loss), rates).within(0.0, advantage.upper)


def membership_advantage(loss: ComposedLoss) -> Enclosure | Bound:
    """Return the largest (true positive rate - false positive rate) of any attack: δ(0), the total variation."""
    return loss.delta(0.0)


def attack_accuracy(loss: ComposedLoss, prior: float = 0.5) -> Enclosure | Bound:
    """Return the largest probability that an attack decides correctly if the record takes part.

    With p = ``prior`` the probability that it does, p P(E) + (1-p) Q(not E) is largest at 1-p + p δ(ln((1-p)/p)).

    Raises
    ------
    ParameterError
        If the prior is not in (0, 1).
    """
    p = open_unit("prior", prior)
    rest = 1.0 - p
    found = [curve(math.log1p(-p) - math.log(p)) for curve in _curves(loss)]
    # ln((1-p)/p) is rounded: δ changes by at most e^ε Δε, which p makes (1-p) Δε.
    off = 8.0 * ROUNDING * (1.0 + abs(math.log(p)) + abs(math.log1p(-p)))
    upper = Bound(min(1.0, rest + p * max(one.upper for one in found) + off), _PROFILE)
    lowers = [rest + p * one.lower - off for one in found if isinstance(one, Enclosure)]
    guess = max(p, math.nextafter(rest, 0.0))
    return upper.above(Enclosure(max(guess, lower), math.inf, _PROFILE, _PROFILE) for lower in lowers)


def true_positive_rate(loss: ComposedLoss, false_positive_rate: float) -> Enclosure | Bound:
    """Return the largest true positive rate of an attack with at most the given false positive rate.

    Raises
    ------
    ParameterError
        If the rate is not at least 1e-300 and below 1.
    """
    k = checked_rate(false_positive_rate)
    if not loss.releases:
        return Enclosure(k, k, _PROFILE, _PROFILE)
    found = []
    for curve, rough in zip(_curves(loss), _curves(loss, by_products=True), strict=True):
        best = _best_epsilon(rough, k)
        low, high = _least_line(rough, k, best)
        found.append((low, min(high, _lower_line(curve, k, best))))
    upper = Bound(min(1.0, max(high for _, high in found)), _PROFILE)
    lowers = [low for low, _ in found if low is not None]
    return upper.above(Enclosure(max(k, low), math.inf, _CONVEXITY, _PROFILE) for low in lowers)


def true_positive_rate_at_most(loss: ComposedLoss, false_positive_rate: float) -> float:
    """Return the upper end of `true_positive_rate`, for a third of its cost (to about 1e-6 of itself).

    Raises
    ------
    ParameterError
        If the rate is not at least 1e-300 and below 1.
    """
    k = checked_rate(false_positive_rate)
    largest = k
    for curve, rough in zip(_curves(loss), _curves(loss, by_products=True), strict=True):
        largest = max(largest, _lower_line(curve, k, _best_epsilon(rough, k)))
    return min(1.0, largest)


def trade_off(loss: ComposedLoss, false_positive_rate: float) -> Enclosure:
    """Return the least false negative rate of any attack at a false positive rate: a point of the trade-off curve.

    Here theorems prove the lower end, and an attack attains the upper one: a guess, if no better one is known.

    Raises
    ------
    ParameterError
        If the rate is not at least 1e-300 and below 1.
    """
    found = true_positive_rate(loss, false_positive_rate)
    lower = max(0.0, math.nextafter(1.0 - found.upper, 0.0))
    reached, by = (
        (false_positive_rate, _GUESS) if isinstance(found, Bound) else (found.lower, found.attained_by)
    )
    return Enclosure(lower, math.nextafter(1.0 - reached, 1.0), found.by, by)


def reconstruction_success(loss: ComposedLoss, without: float) -> Enclosure | Bound:
    """Return the largest probability to reconstruct a record, if it is at most ``without`` without the releases.

    Hayes, Mahloujifar, Balle 2023, Thm 2 ("Bounding training data reconstruction in DP-SGD"): at most the largest P(E)
    with Q(E) <= ``without``. The neighbouring relation must be the one that "without" means. The lower end is that
    bound's own, not an attack's.

    Raises
    ------
    ParameterError
        If ``without`` is not at least 1e-300 and below 1.
    """
    return true_positive_rate(loss, checked_rate(without, "without"))


def posterior(true_positive: float, false_positive: float, prior: float) -> float:
    """Return the posterior probability (Bayes) that a record takes part after an attack's positive answer, rounded up.

    It increases with the true positive rate, so that an upper bound stays one.

    Raises
    ------
    ParameterError
        If a rate is outside [0, 1], the false positive rate is 0 or the prior not in (0, 1).
    """
    p = open_unit("prior", prior)
    for name, rate in (("true_positive", true_positive), ("false_positive", false_positive)):
        if not 0.0 <= real(name, rate) <= 1.0:
            raise ParameterError(f"{name} = {rate!r}: must lie in [0, 1]")
    if false_positive == 0.0:
        raise ParameterError("false_positive = 0.0: must be positive")
    rightly = Fraction(p) * Fraction(true_positive)  # exact: products of floats may be too small for one
    return up(rightly / (rightly + (1 - Fraction(p)) * Fraction(false_positive)))


def checked_rate(rate: float, name: str = "false_positive_rate") -> float:
    """Return a false positive rate that can be asked for; raise `ParameterError` for any other."""
    k = open_unit(name, rate)
    if k < _LEAST_RATE:
        raise ParameterError(f"{name} = {rate!r}: must be at least {_LEAST_RATE:g}")
    return k


def _curves(loss: ComposedLoss, *, by_products: bool = False) -> list[_DeltaCurve]:
    """Return δ at every real ε in each direction: δ(-ε) = 1 - e^{-ε} + e^{-ε} δ'(ε), δ' in the other direction.

    Of a loss in one direction alone the other one is composed for it, and has no curve of its own. Upper ends by
    products of dominating pairs alone are those by which one searches: theorems for a bound take much longer.
    """
    known: dict[float, tuple[Enclosure | Bound, ...]] = {}
    back = reverse_of(loss)
    losses = [one for one in (loss, back) if one is not None]

    def both_directions(size: float) -> tuple[Enclosure | Bound, ...]:
        if size not in known:
            known[size] = tuple(
                found
                for one in losses
                for found in one.directed_delta(size, width=_WIDTH, by_products=by_products)
            )
        return known[size]

    def curve(i: int) -> _DeltaCurve:
        def delta_at(epsilon: float) -> Enclosure | Bound:
            if epsilon >= 0.0:
                return both_directions(epsilon)[i]
            other = both_directions(-epsilon)[-1 - i]
            keep, rest = math.exp(epsilon), -math.expm1(epsilon)
            upper = min(1.0, (rest + keep * other.upper) * (1.0 + 8 * ROUNDING))
            if isinstance(other, Bound):
                return Bound(upper, other.by)
            lower = max(0.0, (rest + keep * other.lower) * (1.0 - 8 * ROUNDING))
            return Enclosure(lower, upper, other.attained_by, other.by)

        return delta_at

    return [curve(i) for i in range(len(both_directions(0.0)) // len(losses))]


def _lower_line(curve: _DeltaCurve, k: float, best: float) -> float:
    """Return the lower of δ(ε) + e^ε k at ε = best and at 0, rounded up."""
    return min(curve(best).upper + math.exp(best) * k, curve(0.0).upper + k) * (1.0 + 8 * ROUNDING)


def _least_line(curve: _DeltaCurve, k: float, best: float) -> tuple[float | None, float]:
    """Bound the least φ(w) + kw over w >= 0, about at ln w = best; φ(w) = δ(ln w) is convex, falling from φ(0) = 1.

    Upper: at any node. Lower: between two nodes φ is above both neighbouring chords, extended (from an upper bound
    through a lower one), and above its bound at the right node; left of all above 1 - w, right of all above 0. The
    largest of these lines plus kw is convex and piecewise linear in each cell: least at an end or where two lines meet.
    A node w = e^ε is rounded by 2u of itself, and moves φ by no more than that: |wφ'(w)| <= 1 - φ(w), as φ is convex.
    """
    # At w = 1/k the line kw alone is 1: larger w are not needed.
    steps = np.zeros(0) if time_is_over() else _STEPS * _scale(curve)
    nodes = np.unique(np.concatenate([best - steps, [best, 0.0, -math.log(k)], best + steps]))
    w, different = np.unique(np.exp(nodes), return_index=True)
    found = [curve(float(x)) for x in nodes[different]]
    hi = np.array([one.upper for one in found])
    upper = float(np.min(hi + w * k)) * (1.0 + 8 * ROUNDING)
    lowers = [one.lower for one in found if isinstance(one, Enclosure)]
    if len(lowers) < len(found):
        return None, min(1.0, upper)
    lo = np.array(lowers)
    lo, hi = np.maximum(0.0, lo - 4.0 * ROUNDING), hi + 4.0 * ROUNDING
    candidates = [_least_in_cell(0.0, float(w[0]), [(0.0, 1.0, -1.0), (float(w[0]), float(lo[0]), 0.0)], k)]
    for j in range(w.size - 1):
        lines = [(float(w[j + 1]), float(lo[j + 1]), 0.0)]
        if j > 0:
            lines.append((float(w[j]), float(lo[j]), float((lo[j] - hi[j - 1]) / (w[j] - w[j - 1]))))
        if j + 2 < w.size:
            slope = float((hi[j + 2] - lo[j + 1]) / (w[j + 2] - w[j + 1]))
            lines.append((float(w[j + 1]), float(lo[j + 1]), slope))
        candidates.append(_least_in_cell(float(w[j]), float(w[j + 1]), lines, k))
    candidates.append(k * float(w[-1]))
    return max(0.0, min(candidates) * (1.0 - 1e-12)), min(1.0, upper)


def _scale(curve: _DeltaCurve) -> float:
    """Return the scale of ε, at most 1: of Gaussians of small μ it is μ, and δ(0) is μ/√2π."""
    return min(1.0, 2.5 * curve(0.0).upper)


def _best_epsilon(curve: _DeltaCurve, k: float) -> float:
    """Return about the ε at which δ(ε) + e^ε k is least.

    With w = e^ε it is at least 1 - w + kw, and kw; so ε with a smaller value than at 0 lie between; 0 after a deadline.
    """

    def height(epsilon: float) -> float:
        if time_is_over():
            return math.inf
        return math.log(curve(epsilon).upper + math.exp(epsilon) * k)

    scale, reached = _scale(curve), min(1.0, curve(0.0).upper + k)
    if scale == 0.0 or time_is_over():
        return 0.0
    if height(-1e-2 * scale) < height(0.0):
        bounds = (max(-_FAR, math.log(max(1.0 - reached, 1e-300)) - math.log1p(-k)), 0.0)
    else:
        bounds = (0.0, math.log(reached) - math.log(k))
    if not bounds[0] < bounds[1]:
        return 0.0
    minimize = scipy.optimize.minimize_scalar
    return float(minimize(height, bounds=bounds, method="bounded", options={"xatol": 1e-5 * scale}).x)


def _least_in_cell(left: float, right: float, lines: list[tuple[float, float, float]], k: float) -> float:
    """Return the least of max(lines) + kw over [left, right], rounded down; a line is (w, value there, slope).

    Rounded sums are off by a few u of the sizes of their parts: where two lines meet, too, as one of the two sums
    rises there and the other one falls.
    """
    at = [left, right]
    for i, (x, y, slope) in enumerate(lines):
        for other_x, other_y, other_slope in lines[:i]:
            if slope != other_slope:
                meet = (other_y - y + slope * x - other_slope * other_x) / (slope - other_slope)
                at.append(min(max(meet, left), right))
    size = k * right + sum(abs(y) + abs(slope) * (x + right) for x, y, slope in lines)
    least = min(max(y + slope * (w - x) for x, y, slope in lines) + k * w for w in at)
    return least - 32.0 * ROUNDING * size
