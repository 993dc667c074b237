"""Discretised privacy-loss distributions of dp-accounting, read and written as upper bounds.

A distribution has the arguments of ``PrivacyLossDistribution.create_from_rounded_probability``: probabilities of whole
multiples of an interval, that of an infinite loss, and a flag: True if they were rounded to the side of more loss
(``pessimistic_estimate``). If so, and only then, its curve is at least the mechanism's at every ε, also composed, and
its numbers are upper bounds: the lower end of an interval is that of the rounded distribution, not of the mechanism.
That the rounding is as stated is an assumption about the file.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from accountant.audit.releases import EVERYONE, Group, Release, ReleaseFileError, Releases, fixed_release
from mechanisms.arrays import FloatArray
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.privacy_loss import ROUNDING
from mechanisms.numerics.rounding import add_up
from mechanisms.parameters import ParameterError, nonnegative, positive, real
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.related_profile import restate
from mechanisms.profiles.subsampled import BothDirections

_PESSIMISTIC = "pessimistic privacy-loss distribution"

_MASSES = "rounded_probability_mass_function"
_KEYS = (
    _MASSES,
    "infinity_mass",
    "value_discretization_interval",
    "pessimistic_estimate",
    f"{_MASSES}_add",
    "infinity_mass_add",
    "symmetric",
)
_NOISE = 1e-12
"""A negative probability up to this size is a zero with the rounding of a Fourier transform."""
_OFF = 1e-3
"""The largest distance of a total probability from 1: dp-accounting's Gaussian is 2e-8 above, 500 sampled ones 8e-6."""

_MOST_NODES = 2**20
_FARTHEST = 300.0
_TAIL = 1e-16
"""Probability of losses that are written as infinite."""
_LOW_TAIL = 1e-10
"""The most that the smallest multiple adds to δ below it."""
_MOST = 2**53
"""Multiples are whole numbers below this, which floats hold."""


@dataclass(frozen=True)
class _DirectedProfile(BothDirections):
    """The profile of a mechanism with one curve for removing a record and another for adding one.

    Parameters
    ----------
    removed, added : PrivacyProfile
        For the same neighbouring relation.
    """

    removed: PrivacyProfile
    added: PrivacyProfile

    @property
    def _sides(self) -> tuple[PrivacyProfile, PrivacyProfile]:
        return self.removed, self.added


def from_loss_distribution(
    saved: Mapping[str, Any], neighbours: Neighbouring | str, source: str = "distribution"
) -> Releases:
    """Read a pessimistic distribution as one release.

    Parameters
    ----------
    saved
        Arguments of ``create_from_rounded_probability``, by name (keys of the probabilities may be text, as JSON has
        them), or the result of `loss_distribution_as_dict` for a ``PrivacyLossDistribution``.
    neighbours
        The neighbouring relation; with two distributions, for removing and for adding, not "replace one".
    source
        Its origin, with which messages begin.

    Raises
    ------
    ReleaseFileError
        If it is not pessimistic, or no distribution of a privacy loss.
    """
    try:
        profile = _profile(saved, Neighbouring.from_name(neighbours))
    except ParameterError as error:
        raise ReleaseFileError(f"{source}: {error}") from None
    release = Release(f"1: {_PESSIMISTIC}", fixed_release(profile))
    return Releases((release,), (Group(EVERYONE, 1, {0: 1}),))


def is_loss_distribution(content: Mapping[str, Any]) -> bool:
    """Return True if an object of a JSON file is a privacy loss distribution."""
    return _MASSES in content


def loss_distribution_as_dict(distribution: Any) -> dict[str, Any]:
    """Return a ``PrivacyLossDistribution`` of dp-accounting as the arguments of its public constructor, for JSON.

    Raises
    ------
    ParameterError
        If it is none, as dp-accounting 0.6 has them (which has no public way to look into one).
    """
    try:
        removed = distribution._pmf_remove.to_dense_pmf()
        dense = [removed] if distribution._symmetric else [removed, distribution._pmf_add.to_dense_pmf()]
        sides = [(_masses(each), float(each._infinity_mass)) for each in dense]
        return _arguments(sides, float(removed._discretization), bool(removed._pessimistic_estimate))
    except AttributeError as error:
        raise ParameterError(
            f"distribution = {type(distribution).__name__}: must be a PrivacyLossDistribution ({error})"
        ) from None


def to_loss_distribution(profile: PrivacyProfile, interval: float = 1e-3) -> dict[str, Any]:
    """Return a pessimistic distribution of a profile's loss: ``create_from_rounded_probability(**it)`` is one.

    *Connect the dots* (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): its curve is, in e^ε, the chords between
    upper bounds on δ at multiples of the interval, under which the convex curve of every mechanism with this profile
    lies. The most that rounding may take from a chord is added to all of them. Later rounding of dp-accounting is not
    covered.

    Parameters
    ----------
    profile
        The profile, for its own neighbouring relation, which a distribution does not have.
    interval
        Positive; no ε is further off than by this.

    Raises
    ------
    ParameterError
        If the interval is not positive, or so small beside the losses that there would be too many multiples; or the
        profile is a bound that no loss has (not convex in e^ε), as that of zCDP.
    """
    size = positive("interval", interval)
    return _arguments([_connect_dots(side, size) for side in profile.directions()], size, True)


def _arguments(
    sides: Iterable[tuple[dict[int, float], float]], interval: float, pessimistic: bool
) -> dict[str, Any]:
    """Return a distribution by the names of its arguments: masses and infinite mass of one direction, or of two."""
    (masses, infinite), *others = sides
    found: dict[str, Any] = {
        _MASSES: masses,
        "infinity_mass": infinite,
        "value_discretization_interval": interval,
        "pessimistic_estimate": pessimistic,
        "symmetric": not others,
    }
    for masses, infinite in others:
        found |= {f"{_MASSES}_add": masses, "infinity_mass_add": infinite}
    return found


def _connect_dots(side: PrivacyProfile, interval: float) -> tuple[dict[int, float], float]:
    """Return the masses of one direction, and of an infinite loss.

    Between nodes w_i = e^{ε_i}, and from w = 0 where δ is 1, chords have the slopes s_i; the mass at a node is w_i
    times by how much the slope grows there. A slope that falls, by rounding, is taken for one that stays: that adds
    mass.
    """
    multiples = _nodes(side, interval)
    upper = side.bounds(np.nextafter(multiples * interval, -np.inf))[1]
    growth = math.expm1(interval)
    rises = np.diff(upper) / growth  # w_i s_i
    below = np.concatenate([[upper[0] - 1.0], rises * math.exp(interval)])  # w_i times the slope to the left
    above = np.concatenate([rises, [0.0]])
    masses = np.maximum(0.0, above - below)
    # The curve of these masses at the nodes, from the top: sums of positive terms, each with a few roundings.
    weights = np.cumsum((masses * np.exp(-multiples * interval))[::-1])[::-1]
    steps = weights[1:] * np.exp(multiples[:-1] * interval) * growth
    curve = upper[-1] + np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
    missing = float(np.max(np.divide(upper, curve, out=np.ones_like(upper), where=upper > 0.0))) - 1.0
    scale = (
        1.0
        + max(0.0, missing)
        + 16.0 * ROUNDING * (multiples.size + np.max(np.abs(multiples)) * interval + 16.0)
    )
    if float(np.sum(masses)) + float(upper[-1]) > 1.0 + _OFF:
        raise ParameterError(
            f"profile: that of {side.bound or type(side).__name__} is no loss distribution's curve"
        )
    kept = {int(i): float(p * scale) for i, p in zip(multiples, masses, strict=True) if p > 0.0}
    return kept, min(1.0, float(upper[-1]) * scale)


def _nodes(side: PrivacyProfile, interval: float) -> FloatArray:
    """Return the multiples of the interval between losses of next to no probability.

    Below, the curve is next to 1 - e^ε, under which it never falls, and the chord from 0 adds no more than that.
    """
    largest = side.pure_epsilon

    def reaches(most: int) -> bool:
        if largest is not None:
            return (most - 1) * Fraction(interval) >= largest  # at the last of them nothing is left
        return bool(side.bounds(np.array([most * interval]))[1][0] <= side.infinite_mass + _TAIL)

    def begins(most: int) -> bool:
        below = np.array([-most * interval])
        return bool(side.bounds(below)[1][0] + math.expm1(below[0]) <= _LOW_TAIL)

    return np.arange(-_end_node(begins, interval), _end_node(reaches, interval) + 1, dtype=np.float64)


def _end_node(enough: Callable[[int], bool], interval: float) -> int:
    """Return a multiple that is enough, the least or up to a quarter more."""
    most = 4
    while most <= _MOST_NODES and most * interval <= _FARTHEST:
        if enough(most):
            return most
        most += max(1, most // 4)
    raise ParameterError(
        f"interval = {interval!r}: there are losses beyond {most * interval:g}, {most:,} times the interval"
    )


def _masses(dense: Any) -> dict[int, float]:
    return {int(dense._lower_loss) + i: float(p) for i, p in enumerate(dense._probs)}


def _profile(saved: Mapping[str, Any], relation: Neighbouring) -> PrivacyProfile:
    if not isinstance(saved, Mapping):
        raise ParameterError(f"{str(saved)[:80]!r}: must be a mapping with {', '.join(_KEYS[:4])}")
    for key in saved:
        if key not in _KEYS:
            raise ParameterError(f"unknown key {key!r}; the only ones are {', '.join(_KEYS)}")
    for key in _KEYS[:4]:
        if key not in saved:
            raise ParameterError(f"no key {key!r}")
    if saved["pessimistic_estimate"] is not True:
        raise ParameterError(
            f"pessimistic_estimate = {saved['pessimistic_estimate']!r}: must be true; nothing follows for the "
            "mechanism from a distribution that was rounded to the side of less loss"
        )
    interval = positive(_KEYS[2], saved[_KEYS[2]])
    removed = restate(_direction_profile(saved, "", interval), relation)
    if saved.get("symmetric", True) is True:
        if f"{_MASSES}_add" in saved or "infinity_mass_add" in saved:
            raise ParameterError(
                "symmetric = true: then there is one distribution, and none for adding a record"
            )
        return removed
    if relation is Neighbouring.REPLACE_ONE:
        raise ParameterError(
            f"neighbours = {relation.value!r}: two distributions, for removing and for adding a record, are for "
            f"{Neighbouring.ADD_OR_REMOVE.value!r} or {Neighbouring.ZERO_OUT.value!r}"
        )
    for key in _KEYS[4:6]:
        if key not in saved:
            raise ParameterError(f"symmetric = {saved['symmetric']!r}: needs the key {key!r}")
    return _DirectedProfile(removed, restate(_direction_profile(saved, "_add", interval), relation))


def _direction_profile(saved: Mapping[str, Any], which: str, interval: float) -> AtomicProfile:
    """Return the distribution of one direction, with probabilities that add up to 1.

    Missing probability is an infinite loss. Excess is taken from the smallest losses: at ε from there on the
    curve stays, and below it is, in e^ε, the chord from 1 at 0, under which every mechanism's convex curve lies.
    """
    name, masses = f"{_MASSES}{which}", saved[f"{_MASSES}{which}"]
    infinite = nonnegative(f"infinity_mass{which}", saved[f"infinity_mass{which}"])
    if not isinstance(masses, Mapping) or not masses:
        raise ParameterError(f"{name}: must have a probability for at least one multiple of the interval")
    read = {_multiple(name, key): real(f"{name}[{key}]", p) for key, p in masses.items()}
    if len(read) < len(masses):
        raise ParameterError(f"{name}: has one multiple twice")
    if min(read.values()) < -_NOISE:
        raise ParameterError(f"{name}: {min(read.values())!r}: probabilities must not be negative")
    kept = {multiple: read[multiple] for multiple in sorted(read) if read[multiple] > 0.0}
    missing = math.fsum([1.0, -infinite, *(-p for p in kept.values())])
    if not abs(missing) <= _OFF or not kept:
        raise ParameterError(f"{name}: with infinity_mass{which} they add up to {1.0 - missing!r}: must be 1")
    kept = _without_lowest(kept, max(0.0, -missing))
    under_other = math.fsum(p * math.exp(min(-multiple * interval, 700.0)) for multiple, p in kept.items())
    if not under_other <= 1.0 + _OFF:  # of the pair's other distribution
        raise ParameterError(
            f"{name}: no pair of distributions has it: under the other one its outputs would have {under_other:g}"
        )
    losses = tuple(multiple * Fraction(interval) for multiple in kept)
    return AtomicProfile(losses, tuple(kept.values()), add_up(infinite, max(0.0, missing)), _PESSIMISTIC)


def _without_lowest(masses: dict[int, float], excess: float) -> dict[int, float]:
    """Return masses, in order, without an excess, which is taken from those of the smallest losses."""
    kept = dict(masses)
    for multiple, p in masses.items():
        if excess <= 0.0 or len(kept) == 1:
            break
        kept[multiple] = p - excess
        if kept[multiple] <= 0.0:
            del kept[multiple]
        excess -= p
    return kept


def _multiple(name: str, key: Any) -> int:
    found = int(key) if isinstance(key, str) and re.fullmatch(r"-?[0-9]{1,16}", key) else key
    try:
        multiple = operator.index(found)
    except TypeError:
        multiple = _MOST
    if abs(multiple) >= _MOST:
        raise ParameterError(f"{name}: {str(key)[:40]!r}: must be a whole multiple of the interval")
    return multiple
