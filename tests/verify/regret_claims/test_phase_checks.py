"""True learners of linear bandits pass the checks of their proofs; planted faults do not."""

import inspect

import numpy as np
import pytest

from algorithms.catalogue.linear_entries import linear_builder, linear_learners
from algorithms.theory.confidence_theorem import PhaseTheorem
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Gaussian
from verify.regret_claims.phase_checks import check_phases
from verify.regret_claims.proof import linear_check_problem

CHECKED = [name for name, bound in BOUNDS.items() if isinstance(bound.confidence, PhaseTheorem)]
HORIZON = 256


def checks(name, make=None, *, seed=3, lanes=8):
    problem = linear_check_problem(HORIZON, {})
    if "-dpe" not in name and name != "dpe":
        problem = type(problem)(problem.actions, problem.theta, 0.0, problem.population, "signs")
    played = Instance(problem, 20.0, HORIZON)
    make = make or linear_learners[name].make
    build = linear_builder(make, problem, epsilon=played.epsilon, horizon=HORIZON)
    return check_phases(build, BOUNDS[name], played, lanes=lanes, seed=seed, error=1e-4)


@pytest.mark.parametrize("name", CHECKED)
def test_true_learners_pass(name):
    found = checks(name, lanes=2 if name.endswith("shuffle") else 8)
    assert [check.words for check in found if check.violated] == []
    assert len(found) == 8


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CHECKED if not name.endswith("shuffle")])
def test_true_learners_pass_at_every_seed(name):
    """100 reports of each, 600 in all: a false alarm has probability 0.06 at most (Bonferroni)."""
    for seed in range(100):
        assert not any(check.violated for check in checks(name, seed=seed))


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


FAULTS = {
    HalfWidth: "radius",
    NoLogarithm: "radius",
    LoudNoise: "noise",
    WrongGain: "noise",
    StaleAverages: "noise",
    KeepsAll: "oracle",
    NeverAgain: "oracle",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_faults_are_seen(fault):
    made = linear_learners["dp-dpe-central"].make
    planted = type("Planted", (fault, made), {"__signature__": inspect.signature(made)})
    found = [check.name for check in checks("dp-dpe-central", planted, lanes=24) if check.violated]
    assert found
    assert found[0] == FAULTS[fault]
