"""Linear learners and their problem by name: settings, refusals, simulation, edge cases."""

import numpy as np
import pytest

from accountant import Simulation
from algorithms.catalogue import learner_builder
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear.linear_phases import PopulationTooSmall
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import ProblemError, linear_problems
from algorithms.simulate import checkpoint_rounds

LINEAR = linear_problems["linear"]


def test_the_papers_setting_is_within_reach() -> None:
    """d = 20, k = 1000, sigma = 0.1, 100,000 clients; T = 10^6 needs 50,796 of them, 4 * 10^6 more than there are."""
    problem = LINEAR.build(dimension="20", actions="1000")
    assert problem.actions.shape == (1000, 20)
    assert (problem.sigma, problem.population, problem.rewards) == (0.1, 100_000, "signs")
    make = linear_learners["dp-dpe-central"]
    make.build(problem, epsilon=10, delta=0.25, horizon=10**6)(Simulation(0, 1))
    with pytest.raises(PopulationTooSmall, match="population = 100000: 20 phases within horizon 4000000"):
        make.build(problem, epsilon=10, delta=0.25, horizon=4 * 10**6)(Simulation(0, 1))
    again = LINEAR.build(dimension=20, actions=1000, replacement="yes")
    make.build(again, epsilon=10, delta=0.25, horizon=4 * 10**6)(Simulation(0, 1))
    few = LINEAR.build(replacement="yes", population=3)
    with pytest.raises(PopulationTooSmall, match="need 446 clients, the largest of them"):
        make.build(few, epsilon=10, delta=0.25, horizon=5000)(Simulation(0, 1))


@pytest.mark.parametrize(
    ("name", "rewards", "settings", "expected"),
    [
        ("dpe", "signs", {}, 1.0),
        ("dpe", "signs", {"reward_bound": 0.0}, 1.0),
        ("dpe", "signs", {"reward_bound": 2.5}, 2.5),
        ("dpe", "gaussian", {}, None),
        ("dpe", "gaussian", {"reward_bound": 2.5}, 2.5),
        ("pe", "signs", {}, 1.0),
        ("pe", "signs", {"reward_bound": 2.5}, 2.5),
    ],
)
def test_rewards_are_bounded_as_the_problem_says_unless_a_setting_does(
    name: str, rewards: str, settings: dict[str, float], expected: float | None
) -> None:
    problem = LINEAR.build(rewards=rewards)
    learner = linear_learners[name].build(problem, epsilon=1.0, horizon=200, settings=settings)(
        Simulation(0, 1)
    )
    assert learner.reward_bound == expected  # type: ignore[union-attr]


def test_layouts() -> None:
    assert np.linalg.norm(LINEAR.build().actions, axis=1) == pytest.approx(np.ones(20))
    ball = np.linalg.norm(LINEAR.build(layout="ball", actions=500).actions, axis=1)
    assert ball.max() <= 1
    assert np.mean(ball**3) == pytest.approx(0.5, abs=5 * 12**-0.5 / 500**0.5)  # uniform volume, 5 s.e.
    assert LINEAR.build(layout="axes", actions=2).actions.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert LINEAR.build(instance=2).means.tolist() != LINEAR.build().means.tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layout": "axes"}, "actions = 20: must be at most dimension = 3"),
        ({"layout": "cube"}, "layout = cube: must be one of sphere, ball, axes"),
        ({"dimension": 0}, "dimension = 0: must be an integer"),
        ({"replacement": "maybe"}, "replacement = maybe: must be one of no, yes"),
        ({"sigma": 5}, "could reach"),
        ({"clients": 5}, "unknown parameter 'clients'"),
    ],
)
def test_problem_refusals(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        LINEAR.build(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("dpe", {"settings": {"alpha": 1.0}}, "alpha = 1.0: must be a number in"),
        ("dpe", {"settings": {"fixed_clients": 3}}, "unknown parameter 'fixed_clients'"),
        ("published/dpe-fixed-u", {"settings": {"fixed_clients": 0}}, "fixed_clients = 0"),
        ("published/dp-dpe-central", {"settings": {"clipping": "often"}}, "clipping = often"),
    ],
)
def test_learner_refusals(name: str, changed: dict[str, object], message: str) -> None:
    given = {"epsilon": 1.0, "delta": 0.1, "horizon": 100} | changed
    with pytest.raises(ValueError, match=message):
        linear_learners[name].build(LINEAR.build(), **given)  # type: ignore[arg-type]


def test_clients_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="fixed_clients: must be given"):
        learner_builder(linear_learners["published/dpe-fixed-u"].make, LINEAR.build(), epsilon=1, horizon=9)(
            Simulation(0, 1)
        )
    with pytest.raises(ValueError, match="population = True: must be a whole number"):
        linear_learners["dpe"].make(np.eye(2), Simulation(0, 1), horizon=9, population=True, sigma=0.1)


def test_runs_do_not_depend_on_workers_and_regret_is_exact_in_between() -> None:
    problem = LINEAR.build(rewards="gaussian")
    build = linear_learners["dp-dpe-central"].build(problem, epsilon=50, delta=0.1, horizon=700)
    alone = simulate_phases(build, problem, runs=3, seed=4)
    shared = simulate_phases(build, problem, runs=3, seed=4, workers=2)
    assert alone.regret.tolist() == shared.regret.tolist()
    assert alone.communication == shared.communication
    every = alone.trace(np.arange(1, 701))
    assert every.regret[-1] == pytest.approx(alone.regret)
    steps = np.diff(every.regret, axis=0, prepend=0.0)
    assert (
        np.abs(steps[:, :, None] - problem.gaps).min(axis=2).max() < 1e-9
    )  # each round costs some action's gap
    assert every.reward[-1] == pytest.approx(700 * problem.means.max() - alone.regret)
    ends = alone.curves[0][0].astype(int)
    assert every.regret[ends - 1, 0] == pytest.approx(alone.curves[0][1])
    sparse = alone.trace(checkpoint_rounds(700, 5))
    assert sparse.regret.tolist() == every.regret[sparse.rounds - 1].tolist()


@pytest.mark.parametrize(("runs", "seed", "workers"), [(0, 0, 1), (1, -1, 1), (1, 0, 0), (10**20, 0, 1)])
def test_simulation_refusals(runs: int, seed: int, workers: int) -> None:
    problem = LINEAR.build()
    build = linear_learners["dpe"].build(problem, epsilon=1, horizon=9)
    with pytest.raises(
        ValueError,
        match=rf"(runs = (0|{10**20})|seed = -1|workers = 0).*: .*must be (at least|at most|below)",
    ):
        simulate_phases(build, problem, runs=runs, seed=seed, workers=workers)
