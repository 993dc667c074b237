"""A record in several Gaussian releases at different times: certified by the Gaussian filter only."""

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded
from algorithms.catalogue.structured_entries import learners
from algorithms.play import play_records
from algorithms.problems import build_problem
from verify import verify

pytestmark = pytest.mark.usefixtures("small_searches")


@pytest.mark.slow
def test_batches_with_gaussian_noise_are_certified_at_exactly_epsilon():
    result = verify("cucb-batch-gaussian", epsilon=1.0, delta=1e-3, effort="quick", samples=4_000, horizon=60)
    assert result.verdict == "certified"
    assert "Gaussian" in result.upper.method
    assert 1 - 1e-8 <= result.upper.epsilon <= 1
    assert result.upper.delta == 1e-3


def test_basic_composition_refuses_the_same_run():
    problem = build_problem("top-k", {"arms": 6, "size": 3})
    accountant = Accountant(Budget(17.3, 1e-3), noise=np.random.default_rng(5))
    learner = learners["cucb-batch-gaussian"].build(problem, epsilon=17.3, horizon=60)(accountant)
    records = (np.random.default_rng(7).random((61, 6)) < 0.5).astype(float)
    with pytest.raises(BudgetExceeded):
        for _ in play_records(learner, problem, accountant, records):
            pass


@pytest.mark.slow
def test_a_single_release_needs_no_filter_and_a_claim_needs_a_delta():
    single = verify("cucb-ldp-gaussian", epsilon=1.0, delta=1e-3, effort="quick", samples=4_000, horizon=60)
    assert single.verdict == "certified"
    with pytest.raises(ValueError, match="delta = "):
        verify("cucb-batch-gaussian", epsilon=1.0, effort="quick")
