"""What was found in public code, each written anew in a few lines, and mended: see docs/gallery.md."""

import numpy as np

from mechanisms import Integers
from verify import ReplaceOne, Within, claimed

EPSILON, ROWS, CELLS = 1.0, 20, 4
REPLACED = Within(Integers(0, ROWS, CELLS), l1=2)  # a row that is replaced leaves one cell and enters another
ADDED = Within(Integers(0, ROWS, CELLS), l1=1)  # a row that is added or removed

ATTRIBUTES, PARENTS = 2, 1  # of DataSynthesizer's table: (ATTRIBUTES - PARENTS) distributions share epsilon


def _noisy(counts, scale, rng, lanes):
    return np.asarray(counts) + rng.laplace(scale=scale, size=(lanes, len(counts)))


@claimed(data=REPLACED, comment="one row of the table")
def data_synthesizer(data, rng, lanes):
    """DataSynthesizer 0.1.4: the scale is one for proportions, and the noise is added to counts."""
    return _noisy(data, 2 * (ATTRIBUTES - PARENTS) / (ROWS * EPSILON), rng, lanes)


@claimed(data=REPLACED, comment="one row of the table")
def data_synthesizer_as_repaired(data, rng, lanes):
    """DataSynthesizer after the repair: the scale is one for counts, if rows are added or removed."""
    return _noisy(data, (ATTRIBUTES - PARENTS) / EPSILON, rng, lanes)


@claimed(data=ADDED, comment="one row of the table")
def data_synthesizer_as_repaired_for_added_rows(data, rng, lanes):
    """The same, where a row may be added or removed, and not replaced."""
    return data_synthesizer_as_repaired(data, rng, lanes)


@claimed(data=REPLACED, comment="one row of the table")
def data_synthesizer_mended(data, rng, lanes):
    """As the report of the issue proposes: twice the noise, for a row that is replaced."""
    return _noisy(data, 2 * (ATTRIBUTES - PARENTS) / EPSILON, rng, lanes)


ITERATIONS, HISTOGRAMS, DIMENSIONS = 2, 1, 4  # of SmartNoise's MWEM: half of epsilon is for measurements
MEASURED = Within(Integers(0, ROWS, ITERATIONS), linf=1)  # each measured query counts the row, at worst


@claimed(data=MEASURED, comment="one row of the table, in all of the measured queries")
def smartnoise_mwem(data, rng, lanes):
    """The measurements of SmartNoise's MWEM: the scale is divided by the number of dimensions."""
    return _noisy(data, 2 * ITERATIONS * HISTOGRAMS / (EPSILON * DIMENSIONS), rng, lanes)


@claimed(data=MEASURED, comment="one row of the table, in all of the measured queries")
def smartnoise_mwem_mended(data, rng, lanes):
    """The same without the division."""
    return _noisy(data, 2 * ITERATIONS * HISTOGRAMS / EPSILON, rng, lanes)


SCORES = Within(Integers(0, 4, 4), linf=1)  # a row changes each candidate's score by at most 1


def _chosen(scores, factor, rng, lanes):
    """Return candidates drawn by the exponential mechanism, with probabilities as exp(factor * score)."""
    weights = np.exp(factor * (np.asarray(scores) - np.max(scores)))
    return rng.choice(len(weights), size=lanes, p=weights / weights.sum())


@claimed(data=SCORES, comment="one row of the table")
def exponential_mechanism(data, rng, lanes):
    """The exponential mechanism as ``exp(epsilon * score / 1 * 2)``: multiplied by 2 where it is to be divided."""
    return _chosen(data, EPSILON / 1 * 2, rng, lanes)


@claimed(data=SCORES, comment="one row of the table")
def exponential_mechanism_mended(data, rng, lanes):
    """The same with brackets: ``exp(epsilon * score / (1 * 2))``."""
    return _chosen(data, EPSILON / (1 * 2), rng, lanes)


COLUMN = ReplaceOne(Integers(0, 10), 5)  # ages of five users, in decades
LIMIT = 10


@claimed(data=COLUMN, comment="one user's age")
def sum_clipped_by_quantiles(data, rng, lanes):
    """A sum that is clipped to the users' own quantiles, with noise for their distance."""
    low, high = np.quantile(data, (0.05, 0.95))
    scale = max(high - low, 1e-9) / EPSILON
    return np.clip(data, low, high).sum() + rng.laplace(scale=scale, size=lanes)


@claimed(data=COLUMN, comment="one user's age")
def sum_clipped_by_quantiles_mended(data, rng, lanes):
    """The same with limits that were fixed before."""
    return np.clip(data, 0, LIMIT).sum() + rng.laplace(scale=LIMIT / EPSILON, size=lanes)


@claimed(data=COLUMN, comment="one user's age")
def sensitivity_of_a_view(data, rng, lanes):
    """A sum whose sensitivity is the largest age that is in the table."""
    return np.sum(data) + rng.laplace(scale=max(np.max(data), 1e-9) / EPSILON, size=lanes)


@claimed(data=COLUMN, comment="one user's age")
def sensitivity_of_a_view_mended(data, rng, lanes):
    """The same with the largest age that there may be."""
    return np.sum(data) + rng.laplace(scale=LIMIT / EPSILON, size=lanes)


SAMPLED = 2  # coordinates of each user's vector that are sent
VECTOR = ReplaceOne(Integers(0, 1, 4), 1)


def _sent(data, epsilon, rng, lanes):
    """Return bits of two coordinates, drawn for each user, by randomised response; with their places."""
    places = rng.permuted(np.tile(np.arange(4), (lanes, 1)), axis=1)[:, :SAMPLED]
    bits = np.asarray(data)[0][places]
    kept = rng.random(bits.shape) < np.exp(epsilon) / (1.0 + np.exp(epsilon))
    return np.hstack([places, np.where(kept, bits, 1 - bits)])


@claimed(data=VECTOR, comment="one user's vector", model="local")
def sampled_coordinates(data, rng, lanes):
    """All of epsilon is spent on each of the coordinates that a user samples."""
    return _sent(data, EPSILON, rng, lanes)


@claimed(data=VECTOR, comment="one user's vector", model="local")
def sampled_coordinates_mended(data, rng, lanes):
    """The same where they share it."""
    return _sent(data, EPSILON / SAMPLED, rng, lanes)


@claimed(data=REPLACED, comment="one row of the table")
def fixed_seed(data, rng):
    """Noise of a generator that each call seeds with the same number."""
    return _noisy(data, 2 / EPSILON, np.random.default_rng(42), 1)[0]


@claimed(data=REPLACED, comment="one row of the table")
def fixed_seed_mended(data, rng, lanes):
    """The same with noise that is fresh in each call."""
    return _noisy(data, 2 / EPSILON, rng, lanes)
