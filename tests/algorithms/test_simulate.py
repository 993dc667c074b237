import multiprocessing
import sys
from dataclasses import replace

import numpy as np
import pytest

from algorithms import simulate
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import Arms, SemiBandit, ShortestPath, build_problem
from algorithms.simulate import checkpoint_rounds

PATHS = SemiBandit(
    ShortestPath([("c", "t"), ("s", "b"), ("b", "t"), ("a", "c"), ("s", "a"), ("s", "t")], "s", "t"),
    [0.8, 0.6, 0.7, 0.9, 0.8, 0.3],
)


def problem_for(name):
    return PATHS if name.startswith("cucb") else build_problem(learners[name].default_problem)


def trace(name, runs, **settings):
    problem = problem_for(name)
    build = learners[name].build(problem, epsilon=100.0, horizon=60)
    return simulate(build, problem, **{"horizon": 60, "runs": runs, "seed": 3, "checkpoints": 8, **settings})


@pytest.mark.slow_cells("cascade-ucb-rr")
@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["cucb-ldp1", "cucb-ldp2", "published/dpts-mat", "cascade-ucb-rr"])
def test_workers_change_nothing(name):
    done = []
    parallel = trace(name, 130, workers=2, progress=done.append)
    np.testing.assert_array_equal(parallel.regret, trace(name, 130).regret)
    assert done
    assert done[-1] == 1.0
    assert not multiprocessing.active_children()


def test_runs_depend_on_their_seed_and_number_alone(monkeypatch):
    """However many blocks of 64 runs are in one array. Outcomes are certain here: all chance is the noise."""
    problem = SemiBandit(Arms(3), [0.0, 1.0, 0.0])
    build = learners["dp-bandit"].build(problem, epsilon=1.0, horizon=100)

    def regret(runs, seed):
        return simulate(build, problem, horizon=100, runs=runs, seed=seed).regret

    together = regret(128, seed=3)
    monkeypatch.setattr(sys.modules["algorithms.simulate"], "_BLOCKS_AT_ONCE", 1)
    np.testing.assert_array_equal(together, regret(128, seed=3))
    np.testing.assert_array_equal(together[:, :70], regret(70, seed=3))
    assert (together[:, :64] != together[:, 64:]).any()
    assert (together != regret(128, seed=4)).any()


def test_statistics_are_over_runs():
    result = trace("cucb", 20)
    np.testing.assert_allclose(result.regret_mean, result.regret.mean(axis=1))
    np.testing.assert_allclose(result.regret_sem, result.regret.std(axis=1, ddof=1) / np.sqrt(20))
    np.testing.assert_allclose(result.return_mean, result.reward.mean(axis=1) / result.rounds)
    assert result.runs == 20
    assert np.isnan(trace("cucb", 1).regret_sem).all()
    alike = replace(result, regret=np.full((1, 3), 0.1), rounds=np.array([1]))
    assert np.full(3, 0.1).std() > 0.0
    assert alike.regret_sem.tolist() == [0.0]


def test_checkpoints_ascend_from_the_first_round_to_the_horizon():
    for horizon, count in ((1, 5), (7, 50), (1000, 10), (123456, 50)):
        rounds = checkpoint_rounds(horizon, count)
        assert rounds[0] == 1
        assert rounds[-1] == horizon
        assert (np.diff(rounds) > 0).all()
        assert len(rounds) <= count
    assert checkpoint_rounds(100, 1).tolist() == [100]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("horizon", 0),
        ("horizon", 2**63),
        ("runs", 0),
        ("runs", -1),
        ("workers", 0),
        ("checkpoints", 0),
        ("seed", -1),
        ("runs", 10**20),
        ("checkpoints", 10**20),
    ],
)
def test_what_cannot_be_simulated_is_refused(setting, value):
    settings = {"horizon": 10, "runs": 1, "seed": 1, setting: value}
    problem = problem_for("cucb")
    with pytest.raises(ValueError, match=f"{setting} = {value}"):
        simulate(learners["cucb"].build(problem, epsilon=1, horizon=10), problem, **settings)
