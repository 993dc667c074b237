"""Refusals of numbers: the bound that the message states is the one that the condition has, closed or open."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_statements import statements

ROOT = Path(__file__).parents[1]
PACKAGES = ("mechanisms", "accountant", "algorithms", "verify")
BOUND = r"(?P<{0}>\{{[^{{}}]*\}}|-?\d[\d,.]*\d|-?\d)(?![\w^/ ]*[\^/]|e)"
LOW, HIGH = BOUND.format("low"), BOUND.format("high")
PHRASES = (
    rf"(?P<closed>at least) {LOW}", rf"above {LOW}", rf"(?P<shut>at most) {HIGH}", rf"below {HIGH}",
    r"(?P<closed>not be )(?P<low>)negative",
    rf"in ((?P<closed>\[)|\(){LOW}, {HIGH}((?P<shut>\])|\))", rf"(?P<closed>from) {LOW} (?P<shut>to) {HIGH}",
)  # fmt: skip
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
REVERSED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
OTHERWISE = {
    "at least {1.0 / _FARTHEST}": "the condition multiplies",
    "not be negative": "but for rounding of what other libraries write",
    "in [0, 1)": "a budget of δ = 1 that allows everything passes, any other is refused by the next condition",
    "from 0 to {structure.arms - 1}": "the condition says: below the number of arms",
    "in [-1, 1]": "the condition is on a norm",
    "at most 1": "the condition has the largest length as a name, with slack for rounding",
    "below 1": "of the share beta, which is what to do, not what is wrong",
}
"""Phrases of which a condition may speak otherwise, and why."""


def text_of(node: ast.expr) -> str:
    """A message, with ``{expression}`` for what is put in."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(parts):
            return "".join(map(text_of, parts))
        case ast.FormattedValue(value):
            return f"{{{ast.unparse(value)}}}"
    return ""


def required(test: ast.expr, *, holds: bool = False) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    """The comparisons that a number has to meet so that the test does not hold: left, sign, right."""
    match test:
        case ast.UnaryOp(ast.Not() | ast.Invert(), inner):
            yield from required(inner, holds=not holds)
        case ast.BoolOp(_, parts):
            for part in parts:
                yield from required(part, holds=holds)
        case ast.BinOp(left, ast.BitAnd() | ast.BitOr(), right):
            yield from required(left, holds=holds)
            yield from required(right, holds=holds)
        case ast.Call(ast.Attribute(inner, "any" | "all"), []):
            yield from required(inner, holds=holds)
        case ast.Call(ast.Name("any" | "all"), [ast.GeneratorExp(inner)]):
            yield from required(inner, holds=holds)
        case ast.Compare(left, operators, others):
            for operator, right in zip(operators, others, strict=True):
                if type(operator) in SIGNS:
                    sign = SIGNS[type(operator)]
                    yield left, sign if holds else OPPOSITE[sign], right
                left = right


def is_bound(node: ast.expr, words: str) -> bool:
    """Return True if an expression is a stated bound, but for slack that is added or a factor."""
    if isinstance(node, ast.BinOp):
        return is_bound(node.left, words)
    if words.startswith("{"):
        return ast.unparse(node) in words
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(value, ast.Constant) and float(ast.unparse(node)) == float(words.replace(",", "") or 0)


def stated(message: str) -> Iterator[tuple[str, str, str]]:
    """Yield the bounds in a message: the phrase, the sign, the number."""
    for phrase in PHRASES:
        for found in re.finditer(phrase, message):
            parts = {"low": None, "high": None, "closed": None, "shut": None} | found.groupdict()
            if parts["low"] is not None:
                yield found[0], ">=" if parts["closed"] else ">", parts["low"]
            if parts["high"] is not None:
                yield found[0], "<=" if parts["shut"] else "<", parts["high"]


def bounds(source: str) -> Iterator[tuple[int, str, bool]]:
    """Each bound that a refusal states: its line, the phrase, and whether the condition agrees."""
    for node in statements(ast.parse(source)):
        match node:
            case ast.If(test, [ast.Raise(ast.Call(args=[*_, message]))]):
                needs = list(required(test))
                for phrase, sign, bound in stated(text_of(message)) if needs else ():
                    signs = [
                        *(own for _, own, right in needs if is_bound(right, bound)),
                        *(REVERSED[own] for left, own, _ in needs if is_bound(left, bound)),
                    ]
                    yield node.lineno, phrase, sign in signs


def test_a_refusal_states_the_bound_that_it_checks() -> None:
    found = [
        (f"{file.relative_to(ROOT)}:{line}", phrase, agrees)
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
        for line, phrase, agrees in bounds(file.read_text(encoding="utf-8"))
    ]
    wrong = [(place, phrase) for place, phrase, agrees in found if not agrees]
    assert [(place, phrase) for place, phrase in wrong if phrase not in OTHERWISE] == []
    assert {phrase for _, phrase in wrong} == OTHERWISE.keys()
    assert len(found) > 20 * len(wrong)


@pytest.mark.parametrize(
    ("condition", "message", "agrees"),
    [
        ("x < 1", "must be at least 1", True),
        ("x <= 1", "must be at least 1", False),
        ("x < 2", "must be at least 1", False),
        ("not 0.0 < x <= 1.0", "must be in (0, 1]", True),
        ("not 0.0 <= x <= 1.0", "must be in (0, 1]", False),
        ("not (x <= MOST).all()", "must be at most {MOST:,}", True),
        ("not (x < MOST).all()", "must be at most {MOST:,}", False),
        ("x < 0", "must not be negative", True),
        ("x > 0", "must not be negative", False),
    ],
)
def test_conditions_and_messages(condition: str, message: str, agrees: bool) -> None:
    found = list(bounds(f"if {condition}:\n    raise ValueError(f'{message}')"))
    assert found
    assert all(own for _, _, own in found) is agrees
