"""Votes of teachers (PATE)."""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out, impossible
from noise_laws import analytic_mu
from oracle import Masses, Oracle
from scipy.special import ndtr

from mechanisms import Categories
from mechanisms.arrays import FloatArray
from verify import ReplaceOne


@held_out(
    data=ReplaceOne(Categories(3), 10),
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source="Papernot, Abadi, Erlingsson, Goodfellow, Talwar 2017, LNMax",
)
def pate_laplace(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: the label of most votes of ten teachers with Lap(2/ε); a teacher moves two counts."""
    votes = np.bincount(np.ravel(data), minlength=3)
    return np.argmax(votes + rng.laplace(scale=2.0, size=(lanes, 3)), axis=1)


MU = analytic_mu(1.0, 0.01)


def first_label(votes: int) -> float:
    """P(the first of two labels wins with so many of ten votes): the difference has noise of variance 2σ²."""
    return float(ndtr((2 * votes - 10) / (math.sqrt(2) / MU)))


def label_masses() -> Masses:
    return np.array([first_label(3)]), np.array([first_label(2)])


@held_out(
    data=ReplaceOne(Categories(2), 10),
    epsilon=1.0,
    delta=0.01,
    true_epsilon=math.log((first_label(3) - 0.01) / first_label(2)),
    source="Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson 2018, GNMax",
    oracle=Oracle(np.repeat([0, 1], [3, 7]), np.repeat([0, 1], [2, 8]), "the first label wins", label_masses),
    limit=1.535,
)
def pate_gaussian(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: σ is for votes that move by 1 in L2 norm; a teacher who changes her mind moves two counts, √2."""
    votes = np.bincount(np.ravel(data), minlength=2)
    return np.argmax(votes + rng.standard_normal((lanes, 2)) / MU, axis=1)


@held_out(
    data=ReplaceOne(Categories(3), 9),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="Papernot et al. 2018, Confident aggregator, whose check should be noisy too",
    oracle=Oracle(
        np.repeat([0, 1], [6, 3]), np.repeat([0, 1], [5, 4]), "there is an answer", impossible(1.0)
    ),
    limit=9.697,
)  # fmt: skip
def pate_raw_confidence(data: FloatArray, rng: np.random.Generator) -> str | None:
    """Wrong: None unless six of nine teachers agree, by the raw count; else a noisy maximum. A word."""
    votes = np.bincount(np.ravel(data), minlength=3)
    if votes.max() < 6:
        return None
    return ("cat", "dog", "owl")[int(np.argmax(votes + rng.laplace(scale=2.0, size=3)))]


HELD_OUT = (pate_laplace, pate_gaussian, pate_raw_confidence)
