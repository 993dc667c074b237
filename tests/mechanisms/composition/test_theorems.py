"""Composition theorems side by side: none below the exact composition, closed forms against formulas."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poisson import subsampled

from mechanisms import (
    ApproximateProfile,
    BoundedRangeProfile,
    GaussianProfile,
    LaplaceProfile,
    ParameterError,
    PrivacyProfile,
    PureProfile,
    ZeroConcentratedProfile,
)
from mechanisms.composition import composed_loss
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.enclosure import Enclosure, lower_end
from mechanisms.composition.theorems import EXACT, THEOREMS

MIXED: list[list[tuple[PrivacyProfile, int]]] = [
    [(LaplaceProfile(1.0, 20.0), 1000)],
    [(GaussianProfile(0.05), 1000)],
    [(LaplaceProfile(1.0, 30.0), 40), (GaussianProfile(0.1), 30)],
    [(PureProfile(0.1), 50), (PureProfile(0.3), 5)],  # type: ignore[arg-type]
    [(subsampled(GaussianProfile(1.0), 0.05), 100)],
    [(LaplaceProfile(1.0, 2000.0), 1000)],
    [(ZeroConcentratedProfile(0.01), 20)],
    [(ApproximateProfile(0.1, 1e-9), 20)],  # type: ignore[arg-type]
]


@pytest.mark.few(2)
@pytest.mark.parametrize("releases", MIXED)
def test_no_theorem_is_below_the_exact_composition(releases: list[tuple[PrivacyProfile, int]]) -> None:
    table = compose(releases).theorems(delta=1e-6)
    exact = table[EXACT]
    assert table.keys() <= THEOREMS.keys()
    assert "basic composition" in table
    answer = compose(releases).epsilon(1e-6)
    for row in table.values():
        assert row.upper >= (lower_end(answer) or 0.0)
        assert answer.upper <= row.upper * (1 + 1e-9)
    assert isinstance(exact, Enclosure) == all(profile.attained() for profile, _ in releases)


@pytest.mark.parametrize(
    "releases", [MIXED[0], *(pytest.param(releases, marks=pytest.mark.slow) for releases in MIXED[1:3])]
)
def test_delta_at_an_epsilon(releases: list[tuple[PrivacyProfile, int]]) -> None:
    """A theorem that splits delta among the releases may split it otherwise at a given epsilon."""
    table = compose(releases).theorems(epsilon=6.0)
    for name, row in table.items():
        assert row.upper >= table[EXACT].lower
        if name not in (EXACT, "basic composition", "optimal composition") and 0.0 < row.upper < 0.9:
            assert THEOREMS[name].epsilon(releases, row.upper).upper <= 6.0 * (1.0 + 1e-9)


@pytest.mark.slow_cells("2.0-releases6", "2.0-releases4")
@pytest.mark.few(8)
@pytest.mark.parametrize("releases", MIXED)
@pytest.mark.parametrize("epsilon", [2.0, 6.0])
def test_optimal_composition_proves_no_more_than_its_closed_bound(
    releases: list[tuple[PrivacyProfile, int]], epsilon: float
) -> None:
    """Of 20 (0.1, 1e-9)-DP releases it said δ = 0.042 at ε = 2, where 4e-8 is proved."""
    table = compose(releases).theorems(epsilon=epsilon)
    closed = table.get("optimal composition, closed bound")
    assert closed is None or table["optimal composition"].upper <= closed.upper


@pytest.mark.parametrize("asked", [{"delta": 1e-6}, {"epsilon": 1.0}])
def test_what_is_known_of_the_distributions_is_not_computed_again(
    asked: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = compose([(LaplaceProfile(1.0, 4.0), 3)])
    known = loss.epsilon(1e-6) if "delta" in asked else loss.delta(1.0)
    monkeypatch.setattr(composed_loss, "largest_epsilon", None)
    monkeypatch.setattr(composed_loss, "largest_delta", None)
    assert loss.theorems(delta=asked.get("delta"), epsilon=asked.get("epsilon"))[EXACT] == known


def test_formulas() -> None:
    e, n, delta = 0.05, 1000, 1e-6
    table = compose([(LaplaceProfile(1.0, 20.0), n)]).theorems(delta=delta)
    assert table["basic composition"].upper == pytest.approx(50.0)
    advanced = e * math.sqrt(2 * n * math.log(1 / delta)) + n * e * (math.exp(e) - 1)
    assert table["advanced composition"].upper == pytest.approx(advanced)
    drift = n * e * (math.exp(e) - 1) / (math.exp(e) + 1)
    square = n * e * e
    closed = drift + math.sqrt(2 * square * math.log(math.e + math.sqrt(square) / delta))
    simple = drift + math.sqrt(2 * square * math.log(1 / delta))
    assert table["optimal composition, closed bound"].upper == pytest.approx(min(closed, simple))
    assert "corollary 4.1" not in table  # beyond ε = 0.9


def optimal_homogeneous(epsilon: float, delta: float, count: int) -> list[tuple[float, float]]:
    """All (ε_i, δ_i) that `count` (ε, δ)-DP releases satisfy at best (Kairouz, Oh, Viswanath 2015, Thm 3.3).

    ε_i = (k - 2i) ε for i = 0 .. ⌊k/2⌋ and 1 - δ_i' = (1-δ)^k (1 - δ_i),
    δ_i = Σ_{l<i} C(k,l) (e^{(k-l)ε} - e^{(k-2i+l)ε}) / (1 + e^ε)^k, summed in logarithms.
    """
    kept = count * math.log1p(-delta)
    base = count * float(np.logaddexp(0.0, epsilon))
    result = []
    for i in range(count // 2 + 1):
        logs = [math.log(math.comb(count, j)) + (count - j) * epsilon - base for j in range(i)]
        own = math.fsum(math.exp(log) * -math.expm1(-2.0 * (i - j) * epsilon) for j, log in enumerate(logs))
        result.append(((count - 2 * i) * epsilon, -math.expm1(kept + math.log1p(-min(own, 1.0 - 1e-16)))))
    return result


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.floats(0.02, 1.5), st.integers(1, 60), st.sampled_from([0.0, 1e-7]))
def test_optimal_homogeneous_is_the_composition_of_randomized_responses(
    e: float, n: int, delta: float
) -> None:
    profile = ApproximateProfile(e, delta) if delta else PureProfile(e)  # type: ignore[arg-type]
    loss = compose([(profile, n)])
    for epsilon, own in optimal_homogeneous(e, delta, n):
        interval = loss.product_delta(epsilon)
        assert interval.lower <= own * (1 + 1e-9) + 1e-14
        assert own <= interval.upper * (1 + 1e-9) + 1e-14


@pytest.mark.slow
@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(2, 500), st.floats(1e-9, 1e-3), st.floats(0.1, 0.899))
def test_corollary_4_1_holds(count: int, delta: float, epsilon: float) -> None:
    """ε' per release composes to (ε, δ): the exact composition of randomized responses agrees."""
    from mechanisms.composition.conversions import corollary_4_1

    each = corollary_4_1(epsilon, delta, count)
    assert compose([(PureProfile(each), count)]).epsilon(delta).upper <= epsilon  # type: ignore[arg-type]
    table = compose([(PureProfile(each), count)]).theorems(delta=delta)  # type: ignore[arg-type]
    assert table["corollary 4.1"].upper == pytest.approx(epsilon, rel=1e-6)


def test_delta_zero_and_nothing() -> None:
    table = compose([(LaplaceProfile(1.0, 4.0), 3)]).theorems(delta=0.0)
    assert table[EXACT].upper == table["basic composition"].upper == 0.75
    assert {interval.upper for interval in compose([]).theorems(delta=1e-6).values()} == {0.0}


@pytest.mark.parametrize("arguments", [{}, {"delta": 1e-6, "epsilon": 1.0}, {"delta": 1.5}, {"delta": -0.1}])
def test_questions_are_checked(arguments: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="delta"):
        compose([(LaplaceProfile(1.0, 4.0), 3)]).theorems(**arguments)


@pytest.mark.parametrize(
    ("names", "profiles"),
    [
        (
            ("advanced composition", "optimal composition, closed bound"),
            (PureProfile(Fraction(1e290)), PureProfile(Fraction(1e200))),
        ),
        (("zCDP",), (ZeroConcentratedProfile(1.7e308), ZeroConcentratedProfile(1.6e308))),
        (("Gaussian DP",), (GaussianProfile(1.3e154), GaussianProfile(1.2e154))),
    ],
)
def test_totals_beyond_floats_are_infinite(
    names: tuple[str, ...], profiles: tuple[PrivacyProfile, ...]
) -> None:
    """Squares and sums of floats beyond floats were an OverflowError."""
    for name in names:
        found = THEOREMS[name].epsilon([(profile, 1) for profile in profiles], 1e-6)
        assert found is None or found.upper >= 1e290


@pytest.mark.parametrize("largest", [5e-324, 1e-320, 1e-315])
def test_the_smallest_losses_end_the_search_of_corollary_4_1(largest: float) -> None:
    """It went on for ever between two neighbouring floats."""
    found = THEOREMS["corollary 4.1"].epsilon([(PureProfile(Fraction(largest)), 1)], 1e-6)
    assert found is not None
    assert 2.0 * largest < found.upper <= 1e-299


@pytest.mark.parametrize("profile", [PureProfile(Fraction(1e-170)), GaussianProfile(1e-170)])
@pytest.mark.parametrize("name", ["advanced composition", "optimal composition, closed bound", "Gaussian DP"])
def test_losses_whose_squares_are_below_floats_are_not_free(name: str, profile: PrivacyProfile) -> None:
    """Their squares were 0, and so was what a theorem promised."""
    found = THEOREMS[name].epsilon([(profile, 1)], 1e-200)
    assert found is not None
    assert profile.epsilon(1e-200) <= found.upper <= 1e-160


@pytest.mark.parametrize("kind", [BoundedRangeProfile, PureProfile])
@pytest.mark.parametrize("count", [13, 10**6])
def test_the_sum_of_pure_sizes_is_exact(kind: type, count: int) -> None:
    assert THEOREMS["basic composition"].epsilon([(kind(1), count)], 1e-6).upper == count


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sigma", [1e-154, 1e-160, 1e-200])
def test_gaussian_noise_near_the_end_of_floats_is_bounded_without_a_warning(sigma: float) -> None:
    mu = 1.0 / sigma  # of two: Σ μ²/2 = μ²
    assert compose([(GaussianProfile(mu), 2)]).epsilon(1e-6).upper >= mu * mu
