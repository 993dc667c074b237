"""The smallest instances and the most extreme parameters, for every learner."""

import numpy as np
import pytest

from accountant import Accountant, Budget, Simulation
from algorithms.catalogue.structured_entries import learners
from algorithms.play import play_fresh, play_records
from algorithms.problems import Arms, Cascade, Experts, GraphicMatroid, SemiBandit, TopK, UniformMatroid
from algorithms.structured_learner import PLAYS
from mechanisms import DomainError, LaneStreams

SMALLEST = {
    "bandit": {
        "one arm": SemiBandit(Arms(1), [0.5]),
        "equal arms": SemiBandit(Arms(3), [0.5, 0.5, 0.5]),
        "certain outcomes": SemiBandit(Arms(3), [0.0, 1.0, 0.0]),
    },
    "semi-bandit": {
        "one arm": SemiBandit(TopK(1, 1), [0.5]),
        "all arms": SemiBandit(TopK(3, 3), [0.5, 0.1, 0.9]),
        "certain outcomes": SemiBandit(TopK(3, 1), [0.0, 1.0, 0.0]),
    },
    "matroid": {
        "one element": SemiBandit(UniformMatroid(1, 1), [0.5]),
        "all elements": SemiBandit(UniformMatroid(3, 3), [0.5, 0.1, 0.9]),
        "two parallel edges": SemiBandit(GraphicMatroid(2, [(0, 1), (1, 0)]), [0.0, 1.0]),
        "one edge and a self-loop": SemiBandit(GraphicMatroid(2, [(0, 0), (0, 1)]), [1.0, 0.2]),
    },
    "experts": {
        "one expert": SemiBandit(Experts(1), [0.5]),
        "certain outcomes": SemiBandit(Experts(3), [0.0, 1.0, 0.0]),
    },
    "cascade": {
        "one item": Cascade(1, 1, [0.5]),
        "all items": Cascade(3, 3, [0.5, 0.1, 0.9]),
        "certain attraction": Cascade(3, 1, [0.0, 1.0, 0.0]),
    },
}
INSTANCES = [(name, instance) for name, entry in learners.items() for instance in SMALLEST[entry.family]]


@pytest.mark.few(3)
@pytest.mark.parametrize("horizon", [1, 2, 33])
@pytest.mark.parametrize(("name", "instance"), INSTANCES)
def test_the_smallest_instances(name, instance, horizon):
    problem = SMALLEST[learners[name].family][instance]
    gate = Simulation(1, 64)
    learner = learners[name].build(problem, epsilon=1.0, horizon=horizon)(gate)
    actions = list(play_fresh(learner, problem, gate, LaneStreams(1, 64, key=(2,)), horizon))
    assert len(actions) == horizon
    loops = set(getattr(problem.structure, "loops", ()))
    for row in np.concatenate(actions):
        played = row.tolist()
        assert len(set(played)) == problem.structure.size
        assert not loops & set(played)
    ranks = isinstance(problem.structure, Experts)  # all, and follows the first
    if problem.structure.size + len(loops) == problem.structure.arms and not ranks:
        assert (np.concatenate([problem.expected_reward(a) for a in actions]) == problem.optimum).all()


@pytest.mark.few(28)
@pytest.mark.slow_cells(
    "dp-bandit-shuffle-500000.0", "cascade-ucb-batch-shuffle-500000.0", "cascade-ucb-batch-shuffle-1e-06"
)
@pytest.mark.parametrize("epsilon", [1e-6, 5e5])  # shuffled counts take no larger one
@pytest.mark.parametrize("name", learners)
def test_extreme_privacy_parameters_still_play(name, epsilon):
    """No NaN reaches an oracle (they refuse it), and warnings are errors here."""
    problem = list(SMALLEST[learners[name].family].values())[1]
    gate = Simulation(1, 64)
    learner = learners[name].build(problem, epsilon=epsilon, horizon=40)(gate)
    assert len(list(play_fresh(learner, problem, gate, LaneStreams(1, 64, key=(2,)), 40))) == 40


@pytest.mark.few(3)
@pytest.mark.parametrize("name", learners)
def test_one_lane_under_an_accountant_plays_as_in_simulation(name):
    """One lane, 20 rounds: actions have shape (1, size), and any outcome outside [0, 1] is refused."""
    problem = list(SMALLEST[learners[name].family].values())[1]
    arms = problem.structure.arms
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0), seed=0)
    learner = learners[name].build(problem, epsilon=1.0, horizon=20)(accountant)
    actions = list(play_records(learner, problem, accountant, np.ones((21, arms))))
    assert all(action.shape == (1, problem.structure.size) for action in actions)
    outside = np.full((1, problem.structure.size), 1.0000001)
    with pytest.raises(DomainError):
        accountant.private(outside, learner.feedback_domain, 21)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [n for n, e in learners.items() if "matroid" in PLAYS[e.family]])
def test_a_loop_is_never_played_however_large_its_mean(name):
    problem = SMALLEST["matroid"]["one edge and a self-loop"]
    gate = Simulation(3, 64)
    learner = learners[name].build(problem, epsilon=50.0, horizon=60)(gate)
    for action in play_fresh(learner, problem, gate, LaneStreams(3, 64, key=(2,)), 60):
        assert (action == 1).all()
