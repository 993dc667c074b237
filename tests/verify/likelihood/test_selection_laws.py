"""Laws of selections, against the literature's values."""

import math

import pytest

from verify.likelihood.selection_laws import noisy_max_law, sparse_vector_law

EPSILON = 0.1


def both(law, other, delta=0.0):
    pair = law.compared(other)
    return max(pair.epsilon(delta).lower, pair.swapped.epsilon(delta).lower)


@pytest.mark.parametrize(
    ("noise", "data", "other", "expected"),
    [
        ("laplace", [1, 1, 1, 1, 1], [0, 2, 2, 2, 2], 0.094615),  # B1
        ("laplace", [1, 9, 9, 9, 9], [0, 10, 10, 10, 10], 0.09840),  # B1, gap 10
        ("exponential", [1, 1, 1, 1, 1], [0, 2, 2, 2, 2], 0.1),  # B2, attained
    ],
)
def test_noisy_max_meets_the_literature(noise, data, other, expected):
    laws = [noisy_max_law(answers, scale=2 / EPSILON, noise=noise) for answers in (data, other)]
    assert both(*laws) == pytest.approx(expected, abs=6e-6)


def test_sparse_vector_meets_the_literature():
    data, other = [1] * 10, [2] * 5 + [0] * 5

    def law(answers, **options):
        return sparse_vector_law(answers, threshold_scale=2 / EPSILON, **options)

    laws = [law(answers, threshold=0.5, query_scale=4 / EPSILON, most=1) for answers in (data, other)]
    assert both(*laws) == pytest.approx(0.088526, abs=1e-6)  # C1
    laws = [law(answers, threshold=1.0, query_scale=0.0) for answers in (data, other)]
    assert both(*laws) == math.inf  # C5, and the mass of what is impossible on D
    impossible = laws[1].compared(laws[0]).delta(50.0)
    assert impossible.lower <= 1 - math.exp(-EPSILON / 2) <= impossible.upper
