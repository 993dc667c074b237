"""Bounds from likelihood ratios: never above the truth more often than stated, and sharp where counting is not."""

import math

import numpy as np
import pytest

from accountant import Coupled
from algorithms.catalogue import learner_builder
from algorithms.claim import View
from algorithms.problems import SemiBandit, TopK
from verify import verify
from verify.learners.learner_case import LearnerCase
from verify.learners.transcript_likelihood import _log_bound, bound_ratio, choose_event
from verify.transcripts.action_features import PlayTime, first_actions
from verify.transcripts.neighbours import Neighbour
from verify.transcripts.transcript import ActionSpace
from verify.transcripts.view_pair import ViewPair
from verify.transcripts.views import played_actions
from verify.zoo.bandits import EpisodicUCB

PROBLEM = SemiBandit(TopK(2, 1), np.array([0.5, 0.5]))
BUILD = learner_builder(EpisodicUCB, PROBLEM, epsilon=1.0, horizon=64)


def pair_on_zeros(rounds=6):
    data = np.zeros((rounds + 1, 2))
    features = (PlayTime(0, 2, 0, rounds), *first_actions(rounds, ActionSpace(2, 1)))
    return ViewPair(Neighbour(1, np.ones(2), "").apply_to(data), data, 1, features=features)


@pytest.mark.slow
def test_weights_of_a_coupled_run_have_mean_one_and_give_the_other_world():
    pair = pair_on_zeros()
    gate = Coupled(3, 64 * 1024, 1)
    actions = played_actions(BUILD, PROBLEM, gate, np.stack([pair.data_prime, pair.data]))
    weights = np.exp(-gate.loss[0])
    assert weights.mean() == pytest.approx(1.0, abs=0.02)  # standard error 0.004
    plain = Coupled(4, 64 * 1024, 1)
    other = played_actions(BUILD, PROBLEM, plain, np.stack([pair.data, pair.data]))
    inside = actions[:, 2, 0] == 0
    # Standard errors 0.005 and 0.002: five of them.
    assert np.mean(inside * weights) == pytest.approx(np.mean(other[:, 2, 0] == 0), abs=0.027)


@pytest.mark.slow
def test_the_bound_of_a_private_learner_is_close_to_its_epsilon_and_below():
    pair = pair_on_zeros()

    def seed(number: int) -> np.random.SeedSequence:
        """A sequence remembers what it has spawned: every call needs its own."""
        return np.random.SeedSequence(5, spawn_key=(number,))

    case = LearnerCase(BUILD, PROBLEM, EpisodicUCB.claim.with_parameters(1.0, 0.0), "none")
    settings = {"error": 0.01}
    chosen = choose_event(case, pair, draws=64 * 512, final_draws=64 * 2048, seed=seed(0), **settings)
    bound = bound_ratio(case, pair, chosen, draws=64 * 2048, strict_error=1e-5, seed=seed(1), **settings)
    assert 0.8 < bound.epsilon < 1.0  # a few hundred hits
    assert bound.strict_epsilon < bound.epsilon
    again = bound_ratio(case, pair, chosen, draws=64 * 2048, strict_error=1e-5, seed=seed(1), **settings)
    assert again == bound


def test_the_bernstein_bound_fails_no_more_often_than_it_says():
    # Weights 1 or 3, mean 1.5: the bound passes ln 1.5 in at most 5 % of 2,000 samples; P(more than 140) < 1e-4.
    rng = np.random.default_rng(7)
    failures = 0
    for _ in range(2000):
        weights = np.where(rng.random(60) < 0.25, 3.0, 1.0)
        failures += _log_bound(weights, 1000, 3.0, 0.0, 0.05) > math.log(1.5)
    assert failures <= 140


def test_delta_lowers_the_bound_and_few_hits_give_none():
    weights = np.full(500, 2.5)
    pure = _log_bound(weights, 5000, 3.0, 0.0, 0.05)
    assert 0.0 < _log_bound(weights, 5000, 3.0, 0.02, 0.05) < pure < math.log(2.5)
    assert _log_bound(weights[:1], 5000, 3.0, 0.0, 0.05) == 0.0
    assert _log_bound(weights, 5000, 3.0, 0.5, 0.05) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("effort", "least"), [("quick", 0.65), ("default", 0.97)])
def test_two_arms_and_64_rounds_show_97_percent_of_epsilon(effort, least):
    result = verify(EpisodicUCB, epsilon=1.0, effort=effort)
    assert result.verdict == "certified"
    assert least <= result.lower.epsilon <= 1.0
    assert result.lower.in_view
    assert result.claim.view == View.ACTIONS.value
    assert "all other users" in result.witness.neighbours["data"]


class JointUCB(EpisodicUCB):
    claim = EpisodicUCB.claim.__class__(
        "central", View.OTHER_ACTIONS, "one report", "the same, in the view without the record's own action"
    )


@pytest.mark.usefixtures("small_searches")
def test_joint_privacy_hides_the_records_own_round():
    result = verify(JointUCB, epsilon=1.0, effort="quick")
    assert result.verdict == "certified"
    assert 0.3 < result.lower.epsilon <= 1.0
