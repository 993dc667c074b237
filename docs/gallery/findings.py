"""What was found in public code, each written anew in a few lines, and mended: see docs/gallery.md."""

import numpy as np

from mechanisms import Integers
from verify import Within, claimed

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
