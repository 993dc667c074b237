"""The payoffs, stakes and wealth of bets against a claim."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.betting.e_process import LARGEST_SHARE, Payoff, outcome_counts, wilson_shifted

chances = st.floats(0.0, 1.0)
epsilons = st.floats(0.0, 8.0)


@given(chances, chances, epsilons, st.floats(0.0, 0.5))
def test_no_claim_that_holds_can_be_bet_on_with_profit(q, share, epsilon, delta):
    """For every p <= e^ε q + δ the expectation of 1 + λ g is at most 1, whatever λ."""
    payoff = Payoff.for_claims(epsilon, delta)
    p = share * min(1.0, math.exp(epsilon) * q + delta)
    for stake in (payoff.largest_stake, payoff.stake(0.9, 0.001), payoff.quick_stake(0.9, 0.001)):
        factors = 1.0 + stake * payoff.outcomes
        weights = np.array([p * (1 - q), p * q, (1 - p) * q, (1 - p) * (1 - q)])[:, None]
        assert (weights * factors).sum() <= 1.0 + 1e-12
        assert factors.min() >= 1.0 - LARGEST_SHARE - 1e-12


@given(chances, chances, epsilons, st.floats(0.0, 0.5))
def test_the_stake_grows_fastest(p, q, epsilon, delta):
    payoff = Payoff.for_claims(epsilon, delta)
    stake = payoff.stake(p, q)
    best = payoff.expected_growth(stake, p, q)
    for share in np.linspace(0.0, 1.0, 23):
        assert best >= payoff.expected_growth(share * payoff.largest_stake, p, q) - 1e-9
    quick = payoff.expected_growth(payoff.quick_stake(p, q), p, q)
    assert quick <= best + 1e-12
    if p <= math.exp(epsilon) * q + delta:
        assert stake[0] <= 1e-10


def test_the_quick_stake_is_nearly_as_good():
    payoff = Payoff.for_claims(0.1, 0.0)
    for p, q in ((0.5, 0.4), (0.05, 0.001), (0.05, 0.0), (0.9, 0.5), (0.01, 0.005)):
        best = payoff.expected_growth(payoff.stake(p, q), p, q)
        assert payoff.expected_growth(payoff.quick_stake(p, q), p, q) >= 0.9 * best


def test_wealth_is_the_product_draw_by_draw():
    payoff = Payoff.for_claims([0.3, 1.0], 0.01)
    rng = np.random.default_rng(1)
    x, y = rng.random(1000) < 0.4, rng.random(1000) < 0.2
    stake = np.array([0.2, 0.1])
    product = [
        np.log1p(s * (x - math.exp(e) * y - 0.01)).sum() for s, e in zip(stake, (0.3, 1.0), strict=True)
    ]
    assert payoff.log_wealth(stake, outcome_counts(x, y)) == pytest.approx(product, abs=1e-9)
    assert np.all(payoff.log_wealth(stake, outcome_counts(x, y)) <= product)
    assert payoff.steps(0.2, x, y).sum() == pytest.approx(product[0], abs=1e-9)
    assert outcome_counts(x, y).tolist() == [
        float(np.sum(x & ~y)),
        float(np.sum(x & y)),
        float(np.sum(~x & y)),
        float(np.sum(~x & ~y)),
    ]


def test_wilsons_bounds():
    assert wilson_shifted(0, 10, 1.0) == pytest.approx(1 / 11)
    assert wilson_shifted(10, 10, -1.0) == pytest.approx(10 / 11)
    assert wilson_shifted([0, 5], 10, 0.0).tolist() == [0.0, 0.5]


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (math.nan, 0), (700, 0), (1, -0.1), (1, 1.0)])
def test_claims_are_checked(epsilon, delta):
    with pytest.raises(ValueError, match="must lie in"):
        Payoff.for_claims(epsilon, delta)
