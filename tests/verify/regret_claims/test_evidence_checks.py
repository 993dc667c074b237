"""True learners by empirical divergence pass the checks of their proofs; planted faults do not."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from algorithms.catalogue.structured_entries import learner_builder, learners
from algorithms.problems import Arms, SemiBandit
from algorithms.semi_bandits import dp_bandit
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Gaussian, Laplace, RandomizedResponse
from verify import regret
from verify.regret_claims.evidence_checks import EvidenceRun
from verify.regret_claims.proof_run import check_rounds

CHECKED = ["dp-bandit", "dp-bandit-gaussian", "dp-bandit-shuffle", "dp-bandit-ldp"]
PLAYED = Instance(SemiBandit(Arms(4), (0.3, 0.45, 0.6, 0.9)), 2.0, 80)


def checks(name, make=None, seed=7):
    build = learner_builder(make or learners[name].make, PLAYED.problem, epsilon=2.0, horizon=PLAYED.horizon)
    return check_rounds(EvidenceRun, build, BOUNDS[name], PLAYED, lanes=64, seed=seed, error=1e-4)


@pytest.mark.slow_cells("dp-bandit")
@pytest.mark.parametrize("name", CHECKED)
def test_true_learners_pass(name):
    found = checks(name)
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
        count = self.batches.size if hasattr(self, "batches") else self.count
        before = count.copy()
        super().observe(feedback, *rest)
        self.calls += 1
        if self.calls % 2 == 0:
            count[:] = before


class LoudNoise:
    """Twice the noise that the index knows, or half the privacy of a bit."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        if not hasattr(self, "batches"):
            self.bits.randomizer = RandomizedResponse(size=2, epsilon=1.0)
            return
        right = self.batches._mechanism
        if isinstance(right, Laplace):
            louder = Laplace(scale=2 * right.scale, sensitivity=right.sensitivity)
        else:
            louder = Gaussian(sigma=2 * right.sigma, sensitivity=right.sensitivity, delta=right.delta)
        self.batches._mechanism = louder


class StaleBatch:
    """The first batch's released sum is used for all later ones."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        first, learn = np.full(self.batches.size.shape, np.nan), self.batches._learn

        def stale(full, sums, sizes):
            first[full] = np.where(np.isnan(first[full]), sums, first[full])
            learn(full, first[full], sizes)

        self.batches._learn = stale


class NoiseUnknown:
    """The index takes totals for exact ones."""

    def _index(self, lanes):
        right = self.batches.releases
        self.batches.releases = np.zeros_like(right)
        found = super()._index(lanes)
        self.batches.releases = right
        return found


class NoiseAlone:
    """The index counts what noise that pulls a sum below 0 says against every mean."""

    def _index(self, lanes):
        right = dp_bandit.EXCUSED
        dp_bandit.EXCUSED = 0.0
        try:
            return super()._index(lanes)
        finally:
            dp_bandit.EXCUSED = right


class HalfEvidence:
    """Half of what speaks against an arm."""

    def _index(self, *lanes):
        count = self.batches.size[lanes] if lanes else self.count
        known, logarithm = count > 0, np.log(np.maximum(count, 1.0))
        found = super()._index(*lanes)
        return np.where(known & (found >= 0), (found + logarithm) / 2, found)


class NoLogarithm:
    """The index without ln n."""

    def _index(self, *lanes):
        count = self.batches.size[lanes] if lanes else self.count
        found = super()._index(*lanes)
        return np.where(found >= 0, found - np.log(np.maximum(count, 1.0)), found)


class FifthTooLarge:
    """What a user sent is a fifth too large."""

    def learn(self, action, feedback, *rest):
        before = self.batches.total.copy() if hasattr(self, "batches") else self.ones.copy()
        super().learn(action, feedback, *rest)
        if hasattr(self, "batches"):
            self.batches.total += 0.2 * (self.batches.total - before)
            np.divide(
                self.batches.total, self.batches.size, out=self.batches.mean, where=self.batches.size > 0
            )
        else:
            self.ones += 0.2 * (self.ones - before)


class RandomAction:
    """Every twentieth round plays the arm of largest index."""

    acts = 0

    def choose(self):
        action = super().choose()
        self.acts += 1
        if self.acts % 20 == 0:
            action = self.confidence().index.argmax(axis=1)[:, np.newaxis]
            self.arm = action
        return action


class NeverAgain:
    """The last arm is never played after round 10."""

    acts = 0

    def choose(self):
        action = super().choose()
        self.acts += 1
        if self.acts > 10:
            self.arm = action = self.confidence().index[:, :-1].argmin(axis=1)[:, np.newaxis]
        return action


def plant(name, fault):
    made = learners[name].make
    return type("Planted", (fault, made), {"__signature__": inspect.signature(made)})


@pytest.mark.slow_cells("StaleBatch--dp-bandit")
@pytest.mark.few(5)
@pytest.mark.parametrize(
    "name", ["dp-bandit", "dp-bandit-ldp", pytest.param("dp-bandit-gaussian", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (CountForgotten, {"bookkeeping"}),
        (LoudNoise, {"noise"}),
        (StaleBatch, {"noise"}),
        (NoiseUnknown, {"radius"}),
        (HalfEvidence, {"radius"}),
        (NoLogarithm, {"radius"}),
        (FifthTooLarge, {"noise", "radius"}),
        (RandomAction, {"oracle"}),
        (NeverAgain, {"oracle"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_planted_faults_are_seen(name, fault, seen):
    if name == "dp-bandit-ldp" and fault in (StaleBatch, NoiseUnknown):
        return  # it has neither
    assert {check.name for check in checks(name, plant(name, fault)) if check.violated} & seen


def test_what_noise_says_alone_is_taken_off():
    found = checks("dp-bandit", plant("dp-bandit", NoiseAlone))
    assert [check.name for check in found if check.violated] == ["radius"]


@pytest.mark.slow
def test_the_report_has_the_proof():
    report = regret("dp-bandit", horizon=600, runs=8)
    assert [check.name for check in report.proof][-1] == "gap lemma"


@pytest.mark.few(2)
@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("epsilon", [1e-6, 1e3])
def test_no_epsilon_is_too_small_or_too_large(name, epsilon):
    """Bits that are never flipped, means of all ones, and exponents that stop at 600."""
    played = replace(PLAYED, epsilon=epsilon)
    build = learner_builder(learners[name].make, played.problem, epsilon=epsilon, horizon=played.horizon)
    found = check_rounds(EvidenceRun, build, BOUNDS[name], played, lanes=64, seed=7, error=1e-4)
    assert [check.description for check in found if check.violated] == []
