"""True learners pass the checks of their proofs; planted faults, each hidden in a copy of a learner, do not."""

import inspect

import numpy as np
import pytest

from algorithms.catalogue.structured_entries import learner_builder, learners
from algorithms.problems import SemiBandit, TopK, UniformMatroid
from algorithms.theory.confidence_theorem import ConfidenceTheorem
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from verify.regret_claims.mean_checks import check_means

MEANS = (0.3, 0.45, 0.6, 0.9)  # near 1/2, where estimates vary most, and off it, where a wrong gain shows
CHECKED = [name for name, bound in BOUNDS.items() if isinstance(bound.confidence, ConfidenceTheorem)]
EPSILON, HORIZON, LANES = 2.0, 128, 64
LARGER = {
    "cucb-ldp-gaussian": 20.0,
    "cucb-ldp-laplace-one": 20.0,
}  # else all indices stay at 1, and whatever is played answers them


def instance(family, epsilon=EPSILON, horizon=HORIZON):
    structure = UniformMatroid(4, 2) if family == "matroid" else TopK(4, 2)
    return Instance(SemiBandit(structure, MEANS), epsilon, horizon)


def checks(name, make=None, *, seed=7, error=1e-4, lanes=LANES, **changed):
    played = instance(learners[name].family, **({"epsilon": LARGER.get(name, EPSILON)} | changed))
    build = learner_builder(
        make or learners[name].make, played.problem, epsilon=played.epsilon, horizon=played.horizon
    )
    return check_means(build, BOUNDS[name], played, lanes=lanes, seed=seed, error=error)


def violated(name, make):
    return [check.name for check in checks(name, make) if check.violated]


@pytest.mark.parametrize("name", CHECKED)
def test_true_learners_pass(name):
    found = checks(name)
    assert [check.name for check in found if check.violated] == []
    assert len(found) == 8


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_true_learners_pass_at_every_seed(name):
    """200 reports of each; the false-alarm rate of all of them together is below 2,000 * 1e-4 = 0.2 (Bonferroni)."""
    for seed in range(200):
        assert not any(check.violated for check in checks(name, seed=seed))


def plant(name, *methods):
    """Return the learner's class with methods in front of its own."""
    made = learners[name].make
    return type("Planted", (*methods, made), {"__signature__": inspect.signature(made)})


class TiesToTheWorst:
    """Legal: of equal indices the highest id, which the oracle is asked for by infinitesimal advantages."""

    def act(self):
        action = super().act()
        index = self.confidence().index
        worst = self.structure.solve(np.minimum(index, 1e6) + 1e-13 * np.arange(index.shape[1]))
        setattr(self, "basis" if hasattr(type(self), "basis") else "super_arm", worst)
        return worst if worst.shape == action.shape else action


class HalfRadius:
    """Half the radius, in what the learner does and shows."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        if hasattr(self, "estimates"):
            self.estimates._root /= 2
            self.estimates._tail /= 2
        else:
            self.exponent /= 4


class NoLogarithm:
    """The exponent without T."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        right, self.exponent = self.exponent, np.log(2 * self.structure.arms)
        if hasattr(self, "estimates"):
            self.estimates._root *= np.sqrt(self.exponent / right)


class CountForgotten:
    """Every second feed of an arm is not counted."""

    def observe(self, feedback, *rest):
        before = self._counted().copy()
        super().observe(feedback, *rest)
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls % 2 == 0:
            self._counted()[:] = before

    def _counted(self):
        return self.estimates.count if hasattr(self, "estimates") else self.batches.size


class LoudNoise:
    """Twice the noise that the radius knows."""

    def __init__(self, structure, gate, **keywords):
        super().__init__(structure, gate, **keywords)
        for holder, name in ((self, "randomizer"), (getattr(self, "batches", None), "_mechanism")):
            if hasattr(holder, name):
                setattr(holder, name, self._louder(getattr(holder, name)))

    @staticmethod
    def _louder(mechanism):
        from mechanisms import Gaussian, Laplace, RandomizedResponse

        if isinstance(mechanism, Laplace):
            return Laplace(scale=2 * mechanism.scale, sensitivity=mechanism.sensitivity)
        if isinstance(mechanism, Gaussian):
            return Gaussian(
                sigma=2 * mechanism.sigma, sensitivity=mechanism.sensitivity, delta=mechanism.delta
            )
        return RandomizedResponse(size=2, epsilon=mechanism.epsilon / 2)


class WrongGain:
    """What is learned is a fifth too large."""

    def observe(self, feedback, *rest):
        state = self.estimates if hasattr(self, "estimates") else self.batches
        before = state.mean.copy()
        super().observe(feedback, *rest)
        new = state.mean != before
        state.mean[new] *= 1.2


class StaleBatch:
    """The first batch's released sum is used for all later ones."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        first, learn = np.full(self.batches.size.shape, np.nan), self.batches._learn

        def stale(full, sums, sizes):
            first[full] = np.where(np.isnan(first[full]), sums, first[full])
            learn(full, first[full], sizes)

        self.batches._learn = stale


class RandomAction:
    """Every twentieth round plays what the oracle would not."""

    def act(self):
        action = super().act()
        self.acts = getattr(self, "acts", 0) + 1
        if self.acts % 20 == 0:
            action = self.structure.solve(-np.minimum(self.confidence().index, 1e6))
            setattr(self, "basis" if hasattr(type(self), "basis") else "super_arm", action)
        return action


class NeverAgain:
    """Arm 0 is never played after round 10."""

    def act(self):
        action = super().act()
        self.acts = getattr(self, "acts", 0) + 1
        if self.acts > 10:
            index = np.minimum(self.confidence().index, 1e6)
            index[:, 0] = -1e6
            action = self.structure.solve(index)
            setattr(self, "basis" if hasattr(type(self), "basis") else "super_arm", action)
        return action


def test_ties_to_the_worst_are_legal():
    for name in ("cucb-ldp-bit", "dpucb-mat"):
        assert violated(name, plant(name, TiesToTheWorst)) == []


FAMILIES = ["cucb-ldp-bit", "cucb-batch-least", "dpucb-mat"]
OTHERS = ["cucb-ldp-laplace-one", "cucb-ldp-gaussian", "cucb-batch-all"]
FAULTS = (HalfRadius, NoLogarithm, CountForgotten, LoudNoise, WrongGain, RandomAction, NeverAgain)
PLANTED = [
    *((fault, name) for fault in FAULTS for name in FAMILIES),
    *((StaleBatch, name) for name in ("cucb-batch-least", "dpucb-mat")),
    *(pytest.param(fault, name, marks=pytest.mark.slow) for fault in FAULTS for name in OTHERS),
    pytest.param(StaleBatch, "cucb-batch-all", marks=pytest.mark.slow),
]
SEEN_AS = {
    HalfRadius: {"radius"},
    NoLogarithm: {"radius"},
    CountForgotten: {"bookkeeping", "radius"},
    LoudNoise: {"noise"},
    WrongGain: {"noise", "radius", "bookkeeping"},
    RandomAction: {"oracle"},
    NeverAgain: {"oracle"},
    StaleBatch: {"noise"},
}


@pytest.mark.parametrize(("fault", "name"), PLANTED, ids=lambda value: getattr(value, "__name__", value))
def test_planted_faults_are_seen(fault, name):
    found = violated(name, plant(name, fault))
    assert set(found) & SEEN_AS[fault]


def test_a_printed_radius_beyond_its_regime_leaves_the_good_event():
    """cucb-ldp2 at epsilon 20: no term for sampling. Its regret is far below the bound all the same."""
    found = {check.name: check for check in checks("cucb-ldp2", epsilon=20.0, horizon=512)}
    assert found["good event"].violated
    assert not found["noise"].violated


def test_what_cannot_be_checked_is_refused():
    played = instance("semi-bandit")
    with pytest.raises(ValueError, match="bound"):
        check_means(None, BOUNDS["cucb"], played, lanes=64, seed=0, error=0.1)
