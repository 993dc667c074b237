"""Draws of users' own problems against the laws that they declare."""

import numpy as np
import pytest

from algorithms.lanes import lookup
from algorithms.problems import (
    Arms,
    Cascade,
    LinearBandit,
    SemiBandit,
    TopK,
    build_problem,
    linear_problems,
    problems,
)
from algorithms.theory.own_problems import drawn_as_declared
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance

ACTIONS, THETA = np.vstack([np.eye(3), -np.eye(3)]), np.array([0.5, 0.2, 0.0])


class _Clients(LinearBandit):
    """Averages of a user's own."""

    kind = "sure"

    def draw_averages(self, support, counts, clients, rng):
        means = np.tile(self.means[support], (clients, 1))
        lawful = super().draw_averages(support, counts, clients, rng)
        return {
            "sure": means,
            "theirs": lawful,
            "opposite": -lawful,
            "half": means / 2,
            "one coin for all": np.where(rng.random() < 0.5, 1.0, -1.0) * np.ones_like(means),
            "one reward": np.where(rng.random(means.shape) < (1 + means) / 2, 1.0, -1.0),
            "beyond": 3 * lawful,
            "too few": lawful[1:],
            "no numbers": np.full_like(lawful, np.nan),
        }[self.kind]


def _clients(kind, sigma=0.1):
    problem = _Clients(ACTIONS, THETA, sigma, 100_000, "signs")
    object.__setattr__(problem, "kind", kind)
    return problem


LINEAR = {"sure": True, "theirs": True} | dict.fromkeys(
    ("opposite", "half", "one coin for all", "one reward", "beyond", "too few", "no numbers"), False
)


@pytest.mark.few(2)
@pytest.mark.parametrize(("kind", "lawful"), LINEAR.items())
def test_linear_problems_of_a_users_own_are_looked_at(kind, lawful):
    """Of a client that reports one reward for sixteen, the mean is right and the spread is not."""
    problem = _clients(kind)
    assert drawn_as_declared(problem) == lawful
    for name in ("dpe", "dp-dpe-central", "published/dpe"):
        assert BOUNDS[name].covers(Instance(problem, 5.0, 1000, 1e-3)) == lawful


def test_single_rewards_are_enough_where_a_client_reports_one():
    """`dp-pe-central` is not to be blamed for averages that nobody asks for."""
    instance = Instance(_clients("one reward"), 5.0, 1000, 1e-3)
    assert BOUNDS["dp-pe-central"].covers(instance)
    assert not BOUNDS["dp-dpe-central"].covers(instance)


class _Gaps(LinearBandit):
    @property
    def gaps(self):
        return np.zeros(len(self.actions))


def test_regret_is_counted_by_the_means_that_are_drawn():
    assert not drawn_as_declared(_Gaps(ACTIONS, THETA, 0.1, 1000, "signs"))


class _Outcomes(SemiBandit):
    """Outcomes of a user's own."""

    kind = "sure"

    def draw_feedback(self, super_arm, randomness):
        return self._drawn(super_arm, np.ones(len(super_arm), dtype=np.int64), randomness)

    def draw_totals(self, super_arm, rounds, randomness):
        return self._drawn(super_arm, rounds, randomness)

    def draw_records(self, randomness, lanes):
        every = np.tile(np.arange(self.structure.arms), (lanes, 1))
        return self._drawn(every, np.ones(lanes, dtype=np.int64), randomness)

    def _drawn(self, super_arm, rounds, randomness):
        means, many = (
            lookup(self.means, super_arm),
            np.repeat(rounds[:, np.newaxis], super_arm.shape[1], axis=1),
        )
        level = randomness.random((len(super_arm), 1))
        return {
            "sure": many * means,
            "together": many * means if (rounds > 1).any() else (level < means).astype(float),
            "one for all rounds": many * (level < means),
            "other means": randomness.binomial(many, 1 - means).astype(float),
            "by place": many * means * (np.arange(super_arm.shape[1]) == 0),
            "beyond": 3 * randomness.binomial(many, means / 3).astype(float),
        }[self.kind]


STRUCTURED = {"sure": True, "together": True} | dict.fromkeys(
    ("one for all rounds", "other means", "by place", "beyond"), False
)


@pytest.mark.few(3)
@pytest.mark.parametrize(("kind", "lawful"), STRUCTURED.items())
def test_semi_bandits_of_a_users_own_are_looked_at(kind, lawful):
    """Outcomes of one round may depend on each other; those of a total's rounds may not."""
    problem = _Outcomes(TopK(4, 2), [0.1, 0.3, 0.6, 0.9])
    object.__setattr__(problem, "kind", kind)
    bound, instance = BOUNDS["cucb-batch"], Instance(problem, 1.0, 1000)
    assert bound.covers(instance) == lawful
    assert ("draws what it declares" in bound.regime_on(instance)) != lawful


def test_of_many_arms_fewer_records_are_looked_at():
    problem = _Outcomes(TopK(32, 2), np.linspace(0.1, 0.9, 32))
    assert drawn_as_declared(problem)


class _Reward(SemiBandit):
    def expected_reward(self, super_arm):
        return -super().expected_reward(super_arm)


class _Later(Cascade):
    """Users who click the last item that attracts."""

    def draw_feedback(self, super_arm, randomness):
        return super().draw_feedback(super_arm[:, ::-1], randomness)[:, ::-1]


class _Same(Cascade):
    pass


def test_rewards_and_clicks_are_looked_at():
    assert not drawn_as_declared(_Reward(Arms(2), [0.2, 0.7]))
    assert not drawn_as_declared(_Later(4, 2, [0.2, 0.5, 0.6, 0.9]))
    assert drawn_as_declared(_Same(4, 2, [0.2, 0.5, 0.6, 0.9]))


@pytest.mark.parametrize("name", sorted({*problems, *linear_problems} - {"movielens"}))
def test_problems_of_the_library_are_taken_at_their_word(name, monkeypatch):
    monkeypatch.setattr("algorithms.theory.own_problems._passes_test", lambda problem, averages: False)
    entry = linear_problems.get(name)
    assert drawn_as_declared(build_problem(name) if entry is None else entry.build())
