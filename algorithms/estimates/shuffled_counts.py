"""Counts of clients' answers in the shuffle model, with noise close to a trusted server's.

Every client says 0 or 1 for each coordinate. A 1 is sent as g ones, and every coordinate gets b random bits; of the
bits of all clients the shuffler leaves the number of ones, ``g count + Bin(b n, 1/2)``. Its exact profile
(`mechanisms.BinomialProfile`) says which b keeps (epsilon, delta), and g is so large that neither b n nor whole numbers
cost much: the noise has the tail of a normal one of `NOISE` times the deviation that the Gaussian mechanism needs, and
less, at every number of clients.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from accountant import Gate, PrivateSums
from algorithms.estimates.chernoff import NoiseTail
from algorithms.estimates.doubling_batches import BatchSizes, GrowingBatches
from mechanisms import Binomial, Gaussian, Mechanism, Sensitivity, ShuffledMean
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import ParameterError

NOISE = Fraction(11, 10)
"""The largest ratio of shuffled noise to the central Gaussian's; bits are chosen so that it holds."""

_LARGEST_SIGMA = 8192.0
# A message has more ones than 1 / (4 NOISE^2 sigma^2): with less noise millions, and more.
_LEAST_SIGMA = 2.0**-10
_ALIKE = 5  # numbers of clients with as many leading bits in common get the same bits


@functools.lru_cache(maxsize=1024)
def _central_sigma(epsilon: float, delta: float, moved: int) -> float:
    """Return the deviation of the Gaussian mechanism for counts of which `moved` move by 1."""
    return Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=Sensitivity.of_box([1.0] * moved)).sigma


@functools.lru_cache(maxsize=4096)
def _bits(epsilon: float, delta: float, least: int, most: int, moved: int) -> tuple[int, int]:
    """Return g and b for any number of clients in a range: b is private for the least, and quiet for the most.

    More clients have more random bits, which is a post-processing. With more levels the law of the noise comes closer
    to a normal one, whose deviation may be `NOISE` times as large: that is reached.
    """
    largest = 4.0 * float(NOISE) ** 2 * _central_sigma(epsilon, delta, moved) ** 2
    levels = None
    while True:
        bits = ShuffledMean.calibrated(epsilon, delta, clients=least, size=moved, bound=0.5, levels=levels)
        if bits.added * most <= largest * bits.levels**2:
            return bits.levels, bits.added
        levels = 2 * bits.levels


@dataclass(frozen=True, slots=True)
class ShuffledCounts:
    """The counts of a batch of clients, (epsilon, delta)-differentially private in the shuffled view.

    Attributes
    ----------
    epsilon, delta
        The privacy parameters of one client's answers.
    coordinates
        The number of counts.
    moved
        The number of counts that change by 1 at most if a client answers differently.

    Raises
    ------
    ParameterError
        If epsilon and delta ask for more bits than are supported: where there is much noise, or next to none.
    """

    epsilon: float
    delta: float
    coordinates: int = 1
    moved: int = 1

    def __post_init__(self) -> None:
        # Impossible counts are refused here, not at a later batch that turns out to take too many bits.
        sigma = _central_sigma(self.epsilon, self.delta, self.moved)
        if sigma > _LARGEST_SIGMA:
            raise ParameterError(
                f"epsilon = {self.epsilon!r}, delta = {self.delta!r}: must be larger for shuffled counts, whose noise "
                f"of deviation {sigma:.3g} (at most {_LARGEST_SIGMA:g} is supported) would take {4.0 * sigma**2:.2g} "
                "random bits a count"
            )
        ShuffledMean.check_claim(self.epsilon, self.delta, size=self.moved)
        if sigma < _LEAST_SIGMA:
            raise ParameterError(
                f"epsilon = {self.epsilon!r}, delta = {self.delta!r}: must be smaller for shuffled counts, whose noise "
                f"of deviation {sigma:.3g} (at least {_LEAST_SIGMA:.3g} is supported) would take messages of "
                f"{0.25 / sigma**2:.2g} bits"
            )

    @property
    def sigma(self) -> float:
        """Standard deviation of normal noise with a tail above that of every count."""
        return float(NOISE) * _central_sigma(self.epsilon, self.delta, self.moved)

    @property
    def noise(self) -> NoiseTail:
        """The tail of the noise on a count: ``ln E e^(s N) = b n ln cosh(s / 2 g) <= sigma^2 s^2 / 2``."""
        return NoiseTail(self.sigma**2, 0.0)

    def mechanism(self, clients: int) -> Binomial:
        """Return the shuffler of the messages of `clients` clients."""
        return _shuffler(self, clients)

    def release(
        self, gate: Gate, sums: PrivateSums, where: npt.NDArray[np.bool_], clients: IntArray
    ) -> FloatArray:
        """Return unbiased counts at the places of a mask, and 0 elsewhere.

        Parameters
        ----------
        gate, sums, where
            As for `Gate.release`: sums of answers of 0 and 1.
        clients
            The number of clients with answers in a lane's sums; shape (lanes,).
        """
        counts = np.zeros(where.shape)
        some = where.any(axis=1)
        for number in np.unique(clients[some]).tolist():
            here = where & (clients == number)[:, np.newaxis]
            shuffler = self.mechanism(number)
            seen = gate.release(shuffler, sums, where=here)[here]
            counts[here] = (seen - 0.5 * shuffler.trials) / shuffler.ones
        return counts


@functools.lru_cache(maxsize=4096)
def _shuffler(counts: ShuffledCounts, clients: int) -> Binomial:
    unit = 1 << max(0, clients.bit_length() - _ALIKE)
    least = clients // unit * unit
    ones, added = _bits(counts.epsilon, counts.delta, least, least + unit - 1, counts.moved)
    return Binomial(
        trials=added * clients,
        shift=1,
        dimension=counts.coordinates,
        delta=counts.delta,
        clients=clients,
        ones=ones,
    )


class ShuffledBatches(GrowingBatches):
    """Growing batches of shuffled messages, of one element a lane.

    Parameters
    ----------
    gate, elements, first_size, growth, falling
        As for `GrowingBatches`.
    counts
        The shuffler.
    """

    def __init__(self, gate: Gate, elements: int, counts: ShuffledCounts, sizes: BatchSizes) -> None:
        super().__init__(gate, elements, counts.mechanism(sizes.first), sizes)
        self._counts = counts

    def _awaited(self, elements: IntArray) -> Mechanism:
        """Return the shuffler of the first lane's open batch: under an accountant there is no other lane."""
        return self._counts.mechanism(int(self._next_size[0, elements[0, 0]]))

    def _released(self, full: npt.NDArray[np.bool_]) -> FloatArray:
        clients = np.where(full, self._next_size, 0.0).max(axis=1).astype(np.int64)
        return self._counts.release(self._gate, self._sums, full, clients)
