"""The answer of a subject's process: equal on both sides, and refused if any part of it is malformed."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.files.data_files import DataFileError, from_json
from algorithms.claim import ClaimForm, View
from mechanisms import Assumption, AssumptionKind
from verify.findings.finding import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.findings.sentences import exact
from verify.sampling.evidence import Evidence
from verify.verdict.answer import Answer, AnswerError
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import decide

CLAIM = ClaimForm("local", View.MESSAGE, "one report", "the docstring").with_parameters(1.0, 1e-5)
ANSWER = Answer(
    subject="mine.py:Mine",
    claim=CLAIM,
    seed=3,
    kind=SubjectKind.LEARNER,
    evidence=Evidence(
        upper=UpperBound(math.inf, 1.0, "none"),
        lower=LowerBound(0.5, 0.0, 0.95, "a test", 1_000),
        witness=Witness({"data": "0", "data_prime": "1"}, "an event", 0.5, 0.25, hits=5, trials=10,
                        reproduce="again", details={"at": [1]}),
        findings=[Finding(FindingKind.WARNS, "mine.py:3", exact("\x1b[31m"), failing=False)],
        declassified=["mine.py:4"],
        contradictions=[exact("more than was charged")],
        assumptions=[Assumption(AssumptionKind.FOREIGN_CLASS, "your class", "mine.py:1")],
        details={"accounting": {"rounds": 20}, "largest": math.inf},
    ),
)  # fmt: skip


def paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in JSON data."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(found for key, value in inner for found in paths(value, (*path, key)))]


DATA = ANSWER.to_data()
PLACES = [
    path for path in paths(DATA) if path and path[0] != "details" and path[:2] != ("witness", "details")
]


def changed(path: tuple[Any, ...], value: Any) -> Any:
    data = copy.deepcopy(DATA)
    inside = data
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return data


def test_an_answer_comes_back_as_it_was() -> None:
    again = Answer.from_data(from_json(json.dumps(DATA, allow_nan=False)))
    assert again.to_data() == DATA
    assert again.claim == CLAIM
    assert again.evidence.upper == ANSWER.evidence.upper
    assert again.evidence.witness == ANSWER.evidence.witness
    assert again.evidence.findings == ANSWER.evidence.findings
    assert again.evidence.assumptions == ANSWER.evidence.assumptions
    assert again.rounds == 20


@pytest.mark.parametrize("key", [*DATA, None])
def test_every_key_is_needed_and_no_other_is_known(key: str | None) -> None:
    data = {name: value for name, value in DATA.items() if name != key}
    with pytest.raises(AnswerError):
        Answer.from_data(data if key else {**data, "verdict": "certified"})


@given(st.sampled_from(PLACES), st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3),
                                          st.just([]), st.just({}), st.just([[]]), st.just({"a": 1})))  # fmt: skip
def test_another_value_anywhere_is_refused_or_is_of_the_same_kind(path: tuple[Any, ...], value: Any) -> None:
    """Never an exception of another kind, and what is taken is decided upon without one."""
    try:
        answer = Answer.from_data(changed(path, value))
    except AnswerError:
        return
    found = answer.evidence
    decision = decide(answer.claim, found)
    assert decision.verdict != "certified"  # so much speaks against it that no one change takes it all away


@pytest.mark.parametrize(
    "text",
    [
        "NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "[" * 100_000, '{"a":' * 100_000, '{"a": 1, "a": 2}',
        "1" * 5_000, "", "{", "\x00", '"\x01"',
    ],
)  # fmt: skip
def test_json_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(DataFileError) as refused:
        from_json(text)
    assert "\n" not in str(refused.value)


def test_evidence_without_a_json_form_is_a_fault_and_no_input_error() -> None:
    with pytest.raises(TypeError, match="nan"):
        Answer("x", CLAIM, 0, SubjectKind.FUNCTION, evidence=Evidence(details={"a": np.nan})).to_data()


def test_rounds_that_are_not_said_are_missed() -> None:
    with pytest.raises(AnswerError, match="accounting"):
        _ = Answer("x", CLAIM, 0, True).rounds
