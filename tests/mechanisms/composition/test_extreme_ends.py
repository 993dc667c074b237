"""Ends of intervals where floats are few: beside an infinite loss, below 1e-290, beyond e^700; against mpmath."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest

from mechanisms import (
    AtomicProfile,
    BinomialProfile,
    GaussianProfile,
    LaplaceProfile,
    Neighbouring,
    RandomizedResponse,
    RelatedProfile,
)
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.contour import Contour, TiltedLoss, plan_contour
from mechanisms.composition.enclosure import Enclosure, lower_end
from mechanisms.composition.equal_laplace import equal_laplace
from mechanisms.composition.finite_mixture import FiniteMixture
from mechanisms.composition.running_loss import RunningLoss
from mechanisms.composition.saddle import saddle_for_delta
from mechanisms.losses.laplace_loss import LaplaceLoss
from mechanisms.profiles.subsampled import SubsampledDirection


@pytest.mark.parametrize("trials", [20, 500])
def test_a_delta_beside_the_mass_of_infinite_losses_has_a_finite_epsilon(trials: int) -> None:
    """The mass, 2^-N, is known with an error; the largest finite loss is ln N."""
    target = 2.0**-trials * (1.0 + 6e-14)
    found = compose([(BinomialProfile(trials, 1), 1)]).epsilon(target)
    assert (lower_end(found) or 0.0) <= math.log(trials) * (1.0 + 1e-15)
    assert compose([(BinomialProfile(trials, 1), 1)]).epsilon(2.0 ** -(trials + 1)).upper == math.inf


@pytest.mark.parametrize("count", [2, 5])
def test_outputs_too_rare_to_be_summed_are_no_lower_end(count: int) -> None:
    loss = compose([(BinomialProfile(1015, 1), count)])
    for found in (loss.delta(1e5), loss.product_delta(1e5)):
        assert Fraction(lower_end(found) or 0.0) <= Fraction(count, 2**1015)
    with mp.workdps(30):
        assert found.upper >= -mp.expm1(count * mp.log1p(-(mp.mpf(2) ** -1015)))


@pytest.mark.parametrize(("epsilon", "rate"), [(710.0, 1e-15), (800.0, 1e-13), (1e4, 1e-3)])
def test_the_largest_loss_of_an_added_record_far_beyond_floats(epsilon: float, rate: float) -> None:
    base = RelatedProfile(LaplaceProfile(epsilon, 1.0), Neighbouring.ADD_OR_REMOVE)
    found = compose([(SubsampledDirection(base, rate, added=True), 1)]).epsilon(0.0)
    with mp.workdps(60):
        exact = -mp.log1p(mp.mpf(rate) * mp.expm1(-epsilon))
        assert isinstance(found, Enclosure)
        assert found.lower <= exact <= found.upper <= exact * (1 + 1e-13)


def gaussian_delta(mu: mp.mpf, epsilon: float) -> mp.mpf:
    far, root = epsilon / mu, mp.sqrt(2)
    return (mp.erfc((far - mu / 2) / root) - mp.exp(epsilon) * mp.erfc((far + mu / 2) / root)) / 2


@pytest.mark.parametrize(
    ("mu", "count", "epsilon"),
    [
        (6.423835905185166e-05, 10**9, 78.94312529046272),
        (3.299645003136767, 10**6, 5569805.562484883),
        (0.7605880001851767, 2, 41.37704760752693),
        (0.02040081297471162, 10**9, 232898.04548561008),
        (3.825126227063341e-05, 1000, 23.414617562393286),
    ],
)
def test_deltas_of_gaussian_releases_that_no_float_holds(mu: float, count: int, epsilon: float) -> None:
    releases = [(GaussianProfile(mu), count)]
    running = RunningLoss(releases)
    running.epsilon(1e-6)
    with mp.workdps(60):
        exact = gaussian_delta(mp.mpf(mu) * mp.sqrt(count), epsilon)
        assert 0 < exact < 1e-313
        for found in (compose(releases).delta(epsilon), running.delta(epsilon)):
            assert isinstance(found, Enclosure)
            assert found.lower <= exact <= found.upper <= 1e-300


@pytest.mark.parametrize("epsilon", [1266.982891878979, 1270.7388132433152, 1272.9165839186862])
def test_deltas_of_responses_that_no_float_holds(epsilon: float) -> None:
    count, size = 3000, mp.mpf(0.5)
    with mp.workdps(60):
        top = 1 / (1 + mp.exp(-size))
        answers = range(2700, count + 1)  # of them the loss is 1/2 (2j - n)
        masses = [mp.binomial(count, j) * top**j * (1 - top) ** (count - j) for j in answers]
        gaps = [size * (2 * j - count) - mp.mpf(epsilon) for j in answers]
        exact = mp.fsum(-p * mp.expm1(-gap) for p, gap in zip(masses, gaps, strict=True) if gap > 0)
        found = compose([(RandomizedResponse(size=2, epsilon=0.5).profile(), count)]).delta(epsilon)
        assert isinstance(found, Enclosure)
        assert 0 < exact < 1e-307
        assert found.lower <= exact <= found.upper <= 1e-300


def _rarely_different(mass: float) -> AtomicProfile:
    return AtomicProfile((Fraction(1), Fraction(0)), (mass, 1.0))


@pytest.mark.parametrize("mass", [1e-310, 3.3e-317, 7e-321])
def test_mixtures_with_a_probability_that_no_float_holds(mass: float) -> None:
    profile = FiniteMixture(_rarely_different(mass), LaplaceProfile(1.0, 2.0))
    with mp.workdps(60):
        for epsilon in (0.6, 0.9, 1.1, 1.4, 1.45):
            found = compose([(profile, 1)]).product_delta(epsilon)
            exact = mp.mpf(mass) * -mp.expm1((mp.mpf(epsilon) - mp.mpf(1.5)) / 2)
            assert found.lower <= exact <= found.upper <= 1e-300


def test_the_series_over_equal_laplace_losses_keeps_small_weights() -> None:
    """Binomial weights that vanish beside floats are multiplied by numbers as large as C(n, j)."""
    loss = LaplaceLoss((Fraction(3, 10),), (1100,))
    saddle = saddle_for_delta(loss, 1e-289)
    series = equal_laplace(loss, Fraction(3, 10), 1100, saddle)
    plan = plan_contour(TiltedLoss(loss, saddle.s), saddle, 1e-9, 1e6)
    assert series is not None
    assert plan is not None
    epsilon = saddle.epsilon - 1.5 / saddle.s
    (low, high), (lower, upper) = series.bounds(epsilon), Contour(loss, plan).bounds(epsilon)
    assert max(low, lower) <= min(high, upper) <= 1.0001 * max(low, lower)
