"""Noise sources: both must draw the law that the mechanisms' densities describe."""

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    LaneStreams,
    Laplace,
    Mechanism,
    NoiseSource,
    NumpyNoise,
    OpenDPNoise,
    ParameterError,
    RandomizedResponse,
    Sensitivity,
    noise_source,
)

ALPHA = 1e-6  # false-alarm rate of each of the about 20 statistical tests here
UNIT = Sensitivity(1.0, 1.0, 1.0)


def test_sources_name_themselves() -> None:
    assert NumpyNoise(np.random.default_rng()).name == "numpy:PCG64"
    assert NumpyNoise(LaneStreams(0, 64)).name == "numpy:SFC64"
    assert not NumpyNoise(LaneStreams(0, 64)).secure
    assert OpenDPNoise().name == "opendp"
    assert OpenDPNoise().secure
    for source in (NumpyNoise(LaneStreams(0, 64)), OpenDPNoise()):
        assert isinstance(source, NoiseSource)
        assert noise_source(source) is source
    assert noise_source(np.random.default_rng()).name == "numpy:PCG64"
    assert noise_source(LaneStreams(0, 64)).name == "numpy:SFC64"


@pytest.mark.parametrize("wrong", [0, None, "PCG64", np.random.PCG64(0)])
def test_a_seed_is_no_generator(wrong: Any) -> None:
    with pytest.raises(ParameterError, match=r"randomness = .*: must be a generator"):
        NumpyNoise(wrong)


@pytest.mark.slow
def test_importing_the_package_does_not_import_opendp() -> None:
    code = "import sys, mechanisms; print([m for m in ('opendp', 'sympy', 'matplotlib') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


SOURCES = {"numpy": lambda: NumpyNoise(LaneStreams(31, 64)), "opendp": OpenDPNoise}
sources = pytest.mark.parametrize("source", [make() for make in SOURCES.values()], ids=SOURCES.keys())


@pytest.mark.few(1)
@sources
def test_continuous_laws(source: NoiseSource) -> None:
    location = np.full((64, 60), 3.0)
    laplace, gaussian = source.laplace(location, 2.0), source.gaussian(location, 2.0)
    assert laplace.shape == gaussian.shape == location.shape
    assert stats.kstest(laplace.ravel(), stats.laplace(3.0, 2.0).cdf).pvalue > ALPHA
    assert stats.kstest(gaussian.ravel(), stats.norm(3.0, 2.0).cdf).pvalue > ALPHA


@pytest.mark.few(1)
@sources
def test_a_scale_for_each_coordinate(source: NoiseSource) -> None:
    scales = np.tile([0.5, 2.0, 8.0], (64, 20))
    location = np.zeros((64, 60))
    for drawn, law in [
        (source.laplace(location, scales), "laplace"),
        (source.gaussian(location, scales), "norm"),
    ]:
        for scale in (0.5, 2.0, 8.0):
            assert stats.kstest(drawn[scales == scale] / scale, law).pvalue > ALPHA


@pytest.mark.slow_cells(
    "RandomizedResponse(size=2, epsilon=0.5)-opendp", "RandomizedResponse(size=6, epsilon=1.5)-opendp"
)
@pytest.mark.few(6)
@sources
@pytest.mark.parametrize(
    "mechanism",
    [
        DiscreteLaplace(scale=0.4),
        DiscreteLaplace(scale=30.0),
        DiscreteGaussian(sigma=0.5, sensitivity=UNIT),
        DiscreteGaussian(sigma=6.0, sensitivity=UNIT),
        RandomizedResponse(size=2, epsilon=0.5),
        RandomizedResponse(size=6, epsilon=1.5),
    ],
    ids=repr,
)
def test_discrete_laws(source: NoiseSource, mechanism: Mechanism) -> None:
    """Chi-square over cells of expected count at least 10."""
    drawn = mechanism.release(np.ones((64, 60), dtype=np.int64), source)
    assert drawn.dtype == np.int64
    points = np.arange(-400, 401)
    expected = drawn.size * np.exp(mechanism.log_density(points, 1))
    common = expected >= 10.0
    counts = np.array([(drawn == k).sum() for k in points])
    observed = np.append(counts[common], drawn.size - counts[common].sum())
    wanted = np.append(expected[common], max(0.0, drawn.size - expected[common].sum()))
    keep = wanted > 1e-6
    assert observed[~keep].sum() == 0
    assert stats.chisquare(observed[keep], wanted[keep] * drawn.size / wanted[keep].sum()).pvalue > ALPHA


def test_every_other_category_is_reached_from_every_category() -> None:
    source = NumpyNoise(np.random.default_rng(4))
    category = np.repeat(np.arange(4), 5000)
    reported = source.randomized_response(category, 4, 0.7)
    table = np.array([[((category == a) & (reported == b)).sum() for b in range(4)] for a in range(4)])
    p = math.exp(0.7) / (math.exp(0.7) + 3)
    expected = 5000 * np.where(np.eye(4) == 1, p, (1 - p) / 3)
    assert stats.chi2.sf(((table - expected) ** 2 / expected).sum(), 12) > ALPHA


def test_no_category_of_many_leaves_64_bits_where_all_are_kept() -> None:
    category = np.full(4000, 2**20 - 1)
    with np.errstate(all="raise"):
        reported = NumpyNoise(np.random.default_rng(0)).randomized_response(category, 2**20, 60.0)
    np.testing.assert_array_equal(reported, category)


def test_certain_truth() -> None:
    category = np.arange(64) % 3
    reported = NumpyNoise(LaneStreams(0, 64)).randomized_response(category, 3, 800.0)
    np.testing.assert_array_equal(reported, category)


def test_wide_discrete_gaussian_is_a_rounded_normal() -> None:
    drawn = NumpyNoise(LaneStreams(1, 64)).discrete_gaussian(np.zeros((64, 60), dtype=np.int64), 1e5)
    # Rounding to whole numbers moves the distribution function by at most 0.5 / 1e5 · φ(0).
    assert stats.kstest(drawn.ravel() / 1e5, "norm").pvalue > ALPHA


@sources
@pytest.mark.parametrize("shape", [(0,), (64,), (64, 2, 3)])
def test_shapes(source: NoiseSource, shape: tuple[int, ...]) -> None:
    if shape == (0,) and source.name != "opendp":
        source = NumpyNoise(np.random.default_rng(0))
    for mechanism in (Laplace(scale=1.0), Gaussian(sigma=1.0, sensitivity=UNIT)):
        assert mechanism.release(np.zeros(shape), source).shape == shape
    for mechanism in (DiscreteLaplace(scale=1.0), RandomizedResponse(size=3, epsilon=1.0)):
        assert mechanism.release(np.zeros(shape, dtype=np.int64), source).shape == shape


def test_opendp_scalars_keep_their_shape() -> None:
    source = OpenDPNoise()
    assert source.laplace(np.array(1.0), 1.0).shape == ()
    assert source.randomized_response(np.array(1), 3, 1.0).shape == ()


@pytest.mark.parametrize("scale", [1e19, 1e30, 1.7e308])
def test_whole_noise_beyond_64_bits_ends_there(scale: float) -> None:
    """It was one constant, so that the value could be read from the sum."""
    at = np.array([0, 1, -5, 2**62] * 50)
    for mechanism in (DiscreteLaplace(scale=scale), DiscreteGaussian(sigma=scale, sensitivity=UNIT)):
        out = mechanism.release(at, np.random.default_rng(1))
        assert out.dtype == np.int64
        assert {np.iinfo(np.int64).min, np.iinfo(np.int64).max} <= set(out.tolist())
        again = mechanism.release(at + 1, np.random.default_rng(1))
        far = np.abs(out.astype(np.float64)) > 2.0**62.9
        assert far.any()
        beyond = np.isin(out, [np.iinfo(np.int64).min, np.iinfo(np.int64).max])
        np.testing.assert_array_equal(out[beyond], again[beyond])
        np.testing.assert_array_equal(out[~beyond] + 1, again[~beyond])
