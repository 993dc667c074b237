"""Words of lists and of arrays are the same, each different one held once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verify.outputs import word_columns
from verify.outputs.output_layout import layout_of
from verify.outputs.read_lanes import read_lanes
from verify.outputs.word_columns import Words

words = st.text(alphabet="ab\x00ü", max_size=3)


@given(st.lists(words, min_size=1, max_size=60))
def test_words_of_arrays_are_those_of_lists(listed):
    array = np.array(listed)
    assert list(Words.of_array(array)) == array.tolist()
    assert list(Words.of_list(listed)) == listed
    coded = array.astype(object).astype(str)
    assert list(read_lanes(coded, len(listed)).words[0]) == coded.tolist()


def test_many_different_words():
    listed = [f"word {i * i % 97}" for i in range(500)]
    assert list(Words.of_array(np.array(listed))) == listed
    assert list(Words.of_array(np.array([word.encode() for word in listed]))) == [
        w.encode().hex() for w in listed
    ]


def test_addresses_of_objects_are_all_one():
    shown = [
        "<a at 0x7f69609>",
        "<a at 0x5512aaf0>",
        "at 0x7f69609 b",
        "<a at 0x7f6>",
        "<f x at 0x7f69609> <g at 0x7f69609>",
    ]
    read = ["<a at 0x…>", "<a at 0x…>", "at 0x7f69609 b", "<a at 0x7f6>", "<f x at 0x…> <g at 0x…>"]
    assert list(Words.of_array(np.array(shown))) == list(Words.of_list(shown)) == read
    assert list(Words.of_list([None, *shown, None])) == [None, *read, None]
    assert len(Words.of_list(shown).vocabulary) == 4


def test_words_with_one_key_are_told_apart(monkeypatch):
    monkeypatch.setattr(word_columns, "mixed_keys", lambda columns, rows: np.zeros(rows, dtype=np.uint64))
    assert list(Words.of_array(np.array(["u", "v", "u"]))) == ["u", "v", "u"]


def test_arrays_of_words_make_no_object_for_each_word(monkeypatch):
    """A million of them in 0.1 s, where objects take 3 s."""
    monkeypatch.setattr(Words, "of_list", None)
    array = np.array(["ann", "bob", "cy", "dee"])[np.random.default_rng(0).integers(4, size=1_000)]
    readings = read_lanes(array, len(array))
    sample = layout_of([readings]).sample(readings)
    assert len(np.unique(sample.values)) == 4
