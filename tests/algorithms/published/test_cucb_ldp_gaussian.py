import math

import numpy as np
import pytest

from accountant import Accountant, Budget, Simulation
from algorithms.play import play_records
from algorithms.problems import SemiBandit, ShortestPath, TopK
from algorithms.published import CUCBLDPGaussian
from mechanisms import GaussianProfile

PATHS = ShortestPath([("c", "t"), ("s", "b"), ("b", "t"), ("a", "c"), ("s", "a"), ("s", "t")], "s", "t")
PROBLEMS = {
    "top-k": SemiBandit(TopK(6, 2), [0.2, 0.9, 0.5, 0.5, 0.7, 0.1]),
    "paths of different length": SemiBandit(PATHS, [0.8, 0.6, 0.7, 0.9, 0.8, 0.3]),
}
EPSILON, ROUNDS, DELTA = 30.0, 200, 1e-3


def printed(structure, records, noise):
    """Run Algorithm 4 on one lane; yield the actions and at last the means."""
    m, size = structure.arms, structure.size
    pulls, mean = [1] * m, list(records[0])
    for t in range(1, ROUNDS + 1):
        log = math.log(m + t)
        index = [
            mean[i]
            + math.sqrt(3 * log / (2 * pulls[i]))
            + 2 / EPSILON * math.sqrt(2 * size * math.log(1.25 / DELTA) * log / pulls[i])
            for i in range(m)
        ]
        played = [int(i) for i in structure.solve(np.array([index]))[0] if i >= 0]
        yield played
        for k, i in enumerate(played):
            pulls[i] += 1
            mean[i] += (records[t, i] + noise.pop((t, k)) - mean[i]) / pulls[i]
    assert not noise
    yield mean, pulls


@pytest.mark.parametrize("multiplier", [1.0, 0.01])
@pytest.mark.parametrize("name", PROBLEMS)
def test_it_plays_as_the_pseudocode(name, multiplier, recorded_run):
    problem = PROBLEMS[name]

    def make(structure, gate):
        return CUCBLDPGaussian(structure, gate, epsilon=EPSILON, delta=DELTA, noise_multiplier=multiplier)

    run = recorded_run(make, problem, ROUNDS, 3)
    sigma = math.sqrt(2 * problem.structure.size * math.log(1.25 / DELTA)) / EPSILON
    assert all(r.mechanism.sigma == pytest.approx(sigma * multiplier, rel=1e-12) for r in run.releases)
    for lane in (0, 17, 63):
        *actions, (mean, pulls) = printed(problem.structure, run.records[:, lane], run.noise(lane))
        for t, played in enumerate(actions):
            assert [i for i in run.actions[t, lane] if i >= 0] == played
        np.testing.assert_allclose(run.learner.confidence().estimate[lane], mean, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(run.learner.count[lane], pulls)


def test_the_raw_start_is_found():
    problem = PROBLEMS["top-k"]
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(1))
    learner = CUCBLDPGaussian(problem.structure, accountant, epsilon=1.0, delta=DELTA)
    for _ in play_records(learner, problem, accountant, np.zeros((5, 6))):
        pass
    assert [entry.records for entry in accountant.ledger.entries if entry.mechanism is None] == [(0,)]
    assert all(accountant.spent(record).epsilon is not None for record in range(1, 5))


@pytest.mark.parametrize(
    ("claimed", "true"), [(0.2, 0.0903), (0.5, 0.2772), (1.0, 0.6339), (2.0, 1.4488), (7.46, 7.46)]
)
def test_the_noise_part_has_the_slack_of_the_classical_calibration(claimed, true):
    """Spec, row 003-9: whatever K; exact at 7.46, too little noise beyond."""
    for size in (1, 4):
        mechanism = CUCBLDPGaussian(TopK(9, size), Simulation(0, 64), epsilon=claimed, delta=DELTA).randomizer
        found = GaussianProfile(math.sqrt(size) / mechanism.sigma).epsilon(DELTA)
        assert found == pytest.approx(true, abs=6e-5 if claimed < 7 else 0.01)
