import math

import numpy as np
import pytest

from accountant import Simulation
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import SemiBandit, TopK, UniformMatroid
from algorithms.theory.confidence_theorem import radius_on, x
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance, instance_values


def radius_of(name, instance):
    bound = BOUNDS[name]
    return radius_on(bound.confidence.radius, instance_values(instance), bound.definitions)


def test_radii_in_plain_numbers():
    instance = Instance(SemiBandit(TopK(4, 2), [0.3, 0.4, 0.5, 0.6]), 2.0, 1000)
    n, j, level = np.array([0.0, 7.0]), np.array([0.0, 3.0]), 5.0
    bit = math.sqrt(5 / 14) / math.tanh(1.0)
    assert radius_of("cucb-ldp-bit", instance)(n, j, level) == pytest.approx([math.inf, bit])
    least = (math.sqrt(10 * (7 / 4 + 2 * 0.25 * 3)) + 0.5 * 5) / 7
    assert radius_of("cucb-batch", instance)(n, j, level) == pytest.approx([math.inf, least])
    matroid = Instance(SemiBandit(UniformMatroid(4, 2), [0.3, 0.4, 0.5, 0.6]), 2.0, 1000)
    forgetting = math.sqrt(15 / 7) + 15 / 7
    assert radius_of("published/dpucb-mat", matroid)(n, j, level) == pytest.approx([math.inf, forgetting])


@pytest.mark.slow
def test_the_worst_data_on_the_good_event_attain_the_count():
    """All that keeps both estimates within their radii is allowed: the bad arm looks good, the best one bad.

    At epsilon = 1e7 noise cannot be told from none. The lemma says 2 x / gap^2.
    """
    horizon, means = 4000, np.array([0.3, 0.6])
    instance = Instance(SemiBandit(TopK(2, 1), means), 1e7, horizon)
    bound = BOUNDS["cucb-ldp-gaussian"]
    exponent = bound.value_of(x, instance)
    gate = Simulation(0, 1)
    learner = learners["cucb-ldp-gaussian"].build(instance.problem, epsilon=1e7, horizon=horizon)(gate)
    sums, plays = np.zeros(2), np.zeros(2)
    for record in range(1, horizon + 1):
        arm = int(learner.act()[0, 0])
        plays[arm] += 1
        reach = plays[arm] * means[arm] + (1, -1)[arm] * math.sqrt(plays[arm] * exponent / 2)
        outcome = float(sums[arm] + 1 <= reach) if arm == 0 else float(sums[arm] < reach)
        sums[arm] += outcome
        learner.observe(gate.private(np.full((1, 1), outcome), learner.feedback_domain, record))
    lemma = 4 * exponent / 2 / 0.3**2
    assert 0.97 * lemma <= plays[0] <= lemma + 1
