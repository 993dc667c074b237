"""Findings say what their statements say; bounds and witnesses that cannot be are refused."""

from __future__ import annotations

import ast
import math
import string
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import accountant
import verify
from verify.findings import (
    Finding,
    FindingKind,
    LowerBound,
    Statement,
    UpperBound,
    Witness,
    add_once,
)

WITNESS = Witness({"data": "0", "data_prime": "1"}, "the value is at most 0", 0.5, 0.07, "dpwitness verify x")


def calls_in(package: str) -> Iterator[ast.Call]:
    for file in sorted(Path(package).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield node


def test_every_statement_is_made_somewhere_and_given_all_its_values() -> None:
    named = {f"Statement.{statement.name}": statement for statement in Statement}
    made = set()
    for call in calls_in(str(verify.__file__)):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "finding":
            name = ast.unparse(call.func.value)
            if name not in named:
                assert name == "said"  # one of two statements without values
                continue
            made.add(name)
            values = {field for _, field, _, _ in string.Formatter().parse(named[name].words) if field}
            assert {word.arg for word in call.keywords} - {"failing"} == values, name
    assert set(named) - made <= {"Statement.STOPPED_BEFORE_TEST", "Statement.STOPPED_BEFORE_SECOND_TEST"}


def test_every_kind_is_of_a_statement_of_a_gate_or_of_the_accountant() -> None:
    noted = {
        FindingKind(str(ast.literal_eval(call.args[0])))  # of a kind that is none, a ValueError
        for call in calls_in(str(accountant.__file__))
        if ast.unparse(call.func) == "self._note" and isinstance(call.args[0], ast.Constant)
    }
    assert {FindingKind.SENSITIVITY, FindingKind.MORE_CALLS, FindingKind.MASK} <= noted
    refusals = {FindingKind.RAW_READ, FindingKind.SENSITIVITY, FindingKind.TRUST, FindingKind.REFUSED}
    assert set(FindingKind) == noted | refusals | {statement.kind for statement in Statement}


def test_a_statement_says_its_values_and_an_error_with_its_type() -> None:
    assert Statement.BANDIT_RAISED.finding("a.py:3", error=KeyError(7)) == Finding(
        FindingKind.CRASH, "a.py:3", "the bandit raised KeyError: 7"
    )
    many = Statement.STOPPED_BETS.finding(draws=12_345)
    assert "after 12,345 draws" in many.message
    assert not many.failing
    assert Statement.FLOATING_POINT.failing
    assert not Statement.NAN.finding(failing=False, count=1, outputs=2, data="{}").failing


def test_a_kind_and_line_is_kept_once() -> None:
    findings: list[Finding] = []
    for where in ("a.py:3", "a.py:3", "a.py:4"):
        add_once(findings, Statement.LEARNER_RAISED.finding(where, error=ValueError(where)))
    add_once(findings, Statement.DRIFT.finding("a.py:3"))
    assert [finding.where for finding in findings] == ["a.py:3", "a.py:4", "a.py:3"]


def test_impossible_bounds_and_witnesses_are_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        UpperBound(math.nan, 0.0, "x")
    with pytest.raises(ValueError, match="delta"):
        LowerBound(1.0, 1.5, 0.99, "x", 1)
    with pytest.raises(ValueError, match="confidence"):
        LowerBound(1.0, 0.0, 0.0, "x", 1)
    with pytest.raises(ValueError, match="probability_prime"):
        replace(WITNESS, probability_prime=math.nan)
    with pytest.raises(ValueError, match="neighbours"):
        replace(WITNESS, neighbours={"data": "0"})
