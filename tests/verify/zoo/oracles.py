"""Oracles for the zoo: a pair of neighbours and the best events for a test that knows a specimen's law.

The pair of an oracle is one at which the events tell most at ordinary numbers of draws, not always the one at which
the true epsilon is attained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from discrete_laws import (
    bit_masses,
    exponential_index_law,
    geometric_masses,
    grr_law,
    laplace_index_law,
    olh_law,
    pure_ldp_rates,
    staircase_masses,
    subset_law,
    truncated_law,
    unary_law,
)
from noise_laws import (
    exponential_cdf,
    gaussian_masses,
    laplace_cdf,
    laplace_sum,
    laplace_survival,
    shifted_laplace,
)
from oracle import Masses, Oracle, by_likelihood_ratio, half_lines
from sparse_vector_laws import (
    SVT5_PAIRS,
    gap_masses,
    numerical_masses,
    svt5_masses,
    transcript_masses,
    value_masses,
)

from mechanisms.arrays import FloatArray
from verify.zoo import (
    discrete,
    gaussian_noise,
    histograms,
    laplace_noise,
    local,
    rappor,
    secrets_in_the_noise,
    selection,
    sparse_vector,
    sums,
)

_ZERO, _ONE = np.array(0.0), np.array(1.0)
_LOW = "the output is at most t"


def _impossible(p: float = 1.0) -> Callable[[], Masses]:
    """An event of probability p under the data and of none under the other: the loss is infinite."""
    return lambda: (np.array([p]), np.array([0.0]))


# --- Laplace -------------------------------------------------------------------------------------


def _clipped_masses() -> Masses:
    # t = -1/8 is the atom "clipped below", on which both answers' laws are tails.
    grid, scale = np.linspace(-0.125, 0.125, 101)[:-1], 0.25 / laplace_noise.EPSILON
    return half_lines(
        lambda t: laplace_cdf((t + 0.125) / scale), lambda t: laplace_cdf((t - 0.875) / scale), grid
    )


def snapping_masses(data: float, other: float) -> Masses:
    """Masses of "at most Λ k" for all k, i.e. of noisy values below the rounding edge Λ (k + ½)."""
    edges, scale = laplace_noise.LATTICE * (np.arange(-6, 6) + 0.5), laplace_noise.SNAPPING_SCALE
    return laplace_cdf((edges - data) / scale), laplace_cdf((edges - other) / scale)


def _rounded_masses() -> Masses:
    edges = np.arange(-200, 200) + 0.5
    return laplace_cdf((edges - 0.5) * laplace_noise.EPSILON), laplace_cdf(
        (edges - 1.5) * laplace_noise.EPSILON
    )


def _clamped_masses() -> Masses:
    grid = np.linspace(0.0, laplace_noise.CLAMP, 1001)[:-1]
    return laplace_cdf(grid * laplace_noise.EPSILON), laplace_cdf((grid - 1.0) * laplace_noise.EPSILON)


def _laplace() -> dict[str, Oracle]:
    epsilon, copies = laplace_noise.EPSILON, laplace_noise.PARALLEL
    return {
        "laplace": Oracle(_ZERO, _ONE, _LOW, lambda: shifted_laplace(1.0 / epsilon)),
        "laplace-half-noise": Oracle(_ZERO, _ONE, _LOW, lambda: shifted_laplace(0.5 / epsilon)),
        "laplace-parallel": Oracle(
            _ZERO, _ONE, "the sum of the twenty losses is at least t",
            lambda: laplace_sum(copies / epsilon, copies),
        ),
        "laplace-unclipped": Oracle(np.array(-0.125), np.array(0.875), _LOW, _clipped_masses),
        "laplace-per-coordinate": Oracle(
            np.zeros(5), np.ones(5), "the sum of the five losses is at least t",
            lambda: laplace_sum(1.0 / epsilon, 5),
        ),
        "snapping": Oracle(np.array(-8.0), np.array(-7.0), _LOW, lambda: snapping_masses(-8.0, -7.0)),
        "laplace-rounded": Oracle(np.array(0.5), np.array(1.5), _LOW, _rounded_masses),
        "laplace-clamped": Oracle(_ZERO, _ONE, _LOW, _clamped_masses),
        "float-laplace": Oracle(
            _ZERO, _ONE, _LOW, lambda: shifted_laplace(1.0 / laplace_noise.FLOAT_EPSILON)
        ),
    }  # fmt: skip


# --- Gaussian ------------------------------------------------------------------------------------


def _of_gaussian(sigma: float, answers: int = 0) -> Oracle:
    """The oracle of N(0, σ²) on one answer, or on several that all move by 1."""
    low, high = (np.zeros(answers), np.ones(answers)) if answers else (_ZERO, _ONE)
    mu = math.sqrt(answers or 1) / sigma
    return Oracle(low, high, "the answers' sum is at most t", lambda: gaussian_masses(mu))


def _gaussian() -> dict[str, Oracle]:
    exact = gaussian_noise.SIGMA
    return {
        "gaussian": _of_gaussian(exact),
        "gaussian-classic": _of_gaussian(gaussian_noise.CLASSIC_SIGMA),
        "gaussian-classic-large": _of_gaussian(gaussian_noise.LARGE_SIGMA),
        "gaussian-wrong-delta": _of_gaussian(gaussian_noise.LOOSE_SIGMA),
        "gaussian-wrong-sensitivity": _of_gaussian(exact, gaussian_noise.COORDINATES),
        "gaussian-variance": _of_gaussian(gaussian_noise.VARIANCE_SIGMA**2),
    }


# --- integer and staircase noise -----------------------------------------------------------------


def _truncated_masses() -> Masses:
    low, high = (np.array([float(mass) for mass in truncated_law(count)]) for count in (0, 1))
    return by_likelihood_ratio(low, high)


def _discrete() -> dict[str, Oracle]:
    zero, one, low = np.array([0]), np.array([1]), "the output is at most k"
    epsilon = discrete.EPSILON
    return {
        "geometric": Oracle(zero, one, low, lambda: geometric_masses(math.exp(-epsilon))),
        "geometric-linear": Oracle(zero, one, low, lambda: geometric_masses(1.0 - epsilon)),
        "truncated-geometric": Oracle(zero, one, low, _truncated_masses),
        "truncated-geometric-ln": Oracle(zero, one, low, _truncated_masses),
        "staircase": Oracle(_ZERO, _ONE, _LOW, staircase_masses),
    }


# --- selection -----------------------------------------------------------------------------------


def _value_masses(cdf: Callable[[FloatArray], FloatArray]) -> Masses:
    scale, options = 2.0 / selection.EPSILON, selection.OPTIONS
    grid = np.concatenate([np.geomspace(1e-3, 1.0, 200), np.linspace(1.0, 400.0, 8001)])
    grid = grid - 200.0 * (cdf is laplace_cdf)
    return half_lines(lambda t: cdf(t / scale) ** options, lambda t: cdf((t - 1.0) / scale) ** options, grid)


def _of_choice(law: Callable[[FloatArray], FloatArray], data: list[float], other: list[float]) -> Oracle:
    """The oracle of an index whose law follows from the five utilities."""
    p, q = np.array(data), np.array(other)
    return Oracle(p, q, "the first is chosen", lambda: by_likelihood_ratio(law(p), law(q)))


def _selection() -> dict[str, Oracle]:
    zeros, ones = np.zeros(selection.OPTIONS), np.ones(selection.OPTIONS)
    rate = selection.EXPONENTIAL_EPSILON
    low = "the reported maximum is at most t"
    return {
        "noisy-max-1": _of_choice(laplace_index_law, [-4, 9, 9, 9, 9], [-5, 10, 10, 10, 10]),
        "noisy-max-2": _of_choice(exponential_index_law, [2, 9, -10, -10, -10], [1, 10, -9, -9, -9]),
        "noisy-max-3": Oracle(zeros, ones, low, lambda: _value_masses(laplace_cdf)),
        "noisy-max-4": Oracle(zeros, ones, low, lambda: _value_masses(exponential_cdf)),
        "exponential": _of_choice(
            lambda u: selection.selection_law(u, rate / 2.0), [-5.5, 0, 0, 0, 0], [-6.5, 1, 1, 1, 1]
        ),
        "exponential-missing-half": _of_choice(
            lambda u: selection.selection_law(u, rate), [-3, 0, 0, 0, 0], [-4, 1, 1, 1, 1]
        ),
    }


# --- sparse vector -------------------------------------------------------------------------------


def _fall_and_rise(number: int, falling: float, rising: float) -> tuple[FloatArray, FloatArray]:
    """Return a pair: the first `number` answers are `falling` - 1 / `falling`, the others `rising` + 1 / `rising`.

    FALSE on the first and TRUE on the others is likelier under the first of the two.
    """
    lengths = [number, sparse_vector.QUERIES - number]
    other = np.repeat([falling, rising], lengths)
    return other + np.repeat([-1.0, 1.0], lengths), other


def _of_transcript(name: str, number: int, falling: float, rising: float) -> Oracle:
    pair = _fall_and_rise(number, falling, rising)
    event = "the transcript is one of those with the largest ratios of probabilities"
    return Oracle(*pair, event, lambda: transcript_masses(name, *pair))


def _of_value(name: str, answer: float) -> Oracle:
    pair = np.full(sparse_vector.QUERIES, answer), np.full(sparse_vector.QUERIES, answer + 1.0)
    event = "the number of FALSEs and the value after them are among those with the largest ratios"
    return Oracle(*pair, event, lambda: value_masses(name, *pair))


def _sparse_vector() -> dict[str, Oracle]:
    tied = np.repeat(1.0 + np.arange(1 - SVT5_PAIRS, SVT5_PAIRS, 2), 2)  # -3, -3, -1, -1, 1, 1, 3, 3, 5, 5
    values, gaps = _fall_and_rise(7, 0, 9), _fall_and_rise(7, 3, 9)
    return {
        "svt1": _of_transcript("svt1", 7, 2, 9),
        "svt2": _of_transcript("svt2", 7, 3, 9),
        "svt3": _of_value("svt3", 5.0),
        "svt4": _of_transcript("svt4", 7, 2, 5),
        "svt5": Oracle(
            tied + np.tile([1.0, -1.0], SVT5_PAIRS), tied, "the two of some pair get different replies",
            svt5_masses,
        ),
        "svt6": _of_transcript("svt6", 5, 0, 1),
        "numerical-svt": Oracle(
            *values, "replies and values are among those with the largest ratios",
            lambda: numerical_masses(*values),
        ),
        "gap-svt": Oracle(
            *gaps, "the number of FALSEs and the gap are among those with the largest ratios",
            lambda: gap_masses(*gaps),
        ),
        "gap-svt-value": _of_value("gap-svt-value", 1.0),
    }  # fmt: skip


# --- histograms and sums -------------------------------------------------------------------------


def _thresholded(count: int, other: int) -> Masses:
    """Masses of "the first cell is shown, at t or more" for the larger of the two counts against the smaller."""
    grid = np.linspace(histograms.THRESHOLD, 12.0, 2001)
    epsilon = histograms.SPARSE_EPSILON
    return laplace_survival((grid - count) * epsilon), laplace_survival((grid - other) * epsilon)


def _histograms() -> dict[str, Oracle]:
    zeros, first = np.zeros(histograms.CELLS), np.eye(histograms.CELLS)[0]
    nobody, somebody = zeros.astype(np.int64), first.astype(np.int64)
    epsilon, shown = histograms.EPSILON, "the first cell is shown"
    late = float(laplace_cdf(-(histograms.THRESHOLD - 2.0) * histograms.SPARSE_EPSILON))
    return {
        "noisy-hist-1": Oracle(
            zeros, first, "the first cell is at most t", lambda: shifted_laplace(1.0 / epsilon)
        ),
        "noisy-hist-2": Oracle(zeros, first, "the first cell is at most t", lambda: shifted_laplace(epsilon)),
        "hist-shared-noise": Oracle(zeros, first, "the first two cells are equal", _impossible()),
        "hist-occupied-cells": Oracle(somebody, nobody, shown, _impossible()),
        "stable-hist": Oracle(
            10 * somebody, 9 * somebody, f"{shown}, at t or more", lambda: _thresholded(10, 9)
        ),
        "stable-hist-low-threshold": Oracle(somebody, nobody, shown, _impossible(late)),
    }


def _sums() -> dict[str, Oracle]:
    zeros, ones, first = np.zeros(sums.LENGTH), np.ones(sums.LENGTH), np.eye(sums.LENGTH)[0]
    smart = np.zeros(sums.SMART_LENGTH), np.eye(sums.SMART_LENGTH)[0]
    epsilon = sums.EPSILON
    total, losses = "the sum is at most t", "the sum of the losses of the noisy terms is at least t"
    return {
        "partial-sum": Oracle(zeros, first, total, lambda: shifted_laplace(1.0 / epsilon)),
        "partial-sum-bad": Oracle(zeros, first, total, lambda: shifted_laplace(0.5 / epsilon)),
        "prefix-sum": Oracle(
            zeros, first, "the first sum is at most t", lambda: shifted_laplace(1.0 / epsilon)
        ),
        "prefix-sum-all": Oracle(zeros, ones, losses, lambda: laplace_sum(1.0 / epsilon, sums.LENGTH)),
        "smart-sum": Oracle(*smart, losses, lambda: laplace_sum(2.0 / epsilon, 2)),
        "smart-sum-bad": Oracle(*smart, "the fifth output is 0", _impossible()),
        "smart-sum-unreset": Oracle(*smart, losses, lambda: laplace_sum(2.0 / epsilon, 3)),
    }


# --- the local model -----------------------------------------------------------------------------


def _two_masses(likely: float) -> Masses:
    return by_likelihood_ratio(np.array([likely, 1 - likely]), np.array([1 - likely, likely]))


def _piecewise_masses() -> Masses:
    # The windows of x = -1 and x = 1 are the two ends of [-C, C] and do not meet; the middle has width 2.
    likely = local.HALF / (local.HALF + 1)
    end = (1 - likely) * (local.WIDTH - 1) / (local.WIDTH + 1)
    middle = 1 - likely - end
    return by_likelihood_ratio(np.array([likely, middle, end]), np.array([end, middle, likely]))


def _of_message(law: Callable[[int], FloatArray], event: str) -> Oracle:
    """The oracle of a message of category 0 against one of category 1."""
    return Oracle(np.array(0), np.array(1), event, lambda: by_likelihood_ratio(law(0), law(1)))


def _of_filter(rates: tuple[float, float]) -> Oracle:
    event = "enough of the eight bits in which the filters of 6 and 10 differ are as in the filter of 6"
    return Oracle(np.array(6), np.array(10), event, lambda: bit_masses(6, 10, rates))


def _local() -> dict[str, Oracle]:
    report, bits = "the report is category 0", "the first bit is 1 and the second 0"
    half = rappor.ONE_TIME_F / 2
    return {
        "grr": _of_message(grr_law, report),
        "grr-too-honest": _of_message(lambda value: grr_law(value, too_honest=True), report),
        "sue": _of_message(lambda value: unary_law(value, local.SUE), bits),
        "oue": _of_message(lambda value: unary_law(value, local.OUE), bits),
        "oue-pure-ldp": _of_message(lambda value: unary_law(value, pure_ldp_rates()), bits),
        "olh": _of_message(olh_law, "the report is the hash of category 0, which is not that of category 1"),
        "subset-selection": _of_message(subset_law, "the subset holds category 0 and not category 1"),
        "duchi": Oracle(_ONE, -_ONE, "the output is the positive one", lambda: _two_masses(local.TOWARDS)),
        "piecewise": Oracle(-_ONE, _ONE, "the output is in the window of -1", _piecewise_masses),
        "hemisphere": Oracle(
            np.array(0), np.array(1), "the first coordinate is positive", lambda: _two_masses(local.TOWARDS)
        ),
        "rappor": _of_filter(rappor.report_rates(rappor.F, rappor.P, rappor.Q)),
        "one-time-rappor": _of_filter((1 - half, half)),
    }


# --- secrets in the noise ------------------------------------------------------------------------


def _tails() -> Masses:
    """P(|output| ≥ t) for Lap(1) and Lap(1/2)."""
    t = np.linspace(0.0, 20.0, 2001)
    return np.exp(-secrets_in_the_noise.EPSILON * t), np.exp(-2.0 * secrets_in_the_noise.EPSILON * t)


def _secrets() -> dict[str, Oracle]:
    return {
        "median-local-sensitivity": Oracle(
            np.zeros(secrets_in_the_noise.RECORDS), np.array([0.0, 0.0, 1.0]), "the output is 0",
            _impossible(),
        ),
        "mean-secret-count": Oracle(
            np.zeros(1), np.zeros(2), "the output is at least t in size", _tails
        ),
        "curator": Oracle(
            _ZERO, _ONE, "the output is the marked answer", _impossible(secrets_in_the_noise.LEAK)
        ),
    }  # fmt: skip


oracles: Mapping[str, Oracle] = {
    **_laplace(),
    **_gaussian(),
    **_discrete(),
    **_selection(),
    **_sparse_vector(),
    **_histograms(),
    **_sums(),
    **_local(),
    **_secrets(),
}
"""The oracle of every specimen that is a function, by its name; the laws of bandits' actions are not known."""
