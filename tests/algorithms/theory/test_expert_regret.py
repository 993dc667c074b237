"""Theorems of leaders on noisy sums: values by independent code of 30 digits."""

import math

import numpy as np
import pytest

from algorithms.full_information.leader_regret import (
    _mean_deviation,
    gradient_regret,
    last_deviation,
    linear_regret,
)
from algorithms.problems import build_problem
from algorithms.theory.expert_regret import _mean_of_largest
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Ball, Box, BufferedCounter, SquareRootCounter


@pytest.mark.parametrize(
    ("horizon", "epsilon", "in_ball", "linear", "of_experts", "experts"),
    [
        (1_000, 1.0, 27.5858333778, 154.990373899, 43.6170323139, 101.046529706),
        (1_000, 5.0, 6.3994138094, 60.2418251896, 10.1183616638, 49.5003587639),
        (10_000, 1.0, 33.7804848659, 251.070920946, 53.4116363205, 189.485602561),
        (10_000, 5.0, 7.83646077963, 135.045718013, 12.3905324291, 126.364266926),
    ],
)
def test_golden_values(
    horizon: int, epsilon: float, in_ball: float, linear: float, of_experts: float, experts: float
) -> None:
    """Square-root counters, delta = 1e-6, d = 20, K = 10; column norms are rounded up by 1e-9."""
    ball, box = (
        SquareRootCounter.for_epsilon_delta(epsilon, 1e-6, horizon=horizon, sensitivity=domain.sensitivity)
        for domain in (Ball(1.0, 20), Box(0.0, 1.0, 10))
    )
    assert last_deviation(ball) == pytest.approx(in_ball, rel=3e-9)
    assert linear_regret(ball, 20, radius=1.0, gradient=1.0)[1] == pytest.approx(linear, rel=3e-9)
    assert last_deviation(box) == pytest.approx(of_experts, rel=3e-9)
    whole = math.sqrt(horizon * math.log(10) / 2) + _mean_of_largest(10) * last_deviation(box)
    assert whole == pytest.approx(experts, rel=5e-9)
    problem = build_problem("experts", {"good": 1.0, "other": 0.0})  # where no play is below the theorem
    bound = BOUNDS["dp-hedge"].evaluate(Instance(problem, epsilon, horizon, 1e-6))
    assert whole < bound < 1.01 * whole  # of the buffered counter


def test_the_mean_of_the_largest() -> None:
    assert _mean_of_largest(1) == 0.0
    assert _mean_of_largest(2) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-8)
    assert _mean_of_largest(10) == pytest.approx(1.53875273084, rel=1e-8)
    assert all(_mean_of_largest(k) <= math.sqrt(2 * math.log(k)) for k in (2, 10, 1_000, 10**6))


def test_the_mean_deviation() -> None:
    counter = BufferedCounter.for_rho(0.5, horizon=1_000)
    steps = np.sqrt(counter.variance(np.arange(1, 1_000)))
    assert _mean_deviation(counter) == pytest.approx(float(steps.sum()) / 1_000, rel=1e-12)
    assert (np.diff(steps) >= 0).all()
    scale, bound = gradient_regret(counter, 4, radius=2.0, gradient=3.0)
    assert bound == pytest.approx(2 * math.sqrt(1_000 * (9 + 6 * 2 * _mean_deviation(counter))))
    assert scale == pytest.approx(bound / 4)


def test_a_bound_says_what_its_symbols_and_functions_are():
    said = BOUNDS["dp-hedge"].sentence()
    assert "m(K)*s(T, K, epsilon, delta)" in said
    meant = dict(part.split(": ") for part in said.rpartition("(")[2].removesuffix(")").split("; "))
    assert {"s", "m", "T", "R_max"} < meant.keys()
    assert meant["K"] == "experts"
    assert "K: arms played at once" in BOUNDS["cucb-ldp-bit"].sentence()
