"""The product of dominating pairs: ε(δ) and δ(ε) of it, in one direction of the neighbouring relation or the larger.

Its curve is above that of every composition that the pairs dominate (Zhu, Dong, Wang 2022, Thm 10), and is attained
where every pair is that of two data sets, the same for all releases.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.composition.ceiling import near_ceiling
from mechanisms.composition.contour import (
    Contour,
    ContourPlan,
    TiltedLoss,
    plan_contour,
    plan_oscillating_contour,
)
from mechanisms.composition.enclosure import Enclosure
from mechanisms.composition.equal_laplace import equal_laplace
from mechanisms.composition.finite_mixture import FiniteMixture
from mechanisms.composition.grid import Grid, grid
from mechanisms.composition.inversion import DeltaBounds, invert
from mechanisms.composition.lattice import lattice_contour
from mechanisms.composition.saddle import Saddle, log_chernoff_factor, saddle_for_delta, saddle_for_epsilon
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.privacy_loss import ROUNDING, PrivacyLoss, add_losses
from mechanisms.numerics.deadline import GRACE, OutOfTime, check_time, time_is_over
from mechanisms.numerics.rounding import down, exact_sum, up
from mechanisms.profiles.atomic_profile import convolved
from mechanisms.profiles.bounding_profiles import ZeroConcentratedProfile
from mechanisms.profiles.privacy_profile import SMALLEST, PrivacyProfile, smallest
from mechanisms.profiles.related_profile import bare, restate

PURE = "sum of largest losses"
CLOSED = "closed form"
_RENYI = "Renyi composition"
NOTHING = "nothing"
_CEILING = "mass near the largest loss"
_ONE = "one of the releases"
_VARIATION = "sum of total variations"

_DELTA_WIDTH = 10.0
"""A relative width of δ that is good enough, in units of s times that of ε."""
_UNDERFLOWS = 1e-309
"""A width that engines leave of the smallest δ."""
_MATTERS = 2.0
"""A phantom μ² does so if μ²τ² is this large at the height τ where a contour ends anyway."""

_BEYOND = 1e300
"""An ε above every finite loss that is bounded: losses are at most 1e290."""
_CONTOURS = 16
"""Contours that a product keeps: each is tried before another one is planned."""


@dataclass(frozen=True)
class _Work:
    """Limits on the width and the cost of engines.

    The numbers change the time of an answer and its width, never its validity: an answer takes
    milliseconds (``tests/benchmarks/bench_accounting.py``).
    """

    tight: float
    """Relative error of δ that costs next to nothing."""
    not_tight: float
    """Relative width of ε from which on the grid may do better."""
    wide: float
    """Relative width of δ from which on the grid may do better."""
    of_grid: float
    """δ below which a grid's rounding is too large to help."""
    rough: float
    """Relative error of δ, beside a Chernoff bound's, with which ε is located."""
    overshoot: float
    """About the excess of a Chernoff bound over ε, in units of 1/s."""
    far: float
    """A further excess that is accepted, in units of 1/s."""
    little: float
    """Nodes of a contour that is taken at once."""
    few: float
    """Nodes that a contour may have at any cost: as much as finding the saddle takes."""
    some: float
    """Complex exponentials of a contour for many different losses with atoms."""
    much: float
    """Complex exponentials that the last contour may take."""


_WORK = _Work(
    tight=1e-12,
    not_tight=4e-6,
    wide=1e-3,
    of_grid=1e-13,
    rough=1e-3,
    overshoot=1.5,
    far=1.5,
    little=1024.0,
    few=200.0,
    some=4e5,
    much=4e6,
)

CountedProfiles = Sequence[tuple[PrivacyProfile, int]]
"""Profiles, each with its number of releases."""


def largest_losses(
    releases: Iterable[tuple[PrivacyProfile, int]],
) -> list[tuple[Fraction, int]] | None:
    """Return each release's largest loss with its count; None if one is unbounded."""
    known = [(profile.pure_epsilon, count) for profile, count in releases]
    terms = [(largest, count) for largest, count in known if largest is not None]
    return terms if len(terms) == len(known) else None


def products(releases: CountedProfiles) -> tuple[Product, ...]:
    """Return the compositions of which the largest δ counts: one, or with a record removed and with one added.

    ρ adds up (Bun & Steinke 2016, Lemma 1.7), so that all that is known by its ρ alone is one curve.
    """
    concentrated: dict[Neighbouring, Fraction] = {}
    counted: list[tuple[PrivacyProfile, int]] = []
    for profile, count in releases:
        curve = bare(profile)
        if isinstance(curve, ZeroConcentratedProfile):
            before = concentrated.get(profile.neighbouring, Fraction(0))
            concentrated[profile.neighbouring] = before + count * Fraction(curve.rho_bound)
        else:
            counted.append((profile, count))
    counted += [(restate(ZeroConcentratedProfile(up(rho)), own), 1) for own, rho in concentrated.items()]
    sides = [profile.directions() for profile, _ in counted]
    counts = tuple(count for _, count in counted)
    number = max((len(side) for side in sides), default=0)
    return tuple(Product(tuple(side[min(i, len(side) - 1)] for side in sides), counts) for i in range(number))


def largest_epsilon(directions: Sequence[Product], delta: float, width: float) -> Enclosure:
    """Return the largest ε(delta) of some products, for a positive delta."""
    result = Enclosure(0.0, 0.0, NOTHING, NOTHING)
    for direction in directions:
        if not direction.at_most(result.lower, delta):
            result = result.maximum(direction.epsilon(delta, width))
    return result


def largest_delta(directions: Sequence[Product], epsilon: float, width: float) -> Enclosure:
    """Return the largest δ(epsilon) of some products."""
    result = Enclosure(0.0, 0.0, NOTHING, NOTHING)
    for direction in directions:
        result = result.maximum(direction.delta(epsilon, width))
    return result


@dataclass(frozen=True)
class Product:
    """One direction of the neighbouring relation: the pairs to compose."""

    profiles: tuple[PrivacyProfile, ...]
    counts: tuple[int, ...]

    @cached_property
    def loss(self) -> PrivacyLoss | None:
        """The law of the total loss, if every part's is known."""
        parts = [profile.loss() for profile in self.profiles]
        known = [part for part in parts if part is not None]
        return add_losses(known, self.counts) if len(known) == len(parts) else None

    @property
    def on_grid(self) -> bool:
        """True if the loss is rounded to a grid, as a curve has no law of the loss."""
        return self.loss is None and self._closed_form is None

    @property
    def unbounded(self) -> bool:
        """True if the loss is known to exceed every number with positive probability."""
        loss = self.loss
        return loss is not None and (math.isinf(loss.supremum) or loss.infinite_mass > 0.0)

    @cached_property
    def largest_loss(self) -> Fraction | None:
        """The sum of the largest losses in this direction, exactly; None if one is unbounded."""
        terms = largest_losses(zip(self.profiles, self.counts, strict=True))
        return None if terms is None else exact_sum(terms)

    @cached_property
    def _pairs(self) -> tuple[PrivacyProfile, ...]:
        """The profiles that have a pair's curve.

        A bound of which only the curve is known need not be one: it may lie above the convex curves of all pairs that
        it bounds, and a composition is one of pairs.
        """
        return tuple(own for own in self.profiles if not own.bound or own.loss() is not None)

    @cached_property
    def _closed_form(self) -> PrivacyProfile | None:
        """A profile with the curve of the composition; None if there is no such profile."""
        if self.counts == (1,):
            return self.profiles[0]
        curves = [i for i, profile in enumerate(self.profiles) if profile.atoms() is None]
        if self.loss is not None or len(curves) != 1 or self.counts[curves[0]] != 1:
            return None
        releases = zip(self.profiles, self.counts, strict=True)
        finite = convolved((profile, n) for profile, n in releases if profile.atoms() is not None)
        return None if finite is None else FiniteMixture(finite, self.profiles[curves[0]])

    @property
    def largest_attained(self) -> float:
        """Lower bound on the largest loss.

        Largest losses of subsampled mechanisms are floats rounded up, by at most 4e-14 of themselves and 5e-324.
        """
        if self.largest_loss is None:
            return math.inf if self.unbounded else 0.0
        least = self.largest_loss * (1 - Fraction(1, 10**13)) - Fraction(5e-324)
        return max(0.0, down(least))

    def at_most(self, epsilon: float, delta: float) -> bool:
        """Return True if a Chernoff bound proves that this direction's ε(δ) is below another one's."""
        loss = self.loss
        if loss is None or loss.infinite_mass > 0.0 or not epsilon > 0.0:
            return False
        if loss.supremum < epsilon:
            return True
        return _renyi_bound(loss, saddle_for_delta(loss, delta).s, delta) < epsilon

    def epsilon(self, delta: float, width: float) -> Enclosure:
        """Bound ε(δ)."""
        return self.epsilon_and_contour(delta, width)[0]

    def epsilon_and_contour(self, delta: float, width: float) -> tuple[Enclosure, Contour | None]:
        """Bound ε(δ) by the engines; where they leave a gap, also by the mass near the largest loss.

        Return also the best contour among them, if there was one.
        """
        result, contour = self._epsilon_by_engines(delta, width)
        if delta == 0.0 or result.width <= _WORK.not_tight * max(1.0, result.lower):
            return result, contour
        for bound, log_mass in self._near_the_ceiling():
            if math.log(delta) < log_mass:
                lower = (bound + math.log1p(-math.exp(math.log(delta) - log_mass))) * (1.0 - 4 * ROUNDING)
                if lower > result.lower:
                    result = result.intersect(Enclosure(lower, math.inf, _CEILING, NOTHING))
        result = self._raise_to_one_release(result, lambda profile: _closed_epsilon(profile, delta).lower)
        return result, contour

    def _raise_to_one_release(self, result: Enclosure, lower: Callable[[PrivacyProfile], float]) -> Enclosure:
        """Raise the lower end to the loss of one release: the others take nothing of it away (post-processing).

        This holds for pairs alone.
        """
        for profile in self._pairs:
            if time_is_over():
                break
            alone = lower(profile)
            if alone > result.lower:
                result = result.intersect(Enclosure(alone, math.inf, _ONE, NOTHING))
        return result

    def _near_the_ceiling(self) -> list[tuple[float, float]]:
        """Return (x, ln q) with P(total loss > x) >= q, for x a little below the largest loss.

        For one release, δ(x) <= P(L > x) (1 - e^{-h}) for x = sup L - h, as no loss exceeds the supremum. So
        every release exceeds its x_i with probability at least δ_i(x_i) / (1 - e^{-h_i}), all of them with the
        product, and the total then exceeds Σ n_i x_i. Hence δ(ε) >= q (1 - e^{ε - Σ n_i x_i}), that is
        ε(δ) >= Σ n_i x_i + ln(1 - δ/q) for δ < q. Of δ_i(x_i) the certified lower end is taken.
        """
        bounds: list[tuple[float, float]] = []
        if time_is_over() or self.largest_loss is None or self._pairs != self.profiles:
            return bounds
        for share in (1e-2, 1e-4, 1e-6):
            total, log_mass = 0.0, 0.0
            for profile, count in zip(self.profiles, self.counts, strict=True):
                if time_is_over():
                    return bounds
                largest = profile.pure_epsilon
                if not largest:
                    continue
                x = float(largest) * (1.0 - share)
                fall = float(largest - Fraction(x)) * (1.0 + ROUNDING)
                mass = float(profile.bounds(np.array(x))[0]) / -math.expm1(-fall) * (1.0 - 4 * ROUNDING)
                if not mass > 0.0:
                    return bounds
                total += count * x
                log_mass += count * math.log(min(1.0, mass))
            bounds.append((total * (1.0 - 8 * ROUNDING), log_mass * (1.0 + 8 * ROUNDING) - 1e-12))
        return bounds

    def _is_certain(self, delta: float) -> bool:
        """Return True if the total variations δ_i(0), which bound that of the composition, add up to at most delta."""
        pairs = zip(self.profiles, self.counts, strict=True)
        each = (count * float(profile.bounds(np.zeros(()))[1]) for profile, count in pairs)
        return all(total * (1.0 + 1e-9) <= delta for total in itertools.accumulate(each))

    def _epsilon_by_engines(self, delta: float, width: float) -> tuple[Enclosure, Contour | None]:
        if self._closed_form is not None and (self.loss is None or not self.loss.precision):
            return _closed_epsilon(self._closed_form, delta), None
        if not time_is_over(GRACE) and self._is_certain(delta):
            return Enclosure(0.0, 0.0, NOTHING, _VARIATION), None
        if self.loss is None:
            return self._grid_epsilon(delta, width), None
        targets = without_mass(delta, self.loss.least_infinite_mass, self.loss.infinite_mass)
        if targets is None:
            lower = math.inf if self.loss.least_infinite_mass > delta else 0.0
            return Enclosure(lower, math.inf, "infinite loss", "infinite loss"), None
        ends = [self._finite_epsilon(target, width) for target in dict.fromkeys(targets)]
        (first, contour), (last, _) = ends[0], ends[-1]
        return Enclosure(last.lower, first.upper, last.attained_by, first.by), contour

    def _finite_epsilon(self, delta: float, width: float) -> tuple[Enclosure, Contour | None]:
        """Bound ε for the finite part of the loss; return also the best contour that was tried."""
        loss = self.loss
        assert loss is not None
        saddle = saddle_for_delta(loss, delta)
        by_order = _renyi_bound(loss, saddle.s, delta)
        result = Enclosure(0.0, max(0.0, by_order), NOTHING, _RENYI)
        wanted = width * max(1.0, saddle.epsilon)
        near = near_ceiling(loss, saddle.s, delta=delta)
        if near is not None:
            lower, upper = invert(near, delta, saddle.epsilon, loss.supremum)
            return result.intersect(Enclosure(lower, upper, near.name, near.name)), None
        saddle = replace(saddle, epsilon=max(0.0, saddle.epsilon - _WORK.overshoot / saddle.s))
        best, narrowest = None, math.inf
        line = TiltedLoss(loss, saddle.s)
        for rough_first in (True, False):
            for engine in engines(line, saddle, wanted, rough_first=rough_first):
                lower, upper = invert(engine, delta, saddle.epsilon, loss.supremum)
                if isinstance(engine, Contour) and upper - lower < narrowest:
                    best, narrowest = engine, upper - lower
                result = result.intersect(Enclosure(lower, upper, engine.name, engine.name))
                if result.width <= 3.0 * wanted:
                    return result, best
                if saddle.s * (saddle.epsilon - result.lower) > _WORK.far and result.lower > 0.0:
                    break
            else:
                break
            # The Chernoff bound was further above ε: the terms that are negligible beside δ depend on ε.
            saddle = replace(saddle_for_epsilon(loss, result.lower), log_delta=math.log(delta))
            line = TiltedLoss(loss, saddle.s)
        # Where the terms are that much larger than δ, rounding makes it wide, and a grid does little better.
        sums_round = line.log_size(result.upper) - math.log(delta) > math.log(_WORK.not_tight / _WORK.tight)
        enough = _WORK.wide if sums_round else _WORK.not_tight
        if result.width > enough * max(1.0, result.upper) and not time_is_over():
            result = result.intersect(self._grid_epsilon(delta + loss.infinite_mass, width))
        return result, best

    def _grid(self, width: float, *, delta: float | None = None, epsilon: float | None = None) -> Grid | None:
        try:
            bound = any(profile.bound for profile in self.profiles)  # which has no lower end
            return grid(
                self.profiles, self.counts, width=width, delta=delta, epsilon=epsilon, upper_only=bound
            )
        except OutOfTime:
            return None

    def _grid_epsilon(self, delta: float, width: float) -> Enclosure:
        engine = self._grid(max(width, 1e-6), delta=delta)
        if engine is None:
            return Enclosure(0.0, math.inf, NOTHING, NOTHING)
        lower, upper = invert(engine, delta, engine.start, math.inf)
        return Enclosure(lower, upper, engine.name, engine.name)

    def delta(self, epsilon: float, width: float) -> Enclosure:
        """Bound δ(epsilon), by a contour of an ε nearby if one is narrow enough."""
        if self._closed_form is not None:
            return _closed_delta(self._closed_form, epsilon)
        if self.loss is None:
            if self.largest_loss is not None and Fraction(epsilon) >= self.largest_loss:
                return Enclosure(0.0, 0.0, PURE, PURE)
            return self._raise_by_curves(self._grid_delta(epsilon, width), epsilon)
        loss, mass = self.loss, self.loss.infinite_mass
        low_mass = loss.least_infinite_mass
        if epsilon >= loss.supremum:
            return Enclosure(low_mass, mass, PURE, PURE)
        near = near_ceiling(loss, 1.0, epsilon=epsilon)
        if near is not None:
            result = Enclosure(*near.bounds(epsilon), near.name, near.name)
        else:
            result = self._delta_by_engines(epsilon, width)
        # Below the largest loss δ is positive, even where no float can show it.
        upper = min(1.0, max(SMALLEST, (result.upper + mass) * (1.0 + 4 * ROUNDING)))
        lower = (result.lower + low_mass) * (1.0 - 4 * ROUNDING)
        result = Enclosure(lower, upper, result.attained_by, result.by)
        if result.width > _WORK.wide * upper and upper > _WORK.of_grid and not time_is_over():
            result = result.intersect(self._grid_delta(epsilon, width))
        return self._raise_by_curves(result, epsilon)

    def _raise_by_curves(self, result: Enclosure, epsilon: float) -> Enclosure:
        """Raise the lower end of a wide enclosure of δ(ε) to the δ(ε) of each release."""
        if result.width > _WORK.wide * result.upper:
            result = self._raise_to_one_release(result, lambda profile: _closed_delta(profile, epsilon).lower)
        return result

    @cached_property
    def _contours(self) -> deque[Contour]:
        """The contours planned last: one serves several ε."""
        return deque(maxlen=_CONTOURS)

    def _delta_by_engines(self, epsilon: float, width: float) -> Enclosure:
        assert self.loss is not None
        for contour in () if time_is_over(GRACE) else self._contours:
            found = contour_delta(contour, epsilon, width)
            if found is not None:
                return found
        saddle = saddle_for_epsilon(self.loss, epsilon)
        log_upper = _log_chernoff(self.loss, saddle.s) - saddle.s * epsilon
        by_order = math.exp(min(0.0, log_upper + 1e-12 * (1.0 + abs(saddle.s * epsilon)))) + SMALLEST
        result = Enclosure(0.0, by_order, NOTHING, _RENYI)
        if by_order <= _UNDERFLOWS:
            return result
        for engine in engines(TiltedLoss(self.loss, saddle.s), saddle, width):
            lower, upper = engine.bounds(epsilon)
            result = result.intersect(Enclosure(lower, upper, engine.name, engine.name))
            if result.width <= _DELTA_WIDTH * width * saddle.s * result.upper + _UNDERFLOWS:
                if isinstance(engine, Contour):
                    self._contours.appendleft(engine)
                break
        return result

    def _grid_delta(self, epsilon: float, width: float) -> Enclosure:
        engine = self._grid(max(width, 1e-6), epsilon=epsilon)
        if engine is None:
            return Enclosure(0.0, 1.0, NOTHING, NOTHING)
        lower, upper = engine.bounds(epsilon)
        return Enclosure(lower, max(SMALLEST, upper), engine.name, engine.name)


def contour_delta(contour: Contour, epsilon: float, width: float) -> Enclosure | None:
    """Return a contour's interval for δ, of the finite part of the loss, if it is about as narrow as was asked for."""
    lower, upper = contour.bounds(epsilon)
    if not upper - lower <= _DELTA_WIDTH * width * contour.s * upper:
        return None
    return Enclosure(lower, upper, contour.name, contour.name)


def without_mass(delta: float, least: float, most: float) -> tuple[float, float] | None:
    """Bound the part of δ that is left for a loss's finite part: from below, and from above.

    The mass of its infinite part is in [least, most]. None if nothing may be left.
    """
    if most == 0.0:
        return delta, delta
    if most >= delta:
        return None
    return (delta - most) * (1.0 - 4 * ROUNDING), (delta - least) * (1.0 + 4 * ROUNDING)


def _renyi_bound(loss: PrivacyLoss, s: float, delta: float) -> float:
    """Return the bound on ε(δ) from the order s + 1, rounded up."""
    bound = _log_chernoff(loss, s) - math.log(delta)
    return bound / s + 1e-12 * (1.0 + abs(bound) / s)


def _log_chernoff(loss: PrivacyLoss, s: float) -> float:
    """Return ln of a bound on δ(ε) e^{sε} for every ε, rounded up."""
    bound = loss.log_top(s) + float(log_chernoff_factor(np.array(s)))
    return bound + 1e-12 * (1.0 + abs(bound))


def engines(
    line: TiltedLoss, saddle: Saddle, width: float, *, rough_first: bool = False
) -> Iterable[DeltaBounds]:
    """Yield the engines that can bound δ near a saddle, the cheapest that should suffice first.

    Decided before any node is evaluated, from envelopes (Theorem 3): a contour with few nodes; a common lattice;
    a contour that is only as good as asked for; the series over equal Laplace losses; a contour with a phantom
    Gaussian μ² = width/(s+1), which is wider when the nodes it needs are too many. If the last takes many nodes and
    where ε is is not known well, one with few goes ahead (``rough_first``). After a deadline there are no more, and
    the one begun is given up.
    """
    try:
        yield from _in_order(line, saddle, width, rough_first)
    except OutOfTime:
        return


def _in_order(line: TiltedLoss, saddle: Saddle, width: float, rough_first: bool) -> Iterable[DeltaBounds]:
    loss = line.loss
    lattice = lattice_contour(line, saddle, _WORK.tight)
    if lattice is not None:
        yield lattice
    relative = min(1e-3, max(_WORK.tight, 0.2 * width * saddle.s))
    for tolerance in (_WORK.tight, relative):
        check_time()
        plan = plan_contour(line, saddle, tolerance, _WORK.little * loss.cost(saddle.s, 0.0))
        if plan is not None:
            yield Contour(loss, plan)
    equal = loss.equal_laplace
    if equal is not None:
        series = equal_laplace(loss, equal[0], equal[1], saddle)
        if series is not None:
            yield series
    some = max(_WORK.some, _WORK.few * loss.cost(saddle.s, 0.0))
    for factor in (0.9, 10.0, 100.0):
        check_time()
        plan = plan_oscillating_contour(line, saddle, relative, some, factor * width / (saddle.s + 1.0))
        if plan is not None:
            yield Contour(loss, plan)
            break
    check_time()
    last = plan_contour(line, saddle, relative, _WORK.much)
    if last is None or width / (line.s + 1.0) * last.height**2 > _MATTERS:
        last = _last_plan(line, saddle, relative, width)
    if last is None:
        return
    if rough_first:
        ahead = plan_contour(line, saddle, _WORK.rough, 0.7 * last.work)
        if ahead is not None:
            yield Contour(loss, ahead)
    yield Contour(loss, last)


def _last_plan(line: TiltedLoss, saddle: Saddle, relative: float, width: float) -> ContourPlan | None:
    """Return the contour with the least work, with a phantom Gaussian as small as possible or none."""
    plans = [plan_contour(line, saddle, relative, _WORK.much)]
    for factor in (1.0, 10.0, 100.0, 1e3):
        # Wider than 1/s the phantom would hide the mechanism.
        phantom = min(factor * width, 0.03 / line.s) / (line.s + 1.0)
        plans.append(plan_contour(line, saddle, relative, _WORK.much, phantom))
        if plans[-1] is not None:
            break
    known = [plan for plan in plans if plan is not None]
    return min(known, key=lambda plan: plan.work, default=None)


def _closed_epsilon(profile: PrivacyProfile, delta: float) -> Enclosure:
    """Return the ends that the curve's certified bounds prove."""

    def bounds(x: float) -> tuple[float, float]:
        lower, upper = profile.bounds(np.array(x))
        return float(lower), float(upper)

    def too_small(x: float) -> bool:
        check_time(GRACE)
        return bounds(x)[0] < delta

    if delta < profile.infinite_mass and bounds(_BEYOND)[0] > delta:
        return Enclosure(math.inf, math.inf, CLOSED, CLOSED)
    upper = profile.epsilon(delta)
    if upper == 0.0:
        return Enclosure(0.0, 0.0, CLOSED, CLOSED)
    start = upper if math.isfinite(upper) else 1.0
    try:
        lower = math.nextafter(smallest(start, too_small), 0.0)
        if not math.isfinite(lower) or too_small(lower):
            lower = 0.0
    except OutOfTime:
        lower = 0.0
    return Enclosure(lower, upper, CLOSED, CLOSED)


def _closed_delta(profile: PrivacyProfile, epsilon: float) -> Enclosure:
    lower, upper = profile.bounds(np.array(epsilon))
    return Enclosure(float(lower), float(upper), CLOSED, CLOSED)
