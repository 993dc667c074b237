"""Costs as formulas: proved for all values, refuted with exact values, or honestly open."""

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.plans.symbolic import (
    CounterexampleFound,
    DeclassifiedStep,
    IntegerRange,
    NumericClaim,
    ProofFound,
    ProofUnknown,
    RealAbove,
    SymbolDomain,
    SymbolicCalibrated,
    SymbolicLaplace,
    SymbolicPlan,
    SymbolicResponse,
    SymbolicStep,
    prove,
)
from mechanisms import Laplace, RandomizedResponse, Sensitivity

K, L, T, eps = sp.symbols("K L T epsilon", positive=True)
DOMAIN = SymbolDomain({K: IntegerRange(1), L: IntegerRange(K), eps: RealAbove(0)})


def plan(scale, count, values=DOMAIN):
    return SymbolicPlan(values, {"one record": (SymbolicStep(SymbolicLaplace(scale), count),)})


@pytest.mark.few(2)
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
    assert isinstance(result, ProofFound)
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
    assert isinstance(result, CounterexampleFound)
    assert DOMAIN.holds(result.point)
    exact = sp.sympify(count / scale).subs(result.point)
    assert (exact > sp.sympify(claim).subs(result.point)) == True  # noqa: E712
    assert exact == result.cost
    assert str(result.cost) in str(result)


def test_what_is_neither_is_unknown():
    """True (sqrt(K) <= K), but not a quotient of polynomials; false only beyond the values tried."""
    assert isinstance(prove(plan(1 / eps, sp.sqrt(K)), K * eps), ProofUnknown)
    far = prove(plan(1 / eps, K), 1000 * eps)
    assert isinstance(far, ProofUnknown)
    assert "K*epsilon" in far.reason
    assert not isinstance(far, ProofFound)


def test_a_scale_that_can_be_zero_proves_nothing():
    assert isinstance(prove(plan((L - K) / eps, 1), 2 * eps), ProofUnknown)
    assert isinstance(prove(plan((L - K + 1) / eps, 1), eps), ProofFound)
    # true for K < 150, false beyond, where a denominator has changed its sign
    assert isinstance(prove(plan(K / eps, K), eps + eps / (150 - K)), ProofUnknown)
    assert isinstance(prove(plan(K / eps, K), eps - eps / (K - 150)), ProofUnknown)


def test_the_worst_kind_of_record_decides():
    both = SymbolicPlan(
        DOMAIN,
        {
            "a round": (SymbolicStep(SymbolicLaplace(K / eps), K),),
            "the start": (SymbolicStep(SymbolicLaplace(K / eps), L),),
        },
    )
    result = prove(both, eps)
    assert isinstance(result, CounterexampleFound)
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
    assert isinstance(prove(mixed, eps), ProofFound)
    open_plan = SymbolicPlan(DOMAIN, {"r": (SymbolicStep(DeclassifiedStep("as printed")),)})
    result = prove(open_plan, eps)
    assert isinstance(result, CounterexampleFound)
    assert result.cost == sp.oo


@pytest.mark.slow
@settings(max_examples=15, deadline=None)  # SymPy is slow
@given(
    st.lists(st.integers(-3, 3), min_size=4, max_size=4),
    st.integers(1, 4),
    st.integers(0, 5),
    st.fractions(Fraction(1, 20), 20),
)
def test_a_proof_is_never_contradicted_by_values(coefficients, size, more, loss):
    """Random polynomial costs: where the answer is ProofFound, exact evaluation agrees everywhere tried."""
    a, b, c, d = coefficients
    cost = a * K + b * L + c + d * K * L
    claim = 2 * L * K
    symbolic = SymbolicPlan(DOMAIN, {"r": (SymbolicStep(SymbolicLaplace(1 / eps), cost),)})
    result = prove(symbolic, claim * eps)
    point = {K: size, L: size + more, eps: sp.Rational(loss.numerator, loss.denominator)}
    holds = (sp.sympify(cost * eps).subs(point) <= (claim * eps).subs(point)) == True  # noqa: E712
    assert holds or not isinstance(result, ProofFound)


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
            "s": (SymbolicStep(DeclassifiedStep("as printed")),),
        },
    )
    found = symbolic.evaluate({K: 3, L: 5, eps: 0.1}, "r")
    laplace, response = found.steps
    assert laplace.mechanism == Laplace(scale=30.0, sensitivity=Sensitivity.of_box([1.0] * 5))
    assert Fraction(3) / Fraction(0.1) <= Fraction(laplace.mechanism.scale)
    assert (laplace.count, laplace.effective_sensitivity) == (3, Sensitivity(1, 1, 1))
    assert response.mechanism == RandomizedResponse(size=4, epsilon=0.1)
    assert symbolic.evaluate({K: 3, L: 5, eps: 0.1}, "s") is None


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


@pytest.mark.parametrize("claim", [eps, eps / 8])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_nothing_is_proved_or_refuted_of_steps_that_cannot_be_made(name, claim):
    answer = prove(SymbolicPlan(SymbolDomain({eps: RealAbove(0)}), {"a record": IMPOSSIBLE[name]}), claim)
    assert isinstance(answer, ProofUnknown)
    assert "not shown" in answer.reason


def costs_at_most(domain, count, scale, claim):
    return prove(
        SymbolicPlan(SymbolDomain(domain), {"r": (SymbolicStep(SymbolicLaplace(scale), count),)}), claim
    )


p = sp.Symbol("p", positive=True)
n = sp.Symbol("n", integer=True)
UNDER = sp.Symbol("K_", integer=True, nonnegative=True)
FALSE = {
    "a symbol with a name the prover might use": lambda: costs_at_most(
        {K: IntegerRange(1), eps: RealAbove(0)}, K, 1 / eps, (UNDER + 1) * eps
    ),
    "two symbols with one name": lambda: costs_at_most(
        {K: IntegerRange(1), sp.Symbol("K"): IntegerRange(1), eps: RealAbove(0)},
        K,
        1 / eps,
        sp.Symbol("K") * eps,
    ),
    "a symbol with the name of a declared one": lambda: costs_at_most(
        {K: IntegerRange(1), eps: RealAbove(0)}, K, 1 / eps, sp.Symbol("K") * eps
    ),
    "positive by itself, but not in its domain": lambda: costs_at_most(
        {p: IntegerRange(-3)}, 1, 1 / (sp.Abs(p) + 1), 1 + p
    ),
    "whole by itself, but not in its domain": lambda: costs_at_most({n: RealAbove(0)}, 1, 1 / n, sp.floor(n)),
    "even by itself": lambda: costs_at_most(
        {sp.Symbol("e", even=True): IntegerRange(1)},
        sp.Symbol("e", even=True) / 2,
        1,
        sp.Symbol("e", even=True),
    ),
    "bounds that refer forward": lambda: costs_at_most(
        {K: IntegerRange(L), L: IntegerRange(1), eps: RealAbove(0)}, L, 1 / eps, K * eps
    ),
    "bounds in a circle": lambda: costs_at_most({K: IntegerRange(L), L: IntegerRange(K)}, L, 1, K),
    "a float that was rounded": lambda: costs_at_most({eps: RealAbove(0)}, 3, 1 / eps, 3 * (1 - 1e-17) * eps),
    "floats in a plan": lambda: costs_at_most(
        {eps: RealAbove(0)}, 1, 0.1 / eps, sp.Integer(10) * eps * (1 - sp.Rational(1, 10**17))
    ),
    "a float for a bound": lambda: costs_at_most({p: RealAbove(0.1)}, 1, 1 / p, p),
    "text": lambda: costs_at_most({K: IntegerRange(1)}, K, 1, "K"),
    "a relation": lambda: costs_at_most({K: IntegerRange(1)}, K, 1, K < 7),
    "no number": lambda: costs_at_most({K: IntegerRange(1)}, K, 1, True),
}


@pytest.mark.parametrize("name", FALSE)
def test_false_statements_by_what_symbols_and_numbers_mean_are_refused(name):
    """Each of them was proved, or could have been: SymPy had rewritten it by what is not so."""
    with pytest.raises(ValueError, match=r"declared|two symbols|does not follow|is a float|a formula is"):
        FALSE[name]()


class Shrinking(sp.Symbol):
    """A symbol that simplifies as it likes."""

    def _eval_power(self, exponent):
        return sp.Integer(0)


class Always(sp.Function):
    is_nonnegative = is_positive = is_integer = True

    def _eval_subs(self, old, new):
        return sp.Integer(1)


class Twin(sp.Function):
    """Equal to K, it says."""

    def __eq__(self, other):
        return other == K

    def __hash__(self):
        return hash(K)


class SymbolTwin(sp.Symbol):
    """A symbol that is equal to K, it says; Python asks it first, as it is of a subclass."""

    __hash__ = Twin.__hash__

    def __eq__(self, other):
        return other is self or (type(other) is sp.Symbol and other.name == "K")


class Cheap(SymbolicLaplace):
    @property
    def epsilon(self):
        return sp.Integer(0)


ZERO = sp.Add(1, -1, evaluate=False)
OUTSIDE = {
    "nan": sp.nan,
    "infinity": sp.oo,
    "complex infinity": sp.zoo,
    "complex": K + sp.I,
    "a function of a symbol": sp.Function("K")(K) ** 2 + K,
    "an indexed base": sp.IndexedBase("K")[1] + K,
    "a piecewise": sp.Piecewise((K, K < 200), (0, True)),
    "a remainder": K + sp.Mod(K, 200) - 199,
    "an absolute value": sp.Abs(K - 200) + K - 104,
    "an exponential": sp.exp(K),
    "a constant": sp.pi * K,
    "a user's function": Always(K) * K**2,
    "a sum that was never evaluated": sp.Sum(K, (L, 1, 0)),
    "a matrix element": sp.MatrixSymbol("M", 1, 1)[0, 0] + K,
    "a huge power": K**100,
    "a power with a symbol": K**L,
    "zero times infinity": sp.Add(sp.Mul(0, sp.oo, evaluate=False), 2 * K, evaluate=False),
    "a division by zero": sp.Add(2 * K, ZERO / sp.Add(K, -K, evaluate=False), evaluate=False),
    "a division by what may be zero": sp.Add(2 * K, ZERO / (K - 150), evaluate=False),
    "not evaluated": sp.Mul(ZERO, K, evaluate=False),
    "a logarithm of what may be 0": sp.log(K - 1) + 10**9 * K,
    "a root of what may be negative": sp.sqrt(150 - K) + K,
    "a logarithm that is negative far away": K + sp.log(1000 / eps),
    "a floor that is negative far away": K + sp.floor(1000 - eps),
    "a pole beyond the values tried": K + 1 / (K - 150) ** 2,
}


@pytest.mark.few(19)
@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_outside_of_the_language_or_has_no_value_proves_nothing(name):
    claim = OUTSIDE[name]
    if name == "an indexed base":  # it has a symbol of its own
        with pytest.raises(ValueError, match="not declared"):
            prove(plan(1, K), claim)
    else:
        answer = prove(plan(1, K), claim)
        assert isinstance(answer, CounterexampleFound if name == "not evaluated" else ProofUnknown)


def test_classes_of_others_are_refused():
    for claim in (Twin(L), SymbolTwin("Z"), 2 * SymbolTwin("Z")):
        answer = prove(plan(1, K), claim)
        assert isinstance(answer, ProofUnknown)
        assert "the language has no" in answer.reason
    shrinking = Shrinking("K", positive=True)
    with pytest.raises(ValueError, match="not a Symbol of SymPy"):
        SymbolDomain({shrinking: IntegerRange(1)})
    with pytest.raises(ValueError, match="none of a subclass"):
        SymbolicPlan(DOMAIN, {"r": (SymbolicStep(Cheap(1 / eps), K),)})
    with pytest.raises(ValueError, match="not declared"):
        prove(plan(shrinking, K), 1)


def test_no_values_are_changed_after_they_were_checked():
    symbols = {K: IntegerRange(1), L: IntegerRange(K), eps: RealAbove(0)}
    values = SymbolDomain(symbols)
    symbols[K] = IntegerRange(-5)
    assert values == DOMAIN


def test_choices_floors_roots_and_logarithms():
    domain = {T: IntegerRange(1), K: IntegerRange(1), eps: RealAbove(0)}
    nodes = sp.floor(sp.log(T, 2)) + 1
    assert isinstance(costs_at_most(domain, nodes, nodes / eps, eps), ProofFound)
    assert isinstance(costs_at_most(domain, sp.Min(2, K), sp.Min(2, K) / eps, eps), ProofFound)
    assert isinstance(
        costs_at_most(domain, sp.Min(2, K), 2 / eps, eps), ProofUnknown
    )  # true; Min <= 2 is not used
    assert isinstance(costs_at_most(domain, K, sp.sqrt(K) / eps, sp.sqrt(K) * eps), ProofFound)
    refuted = costs_at_most(domain, nodes, (nodes - 1 + eps) / eps, eps)
    assert isinstance(refuted, CounterexampleFound)
    # floor(log2 T) at powers of 2, where logarithms cannot tell
    at_powers = costs_at_most(
        {T: IntegerRange(4), eps: RealAbove(0)}, nodes, 1 / eps, sp.Rational(5, 2) * eps
    )
    assert isinstance(at_powers, CounterexampleFound)
    assert (at_powers.point[T], at_powers.cost) == (4, 3)


def test_what_has_no_formula_in_a_currency_is_unknown_there():
    """A Laplace release is Gaussian DP with some mu: it is not infinite."""
    values = SymbolDomain({eps: RealAbove(0)})
    laplace = SymbolicPlan(values, {"r": (SymbolicStep(SymbolicLaplace(1 / eps)),)}, currency="mu_squared")
    assert isinstance(prove(laplace, eps), ProofUnknown)
    raw = SymbolicPlan(values, {"r": (SymbolicStep(DeclassifiedStep("as printed")),)}, currency="mu_squared")
    assert isinstance(prove(raw, eps), CounterexampleFound)


def test_a_computed_claim_is_never_proved():
    generous = NumericClaim("a lot", lambda point: Fraction(10**9))
    assert isinstance(prove(plan(1, 1), generous), ProofUnknown)
    assert isinstance(
        prove(plan(1, 1), NumericClaim("little", lambda point: Fraction(1, 2))), CounterexampleFound
    )


def test_a_plan_says_something_of_some_record():
    with pytest.raises(ValueError, match="at least one kind"):
        SymbolicPlan(SymbolDomain({eps: RealAbove(0)}), {})


def test_what_a_program_calibrates_is_checked_at_values_and_said_of_a_proof():
    quiet, honest = (
        SymbolicPlan(
            SymbolDomain({eps: RealAbove(0)}), {"one round": (SymbolicStep(SymbolicCalibrated(eps, make)),)}
        )
        for make in (
            lambda point: Laplace(scale=1.0),
            lambda point: Laplace.for_epsilon(point[eps], sensitivity=Sensitivity(1, 1, 1)),
        )
    )
    assert honest.evaluate({eps: 0.5}, "one round") is not None
    with pytest.raises(
        ValueError, match=r"make=.*lambda.*: gives a mechanism of epsilon = 1.0 .* at most 0.5"
    ):
        quiet.evaluate({eps: 0.5}, "one round")
    (said,) = prove(quiet, eps).rests_on
    assert "noise is calibrated to epsilon = epsilon for all values, by " in said
