"""Fisher's linear discriminant: the weighted sum of measurements that separates two worlds best under Gaussian noise.

For x ~ N(m, Σ) in the one world and N(m′, Σ) in the other the log-likelihood ratio is w·x + const with
w = Σ⁻¹(m - m′) (Fisher, "The use of multiple measurements in taxonomic problems", Annals of Eugenics 7, 1936). A score
that adds up table entries sees w only as far as bins allow: where noise is small along some direction only, the worlds
are far apart along it, and all values lie in one bin of every column. It shows 0.98 of gradient-step (without
it 0.95; its claim, 1, is true).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.families import EventFamily
from verify.events.line_families import score_family
from verify.events.readings import Combination
from verify.events.relations import MOST_COLUMNS
from verify.events.view_sample import Column, WorldSamples

MOST_FITTED = 1 << 13
"""Draws of each world to which the weights are fitted."""

_FEWEST = 8  # draws a column, of each world, below which weights say little
SMALLEST_SPREAD = 1e-5
"""A spread, relative to the largest, below which a direction has no noise but that of rounding."""
_LOSS = 1e-3  # of the distance of the worlds, that fewer columns and shorter weights may cost
_DIGITS = (2, 3, 4, 6, 9)  # of weights
_HIDDEN = 2.0  # times the distance that the columns show if they are taken to be independent


@dataclass(frozen=True, slots=True)
class Discriminant:
    """Fisher's discriminant as a reading; `hidden` is True if single columns do not show the difference that it shows.

    That is so if the worlds are several times as far apart along it as columns that are taken to be independent show.
    """

    reading: Combination
    hidden: bool

    @classmethod
    def from_samples(cls, fit: WorldSamples, columns: Sequence[Column]) -> Discriminant | None:
        """The discriminant of some columns, fitted to the first draws.

        None where fewer than two columns matter.
        """
        if not 2 <= len(columns) <= MOST_COLUMNS:
            return None
        first, second = (world.values[:MOST_FITTED, world.places_of(columns)] for world in fit)
        weights, hidden = _fisher_direction(first, second)
        places = np.flatnonzero(weights)
        if places.size < 2:
            return None
        named = tuple(columns[at] for at in places.tolist())
        return cls(Combination(named, tuple(weights[places].tolist())), hidden)

    def family(self, fit: WorldSamples, choose: WorldSamples) -> EventFamily:
        """Its thresholds, counted on the draws that it was not fitted to."""
        first, second = (world.rows(MOST_FITTED) for world in fit)
        return score_family(self.reading, (first, second), choose)


def _fisher_direction(first: FloatArray, second: FloatArray) -> tuple[FloatArray, bool]:
    """Return Σ⁻¹(m - m′), as short as it may be said.

    Σ is the pooled covariance within the worlds. Directions in which it is that of rounding are left out: they are
    `verify.events.relations`. Weights that hardly matter are 0, and so are those of columns that are NaN or infinite
    anywhere; the others are rounded.

    Parameters
    ----------
    first, second
        Draws of both worlds, shape (n, columns).

    Returns
    -------
    tuple
        ±Σ⁻¹(m - m′), in units of the largest, the first positive; and `Discriminant.hidden`. All 0 where there are too
        few draws, or nothing differs.
    """
    weights = np.zeros(first.shape[1])
    if min(len(first), len(second)) < max(_FEWEST * weights.size, 2):
        return weights, False
    difference, within, scale = within_worlds(first, second)
    used = np.flatnonzero((scale > 0.0) & np.isfinite(scale))
    if not used.size:
        return weights, False
    scale = scale[used]
    shift = difference[used] / scale
    # Of the factor R of X = QR, not of XᵀX: the smallest spreads keep their digits.
    factor = np.linalg.qr(within[:, used] / (scale * np.sqrt(len(within))), mode="r")
    _, spread, directions = np.linalg.svd(factor)
    some = spread > SMALLEST_SPREAD * spread[0]
    spread, directions = spread[some], directions[some]
    best = directions.T @ (directions @ shift / spread**2)
    if not best.any():
        return weights, False

    def distance(weights: FloatArray) -> float:
        """How many standard deviations of w·x the worlds' means are apart."""
        size = float(np.linalg.norm(factor @ weights))
        return float(weights @ shift) / size if size > 0.0 else 0.0

    far = distance(best)
    short = _fewer(best, distance, (1.0 - _LOSS) * far) / scale
    short /= np.abs(short).max() * np.sign(short[np.flatnonzero(short)[0]])
    for digits in _DIGITS:
        rounded = np.array([float(f"{weight:.{digits}g}") for weight in short])
        if abs(distance(rounded * scale)) >= (1.0 - 2.0 * _LOSS) * far:
            short = rounded
            break
    weights[used] = short
    return weights, far > _HIDDEN * distance(shift)


def within_worlds(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return how far the worlds' means are apart, all draws less their world's mean, and the spread of these.

    Not finite for columns that are NaN or infinite anywhere.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        means = first.mean(axis=0), second.mean(axis=0)
        within = np.concatenate([first - means[0], second - means[1]])
        return means[0] - means[1], within, np.sqrt(np.mean(within**2, axis=0))


def _fewer(weights: FloatArray, distance: Callable[[FloatArray], float], least: float) -> FloatArray:
    """Return the fewest of the largest weights with which the worlds are far enough apart; the others are 0."""
    order = np.argsort(-np.abs(weights), kind="stable")
    short = np.zeros_like(weights)
    for at in order.tolist():
        short[at] = weights[at]
        if distance(short) >= least:
            return short
    return weights
