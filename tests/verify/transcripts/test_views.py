"""The adversary's view of releases of every shape."""

import numpy as np
import pytest

from algorithms.problems import SemiBandit, TopK
from mechanisms import Box, Composed, Laplace, Repeated
from verify.transcripts.views import message_view

PROBLEM = SemiBandit(TopK(3, 2), np.array([0.5, 0.5, 0.5]))
NOISE = Laplace(scale=1e-9, sensitivity=Box(0, 1, 2).sensitivity)
DATA = np.array([[0.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.0, 0.0, 0.0]])


class Sender:
    """Plays arms 0 and 1, and releases what it sees of them through a mechanism."""

    feedback_domain = Box(0, 1, 2)

    def __init__(self, gate, mechanism):
        self.gate, self.mechanism = gate, mechanism

    def act(self):
        return np.broadcast_to(np.array([0, 1]), (self.gate.lanes, 2))

    def observe(self, feedback):
        self.gate.release(self.mechanism, feedback)


def sampled(mechanism):
    return message_view(lambda gate: Sender(gate, mechanism), PROBLEM, DATA, 1).sample(
        320, np.random.SeedSequence(1)
    )


@pytest.mark.parametrize(
    ("mechanism", "sent"),
    [
        (NOISE, [0.25, 0.75]),
        (Repeated(NOISE, 2), [0.25, 0.75] * 2),
        (Composed((NOISE, NOISE >> (lambda noisy: -noisy))), [0.25, 0.75, -0.25, -0.75]),
        (Repeated(Repeated(NOISE, 2), 2), [0.25, 0.75] * 4),
        (NOISE >> (lambda noisy: noisy.sum(axis=-1)), [1.0]),
    ],
)
def test_each_lane_sends_its_own_values(mechanism, sent):
    sample = sampled(mechanism)
    assert sample.values.shape == (320, len(sent))
    np.testing.assert_allclose(sample.values, np.tile(sent, (320, 1)), atol=1e-6)


def test_a_function_that_mixes_lanes_is_said_to():
    with pytest.raises(ValueError, match=r"a release of shape \(\): .* must return the shape \(lanes, n\)"):
        sampled(NOISE >> np.sum)


def test_messages_of_several_lengths_are_refused_in_words():
    """It was an error about columns, in the library's own code."""

    class Insistent(Sender):
        def observe(self, feedback):
            for _ in range(1 if self.gate.lanes == 1 else 3):
                super().observe(feedback)

    view = message_view(lambda gate: Insistent(gate, NOISE), PROBLEM, DATA, 1)
    with pytest.raises(
        ValueError, match=r"round 1 sent 6 values in one run and 2 in another: .* of one length"
    ):
        view.sample(320, np.random.SeedSequence(1))
