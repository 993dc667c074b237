"""Truncated Poisson batches: the pair of the theorem against all batches of few records."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from mechanisms import ParameterError
from mechanisms.amplification.gaussian_mixture import AnnouncedLoss
from mechanisms.amplification.truncated_batches import TruncatedBatchProfile, binomial_tail
from mechanisms.composition.composed_loss import compose
from mechanisms.losses.gaussian_loss import sampled_gaussian_loss


def output(values: list[float], rate: float, most: int, z: np.ndarray) -> np.ndarray:
    """Return the density of the noisy sum over a truncated batch of records with these values."""
    density = np.zeros(z.shape)
    for taken in itertools.product((False, True), repeat=len(values)):
        drawn = [own for own, is_in in zip(values, taken, strict=True) if is_in]
        chance = math.prod(rate if is_in else 1.0 - rate for is_in in taken)
        kept = list(itertools.combinations(drawn, min(most, len(drawn))))
        for batch in kept:
            density += chance / len(kept) * norm.pdf(z, sum(batch))
    return density


@pytest.mark.parametrize(("rate", "most"), [(0.5, 1), (0.5, 2), (0.3, 3), (0.2, 5)])
@pytest.mark.parametrize("others", [[-1.0] * 4, [1.0, -1.0, 0.5, 0.0]])
def test_no_data_of_few_records_lose_more(rate: float, most: int, others: list[float]) -> None:
    profile = TruncatedBatchProfile(1.0, rate, len(others) + 1, most)
    z = np.linspace(-16.0, 16.0, 40_001)
    with_it, without = output([1.0, *others], rate, most, z), output(others, rate, most, z)
    for direction, (p, q) in zip(profile.directions(), ((with_it, without), (without, with_it)), strict=True):
        for x in (-0.5, 0.0, 0.4, 1.0, 2.0):
            played = float(np.trapezoid(np.maximum(p - math.exp(x) * q, 0.0), z))
            assert played <= direction.bounds(np.array(x))[1] + 1e-9


@pytest.mark.parametrize("added", [False, True])
def test_what_is_announced_mixes_transforms(added: bool) -> None:
    one, two = sampled_gaussian_loss(0.1, 1.0, added), sampled_gaussian_loss(0.3, 0.7, added)
    loss, t = AnnouncedLoss(one, two, 0.75, 0.25), np.linspace(0.0, 6.0, 30)
    for s in (0.01, 2.0):
        value, error = loss.log_mgf_line(s, t)
        mixed = 0.75 * np.exp(one.log_mgf_line(s, t)[0]) + 0.25 * np.exp(two.log_mgf_line(s, t)[0])
        assert (np.abs(np.exp(value) / mixed - 1.0) <= 1e-12 + 2.0 * error).all()
        assert error[0] < 1e-12
        assert (loss.log_envelope(s, t) >= value.real - 1e-9).all()
        assert loss.log_mgf_real(np.array([s]))[0] == pytest.approx(value[0].real, abs=1e-12)


@pytest.mark.slow_cells("300-0.02-25")
@pytest.mark.parametrize(
    ("size", "rate", "least"), [(5, 0.3, 2), (40, 0.9, 1), (300, 0.02, 25), (300, 0.5, 0), (200, 1e-3, 201)]
)
def test_tails_are_those_of_exact_sums(size: int, rate: float, least: int) -> None:
    q = Fraction(rate)
    terms = [math.comb(size, k) * q**k * (1 - q) ** (size - k) for k in range(size + 1)]
    exact = float(sum(terms[:least])), float(sum(terms[least:]))
    assert binomial_tail(size, rate, least) == pytest.approx(exact, rel=1e-12, abs=1e-290)


@pytest.mark.parametrize("size", [10**7, 10**8])
def test_tails_of_many_records_are_close_to_normal_ones(size: int) -> None:
    """At the mean: half of one term, and of skewness (1 - 2q)/sd a sixth (Edgeworth), to the order of sd^-3."""
    sd = math.sqrt(size * 0.09)
    expected = 0.5 + (0.5 - 0.8 / 6.0) / (sd * math.sqrt(2.0 * math.pi))
    assert binomial_tail(size, 0.1, size // 10)[1] == pytest.approx(expected, abs=1e-9)


def test_batches_that_are_always_full_have_a_loss() -> None:
    epsilon = compose([(TruncatedBatchProfile(1.0, 0.5, 10**6, 1), 1)]).epsilon(1e-8)
    assert 0.0 < epsilon.upper < 2.0


@pytest.mark.parametrize(
    ("numbers", "count", "delta"),
    [
        ((1.0, 1e-300, 10, 5), 3, 1e-5),
        ((1.0, 1e-15, 10, 1), 3, 1e-5),
        ((0.05, 1e-15, 1000, 20), 3, 1e-5),
        ((1e6, 0.01, 1000, 20), 500, 1e-6),
        ((1e15, 0.5, 10, 5), 500, 1e-6),
    ],
)
def test_rare_and_small_movements_cost_nothing(
    numbers: tuple[float, float, int, int], count: int, delta: float
) -> None:
    """Total variations, and the divergence of order 1, add up to less than δ: ε is 0."""
    assert compose([(TruncatedBatchProfile(*numbers), count)]).epsilon(delta).upper == 0.0


def test_divergences_are_those_of_the_transform() -> None:
    for side in TruncatedBatchProfile(1.0, 0.1, 40, 6).directions():
        loss = side.loss()
        for order in (1.5, 3.0, 20.0):
            transform = loss.log_top(order - 1.0) / (order - 1.0)
            assert transform * (1.0 - 1e-9) <= loss._divergence(order) <= transform * (1.0 + 1e-6)
        assert loss._divergence(1e6) <= min(loss.supremum, 2e6)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ((0.01, 0.1, 10, 3), "sigma = 0.01"),
        ((1e16, 0.1, 10, 3), "sigma = 1e"),
        ((1.0, 1.0, 10, 3), "sampling_probability"),
        ((1.0, 0.1, 10**8 + 1, 3), "dataset_size"),
        ((1.0, 0.1, 10, 0), "truncated_batch_size"),
    ],
)
def test_bad_batches_are_refused(numbers: tuple[float, float, int, int], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        TruncatedBatchProfile(*numbers)
