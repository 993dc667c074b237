"""Scores are what a slow literal program adds up, and fitted ones find what they are for."""

from __future__ import annotations

import json
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from verify.events.binned import Binned, bin_of
from verify.events.features import Draws, _bin_cuts, features, most_telling
from verify.events.readings import ColumnValue, Reading
from verify.events.score_fit import logistic, naive_bayes
from verify.events.scores import AdditiveScore, ScoreTable
from verify.events.summaries import ColumnSummary
from verify.events.view_sample import Column, ViewSample

NAN, INF = math.nan, math.inf
COLUMNS = tuple(Column(name, f"value {name}", "real") for name in "abc")
A, B, C = (ColumnValue(column) for column in COLUMNS)
TABLES = (
    ScoreTable(Binned(A, (1.0, 2.0)), (0.5, -0.25, 0.0), 0.125),
    ScoreTable(Binned(ColumnSummary("largest", COLUMNS[1:]), (0.0,)), (-4.0, 1.0), 0.0),
)
ADDITIVE = AdditiveScore(TABLES)
ROWS = arrays(
    np.float64,
    st.tuples(st.integers(1, 20), st.just(3)),
    elements=st.sampled_from([0.0, -1.0, 1.0, 2.0, INF, -INF, NAN]),
)


def literal_table(table: ScoreTable, value: float) -> float:
    if math.isnan(value):
        return table.absent
    return table.weights[sum(cut <= value for cut in table.binned.cuts)]


@given(ROWS)
def test_scores_add_what_their_tables_say(values: npt.NDArray[np.float64]) -> None:
    sample = ViewSample(values, COLUMNS)
    largest = TABLES[1].binned.reading.values(sample)
    for row, big, additive in zip(values, largest, ADDITIVE.values(sample), strict=True):
        assert additive == literal_table(TABLES[0], row[0]) + literal_table(TABLES[1], big)


def test_scores_survive_json() -> None:
    score = ADDITIVE
    data = json.loads(json.dumps(score.to_dict(), allow_nan=False))
    again = Reading.rebuild(data, COLUMNS)
    sample = ViewSample(np.random.default_rng(0).normal(size=(50, 3)), COLUMNS)
    np.testing.assert_array_equal(again.values(sample), score.values(sample))
    assert again.description == score.description
    assert again.to_dict() == score.to_dict()


def test_scores_say_what_they_weigh_most() -> None:
    assert "for each of 2 readings (largest weights first: the largest of" in ADDITIVE.description


def test_tables_are_checked() -> None:
    with pytest.raises(ValueError, match="cuts: must be at most 253"):
        Binned(A, tuple(map(float, range(254))))
    with pytest.raises(ValueError, match="one more than cuts"):
        ScoreTable(Binned(A, (0.0,)), (1.0,), 0.0)


@given(
    arrays(np.float64, st.integers(0, 60), elements=st.floats(allow_nan=True)),
    st.lists(st.floats(allow_nan=False), max_size=20, unique=True).map(sorted),
)
def test_bins_are_those_of_a_binary_search(values: npt.NDArray[np.float64], cuts: list[float]) -> None:
    expected = np.where(np.isnan(values), 0, 1 + np.searchsorted(np.array(cuts), values, side="right"))
    np.testing.assert_array_equal(bin_of(cuts, values), expected)


def test_frequent_values_get_bins_of_their_own() -> None:
    values = np.random.default_rng(0).normal(size=4000)
    values[:1000], values[1000:1500] = 0.125, INF
    cuts, ordered = _bin_cuts(values)
    assert ordered
    bins = bin_of(cuts, values)
    for atom in (0.125, INF):
        assert np.unique(values[bins == bin_of(cuts, np.array([atom]))[0]]).tolist() == [atom]
    few, ordered = _bin_cuts(np.array([3.0, 1.0, NAN, 1.0]))
    assert few.tolist() == [3.0]
    assert not ordered


def worlds(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> tuple[tuple[ViewSample, ViewSample], Draws]:
    columns = tuple(Column(f"x[{i}]", f"value {i}", "real") for i in range(first.shape[1]))
    return (ViewSample(first, columns), ViewSample(second, columns)), Draws.from_sizes(
        (len(first), len(second))
    )


def readings(fit: tuple[ViewSample, ViewSample]) -> list[Reading]:
    return [ColumnValue(column) for column in fit[0].columns]


def test_logistic_regression_knows_that_readings_repeat_each_other() -> None:
    """One value sent three times: naive Bayes triples its log ratio, the logistic model does not."""
    rng = np.random.default_rng(3)
    first, second = (np.repeat(rng.random((20_000, 1)) < p, 3, axis=1) * 1.0 for p in (0.6, 0.4))
    fit, draws = worlds(first, second)
    found = features(fit, readings(fit))
    fitted = logistic(found, draws)
    assert fitted is not None
    ends = ViewSample(np.array([[0.0] * 3, [1.0] * 3]), fit[0].columns)
    expected = 2.0 * math.log(0.6 / 0.4)
    assert np.diff(fitted.values(ends))[0] == pytest.approx(expected, abs=0.1)
    assert np.diff(naive_bayes(found, draws).values(ends))[0] == pytest.approx(3.0 * expected, abs=0.3)


def test_readings_that_add_next_to_nothing_are_dropped_and_others_kept() -> None:
    """Two of six columns are shifted; a reading that is dropped costs nothing when the score is counted."""
    rng = np.random.default_rng(8)
    shift = np.array([0.0, 0.5, 0.0, 0.0, 0.4, 0.0])
    first, second = rng.laplace(size=(20_000, 6)), shift + rng.laplace(size=(20_000, 6))
    fit, draws = worlds(first, second)
    fitted = logistic(features(fit, readings(fit)), draws)
    assert fitted is not None
    assert [table.binned.reading for table in fitted.tables] == [readings(fit)[1], readings(fit)[4]]


def test_smooth_tables_find_a_loss_that_free_ones_drown_in_noise() -> None:
    """Laplace noise 20 times the shift: the score must follow the true log ratio, not 16 noisy numbers."""
    rng = np.random.default_rng(4)
    first, second = rng.laplace(0.0, 20.0, (20_000, 6)), rng.laplace(1.0, 20.0, (20_000, 6))
    fit, draws = worlds(first, second)
    fitted = logistic(features(fit, readings(fit)), draws)
    assert fitted is not None
    fresh = ViewSample(rng.laplace(0.0, 20.0, (20_000, 6)), fit[0].columns)
    true = ((np.abs(fresh.values - 1.0) - np.abs(fresh.values)) / 20.0).sum(axis=1)
    naive = naive_bayes(features(fit, readings(fit)), draws).values(fresh)
    assert np.corrcoef(fitted.values(fresh), true)[0, 1] > 0.85
    assert np.corrcoef(fitted.values(fresh), true)[0, 1] > np.corrcoef(naive, true)[0, 1] + 0.05


def test_nothing_is_learned_from_equal_worlds() -> None:
    rng = np.random.default_rng(5)
    fit, draws = worlds(rng.normal(size=(4000, 4)), rng.normal(size=(4000, 4)))
    score = logistic(features(fit, readings(fit)), draws)
    assert score is None or np.std(score.values(fit[0])) < 0.2, "chance may let a little through, never much"


def test_the_most_telling_readings_are_kept_in_order() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.normal(size=(2000, 5)), rng.normal(size=(2000, 5))
    first[:, 1] += 1.0
    first[:, 3] += 2.0
    fit, draws = worlds(first, second)
    kept = most_telling(features(fit, readings(fit)), draws, 2)
    assert [feature.binned.reading.description for feature in kept] == ["value 1", "value 3"]


def test_constant_readings_are_left_out() -> None:
    fit, _ = worlds(np.zeros((10, 1)), np.zeros((10, 1)))
    assert features(fit, readings(fit)) == []


def test_a_score_of_one_reading_is_said_plainly():
    table = ScoreTable(Binned(ColumnValue(Column("a", "value a", "real")), (0.0,)), (1.0, 2.0), 0.0)
    assert AdditiveScore((table,)).description == "table entry (in the JSON) for value a"
    assert "each of 2 readings" in AdditiveScore((table, table)).description


def test_cuts_are_quantiles_and_the_ends_of_frequent_values() -> None:
    """At sixteenths and in the tails; a value that a 32nd of the draws take is a bin. Of 16 values each is one."""
    few, ordered = _bin_cuts(np.repeat(np.arange(16.0), 3))
    assert (few.tolist(), ordered) == ([*range(1, 16)], False)
    quantiles = [1, 4, 16, *range(64, 1024, 64), 1008, 1020, 1023]
    cuts, ordered = _bin_cuts(np.append(np.arange(1024.0)[::-1], NAN))
    assert (cuts.tolist(), ordered) == (quantiles, True)
    for times, own in ((32, True), (31, False)):
        values = np.sort(np.concatenate([np.arange(1024.0 - times), np.full(times, 500.5)]))
        cuts, _ = _bin_cuts(values)
        assert (np.nextafter(500.5, INF) in cuts) is own
        assert set(cuts) - {500.5, np.nextafter(500.5, INF)} == set(values[quantiles]) - {500.5}
