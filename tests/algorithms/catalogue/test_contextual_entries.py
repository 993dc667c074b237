"""Contextual learners by name: they play contexts, and nothing else plays them."""

import pytest

from accountant import Simulation
from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.catalogue.suggestion import suggest
from algorithms.problems import contextual_problems

PROBLEM = contextual_problems["contexts"].build()


@pytest.mark.parametrize("name", contextual_learners)
def test_an_entry_builds_its_learner(name):
    entry = contextual_learners[name]
    learner = entry.build(PROBLEM, epsilon=2.0, horizon=50, settings={"norm": 0.5})(Simulation(0, 64))
    assert (learner.rounds.horizon, learner.norm) == (50, 0.5)
    assert learner.feedback_domain.features == PROBLEM.features
    assert learner.policy.choose(PROBLEM.draw_contexts(learner.gate.random, 64)).shape == (64,)


def test_only_the_private_one_has_a_certified_form():
    assert contextual_learners["dp-linucb"].certified_form == "dp-linucb"
    assert contextual_learners["dp-linucb"].as_printed.startswith("certified")
    assert contextual_learners["published/tree-linucb-gaussian"].certified_form == "dp-linucb"
    assert contextual_learners["linucb"].certified_form == ""


def test_other_settings_are_refused():
    make = contextual_learners["dp-linucb"]
    with pytest.raises(ValueError, match="norm"):
        make.build(PROBLEM, epsilon=1.0, horizon=9, settings={"norm": 0.0})


def test_the_problem_has_the_settings_that_were_asked_for():
    problem = contextual_problems["contexts"].build(dimension=4, actions=2, length=0.5, instance=7)
    assert (problem.features, problem.actions) == (4, 2)
    assert problem.parameter @ problem.parameter == pytest.approx(0.25)
    assert (problem.parameter != contextual_problems["contexts"].build(dimension=4).parameter).any()


def test_suggestions_say_what_is_needed():
    assert suggest(PROBLEM, trust="central", epsilon=1.0, delta=1e-5, horizon=99).name == "dp-linucb"
    assert suggest(PROBLEM, trust="none", epsilon=1.0, horizon=99).name == "linucb"
    with pytest.raises(ValueError, match=r"delta = 0\.0"):
        suggest(PROBLEM, trust="central", epsilon=1.0, horizon=99)
    with pytest.raises(ValueError, match="trust = 'local': no learner of contexts"):
        suggest(PROBLEM, trust="local", epsilon=1.0, delta=1e-5, horizon=99)
