"""Linear learners and their problem by name: settings, refusals, simulation, edge cases."""

import numpy as np
import pytest

from accountant import Simulation
from algorithms.catalogue import learner_builder
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear.linear_phases import PopulationTooSmall
from algorithms.linear.linear_play import play_linear, simulate_phases
from algorithms.problems import LinearBandit, ProblemError, build_problem, linear_problems
from algorithms.simulate import checkpoint_rounds

LINEAR = linear_problems["linear"]
EVERY = pytest.mark.parametrize("name", linear_learners)


@EVERY
def test_entries_are_complete(name: str) -> None:
    entry = linear_learners[name]
    assert (entry.name, entry.family, entry.default_problem) == (name, "linear", "linear")
    assert entry.claim.model == (name.rsplit("-", 1)[1] if name.endswith(("local", "shuffle")) else "central")
    assert entry.as_printed.startswith("makes no privacy claim") == entry.claim.is_none
    verdicts = ("FALSE", "holds") if name.startswith("published/") else ("certified",)
    assert entry.as_printed.startswith((*verdicts, "makes no privacy"))
    assert entry.certified_form in ("", *linear_learners)


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
        ("dp-dpe-local", {"epsilon": 0.0}, "epsilon = 0.0: must be a number from 1e-07"),
        ("dp-pe-local", {"delta": 0.0}, "delta = 0.0: must lie in \\(0, 1\\)"),
        ("dpe", {"horizon": 0}, "horizon = 0: must be at least 1"),
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


def test_other_problems_are_refused() -> None:
    with pytest.raises(ProblemError, match="DPE plays linear problems, not a semi-bandit problem"):
        learner_builder(linear_learners["dpe"].make, build_problem("top-k"), epsilon=1, horizon=9)
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


EDGES = {
    "one dimension": np.array([[1.0], [-1.0], [0.25]]),
    "one action": np.array([[0.6, 0.0]]),
    "a plane in space": np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.6, 0.0], [-1.0, 0.0, 0.0]]),
    "ties": np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]),
    "one of them zero": np.array([[0.0, 0.0], [0.5, 0.0]]),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", EDGES)
@EVERY
def test_edge_cases(name: str, kind: str) -> None:
    """Every learner plays every horizon to its end, also below its first phase, and keeps a best action."""
    actions = EDGES[kind]
    theta = np.zeros(actions.shape[1])
    theta[0] = 0.5
    problem = LinearBandit(actions, theta, 0.1, 5000, "signs")
    for horizon in (1, 2, 3, 17, 300):
        settings = {"fixed_clients": 4} if name.endswith("fixed-u") else {}
        build = linear_learners[name].build(
            problem, epsilon=20.0, delta=0.1, horizon=horizon, settings=settings
        )
        gate = Simulation(1, 1)
        learner = build(gate)
        phases = list(play_linear(learner, problem, gate, np.random.default_rng(3)))
        assert sum(phase.rounds for phase in phases) == horizon
        assert problem.gaps[learner.active].min() == 0.0
