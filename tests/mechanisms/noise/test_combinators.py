import json
import math

import numpy as np
import pytest

from mechanisms import (
    Affine,
    Clip,
    Composed,
    DensityUnavailable,
    DiscreteLaplace,
    Gaussian,
    GaussianProfile,
    LaneStreams,
    Laplace,
    NumpyNoise,
    ParameterError,
    PostProcessed,
    RandomizedResponse,
    Repeated,
    Sensitivity,
    mechanism_from_dict,
)

LAPLACE = Laplace(scale=2.0, sensitivity=Sensitivity(4.0, 2.0, 1.0))
GAUSSIAN = Gaussian(sigma=3.0, sensitivity=Sensitivity(9.0, 1.5, 1.0), delta=1e-5)


def half(x: np.ndarray) -> np.ndarray:
    return x / 2


def test_composed_releases_every_part() -> None:
    both = Composed((LAPLACE, GAUSSIAN))
    value = np.arange(64 * 4, dtype=np.float64).reshape(64, 4)
    out = both.release(value, NumpyNoise(LaneStreams(3, 64)))
    assert out.shape == (2, 64, 4)
    again = NumpyNoise(LaneStreams(3, 64))
    np.testing.assert_array_equal(out[0], LAPLACE.release(value, again))
    np.testing.assert_array_equal(out[1], GAUSSIAN.release(value, again))
    expected = LAPLACE.log_density(out[0], value) + GAUSSIAN.log_density(out[1], value)
    np.testing.assert_array_equal(both.log_density(out, value), expected)
    # Values of several neighbours in front broadcast against one output.
    neighbours = np.stack([value, value + 1.0, value - 1.0])
    assert both.log_density(out, neighbours).shape == (3, 64, 4)


def test_composed_is_calibrated_for_what_every_part_covers() -> None:
    assert Composed((LAPLACE, GAUSSIAN)).sensitivity == Sensitivity(4.0, 1.5, 1.0)
    assert Composed((LAPLACE, GAUSSIAN)).nominal_delta == 1e-5
    assert Composed((GAUSSIAN,) * 3).nominal_delta == pytest.approx(3e-5)
    assert Repeated(GAUSSIAN, 3).nominal_delta == pytest.approx(3e-5)
    # μ = 1.5 / 3, four times in quadrature.
    assert Repeated(GAUSSIAN, 4).profile() == GaussianProfile(1.0)


def test_repeated_draws_fresh_noise() -> None:
    thrice = Repeated(LAPLACE, 3)
    out = thrice.release(np.zeros((64, 4)), NumpyNoise(LaneStreams(3, 64)))
    assert out.shape == (3, 64, 4)
    assert len(np.unique(out)) == out.size
    np.testing.assert_allclose(thrice.log_density(out, 0.0), sum(LAPLACE.log_density(o, 0.0) for o in out))
    assert thrice.epsilon == 6.0
    with pytest.raises(ParameterError, match="2 parts: must have 3"):
        thrice.log_density(out[:2], 0.0)


def test_post_processing_is_free() -> None:
    halved = LAPLACE >> half
    assert isinstance(halved, PostProcessed)
    assert halved.name == "half"
    assert halved.profile() == LAPLACE.profile()
    assert halved.epsilon == LAPLACE.epsilon
    assert halved.sensitivity == LAPLACE.sensitivity
    value, seed = np.ones(5), 6
    np.testing.assert_array_equal(
        halved.release(value, np.random.default_rng(seed)),
        LAPLACE.release(value, np.random.default_rng(seed)) / 2,
    )
    with pytest.raises(DensityUnavailable, match="half"):
        halved.log_density(value, value)
    assert ((Composed((LAPLACE, LAPLACE)) >> half) >> np.sum).release(
        value, np.random.default_rng(0)
    ).shape == ()
    with pytest.raises(TypeError):
        LAPLACE >> 3  # type: ignore[operator]


def test_functions_are_saved_by_name_and_must_be_given_back() -> None:
    halved = Repeated(LAPLACE >> half, 2)
    saved = json.loads(json.dumps(halved.to_dict()))
    with pytest.raises(ParameterError, match="'half' is saved by name only"):
        mechanism_from_dict(saved)
    assert mechanism_from_dict(saved, {"half": half}) == halved


def test_bad_descriptions_are_refused() -> None:
    for saved in ({}, {"kind": "Nonsense"}, {"kind": 3}):
        with pytest.raises(ParameterError, match="kind"):
            mechanism_from_dict(saved)
    with pytest.raises(ParameterError, match="scale"):
        mechanism_from_dict({**DiscreteLaplace(scale=1.0).to_dict(), "scale": -1.0})
    with pytest.raises(ParameterError, match="at least one"):
        Composed(())
    for count in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="count"):
            Repeated(LAPLACE, count)  # type: ignore[arg-type]


def test_infinite_norms_survive_json() -> None:
    gaussian = Gaussian(sigma=1.0, sensitivity=Sensitivity(math.inf, 1.0, 1.0))
    text = json.dumps(Repeated(gaussian, 2).to_dict(), allow_nan=False)
    assert mechanism_from_dict(json.loads(text)) == Repeated(gaussian, 2)


def test_categories_and_numbers_cannot_share_a_value() -> None:
    with pytest.raises(ParameterError, match="categories and for numbers"):
        Composed((LAPLACE, RandomizedResponse(size=2, epsilon=1.0)))


def test_combinators_say_what_values_they_take() -> None:
    response = RandomizedResponse(size=3, epsilon=1.0)
    counts = DiscreteLaplace(scale=1.0)
    for wrapped in (Composed((response, response)), Repeated(response, 2), response >> np.asarray):
        assert wrapped.categorical
        assert wrapped.whole_numbers
    for wrapped in (Composed((counts, Laplace(scale=1.0))), Repeated(counts, 2), counts >> np.asarray):
        assert not wrapped.categorical
        assert wrapped.whole_numbers
    assert not Composed((LAPLACE,)).whole_numbers


def test_a_transformation_belongs_in_front_of_all_of_it() -> None:
    doubled = Affine(2.0) >> Laplace(scale=1.0)
    for inner in (doubled, Clip(0.0, 1.0) >> Laplace(scale=1.0)):
        for make in (
            lambda inner=inner: Composed((inner,)),
            lambda inner=inner: Repeated(inner, 2),
            lambda inner=inner: PostProcessed(inner, half),
        ):
            with pytest.raises(ParameterError, match="transformation >> "):
                make()
    after = doubled >> half
    assert after.transformation == doubled.transformation
    assert after.mechanism == Laplace(scale=1.0) >> half


@pytest.mark.parametrize("wrong", [None, "ab", Laplace, 2.0])
def test_what_is_no_mechanism_is_refused(wrong: object) -> None:
    for build in (
        lambda: Repeated(wrong, 2),
        lambda: Composed((LAPLACE, wrong)),
        lambda: PostProcessed(wrong, half),
    ):
        with pytest.raises(ParameterError, match="must be a mechanism"):
            build()
