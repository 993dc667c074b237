"""Sums of bounded vectors under shuffle trust: random bits, a shuffler, a count of ones.

Every client turns each coordinate into a whole number of ones, at most g, adds b random bits and sends
g + b bits, labelled with the coordinate. Bits of one coordinate are exchangeable and their number is public:
the shuffler reveals the number of ones of each coordinate, at the cost of the profile of
Bin(bn, p) noise on a sum of whole numbers (`BinomialProfile`).

The published constants are loose by two orders of magnitude. Standard deviation of the mean over that of the
central analytic Gaussian, bits sent per coordinate, and the true ε of the published protocol at its δ, B = 1:

============  ===  ======  ===============  ======================  ====================  ==============
claim (ε, δ)  s    n       `calibrated`     `vector_as_printed`     bits of each          published ε
============  ===  ======  ===============  ======================  ====================  ==============
(0.5, 1e-3)   45   10,000  1.03             502                     26, 214,573           0
(1, 1e-6)     20   10,000  1.05             464                     29, 153,988           0.002
(10, 1e-6)    45   100     1.03             371                     25, 160,850           0.03
(10, 0.25)    20   10,000  1.06             170                     198, 80               0
============  ===  ======  ===============  ======================  ====================  ==============
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.noise.binomial import Binomial
from mechanisms.noise.gaussian import Gaussian
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.numerics.binomial_law import MOST_TRIALS
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import DomainError, ParameterError, open_unit, positive, whole_number
from mechanisms.privatizers.privatizer import Communication, TrustModel, checked_vectors
from mechanisms.profiles.binomial_profile import BinomialProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.transformations.categories import RandomRounding

_MOST_BITS = 2**34
_LONG = 2**24  # trials from which on a curve takes a tenth of a second


@dataclass(frozen=True, kw_only=True)
class ShuffledMean:
    """The mean of n vectors in [-B, B]^s from shuffled bits.

    With D = ``half_range`` >= B, a client's coordinate y becomes w = (y + D) g / 2D, rounded to a whole
    number M at random without bias; it sends M + Bin(b, p) ones among g + b bits. The server estimates
    the mean by 2D/(gn) (ones - bnp) - D, without bias.

    Parameters
    ----------
    clients, size, bound
        n, s and B.
    levels
        g, ones that carry data.
    added
        b, random bits that each client adds to each coordinate.
    probability
        p of a random bit.
    half_range
        D; B by default.
    delta
        The nominal δ at which `mechanism` names an ε.

    Raises
    ------
    ParameterError
        If a parameter is out of range, half_range below bound, or the random bits could not hide the data at
        all (g > bn).
    """

    clients: int
    size: int
    bound: float
    levels: int
    added: int
    probability: float = 0.5
    half_range: float = 0.0
    delta: float | None = None

    def __post_init__(self) -> None:
        for name in ("clients", "size", "levels", "added"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least=1))
        object.__setattr__(self, "bound", positive("bound", self.bound))
        object.__setattr__(self, "probability", open_unit("probability", self.probability))
        if self.half_range == 0.0:
            object.__setattr__(self, "half_range", self.bound)
        if not positive("half_range", self.half_range) >= self.bound:
            raise ParameterError(f"half_range = {self.half_range!r}: must be at least bound = {self.bound}")
        _ = self.mechanism  # refuses levels > trials

    @classmethod
    def calibrated(
        cls,
        epsilon: float,
        delta: float,
        *,
        clients: int,
        size: int,
        bound: float,
        levels: int | None = None,
    ) -> ShuffledMean:
        """Return the protocol with fair bits and the least b that is (ε, δ)-private, found by bisection.

        δ falls with b (Bin(N + n) = Bin(N) + Bin(n) is post-processing), and is the exact worst case over
        inputs: all coordinates from -B to B. Where bn > 2^24, b is the least up to one part in 4096. Default levels
        g = 2 √n μ / √s, μ that of the analytic Gaussian mechanism at (ε, δ): the noise is then within a few
        percent of the central Gaussian's.

        Raises
        ------
        ParameterError
            If epsilon or bound is not positive and finite, delta not in (0, 1), or a number not positive; or if more
            than 2^34 random bits a coordinate would be needed.
        """
        loss, target = positive("epsilon", epsilon), open_unit("delta", delta)
        n, s = whole_number("clients", clients, least=1), whole_number("size", size, least=1)
        mu = 1.0 / Gaussian.for_epsilon_delta(loss, target, sensitivity=Sensitivity(1.0, 1.0, 1.0)).sigma
        g = (
            math.ceil(2.0 * mu * math.sqrt(n / s))
            if levels is None
            else whole_number("levels", levels, least=1)
        )

        def private(b: int) -> bool:
            if b * n < g:
                return False
            _check_bits(b * n, _MOST_BITS, loss, target, n)
            profile = BinomialProfile(b * n, g, 0.5, s)
            return profile.proves(loss, target)

        high = max(
            1, math.ceil(4.0 * g * g * s / (mu * mu * n))
        )  # where a Gaussian of this variance would be
        low, step = 0, max(1, high // 16)
        if private(high):
            while high > 1 and private(max(1, high - step)):
                high, step = max(1, high - step), 2 * step
            low = max(0, high - step)
        else:
            while not private(high + step):
                high, step = high + step, 2 * step
            low, high = high, high + step
        while high - low > (max(1, high >> 12) if high * n > _LONG else 1):
            middle = (low + high) // 2
            low, high = (low, middle) if private(middle) else (middle, high)
        return cls(clients=n, size=s, bound=bound, levels=g, added=high, delta=target)

    @staticmethod
    def check_claim(epsilon: float, delta: float, *, size: int) -> None:
        """Refuse a claim for which `calibrated` would find too many random bits, however few the clients are.

        With one level of data, noise of the Gaussian mechanism's variance is that of ``4 s / mu^2`` bits; fair bits
        need hardly more, and as many for every number of clients. No number of bits proves a delta below
        `BinomialProfile.least_delta`.

        Raises
        ------
        ParameterError
            As `calibrated`.
        """
        loss, target, s = (
            positive("epsilon", epsilon),
            open_unit("delta", delta),
            whole_number("size", size, least=1),
        )
        least = BinomialProfile.least_delta(s)
        if target < least:
            raise ParameterError(
                f"delta = {target:g}: must be at least {least:g}, the least that is proved of shuffled messages of {s} "
                f"coordinate{'s' * (s > 1)}"
            )
        sigma = Gaussian.for_epsilon_delta(loss, target, sensitivity=Sensitivity(1.0, 1.0, 1.0)).sigma
        _check_bits(math.ceil(4.0 * s * sigma * sigma), _MOST_BITS, loss, target, 1)

    @classmethod
    def vector_as_printed(
        cls, epsilon: float, delta: float, *, clients: int, size: int, bound: float
    ) -> ShuffledMean:
        """Return the published vector protocol (Li, Zhou & Ji 2022, Algorithm 2, Eq. 22), D = B √s.

        ε̂ = ε / (18 √ln(2/δ)); g = max(ε̂ √n / (6 √(5 ln(4s/δ))), √s, 10), rounded up here (as printed it is
        no whole number); x = 180 g² ln(4s/δ) / (ε̂² n), b = ⌈x⌉, p = x / 2b. Its true ε is smaller than
        the claim by a factor of hundreds: see `profile`.

        Raises
        ------
        ParameterError
            If epsilon or bound is not positive and finite, delta not in (0, 1), or a number not positive; or if
            epsilon is so large that the b n bits of a coordinate are fewer than g.
        """
        loss, target = positive("epsilon", epsilon), open_unit("delta", delta)
        n, s = whole_number("clients", clients, least=1), whole_number("size", size, least=1)
        shrunk = loss / (18.0 * math.sqrt(math.log(2.0 / target)))
        log_term = math.log(4.0 * s / target)
        g = math.ceil(max(shrunk * math.sqrt(n) / (6.0 * math.sqrt(5.0 * log_term)), math.sqrt(s), 10.0))
        b, p = _printed_bits(180.0 * g * g * log_term / (shrunk * shrunk * n))
        wide = positive("bound", bound) * math.sqrt(s)
        _check_bits(b * n, MOST_TRIALS, loss, target, n, levels=g)
        return cls(
            clients=n, size=s, bound=bound, levels=g, added=b, probability=p, half_range=wide, delta=target
        )

    @classmethod
    def scalar_as_printed(cls, epsilon: float, delta: float, *, clients: int, bound: float) -> ShuffledMean:
        """Return the published scalar protocol (Li, Zhou & Ji 2022, Algorithm 4, Eq. 60), s = 1.

        ε̂ = ε / 2; g = 2B √n rounded up; x = 180 g² ln(2/δ) / (ε̂² n), b = ⌈x⌉, p = x / 2b.

        Raises
        ------
        ParameterError
            If epsilon or bound is not positive and finite, delta not in (0, 1), or clients not positive; or if
            epsilon is so large that the b n bits are fewer than g.
        """
        loss, target = positive("epsilon", epsilon), open_unit("delta", delta)
        n = whole_number("clients", clients, least=1)
        g = math.ceil(2.0 * positive("bound", bound) * math.sqrt(n))
        b, p = _printed_bits(180.0 * g * g * math.log(2.0 / target) / (0.25 * loss * loss * n))
        _check_bits(b * n, MOST_TRIALS, loss, target, n, levels=g)
        return cls(clients=n, size=1, bound=bound, levels=g, added=b, probability=p, delta=target)

    @property
    def trust(self) -> TrustModel:
        """The shuffler is trusted."""
        return "shuffle"

    @property
    def _reach(self) -> tuple[int, int]:
        """The least and the largest whole number that an input can be rounded to."""
        share = self.bound / self.half_range
        half = 0.5 * self.levels
        return math.floor((1.0 - share) * half), math.ceil((1.0 + share) * half)

    @cached_property
    def mechanism(self) -> Binomial:
        """Mechanism of the server's view of the sum of integers: Bin(bn, p) noise on each coordinate."""
        low, high = self._reach
        return Binomial(
            trials=self.added * self.clients,
            shift=high - low,
            dimension=self.size,
            probability=self.probability,
            delta=self.delta,
            clients=self.clients,
        )

    @property
    def communication(self) -> Communication:
        """``size`` times g + b bits."""
        return Communication(bits=self.size * (self.levels + self.added))

    @property
    def step(self) -> float:
        """Change of the mean by one more message bit that is 1: 2D / (gn)."""
        return 2.0 * self.half_range / (self.levels * self.clients)

    @property
    def proxy(self) -> float:
        """Sub-Gaussian proxy of a coordinate of the mean: 1/4 for every random bit and rounding (Hoeffding)."""
        return self.step**2 * self.clients * (self.added + 1) / 4.0

    def profile(self) -> PrivacyProfile:
        """Return the profile of one client's vector in the shuffled view; see `BinomialProfile`.

        For half_range = bound it is that of the worst data (exact for one coordinate). Else inputs do not reach
        whole numbers, and the curve is that of whole numbers within reach, an upper bound.
        """
        noise = self.mechanism
        bound = "" if self.half_range == self.bound else "inputs rounded outwards to whole numbers"
        return BinomialProfile(noise.trials, noise.shift, self.probability, self.size, bound)

    def encode(self, values: FloatArray, uniform: FloatArray) -> IntArray:
        """Return ⌊w + uniform⌋, w = (y + D) g / 2D: unbiased if uniform is uniform on [0, 1).

        For any ``uniform``, also a public one, the result lies within reach of [-B, B] and privacy is that
        of `profile`.
        """
        return self.encoder(uniform).apply(values)

    def encoder(self, uniform: FloatArray) -> RandomRounding:
        """Return `encode` as a transformation, for public ``uniform`` of shape (size,) or (lanes, size)."""
        factor = 0.5 * self.levels / self.half_range
        return RandomRounding(self.half_range, factor, uniform, *self._reach)

    def randomize(self, values: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> IntArray:
        """Return the number of ones that each client sends among its g + b bits, shape (clients, size)."""
        source = noise_source(noise)
        vectors = checked_vectors(self, values)
        # Uniform draws for rounding; their quality bears on the bias only, not on privacy.
        uniform = np.minimum(ndtr(source.gaussian(np.zeros(vectors.shape), 1.0)), math.nextafter(1.0, 0.0))
        added = Binomial(
            trials=self.added, shift=1, dimension=self.size, probability=self.probability
        ).release(np.zeros(vectors.shape, dtype=np.int64), source)
        return self.encode(vectors, uniform) + added

    def shuffle(self, messages: npt.NDArray[Any]) -> IntArray:
        """Return the number of ones of each coordinate: all that a permutation of the bits leaves.

        Raises
        ------
        ParameterError
            If a message is missing: the noise of an absent client would be, too.
        DomainError
            If a message does not consist of 0 .. g + b ones.
        """
        ones = np.asarray(messages)
        if ones.shape != (self.clients, self.size):
            raise ParameterError(
                f"messages of shape {ones.shape}: must be (clients, size) = {self.clients, self.size}"
            )
        if ones.min() < 0 or ones.max() > self.levels + self.added:
            raise DomainError(f"messages: must hold 0 .. {self.levels + self.added} ones per coordinate")
        return np.asarray(ones.sum(axis=0), dtype=np.int64)

    def analyze(
        self, seen: npt.NDArray[Any], noise: NoiseSource | np.random.Generator | None = None
    ) -> FloatArray:
        """Return 2D/(gn) (ones - bnp) - D; ``noise`` is not used."""
        mean_of_noise = self.mechanism.trials * self.probability
        return self.step * (np.asarray(seen) - mean_of_noise) - self.half_range


def _check_bits(bits: int, most: int, epsilon: float, delta: float, clients: int, *, levels: int = 0) -> None:
    """Raise `ParameterError` if a claim takes more random bits a coordinate than can be drawn, or their law summed.

    Or fewer than `levels`, the largest value that they hide.
    """
    if bits > most:
        raise ParameterError(
            f"epsilon = {epsilon:g}, delta = {delta:g}: must be larger, as {counted_noun(clients, 'client')} would "
            f"send {bits:.2g} random bits a coordinate, and at most {most:.2g} are supported"
        )
    if bits < levels:
        raise ParameterError(
            f"epsilon = {epsilon:g}: must be smaller, as {counted_noun(bits, 'random bit')} of "
            f"{counted_noun(clients, 'client')} hide fewer than {levels} levels"
        )


def _printed_bits(x: float) -> tuple[int, float]:
    b = math.ceil(x)
    return b, x / (2.0 * b)
