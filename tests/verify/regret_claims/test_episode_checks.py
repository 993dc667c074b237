"""AdaP-KLUCB passes the checks of its proof; planted faults do not."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

from algorithms.catalogue import learner_builder
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import Arms, SemiBandit
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Laplace
from verify import regret
from verify.regret_claims.episode_checks import EpisodeRun
from verify.regret_claims.proof_run import check_laws

NAME = "published/adap-klucb"
MADE = learners[NAME].make
PLAYED = Instance(SemiBandit(Arms(4), (0.3, 0.45, 0.6, 0.9)), 2.0, 128)


def checks(make=MADE, played=PLAYED, seed=7, bound=BOUNDS[NAME]):
    build = learner_builder(make, played.problem, epsilon=played.epsilon, horizon=played.horizon)
    return check_laws(EpisodeRun, build, bound, played, lanes=64, seed=seed, error=1e-4)


def violated(*arguments, **keywords):
    """Return which checks fail, or that it is another learner than the theorem's."""
    found = checks(*arguments, **keywords)
    names = {check.name for check in found if check.violated}
    return names or {"another learner" for check in found if check.differs}


@pytest.mark.slow_cells("1000.0")
@pytest.mark.few(2)
@pytest.mark.parametrize("epsilon", [1e-6, 2.0, 1e3])
def test_the_true_learner_passes(epsilon):
    found = checks(played=replace(PLAYED, epsilon=epsilon))
    assert [check.name for check in found] == [
        "bookkeeping",
        "radius",
        "oracle",
        "noise",
        "estimates",
        "good event",
        "gap lemma",
    ]
    assert not any(check.violated for check in found)


def test_no_value_is_held_against_its_law_twice(monkeypatch):
    """The first play is a value of its own, and then all of the second count of one."""
    noted = []

    def note_counts(run, count, here, off, radius):
        noted.extend((lane, arm, count[lane, arm]) for lane, arm in zip(*np.nonzero(here), strict=True))

    monkeypatch.setattr(EpisodeRun, "note_radii", note_counts)
    checks(played=replace(PLAYED, horizon=24))
    assert {count for _, _, count in noted} >= {1, 2, 4}
    assert len(set(noted)) == len(noted)


@pytest.mark.slow
def test_the_report_has_the_proof():
    report = regret(NAME, horizon=600, runs=8)
    assert "gap lemma" in [check.name for check in report.proof]


class CountForgotten:
    """Every second release is not counted."""

    calls = 0

    def learn(self, *arguments):
        before = self.batches.size.copy()
        super().learn(*arguments)
        self.calls += (self.batches.size != before).any()
        if self.calls % 2 == 0:
            self.batches.size[:] = before


class LoudNoise:
    """Twice the noise that the index knows."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        right = self.mechanism
        self.batches._mechanism = Laplace(scale=2 * right.scale, sensitivity=right.sensitivity)


class NoiseUnknown:
    """The index takes means for exact ones."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.mechanism = Laplace(scale=1e-9, sensitivity=self.mechanism.sensitivity)


class StaleBatch:
    """The first released sum of an arm is used for all later ones."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        first, learn = np.full(self.batches.size.shape, np.nan), self.batches._learn

        def stale(full, sums, sizes):
            first[full] = np.where(np.isnan(first[full]), sums, first[full])
            learn(full, first[full], sizes)

        self.batches._learn = stale


class HalfLevel:
    """Half of alpha."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.alpha /= 2


class NoLogarithm:
    """The level of round 1 in all others."""

    def _index(self, lanes):
        played = self.batches.played
        self.batches.played = np.minimum(played, 1.0)
        found = super()._index(lanes)
        self.batches.played = played
        return found


class FifthTooLarge:
    """Means are a fifth too large."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        learn = self.batches._learn
        self.batches._learn = lambda full, sums, sizes: learn(full, 1.2 * sums, sizes)


class LateUpdate:
    """Indices are not renewed with every second release."""

    calls = 0

    def _index(self, lanes):
        self.calls += 1
        return super()._index(lanes) if self.calls % 2 else self.index[lanes]


class RandomAction:
    """Every twentieth round plays the arm of least index."""

    acts = 0

    def choose(self):
        action = super().choose()
        self.acts += 1
        if self.acts % 20 == 0:
            self.arm = action = self.index.argmax(axis=1)[:, np.newaxis]
        return action


class NeverAgain:
    """The last arm is never played after round 10."""

    acts = 0

    def choose(self):
        action = super().choose()
        self.acts += 1
        if self.acts > 10:
            self.arm = action = self.index[:, :-1].argmin(axis=1)[:, np.newaxis]
        return action


class TiesToTheWorst:
    """Legal: of equal indices the highest id."""

    def choose(self):
        if self.released.any():
            index = self.index[self.released][:, ::-1]
            self.arm = self.arm.copy()
            self.arm[self.released, 0] = index.shape[1] - 1 - index.argmin(axis=1)
            self.released = np.zeros_like(self.released)
        return self.arm


def plant(change):
    return type("Planted", (change, MADE), {"__signature__": inspect.signature(MADE)})


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (CountForgotten, {"bookkeeping"}),
        (LoudNoise, {"noise"}),
        (NoiseUnknown, {"radius"}),
        (StaleBatch, {"noise"}),
        (HalfLevel, {"radius"}),
        (NoLogarithm, {"another learner"}),
        (FifthTooLarge, {"noise"}),
        (LateUpdate, {"radius"}),
        (RandomAction, {"oracle"}),
        (NeverAgain, {"oracle"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_planted_faults_are_seen(fault, seen):
    assert violated(plant(fault)) & seen


def test_ties_may_be_broken_to_the_worst():
    assert violated(plant(TiesToTheWorst)) == set()


def test_a_radius_that_is_too_small_is_left_more_often_than_it_says():
    theorem = BOUNDS[NAME].confidence
    small = replace(BOUNDS[NAME], confidence=replace(theorem, radius=theorem.radius / 4))
    assert {"estimates", "gap lemma"} & violated(bound=small)


def test_a_good_event_that_fails_more_often_than_is_allotted():
    """With a quarter of the exponent, the best arm's index is below its mean too often for the allotment."""
    theorem = BOUNDS[NAME].confidence
    weak = replace(
        BOUNDS[NAME],
        confidence=replace(theorem, exponent=theorem.exponent / 40, failure=theorem.failure / 1e4),
    )

    class Weak(MADE):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            self.alpha /= 40

    Weak.__signature__ = inspect.signature(MADE)
    assert violated(Weak, bound=weak) == {"good event"}
