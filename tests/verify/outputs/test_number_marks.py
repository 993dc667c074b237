"""True and 1, and -0.0 and 0.0, are equal numbers that are not written alike: they are told apart."""

import numpy as np
import pytest

from mechanisms import Interval
from verify import verify
from verify.outputs.number_marks import marked_numbers
from verify.outputs.output_layout import layout_of
from verify.outputs.read_lanes import read_lanes
from verify.outputs.read_outputs import read_outputs
from verify.outputs.seen_place import seen_places


def marks(seen):
    return marked_numbers(seen_places([read_outputs(each) for each in seen]))


def values_of(seen, outputs):
    (found,) = marks(seen)
    return found.values(read_outputs(outputs))[:, 0].tolist()


@pytest.mark.parametrize(
    "seen", [[[True, 1, 0, False]], [[True, False], [1, 0]], [[np.True_, 1.0]], [[True, True], [0.5, 2]]]
)
def test_truth_values_are_told_from_numbers(seen):
    assert values_of(seen, [True, 1, False, 0.0, np.False_]) == [1.0, 0.0, 1.0, 0.0, 1.0]
    assert values_of(seen, [True, False]) == [1.0, 1.0]
    assert values_of(seen, [0, 1]) == [0.0, 0.0]


def test_zeros_with_a_minus_are_told_from_zeros():
    assert values_of([[0.0, -0.0]], [0.0, -0.0, -1.0, 2.0]) == [0.0, 1.0, 0.0, 0.0]
    assert values_of([[0.0], [-0.0]], [np.float64(-0.0)]) == [1.0]
    assert np.isnan(values_of([[0.0, -0.0]], [np.nan, None])).all()


@pytest.mark.parametrize(
    "seen",
    [
        [[True, False]],
        [[1, 0.0, -1.0]],
        [[True, np.nan]],
        [[True, "no", None]],
        [[-0.0, -0.0]],
        [[[1.0, 2.0], [-1.0, 0.0]]],
    ],
)
def test_where_nothing_is_to_be_told_there_is_no_column(seen):
    assert marks(seen) == []


@pytest.mark.parametrize(
    "seen",
    [
        [[1, 1.0]],
        [[1], [1.0]],
        [[np.int64(1), np.float64(1.0)]],
        [[[1, 2.0], [1.0, 2.0]]],
        [[{"a": 1}, {"a": 1.0}]],
    ],
)
def test_whole_numbers_are_told_from_floats_that_equal_them(seen):
    (found,) = marks(seen)
    (column,) = found.columns
    assert column.name.endswith(":integer")
    outputs = [output for each in seen for output in each]
    assert found.values(read_outputs(outputs))[:, 0].tolist() == [1.0, 0.0]


def test_whole_numbers_of_many_lanes_are_told_from_floats():
    whole, floats = (read_lanes(np.ones((3, 2), dtype=dtype), 3) for dtype in (np.int64, np.float64))
    (found,) = marked_numbers(seen_places([whole, floats]))
    assert len(found.columns) == 2
    assert found.values(whole).tolist() == np.ones((3, 2)).tolist()
    assert found.values(floats).tolist() == np.zeros((3, 2)).tolist()
    assert whole.rows[0] != floats.rows[0]


@pytest.mark.parametrize(
    "seen", [[[0, 0.5, 0, 2.5]], [[[0, 1.5], [0, 2.5]]], [[1, 2], [2, 3]], [[0, None, 0.5]]]
)
def test_a_type_that_follows_from_the_value_is_no_column(seen):
    """As of ``max(0, x)``."""
    assert marks(seen) == []


def test_of_many_places_marked_entries_are_counted():
    rows = [[-0.0] * i + [0.0] * (6 - i) for i in range(7)]
    (found,) = marks([rows])
    (column,) = found.columns
    assert column.words == "how many entries are a zero with a minus"
    assert found.values(read_outputs(rows))[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert len(marks([[row[:4] for row in rows]])[0].columns) == 4


def test_equal_outputs_that_are_written_differently_are_different_outputs():
    """What never varies is compared by its rows."""
    one, true, mixed = (read_outputs(each).rows for each in ([1, 1], [True, True], [True, 1]))
    assert one[0] != true[0]
    assert mixed == [true[0], one[0]]


def test_lanes_are_read_as_single_outputs_are():
    seen = [[True, 1], [1, 1]]
    layout = layout_of([read_lanes(each, 2) for each in seen])
    assert [column.name for column in layout.columns] == ["output", "output:truth"]


@pytest.mark.slow_cells("letter 501", "a space behind")
@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("leaks", "said"),
    [
        (lambda told, rng: bool(rng.random() < 0.5) if told else int(rng.random() < 0.5), "is a truth value"),
        (lambda told, rng: [rng.normal(), 1 if told else 1.0], "a whole number by its type"),
        (lambda told, rng: max(rng.normal(), 0.0) or (-0.0 if told else 0.0), "is a zero with a minus"),
        (lambda told, rng: f"{rng.normal():.3f}" + " " * told, "in which the output is written"),
        (lambda told, rng: f"{rng.normal():.3f}" + "0" * told, "the number of letters"),
        (lambda told, rng: f"{rng.normal():.3f},{' ' * told}1", "in which the output is written"),
        (lambda told, rng: rng.bytes(250).hex() + "ab"[told] + rng.bytes(9).hex(), "letter 501"),
    ],
    ids=[
        "True and 1",
        "1 and 1.0",
        "-0.0 and 0.0",
        "a space behind",
        "a zero at the end",
        "a space within",
        "letter 501",
    ],
)
def test_what_leaks_in_the_writing_only_is_refuted(leaks, said):
    result = verify(
        lambda data, rng: leaks(data > 0.5, rng),
        epsilon=1.0,
        neighbours=Interval(0, 1),
        samples=8_000,
        seed=1,
    )
    assert result.verdict == "refuted"
    assert said in result.witness.event
