"""The worst clicks inside the good event nearly attain the theorems of ranked lists, and break smaller constants."""

from dataclasses import replace

import pytest
from worst_clicks import check_worst_clicks, worst_lists

from algorithms.catalogue import learner_builder
from algorithms.catalogue.structured_entries import learners
from algorithms.theory.confidence_theorem import ClickTheorem
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from verify.regret_claims.plain_problem import plain_problem

CHECKED = [
    name
    for name, bound in BOUNDS.items()
    if isinstance(bound.confidence, ClickTheorem)
    and not name.endswith("shuffle")  # whose bits are never silent
]


def checks(name, share=1.0, horizon=None):
    bound = BOUNDS[name]
    bound = replace(bound, constant=share * bound.constant, per_arm=share * bound.per_arm)
    instance = worst_lists(Instance(plain_problem("cascade", [0.5, 0.5]), 1.0, 1))
    instance = replace(instance, horizon=horizon or instance.horizon)
    settings = {"index": "confidence"} if name.startswith("cascade-ucb-batch") else {}
    instance = replace(instance, settings=settings)
    build = learner_builder(
        learners[name].make,
        instance.problem,
        epsilon=instance.epsilon,
        horizon=instance.horizon,
        settings=settings,
    )
    return check_worst_clicks(build, bound, instance, seed=0)


def test_clicks_mislead_and_stay_inside_of_the_good_event():
    """The bad item is shown in 9 of 10 rounds; with clicks drawn at random it is in fewer than half of them."""
    (found,) = checks("cascade-ucb-rr", horizon=400)
    assert not found.violated
    shown = int(found.description.split("is shown ")[1].split(" times")[0])
    assert shown > 0.9 * 400


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_true_theorems_hold(name):
    assert [check.violated for check in checks(name)] == [False]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [("cascade-ucb-rr", 0.58)])
def test_constants_that_are_too_small_are_violated(name, share):
    (found,) = checks(name, share)
    assert found.violated
    assert found.name == "worst data"
    assert "on the good event lost" in found.description
