"""The exponential mechanism's exact pair, against mechanisms themselves and an independent prototype."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import compose
from mechanisms import BoundedRangeProfile, ParameterError
from mechanisms.profiles.bounded_range import BoundedRangeLoss


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=6),
    moves=st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6),
    x=st.floats(-2.0, 2.0),
)
def test_no_exponential_mechanism_exceeds_it(scores: list[float], moves: list[float], x: float) -> None:
    before = np.array(scores)
    after = before + np.array(moves[: before.size])
    p, q = (np.exp(0.7 * own) / np.sum(np.exp(0.7 * own)) for own in (before, after))
    true = float(np.sum(np.maximum(p - math.exp(x) * q, 0.0)))
    span = float(np.max(after - before) - np.min(after - before))
    assert true <= BoundedRangeProfile(Fraction(0.7 * span + 1e-12)).delta(x) + 1e-12


@pytest.mark.parametrize("share", [-0.9, 0.0, 0.4, 0.999])
def test_at_every_epsilon_some_law_attains_it(share: float) -> None:
    """Two outputs with losses t and t - ε, t = (ε + x)/2."""
    e = 1.3
    x = share * e
    top = math.exp((e + x) / 2)
    p = (math.exp(e) - top) / math.expm1(e)
    true = p * (1.0 - math.exp(x) / top)
    assert BoundedRangeProfile(Fraction(e)).delta(x) == pytest.approx(true, rel=1e-12)


@pytest.mark.parametrize(("e", "s"), [(0.5, 0.3), (3.0, 4.0), (1e-4, 60.0), (40.0, 0.1)])
def test_the_transform(e: float, s: float) -> None:
    t = np.linspace(0.0, 60.0, 9)
    value, error = BoundedRangeLoss(Fraction(e)).log_mgf_line(s, t)
    with mp.workdps(40):
        for own, off, height in zip(value, error, t, strict=True):
            y = mp.mpc(s, height) + mp.mpf(1) / 2
            true = mp.sinh(mp.mpf(e) * y) / (2 * y * mp.sinh(mp.mpf(e) / 2))
            computed = mp.exp(mp.mpc(complex(own)))
            assert abs(computed - true) <= abs(computed) * mp.expm1(float(off))


@pytest.mark.parametrize(
    ("e", "count", "delta", "known"),
    [(0.5, 1, 1e-6, 0.49875), (0.5, 5, 1e-3, 1.66950), (0.5, 10, 1e-6, 3.81343), (1.0, 20, 1e-6, 13.432)],
)
def test_compositions_of_an_independent_prototype(e: float, count: int, delta: float, known: float) -> None:
    found = compose([(BoundedRangeProfile(Fraction(e)), count)]).product_epsilon(delta)
    assert found.width < 1e-7
    assert found.upper == pytest.approx(known, abs=6e-6 if known < 10 else 6e-4)


def test_near_the_largest_loss() -> None:
    profile = BoundedRangeProfile(Fraction(3, 7))
    with mp.workdps(50):
        for gap in (1e-16, 1e-9, 1e-3):
            x = float(Fraction(3, 7)) - gap
            e = mp.mpf(3) / 7
            true = mp.expm1((mp.mpf(x) - e) / 2) ** 2 / -mp.expm1(-e)
            lower, upper = profile.bounds(np.array(x))
            assert lower <= true <= upper
    assert profile.delta(0.5) == 0.0
    assert profile.epsilon(0.0) >= Fraction(3, 7)
    assert profile.rho == pytest.approx(9 / 49 / 8)


def test_nothing_and_nonsense() -> None:
    assert BoundedRangeProfile(Fraction(0)).delta(0.0) == 0.0
    for wrong in (math.inf, -1.0, math.nan):
        with pytest.raises(ParameterError, match="epsilon"):
            BoundedRangeProfile(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("e", [1e-100, 3e-155, 4.087047560892175e-150, 1e-200, 4e-299])
def test_squares_of_small_distances_are_kept(e: float) -> None:
    """At 0 δ is about ε/4, of which only the square of ε/2 was below all floats."""
    for share in (0.0, 0.3, 0.9999):
        with mp.workdps(350):
            true = mp.expm1((mp.mpf(share * e) - e) / 2) ** 2 / -mp.expm1(-mp.mpf(e))
        low, high = BoundedRangeProfile(Fraction(e)).bounds(np.array(share * e))
        assert low <= true <= high
        assert high <= true * (1 + mp.mpf(1e-9)) + mp.mpf(1e-309)


def renyi_at_60_digits(epsilon: float, order: float) -> mp.mpf:
    """Return the divergence at the worst interval, by its closed form."""
    with mp.workdps(200):
        e, s = mp.mpf(epsilon), mp.mpf(order) - 1
        above = mp.log((1 + 1 / s) * mp.expm1(-s * e) / mp.expm1(-(s + 1) * e))
        smaller = mp.expm1(e - above) / mp.expm1(e)
        return e - above + mp.log1p(smaller * mp.expm1(-s * e)) / s


@settings(max_examples=120, deadline=None)
@given(st.floats(-14, 40), st.floats(-12, 18))
def test_renyi_is_above_the_truth_at_every_size(log_epsilon: float, log_order: float) -> None:
    """At large orders and losses it was minus infinity: the ends' probabilities cancelled."""
    epsilon, order = 10.0**log_epsilon, 1.0 + 10.0**log_order
    found = float(BoundedRangeProfile(Fraction(epsilon)).renyi(np.array([order]))[0])
    truth = renyi_at_60_digits(epsilon, order)
    assert found >= truth
    assert found <= truth * (1.0 + 1e-11) or epsilon < 1e-3 or order < 1.001
