"""Random compositions of different kinds, from δ = 0.1 to 1e-100, against a plain quadrature of their transforms.

The reference shares nothing with the engines but Theorem 1: transforms from the mechanisms' definitions, an abscissa
and a period of its own, a rule with more nodes than needed; in long double where many are compared. It is itself
compared with 50 digits. What is next to a largest loss is in `test_near_ceilings.py`, against 80 digits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from mechanisms import (
    BoundedRangeProfile,
    DiscreteGaussianProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    LaplaceProfile,
    Neighbouring,
    PrivacyProfile,
    RandomizedResponse,
)
from mechanisms.amplification.sampled_group import PoissonReplacedProfile
from mechanisms.composition.composed_loss import compose
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledProfile

JOINING = Neighbouring.ADD_OR_REMOVE
SHIFT = 3
"""Of discrete Laplace noise."""
EITHER_WAY = ("laplace", "response", "gaussian", "discrete laplace", "discrete gaussian", "bounded range")
SAMPLED = ("sampled", "sampled laplace")


@dataclass(frozen=True)
class Part:
    """A kind of mechanism, its size (ε, μ or 1/σ), a sampling rate, and how often."""

    kind: str
    size: float
    rate: float
    count: int

    def profile(self, relation: Neighbouring) -> PrivacyProfile:
        size = self.size
        plain: dict[str, Any] = {
            "laplace": lambda: LaplaceProfile(1.0, 1.0 / size),
            "response": lambda: RandomizedResponse(size=2 + self.count % 3, epsilon=size).profile(),
            "gaussian": lambda: GaussianProfile(size),
            "discrete laplace": lambda: DiscreteLaplaceProfile(SHIFT, SHIFT / size),
            "discrete gaussian": lambda: DiscreteGaussianProfile(1, 1.0 / size),
            "bounded range": lambda: BoundedRangeProfile(Fraction(size)),
        }
        if self.kind == "replaced":
            return PoissonReplacedProfile(RelatedProfile(GaussianProfile(size), JOINING), self.rate)
        base = {"sampled": "gaussian", "sampled laplace": "laplace"}.get(self.kind, self.kind)
        profile: PrivacyProfile = plain[base]()
        if relation is JOINING:
            profile = RelatedProfile(profile, JOINING)
        return SubsampledProfile(profile, self.rate) if self.kind in SAMPLED else profile

    def exact(self, real: Any) -> Any:
        """Return the size that the profile has: of some it is one over a float."""
        if self.kind in ("laplace", "sampled laplace", "discrete gaussian"):
            return real(1) / real(1.0 / self.size)
        return SHIFT / real(SHIFT / self.size) if self.kind == "discrete laplace" else real(self.size)

    def law(self, added: bool, tilt: float, real: Any) -> tuple[Any, Any]:
        """Return losses and ln(probabilities · e^{tilt · loss}), of a rule that is exact to the last digits."""
        e = self.exact(real)
        if self.kind == "response":
            k = 2 + self.count % 3
            losses = np.array([e, -e, real(0)])
            masses = np.array([np.exp(e), real(1), real(max(k - 2, 1e-300))]) / (np.exp(e) + k - 1)
        elif self.kind == "discrete laplace":
            a = np.exp(-e / SHIFT)
            steps = np.arange(1, SHIFT).astype(real)
            losses = np.concatenate([[e], (2 * steps - SHIFT) * e / SHIFT, [-e]])
            inner = (1 - a) * a ** (SHIFT - steps)
            masses = np.concatenate([[real(1)], inner, [a**SHIFT]]) / (1 + a)
        elif self.kind == "discrete gaussian":
            reach = 13.0 / self.size
            k = np.arange(math.floor(-reach), math.ceil(tilt + 1.0 + reach) + 1).astype(real)
            losses = (2 * k - 1) * e * e / 2
            logs = -((k - 1) ** 2) * e * e / 2
            around = np.arange(math.floor(-reach), math.ceil(reach) + 1).astype(real)
            return losses, logs - np.log(np.sum(np.exp(-(around**2) * e * e / 2))) + tilt * losses
        elif self.kind == "sampled laplace":
            points, weights = (array.astype(real) for array in gauss_legendre())
            x = (points + 1) / 2
            base = np.concatenate([[e], e * (2 * x - 1), [-e]])
            masses = np.concatenate([[np.exp(-e) / 2], weights / 4 * e * np.exp(-e * x), [real(0.5)]])
            return self._sampled(base, np.log(masses), added, tilt, real)
        else:
            centre = (0.0 if added else (tilt + 1.0) * self.size) if self.kind == "sampled" else self.size
            ends = (
                min(-13.5, centre - 13.5),
                max(0.0, centre + (tilt * self.size if self.kind == "replaced" else 0.0)),
            )
            x = np.arange(ends[0], ends[1] + 13.5, STEP).astype(real)
            log_density = -x * x / 2 + np.log(real(STEP) / np.sqrt(2 * PI(real)))
            forth, back = e * x - e * e / 2, -e * x - e * e / 2
            if self.kind == "sampled":
                return self._sampled(forth, log_density, added, tilt, real)
            q = real(self.rate)
            with_it, other = np.log1p(q * np.expm1(forth)), np.log1p(q * np.expm1(back))
            losses = with_it - other
            return losses, log_density + with_it + tilt * losses
        return losses, np.log(masses) + tilt * losses

    def _sampled(self, base: Any, log_masses: Any, added: bool, tilt: float, real: Any) -> tuple[Any, Any]:
        """Return the law on a sample, from the base's losses and their law without the record."""
        losses = np.log1p(real(self.rate) * np.expm1(base))
        if added:
            return -losses, log_masses - tilt * losses
        return losses, log_masses + (1 + tilt) * losses

    def log_transform(self, added: bool, s: float, step: float, number: int, real: Any) -> Any:
        """Return ln M(s + ik step), k < number, with any multiple of 2πi / count."""
        e, z = self.exact(real), real(s) + 1j * real(step) * np.arange(number).astype(real)
        y = z + real(0.5)
        if self.kind == "laplace":
            return self.count * (
                np.log((np.exp(e * y) + np.exp(-e * y)) / 2 + np.sinh(e * y) / (2 * y)) - e / 2
            )
        if self.kind == "gaussian":
            return self.count * e * e * z * (z + 1) / 2
        if self.kind == "bounded range":
            return self.count * np.log(np.sinh(e * y) / (2 * y * np.sinh(e / 2)))
        losses, logs = self.law(added, s, real)
        top = np.max(logs)
        weights, block = np.exp(logs - top), math.isqrt(number - 1) + 1
        apart = 1j * real(step) * np.arange(block).astype(real)
        inner, outer = np.exp(np.outer(apart, losses)), np.exp(np.outer(block * apart, losses))
        values = ((outer * weights) @ inner.T).ravel()[:number]
        return self.count * (np.log(values) + top)


STEP = 0.078125
"""Of the trapezoid rule for Gaussian noise of standard deviation 1 that moves by at most 1; heights stay below 30."""


def PI(real: Any) -> Any:
    return 4 * np.arctan(real(1))


def gauss_legendre(cache: dict[int, Any] = {}) -> Any:  # noqa: B006
    """Return a rule of 64 points on [-1, 1], to long double: one Newton step on NumPy's."""
    if not cache:
        x = np.polynomial.legendre.leggauss(64)[0].astype(np.longdouble)
        for _ in range(2):
            before, now = np.ones_like(x), x.copy()
            for n in range(2, 65):
                before, now = now, ((2 * n - 1) * x * now - (n - 1) * before) / n
            slope = 64 * (before - x * now) / (1 - x * x)
            x = x - now / slope
        cache[0] = (x, 2 / ((1 - x * x) * slope * slope))
    return cache[0]


@dataclass(frozen=True)
class Reference:
    """δ(ε) of a composition near one ε in one direction, known to a relative error."""

    parts: Sequence[Part]
    added: bool
    real: Any

    def log_m(self, s: float) -> float:
        return math.fsum(
            float(part.log_transform(self.added, s, 0.0, 1, np.float64)[0].real) for part in self.parts
        )

    def heights(self, tilts: Any, epsilon: float) -> tuple[Any, Any]:
        """Return tilts s, with ln M(s) - sε."""
        with np.errstate(all="ignore"):
            found = np.array([self.log_m(s) for s in tilts.tolist()]) - epsilon * tilts
        return tilts, np.where(np.isfinite(found), found, np.inf)

    def deltas(self, epsilons: Sequence[float], delta: float) -> list[tuple[float, float]]:
        """Return δ at some ε that are nearly the same, where δ is about ``delta``, and relative errors."""
        epsilon = epsilons[0]
        tilts, heights = self.heights(np.geomspace(0.03, 300.0, 14), epsilon)
        near = float(tilts[int(np.argmin(heights - np.log(tilts * (tilts + 1.0))))])
        more = self.heights(near * np.array([0.7, 0.84, 1.19, 1.42]), epsilon)
        order = np.argsort(np.append(tilts, more[0]))
        tilts, heights = np.append(tilts, more[0])[order], np.append(heights, more[1])[order]
        best = int(np.argmin(heights - np.log(tilts * (tilts + 1.0))))
        s, wanted = float(tilts[best]), 45.0 - math.log(delta)
        # Aliases: to the left e^{-sT}, to the right by Chernoff's bound at some tilt further on.
        further = (heights[best + 1 :] + wanted) / (tilts[best + 1 :] - s)
        step = 2.0 * math.pi / max(wanted / s, float(np.min(further, initial=math.inf)))
        rho = sum(part.count * part.size**2 for part in self.parts if part.kind == "gaussian")
        number = math.ceil(math.sqrt(2.0 * max(10.0, wanted + heights[best]) / rho) / step) + 2
        real = self.real
        logs = sum(part.log_transform(self.added, s, step, number, real) for part in self.parts)
        z = real(s) + 1j * real(step) * np.arange(number).astype(real)
        counts = 50 + sum(part.count for part in self.parts)
        found = []
        for at in epsilons:
            terms = np.exp(logs - real(at) * z - np.log(z * (z + 1)))
            terms[0] /= 2
            total = float(np.sum(terms.real) * real(step) / PI(real))
            sizes = float(np.sum(np.abs(terms))) * step / math.pi
            found.append((total, 16.0 * float(np.finfo(real).eps) * counts * sizes / delta + 1e-15))
        return found


def draw(rng: np.random.Generator) -> tuple[list[Part], Neighbouring, float]:
    """Return a composition with some Gaussian part, so that the reference's transform falls, and a δ."""
    replacing = bool(rng.integers(4) == 0)
    kinds = (*EITHER_WAY, "replaced") if replacing else (*EITHER_WAY, *SAMPLED, *SAMPLED)
    parts = [Part("gaussian", float(10.0 ** rng.uniform(-0.5, 0.0)), 0.0, int(rng.integers(1, 5)))]
    for _ in range(int(rng.integers(1, 12))):
        kind = kinds[int(rng.integers(len(kinds)))]
        size = float(10.0 ** rng.uniform(-0.7 if kind == "discrete gaussian" else -2.0, 0.0))
        rate = float(10.0 ** rng.uniform(-3.0, -0.3))
        parts.append(Part(kind, size, rate, int(10.0 ** rng.uniform(0.0, 2.0))))
    relation = Neighbouring.REPLACE_ONE if replacing else JOINING
    return parts, relation, float(10.0 ** -(100.0 ** rng.uniform(0.0, 1.0)))


def outside(seed: int, real: Any) -> str:
    """Return what is wrong with one random composition, or nothing."""
    parts, relation, delta = draw(np.random.default_rng(seed))
    found = compose((part.profile(relation), part.count) for part in parts).product_epsilon(delta)
    ends = [found.lower, found.upper]
    directions = (False, True) if any(part.kind in SAMPLED for part in parts) else (False,)
    known = [Reference(parts, added, real).deltas(ends, delta) for added in directions]
    for i, side in ((0, 1.0), (1, -1.0)):
        off, error = max(one[i][0] / delta for one in known) - 1.0, max(one[i][1] for one in known)
        if side * off < -error and not (i == 0 and found.lower == 0.0):
            return f"{seed}: {ends[i]!r} of {found} at {delta:g}: {off:g}, error {error:g}"
    if found.width <= 1e-6 * max(1.0, found.upper):
        return ""
    return f"{seed}: {found} at {delta:g} is {found.width:g} wide"


def by_definition(part: Part, z: mp.mpc, added: bool) -> mp.mpc:
    """Return E[e^{zL}] of one release from the densities of both worlds, to 30 digits."""
    e, q = mp.mpf(part.size), mp.mpf(part.rate)

    def over(with_it: Any, without: Any, points: Sequence[float]) -> mp.mpc:
        def integrand(x: mp.mpf) -> mp.mpc:
            p, r = with_it(x), without(x)
            if part.kind in SAMPLED:
                p = (1 - q) * r + q * p
                p, r = (r, p) if added else (p, r)
            return p * mp.exp(z * (mp.log(p) - mp.log(r)))

        return mp.quad(integrand, points)

    def gaussian(x: mp.mpf, centre: mp.mpf) -> mp.mpf:
        return mp.npdf(x - centre)

    if part.kind in ("laplace", "sampled laplace"):
        half = e / 2
        points = [-200 / e, -40 / e, 0, 1, 40 / e, 200 / e]
        return over(lambda x: half * mp.exp(-e * abs(x - 1)), lambda x: half * mp.exp(-e * abs(x)), points)
    if part.kind == "bounded range":
        return mp.quad(lambda x: mp.exp((x + e) / 2 + z * x) / (2 * mp.expm1(e)), [-e, e])
    if part.kind == "response":
        k = 2 + part.count % 3
        return (mp.exp(e * (1 + z)) + mp.exp(-e * z) + k - 2) / (mp.exp(e) + k - 1)
    whole = range(-400, 401)
    if part.kind == "discrete laplace":
        a = mp.exp(-e / SHIFT)
        masses = [(1 - a) / (1 + a) * a ** abs(k - SHIFT) for k in whole]
        return mp.fsum(
            p * mp.exp(z * (abs(k) - abs(k - SHIFT)) * e / SHIFT) for k, p in zip(whole, masses, strict=True)
        )
    if part.kind == "discrete gaussian":
        masses = [mp.exp(-((k - 1) ** 2) * e * e / 2) for k in whole]
        total = mp.fsum(masses)
        return mp.fsum(
            p / total * mp.exp(z * (2 * k - 1) * e * e / 2) for k, p in zip(whole, masses, strict=True)
        )
    points = [-20, -8, 0, 4, 8, 14, 26]
    if part.kind == "replaced":
        return over(
            lambda x: (1 - q) * gaussian(x, 0) + q * gaussian(x, e),
            lambda x: (1 - q) * gaussian(x, 0) + q * gaussian(x, -e),
            points,
        )
    return over(lambda x: gaussian(x, e), lambda x: gaussian(x, 0), points)


@pytest.mark.slow_cells(
    "replaced-False",
    "gaussian-False",
    "sampled-True",
    "sampled-False",
    "laplace-False",
    "sampled laplace-True",
    "sampled laplace-False",
)
@pytest.mark.parametrize(
    ("kind", "added"),
    [*((kind, False) for kind in (*EITHER_WAY, *SAMPLED, "replaced")), *((kind, True) for kind in SAMPLED)],
)
def test_the_references_transforms_are_those_of_the_definitions(kind: str, added: bool) -> None:
    part, s, step = Part(kind, 0.5, 0.125, 1), 3.5, 0.25
    with mp.workdps(30):
        for real, digits in ((np.float64, 1e-13), (np.longdouble, 1e-17)):
            found = np.exp(part.log_transform(added, s, step, 82, real))
            for k in (0, 81):
                truth = by_definition(part, mp.mpc(s, k * step), added)
                ends = [np.longdouble(str(mp.nstr(end, 25))) for end in (truth.real, truth.imag)]
                assert abs(found[k] - (ends[0] + 1j * ends[1])) <= digits * abs(found[0])


@pytest.mark.parametrize("delta", [0.05, 1e-12, 1e-100])
def test_the_references_sum_is_the_integral(delta: float) -> None:
    """Gaussian noise and two randomized responses: δ is a mean of the Gaussian curve, to 50 digits."""
    mu, e = 0.75, 0.25
    parts = [Part("gaussian", mu, 0.0, 2), Part("response", e, 0.0, 3)]  # of two symbols

    def truth(epsilon: mp.mpf) -> mp.mpf:
        m, total = mp.mpf(mu) * mp.sqrt(2), mp.mpf(0)
        for k in range(4):
            x = epsilon - (2 * k - 3) * mp.mpf(e)
            p = mp.binomial(3, k) * mp.exp(k * mp.mpf(e)) / (1 + mp.exp(mp.mpf(e))) ** 3
            total += p * (mp.ncdf(m / 2 - x / m) - mp.exp(x) * mp.ncdf(-m / 2 - x / m))
        return total

    with mp.workdps(60):
        epsilon = float(
            mp.findroot(lambda x: mp.log(truth(x)) - mp.log(delta), 1.1 * math.sqrt(-2 * math.log(delta)))
        )
        for real, digits in ((np.float64, 1e-12), (np.longdouble, 1e-16)):
            ((found, error),) = Reference(parts, False, real).deltas([epsilon], delta)
            assert abs(found / float(truth(mp.mpf(epsilon))) - 1.0) <= min(error, 1e3 * digits)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_random_compositions(first: int) -> None:
    assert [found for seed in range(first, first + 25) if (found := outside(seed, np.float64))] == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 6000, 1000))
def test_random_compositions_often(first: int) -> None:
    assert [found for seed in range(first, first + 1000) if (found := outside(seed, np.longdouble))] == []
