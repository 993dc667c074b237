"""Costs as formulas: proved for all values, refuted with exact values, or honestly open."""

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.plans.symbolic import (
    Above,
    Declassified,
    Proved,
    Refuted,
    SymbolicLaplace,
    SymbolicPlan,
    SymbolicResponse,
    SymbolicStep,
    Unknown,
    Values,
    Whole,
    prove,
)
from mechanisms import Laplace, RandomizedResponse, Sensitivity

K, L, T, eps = sp.symbols("K L T epsilon", positive=True)
DOMAIN = Values({K: Whole(1), L: Whole(K), eps: Above(0)})


def plan(scale, count, values=DOMAIN):
    return SymbolicPlan(values, {"one record": (SymbolicStep(SymbolicLaplace(scale), count),)})


@pytest.mark.parametrize(
    ("scale", "count", "claim"),
    [
        (K / eps, K, eps),
        (L / eps, K, eps),  # K <= L
        (K / eps, K, 2 * eps),
        (K * (K + 1) / (2 * eps), K, eps),  # 2 epsilon / (K + 1)
        (1 / eps, K, L * eps),
        (K / eps, 1, eps / 1),
        (3 / eps, 2, sp.Rational(2, 3) * eps),
    ],
)
def test_true_claims_are_proved(scale, count, claim):
    result = prove(plan(scale, count), claim)
    assert isinstance(result, Proved)
    assert sp.simplify(result.costs["one record"] - count / scale) == 0


@pytest.mark.parametrize(
    ("scale", "count", "claim"),
    [
        (K / eps, L, eps),
        (1 / eps, K, eps),
        (K / eps, K, eps * sp.Rational(99, 100)),
        (K / eps, K, 1),
        (sp.sqrt(K) / eps, K, eps),
        (1 / eps, 98, 97 * eps),
        (K / eps, K + 1, eps),
    ],
)
def test_false_claims_are_refuted_by_values_in_the_domain(scale, count, claim):
    result = prove(plan(scale, count), claim)
    assert isinstance(result, Refuted)
    assert DOMAIN.holds(result.point)
    exact = sp.sympify(count / scale).subs(result.point)
    assert (exact > sp.sympify(claim).subs(result.point)) == True  # noqa: E712
    assert exact == result.cost
    assert str(result.cost) in str(result)


def test_what_is_neither_is_unknown():
    """True (sqrt(K) <= K), but not a quotient of polynomials; false only beyond the values tried."""
    assert isinstance(prove(plan(1 / eps, sp.sqrt(K)), K * eps), Unknown)
    far = prove(plan(1 / eps, K), 1000 * eps)
    assert isinstance(far, Unknown)
    assert "K*epsilon" in far.reason
    assert not isinstance(far, Proved)


def test_a_scale_that_can_be_zero_proves_nothing():
    assert isinstance(prove(plan((L - K) / eps, 1), 2 * eps), Unknown)
    assert isinstance(prove(plan((L - K + 1) / eps, 1), eps), Proved)
    # true for K < 150, false beyond, where a denominator has changed its sign
    assert isinstance(prove(plan(K / eps, K), eps + eps / (150 - K)), Unknown)
    assert isinstance(prove(plan(K / eps, K), eps - eps / (K - 150)), Unknown)


def test_the_worst_kind_of_record_decides():
    both = SymbolicPlan(
        DOMAIN,
        {
            "a round": (SymbolicStep(SymbolicLaplace(K / eps), K),),
            "the start": (SymbolicStep(SymbolicLaplace(K / eps), L),),
        },
    )
    result = prove(both, eps)
    assert isinstance(result, Refuted)
    assert result.kind == "the start"
    assert result.point == {K: 1, L: 2, eps: 1}


def test_steps_add_up_and_declassified_values_cost_infinity():
    mixed = SymbolicPlan(
        DOMAIN,
        {
            "r": (
                SymbolicStep(SymbolicLaplace(2 * K / eps), K),
                SymbolicStep(SymbolicResponse(K + 1, eps / 2)),
            )
        },
    )
    assert isinstance(prove(mixed, eps), Proved)
    open_plan = SymbolicPlan(DOMAIN, {"r": (SymbolicStep(Declassified("as printed")),)})
    result = prove(open_plan, eps)
    assert isinstance(result, Refuted)
    assert result.cost == sp.oo


@settings(max_examples=15, deadline=None)  # SymPy is slow
@given(
    st.lists(st.integers(-3, 3), min_size=4, max_size=4),
    st.integers(1, 4),
    st.integers(0, 5),
    st.fractions(Fraction(1, 20), 20),
)
def test_a_proof_is_never_contradicted_by_values(coefficients, size, more, loss):
    """Random polynomial costs: where the answer is Proved, exact evaluation agrees everywhere tried."""
    a, b, c, d = coefficients
    cost = a * K + b * L + c + d * K * L
    claim = 2 * L * K
    symbolic = SymbolicPlan(DOMAIN, {"r": (SymbolicStep(SymbolicLaplace(1 / eps), cost),)})
    result = prove(symbolic, claim * eps)
    point = {K: size, L: size + more, eps: sp.Rational(loss.numerator, loss.denominator)}
    holds = (sp.sympify(cost * eps).subs(point) <= (claim * eps).subs(point)) == True  # noqa: E712
    assert holds or not isinstance(result, Proved)


def test_domains():
    assert DOMAIN.holds({K: 2, L: 2, eps: Fraction(1, 10)})
    assert not DOMAIN.holds({K: 2, L: 1, eps: 1})
    assert not DOMAIN.holds({K: 0, L: 1, eps: 1})
    assert not DOMAIN.holds({K: sp.Rational(3, 2), L: 2, eps: 1})
    assert not DOMAIN.holds({K: 1, L: 1, eps: 0})
    points = list(DOMAIN.samples())
    assert all(DOMAIN.holds(point) for point in points)
    assert points[0] == {K: 1, L: 1, eps: 1}


def test_at_values_a_plan_can_hold_a_run():
    symbolic = SymbolicPlan(
        DOMAIN,
        {
            "r": (
                SymbolicStep(SymbolicLaplace(K / eps, coordinates=L), K),
                SymbolicStep(SymbolicResponse(K + 1, eps)),
            ),
            "s": (SymbolicStep(Declassified("as printed")),),
        },
    )
    found = symbolic.at({K: 3, L: 5, eps: 0.1}, "r")
    laplace, response = found.steps
    assert laplace.mechanism == Laplace(scale=30.0, sensitivity=Sensitivity.of_box([1.0] * 5))
    assert Fraction(3) / Fraction(0.1) <= Fraction(laplace.mechanism.scale)
    assert (laplace.count, laplace.moved) == (3, Sensitivity(1, 1, 1))
    assert response.mechanism == RandomizedResponse(size=4, epsilon=0.1)
    assert symbolic.at({K: 3, L: 5, eps: 0.1}, "s") is None


IMPOSSIBLE = {
    "half a release": (SymbolicStep(SymbolicLaplace(1 / eps), count=sp.Rational(1, 2)),),
    "a negative count": (
        SymbolicStep(SymbolicLaplace(1 / eps), count=3),
        SymbolicStep(SymbolicLaplace(1 / eps), count=-2),
    ),
    "a negative scale": (
        SymbolicStep(SymbolicLaplace(1 / eps), count=3),
        SymbolicStep(SymbolicLaplace(-1 / (2 * eps)), count=4),
    ),
    "one category": (SymbolicStep(SymbolicResponse(1, eps)),),
    "a count that may be a fraction": (SymbolicStep(SymbolicLaplace(1 / eps), count=1 / (1 + eps)),),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_nothing_is_proved_of_steps_that_cannot_be_made(name):
    answer = prove(SymbolicPlan(Values({eps: Above(0)}), {"a record": IMPOSSIBLE[name]}), eps)
    assert isinstance(answer, Unknown)
    assert "not shown" in answer.reason


def test_a_plan_says_something_of_some_record():
    with pytest.raises(ValueError, match="at least one kind"):
        SymbolicPlan(Values({eps: Above(0)}), {})
