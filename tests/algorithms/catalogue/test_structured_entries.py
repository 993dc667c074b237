import inspect

import numpy as np
import pytest

import algorithms
from accountant import Simulation
from algorithms import published
from algorithms.catalogue import learner_builder
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import ProblemError, build_problem


def learner_classes(package):
    return {
        value
        for name in package.__all__
        if inspect.isclass(value := getattr(package, name))
        and callable(getattr(value, "act", None))
        and not inspect.isabstract(value)
    } - {algorithms.Learner}


def test_every_exported_learner_is_registered():
    registered = [*learners.values(), *linear_learners.values()]
    assert learner_classes(algorithms) <= {e.make for e in registered if "/" not in e.name}
    assert learner_classes(published) <= {e.make for e in registered if "/" in e.name}


@pytest.mark.parametrize("epsilon", [1, np.float32(0.5), np.int64(2), np.float64(0.1)])
def test_any_kind_of_number_is_an_epsilon(epsilon):
    problem = build_problem("top-k")
    learner = learners["cucb-ldp2"].build(problem, epsilon=epsilon, horizon=np.int64(10))(Simulation(0, 64))
    assert learner.randomizer.epsilon == pytest.approx(float(epsilon))


def test_unknown_settings_and_values_are_refused():
    problem = build_problem("uniform-matroid")
    entry = learners["published/dpucb-mat"]
    with pytest.raises(ProblemError, match="initial_records"):
        entry.build(problem, epsilon=1.0, horizon=5, settings={"initial_records": "two"})
    with pytest.raises(ProblemError, match="batch"):
        entry.build(problem, epsilon=1.0, horizon=5, settings={"batch": 3})
    learner = entry.build(problem, epsilon=1.0, horizon=5, settings={"initial_records": "separate"})
    assert learner(Simulation(0, 64)).initial_records == "separate"


def test_a_class_without_a_family_is_refused():
    class Homeless:
        pass

    with pytest.raises(ProblemError, match="Homeless: a learner class must name its family"):
        learner_builder(Homeless, build_problem("top-k"), epsilon=1.0, horizon=5)
