"""Closed forms next to the largest loss, and their inverses; every other curve: `test_near_ceilings`."""

import math
import random
from collections.abc import Callable

import mpmath as mp
import pytest

from mechanisms import (
    DiscreteLaplaceProfile,
    LaplaceProfile,
    PrivacyProfile,
)
from mechanisms.composition.composed_loss import compose

Case = tuple[PrivacyProfile, Callable[[mp.mpf], mp.mpf]]
"""A profile and its δ at ε, in multiple precision."""


def laplace(draw: random.Random) -> Case:
    shift, scale = draw.uniform(0.01, 10.0), 10.0 ** draw.uniform(-2.5, 8.0)
    e = mp.mpf(shift) / mp.mpf(scale)
    return LaplaceProfile(shift, scale), lambda x: -mp.expm1(-(e - x) / 2) if x < e else mp.mpf(0)


def discrete_laplace(draw: random.Random) -> Case:
    shift = draw.choice([1, 2, 3, draw.randint(1, 50), draw.randint(1, 400)])
    scale = 10.0 ** draw.uniform(-1.0, 6.0)
    b = mp.mpf(scale)
    a = mp.exp(-1 / b)

    def delta(x: mp.mpf) -> mp.mpf:
        u = (shift - b * x) / 2
        m = max(mp.ceil(u) - 1, 0)
        return max(mp.mpf(0), (-mp.expm1(-(2 * u - m) / b) - a * mp.expm1(-m / b)) / (1 + a))

    return DiscreteLaplaceProfile(shift, scale), delta


def test_the_case_that_cancelled() -> None:
    """3/50 and the float 0.06 differ by 5e-18."""
    interval = compose([(DiscreteLaplaceProfile(3, 50.0), 1)]).delta(0.06)
    assert 1.12132488481187e-18 in interval
    assert interval.width <= 2e-14 * interval.upper
    assert DiscreteLaplaceProfile(3, 50.0).delta(0.06) == pytest.approx(1.12132488481187e-18, rel=1e-13)
    assert LaplaceProfile(3.0, 50.0).delta(0.06) == pytest.approx(1.11022302462516e-18, rel=1e-13)


def inversions(count: int, seed: int) -> tuple[list[tuple[PrivacyProfile, float]], float]:
    """Return the cases where ε(δ) lies outside its interval, and the widest in ulps of the ceiling."""
    draw = random.Random(seed)
    wrong, widest = [], 0.0
    for k in range(count):
        profile, exact = (laplace, discrete_laplace)[k % 2](draw)
        delta = 10.0 ** draw.choice([draw.uniform(-200.0, -0.3), draw.uniform(-17.0, -0.3)])
        interval = compose([(profile, 1)]).epsilon(delta)
        target = mp.mpf(delta)
        # δ falls: the truth is at least lower iff δ(lower) >= target, unless it is 0.
        above = exact(mp.mpf(interval.lower)) >= target or interval.lower == 0.0
        below = exact(mp.mpf(interval.upper)) <= target
        if not (above and below):
            wrong.append((profile, delta))
        if delta > 1e-30:
            widest = max(widest, interval.width / math.ulp(float(profile.pure_epsilon or 0)))
    return wrong, widest


@pytest.mark.slow
def test_epsilon_is_guessed_then_verified() -> None:
    with mp.workdps(250):
        wrong, widest = inversions(300, 3)
        assert wrong == []
        assert widest <= 64.0  # the error of δ over its slope, both ends


@pytest.mark.slow
def test_epsilon_is_guessed_then_verified_often() -> None:
    with mp.workdps(250):
        assert inversions(4_000, 4)[0] == []
