"""True learners by empirical divergence pass the checks of their proofs; planted faults do not."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from algorithms.catalogue.structured_entries import learner_builder, learners
from algorithms.problems import Arms, SemiBandit
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import RandomizedResponse
from verify import regret
from verify.regret_claims.evidence_checks import EvidenceRun
from verify.regret_claims.proof_run import check_rounds

NAME = "dp-bandit-ldp"
PLAYED = Instance(SemiBandit(Arms(4), (0.3, 0.45, 0.6, 0.9)), 2.0, 80)


def checks(make=None, seed=7):
    build = learner_builder(make or learners[NAME].make, PLAYED.problem, epsilon=2.0, horizon=PLAYED.horizon)
    return check_rounds(EvidenceRun, build, BOUNDS[NAME], PLAYED, lanes=64, seed=seed, error=1e-4)


def test_the_true_learner_passes():
    found = checks()
    assert [check.name for check in found] == [
        "bookkeeping",
        "radius",
        "oracle",
        "noise",
        "estimates",
        "gap lemma",
    ]
    assert not any(check.violated for check in found)


class CountForgotten:
    """Every second feed is not counted."""

    calls = 0

    def observe(self, feedback, *rest):
        count = self.count
        before = count.copy()
        super().observe(feedback, *rest)
        self.calls += 1
        if self.calls % 2 == 0:
            count[:] = before


class LoudNoise:
    """Half the privacy of a bit."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.bits.randomizer = RandomizedResponse(size=2, epsilon=1.0)


class HalfEvidence:
    """Half of what speaks against an arm."""

    def _index(self):
        known, logarithm = self.count > 0, np.log(np.maximum(self.count, 1.0))
        found = super()._index()
        return np.where(known & (found >= 0), (found + logarithm) / 2, found)


class NoLogarithm:
    """The index without ln n."""

    def _index(self):
        found = super()._index()
        return np.where(found >= 0, found - np.log(np.maximum(self.count, 1.0)), found)


class FifthTooLarge:
    """What a user sent is a fifth too large."""

    def learn(self, action, feedback, *rest):
        before = self.ones.copy()
        super().learn(action, feedback, *rest)
        self.ones += 0.2 * (self.ones - before)


class RandomAction:
    """Every twentieth round plays the arm of largest index."""

    acts = 0

    def choose(self):
        action = super().choose()
        self.acts += 1
        if self.acts % 20 == 0:
            action = self.confidence().index.argmax(axis=1)[:, np.newaxis]
        return action


class NeverAgain:
    """The last arm is never played after round 10."""

    acts = 0

    def choose(self):
        action = super().choose()
        self.acts += 1
        if self.acts > 10:
            action = self.confidence().index[:, :-1].argmin(axis=1)[:, np.newaxis]
        return action


def plant(fault):
    made = learners[NAME].make
    return type("Planted", (fault, made), {"__signature__": inspect.signature(made)})


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (CountForgotten, {"bookkeeping"}),
        (LoudNoise, {"noise"}),
        (HalfEvidence, {"radius"}),
        (NoLogarithm, {"radius"}),
        (FifthTooLarge, {"noise", "radius"}),
        (RandomAction, {"oracle"}),
        (NeverAgain, {"oracle"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_planted_faults_are_seen(fault, seen):
    assert {check.name for check in checks(plant(fault)) if check.violated} & seen


@pytest.mark.slow
def test_the_report_has_the_proof():
    report = regret(NAME, horizon=600, runs=8)
    assert [check.name for check in report.proof][-1] == "gap lemma"


@pytest.mark.parametrize("epsilon", [1e-6, 1e3])
def test_no_epsilon_is_too_small_or_too_large(epsilon):
    """Bits that are never flipped, and means of all ones."""
    played = replace(PLAYED, epsilon=epsilon)
    build = learner_builder(learners[NAME].make, played.problem, epsilon=epsilon, horizon=played.horizon)
    found = check_rounds(EvidenceRun, build, BOUNDS[NAME], played, lanes=64, seed=7, error=1e-4)
    assert [check.description for check in found if check.violated] == []
