"""Chances of a refutation against tests that are really repeated, and where they are 0 or 1."""

import math

import numpy as np
import pytest

from verify.events.predicted_bound import predicted_epsilon
from verify.sampling.detection_floor import CountsOfEvent

STRICT = 5e-5


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("true", [1.06, 1.02, 1.1])
def test_the_chance_is_right_on_average_over_first_tests(true, delta):
    """Its mean over first tests is the share of second ones that refute, where these spread as much as both together.

    The standard error of a mean of 200 is below .032; the distance allowed is four of these.
    """
    n, q, rng = 20_000, 0.12, np.random.default_rng(0)
    p = delta + q * math.exp(true)
    firsts, others = rng.binomial(n, p, 200), rng.binomial(n, q, 200)
    chances = [
        CountsOfEvent(int(k), int(m), n).chance_of_refuting(n, 1.0, delta, STRICT)
        for k, m in zip(firsts, others, strict=True)
    ]
    # Two independent normal deviations of the same size: the chance's mean is that of a deviation sqrt(3) as wide.
    wide = math.sqrt(3.0)
    again = (rng.normal(mean, wide * math.sqrt(mean * (1 - mean) / n), 20_000) for mean in (p, q))
    refuted = predicted_epsilon(*again, n, delta, STRICT) > 1.0
    assert np.mean(chances) == pytest.approx(refuted.mean(), abs=0.13)


def test_what_was_counted_decides_where_it_is_plain():
    always, never = CountsOfEvent(900, 10, 1_000), CountsOfEvent(500, 400, 1_000)
    assert always.chance_of_refuting(1_000, 1.0, 0.0, STRICT) == 1.0
    assert never.chance_of_refuting(10_000, 1.0, 0.0, STRICT) == 0.0
    assert CountsOfEvent(0, 0, 1_000).chance_of_refuting(1_000, 1.0, 0.0, STRICT) == 0.0


def test_more_draws_help_where_the_counts_are_above_the_claim():
    counts = CountsOfEvent(2_800, 1_000, 10_000)
    chances = [counts.chance_of_refuting(n, 1.0, 0.0, STRICT) for n in (10_000, 40_000, 160_000)]
    assert chances == sorted(chances)
    assert chances[0] < 0.02 < 0.3 < chances[-1]


def test_losses_as_counted():
    assert CountsOfEvent(300, 100, 1_000).loss(0.1) == pytest.approx(math.log(2.0))
    assert CountsOfEvent(300, 0, 1_000).loss(0.1) == math.inf
    assert CountsOfEvent(100, 50, 1_000).loss(0.1) == -math.inf
