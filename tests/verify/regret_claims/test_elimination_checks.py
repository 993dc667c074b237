"""Learners by elimination pass the checks of their proofs; planted faults do not."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from chernoff_search import search_separation

from algorithms.catalogue import learner_builder
from algorithms.catalogue.structured_entries import learners
from algorithms.estimates.chernoff import NoiseTail, chernoff_separation
from algorithms.problems import Arms, SemiBandit, TopK
from algorithms.semi_bandits.dp_best_arm import phase_exponent
from algorithms.theory.confidence_theorem import phase
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Laplace
from verify import regret
from verify.regret_claims.elimination_checks import EliminationRun
from verify.regret_claims.proof_run import check_laws

PLAYED = {
    "dp-best-arm": Instance(SemiBandit(Arms(4), (0.3, 0.45, 0.6, 0.9)), 2.0, 80),
    "published/dp-se": Instance(SemiBandit(Arms(3), (0.2, 0.8, 0.9)), 1.0, 20_500),
}
STATEMENTS = ["bookkeeping", "radius", "oracle", "noise", "estimates", "good event", "gap lemma"]


def checks(name, make=None, played=None, bound=None, seed=7):
    played = played or PLAYED[name]
    build = learner_builder(
        make or learners[name].make, played.problem, epsilon=played.epsilon, horizon=played.horizon
    )
    return check_laws(EliminationRun, build, bound or BOUNDS[name], played, lanes=64, seed=seed, error=1e-4)


def violated(*arguments, **keywords):
    """Return which checks fail, or that it is another learner than the theorem's."""
    found = checks(*arguments, **keywords)
    names = {check.name for check in found if check.violated}
    return names or {"another learner" for check in found if check.differs}


def plant(name, *changes):
    made = learners[name].make
    return type("Planted", (*changes, made), {"__signature__": inspect.signature(made)})


@pytest.mark.slow_cells("2.0")
@pytest.mark.parametrize("epsilon", [1e-3, 2.0, pytest.param(1e3, marks=pytest.mark.slow)])
def test_the_true_finder_of_the_best_arm_passes(epsilon):
    found = checks("dp-best-arm", played=replace(PLAYED["dp-best-arm"], epsilon=epsilon))
    assert [check.name for check in found] == STATEMENTS
    assert not any(check.violated for check in found)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_dp_se_passes(epsilon):
    """At 0.01 no epoch ends within the rounds."""
    found = checks("published/dp-se", played=replace(PLAYED["published/dp-se"], epsilon=epsilon))
    assert [check.name for check in found] == [*STATEMENTS, "path"]
    assert not any(check.violated for check in found)
    assert ("0 to 0 phases" in found[1].description) == (epsilon == 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_the_report_has_the_proof(name):
    report = regret(name, horizon=600, runs=8)
    assert set(STATEMENTS) <= {check.name for check in report.proof}
    assert not any(check.violated for check in report.proof)


def test_a_separation_is_found_by_grids_as_by_newton_steps():
    rng = np.random.default_rng(5)
    n = rng.integers(5, 500, 200).astype(np.float64)
    m = rng.integers(1, 12, 200).astype(np.float64)
    lower = rng.uniform(-0.1, 0.8, 200)
    larger = lower + rng.uniform(0.0, 0.6, 200)
    found = search_separation(n, m, lower, larger, scale=0.7)
    known = chernoff_separation(
        n, m, n * larger, n * lower, noise=NoiseTail.from_mechanism(Laplace(scale=0.7))
    )
    assert (known <= found * (1 + 1e-9)).all()  # what the learner finds is at most the least
    assert (found - known <= 4e-4 * found + 1e-9).all()


def test_other_theorems_and_problems_are_refused():
    for bound, problem, message in (
        (BOUNDS["dp-bandit"], PLAYED["dp-best-arm"].problem, "does not cover elimination"),
        (BOUNDS["dp-best-arm"], SemiBandit(TopK(4, 2), (0.3, 0.45, 0.6, 0.9)), "must be arms"),
    ):
        with pytest.raises(ValueError, match=message):
            check_laws(
                EliminationRun,
                lambda gate: None,
                bound,
                Instance(problem, 1.0, 8),
                lanes=64,
                seed=1,
                error=1e-4,
            )


class LoudNoise:
    """Twice the noise that is known."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        loud = Laplace(scale=2 * self.mechanism.scale, sensitivity=self.mechanism.sensitivity)
        if hasattr(self, "batches"):
            self.batches._mechanism = loud
        else:
            self.mechanism = loud


class RandomAction:
    """Every twentieth round plays any arm."""

    acts = 0

    def choose(self):
        self.acts += 1
        action = super().choose()
        return action if self.acts % 20 else np.full_like(action, (self.acts // 20) % self.left.shape[1])


class NeverAgain:
    """The first arm is not played after round 10, but the next one in its place."""

    acts = 0

    def choose(self):
        self.acts += 1
        action = super().choose()
        return np.where(action == 0, 1, action) if self.acts > 10 else action


class NobodyRemoved:
    """All arms stay."""

    def _end(self, end, *arguments):
        left = self.left.copy()
        end(*arguments)
        self.left = left

    def _end_phase(self, lanes):
        self._end(super()._end_phase, lanes)

    def _end_epoch(self, *arguments):
        self._end(super()._end_epoch, *arguments)


class RemovedTooLate:
    """Arms are removed in the next round."""

    before = None

    def confidence(self):
        found = super().confidence()
        shown, self.before = self.before, found.index
        return found if shown is None else replace(found, index=shown)


class CountForgotten:
    """Every second release is not counted."""

    calls = 0

    def learn(self, *arguments):
        before = self.batches.size.copy()
        super().learn(*arguments)
        self.calls += (self.batches.size != before).any()
        if self.calls % 2 == 0:
            self.batches.size[:] = np.where(before > 0, before, self.batches.size)


class StaleBatch:
    """The first released sum of an arm is used for all later ones."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        first, learn = np.full(self.batches.size.shape, np.nan), self.batches._learn

        def stale(full, sums, sizes):
            first[full] = np.where(np.isnan(first[full]), sums, first[full])
            learn(full, first[full], sizes)

        self.batches._learn = stale


class FifthTooLarge:
    """Sums are a fifth too large."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        learn = self.batches._learn
        self.batches._learn = lambda full, sums, sizes: learn(full, 1.2 * sums, sizes)


class NoiseUnknown:
    """Totals are taken for exact ones."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.noise = NoiseTail.from_mechanism(Laplace(scale=1e-6))


class LargerError:
    """Arms are removed at half of the exponent."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.error **= 0.5


class PhasesNotCounted:
    """Every phase is tested like the first."""

    def _end_phase(self, lanes):
        phase = self.phase.copy()
        self.phase[lanes] = 1.0
        super()._end_phase(lanes)
        self.phase[lanes] = phase[lanes] + 1.0


class LastFirst:
    """Legal: the arms of a phase in another order."""

    def choose(self):
        last = self._waiting.shape[1] - 1 - self._waiting[:, ::-1].argmax(axis=1)
        return np.where(self.has_stopped, self.recommendation, last)[:, np.newaxis]


@pytest.mark.slow_cells("LoudNoise-")
@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (LoudNoise, {"noise"}),
        (RandomAction, {"oracle"}),
        (NeverAgain, {"oracle"}),
        (NobodyRemoved, {"another learner"}),  # for as long
        (RemovedTooLate, {"radius"}),
        (CountForgotten, {"bookkeeping", "radius"}),
        pytest.param(StaleBatch, {"noise"}, marks=pytest.mark.slow),
        pytest.param(FifthTooLarge, {"noise"}, marks=pytest.mark.slow),
        (NoiseUnknown, {"radius"}),
        (LargerError, {"radius"}),
        (PhasesNotCounted, {"radius"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_faults_of_the_finder_of_the_best_arm_are_seen(fault, seen):
    assert violated("dp-best-arm", plant("dp-best-arm", fault)) & seen


def test_the_order_within_a_phase_is_free():
    assert violated("dp-best-arm", plant("dp-best-arm", LastFirst)) == set()


@pytest.mark.slow
def test_a_best_arm_that_is_removed_more_often_than_is_allotted_is_seen():
    """Learner and theorem remove arms at an error of 0.9, of which the theorem allots next to nothing."""

    class Hasty(learners["dp-best-arm"].make):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            self.error = 0.9

    Hasty.__signature__ = inspect.signature(learners["dp-best-arm"].make)
    theorem = BOUNDS["dp-best-arm"].confidence
    often = sp.Piecewise(*((float(phase_exponent(4, 0.9, np.array(k))), phase <= k) for k in range(1, 40)))
    wrong = replace(theorem, failure=sp.Float(1e-6), level=often)
    alike = Instance(SemiBandit(Arms(4), (0.5, 0.5, 0.5, 0.5 + 1e-6)), 2.0, 512)
    bound = replace(BOUNDS["dp-best-arm"], confidence=wrong)
    assert violated("dp-best-arm", Hasty, played=alike, bound=bound) == {"good event"}


class PullForgotten:
    """Every second pull is not counted."""

    calls = 0

    def learn(self, *arguments):
        before = self.pulls.copy()
        super().learn(*arguments)
        self.calls += 1
        if self.calls % 2 == 0:
            self.pulls[:] = before


class HalfWidth:
    """Half of the width is shown."""

    def confidence(self):
        found = super().confidence()
        return replace(found, index=np.where(self.left, self.mean + self.width / 2, -np.inf))


class StaleEpoch:
    """The means of the first epoch are used for all later ones."""

    first = None

    def _end_epoch(self, *arguments):
        super()._end_epoch(*arguments)
        self.first = self.mean.copy() if self.first is None else self.first
        self.mean[:] = self.first


class MeansTooLarge:
    """Means are a fifth too large."""

    def _end_epoch(self, *arguments):
        super()._end_epoch(*arguments)
        self.mean[:] *= 1.2


class WithoutHorizon:
    """Epochs and widths of a horizon of 10."""

    horizon = 10


class LastPulledFirst:
    """Legal: the arms of an epoch in another order."""

    def choose(self):
        pulls = np.where(self.left, self.pulls, np.inf)[:, ::-1]
        return np.asarray(pulls.shape[1] - 1 - pulls.argmin(axis=1)[:, np.newaxis], dtype=np.int64)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (LoudNoise, {"noise"}),
        (RandomAction, {"oracle"}),
        (NeverAgain, {"oracle"}),
        (NobodyRemoved, {"radius"}),
        (RemovedTooLate, {"radius"}),
        (PullForgotten, {"bookkeeping", "oracle"}),
        (HalfWidth, {"radius"}),
        (StaleEpoch, {"noise"}),
        (MeansTooLarge, {"noise", "radius", "bookkeeping"}),
        (WithoutHorizon, {"bookkeeping", "radius"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_faults_of_dp_se_are_seen(fault, seen):
    assert violated("published/dp-se", plant("published/dp-se", fault)) & seen


def test_one_epoch_of_dp_se_passes():
    """Two arms as far apart as twice the radius of the first epoch, so that some runs remove one: by default, too."""
    played = Instance(SemiBandit(Arms(2), (0.58, 0.7)), 100.0, 3_200)
    found = checks("published/dp-se", played=played)
    assert not any(check.violated for check in found)
    removed = re.search(
        r"in which 1 to 1 phases of each run ended and (\d+) arms were removed", found[1].description
    )
    assert 0 < int(removed[1]) < 64


@pytest.mark.slow
def test_the_order_within_an_epoch_is_free():
    assert violated("published/dp-se", plant("published/dp-se", LastPulledFirst)) == set()
