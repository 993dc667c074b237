"""Adjacencies on the command line: parsed, never evaluated."""

import math

import numpy as np
import pytest

from mechanisms import Ball, Box, Categories, Interval, OneHot
from mechanisms.parameters import ParameterError
from verify import AddOrRemoveOne, AnyTwo, Listed, ReplaceOne, Within, claimed, verify
from verify.neighbouring.registry import adjacency_from_words, as_adjacency


@pytest.mark.parametrize(
    ("text", "adjacency"),
    [
        ("interval(0, 1)", AnyTwo(Interval(0, 1))),
        ("interval(-inf, inf)", AnyTwo(Interval(-math.inf, math.inf))),
        ("Categories(size=4)", AnyTwo(Categories(4))),
        ("any_two(one_hot(3))", AnyTwo(OneHot(3))),
        (" within(box(-10, 10, 5), linf=1) ", Within(Box(-10, 10, 5), linf=1)),
        ("within(ball(1.5, 3, order=inf), l2=0.5)", Within(Ball(1.5, 3, math.inf), l2=0.5)),
        ("replace_one(interval(0, 1), 10)", ReplaceOne(Interval(0, 1), 10)),
        ("add_or_remove_one(box(0, 1, 2), records=6)", AddOrRemoveOne(Box(0, 1, 2), 6)),
    ],
)
def test_texts(text, adjacency):
    assert adjacency_from_words(text) == adjacency


def test_listed_pairs():
    listed = adjacency_from_words("listed([[0, 1], [[1, 2], [1, 3]]])")
    assert isinstance(listed, Listed)
    assert [(pair.data.tolist(), pair.other.tolist()) for pair in listed.seeds()] == [
        (0, 1),
        ([1, 2], [1, 3]),
    ]
    assert isinstance(listed.seeds()[0].data, np.ndarray)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read"),
        ("interval(0, 1", "cannot be read"),
        ("intervall(0, 1)", "did you mean interval"),
        ("foo(0, 1)", "unknown name 'foo'; write a domain"),
        ("interval(0)", r"interval is written interval\(lower, upper\)"),
        ("box(0, 1, size=2, colour=3)", r"box is written box\(lower, upper, size\)"),
        ("interval(1, 0)", "lower must not exceed upper"),
        ("within(box(0, 1, 2), linf=0)", "must be above 0"),
        ("within(3, linf=1)", "must be a domain"),
        ("replace_one(interval(0, 1), 0)", "records = 0: must be at least 1"),
        ("interval(0, 'x')", "'x' means nothing|means nothing here"),
        ("__import__('os').system('true')", "means nothing here"),
        ("interval(0, 1).lower", "means nothing here"),
        ("interval(0, 2**9)", "means nothing here"),
        ("[1]", "two or more data sets"),
        ("7", "must be a domain"),
        ("listed([1, 2])", "pair 1 is 1: must be two data sets"),
        ("listed([])", "must hold at least one pair"),
        ("listed([[[1], [1, 2, [3]]]])", "pair 1 holds no array"),
        ("listed(3)", "listed is written"),
        ("interval(True, 1)", "means nothing here"),
    ],
)
def test_what_means_nothing_is_refused(text, words):
    with pytest.raises(ParameterError, match=words):
        adjacency_from_words(text)


@pytest.mark.parametrize("data", [[0, 1, 5], "[0, 1, 5]"])
def test_a_list_is_all_pairs_of_its_data_sets(data):
    adjacency = adjacency_from_words(data) if isinstance(data, str) else as_adjacency(data)
    assert isinstance(adjacency, Listed)
    assert [(int(pair.data), int(pair.other)) for pair in adjacency.seeds()] == [(0, 1), (0, 5), (1, 5)]


def test_what_is_no_adjacency_is_named_as_it_was_given():
    with pytest.raises(ParameterError, match=r"^neighbours = \(0\.0, 1\.0\): must be a domain"):
        verify(lambda data, rng: rng.normal(), epsilon=1.0, neighbours=(0.0, 1.0))
    with pytest.raises(ParameterError, match=r"^data = \(0\.0, 1\.0\): must be a domain"):
        claimed(data=(0.0, 1.0))
