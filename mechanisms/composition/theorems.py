"""Composition theorems by name, to be compared in one table.

A theorem takes a multiset of profiles and δ and returns the least ε that it proves, or ε and the least δ, or None where
it does not apply. All are used for mechanisms fixed in advance; the filters for adaptively chosen ones are in
`accountant.compositions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from types import MappingProxyType

import numpy as np
import scipy

from mechanisms.arrays import FloatArray
from mechanisms.composition.conversions import (
    corollary_4_1,
    deltas_of_renyi,
    epsilons_of_renyi,
    gaussian_dp_of,
    zcdp_of,
)
from mechanisms.composition.enclosure import Bound
from mechanisms.composition.fixed_size_orders import fixed_size_divergence, triangle_divergence
from mechanisms.composition.product import CountedProfiles, Product, largest_delta, largest_epsilon, products
from mechanisms.composition.worst_case import bounded_range_curve, delta_of_curve, epsilon_of_curve
from mechanisms.domains.neighbouring import common_neighbouring
from mechanisms.losses.privacy_loss import ROUNDING
from mechanisms.numerics.deadline import GRACE, OutOfTime, check_time
from mechanisms.numerics.rounding import exact_sum, up
from mechanisms.profiles.bounded_range import BoundedRangeProfile
from mechanisms.profiles.bounding_profiles import ApproximateProfile, PureProfile, ZeroConcentratedProfile
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.gaussian_profile import GaussianProfile, gaussian_epsilons
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.related_profile import bare

RENYI_ORDERS = 1.0 + np.geomspace(1e-3, 1e6, 91)
_UP = 1.0 + 1e-12
_OF_USE = 50
_FAR = 1e3  # larger differences count as this large
_FINER = 33
"""Orders between the neighbours of the best one."""
_CHOICES = 4
"""Times that a proved δ is taken for the next choice of the sum of the δ_i."""
_WIDTH = 1e-9
_FURTHER = 1e-3
"""A recursion's grid ends where δ is that much smaller."""
_LARGEST_RANGE = 30.0
_MOST_KINDS = 8
"""The largest number of kinds of fixed-size samples for which divergences are bounded over all data."""
_TILTS = np.geomspace(0.1, 50.0, 32)
_LEAST_DELTA = 1e-300


Conversion = Callable[[FloatArray, FloatArray, float], FloatArray]
"""From orders and Rényi divergences, and δ or ε, to the other one."""
TheoremBound = Callable[[CountedProfiles, float], Bound | None]
"""From the releases, and δ or ε, to a theorem's bound on the other one."""


@dataclass(frozen=True, slots=True)
class CompositionTheorem:
    """Named composition theorem: its bound on ε at a δ and, if it has one, on δ at an ε.

    Attributes
    ----------
    name, source
        Its name, and the publication that proves it.
    of_epsilon, of_delta
        Its bounds.
    one_way
        True if it needs only the curve of one direction of the neighbouring relation. All others need releases that
        lose no more in the other direction, as they take a bound on the losses of one direction for both.
    """

    name: str
    source: str
    of_epsilon: TheoremBound
    of_delta: TheoremBound | None = None
    one_way: bool = False

    def applies_to(self, releases: CountedProfiles) -> bool:
        """Return True if the theorem applies to these releases."""
        return self.one_way or all(profile.covers_both_directions for profile, _ in releases)

    def epsilon(self, releases: CountedProfiles, delta: float) -> Bound | None:
        """Return the smallest ε that the theorem proves at ``delta``, None if it does not apply.

        Raises
        ------
        MixedNeighbours
            If the releases hold for different neighbouring relations.
        """
        relation = common_neighbouring(profile for profile, _ in releases)
        found = self.of_epsilon(releases, delta) if self.applies_to(releases) else None
        return None if found is None else found.stated_for(relation)

    def delta(self, releases: CountedProfiles, epsilon: float) -> Bound | None:
        """Return the smallest δ that the theorem proves at ``epsilon``.

        Of a theorem for ε alone it is found to 1e-4 of itself, and is at least 1e-290. Basic and optimal composition
        choose the releases' own δ_i anew: there it is another one than the δ at which `epsilon` gives this ε.
        """
        if self.of_delta is not None:
            relation = common_neighbouring(profile for profile, _ in releases)
            found = self.of_delta(releases, epsilon) if self.applies_to(releases) else None
            return None if found is None else found.stated_for(relation)

        def excess(log_delta: float) -> float:
            check_time()
            found = self.epsilon(releases, math.exp(log_delta))
            return _FAR if found is None else min(found.upper - epsilon, _FAR)

        low, high = math.log(1e-290), math.log(0.999999)
        if (best := self.epsilon(releases, math.exp(high))) is None:
            return None
        if best.upper > epsilon:
            return Bound(1.0, self.name, best.neighbouring)
        log_delta, step = low, 2e-5
        if excess(low) > 0.0:
            log_delta = float(scipy.optimize.brentq(excess, low, high, xtol=step, maxiter=300))
        while log_delta < high and excess(log_delta) > 0.0:  # the root may lie on the other side
            log_delta, step = min(log_delta + step, high), 2.0 * step
        return Bound(math.exp(log_delta), self.name, best.neighbouring)


def _is_pure(profile: PrivacyProfile) -> bool:
    """Return True if a release is one of pure ε, so small that it gives more than its curve at some δ."""
    return profile.pure_epsilon is not None and profile.pure_epsilon <= _OF_USE


def _guarantees(releases: CountedProfiles, delta: float) -> list[tuple[float, float, int]]:
    """Return (ε_i, δ_i, n_i): pure ε where it is one of use, else the profile at an equal share of delta."""
    others = sum(n for profile, n in releases if not _is_pure(profile))
    share = delta / others if others else 0.0
    mus = [profile.mu for profile, _ in releases if isinstance(profile, GaussianProfile) and profile.mu]
    of_gaussians = iter(gaussian_epsilons(np.array(mus), share).tolist() if mus else ())
    result = []
    for profile, n in releases:
        if _is_pure(profile):
            result.append((up(profile.pure_epsilon or Fraction(0)), 0.0, n))
        elif isinstance(profile, GaussianProfile):
            result.append((next(of_gaussians), share, n))
        else:
            result.append((profile.epsilon(share), share, n))
    return result


def _split(releases: CountedProfiles, delta: float) -> tuple[list[tuple[float, float, int]], float]:
    """Return guarantees that use up half of delta (none of it if all are pure), and the rest of delta."""
    pure = all(_is_pure(profile) for profile, _ in releases)
    return (
        (_guarantees(releases, delta), delta) if pure else (_guarantees(releases, 0.5 * delta), 0.5 * delta)
    )


def _total(terms: Iterable[float]) -> float:
    """Return the sum; inf if it is beyond floats."""
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.inf


_SMALLEST = 1e-300
"""Losses below it count as this large: the rounding of floats that are much smaller is coarse."""


def _root_of_squares(sizes: Iterable[tuple[float, int]]) -> float:
    """Return √Σ n x² for pairs (x, n), up to a few roundings; also where squares are no floats."""
    counted = [(max(x, _SMALLEST), n) for x, n in sizes if x > 0.0]
    largest = max((x for x, _ in counted), default=0.0)
    if largest == 0.0 or math.isinf(largest):
        return largest
    return largest * math.sqrt(_total(n * (x / largest) ** 2 for x, n in counted))


def basic(releases: CountedProfiles, delta: float) -> Bound:
    """Return Σ ε_i, the δ_i adding up to delta (Dwork, McSherry, Nissim, Smith 2006); fully adaptive."""
    return Bound(_sum_of_sizes(releases, _guarantees(releases, delta)), "basic composition")


def _sum_of_sizes(releases: CountedProfiles, guarantees: Iterable[tuple[float, float, int]]) -> float:
    """Return Σ ε_i of guarantees of these releases, rounded up; of pure ones it is exact before."""
    pairs = list(zip(releases, guarantees, strict=True))
    rest = _total(n * epsilon for (profile, n), (epsilon, _, _) in pairs if not _is_pure(profile)) * _UP
    return rest if math.isinf(rest) else up(_pure_sum(releases) + Fraction(rest))


def _pure_sum(releases: CountedProfiles) -> Fraction:
    """Return the sum of the sizes of the pure releases."""
    return exact_sum(
        [(profile.pure_epsilon or Fraction(0), n) for profile, n in releases if _is_pure(profile)]
    )


def _basic_delta(releases: CountedProfiles, epsilon: float) -> Bound:
    """Return 1 - Π (1 - δ_i), the ε_i adding up to epsilon in equal shares, or in those that pure ones leave.

    Of each P_i the part min(P_i, e^{ε_i} Q_i) has the mass 1 - δ_i. The product of these parts has the product of their
    masses, and is nowhere above e^{Σ ε_i} times the product of the Q_i (Kairouz, Oh & Viswanath 2015, Thm 3.3).
    """
    others = [(profile, n) for profile, n in releases if not _is_pure(profile)]
    rest = -up(_pure_sum(releases) - Fraction(epsilon))
    best = min(_at_equal_shares(releases, epsilon), _at_equal_shares(others, rest) if rest >= 0.0 else 1.0)
    return Bound(best, "basic composition")


def _at_equal_shares(releases: CountedProfiles, epsilon: float) -> float:
    number = sum(n for _, n in releases)
    log_kept, at = 0.0, np.array(epsilon / max(number, 1) * (1.0 - 2.0 * ROUNDING))
    for profile, n in releases:
        alone = float(profile.bounds(at)[1])
        if not alone < 1.0:
            return 1.0
        log_kept += n * math.log1p(-alone)
    return min(1.0, abs(math.expm1(log_kept)) * (1.0 + (len(releases) + 8) * ROUNDING))


def advanced(releases: CountedProfiles, delta: float) -> Bound:
    """Return √(2 ln(1/δ') Σ ε_i²) + Σ ε_i (e^{ε_i} - 1), δ = δ' + Σ δ_i.

    Dwork, Rothblum, Vadhan 2010, Thm III.3; for different ε_i by the same martingale.
    """
    parts, rest = _split(releases, delta)
    if any(epsilon > 700.0 for epsilon, _, _ in parts):
        return Bound(math.inf, "advanced composition")
    root = _root_of_squares((epsilon, n) for epsilon, _, n in parts)
    drift = _total(n * epsilon * math.expm1(epsilon) for epsilon, _, n in parts)
    return Bound((math.sqrt(-2.0 * math.log(rest)) * root + drift) * _UP, "advanced composition")


def _heterogeneous(releases: CountedProfiles, delta: float) -> Bound:
    """Return the closed bound on optimal composition (Kairouz, Oh, Viswanath 2015, Thm 3.5).

    The least of Σ ε_i, D + √(2 Σε_i² ln(e + √(Σε_i²)/δ')) and D + √(2 Σε_i² ln(1/δ')) with
    D = Σ ε_i (e^{ε_i} - 1)/(e^{ε_i} + 1), where 1 - δ = (1 - δ') Π (1 - δ_i).
    """
    parts, _ = _split(releases, delta)
    kept = _total(n * math.log1p(-own) for _, own, n in parts)
    rest = -math.expm1(math.log1p(-delta) - kept) * (1.0 - 1e-12)
    root = _root_of_squares((epsilon, n) for epsilon, _, n in parts)
    drift = _total(n * epsilon * math.tanh(0.5 * epsilon) for epsilon, _, n in parts)
    log_1 = math.log(math.e + root / rest)
    spread = drift + math.sqrt(2.0 * min(log_1, -math.log(rest))) * root
    return Bound(min(_sum_of_sizes(releases, parts), spread * _UP), "optimal composition, closed bound")


def optimal(releases: CountedProfiles, delta: float) -> Bound:
    """Return the best ε that holds for all mechanisms with these (ε_i, δ_i).

    Kairouz, Oh, Viswanath 2015, Thm 3.3 (equal ε_i: exact): the worst mechanisms are randomized responses, whose
    composition is computed; the same argument for different ε_i is Murtagh & Vadhan 2016.
    """
    worst = _worst(releases, delta)
    upper = math.inf if worst is None else worst.epsilon(delta, 1e-6).upper if worst.profiles else 0.0
    return Bound(upper, "optimal composition")


def _optimal_delta(releases: CountedProfiles, epsilon: float) -> Bound:
    """Return the δ of the worst mechanisms, for a few choices of their own δ_i: every choice gives a bound.

    The first choice is the δ that the closed bound proves, as it bounds the same worst mechanisms.
    """
    closed = CLOSED.delta(releases, epsilon)
    best = 1.0 if closed is None else closed.upper
    for _ in range(_CHOICES):
        worst = _worst(releases, min(best, 0.99))
        found = best if worst is None else worst.delta(epsilon, 1e-6).upper if worst.profiles else 0.0
        if not found < best:
            break
        best = found
    return Bound(best, "optimal composition")


def _worst(releases: CountedProfiles, delta: float) -> Product | None:
    """Return the worst mechanisms with these (ε_i, δ_i), which use up half of delta; None if an ε_i is infinite."""
    parts, _ = _split(releases, delta)
    if any(math.isinf(epsilon) for epsilon, _, _ in parts):
        return None
    worst: dict[PrivacyProfile, int] = {}
    for epsilon, own, n in parts:
        if epsilon > 0.0 or own:
            size = Fraction(epsilon)
            profile = ApproximateProfile(size, own) if own else PureProfile(size)
            worst[profile] = worst.get(profile, 0) + n
    return Product(tuple(worst), tuple(worst.values()))


def _by_corollary_4_1(releases: CountedProfiles, delta: float) -> Bound | None:
    """Return the ε <= 0.9 at which Corollary 4.1 allows these releases; None if there is none."""
    if any(profile.pure_epsilon is None for profile, _ in releases):
        return None
    count = sum(n for _, n in releases)
    largest = max((up(profile.pure_epsilon or 0) for profile, _ in releases), default=0.0)  # type: ignore[arg-type]
    if largest == 0.0:
        return Bound(0.0, "corollary 4.1")
    largest = max(largest, _SMALLEST)
    if corollary_4_1(0.9, delta, count) < largest * _UP:
        return None
    low, high = 0.0, 0.9
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if corollary_4_1(middle, delta, count) >= largest * _UP else (middle, high)
    return Bound(high, "corollary 4.1")


def concentrated(releases: CountedProfiles) -> ZeroConcentratedProfile | None:
    """Return Σ ρ_i-zCDP, if all are known (Bun & Steinke 2016, Lemma 1.7)."""
    known = [(zcdp_of(profile), n) for profile, n in releases]
    total = _total(n * rho for rho, n in known if rho is not None) * _UP
    whole_known = all(rho is not None for rho, _ in known) and math.isfinite(total)
    return ZeroConcentratedProfile(total) if whole_known else None


def _least_over_orders(conversion: Conversion, releases: CountedProfiles, given: float) -> Bound | None:
    """Return the bound from Σ D_α at the best order (Mironov 2017, Prop. 1; conversion as in zCDP).

    Looked for in `RENYI_ORDERS`, and refined between the neighbours of the best one, but only where divergences say
    more than the product of pairs: elsewhere an order costs more than it gains.
    """
    last = RENYI_ORDERS.size - 1
    divergences = _known_sum(releases, 0, last)
    finite = np.flatnonzero(np.isfinite(divergences))
    if not finite.size:
        return None

    def bound(orders: FloatArray, known: FloatArray) -> FloatArray:
        return conversion(orders[:, np.newaxis], known[:, np.newaxis], given)

    values = bound(RENYI_ORDERS[finite], divergences[finite])
    i = int(np.argmin(values))
    least = float(values[i])
    if _outdoing(releases):
        cell = int(finite[max(i - 1, 0)]), int(finite[min(i + 1, finite.size - 1)])
        least = min(least, float(np.min(bound(_orders_between(*cell), _known_sum(releases, *cell)))))
    return Bound(least, "Renyi DP")


def _orders_between(low: int, high: int) -> FloatArray:
    """Return all of `RENYI_ORDERS`, or finer ones between two of them, given by their positions."""
    if (low, high) == (0, RENYI_ORDERS.size - 1):
        return RENYI_ORDERS
    return 1.0 + np.geomspace(RENYI_ORDERS[low] - 1.0, RENYI_ORDERS[high] - 1.0, _FINER)


@lru_cache(maxsize=1024)  # a search asks for the same ones at every step: an integral for each order
def _known_divergences(profile: PrivacyProfile, low: int, high: int) -> FloatArray:
    found = profile.renyi(_orders_between(low, high))
    check_time(GRACE)  # without time the orders that are missing are not kept
    found.setflags(write=False)
    return found


def _known_sum(releases: CountedProfiles, low: int, high: int) -> FloatArray:
    """Return `sum_of_divergences` at `_orders_between`."""
    shape = _orders_between(low, high).shape
    return _sum_over_releases(releases, lambda profile: _known_divergences(profile, low, high), shape)


def sum_of_divergences(releases: CountedProfiles, orders: FloatArray) -> FloatArray:
    """Return Σ D_α in the worse direction, rounded up; infinite if a loss is so with some probability."""
    return _sum_over_releases(releases, lambda profile: profile.renyi(orders), orders.shape)


def _sum_over_releases(
    releases: CountedProfiles, divergences: Callable[[PrivacyProfile], FloatArray], shape: tuple[int, ...]
) -> FloatArray:
    with np.errstate(over="ignore"):  # infinite is an upper bound, too
        sums = [
            sum(
                (n * divergences(own) for own, n in zip(side.profiles, side.counts, strict=True)),
                np.zeros(shape),
            )
            * _UP
            for side in products(releases)
        ]
    return np.asarray(np.maximum.reduce(sums)) if sums else np.zeros(shape)


def gaussian_dp(releases: CountedProfiles) -> GaussianProfile | None:
    """Return √(Σ μ_i²)-Gaussian DP, if all are known (Dong, Roth, Su 2022, Cor. 3.3)."""
    known = [(gaussian_dp_of(profile), n) for profile, n in releases]
    if any(mu is None or math.isinf(mu) for mu, _ in known):
        return None
    total = _root_of_squares((mu, n) for mu, n in known if mu is not None) * _UP
    return GaussianProfile(total) if math.isfinite(total) else None


def _by_one_number(
    name: str, source: str, total: Callable[[CountedProfiles], PrivacyProfile | None]
) -> CompositionTheorem:
    """Return the theorem by which a composition has one profile, from numbers that add up; None if one is not known."""

    def of_epsilon(releases: CountedProfiles, delta: float) -> Bound | None:
        found = total(releases)
        return None if found is None else Bound(found.epsilon(delta), name)

    def of_delta(releases: CountedProfiles, epsilon: float) -> Bound | None:
        found = total(releases)
        return None if found is None else Bound(float(found.bounds(np.array(epsilon))[1]), name)

    return CompositionTheorem(name, source, of_epsilon, of_delta)


def exact(releases: CountedProfiles, delta: float) -> Bound:
    """Return the composition of privacy-loss distributions of dominating pairs (`mechanisms.composition.product`)."""
    return largest_epsilon(products(releases), delta, _WIDTH).bound


def _exact_delta(releases: CountedProfiles, epsilon: float) -> Bound:
    return largest_delta(products(releases), epsilon, _WIDTH).bound


def _adaptive_curve(releases: CountedProfiles, delta: float) -> tuple[FloatArray, FloatArray] | None:
    """Return the recursion's curve as far as δ is above ``delta``; None unless all releases are one bounded range."""
    curves = [bare(profile) for profile, _ in releases]
    ranges = [curve.epsilon_bound for curve in curves if isinstance(curve, BoundedRangeProfile)]
    known = concentrated(releases)
    if known is None or len(ranges) < len(curves) or len(set(ranges)) != 1:
        return None
    size, count = up(ranges[0]), sum(n for _, n in releases)
    right = min(known.epsilon(max(delta, _LEAST_DELTA)), count * size)
    if not 0.0 < size <= _LARGEST_RANGE or count < 2:
        return None
    try:
        return bounded_range_curve(size, count, right)
    except OutOfTime:
        return None


def _adaptive(releases: CountedProfiles, delta: float) -> Bound | None:
    found = _adaptive_curve(releases, _FURTHER * delta)
    return None if found is None else Bound(epsilon_of_curve(*found, delta), ADAPTIVE_NAME)


def _adaptive_delta(releases: CountedProfiles, epsilon: float) -> Bound | None:
    known = concentrated(releases)
    if known is None:
        return None
    found = _adaptive_curve(releases, _FURTHER * float(known.delta(epsilon)))
    return None if found is None else Bound(delta_of_curve(*found, epsilon), ADAPTIVE_NAME)


def _fixed_size(profile: PrivacyProfile) -> tuple[float, float] | None:
    """Return rate and σ of Gaussian noise on a sample of fixed size; None of all else."""
    if not isinstance(profile, FixedSizeProfile):
        return None
    curve = bare(profile.base)
    return (profile.rate, 1.0 / curve.mu) if isinstance(curve, GaussianProfile) and curve.mu > 1e-6 else None


def _over_all_data(conversion: Conversion, releases: CountedProfiles, given: float) -> Bound | None:
    """Return the bound from Σ D at the best of some orders, D over all data of samples of fixed size."""
    kinds = [(_fixed_size(profile), profile, n) for profile, n in releases]
    own = [(found, n) for found, _, n in kinds if found is not None]
    if not 1 <= len(own) <= _MOST_KINDS or sum(n for _, n in own) < 2:
        return None
    others = [(profile, n) for found, profile, n in kinds if found is None]

    def value(s: float, divergence: Callable[[float, float, float], float]) -> float:
        check_time()
        total = sum(n * divergence(*numbers, s) for numbers, n in own)
        if others and math.isfinite(total):
            total += float(sum_of_divergences(others, np.array([s + 1.0]))[0])
        if not math.isfinite(total):
            return math.inf
        return float(conversion(np.array([s + 1.0]), np.array([total * _UP]), given))

    try:
        best = min(_TILTS.tolist(), key=lambda s: value(s, triangle_divergence))
        found = min(value(best * factor, fixed_size_divergence) for factor in (0.9, 1.0, 1.1))
    except OutOfTime:
        return None
    return Bound(found, OVER_DATA) if math.isfinite(found) else None


OVER_DATA = "Renyi DP over all data"
ADAPTIVE_NAME = "adaptive worst case"
EXACT = "privacy-loss distributions"
ZCDP = _by_one_number(
    "zCDP", "Bun & Steinke 2016, Lemma 1.7; Canonne, Kamath, Steinke 2020, Cor. 13", concentrated
)
RENYI = CompositionTheorem(
    "Renyi DP",
    "Mironov 2017; Canonne, Kamath, Steinke 2020",
    partial(_least_over_orders, epsilons_of_renyi),
    partial(_least_over_orders, deltas_of_renyi),
    one_way=True,
)
BASIC = CompositionTheorem(
    "basic composition", "Dwork, McSherry, Nissim, Smith 2006", basic, _basic_delta, one_way=True
)
CLOSED = CompositionTheorem(
    "optimal composition, closed bound", "Kairouz, Oh, Viswanath 2015, Thm 3.5", _heterogeneous
)
OPTIMAL = CompositionTheorem(
    "optimal composition", "Kairouz, Oh, Viswanath 2015, Thm 3.3", optimal, _optimal_delta
)
GAUSSIAN = _by_one_number("Gaussian DP", "Dong, Roth, Su 2022, Cor. 3.3", gaussian_dp)

ADAPTIVE = CompositionTheorem(
    ADAPTIVE_NAME, "mechanisms.composition.worst_case; Durfee & Rogers 2019", _adaptive, _adaptive_delta
)

ALL_DATA = CompositionTheorem(
    OVER_DATA,
    "mechanisms.composition.fixed_size_orders",
    partial(_over_all_data, epsilons_of_renyi),
    partial(_over_all_data, deltas_of_renyi),
)

AT_ONCE = (ZCDP, RENYI)
"""Theorems that take next to no time."""

THEOREMS: Mapping[str, CompositionTheorem] = MappingProxyType(
    {
        theorem.name: theorem
        for theorem in (
            BASIC,
            CompositionTheorem("advanced composition", "Dwork, Rothblum, Vadhan 2010, Thm III.3", advanced),
            CLOSED,
            OPTIMAL,
            CompositionTheorem("corollary 4.1", "Kairouz, Oh, Viswanath 2015, Cor. 4.1", _by_corollary_4_1),
            ZCDP,
            RENYI,
            GAUSSIAN,
            ADAPTIVE,
            ALL_DATA,
            CompositionTheorem(EXACT, "Zhu, Dong, Wang 2022", exact, _exact_delta, one_way=True),
        )
    }
)
"""Every theorem by name, loosest first."""


def beside_the_product(releases: CountedProfiles, *, loose: bool) -> tuple[CompositionTheorem, ...]:
    """Return the theorems that may prove less loss than the product of dominating pairs does.

    Numbers that follow from a release's curve alone, as its μ, its pure ε and its (ε, δ), are those of a mechanism that
    dominates the curve, and its composition dominates the product of the curves' pairs (Zhu, Dong, Wang 2022, Thm 10).
    So there are two cases: numbers that do not follow from the curve (ρ, Rényi divergences, an adaptive worst case),
    and products that are known loosely, as those of curves without a law of the loss, which are rounded to a grid.
    """
    over_data = (ALL_DATA,) if any(_fixed_size(profile) for profile, _ in releases) else ()
    if loose:
        return (ZCDP, RENYI, GAUSSIAN, BASIC, OPTIMAL, ADAPTIVE, *over_data)
    return (ZCDP, RENYI, ADAPTIVE, *over_data) if _outdoing(releases) else over_data


def _outdoing(releases: CountedProfiles) -> bool:
    return any(profile.outdoes_its_curve for profile, _ in releases)
