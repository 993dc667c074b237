"""The search finds the event that the family was made for, and no other when there is nothing to find."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from verify import verify
from verify.events.event import Event, HalfLine, RowTable
from verify.events.predicted_bound import ComingTest
from verify.events.rounded_readings import Rounded
from verify.events.scores import AdditiveScore
from verify.events.search import DECADES, ChosenEvent, search_events
from verify.events.summaries import ColumnSummary
from verify.events.view_sample import Column, ViewSample

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
    return search_events(fit, choose, ComingTest(delta, 1e-4, 200_000)).best  # type: ignore[arg-type]


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


@pytest.mark.slow
def test_an_absent_report_is_found_and_said_as_a_count() -> None:
    def draw(sent: int) -> Sampler:
        def sample(n: int, r: np.random.Generator) -> npt.NDArray[Any]:
            values = r.random((n, 5))
            values[:, sent:] = np.nan
            return values

        return sample

    first, second = search(real(5), draw(1), draw(3))
    assert first.event == HalfLine(ColumnSummary("present", real(5)), 1.0, False)
    # The edge of the other world's values, which is a whole number: equal to "at least 3" where 1 or 3 are present.
    assert second.event == HalfLine(ColumnSummary("present", real(5)), 2.0, True)


def test_one_noise_draw_shared_is_found_in_a_difference() -> None:
    def draw(x: float) -> Sampler:
        return lambda n, r: np.array([x, 0.0]) + r.laplace(0.0, 1000.0, (n, 1))

    for chosen in search(real(2), draw(0.0), draw(1.0)):
        assert "(value 2 − value 1)" in chosen.event.description
        assert (
            chosen.predicted > 7.0
        )  # 20,000 draws cannot promise more of an event never seen in the other world


@pytest.mark.slow
def test_coordinates_that_move_apart_are_found_by_an_additive_score() -> None:
    """ε is 4; no coordinate alone shows more than 0.5, and no sum or extreme of them much more."""
    shift = np.array([1.0, -1.0] * 4)
    first, _ = search(
        real(8),
        lambda n, r: r.laplace(0.0, 2.0, (n, 8)),
        lambda n, r: r.laplace(shift, 2.0, (n, 8)),
        n=40_000,
    )
    assert isinstance(first.event, HalfLine)
    assert isinstance(first.event.reading, AdditiveScore)
    assert first.predicted > 2.0


@pytest.mark.slow
def test_steps_of_a_running_sum_are_found_by_an_additive_score() -> None:
    """Each step of the sum has its own noise: ε is 5, and the last sum alone shows far less."""
    shift = np.array([1.0] * 5)
    first, second = search(
        real(5),
        lambda n, r: np.cumsum(r.laplace(0.0, 1.0, (n, 5)), axis=1),
        lambda n, r: np.cumsum(r.laplace(shift, 1.0, (n, 5)), axis=1),
        n=40_000,
    )
    for chosen in (first, second):
        assert "table entry" in chosen.event.description
        assert chosen.predicted > 2.5


@pytest.mark.slow
def test_categories_that_matter_only_together_are_found_together() -> None:
    def draw(equal: float) -> Sampler:
        def sample(n: int, r: np.random.Generator) -> npt.NDArray[Any]:
            a = r.integers(0, 2, n)
            b = np.where(r.random(n) < equal, a, 1 - a)
            return np.column_stack([a, r.integers(0, 3, n), b])

        return sample

    first, second = search(category(3), draw(0.9), draw(0.1))
    rows = ViewSample(
        np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0, 2.0) for c in (0.0, 1.0)]), category(3)
    )
    equal = (rows.values[:, 0] == rows.values[:, 2]).tolist()
    for chosen, expected in ((first, equal), (second, [not same for same in equal])):
        held = chosen.event.holds(rows)
        assert held.any()
        assert np.all(~held | expected)
        assert chosen.predicted == pytest.approx(math.log(9), abs=0.15)


@pytest.mark.slow
def test_whole_transcripts_are_read_together_while_they_repeat() -> None:
    """40 of the 81 rows of four three-valued columns, picked at random, are likelier in the first world."""
    rows = np.array(list(product((0.0, 1.0, 2.0), repeat=4)))
    marked = np.random.default_rng(3).permutation(81) < 40

    def draw(share: float) -> Sampler:
        weights = np.where(marked, share / 40, (1.0 - share) / 41)
        return lambda n, r: rows[r.choice(81, n, p=weights)]

    first, _ = search(category(4), draw(0.7), draw(0.3))
    held = first.event.holds(ViewSample(rows, category(4)))
    assert np.count_nonzero(held & ~marked) <= 2
    assert np.count_nonzero(held & marked) >= 20
    assert first.predicted == pytest.approx(math.log(7 / 3), abs=0.1)


def test_all_but_a_frequent_value_is_an_event() -> None:
    """Everything else is spread over a million values, so that no table can list it."""

    def draw(frequent: float) -> Sampler:
        return lambda n, r: np.where(r.random(n) < frequent, 7e5, r.integers(0, 10**6, n)).reshape(n, 1)

    first, _ = search(category(1), draw(0.5), draw(0.95))
    assert isinstance(first.event, RowTable)
    assert first.event.description == "the item shown in round 1 ≠ 700000"
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


def test_a_change_of_width_is_found_by_a_score_of_one_number() -> None:
    def middle(share: float) -> Sampler:
        return lambda n, r: np.where(
            r.random((n, 1)) < share, r.random((n, 1)), r.choice([-1, 2], (n, 1)) + r.random((n, 1))
        )

    inside, _ = search(real(1), middle(0.6), middle(0.2))
    outside, _ = search(real(1), middle(0.9), middle(0.98), delta=0.004)
    between = ViewSample(np.array([[0.5]]), real(1))
    assert inside.event.holds(between).all()
    assert not outside.event.holds(between).any()
    assert inside.predicted > 0.9 * math.log(3.0)
    assert outside.predicted > 0.8 * math.log(5.0)


def test_a_value_sent_by_one_world_only_is_named() -> None:
    """A default among continuous values, infinity, and absence: each seen in 1 % of one world's draws."""
    for value in (-1000.0, math.inf, -math.inf, math.nan):

        def draw(share: float, value: float = value) -> Sampler:
            return lambda n, r: np.where(r.random((n, 1)) < share, value, r.normal(size=(n, 1)))

        first, _ = search(real(1), draw(0.01), draw(0.0))
        sample = ViewSample(np.array([[value], [0.0], [5.0], [-5.0]]), real(1))
        assert first.event.holds(sample).tolist() == [True, False, False, False]
        assert first.predicted > 3.0


def plant(change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], share: float, k: int = 6) -> Sampler:
    """Six normal values, and a share of the draws changed."""

    def sample(n: int, r: np.random.Generator) -> npt.NDArray[Any]:
        values = r.normal(size=(n, k))
        changed = r.random(n) < share
        values[changed] = change(values[changed])
        return values

    return sample


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "operation"),
    [
        (lambda v: v + 1.0, "sum"),
        (lambda v: np.where(v == v.max(axis=1, keepdims=True), v + 4.0, v), "largest"),
        (lambda v: np.where(v == v.min(axis=1, keepdims=True), v - 4.0, v), "smallest"),
    ],
)
def test_leaks_in_derived_readings_are_found(
    change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], operation: str
) -> None:
    first, _ = search(real(6), plant(change, 0.4), plant(change, 0.0), n=6_000)
    reading = first.event.reading if isinstance(first.event, HalfLine) else None
    if isinstance(first.event, RowTable):
        (reading,) = first.event.readings
    reading = reading.reading if isinstance(reading, Rounded) else reading
    told = isinstance(reading, ColumnSummary) and reading.operation == operation
    assert told or isinstance(reading, AdditiveScore)
    assert first.predicted > 0.5


@pytest.mark.slow
def test_a_sequence_that_stops_is_told_by_its_length() -> None:
    """Zeros, a one, then -1 ("stopped"): the place of the one has a law of its own in each world."""

    def draw(p: float) -> Sampler:
        def sample(n: int, r: np.random.Generator) -> npt.NDArray[Any]:
            stop = np.minimum(r.geometric(p, n), 12)[:, None]
            place = np.arange(1, 13)[None, :]
            return np.where(place < stop, 0.0, np.where(place == stop, 1.0, -1.0))

        return sample

    first, second = search(real(12), draw(0.2), draw(0.1))
    for chosen in (first, second):
        assert "score" not in chosen.event.description
        assert chosen.predicted > 0.55


def test_naive_laplace_noise_leaks_on_the_lattice_only() -> None:
    """Known: 0 + noise may be any small double, 1 + noise only a multiple of 2^-53."""

    def draw(x: float) -> Sampler:
        return lambda n, r: x + r.laplace(0.0, 1.0, (n, 1))

    rng = np.random.default_rng(11)
    n = 40_000
    fit, choose = (tuple(ViewSample(draw(x)(n, rng), real(1)) for x in (0.0, 1.0)) for _ in range(2))
    plain = search_events(fit, choose, ComingTest(0.0, 1e-4, 200_000))  # type: ignore[arg-type]
    assert all(chosen.predicted < 1.01 for chosen in plain.best)
    lattice = search_events(fit, choose, ComingTest(0.0, 1e-4, 200_000), lattice=True)  # type: ignore[arg-type]
    first = lattice.best[0]
    assert first.predicted > 5.0
    assert "multiple" in first.event.description or "bits" in first.event.description
    fresh = [float(first.event.holds(ViewSample(draw(x)(n, rng), real(1))).mean()) for x in (0.0, 1.0)]
    assert fresh[0] > 0.05
    assert fresh[1] == 0.0


def test_noise_on_a_lattice_does_not_leak_there() -> None:
    """The geometric mechanism in binary steps: worlds one step apart have the same lattice."""

    def draw(x: float) -> Sampler:
        return lambda n, r: x + 0.25 * (r.geometric(0.1, (n, 1)) - r.geometric(0.1, (n, 1)))

    rng = np.random.default_rng(11)
    fit, choose = (tuple(ViewSample(draw(x)(20_000, rng), real(1)) for x in (0.0, 0.5)) for _ in range(2))
    found = search_events(fit, choose, ComingTest(0.0, 1e-4, 200_000), lattice=True)  # type: ignore[arg-type]
    assert all(chosen.predicted < 2.0 * -math.log(0.9) for chosen in found.best)


def test_the_band_has_an_event_for_every_epsilon_that_pays() -> None:
    """Laplace(1) on 0 and 1: δ(ε) = 1 - e^((ε - 1)/2) for ε < 1, reached by the half-line at (1 - ε)/2."""
    rng = np.random.default_rng(11)
    fit, choose = (
        tuple(ViewSample(rng.laplace(x, 1.0, (50_000, 1)), real(1)) for x in (0.0, 1.0)) for _ in range(2)
    )
    epsilons = (0.0, 0.5, 0.5, 0.9, 3.0, 2000.0)
    found = search_events(
        fit,
        choose,
        ComingTest(0.0, 0.05, 200_000),
        band_epsilons=epsilons,  # type: ignore[arg-type]
    )
    assert len(found.band) == 3, "0.5 twice is one event, and nothing has δ > 0 at 3 or 2000"
    for chosen, epsilon in zip(found.band, (0.0, 0.5, 0.9), strict=True):
        true = 1.0 - math.exp((epsilon - 1.0) / 2.0)
        assert 0.0 < chosen.predicted < true + 0.005
        assert chosen.predicted > true - 0.03
    assert search_events(fit, choose, ComingTest(0.0, 0.05, 100)).band == ()  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_search_is_the_same_every_time() -> None:
    def again() -> tuple[ChosenEvent, ChosenEvent]:
        return search(
            real(3),
            lambda n, r: r.laplace(0.0, 2.0, (n, 3)),
            lambda n, r: r.laplace(1.0, 2.0, (n, 3)),
            n=2_000,
        )

    assert [chosen.event.to_dict() for chosen in again()] == [chosen.event.to_dict() for chosen in again()]
    assert [chosen.predicted for chosen in again()] == [chosen.predicted for chosen in again()]


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("n", [1, 5, 300])
def test_strange_values_are_harmless(k: int, n: int, lattice: bool) -> None:
    """Huge, tiny, infinite and absent values, in all mixtures."""
    rng = np.random.default_rng(13)
    strange = np.array([0.0, -0.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, 1.0])
    for columns in (real(k), category(k)):
        for values in (strange, strange[:5], strange[5:8], strange[2:3]):
            fit, choose = (
                tuple(ViewSample(rng.choice(values, (n, k)), columns) for _ in range(2)) for _ in range(2)
            )
            found = search_events(  # type: ignore[call-overload,unused-ignore]
                fit,
                choose,
                ComingTest(0.0, 0.05, 1000),
                lattice=lattice,  # type: ignore[arg-type]
            )
            for chosen in found.best:
                assert chosen.event.holds(choose[0]).shape == (n,)
                assert chosen.predicted < 1.5
                again = Event.rebuild(
                    json.loads(json.dumps(chosen.event.to_dict(), allow_nan=False)), columns
                )
                assert again.holds(choose[0]).tolist() == chosen.event.holds(choose[0]).tolist()


@pytest.mark.slow
def test_equal_worlds_give_events_that_fresh_draws_deny() -> None:
    """What is chosen in equal worlds has one probability in both.

    10 searches of 2 real and 2 few-valued columns; each chosen event is counted on 20,000 fresh draws a world,
    and the 20 differences lie within 5 standard errors, each with probability below 6e-7.
    """
    rng = np.random.default_rng(17)

    def draw(n: int) -> ViewSample:
        return ViewSample(np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, (n, 2))]), real(4))

    for _ in range(10):
        found = search_events((draw(600), draw(600)), (draw(600), draw(600)), ComingTest(0.0, 0.05, 5_000))
        for chosen in found.best:
            p, q = (float(chosen.event.holds(draw(20_000)).mean()) for _ in range(2))
            pooled = (p + q) / 2
            assert abs(p - q) <= 5.0 * math.sqrt(2.0 * pooled * (1.0 - pooled) / 20_000) + 1e-12


@pytest.mark.parametrize("value", [0.0, math.nan, math.inf, -math.inf])
def test_constant_views_are_harmless(value: float) -> None:
    for columns in (real(2), category(2)):
        for chosen in search(
            columns, lambda n, r: np.full((n, 2), value), lambda n, r: np.full((n, 2), value), n=512
        ):
            assert chosen.predicted <= 0.0


@pytest.mark.slow
def test_equal_worlds_promise_nothing() -> None:
    """Predictions are moved by 3 standard errors, so that equal worlds stay near 0."""
    for columns in (real(3), category(3)):
        for chosen in search(
            columns, lambda n, r: r.integers(0, 9, (n, 3)), lambda n, r: r.integers(0, 9, (n, 3))
        ):
            assert chosen.predicted < 0.05


@pytest.mark.slow
def test_copies_of_a_number_are_counted_by_their_side() -> None:
    """Each of twenty noisy copies says little; how many of them are large says most of what they say together."""
    rng = np.random.default_rng(5)
    fit, choose, fresh = (
        tuple(
            ViewSample(shift + rng.laplace(scale=10.0, size=(10_000, 20)), real(20)) for shift in (1.0, 0.0)
        )
        for _ in range(3)
    )
    found = search_events(fit, choose, ComingTest(0.0, 0.05, 1_000_000), shortlist=True)  # type: ignore[arg-type]
    best = max(found.best, key=lambda one: one.predicted)
    p, q = (np.mean(best.event.holds(world)) for world in fresh)
    assert abs(np.log(p / q)) > 0.4


@pytest.mark.slow
def test_the_shortlist_holds_the_best_and_only_what_promises_more() -> None:
    rng = np.random.default_rng(6)
    fit, choose = (
        tuple(ViewSample(rng.laplace(shift, 1.0, (20_000, 2)), real(2)) for shift in (0.0, 0.5))
        for _ in range(2)
    )
    found = search_events(fit, choose, ComingTest(0.0, 0.05, 1_000_000), shortlist=True)  # type: ignore[arg-type]
    assert found.shortlist[:2] == found.best
    top = max(one.predicted for one in found.best)
    assert all(one.predicted > top for one in found.shortlist[2:])
    assert (
        len({(one.event, one.swapped) for one in found.shortlist}) == len(found.shortlist) <= 4 + 4 * DECADES
    )
    plain = search_events(fit, choose, ComingTest(0.0, 0.05, 1_000_000))  # type: ignore[arg-type]
    assert plain.shortlist == plain.best == found.best


def test_the_best_event_that_can_be_read_is_listed_beside_a_score() -> None:
    rng = np.random.default_rng(0)
    fit, choose = (
        (
            ViewSample(rng.laplace(0.0, 10.0, (4096, 5)), real(5)),
            ViewSample(rng.laplace(1.0, 10.0, (4096, 5)), real(5)),
        )
        for _ in range(2)
    )
    found = search_events(fit, choose, ComingTest(0.0, 0.05, 100_000), shortlist=True)
    assert not all(one.event.readable for one in found.best)
    for swapped, best in enumerate(found.best):
        read = [one for one in found.shortlist if one.swapped == swapped and one.event.readable]
        assert max(one.predicted for one in read) > 0.7 * best.predicted


@pytest.mark.slow
def test_an_event_that_can_be_read_is_tested_where_it_says_nearly_as_much() -> None:
    """Of svt6 none does: a table of 53 rows of ten columns, which was tested before, is not read to its end."""
    result = verify("zoo/laplace-per-coordinate", effort="quick", seed=50)
    assert result.verdict == "refuted"
    assert result.witness is not None
    assert "table entry" not in result.witness.event
