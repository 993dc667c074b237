"""Own problems are refused when they draw what no theorem, limit or learner is about."""

import functools

import numpy as np
import pytest

from algorithms import CUCB, DPE, DPBandit
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import Arms, LinearBandit, ProblemError, SemiBandit
from algorithms.problems.own_choices import is_ours
from algorithms.problems.own_draws import checked_averages, checked_outcomes, is_own
from algorithms.simulate import simulate

ACTIONS = np.eye(3)


class _Clients(LinearBandit):
    def draw_averages(self, support, counts, clients, rng):
        return 3 * super().draw_averages(support, counts, clients, rng)


class _Outcomes(SemiBandit):
    def draw_feedback(self, super_arm, randomness):
        return 3 * super().draw_feedback(super_arm, randomness)

    def draw_totals(self, super_arm, rounds, randomness):
        return 3 * super().draw_totals(super_arm, rounds, randomness)


def _linear(kind, rewards):
    return kind(ACTIONS, np.array([0.5, 0, 0]), 0.1, 1000, rewards)


def test_signs_outside_their_bounds_are_refused_and_gaussian_rewards_have_none():
    def build(gate):
        return DPE(ACTIONS, gate, horizon=50, population=1000, sigma=0.1)

    with pytest.raises(ProblemError, match="must be from -1 to 1"):
        simulate_phases(build, _linear(_Clients, "signs"), runs=1, seed=0)
    simulate_phases(build, _linear(_Clients, "gaussian"), runs=1, seed=0)


@pytest.mark.parametrize(
    ("averages", "rule"),
    [
        (np.zeros((2, 4)), "must be \\(clients, actions\\)"),
        (np.full((2, 3), np.nan), "must be a finite number"),
    ],
)
def test_averages_are_as_many_as_were_asked_for(averages, rule):
    problem = _linear(_Clients, "gaussian")
    with pytest.raises(ProblemError, match=rule):
        checked_averages(problem, averages, 2, 3)
    assert checked_averages(_linear(LinearBandit, "gaussian"), averages, 2, 3) is averages


@pytest.mark.parametrize("learner", [CUCB, functools.partial(DPBandit, epsilon=1.0, horizon=50)])
def test_outcomes_outside_their_bounds_are_refused(learner):
    """Round by round, and in totals."""
    problem = _Outcomes(Arms(2), [0.5, 0.9])

    def build(gate):
        return learner(problem.structure, gate)

    with pytest.raises(ProblemError, match=r"outcomes: .* was drawn: must be from 0 to"):
        simulate(build, problem, horizon=50, runs=2, seed=0)


def test_totals_may_be_as_large_as_the_rounds_are_many():
    problem, totals = _Outcomes(Arms(2), [0.5, 0.9]), np.array([[3.0], [0.0]])
    assert checked_outcomes(problem, totals, np.array([3, 0])) is totals
    with pytest.raises(ProblemError, match="3 was drawn: must be from 0 to 2"):
        checked_outcomes(problem, totals, np.array([2, 0]))
    with pytest.raises(ProblemError, match="nan was drawn"):
        checked_outcomes(problem, np.array([[np.nan]]))


def test_a_problem_is_its_users_own_if_its_class_is():
    assert is_own(_linear(_Clients, "signs"))
    assert not is_own(_linear(LinearBandit, "signs"))


def test_a_class_or_function_with_names_of_the_librarys_is_its_users_own():
    @functools.wraps(SemiBandit, updated=())
    class Named(SemiBandit):
        pass

    class Wrapping(Arms):
        @functools.wraps(Arms.solve)
        def solve(self, *given):
            return super().solve(*given)

    assert is_own(Named(Arms(2), [0.5, 0.9]))
    assert not is_own(SemiBandit(Arms(2), [0.5, 0.9]))
    assert not is_ours(Wrapping(2), "solve")
    assert is_ours(Arms(2), "solve")
