"""Words are taken apart into numbers, parts or letters, each in its own column, and nothing is lost to short ones."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.outputs.output_layout import layout_of
from verify.outputs.read_outputs import read_outputs
from verify.outputs.spelling import FEW_WORDS, MOST_PARTS, Spelling
from verify.outputs.word_columns import ANOTHER, Words

BITS = [f"{i:05b}"[: 2 + i % 4] for i in range(32)]


def table(spelling, words):
    return spelling.values(Words.of_list(words))


@pytest.mark.parametrize(
    ("words", "unit", "numeric"),
    [
        ([f"{i / 7:.3f}" for i in range(20)], "number", (True,)),
        ([str(i) for i in range(20)], "number", (True,)),
        ([f"{i:04b}" for i in range(16)], "letter", (False,) * 4),  # "0010" is no number
        ([f"yes,{i / 8}" for i in range(16)], "part", (False, True)),
        ([f"[{i}, 'a b']" for i in range(16)], "part", (True, False, False)),
        (["".join("ab"[b] for b in (i % 2, i // 2 % 2, i // 4 % 2, 1)) + "c" * (i // 8) for i in range(16)],
         "letter", (False,) * 5),
    ],
)  # fmt: skip
def test_words_are_numbers_parts_or_letters(words, unit, numeric):
    spelling = Spelling.from_words(words)
    assert (spelling.unit, spelling.numeric) == (unit, numeric)
    assert len(spelling.columns("output", "the output")) == spelling.width


def test_few_words_are_labels():
    assert Spelling.from_words([f"{i:03b}" for i in range(FEW_WORDS)]) is None
    assert Spelling.from_words(["", *"abcdefgh"]) is not None
    assert Spelling.from_words([]) is None


@given(st.lists(st.text("01", max_size=7) | st.none(), min_size=1, max_size=30))
def test_letters_and_length_are_in_their_columns(words):
    spelling = Spelling.from_words(BITS)
    names = [column.name for column in spelling.columns("output", "the output")]
    assert names == ["output:letters", *(f"output:letter[{i}]" for i in range(1, 6))]
    for word, row in zip(words, table(spelling, words), strict=True):
        if word is None:
            assert np.isnan(row).all()
            continue
        expected = [float(letter) for letter in word[:5]] + [math.nan] * (5 - len(word[:5]))
        np.testing.assert_equal(row, [len(word), *expected])


def test_parts_that_are_numbers_are_read_as_such_and_others_keep_their_codes():
    spelling = Spelling.from_words([f"{word} {i / 4}" for i in range(8) for word in ("up", "down")])
    rows = table(spelling, ["up 2.5", "down -1e3", "up x", "", None, "left 1"])
    assert [column.name for column in spelling.columns("o", "o")] == ["o:part[1]", "o:part[2]", "o:form"]
    np.testing.assert_equal(rows[:3, 0], [1.0, 0.0, 1.0])
    np.testing.assert_equal(rows[:, 1], [2.5, -1000.0, math.nan, math.nan, math.nan, 1.0])
    assert np.isnan(rows[3:5, 0]).all()
    assert rows[5, 0] == ANOTHER  # a word that was not seen


def test_how_a_number_is_written_is_told_beside_what_it_is():
    spelling = Spelling.from_words([f"{i / 7:.3f}" + " " * (i % 2) for i in range(20)])
    columns = spelling.columns("o", "it")
    assert [column.name for column in columns] == ["o:number", "o:form", "o:letters"]
    assert dict(columns[1].labels) == {
        -1.0: "another way than those seen at first",
        0.0: '"0.0"',
        1.0: '"0.0 "',
    }
    rows = table(spelling, ["0.5", "0.5 ", "0.50", "12.5 ", "+0.5", None])
    np.testing.assert_equal(rows[:, 0], [0.5, 0.5, 0.5, 12.5, 0.5, math.nan])
    np.testing.assert_equal(rows[:4, 1], [0.0, 1.0, 0.0, 1.0])
    assert rows[4, 1] == ANOTHER  # a form that was not seen
    np.testing.assert_equal(rows[:, 2], [3.0, 4.0, 4.0, 5.0, 4.0, math.nan])


def test_what_stands_between_parts_is_told_beside_them():
    spelling = Spelling.from_words([f"{i}, {i}" for i in range(20)])
    rows = table(spelling, ["3, 4", "30, 40", "3,4", "3, 4 "])
    np.testing.assert_equal(rows[:, 0], [3.0, 30.0, 3.0, 3.0])
    assert rows[0, -1] == rows[1, -1]
    assert rows[0, -1] not in rows[2:, -1]


def test_long_words_are_told_by_their_beginning_and_their_length():
    spelling = Spelling.from_words(["a" * i for i in range(1, 100)])
    row = table(spelling, ["a" * 90])[0]
    assert len(spelling.numeric) == MOST_PARTS
    np.testing.assert_equal(row, [90.0] + [0.0] * MOST_PARTS)


@pytest.mark.slow
def test_of_long_words_letters_are_columns_where_data_sets_differ():
    def seen(seed, told):
        letters = np.random.default_rng(seed).choice(list("abcd"), size=(100, 600))
        letters[:, 500], letters[:50, 550] = told, told
        return ["".join(row) for row in letters.tolist()]

    spelling = Spelling.from_words(seen(0, "a"), seen(1, "b"))
    assert spelling.places == (*range(MOST_PARTS), 500, 550)
    names = [column.name for column in spelling.columns("o", "o")]
    assert names[-2:] == ["o:letter[501]", "o:letter[551]"]
    rows = table(spelling, [*seen(2, "a")[:1], *seen(3, "b")[:1], "a" * 510])
    np.testing.assert_equal(rows[:, -2:], [[0.0, 0.0], [1.0, 1.0], [0.0, math.nan]])
    for seed in range(20):
        assert (
            len(Spelling.from_words(*(seen(100 + 2 * seed + other, "a") for other in range(2))).places)
            == MOST_PARTS
        )


def test_the_same_word_has_one_code_at_all_places():
    """So that words can be counted across places: "above" at place 1 and "above" at place 2 are the same."""
    layout = layout_of([read_outputs([["above"], ["above", "below"], ["below", "above"]])])
    sample = layout.sample(read_outputs([["below", "below"], ["above", "above"]]))
    first, second = ([column.name for column in layout.columns].index(f"output[{i}]") for i in (1, 2))
    assert layout.columns[first].labels == layout.columns[second].labels
    np.testing.assert_equal(sample.values[:, first], sample.values[:, second])


def test_a_word_that_is_taken_apart_stays_an_atom_too():
    outputs = [f"{i:04b}" for i in range(16)]
    layout = layout_of([read_outputs(outputs)])
    names = [column.name for column in layout.columns]
    assert names == ["output", *(f"output:letter[{i}]" for i in range(1, 5))]
    sample = layout.sample(read_outputs(outputs))
    assert len(np.unique(sample.values[:, 0])) == 16
    np.testing.assert_equal(sample.values[:, 1:], [[float(bit) for bit in word] for word in outputs])


def test_words_that_were_not_seen_are_one_word_where_their_letters_tell_them_apart():
    layout = layout_of([read_outputs([f"{i:04b}" for i in range(12)])])
    sample = layout.sample(read_outputs(["1101", "1111", "0000"]))
    assert sample.values[:, 0].tolist() == [-1.0, -1.0, 0.0]
    assert dict(layout.columns[0].labels)[-1.0] == "another word than those seen at first"
    assert len({tuple(row) for row in sample.values.tolist()}) == 3


@pytest.mark.parametrize("form", ["${}", "{} people", "{}ms", "about {}%", "n={}"])
def test_a_number_within_a_word_is_a_number(form):
    layout = layout_of([read_outputs([form.format(i / 4) for i in range(20)])])
    sample = layout.sample(read_outputs([form.format(2.5), form.format(-1.75)]))
    assert [2.5, -1.75] in sample.values.T.tolist()
