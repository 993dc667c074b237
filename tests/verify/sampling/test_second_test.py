"""A claim that the first test leaves in doubt is tested again, at an error paid for beforehand."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from mechanisms import Interval, Laplace
from verify import PlainBandit, verify
from verify.betting.bets import Bets
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.conduct.interrupts import Stop
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.functions.verify_function import verify_function
from verify.sampling import second_test
from verify.sampling.second_test import _SHARES, _hold, _leaves_doubt, _second_seed, hold_tests
from verify.sampling.tester import Candidates, SingleLook
from verify.verification.resolve import resolve
from verify.zoo.bandits import EpisodicUCB

CLAIM = EpisodicUCB.claim.with_parameters(0.5, 0.0)


def draw(other, n, seed):
    bits = np.random.default_rng(seed).random(n) < (0.3 if other else 0.6)
    return ViewSample(bits[:, np.newaxis].astype(np.float64), (Column("x", "x", "category"),))


def held(share=1.0, **effort):
    candidates = Candidates([NeighbouringWorlds(("D", "D′"), draw)], 20_000)
    conduct = Conduct(replace(EFFORTS["quick"], **effort), 1, "again")
    return _hold(SingleLook(), candidates, CLAIM, conduct, share=share)


def test_the_shares_are_the_whole_error():
    assert _SHARES.first + _SHARES.second <= 1.0
    assert _second_seed(0) not in (0, _second_seed(1))


def test_a_share_buys_the_bounds_of_that_share_of_the_error():
    shared = held(share=_SHARES.second)
    alone = held(confidence=1.0 - _SHARES.second * 0.05, significance=_SHARES.second * 1e-4)
    assert (shared.confidence, shared.significance) == (0.95, 1e-4)
    assert shared.share_of_error == pytest.approx(_SHARES.second * alone.share_of_error)
    assert shared.epsilon_lower == alone.epsilon_lower
    assert shared.strict_epsilon_lower == alone.strict_epsilon_lower
    assert shared.epsilon_lower < held().epsilon_lower


@pytest.mark.parametrize(
    ("change", "doubtful"),
    [
        ({"refuted": False, "hits": 3_400}, True),
        ({"refuted": False, "hits": 3_250}, False),  # e^0.51 times, half a standard error above the claim
        ({"refuted": True}, False),
        ({"refuted": False, "interrupted": True}, False),
        ({"refuted": False, "dependent": "drawn in turns"}, False),
    ],
)
def test_counts_that_speak_against_a_claim_and_do_not_refute_it_leave_it_in_doubt(change, doubtful):
    counts = replace(held(), hits=3_900, hits_prime=1_950, trials=6_528)
    assert _leaves_doubt(replace(counts, **change)) is doubtful


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_function_that_loses_four_per_cent_more_than_it_claims_is_refuted_by_one_of_both(seed):
    def noisy(data, rng, lanes):
        return data + rng.laplace(scale=1.0 / 1.04, size=lanes)

    effort = replace(EFFORTS["default"], batch_samples=400_000, search_samples=10_000)
    subject = resolve(noisy, Interval(0, 1))
    form = subject.form.with_parameters(1.0)
    evidence = verify_function(subject, form, Conduct(effort, seed + 5, "again"), SingleLook(), Bets(seed))
    assert evidence.lower.decisive or "first_test" in evidence.details


def test_a_second_test_that_does_not_fit_into_the_time_is_not_held():
    candidates = Candidates([NeighbouringWorlds(("D", "D′"), draw)], 20_000)
    near = replace(CLAIM, epsilon=0.64)
    conduct = Conduct(EFFORTS["quick"], 1, "again")
    for time, tests in ((True, 2), (False, 1)):
        results = list(
            hold_tests(
                SingleLook(),
                candidates,
                near,
                conduct,
                second=lambda first: 20_000,
                there_is_time=lambda draws, time=time: time,
            )
        )
        assert len(results) == tests


class Response:
    """Randomised response to the first reward, with ε = 1.1."""

    def __init__(self, rng):
        self.rng, self.arm = rng, 0

    def select_arm(self):
        return self.arm

    def update(self, arm, reward):
        self.arm = int((reward > 0.5) == (self.rng.random() < 1.0 / (1.0 + np.exp(-1.1))))


pytestmark = pytest.mark.usefixtures("small_searches")
BANDIT = PlainBandit(Response, arms=2, rounds=2)


@pytest.mark.slow
def test_what_the_first_test_leaves_in_doubt_the_second_refutes():
    result = verify(BANDIT, epsilon=1.0, effort="quick", seed=1)
    first, last = result.details["first_test"], result.details["black_box"]
    assert not first["refuted"]
    assert first["epsilon_lower"] > 1.0
    assert result.verdict == "refuted"
    assert last["looks"] == 2
    assert last["trials"] > 5 * first["trials"]
    assert last["seed"] == _second_seed(1)
    assert 1.0 < result.lower.epsilon < 1.1


def test_a_second_test_that_is_stopped_leaves_the_first(monkeypatch):
    def stopped(*given, share, **others):
        if share == _SHARES.second:
            raise Stop
        return _hold(*given, share=share, **others)

    monkeypatch.setattr(second_test, "_hold", stopped)
    result = verify(BANDIT, epsilon=1.0, effort="quick", seed=1)
    assert result.verdict == "unproven"
    assert result.lower.epsilon > 1.0
    assert any("first test's result stands" in finding.message for finding in result.findings)


@pytest.mark.slow
def test_draws_that_were_said_are_spent_in_one_test():
    result = verify(BANDIT, epsilon=1.0, effort="quick", samples=20_000, seed=1)
    assert "first_test" not in result.details
    assert result.details["black_box"]["looks"] == 1


@pytest.mark.slow
def test_both_tests_together_refute_a_tight_true_claim_no_more_often_than_said():
    """400 runs at a false-alarm rate of 5 %: more than 38 refutations have a probability below 1e-4 even at 5 %."""

    def response(other, n, seed):
        bits = np.random.default_rng(seed).random(n) < (1.0 if other else np.e) / (1.0 + np.e)
        return ViewSample(bits[:, np.newaxis].astype(np.float64), (Column("x", "x", "category"),))

    candidates = Candidates([NeighbouringWorlds(("D", "D′"), response)], 2_000)
    effort = replace(EFFORTS["quick"], significance=0.05)
    claim, held_twice, refuted = replace(CLAIM, epsilon=1.0), 0, 0
    for seed in range(400):
        results = list(
            hold_tests(
                SingleLook(), candidates, claim, Conduct(effort, seed, ""), second=lambda first: 2 * first
            )
        )
        held_twice += len(results) == 2
        refuted += results[-1].refuted
    assert refuted <= 38
    assert 20 <= held_twice <= 160


@dataclass(frozen=True, kw_only=True)
class Declared(Laplace):
    """Somebody's mechanism: its profile is a declaration."""


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("subject", "claim", "held_twice"),
    [
        (Declared(scale=1.0), {"epsilon": 1.0}, True),
        (Laplace(scale=1.0), {"epsilon": 1.0}, False),
        ("zoo/bandit-tree-level", {}, True),
        ("dp-bandit", {"epsilon": 1.0, "horizon": 8}, False),
        ("published/dp-pe-central", {"epsilon": 10.0, "delta": 0.25}, True),
        ("published/dp-pe-central", {"epsilon": 1.0, "delta": 1e-3}, False),
        ("dp-linucb", {"epsilon": 1.0, "delta": 1e-3}, False),
    ],
)
def test_every_kind_of_subject_is_tested_twice_where_its_claim_is_in_doubt_and_not_proved(
    subject, claim, held_twice, monkeypatch
):
    monkeypatch.setattr(second_test, "_leaves_doubt", lambda result: True)
    details = verify(subject, **claim, effort="quick").details
    assert ("first_test" in details) is held_twice
    assert details["black_box"]["looks"] == 1 + held_twice
