"""What every learner's worst record pays under an accountant without limit, exactly."""

from fractions import Fraction

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, Trust
from algorithms import CTS, CUCB, CUCBLDP1, CUCBLDP2, OMM, CascadeUCB1, CascadeUCBRR
from algorithms.play import play_records
from algorithms.problems import Cascade, SemiBandit, ShortestPath, TopK, build_problem

EPSILONS = [0.1, 1 / 3, 1.0, 2.0, 17.3]
SIZES = [1, 2, 3, 4, 7]
FAMILY = {
    CUCBLDP1: lambda m, k: SemiBandit(TopK(m, k), np.linspace(0.1, 0.9, m)),
    CUCBLDP2: lambda m, k: SemiBandit(TopK(m, k), np.linspace(0.1, 0.9, m)),
    CascadeUCBRR: lambda m, k: Cascade(m, k, np.linspace(0.1, 0.9, m)),
}
LOCAL = (CUCBLDP1, CUCBLDP2, CascadeUCBRR)


def spend(learner, problem, epsilon, rounds=12, budget=None):
    trust = Trust.LOCAL if learner in LOCAL else Trust.CENTRAL
    rng = np.random.default_rng(5)
    accountant = Accountant(budget or Budget.unlimited(), trust=trust, noise=rng, seed=6)
    records = (rng.random((rounds + 1, problem.structure.arms)) < 0.5).astype(float)
    built = learner(problem.structure, accountant, epsilon=epsilon, horizon=rounds)
    for _ in play_records(built, problem, accountant, records):
        pass
    return accountant


@pytest.mark.few(3)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("learner", FAMILY)
def test_the_worst_record_pays_epsilon(learner, size, epsilon):
    """At most epsilon as a fraction, less only by the rounding of the noise scale to a float."""
    accountant = spend(learner, FAMILY[learner](size + 2, size), epsilon)
    _, worst = accountant.worst()
    assert worst.delta == 0
    assert worst.epsilon <= Fraction(epsilon)
    assert worst.epsilon >= Fraction(epsilon) * (1 - Fraction(1, 2**51))
    if learner is CascadeUCBRR or (size == 4 and epsilon in (1.0, 2.0)):
        assert worst.epsilon == Fraction(epsilon)  # K / epsilon is a float


@pytest.mark.parametrize("learner", FAMILY)
def test_a_run_fits_in_a_budget_of_epsilon_and_in_no_smaller_one(learner):
    problem = FAMILY[learner](6, 3)
    spend(learner, problem, 0.3, budget=Budget(0.3))
    with pytest.raises(BudgetExceeded):
        spend(learner, problem, 0.3, budget=Budget(0.299))


@pytest.mark.parametrize("learner", LOCAL)
def test_every_user_of_a_local_learner_pays_for_one_message(learner):
    accountant = spend(learner, FAMILY[learner](6, 3), 1.5, rounds=9)
    for record in range(1, 10):
        assert float(accountant.spent(record).epsilon) == pytest.approx(1.5, rel=1e-15)
    assert all(entry.records == (record,) for record, entry in enumerate(accountant.ledger.entries, start=1))


def test_a_user_on_a_shorter_path_pays_less_to_ldp1():
    """|S_t| epsilon / K; the longest path pays epsilon, which is large here so that both are walked."""
    problem = SemiBandit(ShortestPath([("s", "t"), ("s", "a"), ("a", "t")], "s", "t"), [0.5, 0.5, 0.5])
    accountant = spend(CUCBLDP1, problem, 128.0, rounds=40)
    paid = {accountant.spent(record).epsilon for record in range(1, 41)}
    assert paid == {Fraction(64), Fraction(128)}


@pytest.mark.parametrize("learner", [CUCB, OMM, CTS, CascadeUCB1])
def test_learners_without_privacy_declassify_what_they_read(learner):
    cascade = Cascade(4, 2, [0.1, 0.2, 0.3, 0.4])
    problem = (
        cascade if learner is CascadeUCB1 else build_problem("uniform-matroid", {"elements": 4, "rank": 2})
    )
    accountant = Accountant(Budget.unlimited(), seed=1)
    for _ in play_records(learner(problem.structure, accountant), problem, accountant, np.zeros((4, 4))):
        pass
    warm = hasattr(learner, "observe_initial")
    assert all(entry.mechanism is None for entry in accountant.ledger.entries)
    declassified = [record for entry in accountant.ledger.entries for record in entry.records]
    assert declassified == list(range(0 if warm else 1, 4))
