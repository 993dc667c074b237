"""Privacy loss of a multiset of mechanisms: ε(δ) and δ(ε), between attained lower ends and proved upper ends.

>>> from mechanisms import LaplaceProfile, ZeroConcentratedProfile
>>> from mechanisms.composition.composed_loss import compose
>>> found = compose([(LaplaceProfile(1.0, 20.0), 1000)]).epsilon(1e-6)
>>> found.lower <= 8.204440343933935 <= found.upper, found.width < 1e-9
(True, True)
>>> found = compose([(ZeroConcentratedProfile(0.01), 2), (ZeroConcentratedProfile(0.02), 1)]).epsilon(1e-6)
>>> f"at most {found.upper:.4f}", hasattr(found, "lower")
('at most 1.3050', False)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from mechanisms.composition.enclosure import Bound, Enclosure
from mechanisms.composition.product import (
    NOTHING,
    PURE,
    Product,
    largest_delta,
    largest_epsilon,
    largest_losses,
    products,
)
from mechanisms.composition.theorems import (
    AT_ONCE,
    BASIC,
    EXACT,
    THEOREMS,
    CompositionTheorem,
    beside_the_product,
)
from mechanisms.domains.neighbouring import Neighbouring, common_neighbouring
from mechanisms.numerics.deadline import OutOfTime, check_time, time_is_over
from mechanisms.numerics.rounding import exact_sum, up
from mechanisms.parameters import ParameterError, finite_nonnegative, nonnegative, open_unit, whole_number
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.subsampled import OneDirection

LEAST_DELTA = 1e-290
_FIXED_WIDTH = 1e-6
"""Width of the lower end that fixed data give: composing the worse pair of every release costs more than that."""
_WIDE = 1e4
"""Relative width, in units of the one asked for, from which on theorems may say more than the product as computed."""
_LOST = 1e-15
"""A δ that is smaller is lost in the rounding of a grid, also of the theorem that composes worst mechanisms."""
_UNDERFLOWS = 1e-305
"""A width that the rounding of so small a δ leaves: no theorem is tried for less."""
_FAR = 1e300
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of a profile's releases that meet the first of two pairs; any give a lower bound."""


def compose(releases: Iterable[tuple[PrivacyProfile, int]]) -> ComposedLoss:
    """Return the composition of profiles, each made ``count`` times.

    The dominating pairs must be fixed in advance (a declared plan); the data may be chosen adaptively (Zhu,
    Dong, Wang 2022, Thm 10). For parameters chosen adaptively use a filter.

    Raises
    ------
    ParameterError
        If a count is not a whole number of at least 1.
    MixedNeighbours
        If two profiles hold for different neighbouring relations.
    """
    counted: dict[PrivacyProfile, int] = {}
    for profile, count in releases:
        times = whole_number("count", count, least=1)
        for part, n in profile.parts():
            counted[part] = counted.get(part, 0) + n * times
    return ComposedLoss(tuple(counted.items()))


def check_composable(profiles: Sequence[PrivacyProfile]) -> None:
    """Raise unless all profiles are for one neighbouring relation, and single directions for the same one.

    Raises
    ------
    ParameterError
        If in one a record is removed, in another one added.
    MixedNeighbours
        If two profiles hold for different neighbouring relations.
    """
    common_neighbouring(profiles)
    if len({own.added for own in profiles if isinstance(own, OneDirection)}) > 1:
        raise ParameterError(
            "releases: one has a record removed, another one added; no pair of data sets has both"
        )


def reverse_of(loss: ComposedLoss) -> ComposedLoss | None:
    """Return the composition in the other direction of the neighbouring relation, if the loss is in one alone."""
    if not any(isinstance(profile, OneDirection) for profile, _ in loss.releases):
        return None
    return ComposedLoss(
        tuple(
            (own.reversed() if isinstance(own, OneDirection) else own, count) for own, count in loss.releases
        )
    )


def checked_delta(delta: float) -> float:
    """Return a δ at which ε can be asked for; raise `ParameterError` for any other."""
    target = nonnegative("delta", delta)
    if target >= 1.0 or 0.0 < target < LEAST_DELTA:
        raise ParameterError(f"delta = {delta!r}: must be 0 or lie in [1e-290, 1)")
    return target


@dataclass(frozen=True)
class ComposedLoss:
    """The privacy loss of a composition.

    An answer is the intersection of certified statements. From above: the product of dominating pairs, and every
    theorem that may prove less (`mechanisms.composition.theorems`). From below: the loss of fixed data sets, for the
    releases with known pairs (`PrivacyProfile.attained`), the same pair for all or in the same proportions; other
    releases take nothing of it away (post-processing). If no release has a known pair the answer is a `Bound`.

    Parameters
    ----------
    releases : tuple of (PrivacyProfile, int)
        Distinct profiles with their counts; empty if nothing was released.
    """

    releases: tuple[tuple[PrivacyProfile, int], ...]

    def __post_init__(self) -> None:
        check_composable([profile for profile, _ in self.releases])

    @cached_property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation of every profile, hence of every number; "replace one" if there is none."""
        return common_neighbouring(profile for profile, _ in self.releases)

    @cached_property
    def directions(self) -> tuple[Product, ...]:
        """The products of which the largest δ counts: one, or with a record removed and with one added."""
        return products(self.releases)

    @cached_property
    def _is_on_grid(self) -> bool:
        """True if a product is rounded to a grid, as a curve has no law of the loss."""
        return any(own.on_grid for own in self.directions)

    @cached_property
    def _switches(self) -> bool:
        """True if the worst pair of data sets may differ from release to release."""
        several = any(len(side.attained()) > 1 for own in self.directions for side in own.profiles)
        return several and sum(count for _, count in self.releases) > 1

    @cached_property
    def attained(self) -> bool:
        """True if fixed data sets attain the product of dominating pairs, so that it is the answer."""
        return not self._switches and not any(side.bound for own in self.directions for side in own.profiles)

    @cached_property
    def pure_epsilon(self) -> Fraction | None:
        """The sum of the largest losses, exactly; None if one is unbounded."""
        terms = self._largest_losses
        return None if terms is None else exact_sum(terms)

    @cached_property
    def _largest_losses(self) -> list[tuple[Fraction, int]] | None:
        return largest_losses(self.releases)

    def _exceeds_largest_loss(self, epsilon: float) -> bool:
        """Return True if a number is at least the largest loss; exact sums are taken where floats leave it open."""
        terms = self._largest_losses
        if terms is None:
            return False
        try:
            rough = math.fsum(float(largest) * count for largest, count in terms)
        except OverflowError:
            rough = 0.0
        if epsilon < rough * (1.0 - 1e-12):
            return False
        assert self.pure_epsilon is not None
        return Fraction(epsilon) >= self.pure_epsilon

    def epsilon(self, delta: float, *, width: float = 1e-9) -> Enclosure | Bound:
        """Return an enclosure of the least ε >= 0 with δ(ε) <= delta, or an upper bound.

        Parameters
        ----------
        delta : float
            In [0, 1); 0 asks for the largest loss.
        width : float
            The width aimed at, relative to max(1, ε). It is not guaranteed: without Gaussian parts and with many
            different Laplace scales it may be missed by a factor of a thousand.

        Raises
        ------
        ParameterError
            If delta is outside [0, 1) or positive but below 1e-290, or width is not positive.
        """
        target = checked_delta(delta)
        open_unit("width", width)
        upper = self._epsilon_at_most(target, width)
        if isinstance(upper, Bound):
            upper = upper.above(self.epsilons_of_data(target, width))
        return upper.stated_for(self.neighbouring)

    def epsilon_at_most(self, delta: float, *, width: float = 1e-9) -> float:
        """Return the upper end of `epsilon`, without the work for a lower end that another composition attains."""
        return self._epsilon_at_most(checked_delta(delta), width).upper

    def _epsilon_at_most(self, target: float, width: float) -> Enclosure | Bound:
        if target == 0.0:
            return self._largest_loss()
        if self._is_on_grid:  # which may take all the time
            self._by_theorem(BASIC, target, None)
        return self.by_theorems(self.product_epsilon(target, width), width, delta=target)

    def product_epsilon(self, delta: float, width: float = 1e-9) -> Enclosure:
        """Return ε(delta) of the product of dominating pairs, attained or not, for a positive delta."""
        found = self._known_enclosures.get(("epsilon", delta, width))
        if found is None:
            found = self.at_most_the_largest(largest_epsilon(self.directions, delta, width))
            self._keep(("epsilon", delta, width), found)
        return found

    def _keep(self, key: tuple[str, float, float], found: Enclosure) -> None:
        if not time_is_over():  # with more time it may be narrower
            self._known_enclosures[key] = found

    @cached_property
    def _known_enclosures(self) -> dict[tuple[str, float, float], Enclosure]:
        """Enclosures for the product, by kind, argument and width: the table of theorems has them, too."""
        return {}

    def by_theorems(
        self, product: Enclosure, width: float, *, delta: float | None = None, epsilon: float | None = None
    ) -> Enclosure | Bound:
        """Combine an enclosure for the product of the pairs with the theorems.

        Return the enclosure if it is attained, or the least of the upper bounds.
        """
        wide = not product.width <= _WIDE * width * min(product.upper, _FAR) + _UNDERFLOWS
        if self.attained and not wide:
            return product
        # An infinite product has width 0; if it is only a bound, ε of the releases may be finite.
        loose = wide or self._is_on_grid or math.isinf(product.upper)
        theorems = beside_the_product(self.releases, loose=loose)
        found = (self._by_theorem(theorem, delta, epsilon) for theorem in theorems)
        bounds = [one for one in found if one is not None]
        return product.at_most(bounds) if self.attained else product.bound.at_most(bounds)

    def _by_theorem(
        self, theorem: CompositionTheorem, delta: float | None, epsilon: float | None
    ) -> Bound | None:
        """Return the bound of a theorem; None if it does not apply, or the deadline comes first."""
        asked = (theorem.name, delta, epsilon)
        if asked in self._known_bounds:
            return self._known_bounds[asked]
        try:
            if theorem not in AT_ONCE:
                check_time()
            found = (
                theorem.delta(self.releases, epsilon or 0.0)
                if delta is None
                else theorem.epsilon(self.releases, delta)
            )
        except OutOfTime:
            return None
        if not time_is_over():
            self._known_bounds[asked] = found
        return found

    @cached_property
    def _known_bounds(self) -> dict[tuple[str, float | None, float | None], Bound | None]:
        """Bounds by theorem, δ and ε: a table of theorems shows those that are combined with a product, too."""
        return {}

    def epsilons_of_data(self, delta: float, width: float) -> list[Enclosure]:
        """Return ε(delta) of fixed data sets, where that is not the product's."""
        return [
            Enclosure(own.largest_attained, math.inf, PURE, NOTHING)
            if delta == 0.0
            else own.epsilon(delta, self._width(width))
            for own in self._fixed_data
        ]

    def _width(self, width: float) -> float:
        return max(width, _FIXED_WIDTH) if self._switches else width

    def at_most_the_largest(self, result: Enclosure) -> Enclosure:
        """Intersect an enclosure of ε with the upper bound by the sum of the largest losses."""
        if math.isinf(result.upper) or self._exceeds_largest_loss(result.upper):
            return (
                result if self.pure_epsilon is None else result.at_most([Bound(up(self.pure_epsilon), PURE)])
            )
        return result

    def delta(self, epsilon: float, *, width: float = 1e-9) -> Enclosure | Bound:
        """Return an enclosure of δ(epsilon), or an upper bound, for epsilon >= 0.

        Raises
        ------
        ParameterError
            If epsilon is negative, infinite or NaN, or width not in (0, 1).
        """
        at = finite_nonnegative("epsilon", epsilon)
        open_unit("width", width)
        upper = self._delta_at_most(at, width)
        if isinstance(upper, Bound):
            upper = upper.above(own.delta(at, self._width(width)) for own in self._fixed_data)
        return upper.stated_for(self.neighbouring)

    def delta_at_most(self, epsilon: float, *, width: float = 1e-9) -> float:
        """Return the upper end of `delta`, as `epsilon_at_most` does that of `epsilon`."""
        return self._delta_at_most(finite_nonnegative("epsilon", epsilon), width).upper

    def _delta_at_most(self, at: float, width: float) -> Enclosure | Bound:
        if self._is_on_grid:  # which may take all the time
            self._by_theorem(BASIC, None, at)
        product = self.product_delta(at, width)
        found = self.by_theorems(product, width, epsilon=at) if product.upper else product
        if 0.0 < found.upper < _LOST and self._is_on_grid and not time_is_over():
            others = (self._by_theorem(one, None, at) for name, one in THEOREMS.items() if name != EXACT)
            found = found.at_most([one for one in others if one is not None])
        return found

    def product_delta(self, epsilon: float, width: float = 1e-9) -> Enclosure:
        """Return δ(epsilon) of the product of dominating pairs, attained or not."""
        if self._exceeds_largest_loss(epsilon):
            return Enclosure(0.0, 0.0, PURE, PURE)
        found = self._known_enclosures.get(("delta", epsilon, width))
        if found is None:
            found = largest_delta(self.directions, epsilon, width)
            self._keep(("delta", epsilon, width), found)
        return found

    def directed_delta(
        self, epsilon: float, *, width: float = 1e-9, by_products: bool = False
    ) -> tuple[Enclosure | Bound, ...]:
        """Return δ(epsilon) in each direction of the neighbouring relation, for epsilon >= 0.

        One if the directions are alike; else first removing a record, then adding one. Where the worst data may differ
        from release to release there are two, and their lower ends are those of fixed data and of the same reversed.
        Upper ends by products of pairs alone (``by_products``) take a fraction of the time.
        """
        at = nonnegative("epsilon", epsilon)
        number = max(1, len(self.directions), 2 if self._switches else 1)
        if not self.releases or self._exceeds_largest_loss(at):
            return (Enclosure(0.0, 0.0, PURE, PURE),) * number
        found: list[Enclosure | Bound] = []
        for own in (direction.delta(at, width) for direction in self.directions):
            alone = own if self.attained else own.bound
            found.append(alone if by_products else self.by_theorems(own, width, epsilon=at))
        answers = []
        for i in range(number):
            upper = found[min(i, len(found) - 1)]
            if isinstance(upper, Bound):
                data = [self._directed_data[i]] if self._fixed_data else []
                upper = upper.above(one.delta(at, width) for one in data)
            answers.append(upper)
        return tuple(answers)

    @cached_property
    def _directed_data(self) -> tuple[Product, Product]:
        """Compositions that fixed data sets attain, as D, D′ and as D′, D.

        The second of a profile's pairs is the first with both data sets exchanged.
        """

        def attained(i: int) -> Product:
            side = self.directions[min(i, len(self.directions) - 1)]
            parts = [
                ((profile.attained() * 2)[i], count)
                for profile, count in zip(side.profiles, side.counts, strict=True)
                if profile.attained()
            ]
            return Product(tuple(profile for profile, _ in parts), tuple(count for _, count in parts))

        return attained(0), attained(1)

    @cached_property
    def _fixed_data(self) -> tuple[Product, ...]:
        """Compositions that fixed data sets attain: of each profile's pairs the first in some share of its releases.

        The others meet the second. And all meet the pair that is worst in the long run, where there is one.
        """
        found = []
        for direction in self.directions:
            last = [own.attained_in_the_long_run() for own in direction.profiles]
            if any(last):
                pairs = zip(last, direction.profiles, direction.counts, strict=True)
                known = [
                    (own, n) for one, other, n in pairs for own in ((one,) if one else other.attained()[:1])
                ]
                found.append(Product(tuple(own for own, _ in known), tuple(n for _, n in known)))
            for share in _SHARES if self._switches else _SHARES[-1:]:
                parts: dict[PrivacyProfile, int] = {}
                for profile, count in zip(direction.profiles, direction.counts, strict=True):
                    first = round(share * count)
                    for own, n in zip(profile.attained() * 2, (first, count - first), strict=False):
                        if n:
                            parts[own] = parts.get(own, 0) + n
                if parts:
                    found.append(Product(tuple(parts), tuple(parts.values())))
        return tuple(dict.fromkeys(found))

    def _largest_loss(self) -> Enclosure | Bound:
        total = self.pure_epsilon
        upper = math.inf if total is None else up(total)
        if not self.attained:
            return Bound(upper, PURE)
        lower = max((own.largest_attained for own in self.directions), default=0.0)
        return Enclosure(lower, upper, PURE, PURE)

    def theorems(
        self, *, delta: float | None = None, epsilon: float | None = None
    ) -> dict[str, Enclosure | Bound]:
        """Return the bound of each theorem on ε at delta, or on δ at epsilon; theorems that do not apply are left out.

        After a deadline (`mechanisms.numerics.deadline`) the theorems not yet evaluated are left out, too.

        Parameters
        ----------
        delta, epsilon
            One of them.

        Raises
        ------
        ParameterError
            If not exactly one of delta and epsilon is given, or it is out of range.
        """
        if (delta is None) == (epsilon is None):
            raise ParameterError(f"epsilon = {epsilon!r}, delta = {delta!r}: exactly one must be given")
        if delta is not None and checked_delta(delta) == 0.0:
            largest = self.epsilon(0.0)
            return {BASIC.name: Bound(largest.upper, BASIC.name, self.neighbouring), EXACT: largest}
        table: dict[str, Enclosure | Bound] = {}
        for name, theorem in THEOREMS.items():
            if name == EXACT:
                product = (
                    self.product_epsilon(delta, 1e-9)
                    if delta is not None
                    else self.product_delta(finite_nonnegative("epsilon", epsilon or 0.0), 1e-9)
                )
                table[name] = (product if self.attained else product.bound).stated_for(self.neighbouring)
                continue
            found = self._by_theorem(theorem, delta, epsilon)
            if found is not None:
                table[name] = found
        return table
