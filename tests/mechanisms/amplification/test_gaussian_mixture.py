"""Mixtures of Gaussians: probabilities that add up, and losses far out."""

import math

import mpmath as mp
import numpy as np
import pytest

from mechanisms import GaussianProfile, ParameterError
from mechanisms.amplification.gaussian_mixture import GaussianMixtureProfile
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.enclosure import Enclosure
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.gaussian_mixture_loss import GaussianMixtureLoss, binomial_mixture
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledProfile


@pytest.mark.parametrize(
    "chances", [(0.1,) * 10, (0.7, 0.2, 0.1), (1 / 3,) * 3, (1 / 256,) * 256, (1.0, 1e-300)]
)
def test_decimal_probabilities_add_up(chances: tuple[float, ...]) -> None:
    GaussianMixtureProfile(tuple(0.1 * i + 0.1 for i in range(len(chances))), chances, 1.0)


@pytest.mark.parametrize("missing", [1e-9, 1e-10, 1e-13, -1e-13, -1e-10])
def test_probabilities_that_do_not_add_up_are_refused(missing: float) -> None:
    with pytest.raises(ParameterError, match="probabilities"):
        GaussianMixtureProfile((1.0, 2.0), (0.5, 0.5 - missing), 1.0)


def test_a_small_chance_to_move_by_nothing_is_kept() -> None:
    """The largest loss of a record that is added is -ln of it."""
    _, added = GaussianMixtureProfile((0.0, 1.0), (1e-30, 1.0), 1.0).directions()
    assert added.loss().supremum == pytest.approx(-math.log(1e-30))


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_losses_far_out_are_no_logarithm_of_nothing() -> None:
    """Far to the left the nearest centre, 1, is all: ln 0.5 + (u/σ - 1/2σ²) there."""
    removed, _ = GaussianMixtureProfile((1.0, 2.0, 5.0), (0.5, 0.4, 0.1), 1.5).directions()
    (loss,) = (own for own in (removed.loss(),) if isinstance(own, GaussianMixtureLoss))
    found, _, _ = loss._own_sum._log_density(0, np.array([-1500.0]), slice(None))
    assert float(found[0, 0]) == pytest.approx(math.log(0.5) - 1000.0 - 0.5 / 2.25)


@pytest.mark.parametrize("mu", [1e-6, 1e-8])
def test_much_noise_on_samples_is_nearly_one_gaussian(mu: float) -> None:
    """Of many samples of rate q together: a Gaussian of q μ √n, to a relative error of the order of μ."""
    base = RelatedProfile(GaussianProfile(mu), Neighbouring.ADD_OR_REMOVE)
    found = compose([(SubsampledProfile(base, 0.01), 10**6)]).epsilon(1e-9)
    assert isinstance(found, Enclosure)
    assert found.width < 1e-14
    assert found.lower == pytest.approx(GaussianProfile(10.0 * mu).epsilon(1e-9), rel=1e-4)


@pytest.mark.parametrize("mu", [1.0, 20.0])
def test_samples_that_hardly_ever_have_the_record_lose_nothing(mu: float) -> None:
    base = RelatedProfile(GaussianProfile(mu), Neighbouring.ADD_OR_REMOVE)
    assert compose([(SubsampledProfile(base, 1e-16), 10**6)]).epsilon(1e-9).upper == 0.0


@pytest.mark.slow_cells("256-5e-324")
@pytest.mark.parametrize("rate", [5e-324, 1e-15, 1e-6, 0.3, 1.0 - 1e-12])
@pytest.mark.parametrize("size", [1, 3, 256])
def test_logarithms_of_weights_are_right_to_their_last_digits(size: int, rate: float) -> None:
    """Of a weight near 1 the logarithm of the rounded weight was off by 1e-16, however small it is."""
    with mp.workdps(400):
        for centre, log_weight in binomial_mixture(size, rate):
            j, q = int(centre), mp.mpf(rate)
            truth = mp.log(mp.binomial(size, j)) + j * mp.log(q) + (size - j) * mp.log1p(-q)
            assert abs(log_weight - truth) <= 1e-15 * abs(truth)


def test_a_mixture_has_a_movement_for_each_probability() -> None:
    for movements, probabilities in (((), ()), ((1.0,), (0.5, 0.5)), ((0.5,) * 257, (1 / 257,) * 257)):
        with pytest.raises(ParameterError, match="must be as many, from 1 to 256"):
            GaussianMixtureProfile(movements, probabilities, 1.0)
    assert GaussianMixtureProfile((0.5,) * 256, (1 / 256,) * 256, 1.0).gaussian_mu == pytest.approx(0.5)
