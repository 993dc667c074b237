"""Binomial noise with p != 1/2: which way a record moves the value worst depends on what was released before."""

import math

import numpy as np
import pytest
from scipy import stats

from mechanisms import BinomialProfile, GaussianProfile
from mechanisms.composition.composed_loss import compose


def _law(trials: int, shift: int, probability: float) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(trials + 1)
    return stats.binom.pmf(y, trials, probability), stats.binom.pmf(y + shift, trials, probability)


def one_release(trials: int, shift: int, probability: float, w: np.ndarray) -> np.ndarray:
    """max over both signs of Σ (P - wQ)^+, from sums over sorted likelihood ratios."""
    curves = []
    for p in (probability, 1.0 - probability):
        above, below = _law(trials, shift, p)
        kept = above > 0.0
        above, below = above[kept], below[kept]
        order = np.argsort(below / above)
        mass_p = np.concatenate([[0.0], np.cumsum(above[order])])
        mass_q = np.concatenate([[0.0], np.cumsum(below[order])])
        with np.errstate(divide="ignore"):
            k = np.searchsorted((below / above)[order], 1.0 / w)
        curves.append(mass_p[k] - w * mass_q[k])
    return np.maximum(*curves)


def two_releases(trials: int, shift: int, probability: float, epsilon: float) -> float:
    """V_2 = max over signs of E_P V_1(w V): the second sign is chosen when the first output is known."""
    worst = 0.0
    for p in (probability, 1.0 - probability):
        above, below = _law(trials, shift, p)
        kept = above > 0.0
        w = math.exp(epsilon) * below[kept] / above[kept]
        worst = max(worst, float(above[kept] @ one_release(trials, shift, probability, w)))
    return worst


ROWS = [(50, 1, 0.3), (200, 3, 0.1), (1000, 3, 0.3)]


@pytest.mark.slow_cells("row1", "row2")
@pytest.mark.parametrize("row", ROWS)
def test_two_releases_lie_between_fixed_data_and_the_larger_curve(row: tuple[int, int, float]) -> None:
    """The lower end was that of composing the larger curve, above the worst case by up to a hundredth."""
    loss = compose([(BinomialProfile(*row), 2)])
    for epsilon in (0.1, 0.5):
        interval = loss.delta(epsilon, width=1e-6)
        exact = two_releases(*row, epsilon)
        assert interval.lower <= exact * (1.0 + 1e-10)
        assert interval.upper >= exact * (1.0 - 1e-10)
        assert interval.width <= 0.04 * exact


@pytest.mark.slow
def test_epsilon_of_two_releases() -> None:
    loss = compose([(BinomialProfile(200, 3, 0.1), 2)])
    interval = loss.epsilon(1e-6)
    assert two_releases(200, 3, 0.1, interval.lower) >= 1e-6 * (1.0 - 1e-9)
    assert two_releases(200, 3, 0.1, interval.upper) <= 1e-6 * (1.0 + 1e-9)
    assert interval.width <= 2e-6


def test_only_what_one_pair_attains_is_exact() -> None:
    skewed, fair = BinomialProfile(50, 1, 0.3), BinomialProfile(50, 1)
    assert compose([(skewed, 1)]).attained
    assert not compose([(skewed, 2)]).attained
    assert not compose([(skewed, 1), (GaussianProfile(0.1), 1)]).attained
    assert compose([(fair, 2), (GaussianProfile(0.1), 1)]).attained


@pytest.mark.slow
def test_fair_noise_has_the_law_of_its_loss() -> None:
    """The contour over the atoms against direct convolution: both bracket the same number."""
    profile = BinomialProfile(50, 1)
    above, below = _law(50, 1, 0.5)
    kept = below > 0.0
    ratio = np.log(above[kept] / below[kept])
    sums, masses = np.add.outer(ratio, ratio), np.multiply.outer(above[kept], above[kept])
    infinite = 1.0 - above[kept].sum() ** 2
    exact = infinite + float(np.sum(masses * -np.expm1(np.minimum(1.0 - sums, 0.0))))
    interval = compose([(profile, 2)]).delta(1.0)
    assert interval.lower <= exact * (1 + 1e-11)
    assert interval.upper >= exact * (1 - 1e-11)
    assert interval.width <= 1e-6 * exact
