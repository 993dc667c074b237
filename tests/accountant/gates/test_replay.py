"""Record on D, replay on D': each kind of difference with its line, and none for correct code."""

import math

import numpy as np
import pytest

from accountant import Direct, Place, Recorder, Replay
from mechanisms import Composed, Gaussian, Laplace, RandomizedResponse, Sensitivity

SEED = np.random.SeedSequence(3)
UNIT = Laplace(scale=1.0)


def compare(code, data, neighbour):
    """Run `code` on both; return the replay, and both outputs."""
    recorder = Recorder(SEED)
    output = code(data, recorder)
    replay = Replay(SEED, recorder.calls)
    other = code(neighbour, replay)
    replay.finish()
    return replay, output, other


def place(function, offset):
    return Place(__file__, function.__code__.co_firstlineno + offset)


# --- correct code shows nothing ------------------------------------------------------------------


def scalar(data, gate):
    return gate.release(UNIT, data) + gate.random.random()


def test_code_for_many_lanes_plays_one():
    def code(data, gate):
        return gate.release(UNIT, np.full(gate.lanes, data))

    replay, output, _ = compare(code, 0.0, 1.0)
    assert (replay.differences, output.shape) == ([], (1,))


def vector(data, gate):
    noisy = gate.release(Laplace(scale=2.0, sensitivity=Sensitivity(2, 2, 1)), np.array([data, 1 - data]))
    return noisy.sum() if noisy[0] > 0.5 else noisy.max()


def adaptive(data, gate):
    total = 0.0
    for _ in range(5):
        answer = gate.release(UNIT, data)
        if answer > gate.random.random():
            total += gate.release(Laplace(scale=2.0 + abs(answer)), data)
    return total


def category(data, gate):
    return gate.release(RandomizedResponse(size=10, epsilon=1.0), 9 if data > 0.5 else 0)


def twice_at_once(data, gate):
    return gate.release(Composed((UNIT, UNIT)), data).sum()


def postprocessed(data, gate):
    return gate.release(UNIT >> steep, data)


def truth_values(data, gate):
    return gate.release(UNIT, np.array([data > 0.5]))


def steep(outputs):
    return 3 * outputs


@pytest.mark.parametrize(
    "code",
    [scalar, vector, adaptive, category, twice_at_once, postprocessed, truth_values],
    ids=lambda c: c.__name__,
)
def test_correct_code_shows_no_difference(code):
    for data, neighbour in ((0.0, 1.0), (1.0, 0.0), (0.25, 0.25)):
        replay, output, other = compare(code, data, neighbour)
        assert replay.differences == []
        assert np.array_equal(output, other)


def test_losses_are_those_of_all_releases():
    recorder = Recorder(SEED)
    vector(0.2, recorder)
    (call,) = recorder.calls
    replay, *_ = compare(vector, 0.2, 0.9)
    apart = np.abs(call.outputs - [0.9, 0.1]) - np.abs(call.outputs - [0.2, 0.8])
    assert replay.loss == pytest.approx(apart.sum() / 2.0)
    replay, output, _ = compare(category, 1.0, 0.0)
    assert replay.loss == pytest.approx({9: 1.0, 0: -1.0}.get(output, 0.0))
    assert math.isnan(compare(postprocessed, 0.0, 1.0)[0].loss)


def test_the_recorder_keeps_copies():
    recorder = Recorder(SEED)
    value = np.array([0.5])
    outputs = recorder.release(UNIT, value)
    value[0], outputs[0] = 7.0, 7.0
    assert recorder.calls[0].value.tolist() == [0.5]
    assert recorder.calls[0].outputs.tolist() != [7.0]
    assert isinstance(recorder.release(UNIT, 0.5), float)
    assert isinstance(recorder.release(RandomizedResponse(size=3, epsilon=1.0), 2), int)


def test_replays_and_recordings_are_seeded():
    assert scalar(0.5, Recorder(SEED)) == scalar(0.5, Recorder(SEED))
    assert scalar(0.5, Recorder(SEED)) != scalar(0.5, Recorder(np.random.SeedSequence(4)))
    assert scalar(0.5, Direct(np.random.default_rng(1))) == scalar(0.5, Direct(np.random.default_rng(1)))


# --- each kind of difference, with its line ------------------------------------------------------


def scale_of_the_data(data, gate):
    return gate.release(Laplace(scale=1.0 + data), data)


def shape_of_the_data(data, gate):
    return gate.release(UNIT, np.zeros(1 + int(data)))


def branch_on_the_data(data, gate):
    if data > 0.5:
        return gate.release(UNIT, data)
    return gate.release(UNIT, data)


def more_calls(data, gate):
    first = gate.release(UNIT, data)
    return first + (gate.release(UNIT, 0.0) if data > 0.5 else 0.0)


def moves_too_far(data, gate):
    return gate.release(UNIT, 3 * data)


def moves_too_far_in_l2(data, gate):
    return gate.release(Gaussian(sigma=1.0, sensitivity=Sensitivity(3.0, 1.0, 1.0)), np.full(3, data))


def two_categories(data, gate):
    return gate.release(RandomizedResponse(size=4, epsilon=1.0), np.full(2, int(data)))


@pytest.mark.parametrize(
    ("code", "data", "kind", "offset", "words"),
    [
        (scale_of_the_data, (0.0, 1.0), "mechanism", 1, "the mechanism is Laplace(scale=2.0"),
        (shape_of_the_data, (0.0, 1.0), "shape", 1, "has shape (2,); on D it has (1,)"),
        (shape_of_the_data, (1.0, 0.0), "shape", 1, "has shape (1,); on D it has (2,)"),
        (branch_on_the_data, (0.0, 1.0), "place", 2, "on D the same release is made at"),
        (more_calls, (0.0, 1.0), "more-calls", 2, "releases once more"),
        (more_calls, (1.0, 0.0), "fewer-calls", 2, "only 1 of D's 2 releases are made"),
        (moves_too_far, (0.0, 1.0), "sensitivity", 1, "by 3 in L1 norm, more than the 1 that its Laplace"),
        (
            moves_too_far_in_l2,
            (0.0, 1.0),
            "sensitivity",
            1,
            "by 1.73205 in L2 norm, more than the 1 that its Gaussian",
        ),
        (two_categories, (0.0, 1.0), "sensitivity", 1, "by 2 in L1 norm, more than the 1"),
    ],
    ids=lambda item: getattr(item, "__name__", None),
)
def test_each_difference_is_found_on_its_line(code, data, kind, offset, words):
    replay, *_ = compare(code, *data)
    (found,) = replay.differences
    assert (found.kind, found.where) == (kind, place(code, offset))
    assert words in found.message


def test_one_line_is_reported_once():
    def loop(data, gate):
        return sum(gate.release(UNIT, 3 * data) for _ in range(9))

    assert len(compare(loop, 0.0, 1.0)[0].differences) == 1


def test_direct_answers_in_the_form_of_the_value():
    gate = Direct(np.random.default_rng(1))
    assert isinstance(gate.release(UNIT, 0.5), float)
    assert gate.release(UNIT, [0.5, 0.5]).shape == (2,)
    assert gate.release(Composed((UNIT, UNIT)), 0.5).shape == (2,)
    value = np.array([0.5])
    gate.release(UNIT, value)
    assert value.tolist() == [0.5]
