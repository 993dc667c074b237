import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.linear.g_optimal import Design, DesignError, g_optimal_design, support_bound


def sphere(actions: int, dimension: int, seed: int) -> np.ndarray:
    points = np.random.default_rng(seed).standard_normal((actions, dimension))
    return points / np.linalg.norm(points, axis=1)[:, None]


def leverage(points: np.ndarray, design: Design) -> float:
    """The largest leverage, by pseudo-inverse and independently of the function's own check."""
    chosen = points[design.support]
    inverse = np.linalg.pinv((chosen.T * design.weights) @ chosen, rcond=1e-12, hermitian=True)
    return float(np.max(np.einsum("ij,jk,ik->i", points, inverse, points)))


def check(points: np.ndarray, factor: float = 2.0) -> Design:
    for start in ("volume", "extremes"):
        design = g_optimal_design(points, factor=factor, start=start)
        check_design(points, design, factor)
    return design


def check_design(points: np.ndarray, design: Design, factor: float) -> None:
    d = design.dimension
    assert d == np.linalg.matrix_rank(points)
    assert design.weights.min() > 0.0
    assert design.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(np.diff(design.support) > 0)
    assert design.support.size <= support_bound(d)
    assert design.leverage == pytest.approx(leverage(points, design), rel=1e-6)
    assert d * (1 - 1e-9) <= design.leverage <= factor * d * (1 + 1e-12)  # no design has g below d


@pytest.mark.parametrize(("actions", "dimension", "most"), [(1000, 20, 30), (100, 5, 8), (50, 2, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_from_a_large_volume_the_support_is_small(actions: int, dimension: int, most: int, seed: int) -> None:
    points = sphere(actions, dimension, seed)
    few = g_optimal_design(points, start="volume").support.size
    assert dimension <= few <= most
    assert few < 0.7 * g_optimal_design(points).support.size


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("actions", "dimension"), [(1000, 20), (300, 4), (50, 2), (40, 1), (20, 20), (5000, 8)]
)
@pytest.mark.parametrize("seed", range(3))
def test_random_actions(actions: int, dimension: int, seed: int) -> None:
    check(sphere(actions, dimension, seed))


@pytest.mark.slow
def test_the_target_size() -> None:
    design = check(sphere(100_000, 20, 0))
    assert design.support.size <= 45


def test_tighter_designs() -> None:
    for factor in (1.5, 1.1):
        check(sphere(200, 5, 1), factor)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_actions_that_do_not_span(actions: int, rank: int, dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((actions, min(rank, dimension))) @ rng.standard_normal(
        (min(rank, dimension), dimension)
    )
    check(points / np.linalg.norm(points, axis=1).max())


def test_special_sets() -> None:
    assert check(np.eye(3)).weights.tolist() == pytest.approx([1 / 3] * 3)
    one = check(np.array([[0.3, 0.4]]))
    assert (one.support.tolist(), one.dimension) == ([0], 1)
    doubled = check(np.repeat(np.eye(4), 5, axis=0))
    assert doubled.support.size == 4  # ties go to the lowest id
    assert doubled.support.tolist() == [0, 5, 10, 15]
    mixed = np.vstack([np.zeros((2, 3)), np.eye(3)[:2] * 0.5])
    assert check(mixed).support.tolist() == [2, 3]
    # Beyond the actions looked at first: 5000 along one axis, a single one across.
    late = np.zeros((6000, 2))
    late[:, 0] = 1.0
    late[5999] = [0.0, 1e-3]
    assert 5999 in check(late).support


def test_is_invariant_under_scale() -> None:
    points = sphere(100, 4, 7)
    design, small = g_optimal_design(points), g_optimal_design(points * 2.0**-20)
    assert design.support.tolist() == small.support.tolist()
    assert design.weights == pytest.approx(small.weights)


@pytest.mark.parametrize("wrong", [np.zeros((3, 2)), np.zeros((0, 2)), [[np.nan, 1.0]], [1.0, 2.0]])
def test_refusals(wrong: object) -> None:
    with pytest.raises(DesignError, match="actions"):
        g_optimal_design(wrong)  # type: ignore[arg-type]


def test_a_factor_that_needs_too_many_actions_is_refused() -> None:
    with pytest.raises(DesignError, match="factor"):
        g_optimal_design(np.eye(2), factor=1.0)
    with pytest.raises(DesignError, match="actions for g <="):
        g_optimal_design(sphere(3000, 12, 0), factor=1.001)


def test_where_a_large_volume_leads_to_no_design_extreme_points_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise DesignError("none")

    points = sphere(200, 5, 3)
    expected = g_optimal_design(points)
    monkeypatch.setattr("algorithms.linear.g_optimal._of_large_volume", none)
    found = g_optimal_design(points, start="volume")
    np.testing.assert_array_equal(found.support, expected.support)
