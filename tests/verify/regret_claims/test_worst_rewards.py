"""The worst rewards inside the good event attain the gap lemma of phased elimination, and break smaller bounds."""

import functools
from dataclasses import replace

import pytest
from worst_rewards import check_worst_rewards, worst_actions

from algorithms.catalogue import learner_builder
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.theory.confidence_theorem import PhaseTheorem
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from verify.regret_claims.proof import linear_check_problem

CHECKED = [name for name, bound in BOUNDS.items() if isinstance(bound.confidence, PhaseTheorem)]
TOO_LOUD = {"published/dp-dpe-shuffle"}  # its own noise may leave the good event


def checks(name, bound=None):
    instance = worst_actions(
        Instance(linear_check_problem(2, {}), 1.0, 1), 3 if name.startswith("published/") else 1
    )
    if name.endswith("shuffle"):
        instance = replace(instance, epsilon=10.0)

    def build(there):
        make = linear_learners[name].make
        return learner_builder(make, there.problem, epsilon=there.epsilon, horizon=there.horizon)

    return check_worst_rewards(build, bound or BOUNDS[name], instance, seed=0)


def attained(check):
    return float(check.description.split("gaps reach ")[1].split(" %")[0])


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("name", [name for name in CHECKED if name not in TOO_LOUD])
def test_true_theorems_hold(name):
    (found,) = checks(name)
    assert not found.violated


@pytest.mark.slow_cells("published/dpe")
@pytest.mark.parametrize("name", ["pe", "published/dpe"])
def test_survivors_are_as_bad_as_widths_allow(name):
    """Gaps are 8 % apart, so that a lemma whose constant is a tenth too small is violated."""
    assert attained(checks(name)[0]) > 95


@pytest.mark.slow
def test_a_bound_that_is_too_small_is_violated():
    bound = BOUNDS["pe"]
    (found,) = checks("pe", replace(bound, constant=0.1 * bound.constant))
    assert found.violated
    assert found.name == "worst data"
    assert "on the good event lost" in found.description


@pytest.mark.slow
def test_a_learner_of_wider_widths_contradicts_nothing():
    """Widths twice the theorem's are another learner's: nothing is violated."""

    class Cautious(linear_learners["pe"].make):
        def widths(self, *args):
            return 2 * super().widths(*args)

    found = check_worst_rewards(
        functools.partial(_build, Cautious),
        BOUNDS["pe"],
        worst_actions(Instance(linear_check_problem(2, {}), 1.0, 1), 1),
        seed=0,
    )
    assert [check.violated for check in found] == [False]


def _build(make, there):
    return learner_builder(make, there.problem, epsilon=there.epsilon, horizon=there.horizon)
