"""Exact tests of the noise in released numbers by e-values, for any number of releases.

A checker that drew the data knows the sums, so the rest of a release is its noise. The number of releases may depend on
the outcomes; so each test is a product of factors of expectation 1, one a release, which ever exceeds
1 / p with probability at most p (Ville). Averages of such products are one again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from mechanisms.arrays import FloatArray
from mechanisms.numerics.printed_numbers import percent

_DEPTHS = (0.7, 2.0, 4.0)  # Laplace scales, or Gaussian deviations of the same order
_MORE = (1.1, 1.3, 2.0)  # how much likelier a tail may be
_TILTS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.7)  # of the mean, over the scale
_LIES = (0.5, 0.8, 1.25, 2.0)


def _event_evidence(hits: int, trials: int, chance: float, other: float) -> float:
    """Return the log of the e-value against "a hit has at most (at least) `chance`", in favour of `other`."""
    if chance == 0:  # e^-epsilon underflows: a single hit refutes it
        return math.inf if hits else 0.0
    return hits * math.log(other / chance) + (trials - hits) * math.log1p((chance - other) / (1 - chance))


def p_value(logs: list[float]) -> float:
    """Return the p-value of the average of e-values, given their logarithms."""
    return math.exp(-max(0.0, min(700.0, float(np.logaddexp.reduce(logs)) - math.log(len(logs)))))


@dataclass
class AdditiveNoise:
    """Laplace or Gaussian noise of a known scale: its tails are no heavier, and its mean is 0.

    Attributes
    ----------
    law, scale
        The law that it should have; "below Gaussian" is any with ``E e^(s N) <= e^(scale^2 s^2 / 2)`` at every s.
    """

    law: Literal["Laplace", "Gaussian", "below Gaussian"]
    scale: float
    _trials: int = 0
    _sum: float = 0.0
    _hits: list[int] = field(default_factory=lambda: [0] * len(_DEPTHS))

    def add(self, noise: FloatArray) -> None:
        """Take the noises of some releases."""
        size = np.abs(noise)
        self._trials += noise.size
        self._sum += float(noise.sum())
        for number, depth in enumerate(_DEPTHS):
            self._hits[number] += int((size > depth * self.scale).sum())

    def _tail_chance(self, depth: float) -> float:
        """Return the largest probability that noise is `depth` scales from 0."""
        if self.law == "Laplace":
            return math.exp(-depth)
        if self.law == "Gaussian":
            return 2 * float(stats.norm.sf(depth))
        return min(2 * math.exp(-(depth**2) / 2), 0.99)

    @property
    def p(self) -> float:
        """A p-value of the claim."""
        if not self._trials:
            return 1.0
        logs = []
        for depth, hits in zip(_DEPTHS, self._hits, strict=True):
            chance = self._tail_chance(depth)
            logs += [_event_evidence(hits, self._trials, chance, min(more * chance, 0.99)) for more in _MORE]
        for tilt in _TILTS:
            moment = -math.log1p(-(tilt**2)) if self.law == "Laplace" else tilt**2 / 2
            logs += [sign * tilt * self._sum / self.scale - self._trials * moment for sign in (-1.0, 1.0)]
        return p_value(logs)

    @property
    def description(self) -> str:
        """The statistics of the noise, in words."""
        if not self._trials:
            return "nothing was released"
        seen = ", ".join(
            f"{hits / self._trials:.3g} beyond {depth:g}"
            for depth, hits in zip(_DEPTHS, self._hits, strict=True)
        )
        return f"{self._trials:,} releases: mean {self._sum / self._trials / self.scale:.3g} {self.law} scales; {seen}"


@dataclass
class RandomizedTruth:
    """Messages about a bit, each of which is untrue with the same known probability for both values."""

    chance: float
    _trials: list[int] = field(default_factory=lambda: [0, 0])
    _lies: list[int] = field(default_factory=lambda: [0, 0])
    _drift: float = 0.0
    _summed: float = 0.0

    def add_sums(self, ones: FloatArray, truths: FloatArray, sizes: FloatArray) -> None:
        """Take the numbers of ones among some messages, and among the bits that they are about.

        Given the bits, messages are independent, so ``E e^(s (ones - mean)) <= e^(n s^2 / 8)`` (Hoeffding). The sum
        is taken on the side to which more lies would lead.
        """
        expected = truths + self.chance * (sizes - 2 * truths)
        self._drift += float((np.sign(sizes - 2 * truths) * (ones - expected)).sum())
        self._summed += float(sizes.sum())

    def add(self, lied: npt.NDArray[np.bool_], bits: FloatArray) -> None:
        """Take some messages: whether they are untrue, and the bits they are about."""
        for value in (0, 1):
            about = bits == value
            self._trials[value] += int(about.sum())
            self._lies[value] += int(lied[about].sum())

    @property
    def p(self) -> float:
        """A p-value of the claim."""
        single = [
            _event_evidence(lies, trials, self.chance, min(factor * self.chance, 0.99))
            for trials, lies in zip(self._trials, self._lies, strict=True)
            for factor in _LIES
        ]
        summed = [
            sign * tilt * self._drift - self._summed * tilt**2 / 8 for tilt in _TILTS for sign in (-1.0, 1.0)
        ]
        return p_value(single + (summed if self._summed else []))

    @property
    def description(self) -> str:
        """The share of flipped messages for either value, in words."""
        rates = " and ".join(
            f"{percent(lies / max(trials, 1))} of {trials:,} messages with value {value}"
            for value, (trials, lies) in enumerate(zip(self._trials, self._lies, strict=True))
        )
        return f"flipped: {rates}; by the theorem {percent(self.chance)}"
