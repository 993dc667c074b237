"""What the tests of noise have seen is said as it was."""

import numpy as np

from verify.regret_claims.noise_tests import AdditiveNoise, RandomizedTruth


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
