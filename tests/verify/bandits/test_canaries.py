"""One run with coins for some rewards bounds epsilon: figures of known learners, and exact error rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from mechanisms.parameters import ParameterError
from verify import CanaryAudit, audit_canaries


@pytest.mark.parametrize(
    ("right", "guessed", "bound"),
    [(731, 1_000, 0.88060300), (881, 1_000, 1.83890474), (500, 684, 0.85523399)],
)
def test_bounds_are_clopper_and_pearsons(right: int, guessed: int, bound: float) -> None:
    assert CanaryAudit(1_000, guessed, right).epsilon_lower() == pytest.approx(bound, abs=1e-7)


def test_false_alarms_are_binomial_tails() -> None:
    assert CanaryAudit(1_000, 1_000, 881).false_alarm(1.0) == pytest.approx(3.50490418e-31, rel=1e-6)
    assert CanaryAudit(1_000, 1_000, 0).false_alarm(1.0) == 1.0
    p = 1.0 / (1.0 + math.exp(-1.0))
    for right in (1, 700, 731, 1_000):
        exact = stats.binom.sf(right - 1, 1_000, p)
        assert CanaryAudit(1_000, 1_000, right).false_alarm(1.0) == pytest.approx(exact, rel=1e-6)


def test_a_true_claim_that_is_tight_is_above_the_bound_as_often_as_stated() -> None:
    """All outcomes of 1,000 guesses of randomised response at epsilon = 1, each with its probability."""
    counts = np.arange(1_001)
    law = stats.binom.pmf(counts, 1_000, 1.0 / (1.0 + math.exp(-1.0)))
    above = [CanaryAudit(1_000, 1_000, int(k)).epsilon_lower() > 1.0 for k in counts]
    assert law[above].sum() == pytest.approx(0.0463, abs=1e-4)
    alarms = [CanaryAudit(1_000, 1_000, int(k)).false_alarm(1.0) <= 0.01 for k in counts]
    assert law[alarms].sum() == pytest.approx(0.00966, abs=1e-5)


def bits(rng: np.random.Generator, coins: np.ndarray, epsilon: float) -> np.ndarray:
    keep = rng.random(len(coins)) < 1.0 / (1.0 + math.exp(-epsilon))
    return np.where(keep, coins, 1 - coins) - 0.5


def laplace(rng: np.random.Generator, coins: np.ndarray, epsilon: float) -> np.ndarray:
    noisy: np.ndarray = coins + rng.laplace(scale=1.0 / epsilon, size=len(coins)) - 0.5
    return noisy


@pytest.mark.parametrize(
    ("learner", "epsilon", "share", "median"),
    [
        (bits, 1.0, 1.0, 0.871),
        (bits, 2.0, 1.0, 1.857),
        (laplace, 1.0, 1.0, 0.711),
        (laplace, 1.0, 2 / 3, 0.847),
        (laplace, 2.0, 2 / 3, 1.779),
    ],
)
def test_local_learners_show_nearly_their_epsilon(learner, epsilon, share, median) -> None:  # type: ignore[no-untyped-def]
    """Medians of 40 runs; they lie within 0.1 with probability above 1 - 1e-6."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng([7, seed])
        coins = rng.integers(2, size=1_000)
        found.append(audit_canaries(coins, learner(rng, coins, epsilon), share=share))
    assert np.median([each.epsilon_lower() for each in found]) == pytest.approx(median, abs=0.1)
    refuted = sum(each.false_alarm(1.0) <= 1e-4 for each in found)
    assert refuted == (40 if epsilon == 2.0 else 0)


def test_the_order_of_the_users_decides_nothing() -> None:
    """Sorted by their coins, users of equal scores would be guessed right by their places alone."""
    coins = np.repeat([0, 1], 500)
    said = np.where(np.random.default_rng(0).random(1_000) < 0.9, 0, coins) - 0.5  # nearly always 0
    half = audit_canaries(coins, said, share=0.5)
    assert (half.guessed, half.right) == (1_000, audit_canaries(coins, said).right)
    assert half.epsilon_lower() < 0.5


def test_scores_of_zero_are_not_guessed() -> None:
    assert audit_canaries([0, 1, 1], [0.0, 2.0, 0.0]) == CanaryAudit(3, 1, 1)
    assert audit_canaries([0, 1], [0.0, 0.0]).epsilon_lower() == 0.0


@pytest.mark.parametrize(
    ("coins", "scores", "share", "words"),
    [
        ([0, 2], [1.0, 1.0], 1.0, "coins: must be 0 or 1"),
        ([0, 1], [1.0], 1.0, "one for each coin"),
        ([], [], 1.0, "one for each coin"),
        ([0, 1], [1.0, math.nan], 1.0, "scores: must be numbers"),
        ([0, 1], [1.0, 1.0], 0.0, "share = 0.0"),
        ([0, 1], [1.0, 1.0], "1", "share = '1'"),
        *[
            (*pair, 1.0, f"{name}: must be real numbers")
            for bad in (
                ["0", "1"],
                [0.0, "x"],
                [[0.0], [1.0, 2.0]],
                [0.0, 1.0 + 0.0j],
                [0.0, 10**400],
                [0.0, None],
                None,
                [object(), object()],
                np.ma.array([0.0, 1.0], mask=[True, False]),
                np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"),
                {0.0: 1.0},
            )
            for name, pair in (("coins", (bad, [1.0, 1.0])), ("scores", ([0, 1], bad)))
        ],
    ],
)
def test_what_is_no_audit_is_refused(coins, scores, share, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match=words):
        audit_canaries(coins, scores, share=share)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, math.nan, "0.95", None, True])
@pytest.mark.parametrize("guessed", [0, 10])
def test_a_confidence_lies_between_0_and_1(confidence, guessed) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match="confidence = "):
        CanaryAudit(10, guessed, guessed).epsilon_lower(confidence)


def test_a_bound_at_hardly_any_confidence_is_finite() -> None:
    assert math.isfinite(CanaryAudit(10, 10, 10).epsilon_lower(1e-20))
