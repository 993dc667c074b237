"""The state of a learner is restored exactly, or refused by name."""

from __future__ import annotations

import collections
import enum
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget
from algorithms.durable.state import Decoder, Encoder, StateError
from mechanisms import Interval

Point = collections.namedtuple("Point", "x y")


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


class Level(enum.StrEnum):
    LOW = "low"


class Switch(enum.Flag):
    ON = 1
    LOUD = 2


class Name(str):
    """A kind of text."""


class Table(dict):  # type: ignore[type-arg]
    """A dictionary with attributes."""


class Slotted:
    __slots__ = ("__hidden", "open")

    def __init__(self) -> None:
        self.__hidden = 3
        self.open = 4

    @property
    def hidden(self) -> int:
        return self.__hidden


class Held:
    """A learner that holds one thing."""

    def __init__(self, gate: Accountant, value: Any) -> None:
        self.gate = gate
        self.value = value


def accountant() -> Accountant:
    return Accountant(Budget(1.0), noise=np.random.default_rng(0))


def through(value: Any, gate: Accountant | None = None) -> Any:
    """Save a value and restore it."""
    gate = accountant() if gate is None else gate
    encoder = Encoder(gate, {__name__})
    saved = json.loads(json.dumps(encoder.attributes(Held(gate, value))))
    fresh = Held(gate, None)
    Decoder(gate, encoder.arrays, {__name__}, {}).restore(fresh, saved)
    return fresh.value


class Local:
    def __init__(self) -> None:
        self.kinds = [Color, Level]


@pytest.mark.parametrize(
    "value",
    [
        Color.BLUE,
        Level.LOW,
        Switch.LOUD,
        [Color.RED, 1],
        {Color.RED: 1.5},
        (True, 1, 1.0),
        [np.float32(0.1), np.int8(3)],
    ],
)
def test_what_comes_back_is_of_the_same_type(value: Any) -> None:
    again = through(value)
    assert again == value
    assert repr(again) == repr(value)
    assert type(again) is type(value)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (Point(1, 2), "Point, a kind of tuple"),
        (collections.defaultdict(int), "defaultdict"),
        (collections.Counter("ab"), "Counter"),
        (collections.OrderedDict(a=1), "OrderedDict"),
        (Name("x"), "Name, a kind of str"),
        (Table(a=1), "Table, a kind of dict"),
        (np.ma.masked_array([1.0, 2.0], mask=[0, 1]), "MaskedArray"),
        (np.str_("x"), "type <U1"),
        (Switch.ON | Switch.LOUD, "one of the members"),
        (np.float64, "numpy:float64"),
        (ValueError("x"), "ValueError"),
        (b"x", "bytes"),
    ],
)
def test_what_would_come_back_as_something_else_is_refused(value: Any, word: str) -> None:
    with pytest.raises(StateError, match=rf"Held\.value(\[0\])? is .*{word}"):
        through(value)
    with pytest.raises(StateError, match=rf"Held\.value\[0\] is .*{word}"):
        through([value])


def test_a_class_that_would_not_be_found_is_refused() -> None:
    class Hidden:
        pass

    for value in (Hidden(), Hidden):
        with pytest.raises(StateError, match=r"must be at the top of a module"):
            through(value)
    assert through(Local()).kinds == [Color, Level]


def test_a_learner_that_is_a_kind_of_dictionary_is_refused() -> None:
    gate = accountant()
    with pytest.raises(StateError, match="Table is a Table, a kind of dict"):
        Encoder(gate, {__name__}).attributes(Table())


def test_arrays_that_share_memory_are_refused() -> None:
    whole = np.zeros((2, 3))
    for other in (whole[0], whole.T, whole.reshape(-1)[2:4], whole.view()):
        with pytest.raises(StateError, match=r"value\[1\] shares memory with Held.value\[0\]"):
            through([whole, other])
    low, high = through(list(whole))  # rows of one array, which nobody holds: no number is in both
    low += 1
    assert high.sum() == 0
    first, same = through([whole, whole])
    assert first is same
    assert through(whole[:, 1]).shape == (2,)


def test_lists_and_dictionaries_may_be_in_themselves() -> None:
    row: list[Any] = [1]
    table: dict[str, Any] = {"row": row}
    row += [row, table]
    again = through(row)
    assert again[1] is again
    assert again[2]["row"] is again


def test_a_tuple_that_is_in_itself_is_refused() -> None:
    """It could not be made before what it holds."""
    row: list[Any] = []
    pair = (row, 1)
    row.append(pair)
    with pytest.raises(StateError, match=r"Held\.value\[0\]\[0\] is a tuple that is in itself"):
        through(pair)
    assert through([pair[1:], pair[1:]]) == [(1,), (1,)]


def test_whole_numbers_come_back_however_large() -> None:
    """Python writes and reads no more than 4,300 decimal digits."""
    for value in (10**5000, -(2**20_000) + 1, 2**63):
        assert through(value) == value


def test_private_slots_come_back() -> None:
    again = through(Slotted())
    assert (again.hidden, again.open) == (3, 4)


def test_a_private_value_keeps_its_domain() -> None:
    """A learner that checks what it is shown must know where a value lies after a restart, too."""
    gate, share = accountant(), Interval(0, 1)
    value = gate.private([0.5], share, "ann")
    one, total = through([value, value + gate.private([0.25], share, "bob")], gate)
    assert (one._domain, one._parts) == (share, 1)
    assert (total._domain, total._parts) == (share, 2)
    assert total._values.tolist() == [[[0.75]]]


@pytest.mark.parametrize(
    "outer", [lambda x: [x], lambda x: (x,), lambda x: {"a": x}, lambda x: Held(None, x)]
)  # type: ignore[arg-type]
def test_what_nests_too_deep_to_come_back_is_refused(outer: Callable[[Any], Any]) -> None:
    value: Any = []
    for _ in range(99):
        value = outer(value)
    through(value)
    with pytest.raises(StateError, match=r"^Held\.value.*\.\.\.: must not be nested deeper than 100 levels"):
        through(outer(value))
