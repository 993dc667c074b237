"""Several releases under one claim: Rényi accounting, a filter of budgets, the best of several runs."""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out
from noise_laws import gaussian_epsilon, gaussian_masses, laplace_cdf
from oracle import Masses, Oracle

from mechanisms import Interval
from mechanisms.arrays import FloatArray
from verify import AnyTwo, ReplaceOne

DELTA = 1e-3


@held_out(
    data=AnyTwo(Interval(0, 1)),
    epsilon=0.4,
    delta=DELTA,
    true_epsilon=gaussian_epsilon(math.sqrt(10.0) / 5.0, DELTA),
    source="Mironov 2017, Rényi differential privacy, Proposition 3, of which half is used",
    oracle=Oracle(
        np.array(0.0),
        np.array(1.0),
        "a linear function of the output is at most t",
        lambda: gaussian_masses(math.sqrt(10.0) / 5.0),
    ),
    limit=1.753,
)
def renyi_as_epsilon(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: ten answers with σ = 5 claim their Rényi divergence of order 2, without ln(1/δ)/(α - 1)."""
    return data + 5.0 * rng.standard_normal((lanes, 10))


@held_out(
    data=AnyTwo(Interval(0, 1)),
    epsilon=1.0,
    true_epsilon=1.5,
    source="Rogers, Roth, Ullman, Vadhan 2016, Privacy odometers and filters; the late check is ours",
    limit=1.212,
)
def filter_checks_late(data: float, rng: np.random.Generator) -> list[float]:
    """Wrong: answers of cost 0.25, or 0.5 after a positive one, while the budget is not overspent: 1.5 in all.

    The oracle's limit is by a simulation of four million runs with their exact losses.
    """
    answers: list[float] = []
    spent, cost = 0.0, 0.25
    while spent <= 1.0:
        answers.append(float(data + rng.laplace(scale=1.0 / cost)))
        spent += cost
        cost = 0.5 if answers[-1] > 0.0 else 0.25
    return answers


def all_ten_low() -> Masses:
    t = np.linspace(-12.0, 20.0, 8001)
    return laplace_cdf(t / 2.0) ** 10, laplace_cdf((t - 1.0) / 2.0) ** 10


@held_out(
    data=AnyTwo(Interval(0, 1)),
    epsilon=0.5,
    true_epsilon=5.0,
    source="Papernot and Steinke 2022, Hyperparameter tuning with Rényi differential privacy, section 1",
    oracle=Oracle(np.array(0.0), np.array(1.0), "the best is at most t", all_ten_low),
    limit=4.6531,
)
def best_of_ten(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the best of ten runs of a mechanism of ε is claimed to cost ε; it costs 10 ε."""
    return (data + rng.laplace(scale=2.0, size=(lanes, 10))).max(axis=1)


@held_out(
    data=AnyTwo(Interval(0, 1)),
    epsilon=1.5,
    true_epsilon=1.5,
    exact=False,
    source="Liu and Talwar 2019, Private selection from private candidates, random stopping",
)
def best_of_random_number(data: float, rng: np.random.Generator) -> float | None:
    """Correct: the best of a geometric number of runs of a mechanism of ε/3, or None if there are none."""
    best: float | None = None
    while rng.random() >= 0.3:
        noisy = float(data + rng.laplace(scale=2.0))
        best = noisy if best is None else max(best, noisy)
    return best


def five_times_left() -> Masses:
    """The smallest output, with four and with five of nine records at 0."""
    missed = 0.5 * math.exp(-0.25)
    return np.array([(1.0 - missed) ** 5]), np.array([missed**5])


@held_out(
    data=ReplaceOne(Interval(0, 1), 9),
    epsilon=1.0,
    true_epsilon=2.249,
    exact=False,
    source="binary search for a median by noisy counts, as in many notebooks",
    oracle=Oracle(
        np.repeat([0.0, 1.0], [5, 4]), np.repeat([0.0, 1.0], [4, 5]), "each step went left", five_times_left
    ),
    limit=2.2371,
)
def binary_search_median(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: five noisy comparisons cost ε/2 each."""
    low, high = np.zeros(lanes), np.ones(lanes)
    for _ in range(5):
        middle = (low + high) / 2.0
        below = (data[None, :] <= middle[:, None]).sum(axis=1)
        left = below + rng.laplace(scale=2.0, size=lanes) >= len(data) / 2.0
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    return (low + high) / 2.0


HELD_OUT = (
    binary_search_median,
    renyi_as_epsilon,
    filter_checks_late,
    best_of_ten,
    best_of_random_number,
)
