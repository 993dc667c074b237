import math

import numpy as np
import pytest

from accountant import Accountant, Budget
from algorithms.play import play_records
from algorithms.problems import Cascade
from algorithms.published import CascadeUCBLDPLaplace

MEANS = [0.2, 0.7, 0.1, 0.5, 0.3, 0.5]
ROUNDS, EPSILON = 300, 60.0


def printed(items, positions, records, noise):
    count, mean = [1] * items, list(records[0])
    for t in range(1, ROUNDS + 1):
        bound = [
            mean[e]
            + math.sqrt(1.5 * math.log(t) / count[e])
            + positions / EPSILON * math.sqrt(24 * math.log(t) / count[e])
            for e in range(items)
        ]
        shown = sorted(range(items), key=lambda e: (-bound[e], e))[:positions]
        yield shown
        attracted = [k for k, e in enumerate(shown) if records[t, e]]
        click = attracted[0] if attracted else math.inf
        for k in range(min(click, positions - 1) + 1):
            e = shown[k]
            mean[e] = (count[e] * mean[e] + (k == click) + noise.pop((t, k))) / (count[e] + 1)
            count[e] += 1
    assert not noise
    yield mean, count


@pytest.mark.parametrize("positions", [1, 3, 6])
def test_it_plays_as_the_pseudocode(positions, recorded_run):
    problem = Cascade(6, positions, MEANS)
    run = recorded_run(lambda s, g: CascadeUCBLDPLaplace(s, g, epsilon=EPSILON), problem, ROUNDS, 1)
    assert all(release.mechanism.scale == positions / EPSILON for release in run.releases)
    for lane in (0, 17, 63):
        *actions, (mean, count) = printed(6, positions, run.records[:, lane], run.noise(lane))
        for t, shown in enumerate(actions):
            assert run.actions[t, lane].tolist() == shown
        np.testing.assert_allclose(run.learner.mean[lane], mean, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(run.learner.count[lane], count)


def test_both_leaks_are_found():
    """w_0 and the number of reports leave unprotected: both are declassified, with their reasons."""
    problem = Cascade(6, 3, MEANS)
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(1))
    learner = CascadeUCBLDPLaplace(problem.structure, accountant, epsilon=1.0)
    for _ in play_records(learner, problem, accountant, np.zeros((5, 6))):
        pass
    reasons = {entry.note for entry in accountant.ledger.entries if entry.mechanism is None}
    assert any("w_0" in reason for reason in reasons)
    assert any("min(C_t, K)" in reason for reason in reasons)
    assert all(accountant.spent(record).epsilon is None for record in range(5))
