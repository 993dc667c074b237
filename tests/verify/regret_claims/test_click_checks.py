"""True learners of lists pass the checks of their proofs; planted faults do not."""

import inspect

import numpy as np
import pytest

from algorithms.catalogue import learner_builder
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import Cascade, SemiBandit, TopK
from algorithms.theory.confidence_theorem import ClickTheorem
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Laplace, RandomizedResponse
from verify.regret_claims.click_checks import ClickRun
from verify.regret_claims.proof_run import check_laws

CHECKED = [name for name, bound in BOUNDS.items() if isinstance(bound.confidence, ClickTheorem)]


def checks(name, make=None, *, seed=3, horizon=256, epsilon=20.0):
    played = Instance(Cascade(4, 2, (0.1, 0.25, 0.4, 0.7)), epsilon, horizon)
    settings = {"index": "confidence"} if name.startswith("cascade-ucb-batch") else {}
    build = learner_builder(
        make or learners[name].make, played.problem, epsilon=epsilon, horizon=horizon, settings=settings
    )
    return check_laws(ClickRun, build, BOUNDS[name], played, lanes=64, seed=seed, error=1e-4)


def violated(name, *methods):
    made = learners[name].make
    planted = type("Planted", (*methods, made), {"__signature__": inspect.signature(made)})
    return [check.name for check in checks(name, planted, epsilon=EPSILON[name]) if check.violated]


EPSILON = {"cascade-ucb-rr": 3.0, "cascade-ucb-batch": 20.0}


@pytest.mark.slow_cells(
    "cascade-ucb-batch", "cascade-ucb-batch-gaussian", "cascade-ucb-batch-shuffle", "cascade-ucb-rr"
)
@pytest.mark.parametrize("name", CHECKED)
def test_true_learners_pass(name):
    found = checks(name, horizon=128)
    assert [check.name for check in found if check.violated] == []
    assert len(found) == 6


class SmallExponent:
    """The radius of a quarter of the exponent: half as wide, and without most of the logarithm."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        bound = getattr(self.estimates, "bound", self)
        object.__setattr__(bound, "exponent", bound.exponent / 4)


class DisplaysForgotten:
    """Every second display is not counted."""

    def observe(self, feedback, *rest):
        before = self.estimates.displays.copy()
        super().observe(feedback, *rest)
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls % 2 == 0:
            self.estimates.displays[:] = before


class AllExamined:
    """Every position counts as examined."""

    def observe(self, feedback, *rest):
        before, displays = self.estimates.examinations.copy(), self.estimates.displays.copy()
        super().observe(feedback, *rest)
        self.estimates.examinations[:] = before + self.estimates.displays - displays


class WrongGain:
    """Clicks are a tenth too many."""

    def observe(self, feedback, *rest):
        before = self.estimates.clicks.copy()
        super().observe(feedback, *rest)
        self.estimates.clicks[:] = before + 1.1 * (self.estimates.clicks - before)


class LoudNoise:
    """More noise than the radius knows."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        name = "mechanism" if hasattr(self, "mechanism") else "randomizer"
        right = getattr(self, name)
        if isinstance(right, Laplace):
            wrong = Laplace(scale=1.5 * right.scale, sensitivity=right.sensitivity)
        else:
            wrong = RandomizedResponse(size=right.size, epsilon=0.7 * right.epsilon)
        setattr(self, name, wrong)


class RandomList:
    """Every twentieth round shows the items of least index."""

    def choose(self):
        shown = super().choose()
        self.acts = getattr(self, "acts", 0) + 1
        if self.acts % 20 == 0:
            shown = self.list = self.structure.solve(-self.estimates.index)
        return shown


class NeverAgain:
    """Item 3, the best one, is never shown after round 10."""

    def choose(self):
        shown = super().choose()
        self.acts = getattr(self, "acts", 0) + 1
        if self.acts > 10 and getattr(self, "left", np.ones(1)).all():
            index = self.estimates.index.copy()
            index[:, 3] = -1.0
            shown = self.list = self.structure.solve(index)
        return shown


FAULTS = {
    SmallExponent: "radius",
    DisplaysForgotten: "bookkeeping",
    AllExamined: "bookkeeping",
    WrongGain: ("noise", "bookkeeping"),
    LoudNoise: "noise",
    RandomList: ("oracle", "bookkeeping"),
    NeverAgain: ("oracle", "bookkeeping"),
}


@pytest.mark.slow_cells("LoudNoise-cascade-ucb-batch", "LoudNoise-cascade-ucb-rr")
@pytest.mark.parametrize(
    "name",
    ["cascade-ucb-rr", "cascade-ucb-batch"],
)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_faults_are_seen(fault, name):
    found = violated(name, fault)
    assert found
    assert found[0] in FAULTS[fault]


class FirstMostDisplayed:
    """Legal: the order within a list is another."""

    def choose(self):
        self.list = super().choose()[:, ::-1].copy()
        return self.list


def test_a_mixture_of_a_smaller_level_is_seen():
    class SmallLevel:
        """The mixture rejects at a third of its level: its bound is low, and fails too often."""

        def __init__(self, *args, **keywords):
            super().__init__(*args, **keywords)
            mixture = self.estimates.mixture
            object.__setattr__(mixture, "exponent", mixture.exponent / 3)

    assert "radius" in violated("cascade-ucb-rr", SmallLevel)


@pytest.mark.slow_cells("1000.0")
@pytest.mark.parametrize("epsilon", [1e-6, 1e3])
def test_no_epsilon_is_too_small_or_too_large(epsilon):
    assert [
        check.description for check in checks("cascade-ucb-rr", horizon=64, epsilon=epsilon) if check.violated
    ] == []


def test_estimates_are_held_against_their_law_at_every_power_of_two(monkeypatch):
    noted = set()

    def note_counts(run, count, here, off, radius):
        noted.update(count[here].tolist())

    monkeypatch.setattr(ClickRun, "note_radii", note_counts)
    checks("cascade-ucb-rr", horizon=40)
    assert noted == {1, 2, 4, 8, 16, 32}


@pytest.mark.slow
def test_another_order_is_legal():
    assert violated("cascade-ucb-rr", FirstMostDisplayed) == []


def test_what_cannot_be_checked_is_refused():
    played = Instance(SemiBandit(TopK(2, 1), [0.3, 0.5]), 1.0, 10)
    for name in ("cucb", "cascade-ucb-rr"):
        with pytest.raises(ValueError, match=r"bound|problem"):
            check_laws(ClickRun, None, BOUNDS[name], played, lanes=64, seed=0, error=0.1)
