"""Runs of learners that are known by name: the refusals that depend on the accountant."""

import pytest

from algorithms.catalogue.named_run import NamedLearner


@pytest.mark.parametrize(
    ("learner", "problem", "words"),
    [
        ("cucb-batch", "top-k", "cucb-batch takes anytime; top-k takes arms, size,"),
        ("dp-linucb", "contexts", "dp-linucb takes norm, anytime; contexts takes dimension,"),
    ],
)
def test_an_unknown_setting_is_refused_with_all_that_learner_and_problem_take(
    learner: str, problem: str, words: str
) -> None:
    delta = 1e-6 if learner == "dp-linucb" else None
    with pytest.raises(ValueError, match=f"unknown parameter 'foo': {words}"):
        NamedLearner(learner, problem, epsilon=1.0, horizon=100, delta=delta, settings={"foo": 1})


def test_learners_without_tickets_are_refused_by_that_and_not_as_unknown() -> None:
    with pytest.raises(ValueError, match="learner = 'dp-dpe-central': must hand out tickets"):
        NamedLearner("dp-dpe-central", "linear", epsilon=1.0, horizon=100, delta=1e-6)
