"""Convolutions of finitely many losses: exact losses, and probabilities within the stated rounding."""

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from mechanisms import AtomicProfile, RandomizedResponse
from mechanisms.losses.privacy_loss import SampledPair


@pytest.mark.parametrize(("one", "two"), [(1, 1), (2, 9), (40, 40)])
def test_a_convolution_is_within_its_rounding(one: int, two: int) -> None:
    """It counts a rounding for every product and every sum, and what both were off by: 2^-53 each."""
    rng = np.random.default_rng(one)
    sides = []
    for count, off in ((one, 2.0**-50), (two, 2.0**-51)):
        masses = rng.dirichlet(np.ones(count)).tolist()
        sides.append(AtomicProfile(tuple(Fraction(k, 3) for k in range(count)), tuple(masses), 0.0, "", off))
    found = sides[0].convolved(sides[1])
    assert found is not None
    exact: dict[Fraction, Fraction] = defaultdict(Fraction)
    for left, p in zip(sides[0].losses, sides[0].probabilities, strict=True):
        for right, q in zip(sides[1].losses, sides[1].probabilities, strict=True):
            exact[left + right] += Fraction(p) * Fraction(q)
    assert found.losses == tuple(sorted(exact))
    own = found.relative_rounding - 2.0**-50 - 2.0**-51
    for loss, p in zip(found.losses, found.probabilities, strict=True):
        assert abs(Fraction(p) - exact[loss]) <= Fraction(own) * exact[loss]
    assert own >= 2.0**-53 * min(one, two)


def test_a_sample_of_nearly_all_keeps_what_it_hides() -> None:
    """The mass without a loss was what others left of 1: off by 2e-7 of itself, and said to be by 1e-12."""
    rate, p = 1.0 - 1e-9, Fraction(math.exp(1.0)) / (1 + Fraction(math.exp(1.0)))
    loss = (
        RandomizedResponse(size=2, epsilon=1.0)
        .profile()
        .atoms()
        .loss()
        .on_sample(rate, SampledPair.FIXED_SIZE)
    )
    masses = dict(zip(loss.losses, loss.probabilities, strict=True))
    assert masses[Fraction(0)] == pytest.approx(float((1 - Fraction(rate)) * (2 * p - 1)), rel=1e-14, abs=0.0)
    assert math.fsum(masses.values()) == pytest.approx(1.0, abs=1e-15)


def test_many_points_are_read_from_sums_as_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses that floats do not tell apart, too, and points at them."""
    rng = np.random.default_rng(0)
    losses = [Fraction(x) for x in rng.normal(size=40).tolist()]
    losses += [Fraction(1) + Fraction(k, 10**20) for k in (-1, 0, 1)]
    profile = AtomicProfile(tuple(losses), tuple(rng.dirichlet(np.ones(43)).tolist()), bound="none")
    points = np.concatenate([np.array(losses, dtype=np.float64), rng.normal(size=200), [-50.0, 0.0, 50.0]])
    each = profile.delta(points)
    monkeypatch.setattr("mechanisms.profiles.atomic_profile._LARGEST_TABLE", 1)
    np.testing.assert_allclose(profile.delta(points), each, rtol=4e-15, atol=0.0)


def test_losses_that_are_no_multiples_below_two_to_the_64_stay_exact() -> None:
    """Whole numbers of the machine would wrap around."""
    losses = (Fraction(0), Fraction(1, 2**64), Fraction(1))
    found = AtomicProfile(losses, (0.25, 0.25, 0.5), bound="none").convolved(
        AtomicProfile(losses, (0.25, 0.25, 0.5), bound="none")
    )
    assert found is not None
    assert found.losses == tuple(sorted({one + two for one in losses for two in losses}))
