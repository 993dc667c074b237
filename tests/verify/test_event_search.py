"""The search finds the event that the family was made for, and no other when there is nothing to find."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from verify.event_search import ChosenEvent, search_events
from verify.events import AdditiveScore, Column, HalfLine, Near, ReportCount, RowTable, ViewSample

Sampler = Callable[[int, np.random.Generator], npt.NDArray[Any]]


def real(count: int) -> tuple[Column, ...]:
    return tuple(Column(f"x[{i}]", f"value {i + 1}", "real") for i in range(count))


def category(count: int) -> tuple[Column, ...]:
    return tuple(Column(f"a[{i}]", f"the item shown in round {i + 1}", "category") for i in range(count))


def search(
    columns: tuple[Column, ...], world: Sampler, other: Sampler, n: int = 20_000, delta: float = 0.0
) -> tuple[ChosenEvent, ChosenEvent]:
    rng = np.random.default_rng(11)
    fit, choose = (
        tuple(ViewSample(draw(n, rng).astype(float), columns) for draw in (world, other)) for _ in range(2)
    )
    return search_events(fit, choose, final_samples=200_000, delta=delta, error=1e-4)  # type: ignore[arg-type]


def test_laplace_gives_a_half_line_in_each_order() -> None:
    first, second = search(
        real(1), lambda n, r: r.laplace(0.0, 1.0, (n, 1)), lambda n, r: r.laplace(1.0, 1.0, (n, 1))
    )
    assert isinstance(first.event, HalfLine)
    assert not first.event.above
    assert -0.3 < first.event.threshold < 0.3
    assert not first.swapped
    assert isinstance(second.event, HalfLine)
    assert second.event.above
    assert second.swapped
    assert 0.8 < first.predicted < 1.0


def test_a_large_rare_ratio_loses_against_a_solid_one() -> None:
    """Value 9 has ratio 20 but mass 1e-3 in 20,000 draws; value 0 has ratio 4 with mass 0.4."""

    def draw(weights: list[float]) -> Sampler:
        return lambda n, r: r.choice([0.0, 1.0, 9.0], (n, 1), p=weights)

    first, _ = search(category(1), draw([0.4, 0.599, 0.001]), draw([0.1, 0.89995, 0.00005]))
    assert first.event.holds(ViewSample(np.array([[0.0], [1.0]]), category(1))).tolist() == [True, False]


def test_an_absent_report_is_found_and_said_as_a_count() -> None:
    def draw(sent: int) -> Sampler:
        def sample(n: int, r: np.random.Generator) -> npt.NDArray[Any]:
            values = r.random((n, 5))
            values[:, sent:] = np.nan
            return values

        return sample

    first, second = search(real(5), draw(1), draw(3))
    assert first.event == ReportCount(1, False, 5)
    assert second.event == ReportCount(3, True, 5)


def test_one_noise_draw_shared_is_found_in_a_difference() -> None:
    def draw(x: float) -> Sampler:
        return lambda n, r: np.array([x, 0.0]) + r.laplace(0.0, 1000.0, (n, 1))

    first, second = search(real(2), draw(0.0), draw(1.0))
    assert isinstance(first.event, Near)
    assert first.event.centre == 0.0
    assert isinstance(second.event, Near)
    assert second.event.centre == 1.0
    assert first.predicted > 7.0  # 20,000 draws cannot promise more of an event never seen in the other world


def test_coordinates_that_move_together_are_found_by_an_additive_score() -> None:
    first, _ = search(
        real(8), lambda n, r: r.laplace(0.0, 2.0, (n, 8)), lambda n, r: r.laplace(1.0, 2.0, (n, 8)), n=40_000
    )
    assert isinstance(first.event, AdditiveScore)
    assert first.predicted > 2.0, "one coordinate alone shows 0.5"


def test_categories_that_matter_only_together_are_found_as_a_pair() -> None:
    def draw(equal: float) -> Sampler:
        def sample(n: int, r: np.random.Generator) -> npt.NDArray[Any]:
            a = r.integers(0, 2, n)
            b = np.where(r.random(n) < equal, a, 1 - a)
            return np.column_stack([a, b, r.integers(0, 2, n)])

        return sample

    first, second = search(category(3), draw(0.9), draw(0.1))
    for chosen in (first, second):
        assert isinstance(chosen.event, RowTable)
        assert chosen.event.indices == (0, 1)
        assert chosen.predicted == pytest.approx(math.log(9), abs=0.15)


def test_whole_transcripts_are_read_together_while_they_repeat() -> None:
    """The parity of four fair bits: no pair and no sum of columns shows anything."""

    def draw(even: float) -> Sampler:
        def sample(n: int, r: np.random.Generator) -> npt.NDArray[Any]:
            bits = r.integers(0, 2, (n, 4))
            bits[:, 3] = (bits[:, :3].sum(1) + (r.random(n) >= even)) % 2
            return bits

        return sample

    first, _ = search(category(4), draw(0.8), draw(0.2))
    assert isinstance(first.event, RowTable)
    assert first.event.indices == (0, 1, 2, 3)
    assert len(first.event.rows) == 8
    assert first.predicted == pytest.approx(math.log(4), abs=0.1)


def test_all_but_a_frequent_value_is_an_event() -> None:
    """Everything else is spread over a million values, so that no table can list it."""

    def draw(frequent: float) -> Sampler:
        return lambda n, r: np.where(r.random(n) < frequent, 7e5, r.integers(0, 10**6, n)).reshape(n, 1)

    first, _ = search(category(1), draw(0.5), draw(0.95))
    assert isinstance(first.event, RowTable)
    assert first.event.words == "the item shown in round 1 is not 700000"
    assert first.predicted == pytest.approx(math.log(10), abs=0.2)


def test_a_support_that_ends_is_found() -> None:
    first, _ = search(real(1), lambda n, r: r.random((n, 1)), lambda n, r: r.random((n, 1)) + 0.1)
    assert isinstance(first.event, HalfLine)
    assert first.event.threshold == pytest.approx(0.1, abs=0.02)


def test_delta_moves_the_event_to_the_mass_that_pays() -> None:
    """A Gaussian with δ = 0.01: tails have the largest ratio, and lie within δ."""
    first, _ = search(
        real(1), lambda n, r: r.normal(0.0, 1.0, (n, 1)), lambda n, r: r.normal(1.0, 1.0, (n, 1)), delta=0.01
    )
    assert isinstance(first.event, HalfLine)
    assert float(np.mean(np.random.default_rng(0).normal(size=10_000) <= first.event.threshold)) > 0.03


@pytest.mark.parametrize("value", [0.0, math.nan, math.inf, -math.inf])
def test_constant_views_are_harmless(value: float) -> None:
    for columns in (real(2), category(2)):
        for chosen in search(
            columns, lambda n, r: np.full((n, 2), value), lambda n, r: np.full((n, 2), value), n=512
        ):
            assert chosen.predicted <= 0.0


def test_equal_worlds_promise_nothing() -> None:
    """Predictions are moved by 3 standard errors, so that equal worlds stay near 0."""
    for columns in (real(3), category(3)):
        for chosen in search(
            columns, lambda n, r: r.integers(0, 9, (n, 3)), lambda n, r: r.integers(0, 9, (n, 3))
        ):
            assert chosen.predicted < 0.05
