"""Noise sources: NumPy's for simulation, OpenDP's for outputs that are published."""

from __future__ import annotations

import functools
import math
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.noise.randomness import Randomness
from mechanisms.parameters import ParameterError


@runtime_checkable
class NoiseSource(Protocol):
    """Draws around given locations; a draw's shape is always the location's shape.

    ``secure`` sources withstand attacks on floating-point noise (Mironov 2012).
    """

    @property
    def name(self) -> str:
        """Name of the source in the record of a release."""

    @property
    def secure(self) -> bool:
        """True if outputs may be shown to an adversary."""

    def laplace(self, location: FloatArray, scale: float | FloatArray) -> FloatArray:
        """Return location + Laplace(scale)."""

    def gaussian(self, location: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """Return location + N(0, sigma²)."""

    def discrete_laplace(self, location: IntArray, scale: float) -> IntArray:
        """Return location + discrete Laplace(scale)."""

    def discrete_gaussian(self, location: IntArray, sigma: float) -> IntArray:
        """Return location + discrete Gaussian(sigma)."""

    def randomized_response(self, category: IntArray, size: int, epsilon: float) -> IntArray:
        """Return the category by k-ary randomized response."""


class NumpyNoise:
    """Noise from NumPy's generators, for simulation only.

    Parameters
    ----------
    randomness : Randomness or numpy.random.Generator
        Every method draws a fixed number of variates for each value (no rejection), so that a
        lane's draws stay its own under `LaneStreams`.

    Raises
    ------
    ParameterError
        If it is neither.
    """

    secure = False

    def __init__(self, randomness: Randomness | np.random.Generator) -> None:
        if not callable(getattr(randomness, "standard_exponential", None)):
            raise ParameterError(
                f"randomness = {randomness!r}: must be a generator, such as numpy.random.default_rng(), or a Randomness"
            )
        self._randomness: Randomness = randomness
        bits = getattr(randomness, "bit_generator", None)
        kind = bits if isinstance(bits, str) else type(randomness if bits is None else bits).__name__
        self.name = f"numpy:{kind}"

    def laplace(self, location: FloatArray, scale: float | FloatArray) -> FloatArray:
        """Return location + Laplace(scale): the difference of two standard exponentials, times scale."""
        pair = self._randomness.standard_exponential((*np.asarray(location).shape, 2))
        return location + scale * (pair[..., 0] - pair[..., 1])

    def gaussian(self, location: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """Return location + N(0, sigma²)."""
        draw: FloatArray = self._randomness.standard_normal(np.asarray(location).shape)
        return location + sigma * draw

    def discrete_laplace(self, location: IntArray, scale: float) -> IntArray:
        """Return location + discrete Laplace(scale), P(k) ∝ exp(-|k| / scale).

        The difference of two geometric variates; the floor of scale·Exp(1) is geometric with
        P(>= k) = exp(-k / scale). Sums beyond 64 bits are the ends of these.
        """
        pair = np.floor(
            min(scale, _LARGEST_SCALE)
            * self._randomness.standard_exponential((*np.asarray(location).shape, 2))
        )
        return _add_saturating(location, pair[..., 0] - pair[..., 1])

    def discrete_gaussian(self, location: IntArray, sigma: float) -> IntArray:
        """Return location + discrete Gaussian(sigma), P(k) ∝ exp(-k² / 2 sigma²).

        One variate each: a table of the distribution function up to sigma = 8192; beyond that a
        rounded normal, whose total variation distance from it is below 0.021 / sigma² < 4e-10. Sums beyond 64 bits are
        the ends of these.
        """
        shape = np.asarray(location).shape
        if sigma > _LARGEST_TABLE:
            normal = self._randomness.standard_normal(shape)
            return _add_saturating(location, np.rint(min(sigma, _LARGEST_SCALE) * normal))
        table, radius = _discrete_gaussian_table(sigma)
        return location + (np.searchsorted(table, self._randomness.random(shape), side="right") - radius)

    def randomized_response(self, category: IntArray, size: int, epsilon: float) -> IntArray:
        """Return the category with probability e^ε / (e^ε + size - 1), each other one equally often."""
        keep = 1.0 / (1.0 + (size - 1) * math.exp(-epsilon))
        uniform = self._randomness.random(np.asarray(category).shape)
        # Given uniform >= keep, (uniform - keep) / (1 - keep) is uniform again and picks the other category.
        scaled = (uniform - keep) * ((size - 1) / max(1.0 - keep, 2.0**-60))
        rank = np.clip(scaled, 0, size - 2).astype(np.int64)  # below 0 where the category is kept
        other = rank + (rank >= category)
        return np.where(uniform < keep, category, other)


_LARGEST_TABLE = 8192.0
_LARGEST_SCALE = 2.0**200
"""The scale that larger ones are cut to: all but 2^-130 of the sums lie beyond 64 bits anyway."""


def _add_saturating(location: IntArray, noise: FloatArray) -> IntArray:
    """Return location + noise (a whole number in floats); sums beyond 64 bits become the largest or least of them."""
    if np.abs(noise).max(initial=0.0) < 2.0**62:
        return location + noise.astype(np.int64)
    ends = np.iinfo(np.int64)
    far = np.clip(noise, -(2.0**64), 2.0**64)
    sums = [
        min(max(int(at) + int(added), ends.min), ends.max)
        for at, added in zip(np.ravel(location).tolist(), far.ravel().tolist(), strict=True)
    ]
    return np.array(sums, dtype=np.int64).reshape(noise.shape)


@functools.lru_cache(maxsize=64)
def _discrete_gaussian_table(sigma: float) -> tuple[FloatArray, int]:
    """Return the distribution function on -radius .. radius - 1, and radius (the mass beyond is < 1e-22)."""
    radius = math.ceil(10.0 * sigma) + 1
    points = np.arange(-radius, radius + 1, dtype=np.float64)
    weights = np.exp(-0.5 * (points / sigma) ** 2)
    table = np.cumsum(weights)
    return table[:-1] / table[-1], radius


class OpenDPNoise:
    """OpenDP's samplers: exact in the integers and safe against floating-point attacks.

    OpenDP is imported on first use. One measurement is built and kept for every parameter seen.
    Results lie on OpenDP's output grid for floats.
    """

    name = "opendp"
    secure = True

    def laplace(self, location: FloatArray, scale: float | FloatArray) -> FloatArray:
        """Return location + Laplace(scale)."""
        return _by_scale("laplace", np.asarray(location, dtype=np.float64), scale)

    def gaussian(self, location: FloatArray, sigma: float | FloatArray) -> FloatArray:
        """Return location + N(0, sigma²)."""
        return _by_scale("gaussian", np.asarray(location, dtype=np.float64), sigma)

    def discrete_laplace(self, location: IntArray, scale: float) -> IntArray:
        """Return location + discrete Laplace(scale)."""
        return _through(
            opendp_measurement("laplace", "i64", float(scale)), np.asarray(location, dtype=np.int64)
        )

    def discrete_gaussian(self, location: IntArray, sigma: float) -> IntArray:
        """Return location + discrete Gaussian(sigma)."""
        return _through(
            opendp_measurement("gaussian", "i64", float(sigma)), np.asarray(location, dtype=np.int64)
        )

    def randomized_response(self, category: IntArray, size: int, epsilon: float) -> IntArray:
        """Return the category by k-ary randomized response; OpenDP's privacy map gives at most epsilon."""
        respond = opendp_randomized_response(size, epsilon)
        array = np.asarray(category, dtype=np.int64)
        return np.array([respond(one) for one in array.ravel().tolist()], dtype=np.int64).reshape(array.shape)


_Array = TypeVar("_Array", FloatArray, IntArray)


def _by_scale(kind: str, location: FloatArray, scale: float | FloatArray) -> FloatArray:
    if np.ndim(scale) == 0:
        return _through(opendp_measurement(kind, "f64", float(scale)), location)
    scales = np.broadcast_to(scale, location.shape)
    out = np.empty_like(location)
    for value in np.unique(scales):
        where = scales == value
        out[where] = _through(opendp_measurement(kind, "f64", float(value)), location[where])
    return out


def _through(measurement: Any, location: _Array) -> _Array:
    flat = location.ravel().tolist()
    noisy = measurement(flat) if flat else []
    out = np.array(noisy, dtype=location.dtype).reshape(location.shape)
    return cast(_Array, out)


def _opendp_prelude() -> Any:
    """Return ``opendp.prelude`` with the features on that noise addition needs."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return dp


@functools.lru_cache(maxsize=256)
def opendp_measurement(kind: str, number: str, scale: float) -> Any:
    """Build OpenDP's "laplace" or "gaussian" noise on vectors of "f64" or "i64"."""
    dp = _opendp_prelude()
    atoms = dp.atom_domain(T=number, nan=False) if number == "f64" else dp.atom_domain(T=number)
    if kind == "laplace":
        return dp.m.make_laplace(dp.vector_domain(atoms), dp.l1_distance(T=number), scale=scale)
    return dp.m.make_gaussian(dp.vector_domain(atoms), dp.l2_distance(T=number), scale=scale)


@functools.lru_cache(maxsize=256)
def opendp_randomized_response(size: int, epsilon: float) -> Any:
    """Build the measurement with the truth probability rounded down until its map gives <= epsilon."""
    dp = _opendp_prelude()
    probability = 1.0 / (1.0 + (size - 1) * math.exp(-epsilon))
    step = math.ulp(probability)
    while True:
        candidate = max(probability, 1.0 / size)
        measurement = dp.m.make_randomized_response(list(range(size)), prob=candidate, T="i64")
        if measurement.map(1) <= epsilon:
            return measurement
        probability -= step
        step *= 2.0


def noise_source(rng: NoiseSource | Randomness | np.random.Generator) -> NoiseSource:
    """Return ``rng`` if it is a noise source, else a `NumpyNoise` that draws from it."""
    if isinstance(rng, (NumpyNoise, OpenDPNoise)):
        return rng
    # A protocol check by isinstance costs 2 µs; a Generator has no `secure`.
    return cast(NoiseSource, rng) if hasattr(rng, "secure") else NumpyNoise(rng)
