"""Learners of experts pass the checks of their proof; planted faults do not."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from algorithms import DPHedge, Hedge
from algorithms.problems import Arms, Experts, SemiBandit
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import ParameterError
from verify import regret
from verify.regret_claims.expert_checks import ExpertRun
from verify.regret_claims.proof import check_proof

PLAYED = Instance(SemiBandit(Experts(3), [0.4, 0.5, 0.6]), 1.0, 300)
ERROR = 1e-4


def outcome(make, bound="hedge", played=PLAYED, seed=0):
    """Return which checks fail, or that it is another learner than the theorem's."""
    found = check_proof(make, BOUNDS[bound], played, problem="experts", seed=seed, error=ERROR)
    assert found
    names = {check.name for check in found if check.violated}
    return names or {"another learner" for check in found if check.differs}


class Follows(Hedge):
    def begin(self, horizon):
        super().begin(horizon)
        self.rate *= 1e6


class LearnsSlowly(Hedge):
    def begin(self, horizon):
        super().begin(horizon)
        self.rate /= 2


class SumsBackwards(Hedge):
    def running_sums(self, outcomes):
        return -super().running_sums(outcomes)


class FollowsTheHeaviest(Hedge):
    """From a round on the draw is left out: against an adversary that knows it every round is lost."""

    since = 0

    def choose(self):
        drawn = super().choose()
        if self.rounds.observed < self.since:
            return drawn
        return np.argsort(-self.weights, axis=1)


class ElseTheLightest(Hedge):
    """The heaviest expert as often as its weight says, and else the lightest."""

    def choose(self):
        heaviest = super().choose()[:, 0] == self.weights.argmax(axis=1)
        order = np.argsort(-self.weights, axis=1, kind="stable")
        return np.where(heaviest[:, np.newaxis], order, order[:, ::-1])


class KeepsItsExpert(Hedge):
    """The shrinking dartboard (Geulen, Voecking, Winkler 2010): as often each expert, seldom another one."""

    expert = before = None

    def choose(self):
        drawn = super().choose()
        if self.expert is not None:
            lanes = np.arange(len(drawn))
            shrunk = self.score / self.before
            keeps = self.gate.random.random((len(drawn), 1))[:, 0] < shrunk[lanes, self.expert]
            others = np.argsort(
                np.arange(drawn.shape[1]) != self.expert[:, np.newaxis], axis=1, kind="stable"
            )
            drawn = np.where(keeps[:, np.newaxis], others, drawn)
        self.expert, self.before = drawn[:, 0], getattr(self, "score", np.ones_like(self.weights))
        return drawn

    def learn(self, action, feedback):
        super().learn(action, feedback)
        losses = self._total - self.rounds.observed
        self.score = np.exp(self.rate * losses)


class DropsTheWorstData(Hedge):
    def running_sums(self, outcomes):
        total = super().running_sums(outcomes)
        if self.rounds.observed > 150:
            self._total = total = total[:, ::-1]
        return total


class Louder(DPHedge):
    def running_sums(self, outcomes):
        sums = super().running_sums(outcomes)
        return sums + 900 * (self.gate.random.random(sums.shape) - 0.5)


class Biased(DPHedge):
    def running_sums(self, outcomes):
        return super().running_sums(outcomes) + 60 * np.arange(self.structure.arms)


class BiasedLate(DPHedge):
    def running_sums(self, outcomes):
        sums = super().running_sums(outcomes)
        return sums + 60 * np.arange(self.structure.arms) * (self.rounds.observed > 230)


@pytest.mark.slow_cells("2-DPHedge-dp-hedge", "300-DPHedge-dp-hedge")
@pytest.mark.parametrize(("make", "bound"), [(Hedge, "hedge"), (DPHedge, "dp-hedge")])
@pytest.mark.parametrize("horizon", [1, 2, 300])
def test_true_learners_pass(make, bound, horizon):
    """False alarms at most 1e-4 a case."""
    assert outcome(make, bound, replace(PLAYED, horizon=horizon)) == set()


@pytest.mark.slow_cells("DPHedge")
@pytest.mark.parametrize("make", [Hedge, DPHedge])
def test_a_learner_that_does_not_know_the_horizon_is_checked_in_an_epoch(make):
    bound = "hedge" if make is Hedge else "dp-hedge"
    assert outcome(make, bound, replace(PLAYED, settings={"anytime": "yes"})) == set()


@pytest.mark.parametrize(
    ("make", "bound", "expected"),
    [
        (Follows, "hedge", "another learner"),
        (LearnsSlowly, "hedge", "another learner"),
        (SumsBackwards, "hedge", "bookkeeping"),
        (DropsTheWorstData, "hedge", "bookkeeping"),
        (FollowsTheHeaviest, "hedge", "draws"),
        (ElseTheLightest, "hedge", "draws"),
        (Louder, "dp-hedge", "noise"),
        (Biased, "dp-hedge", "noise"),
        (BiasedLate, "dp-hedge", "noise"),
    ],
)
def test_faults_are_found(make, bound, expected):
    assert outcome(make, bound) == {expected}


@pytest.mark.slow
def test_a_fault_that_begins_after_the_checks_own_rounds_is_found_at_the_users_horizon():
    class Late(FollowsTheHeaviest):
        since = 400

    close = replace(PLAYED, problem=SemiBandit(Experts(3), [0.5, 0.5, 0.5]), horizon=4000)
    assert outcome(Late, played=close) == {"another learner"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_draws_that_depend_on_earlier_ones_are_no_violation(seed):
    """In every round each expert is as likely as its weight says: that is all that the proof needs."""
    close = replace(PLAYED, problem=SemiBandit(Experts(3), [0.5, 0.5, 0.5]), horizon=2000)
    assert outcome(KeepsItsExpert, played=close, seed=seed) <= {"another learner"}


def test_a_subclass_with_another_rate_is_not_called_consistent():
    assert str(regret(Follows, horizon=100, runs=64).verdict) == "another learner"


def test_other_theorems_and_problems_are_refused():
    run = partial(ExpertRun, lanes=64)
    with pytest.raises(ParameterError, match="does not cover weights"):
        run(BOUNDS["cucb-batch"], PLAYED)
    with pytest.raises(ParameterError, match="must be experts"):
        run(BOUNDS["hedge"], replace(PLAYED, problem=SemiBandit(Arms(3), [0.4, 0.5, 0.6])))


def test_a_single_expert_is_checked():
    assert outcome(DPHedge, "dp-hedge", replace(PLAYED, problem=SemiBandit(Experts(1), [0.4]))) == set()
