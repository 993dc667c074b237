"""Every curve with a largest loss, alone and composed, next to it: certified intervals against 80 digits.

The laws are written here from the mechanisms' definitions: the masses and losses of every output, and of Laplace noise
L = e - X, X of law δ_0/2 + D - e^{-e} S(2e) D + e^{-e} δ_{2e}/2, D with density e^{-x/2}/4 above 0 and S a shift.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import mechanisms
from mechanisms import (
    ApproximateProfile,
    AtomicProfile,
    BinomialProfile,
    BoundedRangeProfile,
    DiscreteLaplaceProfile,
    LaplaceProfile,
    Neighbouring,
    ParameterError,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    RelatedProfile,
)
from mechanisms.amplification.sampled_group import PoissonReplacedProfile
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.finite_mixture import FiniteMixture
from mechanisms.losses.privacy_loss import SampledPair
from mechanisms.profiles.binomial_profile import BinomialShift
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.subsampled import SubsampledProfile

JOINING = Neighbouring.ADD_OR_REMOVE
Number = Fraction | mp.mpf


def number(value: Number | float) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mp.mpf(value)


@dataclass
class Law:
    """Atoms (loss, mass), an infinite mass, and Laplace losses (e, count) added to them."""

    atoms: list[tuple[Number, mp.mpf]]
    infinite: mp.mpf = field(default_factory=lambda: mp.mpf(0))
    laplace: tuple[tuple[Fraction, int], ...] = ()

    @property
    def ceiling(self) -> Number:
        return max(loss for loss, _ in self.atoms) + sum((e * n for e, n in self.laplace), Fraction(0))

    def delta(self, epsilon: float) -> mp.mpf:
        top = sum((e * n for e, n in self.laplace), Fraction(0)) - Fraction(epsilon)
        gaps = [
            (number(loss + top if isinstance(loss, Fraction) else loss + number(top)), p)
            for loss, p in self.atoms
        ]
        gaps = [(gap, p) for gap, p in gaps if gap > 0]
        if not self.laplace or not gaps:
            return self.infinite + mp.fsum(-p * mp.expm1(-gap) for gap, p in gaps)
        parts = laplace_parts(self.laplace, max(gap for gap, _ in gaps))
        return self.infinite + mp.fsum(
            p * c * hockey_stick(k, gap - number(shift))
            for gap, p in gaps
            for shift, densities in parts
            if gap > number(shift)
            for k, c in densities.items()
        )


def hockey_stick(k: int, gap: mp.mpf) -> mp.mpf:
    """∫ (1 - e^{x-gap})^+ over D convolved k times: 2^{1-k} e^{-h} Σ h^i / i! over i = k+1, k+3, ..., h = gap/2."""
    half = gap / 2
    term, i = half ** (k + 1) / mp.factorial(k + 1), k + 1
    total = term
    while term > total * mp.eps:
        term *= half * half / ((i + 1) * (i + 2))
        total, i = total + term, i + 2
    return mp.mpf(2) ** (1 - k) * mp.exp(-half) * total


def laplace_parts(
    groups: tuple[tuple[Fraction, int], ...], room: mp.mpf
) -> list[tuple[Fraction, dict[int, mp.mpf]]]:
    """Expand the product of the laws of X: shifts below `room`, with the coefficient of each power of D."""
    states: dict[Fraction, dict[tuple[int, int], mp.mpf]] = {Fraction(0): {(0, 0): mp.mpf(1)}}
    for e, n in groups:
        new: dict[Fraction, dict[tuple[int, int], mp.mpf]] = {}
        for shift, powers in states.items():
            for j in range(n + 1):
                if number(shift + 2 * j * e) >= room:
                    break
                weight = mp.binomial(n, j) * mp.exp(-j * number(e))
                into = new.setdefault(shift + 2 * j * e, {})
                for (a, b), c in powers.items():
                    into[a + n - j, b + j] = into.get((a + n - j, b + j), mp.mpf(0)) + c * weight
        states = new
    out = []
    for shift, powers in states.items():
        densities: dict[int, mp.mpf] = {}
        for (a, b), c in powers.items():  # (δ/2 + D)^a (δ/2 - D)^b
            for i in range(a + 1):
                for j in range(b + 1):
                    own = c * mp.binomial(a, i) * mp.binomial(b, j) * (-1) ** j / mp.mpf(2) ** (a + b - i - j)
                    densities[i + j] = densities.get(i + j, mp.mpf(0)) + own
        out.append((shift, densities))
    return out


def added_up(laws: list[Law], epsilon: float) -> Law | None:
    """Return the law of the sum, without atoms that cannot exceed ε; None if too many are left."""
    rest = mp.fsum(number(law.ceiling) for law in laws)
    atoms: dict[Number, mp.mpf] = {Fraction(0): mp.mpf(1)}
    laplace: dict[Fraction, int] = {}
    finite, passed = mp.mpf(1), mp.mpf(0)
    for law in laws:
        finite *= 1 - law.infinite
        rest -= number(law.ceiling)
        for e, n in law.laplace:
            laplace[e] = laplace.get(e, 0) + n
            passed += n * number(e)
        new: dict[Number, mp.mpf] = {}
        for x, p in atoms.items():
            for y, q in law.atoms:
                exact = isinstance(x, Fraction) and isinstance(y, Fraction)
                z = x + y if exact else number(x) + number(y)
                if number(z) + passed + rest > mp.mpf(epsilon) - mp.mpf(10) ** -60:
                    new[z] = new.get(z, mp.mpf(0)) + p * q
        if len(new) > 3000:
            return None
        atoms = new
    return Law(list(atoms.items()) or [(Fraction(-1), mp.mpf(0))], 1 - finite, tuple(laplace.items()))


@dataclass
class Curve:
    """A law that is known by its δ and its largest loss only, and so is not composed here."""

    delta: Callable[[float], mp.mpf]
    ceiling: mp.mpf


Kind = tuple[PrivacyProfile, list[Law | Curve]]
"""A profile and its law in each direction."""


def laplace(draw: random.Random) -> Kind:
    shift, scale = draw.uniform(0.01, 10.0), 10.0 ** draw.choice([draw.uniform(-2, 3), draw.uniform(-2.5, 8)])
    e = Fraction(shift) / Fraction(scale)
    return LaplaceProfile(shift, scale), [Law([(Fraction(0), mp.mpf(1))], laplace=((e, 1),))]


def discrete_laplace(draw: random.Random) -> Kind:
    shift = draw.choice([1, 2, 3, draw.randint(1, 12), draw.randint(1, 60)])
    scale = 10.0 ** draw.choice([draw.uniform(-0.5, 1), draw.uniform(-1, 6)])
    a = mp.exp(-1 / mp.mpf(scale))
    masses = [1 / (1 + a), *(a**k * (1 - a) / (1 + a) for k in range(1, shift)), a**shift / (1 + a)]
    losses = [(shift - 2 * k) / Fraction(scale) for k in range(shift + 1)]
    return DiscreteLaplaceProfile(shift, scale), [Law(list(zip(losses, masses, strict=True)))]


def _response(e: Fraction, size: int, infinite: float = 0.0) -> Law:
    top = (1 - mp.mpf(infinite)) / (1 + (size - 1) * mp.exp(-number(e)))
    low = top * mp.exp(-number(e))
    return Law([(e, top), (-e, low), (Fraction(0), (size - 2) * low)], mp.mpf(infinite))


def response(draw: random.Random) -> Kind:
    epsilon, size = (
        10.0 ** draw.choice([draw.uniform(-2, 1), draw.uniform(-8, 2)]),
        draw.choice([2, 2, 3, 10**6]),
    )
    return RandomizedResponse(size=size, epsilon=epsilon).profile(), [_response(Fraction(epsilon), size)]


def pure(draw: random.Random) -> Kind:
    bound = Fraction(draw.randint(1, 10**6), draw.randint(1, 10**6))
    return PureProfile(bound), [_response(bound, 2)]


def approximate(draw: random.Random) -> Kind:
    bound, mass = Fraction(draw.randint(1, 1000), draw.randint(1, 1000)), 10.0 ** draw.uniform(-30, -1)
    return ApproximateProfile(bound, mass), [_response(bound, 2, mass)]


def _binomial(trials: int, shift: int, probability: float | mp.mpf) -> Law:
    p = mp.mpf(probability)
    masses = [mp.binomial(trials, y) * p**y * (1 - p) ** (trials - y) for y in range(trials + 1)]
    return Law(
        [(mp.log(masses[y] / masses[y - shift]), masses[y]) for y in range(shift, trials + 1)],
        mp.fsum(masses[:shift]),
    )


def binomial(draw: random.Random) -> Kind:
    trials = draw.randint(2, 40)
    shift = draw.randint(1, min(3, trials - 1))
    return BinomialProfile(trials, shift), [_binomial(trials, shift, 0.5)]


def binomial_shift(draw: random.Random) -> Kind:
    trials, probability = draw.randint(2, 40), draw.uniform(0.05, 0.95)
    shift = draw.randint(1, min(3, trials - 1))
    # Mirrored: the largest outputs have an infinite loss.
    return BinomialShift(trials, shift, probability), [_binomial(trials, shift, 1 - mp.mpf(probability))]


def atoms(draw: random.Random) -> Kind:
    while True:
        losses = [Fraction(draw.randint(-999, 999), draw.randint(1, 999)) for _ in range(draw.randint(1, 6))]
        losses = sorted({*losses, Fraction(draw.randint(1, 9), 3)}, reverse=True)
        weights = [draw.uniform(0.01, 1.0) * math.exp(min(float(loss), 30.0)) for loss in losses]
        infinite = draw.choice([0.0, 0.0, 10.0 ** draw.uniform(-20, -1)])
        masses = [w / sum(weights) * (1.0 - infinite) for w in weights]
        if mp.fsum(mp.mpf(m) * mp.exp(-number(x)) for m, x in zip(masses, losses, strict=True)) <= 1:
            break
    law = Law([(x, mp.mpf(m)) for x, m in zip(losses, masses, strict=True)], mp.mpf(infinite))
    return AtomicProfile(tuple(losses), tuple(masses), infinite), [law]


def mixture(draw: random.Random) -> Kind:
    finite, (one,) = atoms(draw)
    rest, (other,) = laplace(draw)
    assert isinstance(finite, AtomicProfile)
    assert isinstance(one, Law)
    assert isinstance(other, Law)
    return FiniteMixture(finite, rest), [Law(one.atoms, one.infinite, other.laplace)]


def _rate(draw: random.Random) -> float:
    tiny, close = 10.0 ** draw.uniform(-13, -6), 1.0 - 10.0 ** draw.uniform(-14, -3)
    return draw.choice([draw.uniform(0.001, 0.999), 10.0 ** draw.uniform(-6, -0.01), tiny, close])


def _base(draw: random.Random) -> tuple[PrivacyProfile, Law]:
    while True:
        profile, (law,) = draw.choice([discrete_laplace, response, pure, approximate, binomial])(draw)
        assert isinstance(law, Law)
        if len(law.atoms) <= 25:
            return profile, law


def _mixed(law: Law, rate: float) -> list[tuple[mp.mpf, mp.mpf, mp.mpf]]:
    """ln(1-q + q e^l), and the masses of l under P and Q, of a loss that the reverse pair has, too."""
    q = mp.mpf(rate)
    found = [(mp.log1p(q * mp.expm1(number(x))), p, p * mp.exp(-number(x))) for x, p in law.atoms]
    return [*found, (mp.log1p(-q), mp.mpf(0), law.infinite)]


def _sampled(profile: PrivacyProfile, law: Law, rate: float) -> tuple[PrivacyProfile, list[Law]]:
    q = mp.mpf(rate)
    removed = Law([(x, (1 - q) * under_q + q * p) for x, p, under_q in _mixed(law, rate)], q * law.infinite)
    added = Law([(-x, under_q) for x, _, under_q in _mixed(law, rate) if under_q > 0])
    return SubsampledProfile(RelatedProfile(profile, JOINING), rate), [removed, added]


def subsampled(draw: random.Random) -> Kind:
    (profile, law), rate = _base(draw), _rate(draw)
    sampled, sides = _sampled(profile, law, rate)
    return sampled, list(sides)


def fixed_size(draw: random.Random) -> Kind:
    (profile, law), rate = _base(draw), _rate(draw)
    q = mp.mpf(rate)
    up = [(x, (1 - q) * under_q + q * p, under_q) for x, p, under_q in _mixed(law, rate) if x > 0]
    rest = 1 - q * law.infinite - mp.fsum(p + under_q for _, p, under_q in up)
    finite = [*((x, p) for x, p, _ in up), *((-x, under_q) for x, _, under_q in up), (mp.mpf(0), rest)]
    return FixedSizeProfile(profile, rate), [Law(finite, q * law.infinite)]


def _laplace_delta(e: mp.mpf, x: mp.mpf) -> mp.mpf:
    """The Laplace curve at every real ε."""
    if x >= e:
        return mp.mpf(0)
    return -mp.expm1((x - e) / 2) if x >= -e else -mp.expm1(x)


def _laplace_removed(e: mp.mpf, q: mp.mpf) -> Curve:
    return Curve(
        lambda x: q * _laplace_delta(e, mp.log((mp.expm1(mp.mpf(x)) + q) / q)), mp.log1p(q * mp.expm1(e))
    )


def bounded_range(draw: random.Random) -> Kind:
    epsilon = Fraction(10.0 ** draw.uniform(-3, 1.5))
    e = number(epsilon)

    def delta(x: float) -> mp.mpf:
        return mp.expm1((mp.mpf(x) - e) / 2) ** 2 / -mp.expm1(-e) if mp.mpf(x) < e else mp.mpf(0)

    return BoundedRangeProfile(epsilon), [Curve(delta, e)]


def subsampled_laplace(draw: random.Random) -> Kind:
    profile, (law,) = laplace(draw)
    rate = _rate(draw)
    e, q = number(law.ceiling), mp.mpf(rate)

    def added(x: float) -> mp.mpf:
        keep = 1 - mp.exp(mp.mpf(x)) * (1 - q)
        return keep * _laplace_delta(e, mp.log(q) + mp.mpf(x) - mp.log(keep)) if keep > 0 else mp.mpf(0)

    sides = [_laplace_removed(e, q), Curve(added, -mp.log1p(q * mp.expm1(-e)))]
    return SubsampledProfile(RelatedProfile(profile, JOINING), rate), list(sides)


def fixed_size_laplace(draw: random.Random) -> Kind:
    profile, (law,) = laplace(draw)
    rate = _rate(draw)
    return FixedSizeProfile(profile, rate), [_laplace_removed(number(law.ceiling), mp.mpf(rate))]


def poisson_replaced_laplace(draw: random.Random) -> Kind:
    profile, _ = laplace(draw)
    return _poisson_replaced(profile, _rate(draw))


def _poisson_replaced(profile: LaplaceProfile, rate: float) -> Kind:
    """Noise x > 0 has the positive losses: (1-q + q e^{l0}) / (1-q + q e^{-e}), l0 the Laplace loss there."""
    e, q = number(Fraction(profile.shift) / Fraction(profile.scale)), mp.mpf(rate)
    least = 1 - q + q * mp.exp(-e)

    def delta(x: float) -> mp.mpf:
        return q * _laplace_delta(e, mp.log((mp.exp(mp.mpf(x)) * least - (1 - q)) / q))

    ceiling = mp.log1p(q * mp.expm1(e)) - mp.log(least)
    return PoissonReplacedProfile(RelatedProfile(profile, JOINING), rate), [Curve(delta, ceiling)]


KINDS = [
    *(laplace, discrete_laplace, response, pure, approximate, binomial, binomial_shift, atoms, mixture),
    *(
        subsampled,
        fixed_size,
        subsampled_laplace,
        fixed_size_laplace,
        poisson_replaced_laplace,
        bounded_range,
    ),
]
COMPOSED = [
    *(laplace, discrete_laplace, response, pure, approximate, binomial, atoms, mixture),
    *(subsampled, subsampled, fixed_size),
]
WITHOUT = {
    # no largest loss, or a bound that has no law
    *("PerfectPrivacy", "NoPrivacy", "ZeroConcentratedProfile", "ComposedProfile", "OpenDPProfile"),
    *("GaussianProfile", "DiscreteGaussianProfile"),
    # another profile's curve
    *(
        "SameCurve",
        "RelatedProfile",
        "HeldProfile",
        "GroupOfTwoProfile",
        "GroupProfile",
        "SubsampledDirection",
    ),
    *(
        "GroupOnSample",
        "SampledGroupDirection",
        "SampledGroupProfile",
    ),  # tests/mechanisms/relations/test_group_privacy.py
    *("AboveThresholdProfile", "SelectedStepsProfile"),
    *("GaussianMixtureDirection", "GaussianMixtureProfile"),
    "TruncatedBatchProfile",
    *("RandomAllocationDirection", "RandomAllocationProfile"),  # Gaussian
    "ShuffledResponseProfile",  # an AtomicProfile
    "ShuffledBatchesProfile",  # another profile's curve
    *(
        "OneRelation",
        "EpsilonBound",
        "SampledProfile",
        "OneDirection",
        "BothDirections",
        "BoundedCurve",
    ),  # what their subclasses share
}


def _profiles() -> Iterator[type[PrivacyProfile]]:
    for module in pkgutil.walk_packages(mechanisms.__path__, "mechanisms."):
        importlib.import_module(module.name)
    waiting = [PrivacyProfile]
    while waiting:
        for found in waiting.pop().__subclasses__():
            waiting.append(found)
            if found.__module__.startswith("mechanisms."):
                yield found


def test_every_profile_with_a_largest_loss_is_looked_at() -> None:
    draw = random.Random(0)
    covered = {type(kind(draw)[0]).__name__ for kind in KINDS}
    assert {found.__name__ for found in _profiles()} == covered | WITHOUT


def next_to(ceiling: Number, draw: random.Random) -> float:
    """Return a float at, just below or above a number: by 0 to 2 ulp, and a relative distance of 1e-16 to 0.1."""
    x, kind = float(ceiling), draw.randint(0, 4)
    for _ in range(draw.randint(0, 2) if kind != 1 else 0):
        x = math.nextafter(x, math.inf if kind == 4 else 0.0)
    if kind in (1, 2, 3):
        x *= 1.0 - 10.0 ** draw.uniform(-16.0, -1.0)
    elif kind == 4:
        x *= 1.0 + draw.choice([0.0, 10.0 ** draw.uniform(-16.0, -1.0)])
    return max(x, 0.0)


class Case:
    """A composition of random profiles, with its exact δ."""

    def __init__(self, draw: random.Random, kinds: int) -> None:
        if kinds == 1:
            self.parts = [(*draw.choice(KINDS)(draw), 1)]
        else:
            made = [draw.choice(COMPOSED)(draw) for _ in range(draw.choice([1, 1, 2, 2, 3]))]
            made = [one for one in made if one[0].neighbouring is made[0][0].neighbouring]
            self.parts = [(*one, draw.choice([1, 2, 3, 5, draw.randint(1, 20)])) for one in made]
        self.releases = [(profile, count) for profile, _, count in self.parts]
        self.sides = max(len(laws) for _, laws, _ in self.parts)

    def _laws(self, side: int) -> list[Law | Curve]:
        return [laws[min(side, len(laws) - 1)] for _, laws, count in self.parts for _ in range(count)]

    @property
    def ceiling(self) -> Number:
        tops = [[law.ceiling for law in self._laws(side)] for side in range(self.sides)]
        if all(isinstance(top, Fraction) for side in tops for top in side):
            return max(sum(side, Fraction(0)) for side in tops)
        return max(mp.fsum(number(top) for top in side) for side in tops)

    def delta(self, epsilon: float) -> mp.mpf | None:
        """The larger of both directions; None if its law has too many atoms."""
        found = []
        for side in range(self.sides):
            laws = self._laws(side)
            known = [law for law in laws if isinstance(law, Law)]
            if len(known) < len(laws):
                (curve,) = laws
                found.append(curve.delta(epsilon))
                continue
            total = added_up(known, epsilon)
            if total is None:
                return None
            found.append(total.delta(epsilon))
        return max(found)


def wrong(case: Case, draw: random.Random) -> str:
    """Say which interval of a case excludes the truth; empty if none does."""
    loss, x = compose(case.releases), next_to(case.ceiling, draw)
    delta = case.delta(x)
    if delta is None:
        return ""
    interval = loss.product_delta(x)
    if not interval.lower <= delta <= interval.upper:
        return f"δ({x!r}) = {mp.nstr(delta, 20)} not in {interval}: {case.releases}"
    (profile, count), *others = case.releases
    rational = isinstance(case.ceiling, Fraction) and not isinstance(profile, FiniteMixture)
    if rational and count == 1 and not others and delta > 1e-290 and interval.width > 2e-13 * delta:
        return f"δ({x!r}): {interval} is wide: {case.releases}"
    target = 10.0 ** draw.choice([draw.uniform(-290.0, -0.3), draw.uniform(-20.0, -0.3)])
    if 1e-290 < delta < 0.9 and draw.random() < 0.5:
        target = float(delta)
    found = loss.product_epsilon(target)
    # δ falls: the truth is at least `lower` iff δ(lower) >= target. Far below the ceiling laws have too many atoms.
    for end, side in ((found.lower, 1), (found.upper, -1)):
        if (
            math.isfinite(end)
            and end > (0.0 if side > 0 else -1.0)
            and end > 0.3 * float(case.ceiling) * (len(case.parts) > 1)
        ):
            there = case.delta(end)
            if there is not None and side * (there - mp.mpf(target)) < -target * mp.mpf(10) ** -40:
                return f"ε({target!r}) not in {found}, δ({end!r}) = {mp.nstr(there, 20)}: {case.releases}"
    return ""


def violations(count: int, seed: int, kinds: int) -> list[str]:
    draw = random.Random(seed)
    with mp.workdps(80):
        return [found for _ in range(count) if (found := wrong(Case(draw, kinds), draw))]


def test_single_releases_next_to_their_largest_loss() -> None:
    assert violations(100, 1, 1) == []


def test_compositions_next_to_their_largest_loss() -> None:
    assert violations(4, 2, 2) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 11))
def test_single_releases_next_to_their_largest_loss_often(seed: int) -> None:
    assert violations(1_250, seed, 1) == []


@pytest.mark.parametrize(("shift", "scale", "rate"), [(8.98, 0.0115, 5.5e-13), (5.6, 0.006, 0.0147)])
@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.1])
def test_the_mass_near_a_largest_loss_is_read_off_the_lower_end_of_its_curve(
    shift, scale, rate, share
) -> None:
    """The upper end is far off here: e^ε is no float."""
    profile, (curve,) = _poisson_replaced(LaplaceProfile(shift, scale), rate)
    with mp.workdps(80):
        delta = share * rate
        assert curve.delta(compose([(profile, 1)]).product_epsilon(delta).lower) >= delta


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(11, 21))
def test_compositions_next_to_their_largest_loss_often(seed: int) -> None:
    assert violations(100, seed, 2) == []


def transform(law: Law, z: mp.mpc) -> mp.mpc:
    """E[e^{zL}; L < ∞]."""
    total = mp.fsum(p * mp.exp(z * number(loss)) for loss, p in law.atoms)
    for e, n in law.laplace:
        up, down = mp.exp(z * number(e)), mp.exp(-(z + 1) * number(e))
        total *= (((z + 1) * up + z * down) / (2 * z + 1)) ** n
    return total


def wrong_transforms(count: int, seed: int) -> list[str]:
    """Return where a transform is further off than it says: tilts of 1e-8 to 1e7, heights to 1,000 times that."""
    draw, found = random.Random(seed), []
    with mp.workdps(60):
        for _ in range(count):
            profile, laws = draw.choice(KINDS)(draw)
            s = 10.0 ** draw.choice([draw.uniform(-3.0, 1.0), draw.uniform(-8.0, 7.0)])
            t = np.array([0.0, 10.0 ** draw.uniform(-3.0, 3.0) * max(1.0, s)])
            for side, law in zip(profile.directions(), laws, strict=True):
                loss = side.loss()
                if loss is None or isinstance(law, Curve) or s * abs(float(law.ceiling)) > 600.0:
                    continue
                values, errors = loss.log_mgf_line(s, t)
                # Floats add up to 1 but for 1e-16.
                missing = 1 - law.infinite - mp.fsum(p for _, p in law.atoms)
                for height, value, error in zip(t, values, errors, strict=True):
                    computed = mp.exp(mp.mpc(complex(value)))
                    off = abs(computed - missing - transform(law, mp.mpc(s, float(height))))
                    if off > abs(computed) * mp.expm1(mp.mpf(float(error))):
                        found.append(f"{profile} at {s!r} + {height!r}i: off by {mp.nstr(off, 5)}")
    return found


@pytest.mark.slow
def test_transforms_are_as_close_as_they_say() -> None:
    assert wrong_transforms(300, 1) == []


@pytest.mark.slow
def test_transforms_are_as_close_as_they_say_often() -> None:
    assert wrong_transforms(20_000, 2) == []


def test_losses_that_are_rounded_and_truly_zero_are_not_counted_twice() -> None:
    """A fixed-size sample of binomial noise: the middle output's loss is 0, and was counted as l and as -l."""
    binomial_loss = BinomialProfile(5, 1).loss()
    assert binomial_loss is not None
    sampled = binomial_loss.on_sample(0.13, SampledPair.FIXED_SIZE)
    assert sampled is not None
    with mp.workdps(50):
        law = _binomial(5, 1, 0.5)
        q = mp.mpf(0.13)
        up = [(x, (1 - q) * u + q * p, u) for x, p, u in _mixed(law, 0.13) if x > mp.mpf(10) ** -30]
        rest = 1 - q * law.infinite - mp.fsum(p + u for _, p, u in up)
        exact = rest + mp.fsum(p * mp.exp(16 * x) + u * mp.exp(-16 * x) for x, p, u in up)
        value, error = sampled.log_mgf_line(16.0, np.zeros(1))
        assert abs(mp.mpf(float(value[0].real)) - mp.log(exact)) <= error[0] < 1e-10


EXTREME = [1e-310, 1e-300, 1e-160, 1e160, 1e300, 1.7e308]


@pytest.mark.parametrize("scale", EXTREME)
@pytest.mark.parametrize("shift", [1.0, 1e-310, 1e300])
def test_laplace_noise_of_extreme_scale(shift: float, scale: float) -> None:
    e = Fraction(shift) / Fraction(scale)
    if e > Fraction(10) ** 290:
        with pytest.raises(ParameterError, match="at most 1e290"):
            LaplaceProfile(shift, scale)
        return
    profile = LaplaceProfile(shift, scale)
    with mp.workdps(50):

        def exact(x: float) -> mp.mpf:
            return _laplace_delta(number(e), mp.mpf(x))

        for x in (0.0, 5e-324, 1e-300, 1e-12, 1.0, float(e) / 2, 1e300):
            interval = compose([(profile, 1)]).delta(x)
            assert interval.lower <= exact(x) <= interval.upper
        for delta in (0.1, 1e-200):
            interval = compose([(profile, 1)]).epsilon(delta)
            assert interval.lower == 0.0 or exact(interval.lower) >= delta
            assert exact(interval.upper) <= delta
    several = compose([(profile, 3)])
    assert 0.0 <= several.epsilon(0.1).lower <= several.epsilon(0.1).upper
    assert 0.0 <= several.delta(1.0).lower <= several.delta(1.0).upper <= 1.0


def _encloses(profile: PrivacyProfile, count: int, x: float, *laws: Law) -> bool:
    """Whether δ of so many releases, the larger of both directions, lies in its interval."""
    interval = compose([(profile, count)]).delta(x)
    totals = [added_up([law] * count, x) for law in laws]
    return interval.lower <= max(total.delta(x) for total in totals if total is not None) <= interval.upper


@pytest.mark.parametrize(("epsilon", "rate"), [(5e-324, 0.5), (1e-300, 1e-12), (1e-12, 1e-280)])
def test_samples_with_next_to_no_loss_are_refused(epsilon: float, rate: float) -> None:
    for base in (RandomizedResponse(size=2, epsilon=epsilon).profile(), LaplaceProfile(epsilon, 1.0)):
        with pytest.raises(ParameterError, match="must be at least 1e-290"):
            SubsampledProfile(RelatedProfile(base, JOINING), rate)


@pytest.mark.slow_cells("700.0", "701.0", "10000.0")
@pytest.mark.parametrize("epsilon", [700.0, 701.0, 1e4, 1e280])
def test_samples_of_laplace_noise_of_huge_loss(epsilon: float) -> None:
    """Two releases give away at least what one does."""
    base = LaplaceProfile(epsilon, 1.0)
    for profile in (SubsampledProfile(RelatedProfile(base, JOINING), 0.01), FixedSizeProfile(base, 0.01)):
        one, two = (compose([(profile, count)]).delta(1.0) for count in (1, 2))
        assert 0.0099 < one.lower <= 0.01 <= one.upper < 0.0101
        assert one.lower <= two.upper <= 1.0


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [1e-200, 1e-12, 745.0, 1e280])
def test_sampled_responses_of_extreme_parameters(epsilon: float) -> None:
    base = RandomizedResponse(size=2, epsilon=epsilon).profile()
    with mp.workdps(80 if epsilon > 1e-100 else 400):
        law = _response(Fraction(epsilon), 2)
        for rate in (1e-12 if epsilon < 1.0 else 1e-200, 0.5, 1.0 - 1e-12):
            profile, (removed, added) = _sampled(base, law, rate)
            for x in (0.0, epsilon / 2.0):
                for count in (1, 2):
                    assert _encloses(profile, count, x, removed, added)


@pytest.mark.slow
def test_a_loss_of_the_other_data_set_alone_is_kept() -> None:
    """Mass 2e-16 that only the data set without the record can give: dropped once, with what is missing to 1."""
    bound, mass, rate = Fraction(409, 279), 2.114958123077118e-16, 0.6689466660571453
    second = Fraction(14371, 855)
    with mp.workdps(50):
        profile, sides = _sampled(ApproximateProfile(bound, mass), _response(bound, 2, mass), rate)
    loss = compose([(profile, 1), (RelatedProfile(PureProfile(second), JOINING), 2)])
    assert (
        loss.product_epsilon(1.0966378341072833e-27).lower == math.inf
    )  # of the rate times the mass, removed
    with mp.workdps(50):
        for x in (34.3, 34.7):
            totals = [added_up([side, _response(second, 2), _response(second, 2)], x) for side in sides]
            exact = max(total.delta(x) for total in totals if total is not None)
            interval = loss.product_delta(x)
            assert interval.lower <= exact <= interval.upper


def test_a_base_that_differs_from_its_reverse_is_not_sampled() -> None:
    base = AtomicProfile((Fraction(1), Fraction(-1)), (0.75, 0.25))
    assert not base.symmetric
    with pytest.raises(ParameterError, match="the same loss in both directions"):
        FixedSizeProfile(base, 0.5)
