"""Plans as data: each formula has the value of the expression that it was made from."""

import json
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.plans.formulas import value_at
from accountant.plans.symbolic import (
    DeclassifiedStep,
    NumericClaim,
    SymbolicCalibrated,
    SymbolicLaplace,
    SymbolicPlan,
    SymbolicStep,
)
from accountant.plans.values import IntegerRange, RealAbove, SymbolDomain
from accountant.proofs.plan_document import plan_document
from accountant.proofs.proof_document import NoProof
from mechanisms import Laplace

K, X = sp.symbols("K x")
VALUES = SymbolDomain({X: RealAbove(0), K: IntegerRange(1)})
formulas = st.recursive(
    st.sampled_from([X, K, sp.Integer(1), sp.Integer(-3), sp.Rational(2, 7)]),
    lambda smaller: st.one_of(
        st.tuples(smaller, smaller).map(lambda pair: pair[0] + pair[1]),
        st.tuples(smaller, smaller).map(lambda pair: pair[0] * pair[1]),
        st.tuples(st.sampled_from([X, K, X + K]), st.integers(-3, 3)).map(lambda pair: pair[0] ** pair[1]),
        smaller.map(lambda part: 1 / (part**2 + 1)),
    ),
    max_leaves=6,
)


def planned(count: Any, claim: Any = X) -> dict[str, Any]:
    plan = SymbolicPlan(VALUES, {"each": (SymbolicStep(SymbolicLaplace(1 / X), count),)})
    return plan_document(plan, claim, "one report", {})


def value(data: Any, point: dict[str, Fraction]) -> Fraction:
    if not isinstance(data, list):
        return point[data] if data in point else Fraction(data)
    a, b = value(data[1], point), value(data[2], point)
    return {"+": lambda: a + b, "*": lambda: a * b, "/": lambda: a / b}[data[0]]()


@settings(max_examples=30, deadline=None)
@given(formulas, st.fractions(Fraction(1, 100), 100, max_denominator=100), st.integers(1, 9))
def test_a_formula_as_data_has_its_value(expression: sp.Expr, x: Fraction, k: int) -> None:
    data = planned(expression)["records"]["each"]["release 1"]
    assert value(data, {"x": x, "K": Fraction(k)}) == value_at(expression, {X: x, K: Fraction(k)})


def test_a_divisor_stays_one(is_proved: Any) -> None:
    """Terms that SymPy would cancel stay: the checker has to see that it is not 0."""
    hidden = sp.Mul(sp.Pow(sp.Pow(K - 5, -1, evaluate=False), -1, evaluate=False), X, evaluate=False)
    assert json.dumps(planned(1, hidden)["claim"]).count('"/"') == 2
    plan = SymbolicPlan(VALUES, {"each": (SymbolicStep(SymbolicLaplace(1 / X)),)})
    assert is_proved(plan, X + K * X)
    assert not is_proved(
        plan, sp.Add(X + K * X, sp.Mul(0, sp.Pow(K - 5, -1), evaluate=False), evaluate=False)
    )


def test_what_has_no_formula_has_no_proof() -> None:
    with pytest.raises(NoProof, match="a bound is known at given values only"):
        planned(1, NumericClaim("a bound", lambda point: Fraction(1)))
    raw = SymbolicPlan(VALUES, {"each": (SymbolicStep(DeclassifiedStep("as printed")),)})
    with pytest.raises(NoProof, match="has no finite cost"):
        plan_document(raw, X, "one report", {})


def test_what_noise_is_calibrated_to_is_marked_as_stated(checker: Any) -> None:
    step = SymbolicStep(SymbolicCalibrated(X / K, lambda point: Laplace(scale=1.0)), K)
    plan = SymbolicPlan(VALUES, {"each": (step,)})
    assert "release 1 (stated): " in checker.check(plan_document(plan, X, "one report", {}))
    with pytest.raises(checker.Wrong, match=r"is not shown|pays more"):
        checker.check(plan_document(plan, X / 2, "one report", {}))
