"""The public state of a learner is compared in replays: raw data in it are found before any action shows them."""

import os
import random
import time
from pathlib import Path

import numpy as np
import pytest

from accountant import Simulation
from mechanisms import Interval
from tests.verify.subjects import learners
from verify import verify
from verify.learners.public_state import first_difference, is_due, public_state, state_differences


class Holder:
    def __init__(self, **held):
        vars(self).update(held)


def test_numbers_are_found_wherever_attributes_lead():
    gate = Simulation(0, 1)
    private = gate.private([[0.5]], Interval(0, 1), 1)
    held = Holder(
        mean=np.zeros(2), parts=[1, {"a": Holder(deep=2.5)}], gate=gate, draws=gate.random, own=private, f=len
    )
    held.itself = held
    everywhere = {"the generator of `random`", "the generator of `numpy.random`"}
    assert set(public_state(held)) == everywhere | {".mean", ".parts[0]", ".parts[1]['a'].deep"}


@pytest.mark.parametrize("value", [np.array([0.0, 1e-300]), np.zeros(3), np.zeros(2, dtype=np.float32), None])
def test_every_bit_shape_and_type_counts(value):
    one, other = (public_state(Holder(mean=each, same=1)) for each in (np.zeros(2), value))
    assert first_difference(one, other) == ".mean"
    assert first_difference(one, other, frozenset({".mean"})) == ""
    assert state_differences(one, other) == {".mean"}
    assert first_difference(one, one) == ""


def test_states_are_looked_at_ever_more_seldom():
    assert [step for step in range(1, 40) if is_due(step)] == [1, 2, 4, 8, 16, 32]


class PeeksAtTheValue(learners.NoisyMeans):
    """Uses the raw value, too lightly for any action of so short a run to show it."""

    def published(self, feedback):
        return self.gate.release(self.laplace, feedback) + 1e-12 * feedback._values[0]


class KeepsTime(learners.Correct):
    """Holds a number that is another one in every run: it is no data."""

    def observe(self, feedback):
        self.clock = time.perf_counter()
        super().observe(feedback)


class SeedsWithRewards(learners.Correct):
    """Breaks ties by a generator that everybody can read and it alone seeds, too lightly to show it."""

    def observe(self, feedback):
        random.seed(float(feedback._values.sum()))
        super().observe(feedback)


class OutlivesRuns(learners.Correct):
    """Scales rewards by the largest that any run has seen; what holds it is said by subclasses."""

    def published(self, feedback):
        self.keep(max(self.kept(), float(feedback._values.max())))
        return super().published(feedback * (0.5 + 0.5 * self.kept()))


class InTheClass(OutlivesRuns):
    largest = 0.0

    def kept(self):
        return self.largest

    def keep(self, value):
        InTheClass.largest = value


HELD = {"largest": 0.0}


class InTheModule(OutlivesRuns):
    def kept(self):
        return HELD["largest"]

    def keep(self, value):
        HELD["largest"] = value


class InTheEnvironment(OutlivesRuns):
    def kept(self):
        return float(os.environ.get("OF_A_TEST", "0"))

    def keep(self, value):
        os.environ["OF_A_TEST"] = str(value)


class InAFile(OutlivesRuns):
    path: Path

    def kept(self):
        return float(self.path.read_text())

    def keep(self, value):
        self.path.write_text(str(value))


def verified(make):
    return verify(make, epsilon=1.0, effort="quick", horizon=12, samples=4_000)


@pytest.mark.slow
def test_raw_data_that_no_action_shows_are_a_finding():
    result = verified(PeeksAtTheValue)
    assert result.verdict == "unproven"
    assert ["state total differs after step" in f.message for f in result.findings] == [True]


@pytest.mark.slow
def test_a_number_that_differs_from_run_to_run_is_none():
    assert verified(KeepsTime).verdict == verified(learners.Correct).verdict == "certified"


@pytest.mark.slow
def test_a_seed_made_of_data_is_a_finding():
    (finding,) = verified(SeedsWithRewards).findings
    assert "state the generator of `random` differs" in finding.message


@pytest.mark.slow_cells("InTheClass-InTheClass.largest")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("make", "what"),
    [
        (InTheClass, "InTheClass.largest"),
        (InTheModule, "HELD"),
        (InTheEnvironment, "os.environ"),
        (InAFile, ""),
    ],
)
def test_what_outlives_a_run_is_a_finding(make, what, tmp_path, monkeypatch):
    monkeypatch.setenv("OF_A_TEST", "0")
    InAFile.path = tmp_path / "largest"
    InAFile.path.write_text("0")
    result = verified(make)
    assert result.verdict == "unproven"
    said = f"{what} lives outside the learner" if what else "two runs with the same data and seed differ"
    assert [said in finding.message for finding in result.findings].count(True) == 1
