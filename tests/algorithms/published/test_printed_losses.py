"""Exact privacy losses of printed learners with false claims, from coupled runs of a data set and its neighbour."""

import numpy as np
import pytest

from accountant import Coupled
from algorithms import published
from algorithms.play import play_records
from algorithms.problems import Cascade, SemiBandit, UniformMatroid

LANES, ROUNDS = 64 * 40, 6


def coupled(learner, problem, record, here, there):
    """Run on a data set in which `record` is `here`, beside its neighbour in which it is `there`."""
    records = np.full((2, ROUNDS + 1, problem.structure.arms), 0.0)
    records[:, :, 0] = 1.0
    records[0, record], records[1, record] = here, there
    gate = Coupled(8, LANES, 1)
    built = learner(problem.structure, gate, epsilon=1.0)
    for _ in play_records(built, problem, gate, records):
        pass
    return gate


@pytest.mark.parametrize("learner", [published.DPUCBMat, published.DPTSMat])
def test_the_printed_round_0_loses_l_epsilon_over_k(learner):
    problem = SemiBandit(UniformMatroid(5, 2), np.linspace(0.2, 0.8, 5))
    assert coupled(learner, problem, 0, 1, 0).loss.max() == pytest.approx(5 / 2, rel=1e-9)
    assert coupled(learner, problem, 1, 1, 0).loss.max() == pytest.approx(1.0, rel=1e-9)


def test_the_printed_cascade_gives_the_click_away():
    problem = Cascade(5, 3, [0.5] * 5)
    here, there = np.zeros(5), np.ones(5)  # no click against a click at the top
    gate = coupled(published.CascadeUCBLDPLaplace, problem, 1, here, there)
    assert np.isinf(gate.loss).all()
    assert [found.kind for found in gate.divergences] == ["declassified"]
