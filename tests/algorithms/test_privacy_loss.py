"""Exact privacy losses of every private learner, from coupled runs of a data set and its neighbours."""

import numpy as np
import pytest

from accountant import Coupled
from algorithms import CUCBLDP1, CUCBLDP2, CascadeUCBRR, published
from algorithms.play import play_records
from algorithms.problems import Cascade, SemiBandit, TopK, UniformMatroid
from mechanisms import Laplace, RandomizedResponse, Sensitivity

LANES, ROUNDS = 64 * 40, 6
UNIT = Sensitivity(1, 1, 1)


def losses(learner, problem, epsilon, records, **settings):
    """Return the losses (neighbours, lanes) of records (1 + neighbours, rounds + 1, arms)."""
    gate = Coupled(8, LANES, len(records) - 1)
    built = learner(problem.structure, gate, epsilon=epsilon, **settings)
    for _ in play_records(built, problem, gate, records):
        pass
    return gate


def replaced(problem, record, here, there, rounds=ROUNDS):
    """Return a data set in which `record` is `here`, and its neighbour in which it is `there`."""
    records = np.full((2, rounds + 1, problem.structure.arms), 0.0)
    records[:, :, 0] = 1.0
    records[0, record], records[1, record] = here, there
    return records


def matroid(elements, rank):
    return SemiBandit(UniformMatroid(elements, rank), np.linspace(0.2, 0.8, elements))


CASES = {
    "cucb-ldp1": (CUCBLDP1, SemiBandit(TopK(5, 3), [0.5] * 5), 1, 0),
    "cucb-ldp2": (CUCBLDP2, SemiBandit(TopK(5, 3), [0.5] * 5), 1, 0),
    "cascade-ucb-rr": (CascadeUCBRR, Cascade(5, 3, [0.5] * 5), 1, 0),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("record", [1, 4])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("name", CASES)
def test_the_largest_loss_is_epsilon(name, epsilon, record):
    """Attained when all (at most 3) noisy values fall beyond both locations: in 1 of 8 lanes of 2,560."""
    learner, problem, here, there = CASES[name]
    records = replaced(problem, record, here, there)
    gate = losses(learner, problem, epsilon, records, horizon=ROUNDS)
    assert not gate.divergences
    assert gate.loss.max() <= epsilon * (1 + 1e-9)
    assert gate.loss.max() == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("learner", [published.DPUCBMat, published.DPTSMat])
def test_the_printed_round_0_loses_l_epsilon_over_k(learner):
    problem = matroid(5, 2)
    records = replaced(problem, 0, 1, 0)
    one = losses(learner, problem, 1.0, records)
    assert one.loss.max() == pytest.approx(5 / 2, rel=1e-9)
    later = losses(learner, problem, 1.0, replaced(problem, 1, 1, 0))
    assert later.loss.max() == pytest.approx(1.0, rel=1e-9)


def test_the_printed_cascade_gives_the_click_away():
    problem = Cascade(5, 3, [0.5] * 5)
    here, there = np.zeros(5), np.ones(5)  # no click against a click at the top
    gate = losses(published.CascadeUCBLDPLaplace, problem, 1.0, replaced(problem, 1, here, there))
    assert np.isinf(gate.loss).all()
    assert [found.kind for found in gate.divergences] == ["declassified"]


SINGLE = {
    "cucb-ldp2": (CUCBLDP2, SemiBandit(TopK(4, 2), [0.5] * 4)),
    "cucb-ldp1 of one arm": (CUCBLDP1, SemiBandit(TopK(4, 1), [0.5] * 4)),
}


def assert_curve(loss, profile, epsilon):
    """E[(1 - e^{x - L})+] = delta(x): 5 s.e. at 4 points each, false alarm below 3e-6."""
    for x in (-epsilon / 2, 0.0, epsilon / 2, 0.9 * epsilon):
        excess = np.maximum(0.0, 1 - np.exp(x - loss))
        error = 5 * excess.std() / np.sqrt(len(loss)) + 1e-12
        assert abs(excess.mean() - profile.delta(x)) < error


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("name", SINGLE)
def test_the_loss_of_one_number_has_the_profile_of_laplace_noise(name, epsilon):
    learner, problem = SINGLE[name]
    gate = losses(learner, problem, epsilon, replaced(problem, 1, 1, 0), horizon=ROUNDS)
    assert_curve(gate.loss[0], Laplace.for_epsilon(epsilon, sensitivity=UNIT).profile(), epsilon)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_loss_of_one_symbol_has_the_profile_of_randomized_response(epsilon):
    problem = Cascade(5, 3, [0.5] * 5)
    gate = losses(CascadeUCBRR, problem, epsilon, replaced(problem, 1, 1, 0), horizon=ROUNDS)
    assert_curve(gate.loss[0], RandomizedResponse(size=4, epsilon=epsilon).profile(), epsilon)


@pytest.mark.parametrize("name", CASES)
def test_an_unplayed_or_equal_record_loses_nothing(name):
    learner, problem, _, _ = CASES[name]
    records = replaced(problem, 2, 1, 1)
    gate = losses(learner, problem, 1.0, records, horizon=ROUNDS)
    assert not gate.loss.any()
