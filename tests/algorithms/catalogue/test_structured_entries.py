import inspect
import math

import numpy as np
import pytest

import algorithms
from accountant import Simulation
from algorithms import published
from algorithms.catalogue import learner_builder
from algorithms.catalogue.learner_entry import _check_family
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.claim import ClaimForm
from algorithms.play import play_fresh
from algorithms.problems import ProblemError, build_problem, problems
from algorithms.structured_learner import PLAYS, problem_kind
from mechanisms import LaneStreams


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


@pytest.mark.parametrize("name", learners)
def test_entries_are_complete(name):
    entry = learners[name]
    assert entry.name == name
    assert entry.summary
    assert entry.source
    assert entry.as_printed.startswith("makes no privacy claim") == entry.claim.is_none
    assert isinstance(entry.claim, ClaimForm)
    assert entry.default_problem in problems
    assert name.startswith("published/") == entry.make.__module__.startswith("algorithms.published")
    verdicts = ("FALSE", "holds") if name.startswith("published/") else ("certified",)
    assert entry.as_printed.startswith((*verdicts, "makes no privacy claim"))
    if not entry.as_printed.startswith("makes no privacy claim"):
        form = learners[entry.certified_form]
        assert not form.name.startswith("published/")
        assert form.claim.model == entry.claim.model
        assert set(PLAYS[entry.family]) <= set(PLAYS[form.family])
        assert form.certified_form == form.name
    _check_family(entry.make, build_problem(entry.default_problem))
    assert (entry.claim.model == "local") == ("ldp" in name or name == "cascade-ucb-rr")


@pytest.mark.few(100)
@pytest.mark.parametrize("name", learners)
@pytest.mark.parametrize("problem", [name for name in problems if name != "movielens"])  # it reads a folder
def test_a_learner_plays_its_families_and_refuses_the_others(name, problem):
    entry, instance = learners[name], build_problem(problem)
    plays = PLAYS[entry.family]
    assert problem_kind(instance) == problems[problem].family
    if problems[problem].family not in plays:
        with pytest.raises(ProblemError, match=f"{entry.make.__name__} plays"):
            entry.build(instance, epsilon=1.0, horizon=10)
        return
    gate = Simulation(1, 64)
    learner = entry.build(instance, epsilon=1.0, horizon=10)(gate)
    for action in play_fresh(learner, instance, gate, LaneStreams(1, 64, key=(2,)), 3):
        assert action.shape == (64, instance.structure.size)


@pytest.mark.few(60)
@pytest.mark.parametrize(
    "epsilon",
    [
        0,
        1e-300,
        1e-8,
        1e300,
        -1.0,
        math.nan,
        math.inf,
        -math.inf,
        "1",
        None,
        pytest.param(10**400, id="10**400"),
        True,
    ],
)
@pytest.mark.parametrize(
    "name", [n for n, e in learners.items() if "epsilon" in inspect.signature(e.make).parameters]
)
def test_an_epsilon_that_is_no_finite_number_above_0_is_refused_before_there_is_a_gate(name, epsilon):
    problem = build_problem(learners[name].default_problem)
    with pytest.raises(ValueError, match="epsilon = "):
        learners[name].build(problem, epsilon=epsilon, horizon=10)
    accepted = inspect.signature(learners[name].make).parameters
    settings = {key: value for key, value in {"horizon": 10, "delta": 1e-3}.items() if key in accepted}
    with pytest.raises(ValueError, match="epsilon = "):
        learners[name].make(problem.structure, Simulation(0, 64), epsilon=epsilon, **settings)


@pytest.mark.few(30)
@pytest.mark.parametrize("horizon", [0, -3, 2.5, True])
@pytest.mark.parametrize(
    "name", [n for n, e in learners.items() if "horizon" in inspect.signature(e.make).parameters]
)
def test_a_horizon_below_one_round_is_refused(name, horizon):
    problem = build_problem(learners[name].default_problem)
    with pytest.raises(ValueError, match="horizon = "):
        learners[name].build(problem, epsilon=1.0, horizon=horizon)


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
