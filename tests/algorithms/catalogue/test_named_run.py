"""Runs of learners that are known by name: the refusals that depend on the accountant."""

from pathlib import Path

import numpy as np
import pytest

from accountant import Accountant, Budget
from algorithms.catalogue.named_run import NamedLearner, begin_named_run, load_named_run

WISHART = NamedLearner("published/tree-linucb-wishart", "contexts", epsilon=1.0, horizon=100, delta=1e-3)


def test_only_a_secure_source_refuses_noise_without_a_secure_sampler(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Wishart has no secure sampler"):
        begin_named_run(tmp_path / "run", WISHART, Accountant(Budget(1.0, 1e-3)))
    assert not (tmp_path / "run").exists()
    begun = Accountant(Budget(1.0, 1e-3), noise=np.random.default_rng(0))
    begin_named_run(tmp_path / "run", WISHART, begun).close()
    with load_named_run(tmp_path / "run", noise=np.random.default_rng(1)) as run:
        domain = run.learner.feedback_domain
        run.learner.observe(run.accountant.private(domain.of([0.6, 0.0, 0.8], 1.0), domain, "ann"))
        assert run.accountant.spent("ann").epsilon > 0


@pytest.mark.parametrize(
    ("learner", "problem", "words"),
    [
        ("cucb-batch-least", "top-k", "cucb-batch-least takes anytime; top-k takes arms, size,"),
        ("dp-linucb", "contexts", "dp-linucb takes norm, anytime; contexts takes dimension,"),
    ],
)
def test_an_unknown_setting_is_refused_with_all_that_learner_and_problem_take(
    learner: str, problem: str, words: str
) -> None:
    delta = 1e-6 if learner == "dp-linucb" else None
    with pytest.raises(ValueError, match=f"unknown parameter 'foo': {words}"):
        NamedLearner(learner, problem, epsilon=1.0, horizon=100, delta=delta, settings={"foo": 1})
