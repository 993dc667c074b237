import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.calibration import least_noise
from accountant.composed_loss import compose
from mechanisms import GaussianProfile, LaplaceProfile, ParameterError


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.sampled_from([GaussianProfile, LaplaceProfile]), st.integers(1, 2000), st.floats(0.05, 20.0))
def test_least_noise_meets_the_target_and_less_does_not(kind: object, count: int, target: float) -> None:
    calls = 0

    def upper(noise: float) -> float:
        nonlocal calls
        calls += 1
        profile = GaussianProfile(1.0 / noise) if kind is GaussianProfile else LaplaceProfile(1.0, noise)
        return compose([(profile, count)]).epsilon(1e-6).upper

    noise = least_noise(upper, target)
    assert calls <= 40
    assert upper(noise) <= target
    assert upper(noise * (1 - 1e-7)) > target


def test_laplace_closed_form() -> None:
    noise = least_noise(lambda b: LaplaceProfile(1.0, b).epsilon(0.0), 0.5)
    assert noise == pytest.approx(2.0, rel=1e-8)


def test_targets_out_of_reach() -> None:
    with pytest.raises(ParameterError, match="no amount of noise"):
        least_noise(lambda noise: 2.0, 1.0)
    with pytest.raises(ParameterError, match="epsilon"):
        least_noise(lambda noise: 2.0, 0.0)
    assert least_noise(lambda noise: 0.0, 1.0) < 1e-17
