"""Tests of the independence of the draws on which an event was counted: counts of dependent draws prove too much.

A subject with the right law of each output may still share noise between outputs: a pool of noises per call, a coin
that is kept for a while, a table of noises dealt in turn. An event's count then scatters more than a binomial one, and
bounds computed from it are too high. Such draws are recognised by where the event occurred, in the order of drawing:

- *Blocks*: counts in blocks of consecutive draws scatter more than they should. Given the number of hits, the
  sum X² of the squared deviations, each divided by the binomial variance, is compared with a multiple of a chi-square
  variable of the same mean and variance.
- *Lags*: pairs of draws at one distance agree too often, within a world; or disagree too often, between the worlds. The
  sum of the products of the centred indicators is a martingale, and Freedman's inequality (1975, Annals of
  Probability 3) bounds its tail by exp(-v h(d/v)), where v = n p (1-p) p' (1-p') and h(u) = (1+u) log(1+u) - u. All
  distances are tested, by fast Fourier transforms.

Draws that scatter less (antithetic or stratified ones) make bounds lower than they could be, and do no harm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
from scipy import fft

from mechanisms.arrays import BoolArray, FloatArray, IntArray

DEPENDENCE_ERROR = 1e-4
"""The largest probability, roughly, with which independent draws are taken to be dependent."""


@dataclass(frozen=True, slots=True)
class _BlockSizes:
    """Sizes and numbers of the blocks tested: so large and so many that X² is nearly a chi-square variable.

    Attributes
    ----------
    expected
        Draws of the event, and of its complement, in the smallest blocks, on average.
    growth
        The next blocks are so many times as large.
    fewest
        Blocks of one size.
    """

    expected: int = 16
    growth: int = 8
    fewest: int = 6


_BLOCK_SIZES = _BlockSizes()
_MOST_LAGS = 1 << 18  # draws of each world that are compared at all distances


def dependence(marks: Sequence[Sequence[BoolArray]]) -> str | None:
    """Return the dependence between draws, as a clause; None if there is no evidence against their independence.

    Parameters
    ----------
    marks
        For each of the two worlds, for each batch, True for each draw in which the event occurred; both worlds have
        batches of the same sizes and were drawn in turn.
    """
    worlds = [np.concatenate(batches) if batches else np.zeros(0, dtype=np.bool_) for batches in marks]
    batches = np.array([batch.size for batch in marks[0]], dtype=np.int64)
    tests = [block for world in worlds for block in _blocks(world)]
    level = 0.5 * DEPENDENCE_ERROR / (len(tests) + 1)
    for size, counts in tests:
        if _chance([_scatter(counts, np.full(counts.size, size))]) < level:
            return f"counts of blocks of {size:,} draws in a row scatter too much"
    if batches.size > 1:
        counted = [np.array([np.count_nonzero(batch) for batch in world]) for world in marks]
        if _chance([_scatter(counts, batches) for counts in counted]) < level:
            return "counts of batches of draws scatter too much"
    return _lags(marks, 0.5 * DEPENDENCE_ERROR)


def _blocks(world: BoolArray) -> Iterator[tuple[int, IntArray]]:
    """Yield sizes of blocks in which both outcomes are expected several times, and the counts in such blocks."""
    hits = int(np.count_nonzero(world))
    rare = min(hits, world.size - hits)
    if rare == 0:
        return
    size = max(2, math.ceil(_BLOCK_SIZES.expected * world.size / rare))
    counts = _group_sums(world.view(np.uint8), size)
    while counts.size >= _BLOCK_SIZES.fewest:
        yield size, counts
        size, counts = size * _BLOCK_SIZES.growth, _group_sums(counts, _BLOCK_SIZES.growth)


def _group_sums(numbers: npt.NDArray[np.integer[Any]], size: int) -> IntArray:
    """Return sums of `size` numbers in a row, without the incomplete group at the end."""
    whole = numbers.size // size * size
    return np.asarray(numbers[:whole].reshape(-1, size).sum(axis=1, dtype=np.int64))


def _scatter(counts: IntArray, sizes: IntArray) -> tuple[float, float, float]:
    """Return the scatter X² of counts in J blocks, and its mean and its variance for independent draws.

    X² = Σ (h - b p)²/(b p q) over blocks of b draws has, if p is known, mean J and variance Σ (2 + (1/(p q) - 6)/b); p
    is estimated, which takes one from the mean, and 2 from the variance.
    """
    share = float(counts.sum()) / float(sizes.sum())
    spread = share * (1.0 - share)
    if spread == 0.0:
        return 0.0, 0.0, 0.0
    square = float(((counts - sizes * share) ** 2 / (sizes * spread)).sum())
    mean = counts.size - 1.0
    variance = max(2.0 * mean + float(((1.0 / spread - 6.0) / sizes).sum()), mean)
    return square, mean, variance


def _chance(scatters: Sequence[tuple[float, float, float]]) -> float:
    """Return the approximate probability with which independent draws have this total scatter, or more."""
    square, mean, variance = (sum(part) for part in zip(*scatters, strict=True))
    if mean == 0.0:
        return 1.0
    return float(scipy.special.chdtrc(2.0 * mean**2 / variance, square * 2.0 * mean / variance))


def _lags(marks: Sequence[Sequence[BoolArray]], error: float) -> str | None:
    """Compare draws at all distances, in the order in which they were drawn: the worlds took turns."""
    centred, shares = _in_turn(marks)
    n, length = centred.shape[1] // 2, centred.shape[1]
    if n < 2:
        return None
    spread = shares * (1.0 - shares)
    transforms = [fft.rfft(world) for world in centred]
    level = -math.log(error / (3.0 * length))
    for ours, theirs, sign in ((0, 0, 1.0), (1, 1, 1.0), (0, 1, -1.0)):
        variance = n * float(spread[ours] * spread[theirs])
        if variance == 0.0:
            continue
        products = sign * fft.irfft(transforms[ours] * np.conj(transforms[theirs]), length)
        if ours == theirs:
            products = products[: length // 2 + 1]  # the others are the same
            products[0] = 0.0  # each with itself
        lag = int(np.argmax(products))
        if _improbable(float(products[lag]), variance) > level:
            if ours == theirs:
                return f"draws at a distance of {lag:,} in the order of drawing agree too often"
            return "draws on the one data set disagree too often with draws on the other"
    return None


def _in_turn(marks: Sequence[Sequence[BoolArray]]) -> tuple[npt.NDArray[np.float32], FloatArray]:
    """Return both worlds' marks, centred, at the times at which they were drawn, 0 elsewhere; and their frequencies."""
    sizes: list[int] = []
    for batch in marks[0]:
        sizes.append(min(batch.size, _MOST_LAGS - sum(sizes)))
    n = sum(sizes)
    length = fft.next_fast_len(2 * n, real=True)
    centred = np.zeros((2, length), dtype=np.float32)
    shares = np.zeros(2)
    for world, batches in enumerate(marks):
        hits = sum(int(np.count_nonzero(batch[:size])) for batch, size in zip(batches, sizes, strict=True))
        shares[world] = hits / max(1, n)
        start = 0
        for batch, size in zip(batches, sizes, strict=True):
            at = start + world * size
            centred[world, at : at + size] = batch[:size] - shares[world]
            start += 2 * size
    return centred, shares


def _improbable(excess: float, variance: float) -> float:
    """Return the negative logarithm of Freedman's bound on the probability of a sum of products beyond this."""
    if excess <= 0.0:
        return 0.0
    ratio = excess / variance
    return variance * ((1.0 + ratio) * math.log1p(ratio) - ratio)
