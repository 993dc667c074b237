"""DP-FTRL: regret below its theorems, and above the one that does not apply; who may take part when."""

import math

import numpy as np
import pytest

from accountant import Accountant, Budget, GaussianComposition, ParticipationExceeded, Simulation
from algorithms import DPFTRL
from algorithms.full_information.leader_regret import _mean_deviation
from mechanisms import BufferedCounter, DomainError, ParameterError

STEPS, SIZE = 400, 8


def gradients(kind: str, rng: np.random.Generator, *, steps: int = STEPS) -> np.ndarray:
    """Return gradients of length at most 1 that are fixed in advance, shape (steps, SIZE)."""
    drift = np.zeros((steps, SIZE))
    if kind == "gap":
        drift[:, 0] = 0.2
    elif kind == "switch":
        drift[: steps // 2, 0], drift[steps // 2 :, 0] = 0.3, -0.2
    elif kind == "walk":
        drift[:, 1] = np.clip(np.cumsum(rng.normal(0, 0.05, steps)), -0.6, 0.6)
    free = drift + rng.normal(0, 1 / math.sqrt(SIZE), (steps, SIZE)) * 0.7
    shortened: np.ndarray = free / np.maximum(1.0, np.linalg.norm(free, axis=1, keepdims=True))
    return shortened


@pytest.mark.slow_cells("20.0-walk", "0.2-gap")
@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["gap", "ties", "switch", "walk"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0, 20.0])
def test_regret_of_fixed_linear_losses(kind: str, epsilon: float) -> None:
    """Both step sizes below their theorems: the mean of 64 lanes less 4 standard errors."""
    table = gradients(kind, np.random.default_rng(1))
    best = np.linalg.norm(table.sum(axis=0))
    for fixed in (True, False):
        gate = Simulation(2, 64)
        learner = DPFTRL(gate, SIZE, epsilon=epsilon, delta=1e-6, horizon=STEPS, fixed_in_advance=fixed)
        lost = np.zeros(64)
        for step, gradient in enumerate(table):
            lost += learner.weights @ gradient
            learner.observe(gate.private(np.tile(gradient, (64, 1)), learner.feedback_domain, record=step))
        assert (np.linalg.norm(learner.weights, axis=1) <= 1 + 1e-12).all()
        regret = lost + best
        assert regret.mean() - 4 * regret.std() / 8 <= learner.regret_bound


def absolute_loss_regret(epsilon: float, *, fixed: bool) -> tuple[float, float]:
    """Return the mean regret on |<w, x> - y|, whose gradients answer the weights, and the theorem's bound."""
    steps, size, lanes = 5_000, 10, 64
    rng = np.random.default_rng(3)
    target = np.zeros(size)
    target[0] = 0.7
    x = rng.normal(size=(steps, size))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = x @ target
    gate = Simulation(4, lanes)
    learner = DPFTRL(gate, size, epsilon=epsilon, delta=1e-6, horizon=steps, fixed_in_advance=fixed)
    lost = np.zeros(lanes)
    for step in range(steps):
        error = learner.weights @ x[step] - y[step]
        lost += np.abs(error)
        gradient = np.sign(error)[:, np.newaxis] * x[step]
        learner.observe(gate.private(gradient, learner.feedback_domain, record=step))
    return float(lost.mean()), learner.regret_bound


@pytest.mark.slow
def test_theorem_three_is_false_for_losses_that_answer() -> None:
    """The negative control: its bound is exceeded at epsilon = 1, and Theorem 2's holds."""
    regret, bound = absolute_loss_regret(1.0, fixed=True)
    assert regret > 1.2 * bound
    regret, bound = absolute_loss_regret(1.0, fixed=False)
    assert regret <= bound


def test_a_record_may_return_as_calibrated() -> None:
    accountant = Accountant(
        Budget(1.0, 1e-6), composition=GaussianComposition(), noise=np.random.default_rng(0)
    )
    learner = DPFTRL(accountant, 2, epsilon=1.0, delta=1e-6, horizon=90, participations=2, separation=30)
    for step in range(60):
        name = "ann" if step in (0, 40) else step
        if step in (20, 50):
            weights = learner.weights.copy()
            with pytest.raises(ParticipationExceeded, match="'ann'"):
                learner.observe(accountant.private([0.1, 0.2], learner.feedback_domain, record="ann"))
            np.testing.assert_array_equal(learner.weights, weights)
        learner.observe(accountant.private([0.5, -0.5], learner.feedback_domain, record=name))
    assert float(accountant.spent("ann").epsilon) == pytest.approx(1.0, abs=1e-8)
    assert float(accountant.spent(1).epsilon) < 0.9


def test_wrong_numbers_are_named() -> None:
    gate = Simulation(0, 64)
    for wrong, match in (
        ({"radius": 0.0}, "radius = 0"),
        ({"gradient": -1.0}, "gradient = -1"),
        ({"bandwidth": 11}, "bandwidth = 11"),
        ({"epsilon": -1.0}, "epsilon = -1"),
    ):
        with pytest.raises(ParameterError, match=match):
            DPFTRL(gate, 2, **({"epsilon": 1.0, "delta": 1e-6, "horizon": 10} | wrong))  # type: ignore[arg-type]
    accountant = Accountant(Budget(1.0, 1e-6), noise=np.random.default_rng(0))
    learner = DPFTRL(accountant, 2, epsilon=1.0, delta=1e-6, horizon=10, bandwidth=3)
    with pytest.raises(DomainError):
        accountant.private([1.0, 1.0], learner.feedback_domain, record=1)


@pytest.mark.parametrize(
    ("size", "options", "words"),
    [
        (2**27, {"horizon": 100}, r"size = 134217728: must be below 2\^27"),
        (2, {"horizon": 2**62}, "horizon = 4,611,686,018,427,387,904: must be at most 67,108,864"),
        (2, {"horizon": 2**62, "bandwidth": 2}, r"steps = 4611686018427387903: must be below 2\^27"),
        (2, {"horizon": 2**62, "bandwidth": 2**40}, r"steps = 1099511627776: must be below 2\^27"),
    ],
)
def test_what_no_memory_holds_is_refused_at_once(size: int, options: dict[str, int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        DPFTRL(Accountant(Budget(2.0, 1e-5)), size, epsilon=1.0, delta=1e-6, **options)


@pytest.mark.parametrize("steps", [1, 2, 1_000, 2**16 + 1, 2**16 + 2, 200_000])
def test_the_mean_deviation_of_many_steps_is_just_above_it(steps: int) -> None:
    counter = BufferedCounter.for_epsilon_delta(1.0, 1e-6, horizon=steps)
    exact = np.sqrt(counter.variance(np.arange(1, steps))).sum() / steps
    found = _mean_deviation(counter)
    assert (
        exact * (1 - 1e-12)
        <= found
        <= exact + (0.0 if steps < 2 else 1e-12 + np.sqrt(counter.variance(steps)) / 2**15)
    )
