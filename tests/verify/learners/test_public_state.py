"""What a learner holds in public is compared in replays: raw data in it are found before any action shows them."""

import numpy as np
import pytest

from accountant import Simulation
from mechanisms import Interval
from tests.verify.subjects import learners
from verify import verify
from verify.learners.public_state import differences, first_difference, is_due, public_state


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
    assert set(public_state(held)) == {".mean", ".parts[0]", ".parts[1]['a'].deep"}


@pytest.mark.parametrize("value", [np.array([0.0, 1e-300]), np.zeros(3), np.zeros(2, dtype=np.float32), None])
def test_every_bit_shape_and_type_counts(value):
    one, other = (public_state(Holder(mean=each, same=1)) for each in (np.zeros(2), value))
    assert first_difference(one, other) == ".mean"
    assert first_difference(one, other, frozenset({".mean"})) == ""
    assert differences(one, other) == {".mean"}
    assert first_difference(one, one) == ""


def test_states_are_looked_at_ever_more_seldom():
    assert [step for step in range(1, 40) if is_due(step)] == [1, 2, 4, 8, 16, 32]


class PeeksAtTheValue(learners.NoisyMeans):
    """Uses the raw value, too lightly for any action of so short a run to show it."""

    def published(self, feedback):
        return self.gate.release(self.laplace, feedback) + 1e-12 * feedback._values[0]


class KeepsCount(learners.Correct):
    """Holds a number of its own that is another one in every run: it is no data."""

    runs = 0

    def observe(self, feedback):
        KeepsCount.runs += 1
        self.clock = KeepsCount.runs
        super().observe(feedback)


def verified(make):
    return verify(make, epsilon=1.0, effort="quick", horizon=12, samples=4_000)


def test_raw_data_that_no_action_shows_are_a_finding():
    result = verified(PeeksAtTheValue)
    assert result.verdict == "unproven"
    assert ["what the learner holds in total differs after step" in f.message for f in result.findings] == [
        True
    ]


def test_a_number_that_differs_from_run_to_run_is_none():
    assert verified(KeepsCount).verdict == verified(learners.Correct).verdict == "certified"
