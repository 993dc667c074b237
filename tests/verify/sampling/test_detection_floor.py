"""Violations that a test could not have seen: exact for impossible events, with power 80 % for the others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from verify.sampling.binomial_bounds import Union
from verify.sampling.count_inversion import choose_inversion
from verify.sampling.detection_floor import detectable_losses, detection_floor


@pytest.mark.parametrize("n", [5_000, 10_000, 10_001, 64_000, 300_000, 999_936])
def test_detection_floor_is_where_refutation_begins(n: int) -> None:
    error = 1e-4
    floor = detection_floor(1.0, 0.01, n, error)
    k = round(floor * n)
    bound = Union().epsilon_lower
    assert bound(k, n, 0, n, 0.01, error) > 1.0 >= bound(k - 1, n, 0, n, 0.01, error)
    assert detection_floor(20.0, 0.0, n, error) == math.inf
    assert detection_floor(5000.0, 0.0, n, error) == math.inf


@pytest.mark.slow
@pytest.mark.parametrize("mass", [pytest.param(1e-3, marks=pytest.mark.slow), 0.5])
def test_a_detectable_loss_is_detected_with_the_stated_power(mass: float) -> None:
    """250 tests each: at least 80 % - 4 s.e. refute (false alarm 3.2e-5); a third less excess, fewer."""
    n, error, claim, runs = 100_000, 1e-4, 1.0, 250
    loss = {round(one.mass, 9): one.epsilon for one in detectable_losses(claim, 0.0, n, error)}[mass]
    rng = np.random.default_rng(2)
    power = []
    for epsilon in (loss, claim + 0.7 * (loss - claim)):
        q = mass * math.exp(-epsilon)
        inversion = choose_inversion(round(mass * n), round(q * n), n, n, 0.0, error)
        hits, other = rng.binomial(n, mass, runs).tolist(), rng.binomial(n, q, runs).tolist()
        refuted = [
            inversion.epsilon_lower(k, n, h, n, 0.0, error) > claim for k, h in zip(hits, other, strict=True)
        ]
        power.append(np.mean(refuted))
    assert power[0] >= 0.8 - 4 * math.sqrt(0.8 * 0.2 / runs)
    assert power[1] < power[0]


def test_smaller_events_need_larger_losses() -> None:
    found = detectable_losses(1.0, 0.0, 1_000_000, 1e-4)
    losses = [one.epsilon for one in found]
    assert losses == sorted(losses, reverse=True)
    assert math.isinf(losses[0])
    assert 1.0 < losses[-1] < 1.02
    assert found[0].to_dict()["epsilon"] == "inf"
    assert all(math.isinf(one.epsilon) for one in detectable_losses(30.0, 0.0, 1_000_000, 1e-4))
    assert all(
        math.isinf(one.epsilon) for one in detectable_losses(1.0, 0.5, 1_000_000, 1e-4) if one.mass <= 0.5
    )
