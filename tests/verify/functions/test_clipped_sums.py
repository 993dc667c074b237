"""The textbook fault of DP-SGD: the sum of the gradients is clipped, not each; one record turns it round."""

import numpy as np
import pytest

from mechanisms import Ball, Box, GaussianProfile
from verify import AddOrRemoveOne, verify

SIGMA, DELTA = 2.0, 1e-5  # noise for a sum that moves by 1
CLAIM = GaussianProfile(1.0 / SIGMA).epsilon(DELTA)


def clip(vectors):
    return vectors / np.maximum(1.0, np.linalg.norm(vectors, axis=-1, keepdims=True))


def clips_each(gradients, rng):
    return clip(gradients).sum(axis=0) + rng.normal(0.0, SIGMA, gradients.shape[1])


def clips_the_sum(gradients, rng):
    return clip(gradients.sum(axis=0)) + rng.normal(0.0, SIGMA, gradients.shape[1])


def quick(step, record, records, seed):
    return verify(
        step,
        neighbours=AddOrRemoveOne(record, records),
        epsilon=CLAIM,
        delta=DELTA,
        effort="quick",
        seed=seed,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("record", "records"), [(Box(-10, 10, 3), 8), (Box(-2, 2, 10), 64), (Ball(5, 4), 2)])
def test_a_clipped_sum_is_refuted_at_quick_effort(record, records):
    """The right pair is always found; few draws leave it open which event is best."""
    verdicts = [quick(clips_the_sum, record, records, seed).verdict for seed in range(20)]
    assert verdicts.count("refuted") == 20


@pytest.mark.slow
def test_clipped_gradients_are_not():
    """Each is refuted with probability at most 5e-5."""
    for seed in range(3):
        assert quick(clips_each, Box(-10, 10, 3), 8, seed).verdict == "unproven"
