"""The composed loss of releases that are made one after another: an interval after each, at a cost that stays flat.

A contour stays valid when releases are added: their transforms are multiplied into its nodes, and every error term is
that of the longer product (`Contour.including`). It only becomes wider, as the tilt that is best moves away. Then a
contour is planned anew for all releases, which happens when their number has grown by a half, and at
the latest when it has doubled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mechanisms.composition.composed_loss import ComposedLoss, check_composable, checked_delta, compose
from mechanisms.composition.contour import Contour, Transform
from mechanisms.composition.enclosure import Bound, Enclosure
from mechanisms.composition.inversion import invert, most_that_fit
from mechanisms.composition.product import NOTHING, Product, contour_delta, without_mass
from mechanisms.losses.privacy_loss import ROUNDING, PrivacyLoss, add_losses
from mechanisms.numerics.deadline import time_is_over
from mechanisms.parameters import ParameterError, finite_nonnegative, open_unit, whole_number
from mechanisms.profiles.privacy_profile import SMALLEST, PrivacyProfile
from mechanisms.profiles.saved_profile import profile_from_dict, profile_to_dict
from mechanisms.profiles.subsampled import OneDirection

_ENOUGH = 3.0
"""A contour this many times wider than the width aimed at is good enough, as in `ComposedLoss`."""
_WORSE = 1.5
"""A contour at most this many times wider than it was when planned is good enough, too."""
_GROWN = 2.0
"""When the number of releases has grown by this factor, a contour with fewer nodes, or a better tilt, may do."""
_FEW = 16
"""Different losses that are added one by one; more are added as one sum."""
_KEPT = 1024
"""Transforms that are kept for when their loss comes again."""


class RunningLoss:
    """Composition of the releases so far, with its cost after each.

    The numbers are those of `compose` for the releases so far: for mechanisms fixed in advance, on data chosen
    adaptively (a training schedule, say). They are no guarantee where outcomes choose the mechanisms or the time of the
    end: use a filter, or `Accountant.odometer`.

    If no data sets are known that attain the cost of all releases together, the lower end of ε may be that of fewer
    releases; there is none if no such data sets are known for any.

    Parameters
    ----------
    releases : iterable of (PrivacyProfile, int), optional
        Earlier releases.

    Raises
    ------
    ParameterError
        If a count is not an integer of at least 1.
    MixedNeighbours
        If two profiles hold for different neighbouring relations.

    Examples
    --------
    >>> from mechanisms import LaplaceProfile
    >>> running = RunningLoss([(LaplaceProfile(1.0, 20.0), 999)])
    >>> running.add(LaplaceProfile(1.0, 20.0))
    >>> 8.204440343933935 in running.epsilon(1e-6)
    True
    >>> running.remaining_releases(LaplaceProfile(1.0, 20.0), epsilon=9.0, delta=1e-6)
    168
    """

    def __init__(self, releases: Iterable[tuple[PrivacyProfile, int]] = ()) -> None:
        self._counts: dict[PrivacyProfile, int] = {}
        self._examples: tuple[PrivacyProfile, ...] = ()
        self._directions: list[_GrowingDirection] = []
        self._attained = True
        self._by_curves = False
        self._fixed_data: tuple[float, list[Enclosure]] | None = None
        self._composed: ComposedLoss | None = None
        for profile, count in releases:
            self.add(profile, count)

    @property
    def releases(self) -> tuple[tuple[PrivacyProfile, int], ...]:
        """Different profiles in the order of their first appearance, each with its count."""
        return tuple(self._counts.items())

    @property
    def composed(self) -> ComposedLoss:
        """The composition of the releases so far, as `compose` returns it."""
        if self._composed is None:
            self._composed = ComposedLoss(self.releases)
        return self._composed

    def add(self, profile: PrivacyProfile, count: int = 1) -> None:
        """Add ``count`` more releases of one profile; on an error nothing is added.

        Raises
        ------
        ParameterError
            If the count is not a whole number of at least 1, or one release has a record removed, another one added.
        MixedNeighbours
            If the profile is for another neighbouring relation than earlier ones.
        """
        more = whole_number("count", count, least=1)
        check_composable((*self._examples, profile))
        for part, times in profile.parts():
            self._add(part, times * more)

    def _add(self, profile: PrivacyProfile, more: int) -> None:
        sides = profile.directions()
        losses = [side.loss() for side in sides]
        # The first profile has the relation of all; one of a single direction, if there is any, has that of all.
        if not self._examples or isinstance(profile, OneDirection):
            self._examples = (*self._examples[:1], profile)
        mass = self._directions[0].mass if self._directions else _InfiniteMass()  # both were alike so far
        while len(self._directions) < len(sides):
            self._directions.append(_GrowingDirection(mass))
        for i, growing in enumerate(self._directions):
            growing.add(losses[min(i, len(sides) - 1)], more)
        self._counts[profile] = self._counts.get(profile, 0) + more
        self._composed = None
        self._attained = self._attained and all(side.attained() == (side,) for side in sides)
        self._by_curves = self._by_curves or None in losses

    def epsilon(self, delta: float, *, width: float = 1e-7) -> Enclosure | Bound:
        """Return an enclosure of the least ε >= 0 with δ(ε) <= delta, or an upper bound; see `ComposedLoss.epsilon`.

        The first call, and one after the number of releases has grown by a half to twice, take the time of `compose`;
        other calls take a fraction of a millisecond.
        """
        target = checked_delta(delta)
        open_unit("width", width)
        if target == 0.0 or not self._counts or self._by_curves:
            return self.composed.epsilon(target, width=width)
        result, anew = Enclosure(0.0, 0.0, NOTHING, NOTHING), False
        for i, growing in enumerate(self._directions):
            if not growing.at_most(result.lower, target):
                own = growing.epsilon(target, width)
                if own is None:
                    own, anew = growing.plan_anew(self.composed.directions[i], target, width), True
                result = result.maximum(own)
        if anew:
            result = self.composed.at_most_the_largest(result)
        relation = self._examples[0].neighbouring
        if self._attained:
            return result.stated_for(relation)
        answer = self.composed.by_theorems(result, width, delta=target)
        if isinstance(answer, Bound):
            # The loss of fewer releases on fixed data is a lower end, too.
            if anew or self._fixed_data is None or self._fixed_data[0] != target:
                self._fixed_data = target, self.composed.epsilons_of_data(target, width)
            answer = answer.above(self._fixed_data[1])
        return answer.stated_for(relation)

    def delta(self, epsilon: float, *, width: float = 1e-7) -> Enclosure | Bound:
        """Return an enclosure of δ(epsilon), or an upper bound, for epsilon >= 0; see `ComposedLoss.delta`."""
        at = finite_nonnegative("epsilon", epsilon)
        open_unit("width", width)
        known = [growing.delta(at, width) for growing in self._directions]
        if not self._attained or not known or None in known:
            return self.composed.delta(at, width=width)
        result = Enclosure(0.0, 0.0, NOTHING, NOTHING)
        for own in known:
            assert own is not None
            result = result.maximum(own)
        return result.stated_for(self._examples[0].neighbouring)

    def remaining_releases(self, profile: PrivacyProfile, *, epsilon: float, delta: float) -> float:
        """Return the number of further releases of one profile after which the proved ε is still within the budget.

        Parameters
        ----------
        profile : PrivacyProfile
            The profile of one more release.
        epsilon, delta : float
            The budget.

        Returns
        -------
        float
            An integer; inf if a trillion fit. After a deadline (`accountant.deadline`) a lower bound on that number.

        Raises
        ------
        ParameterError
            If epsilon or delta is not a number that a budget can have.
        MixedNeighbours
            If the profile is for another neighbouring relation.
        """
        budget, target = finite_nonnegative("epsilon", epsilon), checked_delta(delta)
        check_composable((*self._examples, profile))

        def fits(count: int) -> bool:
            return self._fits(profile, count, budget, target)

        if time_is_over() or self.epsilon(target).upper > budget:
            return 0
        if profile.pure_epsilon == 0:
            return math.inf if fits(1) else 0
        return most_that_fit(fits)

    def _fits(self, profile: PrivacyProfile, count: int, budget: float, target: float) -> bool:
        sides = profile.directions()
        number = max(len(sides), len(self._directions))
        undecided = len(self._directions) < number or target == 0.0
        for i, growing in enumerate(self._directions):
            known = (
                None if target == 0.0 else growing.fits(sides[min(i, len(sides) - 1)], count, budget, target)
            )
            if known is False and self._attained and not profile.bound:
                return False
            undecided = undecided or not known
        return not undecided or compose((*self.releases, (profile, count))).epsilon_at_most(target) <= budget

    def to_dict(self) -> dict[str, Any]:
        """Return the releases as JSON-able data, exact to the last bit.

        Raises
        ------
        ParameterError
            If a profile is none of this library's.
        """
        rows = [
            {"profile": profile_to_dict(profile), "count": count} for profile, count in self._counts.items()
        ]
        return {"releases": rows}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> RunningLoss:
        """Rebuild from the result of `to_dict`.

        Raises
        ------
        ParameterError
            If it is not such a result.
        """
        try:
            rows = [(row["profile"], row["count"]) for row in saved["releases"]]
        except (KeyError, TypeError):
            raise ParameterError("releases: must be a list of profiles, each with a count") from None
        return cls((profile_from_dict(profile), count) for profile, count in rows)


class _InfiniteMass:
    """P(L = ∞) of a sum that grows, between two bounds: 1 - Π (1 - p_i)^{n_i}."""

    def __init__(self, logs: tuple[float, float] = (0.0, 0.0), terms: int = 0) -> None:
        self._logs, self._terms = logs, terms

    def with_loss(self, loss: PrivacyLoss, count: int) -> _InfiniteMass:
        if loss.infinite_mass == 0.0:
            return self
        ends = (loss.least_infinite_mass, loss.infinite_mass)
        more = [count * math.log1p(-end) if end < 1.0 else -math.inf for end in ends]
        return _InfiniteMass((self._logs[0] + more[0], self._logs[1] + more[1]), self._terms + 1)

    @property
    def bounds(self) -> tuple[float, float]:
        rounding = (2 * self._terms + 32) * ROUNDING
        least, most = (-math.expm1(log) for log in self._logs)
        return least * (1.0 - rounding), min(1.0, most * (1.0 + rounding))


class _GrowingDirection:
    """One direction of the neighbouring relation: a contour, and the losses that it does not include yet."""

    def __init__(self, mass: _InfiniteMass) -> None:
        self.mass = mass
        self._contour: Contour | None = None
        self._pending: dict[PrivacyLoss, int] = {}
        self._most_pending = 0.0  # no finite value of their sum is above this
        self._transforms: dict[PrivacyLoss, Transform] = {}
        self._reached = math.inf
        self._start = 0.0
        self._count = 0
        self._until = math.inf

    def add(self, loss: PrivacyLoss | None, count: int) -> None:
        """Add a loss; if only its curve is known, the contour is given up."""
        if loss is None:
            self._contour = None
            return
        self.mass = self.mass.with_loss(loss, count)
        self._count += count
        if self._count > self._until:
            self._contour, self._until = None, math.inf
        if self._contour is not None:
            self._pending[loss] = self._pending.get(loss, 0) + count
            most = math.nextafter(loss.supremum * count, math.inf)
            self._most_pending = math.nextafter(self._most_pending + most, math.inf)

    def _transform(self, contour: Contour, loss: PrivacyLoss) -> Transform:
        known = self._transforms.get(loss)
        if known is None:
            known = contour.transform(loss)
            if len(self._transforms) >= _KEPT:
                del self._transforms[next(iter(self._transforms))]
            self._transforms[loss] = known
        return known

    def _current(self) -> Contour | None:
        """Return the contour with everything in it, if there is one."""
        contour = self._contour
        if contour is None or not self._pending:
            return contour
        if len(self._pending) > _FEW:
            total = add_losses(list(self._pending), list(self._pending.values()))
            contour = contour.including(contour.transform(total), 1)
        else:
            for loss, count in self._pending.items():
                contour = contour.including(self._transform(contour, loss), count)
        self._pending, self._most_pending = {}, 0.0
        self._contour = contour
        return contour

    def at_most(self, epsilon: float, delta: float) -> bool:
        """Return True if the contour proves that this direction's ε(δ) is at most ``epsilon``."""
        if self._contour is None or not epsilon > 0.0:
            return False
        targets = without_mass(delta, *self.mass.bounds)
        if targets is None:
            return False
        # Losses not included yet add at most their largest values, so δ is at most that of the others that far before.
        before = math.nextafter(epsilon - self._most_pending, -math.inf)
        if self._pending and before > 0.0 and self._contour.bounds(before)[1] <= targets[0]:
            return True
        contour = self._current()
        return contour is not None and contour.bounds(epsilon)[1] <= targets[0]

    def _interval(self, contour: Contour, delta: float) -> Enclosure | None:
        targets = without_mass(delta, *self.mass.bounds)
        if targets is None:
            return None
        ends = [invert(contour, target, self._start, contour.supremum) for target in dict.fromkeys(targets)]
        lower, upper = ends[-1][0], ends[0][1]
        self._start = upper if math.isfinite(upper) else 0.0
        return Enclosure(lower, upper, contour.name, contour.name)

    def epsilon(self, delta: float, width: float) -> Enclosure | None:
        """Return the contour's interval, if it is about as narrow as one can be."""
        contour = self._current()
        own = None if contour is None else self._interval(contour, delta)
        if own is None or own.width > max(_ENOUGH * width * max(1.0, own.lower), _WORSE * self._reached):
            return None
        return own

    def plan_anew(self, direction: Product, delta: float, width: float) -> Enclosure:
        """Return the interval of the whole composition, and keep the contour that gave it, if there is one."""
        result, contour = direction.epsilon_and_contour(delta, width)
        self._contour, self._transforms = None, {}
        self._pending, self._most_pending = {}, 0.0
        self._start = result.upper if math.isfinite(result.upper) else 0.0
        own = None if contour is None else self._interval(contour, delta)
        if own is not None and own.width <= max(_ENOUGH * width * max(1.0, own.lower), _WORSE * result.width):
            self._contour, self._reached = contour, own.width
            self._until = _GROWN * self._count
        return result

    def delta(self, epsilon: float, width: float) -> Enclosure | None:
        """Return the contour's interval for δ, if that is narrow."""
        contour = self._current()
        if contour is None or not epsilon < contour.supremum:
            return None
        least, most = self.mass.bounds
        found = contour_delta(contour, epsilon, width)
        if found is None:
            return None
        upper = min(1.0, max(SMALLEST, (found.upper + most) * (1.0 + 4 * ROUNDING)))
        return replace(found, lower=(found.lower + least) * (1.0 - 4 * ROUNDING), upper=upper)

    def fits(self, side: PrivacyProfile, count: int, epsilon: float, delta: float) -> bool | None:
        """Return True if δ(epsilon) stays within delta with `count` more; None if the contour leaves it open."""
        contour, loss = self._current(), side.loss()
        if contour is None or loss is None:
            return None
        targets = without_mass(delta, *self.mass.with_loss(loss, count).bounds)
        if targets is None:
            return None
        lower, upper = contour.including(self._transform(contour, loss), count).bounds(epsilon)
        return True if upper <= targets[0] else False if lower > targets[1] else None
