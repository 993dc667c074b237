"""Tests of the noise in released numbers, however many there were."""

import numpy as np
import pytest

from verify.regret_claims.noise_tests import AdditiveNoise, RandomizedTruth, p_value


@pytest.mark.parametrize("messages", [300, 300_000, 300_000_000])
def test_messages_as_untrue_as_is_known_are_right_however_many_there_were(messages):
    """E-values against 300,000 of them are below e^-709, and so the inverse of their mean is no float."""
    law = RandomizedTruth(0.4)
    law._trials, law._lies = [messages, messages], [2 * messages // 5, 2 * messages // 5]
    assert law.p == 1.0
    law._lies[1] = messages // 5
    assert law.p < (1e-2 if messages == 300 else 1e-300)


@pytest.mark.parametrize(
    ("logs", "p"),
    [([-1e6, -2e6], 1.0), ([0.0], 1.0), ([np.log(40.0), -800.0], 0.05), ([np.inf, -800.0], np.exp(-700.0))],
)
def test_the_mean_of_e_values_is_one(logs, p):
    assert p_value(logs) == pytest.approx(p)


def test_flips_are_told_for_either_value():
    truth = RandomizedTruth(0.25)
    truth.add(np.array([True, False, False, False, True]), np.array([0.0, 0.0, 0.0, 0.0, 1.0]))
    assert truth.description == (
        "flipped: 25 % of 4 messages with value 0 and 100 % of 1 messages with value 1; by the theorem 25 %"
    )


def test_noise_is_told_in_its_scale():
    noise = AdditiveNoise("Laplace", 2.0)
    assert noise.description == "nothing was released"
    noise.add(np.array([1.0, -1.5, 4.2, -9.0]))
    assert noise.description == (
        "4 releases: mean -0.662 Laplace scales; 0.75 beyond 0.7, 0.5 beyond 2, 0.25 beyond 4"
    )
