"""Tests of the noise in released numbers, however many there were."""

import numpy as np
import pytest

from verify.regret_claims.noise_tests import RandomizedTruth, p_value


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
