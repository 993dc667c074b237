"""True learners of linear bandits pass the checks of their proofs; planted faults do not."""

import inspect

import numpy as np
import pytest

from algorithms.catalogue import learner_builder
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.theory.confidence_theorem import PhaseTheorem
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Gaussian
from verify.regret_claims.phase_checks import PhaseRun
from verify.regret_claims.proof import linear_check_problem
from verify.regret_claims.proof_run import check_laws

CHECKED = [name for name, bound in BOUNDS.items() if isinstance(bound.confidence, PhaseTheorem)]
HORIZON = 256


def checks(name, make=None, *, seed=3, lanes=8, horizon=HORIZON):
    dimension = 3 if name.startswith("published/") else 2
    problem = linear_check_problem(horizon, {}, dimension=dimension)
    if not name.removeprefix("published/").startswith(("dpe", "dp-dpe")):
        problem = type(problem)(problem.actions, problem.theta, 0.0, problem.population, "signs")
    played = Instance(problem, 20.0, horizon)
    make = make or linear_learners[name].make
    build = learner_builder(make, problem, epsilon=played.epsilon, horizon=horizon)
    return check_laws(PhaseRun, build, BOUNDS[name], played, lanes=lanes, seed=seed, error=1e-4)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", CHECKED)
def test_true_learners_pass(name):
    found = checks(name, lanes=2 if name.endswith("shuffle") else 8)
    assert [check.description for check in found if check.violated] == []
    assert len(found) == 8


class HalfWidth:
    def widths(self, *args):
        return super().widths(*args) / 2


class NoLogarithm:
    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.exponent = np.log(2 * len(self.actions))


class LoudNoise:
    """Twice the deviation that the widths know."""

    def _private_mean(self, phase):
        mean = super()._private_mean(phase)
        mean._mechanism = Gaussian(
            sigma=2 * mean.mechanism.sigma, sensitivity=mean.mechanism.sensitivity, delta=0.001
        )
        return mean


class WrongGain:
    def _eliminate(self, phase, averages, noise):
        super()._eliminate(phase, 1.2 * averages, noise)


class StaleAverages:
    """The first phase's averages, for as long as the support is as large."""

    first = None

    def _eliminate(self, phase, averages, noise):
        if self.first is None:
            self.first = averages
        super()._eliminate(phase, self.first if self.first.shape == averages.shape else averages, noise)


class KeepsAll:
    def _eliminate(self, phase, averages, noise):
        before = self.active
        super()._eliminate(phase, averages, noise)
        if len(self.active) < len(before):
            self.active = before


class NeverAgain:
    def _eliminate(self, phase, averages, noise):
        super()._eliminate(phase, averages, noise)
        if len(self.active) > 1:
            self.active = self.active[1:]


class CommitsAtOnce:
    def _exploration(self, left, widest):
        return None if widest is not None else super()._exploration(left, widest)


class FollowsTheLast:
    """Plays the action of the least estimate to the end."""

    @property
    def _leader(self):
        if self.learned is None:
            return super()._leader
        return int(self.learned.active[self.learned.values.argmin()])


FAULTS = {
    CommitsAtOnce: "bookkeeping",
    FollowsTheLast: "oracle",
    HalfWidth: "radius",
    NoLogarithm: "radius",
    LoudNoise: "noise",
    WrongGain: "noise",
    StaleAverages: "noise",
    KeepsAll: "oracle",
    NeverAgain: "oracle",
}


PLANTED = [
    *(("dp-dpe-central", fault) for fault in FAULTS if fault is not CommitsAtOnce),
    ("dpe", CommitsAtOnce),
    # Its widths leave all actions here, and its logarithm is in them.
    *(
        ("published/dp-pe-central", fault)
        for fault in (HalfWidth, LoudNoise, WrongGain, StaleAverages, NeverAgain)
    ),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "fault"), PLANTED, ids=lambda value: getattr(value, "__name__", value))
def test_planted_faults_are_seen(name, fault):
    made = linear_learners[name].make
    planted = type("Planted", (fault, made), {"__signature__": inspect.signature(made)})
    horizon = 4096 if fault is CommitsAtOnce else HORIZON
    found = [check.name for check in checks(name, planted, lanes=24, horizon=horizon) if check.violated]
    assert found
    assert found[0] == FAULTS[fault]
