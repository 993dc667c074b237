"""Prices of selections against the laws of the mechanisms themselves: never below, and attained where tight."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import expon, gumbel_r, laplace, norm

from accountant.audit.mechanism_kinds import mechanism_kinds
from mechanisms import PrivacyProfile, Sensitivity
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.enclosure import Enclosure
from mechanisms.domains.neighbouring import Neighbouring

REPLACED = Neighbouring.REPLACE_ONE


def priced(
    name: str, sensitivity: float = 1.0, relation: Neighbouring = REPLACED, **parameters: object
) -> PrivacyProfile:
    moves = Sensitivity(sensitivity, sensitivity, sensitivity)
    return mechanism_kinds()[name].profile(parameters, moves, relation)


def first_wins(noise: object, scores: np.ndarray, scale: float) -> float:
    """The probability that the first score is the largest with noise, by integration over its noise."""
    law = noise(scale=scale)  # type: ignore[operator]

    def density(x: float) -> float:
        return float(law.pdf(x) * np.prod(law.cdf(x + scores[0] - scores[1:])))

    places = sorted({0.0, *(scores[1:] - scores[0])})
    edges = [-40.0 * scale, *places, 60.0 * scale]
    return sum(quad(density, a, b, limit=200)[0] for a, b in itertools.pairwise(edges) if a < b)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "noise"),
    [("exponential-mechanism", gumbel_r), ("permute-and-flip", expon), ("noisy-max", laplace)],
)
@pytest.mark.parametrize("monotone", [True, False])
def test_no_choice_loses_more_and_some_lose_nearly_that(name: str, noise: object, monotone: bool) -> None:
    scale, move = 1.5, 0.6
    profile = priced(name, move, scale=scale, monotone=monotone)
    rng = np.random.default_rng(0)
    largest = 0.0
    far = np.array([-12.0, 0.0, 0.0])
    for scores in [far, *rng.uniform(-3.0, 3.0, (2, 3))]:
        other = scores + move * np.array([1.0, 0.0, 0.0] if monotone else [1.0, -1.0, -1.0])
        p, q = (first_wins(noise, each, scale) for each in (other, scores))
        for e in (0.0, 0.2, 0.5):
            assert max(p - math.exp(e) * q, q - math.exp(e) * p) <= profile.delta(e) + 1e-9
        largest = max(largest, abs(math.log(p / q)))
    limit = float(profile.pure_epsilon or 0.0)
    assert 0.97 * limit < largest <= limit + 1e-6


@pytest.mark.parametrize("monotone", [True, False])
def test_two_answers_of_a_sparse_vector_lose_no_more_than_its_price(monotone: bool) -> None:
    """The law of two answers, by integration over the noise of the threshold that they share."""
    threshold, query = 2.0, 3.0
    profile = priced(
        "sparse-vector", threshold_scale=threshold, query_scale=query, positives=1, monotone=monotone
    )
    assert float(profile.pure_epsilon or 0.0) == pytest.approx(1 / threshold + (1 if monotone else 2) / query)
    many = priced(
        "sparse-vector", threshold_scale=threshold, query_scale=query, positives=4, monotone=monotone
    )
    assert float(many.pure_epsilon or 0.0) == pytest.approx(1 / threshold + (4 if monotone else 8) / query)

    def above_then_below(scores: tuple[float, float]) -> float:
        """The first query is below, the second above: the threshold's noise is shared."""

        def above(z: float) -> float:  # SciPy's own takes a hundred times as long
            tail = 0.5 * math.exp(-abs(z) / query)
            return tail if z > 0.0 else 1.0 - tail

        def density(z: float) -> float:
            noise = math.exp(-abs(z) / threshold) / (2.0 * threshold)
            return noise * above(scores[0] - z) * above(z - scores[1])

        return sum(quad(density, a, b)[0] for a, b in ((-90.0, 0.0), (0.0, 90.0)))

    largest = 0.0
    for first in (-20.0, 20.0):
        for second in (-20.0, 20.0):
            moved = (first, second - 1.0) if monotone else (first + 1.0, second - 1.0)
            ratio = above_then_below((first, second)) / above_then_below(moved)
            largest = max(largest, abs(math.log(ratio)))
    limit = float(profile.pure_epsilon or 0.0)
    assert largest <= limit + 1e-9
    assert monotone or largest > 0.5 * limit  # in one direction, two answers do not both get less likely


def test_propose_test_release_at_its_worst() -> None:
    """Where neither data set keeps the proposal, a release has probability δ; where both do, both losses add up."""
    delta, scale, epsilon = 1e-3, 0.5, 0.7
    profile = priced("propose-test-release", test_scale=scale, epsilon=epsilon, delta=delta)
    threshold = scale * math.log(1 / (2 * delta))
    assert laplace.sf(threshold, scale=scale) == pytest.approx(delta)
    assert profile.delta(1 / scale + epsilon) == pytest.approx(delta)
    p, q = (laplace.sf(threshold - distance, scale=scale) for distance in (1.0, 0.0))
    assert math.log(p / q) <= 1 / scale + 1e-12


def keys(noise: str, scale: float, threshold: float, number: int) -> PrivacyProfile:
    numbers = {"noise": noise, "scale": scale, "threshold": threshold, "keys": number}
    return priced("thresholded-keys", relation=Neighbouring.ADD_OR_REMOVE, **numbers)


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 2.0])
@pytest.mark.parametrize(("scale", "threshold", "number"), [(2.0, 12.0, 3), (1.0, 2.0, 1), (1.5, 4.0, 2)])
def test_keys_above_a_threshold_lose_at_most_what_is_proved(
    epsilon: float, scale: float, threshold: float, number: int
) -> None:
    """Of the record's keys j are no other's: of all outputs the best event is known, in both directions."""

    def curve(of: int, x: float) -> float:
        mu = math.sqrt(of) / scale
        if not mu:
            return max(0.0, 1.0 - math.exp(x))
        return float(norm.cdf(0.5 * mu - x / mu) - math.exp(x) * norm.cdf(-0.5 * mu - x / mu))

    found = compose([(keys("gaussian", scale, threshold, number), 1)]).delta(epsilon)
    kept = float(norm.cdf((threshold - 1.0) / scale))
    truths = []
    for j in range(number + 1):
        removed = 1.0 - kept**j + kept**j * curve(number - j, epsilon - j * math.log(kept))
        truths += [removed, curve(number - j, epsilon + j * math.log(kept))]
    assert max(truths) <= found.upper * (1.0 + 1e-9)
    assert isinstance(found, Enclosure)
    assert found.lower <= curve(number, epsilon) * (1.0 + 1e-9)
    failure = number * (1.0 - kept)
    assert found.upper <= max(truths) + 1.02 * failure + 1e-9


def test_keys_that_are_never_shown_alone_are_noise() -> None:
    """One record's three keys, sigma 2: three counts that move by 1, a Gaussian of √3 / 2."""
    found = compose([(keys("gaussian", 2.0, 200.0, 3), 1)]).delta(2.0)
    assert found.upper == pytest.approx(0.00776825804096, rel=1e-9)
    assert keys("laplace", 1.0, 20.0, 3).infinite_mass == pytest.approx(1.5 * math.exp(-19.0), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("noisy-max", {"scale": 0.0}, "scale = 0.0: must be positive"),
        ("noisy-max", {"scale": 1.0, "monotone": 1}, "monotone = 1: must be true or false"),
        ("sparse-vector", {"threshold_scale": 1, "query_scale": 1, "positives": 0}, "positives"),
        ("propose-test-release", {"test_scale": 1, "epsilon": 1, "delta": 0.0}, "delta = 0"),
        (
            "thresholded-keys",
            {"noise": "laplace", "scale": 1.0, "threshold": 9.0, "keys": 1},
            "neighbours = 'replace one'",
        ),
    ],
)
def test_what_has_no_price(name: str, parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        priced(name, **parameters)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (("laplace", 1.0, 0.5, 3), "threshold = 0.5"),
        (("laplace", 1.0, math.inf, 3), "threshold = inf"),
        (("gaussian", 5.0, 2.0, 9), "threshold = 2.0"),
        (("gumbel", 1.0, 9.0, 3), "noise = 'gumbel'"),
        (("laplace", 0.0, 9.0, 3), "scale"),
        (("laplace", 1.0, 9.0, 0), "keys = 0"),
    ],
)
def test_keys_that_have_no_price(numbers: tuple[str, float, float, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        keys(*numbers)
