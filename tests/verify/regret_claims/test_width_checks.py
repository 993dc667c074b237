"""Learners of contexts pass the checks of their proof; planted faults do not."""

import math
from dataclasses import replace

import numpy as np
import pytest

from algorithms import DPLinUCB, LinUCB, epochs
from algorithms.catalogue import learner_builder
from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.estimates.doubling_batches import GrowingBatches
from algorithms.linear.contextual_learner import LinearUCB
from algorithms.problems import Arms, LinearContexts, SemiBandit
from algorithms.theory.confidence_theorem import volume
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Gaussian, RegressionMoments
from verify.regret_claims.proof_run import check_laws
from verify.regret_claims.width_checks import WidthRun

WITH_BOUND = [name for name in contextual_learners if name in BOUNDS]
PLAYED = Instance(LinearContexts([0.6, -0.3], 3), 10.0, 96, 1e-2)  # 9 releases


def checks(make=DPLinUCB, played=PLAYED, bound=BOUNDS["dp-linucb"], seed=3):
    build = learner_builder(
        make,
        played.problem,
        epsilon=played.epsilon,
        delta=played.delta,
        horizon=played.horizon,
        settings=played.settings,
    )
    return check_laws(WidthRun, build, bound, played, lanes=64, seed=seed, error=1e-4)


def violated(*arguments, **keywords):
    """Return which checks fail, or that it is another learner than the theorem's."""
    found = checks(*arguments, **keywords)
    names = {check.name for check in found if check.violated}
    return names or {"another learner" for check in found if check.differs}


@pytest.mark.parametrize("name", WITH_BOUND)
@pytest.mark.parametrize(
    ("epsilon", "norm", "features"),
    [
        (10.0, 1.0, 2),
        pytest.param(1e3, 0.8, 3, marks=pytest.mark.slow),
        pytest.param(0.5, 5.0, 1, marks=pytest.mark.slow),
    ],
)
def test_true_learners_pass(name, epsilon, norm, features):
    problem = LinearContexts(np.full(features, 0.4), 3)
    played = replace(PLAYED, problem=problem, epsilon=epsilon, settings={"norm": norm})
    found = checks(contextual_learners[name].make, played, BOUNDS[name])
    assert [check.name for check in found] == [
        "bookkeeping",
        "radius",
        "oracle",
        "noise",
        "estimates",
        "good event",
        "gap lemma",
        "path",
    ]
    assert not any(check.violated for check in found)
    assert "releases" in found[3].description


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_few_rounds_are_checked_too(horizon):
    for name in WITH_BOUND:
        assert (
            violated(contextual_learners[name].make, replace(PLAYED, horizon=horizon), BOUNDS[name]) == set()
        )


class NeverRenewed(LinUCB):
    """Between releases widths stay those of an epoch that has ended."""

    def _begin(self, epoch):
        self.epoch = epoch


class RenewedAtOnce(LinUCB):
    """Widths are those of the next epoch from the first round on."""

    @property
    def horizon(self):
        return epochs.epoch_horizon(self.epoch + 1)


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (DPLinUCB, set()),
        (LinUCB, set()),
        (NeverRenewed, {"radius"}),
        (RenewedAtOnce, {"another learner"}),
    ],
)
def test_widths_without_a_horizon_are_those_of_each_epoch(monkeypatch, make, seen):
    """Epochs end after 16, 32, 64 and 128 rounds, where LinUCB releases nothing."""
    monkeypatch.setattr(epochs, "FIRST_EPOCH", 16)
    played = replace(PLAYED, horizon=130, settings={"anytime": "yes"})
    assert violated(make, played, BOUNDS[make.name]) == seen


class HalfWidth(DPLinUCB):
    """The width is half as wide."""

    def _policy(self, operator, vector):
        right = super()._policy(operator, vector)
        return replace(right, width=right.width / 2)


class NoiseNotInWidth(DPLinUCB):
    """The width is that without noise."""

    def _policy(self, operator, vector):
        right = super()._policy(operator, vector)
        return replace(right, width=right.width - vector / math.sqrt(max(1.0, operator)))


class FaultyBatches(DPLinUCB):
    """Its batches are of another class."""

    def __setattr__(self, name, value):
        if name == "batches":
            value.__class__ = self.Batches
        super().__setattr__(name, value)


class BatchLost(FaultyBatches):
    """V and theta are without the third batch."""

    class Batches(GrowingBatches):
        kept = np.zeros(5)

        def _released(self, full):
            found = super()._released(full)
            return found * self.kept if self.releases[0, 0] == 2 else found


class BatchOutOfV(FaultyBatches):
    """V alone is without the third batch."""

    class Batches(BatchLost.Batches):
        kept = np.repeat([0.0, 1.0], [3, 2])


class Greedy(LinearUCB):
    """The largest estimate is played."""

    def choose(self, contexts):
        return np.einsum("lad,ld->la", contexts, self.estimate).argmax(axis=1)


class NoOptimism(DPLinUCB):
    """What is shown is right, and not what is acted on."""

    def _policy(self, operator, vector):
        right = super()._policy(operator, vector)
        return Greedy(right.estimate, right.covariance, right.width)


class BatchTooLong(FaultyBatches):
    """Batches are a round longer."""

    class Batches(GrowingBatches):
        def _following(self, full):
            return super()._following(full) + 1.0


class LoudNoise(DPLinUCB):
    """The noise is twice what the widths know."""

    def __setattr__(self, name, value):
        if name == "batches":
            right = self.mechanism
            value._mechanism = Gaussian(sigma=2 * right.sigma, sensitivity=right.sensitivity)
        super().__setattr__(name, value)


class NeverCleared(FaultyBatches):
    """A batch is in all later ones, too."""

    class Batches(GrowingBatches):
        def _clear(self, full):
            return


class Fidgety(DPLinUCB):
    """The policy is another one in every round."""

    def learn(self, feedback):
        super().learn(feedback)
        self.policy = replace(self.policy, width=self.policy.width * 1.0001)


class Backwards(DPLinUCB):
    """Estimates have the wrong sign, and widths that are wide enough for it are not the theorem's."""

    def _policy(self, operator, vector):
        right = super()._policy(operator, vector)
        return replace(right, estimate=-right.estimate)


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (HalfWidth, "radius"),
        (NoiseNotInWidth, "radius"),
        (BatchLost, "bookkeeping"),
        (BatchOutOfV, "bookkeeping"),
        (NoOptimism, "oracle"),
        (BatchTooLong, "another learner"),
        (LoudNoise, "noise"),
        (NeverCleared, "noise"),
        (Fidgety, "bookkeeping"),
        (Backwards, "bookkeeping"),
    ],
)
def test_planted_faults_are_seen(make, seen):
    assert seen in violated(make)


def test_noise_where_there_should_be_none_is_seen():
    silent = replace(BOUNDS["dp-linucb"].confidence, scale=BOUNDS["linucb"].confidence.scale)
    assert violated(bound=replace(BOUNDS["dp-linucb"], confidence=silent)) == {"noise"}


def test_a_width_that_is_too_small_fails_as_an_event_though_the_learner_has_it():
    """A theorem with a twentieth of the width is false: more than 1 / 48 of the runs leave the event."""
    theorem = BOUNDS["dp-linucb"].confidence
    false = replace(BOUNDS["dp-linucb"], confidence=replace(theorem, width=theorem.width / 20))

    class Narrow(DPLinUCB):
        def _policy(self, operator, vector):
            right = super()._policy(operator, vector)
            return replace(right, width=right.width / 20)

    assert violated(Narrow, bound=false) == {"good event"}


class Bent(LinearContexts):
    """Rewards are linear, and regret is counted by means that are not."""

    def means(self, contexts):
        return 9.0 * np.sign(super().means(contexts))


class Mild(LinearContexts):
    """Rounds cost more than is said."""

    largest_regret = 1e-3


@pytest.mark.parametrize(("problem", "seen"), [(Bent, "gap lemma"), (Mild, "path")])
def test_what_holds_on_the_good_event_is_held_against_every_run(problem, seen):
    assert violated(played=replace(PLAYED, problem=problem([0.6, -0.3], 3))) == {seen}


def test_other_theorems_and_problems_are_refused():
    with pytest.raises(ValueError, match="does not cover widths"):
        check_laws(WidthRun, None, BOUNDS["dpe"], PLAYED, lanes=64, seed=0, error=0.1)
    bandit = replace(PLAYED, problem=SemiBandit(Arms(2), (0.1, 0.9)))
    with pytest.raises(ValueError, match="must be a contextual linear bandit"):
        check_laws(WidthRun, None, BOUNDS["dp-linucb"], bandit, lanes=64, seed=0, error=0.1)


def test_the_theorems_widths_in_plain_numbers():
    """Of three releases of 40 rounds in all, at ln det (V / least) = 2.5."""
    theorem, values = BOUNDS["dp-linucb"].confidence, BOUNDS["dp-linucb"].values(PLAYED)
    s = Gaussian.for_epsilon_delta(10.0, 1e-2, sensitivity=RegressionMoments(2).sensitivity).sigma
    J, T, d = len([1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93]), 96, 2
    far = math.sqrt(2 * math.log(3 * J * T))
    op, gam = math.sqrt(3) * s * (2 + far), math.sqrt(3) * s * (math.sqrt(2) + far)
    lam = max(1.0, op)
    beta = math.sqrt(2 * math.log(J * T) + 2.5) + math.sqrt(2 * op + lam) + gam / math.sqrt(lam)
    found = theorem.width_on(values)(40.0, 3.0, np.array([2.5]))
    assert found == pytest.approx([beta], rel=1e-12)
    numbers = {"n": 40.0, "j": 3.0}
    assert BOUNDS["dp-linucb"].value_of(theorem.shift, PLAYED, **numbers) == pytest.approx(op + lam)
    cap = BOUNDS["dp-linucb"].value_of(theorem.volume, PLAYED, **numbers)
    assert cap == pytest.approx(d * math.log1p(40 / (d * lam)))
    assert volume in theorem.width.free_symbols
    assert theorem.spans(20, 5) == {5: 5, 8: 3, 12: 4, 18: 6}
    assert BOUNDS["published/tree-linucb-gaussian"].confidence.spans(6, 1) == {
        1: 1,
        2: 2,
        3: 1,
        4: 4,
        5: 1,
        6: 2,
    }
