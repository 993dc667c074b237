"""JSON data: exact values are kept, and what cannot be said is refused."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pytest

from accountant.budget import Budget
from accountant.files.json_form import json_able, reader_of
from accountant.files.json_object import JsonError, JsonObject
from accountant.provenance import Provenance
from verify.findings.sentences import Basis, Sentence, exact


def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(ValueError, match="nan"):
        json_able({"a": [math.nan]})
    with pytest.raises(ValueError, match="JSON data"):
        json_able({"a": object()})


def test_exact_values_are_kept() -> None:
    plain = json_able(
        {"a": (True, 3, 0.1, None, "x"), "b": np.bool_(False), "c": np.int64(4), "d": np.array([[0.5]])}
    )
    assert plain == {"a": [True, 3, 0.1, None, "x"], "b": False, "c": 4, "d": [[0.5]]}
    assert type(plain["b"]) is bool
    assert type(plain["c"]) is int


@dataclass(frozen=True)
class Part:
    DERIVED: ClassVar = ("double",)

    number: int
    basis: Basis = Basis.EXACT

    @property
    def double(self) -> int:
        return 2 * self.number


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    kind: Literal["a", "b"]
    sentence: Sentence
    sure: float | None
    best: Part | None
    provenance: Provenance
    budget: Budget
    last_day: datetime.date | None
    more: Mapping[str, float]
    KEYS: ClassVar = {"last_day": "last"}


WHOLE = Whole(
    (Part(1), Part(2)),
    "b",
    exact("It is so."),
    None,
    Part(3),
    Provenance("", {"python": "3"}, {}),
    Budget(math.inf, 1.0),
    datetime.date(2026, 11, 30),
    {"a": math.inf},
)


def test_a_data_class_is_read_back_from_its_fields_and_what_follows_from_them() -> None:
    data = json.loads(json.dumps(json_able(WHOLE)))
    assert data["parts"] == [
        {"number": 1, "basis": "exact", "double": 2},
        {"number": 2, "basis": "exact", "double": 4},
    ]
    assert data["versions"] == {"python": "3"}  # beside the others
    assert (data["epsilon"], data["delta"], data["last"]) == ("inf", 1.0, "2026-11-30")
    read = JsonObject(data, "it")
    assert reader_of(Whole)(read) == WHOLE
    read.end()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"parts": [{"number": 1, "basis": "exact", "double": 3}]},
            "double of one of parts must follow from its",
        ),
        ({"parts": [{"number": 1, "basis": "exact", "double": 2.0}]}, "which make it 2"),
        ({"parts": [{"number": 1, "basis": "exact"}]}, "one of parts has no double"),
        (
            {"best": {"number": 3, "basis": "exact", "double": 6, "more": 1}},
            "best has keys that are unknown: more",
        ),
        ({"kind": "c"}, "kind of it must be one of 'a', 'b'"),
        ({"sure": "inf"}, "sure of it is of type str"),
        ({"date": "yesterday"}, "must be a time in UTC"),
        ({"last": "yesterday"}, "last of it must be a date"),
        ({"more": {"a": "many"}}, "a of more is no number"),
        ({"sentence": {"text": "never", "basis": "observed"}}, "sentence has no confidence"),
    ],
)
def test_other_data_are_refused_by_the_name_of_the_key(changed: dict[str, object], message: str) -> None:
    with pytest.raises(JsonError, match=message):
        reader_of(Whole)(JsonObject({**json_able(WHOLE), **changed}, "it"))
