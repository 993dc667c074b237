"""Closed forms next to the largest loss, against 50 digits: 10,000 random cases, a third within 2 ulp of it."""

import math
import random
from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from accountant.losses.composed_loss import compose
from mechanisms import (
    ApproximateProfile,
    AtomicProfile,
    DiscreteLaplaceProfile,
    LaplaceProfile,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
)

Case = tuple[PrivacyProfile, Callable[[mp.mpf], mp.mpf]]
"""A profile and its δ at ε, in multiple precision."""


def exactly(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


def atomic(losses: list[mp.mpf], masses: list[mp.mpf], mass: mp.mpf) -> Callable[[mp.mpf], mp.mpf]:
    def delta(x: mp.mpf) -> mp.mpf:
        return mass + mp.fsum(
            p * -mp.expm1(x - loss) for loss, p in zip(losses, masses, strict=True) if loss > x
        )

    return delta


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


def response(draw: random.Random) -> Case:
    epsilon, size = 10.0 ** draw.uniform(-8.0, 2.0), draw.choice([2, 2, 3, 10, 10**6])
    e = mp.mpf(epsilon)
    top = 1 / (1 + (size - 1) * mp.exp(-e))
    masses = [top, top * mp.exp(-e), (size - 2) * top * mp.exp(-e)]
    profile = RandomizedResponse(size=size, epsilon=epsilon).profile()
    return profile, atomic([e, -e, mp.mpf(0)], masses, mp.mpf(0))


def pure(draw: random.Random) -> Case:
    bound = Fraction(draw.randint(1, 10**6), draw.randint(1, 10**6))
    e = exactly(bound)
    return PureProfile(bound), lambda x: max(mp.mpf(0), -mp.expm1(x - e)) / (1 + mp.exp(-e))


def approximate(draw: random.Random) -> Case:
    bound, mass = Fraction(draw.randint(1, 1000), draw.randint(1, 1000)), 10.0 ** draw.uniform(-30, -1)
    e, d = exactly(bound), mp.mpf(mass)
    return (
        ApproximateProfile(bound, mass),
        lambda x: d + (1 - d) * max(mp.mpf(0), -mp.expm1(x - e)) / (1 + mp.exp(-e)),
    )


def atoms(draw: random.Random) -> Case:
    count = draw.randint(2, 8)
    losses = sorted(
        {Fraction(draw.randint(-999, 999), draw.randint(1, 999)) for _ in range(count)} | {Fraction(1, 3)}
    )
    masses = np.array([draw.uniform(0.01, 1.0) for _ in losses])
    masses = masses / masses.sum()
    exact = [mp.mpf(float(p)) for p in masses]
    return (
        AtomicProfile(tuple(losses), tuple(masses.tolist())),
        atomic([exactly(loss) for loss in losses], exact, mp.mpf(0)),
    )


KINDS = [laplace, discrete_laplace, response, pure, approximate, atoms]


def next_to(ceiling: Fraction, draw: random.Random) -> float:
    """Return a float at or just below a rational: 0 to 2 ulp, or a relative gap of 1e-16 to 0.1."""
    x = float(ceiling)
    kind = draw.randint(0, 2)
    if kind < 2:
        for _ in range(draw.randint(0, 2)):
            x = math.nextafter(x, 0.0)
    if kind > 0:
        x *= 1.0 - 10.0 ** draw.uniform(-16.0, -1.0)
    return x


def violations(count: int, seed: int) -> tuple[list[tuple[PrivacyProfile, float]], float]:
    """Return the cases whose interval excludes the truth, and the widest relative interval."""
    draw = random.Random(seed)
    wrong, widest = [], 0.0
    for k in range(count):
        profile, exact = KINDS[k % len(KINDS)](draw)
        ceiling = profile.pure_epsilon or profile.epsilon_bound  # type: ignore[attr-defined]
        x = next_to(ceiling, draw)
        delta = exact(mp.mpf(x))
        interval = compose([(profile, 1)]).delta(x)
        if not interval.lower <= delta <= interval.upper:
            wrong.append((profile, x))
        if delta > 0:
            widest = max(widest, float(interval.width / delta))
    return wrong, widest


def test_delta_next_to_the_largest_loss() -> None:
    with mp.workdps(50):
        wrong, widest = violations(10_000, 1)
    assert wrong == []
    assert widest <= 2e-13  # randomized response at ε near 100, whose truth is an exponential of it


@pytest.mark.slow
def test_delta_next_to_the_largest_loss_often() -> None:
    with mp.workdps(50):
        assert violations(30_000, 2)[0] == []


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


def test_epsilon_is_guessed_then_verified() -> None:
    with mp.workdps(250):
        wrong, widest = inversions(300, 3)
        assert wrong == []
        assert widest <= 64.0  # the error of δ over its slope, both ends


@pytest.mark.slow
def test_epsilon_is_guessed_then_verified_often() -> None:
    with mp.workdps(250):
        assert inversions(4_000, 4)[0] == []
