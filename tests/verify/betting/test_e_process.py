"""The payoffs, stakes and wealth of bets against a claim: a true claim keeps them from growing, whenever one stops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.betting.anytime_result import Opening
from verify.betting.e_process import LARGEST_SHARE, Payoff, joint_counts, promised_epsilon
from verify.betting.tracked_event import TrackedEvent
from verify.betting.wealth import Wealth
from verify.events.event import HalfLine
from verify.events.predicted_bound import ComingTest
from verify.events.readings import ColumnValue
from verify.events.view_sample import Column

chances = st.floats(0.0, 1.0)
epsilons = st.floats(0.0, 8.0)
SEEN = (12, 55, 6, 427)
EVENT = HalfLine(ColumnValue(Column("x", "x", "real")), 0.5, True)


@given(chances, chances, epsilons, st.floats(0.0, 0.5), chances)
def test_no_claim_that_holds_can_be_bet_on_with_profit(q, share, epsilon, delta, together):
    """For every p <= e^ε q + δ, and however the draws go together, E(1 + λ g) is at most 1, whatever λ."""
    payoff = Payoff.for_claims(epsilon, delta)
    p = share * min(1.0, math.exp(epsilon) * q + delta)
    least, most = max(0.0, p + q - 1.0), min(p, q)
    both = least + together * (most - least)
    weights = np.array([both, p - both, q - both, 1.0 - p - q + both])[:, None]
    for stake in (payoff.largest_stake, payoff.stake(SEEN, 100.0, 0.05), payoff.seen_stake((0, 90, 0, 10))):
        factors = 1.0 + stake * payoff.outcomes
        assert (weights * factors).sum() <= 1.0 + 1e-12
        assert factors.min() >= 1.0 - LARGEST_SHARE - 1e-12


def test_stakes_are_those_of_a_horizon():
    """Golden values, from another program."""
    golden = {
        (0.05, 0.0): [
            [0.1966700470, 0.1476015379, 0.0578695077],
            [0.3933400940, 0.2952030758, 0.1157390155],
            [0.5944000465, 0.3605218523, 0.1326285776],
        ],
        (1e-4, 0.001): [
            [0.3450099377, 0.2588400374, 0.1014618135],
            [0.5940397432, 0.3603892725, 0.1326106307],
            [0.5940397432, 0.3603892725, 0.1326106307],
        ],
    }
    for (error, delta), stakes in golden.items():
        payoff = Payoff.for_claims([0.5, 1.0, 2.0], delta)
        for horizon, expected in zip((1_000.0, 250.0, 50.0), stakes, strict=True):
            assert payoff.stake(SEEN, horizon, error) == pytest.approx(expected, abs=1e-9)


def test_the_stake_of_what_was_seen_grows_nearly_fastest():
    payoff = Payoff.for_claims([0.1], 0.0)
    for joint in ((10_000, 40_000, 30_000, 20_000), (0, 500, 5, 9_500)):
        chance = np.array(joint) / sum(joint)
        stakes = np.linspace(0.0, payoff.largest_stake[0], 400)
        growth = [chance @ np.log1p(stake * payoff.outcomes[:, 0]) for stake in stakes]
        ours = chance @ np.log1p(payoff.seen_stake(joint)[0] * payoff.outcomes[:, 0])
        assert ours >= 0.85 * max(growth)
    assert payoff.seen_stake((100, 0, 50, 850))[0] == 0.0


def test_wealth_is_the_product_draw_by_draw():
    payoff = Payoff.for_claims([0.3, 1.0], 0.01)
    rng = np.random.default_rng(1)
    x, y = rng.random(1000) < 0.4, rng.random(1000) < 0.2
    stake = np.array([0.2, 0.1])
    product = [
        np.log1p(s * (x - math.exp(e) * y - 0.01)).sum() for s, e in zip(stake, (0.3, 1.0), strict=True)
    ]
    counts = joint_counts(x, y)
    assert counts == (int(np.sum(x & y)), int(np.sum(x & ~y)), int(np.sum(~x & y)), int(np.sum(~x & ~y)))
    assert payoff.log_wealth(stake, counts) == pytest.approx(product, abs=1e-9)
    assert np.all(payoff.log_wealth(stake, counts) <= product)
    both = payoff.log_wealth(np.stack([stake, 0.0 * stake]), counts)
    assert both == pytest.approx(np.stack([product, np.zeros(2)]), abs=1e-9)


def best_mean(epsilon, nested, draws, *, late=False, stop=False):
    """E W over all outcomes of so many pairs of draws of randomised response, which is exactly ε-private.

    With `stop`, the largest E W at any stopping rule, found from the end. With `late`, stakes are made after the draw.
    """
    p = 1.0 / (1.0 + math.exp(-epsilon))
    chance = [1 - p, 2 * p - 1, 0.0, 1 - p] if nested else [p * (1 - p), p * p, (1 - p) ** 2, p * (1 - p)]
    wealth = Wealth(epsilon, 0.0, 0.9, 0.05, Opening())
    outcomes = wealth.payoff.outcomes[:, 0]

    def mean_from(joint, left):
        state, now = wealth.state, math.exp(wealth.state.log_wealth[0])
        if left == 0:
            return now
        mean = 0.0
        for outcome in (at for at in range(4) if chance[at] > 0.0):
            counts = tuple(int(at == outcome) for at in range(4))
            seen = tuple(a + b for a, b in zip(joint, counts, strict=True))
            tracked = TrackedEvent(EVENT, False, seen if late else joint)
            stakes = wealth.stakes(tracked, 8.0) * (0.0 if late and outcomes[outcome] < 0.0 else 1.0)
            wealth.book(stakes, counts, candidate=0, label="", tracked=tracked, start=0)
            mean += chance[outcome] * mean_from(seen, left - 1)
            wealth.state = state
        return max(now, mean) if stop else mean

    return mean_from((0, 0, 0, 0), draws)


@pytest.mark.few(1)
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_no_stopping_rule_makes_money_of_a_true_claim(epsilon, nested):
    """All outcomes of four pairs, whichever draws go together; whoever stakes after the draw does make money."""
    draws = 4
    assert best_mean(epsilon, nested, draws) == pytest.approx(1.0, abs=1e-9)
    assert best_mean(epsilon, nested, draws, stop=True) <= 1.0 + 1e-9
    assert best_mean(epsilon, nested, draws, late=True) > 1.5


def test_one_stream_of_random_numbers_for_several_pairs_would_make_money():
    """Why every pair has a seed of its own: fair bits, whatever the data, and on D′ the next number is used.

    Each world's draws are independent and of one law; but a draw on D′ foretells the next one on D, and the mean of
    the product of the bets at the claim ε = 0 is far above 1.
    """
    n, payoff = 12, Payoff.for_claims(0.0, 0.0)
    stake = payoff.stake((0, n, n, 0), float(n), 0.05)
    bits = np.array(np.meshgrid(*[[0, 1]] * (n + 1))).reshape(n + 1, -1).T == 1
    one_stream = [payoff.log_wealth(stake, joint_counts(row[:n], ~row[1:]))[0] for row in bits]
    assert np.mean(np.exp(one_stream)) > 2.0


def test_the_promise_is_what_bets_come_to():
    """Of outcomes that come as they were seen, bets reject up to about the promise."""
    joint, draws = (20_000, 30_000, 5_000, 45_000), 20_000
    wealth = Wealth(0.1, 0.0, 0.949, 0.001, Opening())
    tracked = TrackedEvent(EVENT, False, joint)
    counts = tuple(count // 5 for count in joint)
    wealth.book(wealth.stakes(tracked, draws), counts, candidate=0, label="", tracked=tracked, start=0)
    promised = promised_epsilon(joint, ComingTest(0.0, 0.05, draws), caution=0.0)[0]
    assert wealth.epsilon_lower == pytest.approx(promised, rel=0.03)
    assert wealth.epsilon_lower < math.log(50_000 / 25_000)
    assert promised_epsilon((10, 0, 10, 80), ComingTest(0.0, 0.05, 100), caution=1.0)[0] < 0.0


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (math.nan, 0), (700, 0), (1, -0.1), (1, 1.0)])
def test_claims_are_checked(epsilon, delta):
    with pytest.raises(ValueError, match="must lie in"):
        Payoff.for_claims(epsilon, delta)
