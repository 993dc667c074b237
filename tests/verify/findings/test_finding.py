"""Findings say what their statements say; bounds and witnesses that cannot be are refused."""

from __future__ import annotations

import ast
import math
import re
import string
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accountant
import verify
from verify.findings.finding import (
    Finding,
    FindingKind,
    LowerBound,
    Statement,
    UpperBound,
    Witness,
    add_once,
)
from verify.findings.sentences import Basis, exact

WITNESS = Witness(
    {"data": "0", "data_prime": "1"}, "the value is at most 0", 0.5, 0.07, reproduce="dpwitness verify x"
)


def nodes_of(package: str) -> Iterator[ast.AST]:
    for file in sorted(Path(package).parent.rglob("*.py")):
        yield from ast.walk(ast.parse(file.read_text("utf-8")))


@pytest.mark.slow
def test_every_statement_is_made_somewhere_and_given_all_its_values() -> None:
    nodes = list(nodes_of(str(verify.__file__)))
    named = {
        f"Statement.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Statement"
    }
    # Values that several findings share are a property that returns a dictionary: `**result.finding_values`.
    shared = {
        node.name: {key.value for key in last.value.keys if isinstance(key, ast.Constant)}
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and isinstance(last := node.body[-1], ast.Return)
        and isinstance(last.value, ast.Dict)
    }
    given = {
        ast.unparse(node.func.value): set().union(
            *({word.arg} if word.arg else shared[word.value.attr] for word in node.keywords)
        )
        - {"failing"}
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "finding"
    }
    # One that is chosen first and made later has no values, or those of such a place.
    later = [set(), *(words for maker, words in given.items() if not maker.startswith("Statement."))]
    for statement in Statement:
        name = f"Statement.{statement.name}"
        values = {field for _, field, _, _ in string.Formatter().parse(statement.description) if field}
        assert name in named
        assert given[name] == values if name in given else values in later, name


@pytest.mark.slow
def test_every_kind_is_of_a_statement_of_a_gate_or_of_the_accountant() -> None:
    noted = {
        FindingKind(str(ast.literal_eval(node.args[0])))  # of a kind that is none, a ValueError
        for node in nodes_of(str(accountant.__file__))
        if isinstance(node, ast.Call)
        if ast.unparse(node.func) == "self._note" and isinstance(node.args[0], ast.Constant)
    }
    assert {FindingKind.SENSITIVITY, FindingKind.MORE_CALLS, FindingKind.MASK} <= noted
    refusals = {FindingKind.RAW_READ, FindingKind.SENSITIVITY, FindingKind.TRUST, FindingKind.REFUSED}
    assert set(FindingKind) == noted | refusals | {statement.kind for statement in Statement}


def test_a_statement_says_its_values_and_an_error_with_its_type() -> None:
    assert Statement.RAISED.finding("a.py:3", error=SystemExit(7)).kind is FindingKind.ENDS_PROCESS
    assert Statement.RAISED.finding("a.py:3", error=KeyError(7)) == Finding(
        FindingKind.CRASH, "a.py:3", exact("raised KeyError: 7")
    )
    many = Statement.STOPPED_BETS.finding(draws=12_345)
    assert "after 12,345 draws" in many.message
    assert not many.failing
    assert Statement.FLOATING_POINT.failing
    assert not Statement.NAN.finding(failing=False, count=1, draws=2, data="{}").failing


def test_a_kind_and_line_is_kept_once() -> None:
    findings: list[Finding] = []
    for where in ("a.py:3", "a.py:3", "a.py:4"):
        add_once(findings, Statement.RAISED.finding(where, error=ValueError(where)))
    add_once(findings, Statement.DRIFT.finding("a.py:3", confidence=0.9999))
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


@given(st.floats(0.0, 1e6), st.floats(0.0, 1.0))
def test_bounds_are_printed_on_the_safe_side(epsilon: float, delta: float) -> None:
    upper = re.fullmatch(r"ε ≤ (\S+) at δ = (\S+)", UpperBound(epsilon, delta, "x").description)
    lower = re.fullmatch(r"ε ≥ (\S+) at δ = (\S+)", LowerBound(epsilon, delta, 0.95, "x", 9).description)
    assert upper is not None
    assert lower is not None
    assert float(lower[1]) <= epsilon <= float(upper[1])
    assert float(lower[2]) == delta <= float(upper[2])


def test_a_bound_speaks_with_the_confidence_that_it_has() -> None:
    counted = LowerBound(2 / 3, 0.0, 0.95, "black-box test", 1200).sentence("Lower bound {bound} ({how}).")
    assert str(counted) == "Lower bound ε ≥ 0.666666 at δ = 0 (black-box test; 95 % confidence, 1,200 draws)."
    assert (counted.basis, counted.confidence, counted.draws) == (Basis.CONFIDENT, 0.95, 1200)
    computed = LowerBound(1.0, 0.0, 1.0, "enumeration", 0).sentence("Lower bound {bound} ({how}).")
    assert (str(computed), computed.basis) == (
        "Lower bound ε ≥ 1 at δ = 0 (enumeration; exact).",
        Basis.EXACT,
    )


def test_bounds_are_written_plainly() -> None:
    """What is at least infinite is infinite; a claim's own δ is as it was given, 1.23457e-05 before."""
    assert LowerBound(math.inf, 0.0, 1.0, "x", 0).description == "ε = ∞ at δ = 0"
    assert LowerBound(2 / 3, 0.0, 1.0, "x", 0).description == "ε ≥ 0.666666 at δ = 0"
    assert UpperBound(2 / 3, 1.2345678e-5, "x").description == "ε ≤ 0.666667 at δ = 1.2345678e-05"
    assert UpperBound(1.0, 2 / 3e5, "x").description == "ε ≤ 1 at δ = 6.66667e-06"
