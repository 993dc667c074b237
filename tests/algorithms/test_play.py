import numpy as np
import pytest

from accountant import Accountant, Budget, Coupled, Simulation
from algorithms import CUCBLDP2, CascadeUCB1
from algorithms.play import play_fresh, play_records, start_warm
from algorithms.problems import Cascade, SemiBandit, TopK, UniformMatroid
from algorithms.published import DPUCBMat
from mechanisms import LaneStreams

PROBLEM = SemiBandit(TopK(4, 2), [0.2, 0.4, 0.6, 0.8])


class Seen:
    """A learner that plays by the round number and keeps what it is shown, read under a permissive gate."""

    family = "semi-bandit"

    def __init__(self, structure, gate):
        self.structure, self.gate = structure, gate
        self.feedback_domain = PROBLEM.feedback_domain
        self.shown, self.round = [], 0

    def act(self):
        self.round += 1
        first = self.round % 3
        return np.tile([first, first + 1], (self.gate.lanes, 1))

    def observe(self, feedback):
        self.shown.append(np.asarray(feedback))


def test_given_records_are_shown_in_order_each_at_the_arms_played():
    gate = Simulation(0, 64, permissive=True)
    learner = Seen(PROBLEM.structure, gate)
    records = np.random.default_rng(1).integers(0, 1024, (6, 4)) / 1024
    actions = list(play_records(learner, PROBLEM, gate, records))
    assert len(actions) == 5
    for t, (action, shown) in enumerate(zip(actions, learner.shown, strict=True), start=1):
        np.testing.assert_array_equal(shown, records[t][action])


class InOneBuffer(Seen):
    """Returns its own array, and writes the next action into it as soon as it has observed; or a list of it."""

    def __init__(self, structure, gate, *, told):
        super().__init__(structure, gate)
        self.told, self.buffer = told, super().act()

    def act(self):
        return self.told(self.buffer)

    def observe(self, feedback):
        super().observe(feedback)
        self.buffer[:] = super().act()


@pytest.mark.parametrize("told", [np.asarray, np.ndarray.tolist])
def test_an_action_is_what_was_shown_whatever_becomes_of_the_learners_array(told):
    """It was the one after it; a list was an error of the library's own."""
    records = np.random.default_rng(1).integers(0, 1024, (6, 4)) / 1024
    draws = LaneStreams(5, 64)
    for rounds in (
        lambda learner, gate: play_records(learner, PROBLEM, gate, records),
        lambda learner, gate: play_fresh(learner, PROBLEM, gate, draws, 5),
    ):
        gate = Simulation(0, 64, permissive=True)
        actions = list(rounds(InOneBuffer(PROBLEM.structure, gate, told=told), gate))
        assert [action[0, 0] for action in actions] == [1, 2, 0, 1, 2]


def test_neighbours_stand_side_by_side():
    """A neighbour that differs in record 2 loses nothing before it, and epsilon at most after it."""
    gate = Coupled(0, 64, 2)
    learner = CUCBLDP2(PROBLEM.structure, gate, epsilon=1.0, horizon=4)
    records = np.zeros((3, 5, 4))
    records[1, 2] = 1.0
    losses = [gate.loss.copy() for _ in play_records(learner, PROBLEM, gate, records)]
    assert not losses[0].any()
    assert np.abs(losses[1][0]).max() == pytest.approx(1.0)
    np.testing.assert_array_equal(losses[3], losses[1])
    assert not losses[3][1].any()


def test_fresh_users_follow_the_problems_law():
    """Counts of 64 * 200 rounds within 5 s.e. of the means at each of 4 arms: false alarm 3e-6."""
    gate = Simulation(0, 64, permissive=True)
    learner = Seen(PROBLEM.structure, gate)
    actions = np.array(list(play_fresh(learner, PROBLEM, gate, LaneStreams(5, 64), 200)))
    shown = np.array(learner.shown)
    for arm, mean in enumerate(PROBLEM.means):
        seen = shown[actions == arm]
        assert abs(seen.mean() - mean) < 5 * np.sqrt(mean * (1 - mean) / seen.size)


def test_a_warm_start_is_record_0_or_one_record_per_arm():
    problem = SemiBandit(UniformMatroid(4, 2), PROBLEM.means)
    for initial, expected in (("one", {0}), ("separate", {f"initial-{arm}" for arm in range(4)})):
        accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
        learner = DPUCBMat(problem.structure, accountant, epsilon=1.0, initial_records=initial)
        start_warm(learner, accountant, problem, np.array([[0.0, 0.0, 1.0, 1.0]]))
        assert {record for entry in accountant.ledger.entries for record in entry.records} == expected


def test_a_warm_start_shows_every_arm():
    cascade = Cascade(3, 2, [0.1, 0.2, 0.3])
    gate = Simulation(0, 64)
    learner = CascadeUCB1(cascade.structure, gate)
    next(play_records(learner, cascade, gate, np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])))
    np.testing.assert_array_equal(learner.total[0], [1, 0, 1])


def test_a_name_that_comes_again_pays_again():
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0), seed=1)
    learner = CUCBLDP2(PROBLEM.structure, accountant, epsilon=1.0, horizon=9)
    records = np.full((10, 4), 0.5)
    list(play_records(learner, PROBLEM, accountant, records, record_of=lambda number: (number - 1) % 3 + 1))
    assert sorted(accountant.ledger.records()) == [1, 2, 3]
    assert all(accountant.spent(record).epsilon_up == pytest.approx(3.0) for record in (1, 2, 3))
