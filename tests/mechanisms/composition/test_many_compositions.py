"""Bounds on δ of many compositions by one contour, against the composition of each."""

from fractions import Fraction

import numpy as np
import pytest

from mechanisms import (
    ApproximateProfile,
    GaussianProfile,
    LaplaceProfile,
    Neighbouring,
    PrivacyProfile,
    RandomizedResponse,
)
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.many_compositions import largest_deltas
from mechanisms.profiles.related_profile import RelatedProfile, restate
from mechanisms.profiles.subsampled import SubsampledProfile

JOINING = Neighbouring.ADD_OR_REMOVE


def sampled(profile: PrivacyProfile, rate: float) -> PrivacyProfile:
    return SubsampledProfile(RelatedProfile(profile, JOINING), rate)


KINDS: list[PrivacyProfile] = [
    restate(LaplaceProfile(1.0, 30.0), JOINING),
    restate(GaussianProfile(0.08), JOINING),
    sampled(GaussianProfile(0.7), 0.02),
    sampled(LaplaceProfile(1.0, 2.0), 0.05),
    restate(RandomizedResponse(size=3, epsilon=0.1).profile(), JOINING),
]


@pytest.mark.slow
@pytest.mark.slow_cells("1e-09")
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_they_are_upper_bounds_and_tight_near_the_first(delta: float) -> None:
    rng = np.random.default_rng(3)
    counts = rng.poisson(8.0, (40, len(KINDS))).astype(float)
    counts[1:6] = counts[0]
    counts[np.arange(1, 6), np.arange(5)] += 1.0

    def composed(row: np.ndarray):
        return compose((kind, int(n)) for kind, n in zip(KINDS, row, strict=True) if n)

    epsilon = composed(counts[0]).epsilon(delta).upper
    found = largest_deltas(KINDS, counts, epsilon, delta)
    truth = [composed(row).delta(epsilon) for row in counts]
    assert all(bound >= own.lower for bound, own in zip(found, truth, strict=True))
    assert all(bound <= own.upper * 1.01 for bound, own in zip(found[:6], truth[:6], strict=True))
    assert (found < 1.0).all()


def test_of_what_it_does_not_know_it_says_one() -> None:
    failing = restate(ApproximateProfile(Fraction(1, 10), 1e-4), JOINING)
    counts = np.array([[5.0, 0.0], [4.0, 1.0], [3.0, 0.0]])
    found = largest_deltas([KINDS[1], failing], counts, 0.5, 1e-6)
    assert found[1] == 1.0
    assert (found[[0, 2]] < 1.0).all()


@pytest.mark.parametrize("first", [[4.0, 1.0], [0.0, 0.0]])
def test_without_a_first_that_is_known_it_says_one_of_all(first: list[float]) -> None:
    failing = restate(ApproximateProfile(Fraction(1, 10), 1e-4), JOINING)
    found = largest_deltas([KINDS[1], failing], np.array([first, [3.0, 0.0]]), 0.5, 1e-6)
    assert found.tolist() == [1.0, 1.0]
