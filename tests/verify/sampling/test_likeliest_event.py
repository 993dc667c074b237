"""P and P′ of {privacy loss >= ε} against their closed forms, and what reports say of them."""

from __future__ import annotations

import math

import pytest
from scipy.special import ndtr

from mechanisms import Gaussian, Laplace, RandomizedResponse, Sensitivity
from verify import verify
from verify.sampling.likeliest_event import LossEvent, likeliest_event, ratio_event

UNIT = Sensitivity(1.0, 1.0, 1.0)


def event_of(mechanism: Gaussian | Laplace, *, bound: float, claimed: float = 2.0) -> LossEvent:
    profile = mechanism.profile()
    return likeliest_event(lambda at: float(profile.delta(at)), claimed=claimed, bound=bound)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_of_gaussian_noise(sigma: float, epsilon: float) -> None:
    """The loss at x is (1 - 2x) / 2σ², of x at most 1/2 - εσ²; D has mean 0, D′ 1."""
    threshold = 0.5 - epsilon * sigma**2
    event = event_of(Gaussian(sigma=sigma, sensitivity=UNIT), bound=epsilon)
    assert event.threshold == epsilon
    assert event.probability == pytest.approx(ndtr(threshold / sigma), abs=1e-6)
    assert event.probability_prime == pytest.approx(ndtr((threshold - 1.0) / sigma), abs=1e-6)


def test_of_laplace_noise() -> None:
    """The loss at x in [0, 1] is (1 - 2x) / b, at least ε below (1 - εb) / 2."""
    epsilon, scale = 1.0, 0.5
    threshold = (1.0 - epsilon * scale) / 2.0
    event = event_of(Laplace(scale=scale), bound=epsilon)
    assert event.probability == pytest.approx(1.0 - math.exp(-threshold / scale) / 2.0, abs=1e-6)
    assert event.probability_prime == pytest.approx(math.exp((threshold - 1.0) / scale) / 2.0, abs=1e-6)


def test_the_largest_loss_has_an_event() -> None:
    """Outputs below 0 have the loss 1: that the loss is *more* than 1 was an event of probability 0 on both."""
    event = event_of(Laplace(scale=1.0), bound=1.0)
    assert event.probability == pytest.approx(0.5, rel=1e-5)
    assert event.probability_prime == pytest.approx(0.5 / math.e, rel=1e-5)


@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.3, 3.0])
def test_a_loss_without_limit_has_an_event_that_floats_resolve(sigma: float) -> None:
    """At the claim P rounds to 1 and P′ to 0 where there is little noise."""
    event = event_of(Gaussian(sigma=sigma, sensitivity=UNIT), bound=math.inf)
    mu, t = 1.0 / sigma, event.threshold
    assert t >= 2.0
    assert event.probability == pytest.approx(ndtr(mu / 2.0 - t / mu), rel=1e-4)
    assert event.probability_prime == pytest.approx(ndtr(-mu / 2.0 - t / mu), rel=1e-4)


def test_what_is_impossible_on_the_other_data_set_is_said_to_be() -> None:
    event = likeliest_event(lambda at: 0.25, claimed=1.0, bound=math.inf)
    assert event == LossEvent(math.inf, 0.25, 0.0)
    assert ratio_event("output", event.threshold) == "p(output | D′) = 0"


@pytest.mark.slow_cells("mechanism4-1e-07-0.0", "mechanism2-30.0-0.2")
@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta"),
    [
        (RandomizedResponse(size=3, epsilon=40.0), 1.0, 0.0),  # said to identify D, δ = 1 at every ε
        (Laplace(scale=1.0), 1.0, 0.0),  # an infinite ratio beside "certified"
        (Gaussian(sigma=1.0, sensitivity=UNIT), 30.0, 0.2),  # a ratio of -1.5e203
        (Gaussian(sigma=0.01, sensitivity=UNIT), 1.0, 0.0),
        (Laplace(scale=1e6), 1e-7, 0.0),
    ],
)
def test_an_exact_event_shows_the_exact_bound(mechanism: Gaussian, epsilon: float, delta: float) -> None:
    result = verify(mechanism, epsilon=epsilon, delta=delta, effort="quick")
    lower, witness = result.lower, result.witness
    assert 0.0 < witness.probability < 1.0
    threshold = witness.details["largest_loss"]
    assert min(epsilon, lower.epsilon) <= threshold <= lower.epsilon
    if witness.probability_prime > 0.0 and lower.epsilon < math.inf:
        ratio = (witness.probability - delta) / witness.probability_prime
        assert threshold * (1.0 - 1e-4) < math.log(ratio) < lower.epsilon * (1.0 + 1e-4)
    printed = " ".join(str(result).split())
    assert "infinite" not in printed
    assert "identifies" not in printed
    assert "probability 100 %" not in printed
