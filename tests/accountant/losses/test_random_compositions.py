"""Random compositions of different kinds, from δ = 0.1 to 1e-100, against a plain quadrature of their transforms.

The reference shares nothing with the engines but Theorem 1: transforms from their definitions (those of samples by a
fixed fine rule), an abscissa of its own, ten times as many nodes.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from accountant.losses.composed_loss import compose
from mechanisms import GaussianProfile, LaplaceProfile, Neighbouring, PrivacyProfile, RandomizedResponse
from mechanisms.related_profile import RelatedProfile
from mechanisms.subsampled import SubsampledProfile


@dataclass(frozen=True)
class Part:
    """A kind of mechanism, its size (ε, μ or σ), a sampling rate, and how often."""

    kind: str
    size: float
    rate: float
    count: int

    def profile(self) -> PrivacyProfile:
        size = self.size
        profile: PrivacyProfile
        if self.kind == "laplace":
            profile = LaplaceProfile(1.0, 1.0 / size)
        elif self.kind == "response":
            profile = RandomizedResponse(size=2, epsilon=size).profile()
        else:
            profile = GaussianProfile(size)
        related = RelatedProfile(profile, Neighbouring.ADD_OR_REMOVE)
        return SubsampledProfile(related, self.rate) if self.kind == "sampled" else related

    def log_transform(self, z: np.ndarray, added: bool) -> np.ndarray:
        y, e = z + 0.5, self.size
        if self.kind == "laplace":
            return self.count * (
                np.log((np.exp(e * y) + np.exp(-e * y)) / 2 + np.sinh(e * y) / (2 * y)) - e / 2
            )
        if self.kind == "response":
            return self.count * np.log(np.cosh(e * y) / math.cosh(e / 2))
        if self.kind == "gaussian":
            return self.count * e * e * z * (z + 1) / 2
        w = -z if added else z + 1
        # A(w) by Gaussian weights around 0, and around b where e^{bl} moves them.
        centre = 0.0 if added else float(w[0].real)
        x = np.linspace(min(-14.0, centre * e - 14.0), max(0.0, centre * e) + 14.0, 801)
        log_ratio = np.log1p(self.rate * np.expm1(e * x - e * e / 2))
        logs = -0.5 * x * x + math.log((x[1] - x[0]) / math.sqrt(2 * math.pi)) + w[0].real * log_ratio
        top = logs.max()
        values = np.exp(logs - top) @ np.exp(1j * np.outer(log_ratio, w.imag))
        return self.count * (np.log(values) + top)


def reference(parts: list[Part], epsilon: float, delta: float) -> float:
    """Return δ(ε), known to be about ``delta``, without certificate; the larger direction."""
    largest = 0.0
    for added in (False, True) if any(part.kind == "sampled" for part in parts) else (False,):

        def log_integrand(z: np.ndarray, added: bool = added) -> np.ndarray:
            logs = sum(part.log_transform(z, added) for part in parts)
            return np.asarray(logs - epsilon * z - np.log(z * (z + 1)))

        tilts = np.geomspace(0.03, 300.0, 40)
        heights = [float(log_integrand(np.array([s + 0j]))[0].real) for s in tilts]
        s = float(tilts[int(np.argmin(heights))])
        # Samples have a heavy right tail, whose aliases (they only add) must stay away.
        room = 250.0 if any(part.kind == "sampled" for part in parts) else 15.0
        step = 2.0 * math.pi / ((40.0 - math.log(delta)) / s + room)
        falls = math.sqrt(sum(part.count * part.size**2 for part in parts if part.kind == "gaussian"))
        t = step * np.arange(math.ceil(9.0 / falls / step) + 2)
        terms = np.exp(log_integrand(s + 1j * t))
        terms[0] /= 2.0
        largest = max(largest, float(np.sum(terms.real)) * t[1] / math.pi)
    return largest


def draw(rng: np.random.Generator) -> tuple[list[Part], float]:
    """Return a composition with some Gaussian part, so that the reference's transform falls, and a δ."""
    kinds = ["laplace", "response", "gaussian", "sampled"]
    parts = [Part("gaussian", float(10.0 ** rng.uniform(-0.5, 0.3)), 0.0, 1)]
    for _ in range(int(rng.integers(1, 12))):
        kind = kinds[int(rng.integers(4))]
        size = float(10.0 ** rng.uniform(-2.0, 0.0))
        rate = float(10.0 ** rng.uniform(-3.0, -0.3))
        parts.append(Part(kind, size, rate, int(10.0 ** rng.uniform(0.0, 2.0))))
    return parts, float(10.0 ** -(100.0 ** rng.uniform(0.0, 1.0)))


def outside(seed: int) -> str:
    """Return what is wrong with one random composition, or nothing."""
    rng = np.random.default_rng(seed)
    parts, delta = draw(rng)
    found = compose((part.profile(), part.count) for part in parts).epsilon(delta)
    if found.upper == 0.0:
        return "" if reference(parts, 0.0, delta) <= delta * (1.0 + 1e-6) else f"{seed}: {found} at {delta:g}"
    for end, side in ((found.lower, 1.0), (found.upper, -1.0)):
        off = reference(parts, end, delta) / delta - 1.0
        if end > 0.0 and side * off < -1e-6:
            return f"{seed}: {end!r} of {found} at {delta:g}: {off:g}"
    if found.width <= 1e-6 * max(1.0, found.upper):
        return ""
    return f"{seed}: {found} at {delta:g} is {found.width:g} wide"


def test_random_compositions() -> None:
    assert [found for found in map(outside, range(20)) if found] == []


@pytest.mark.slow
def test_random_compositions_often() -> None:
    assert [found for found in map(outside, range(100, 2100)) if found] == []
