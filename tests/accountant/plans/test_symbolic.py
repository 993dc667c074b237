"""Costs as formulas: proved for all values by the checker, refuted with exact values, or open."""

import math
from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.plans.symbolic import (
    DeclassifiedStep,
    NumericClaim,
    SymbolicCalibrated,
    SymbolicGaussian,
    SymbolicLaplace,
    SymbolicPlan,
    SymbolicResponse,
    SymbolicStep,
    find_counterexample,
)
from accountant.plans.values import IntegerRange, RealAbove, SymbolDomain
from mechanisms import Gaussian, Laplace, RandomizedResponse, Sensitivity

K, L, T, eps = sp.symbols("K L T epsilon")
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
def test_true_claims_are_proved(is_proved, scale, count, claim):
    assert is_proved(plan(scale, count), claim)
    assert find_counterexample(plan(scale, count), claim) is None
    assert sp.simplify(plan(scale, count).costs()["one record"] - count / scale) == 0


@pytest.mark.parametrize(
    ("scale", "count", "claim"),
    [
        (K / eps, L, eps),
        (1 / eps, K, eps),
        (K / eps, K, eps * sp.Rational(99, 100)),
        (K / eps, K, 1),
        (1 / eps, 98, 97 * eps),
        (K / eps, K + 1, eps),
    ],
)
def test_false_claims_are_refuted_by_values_in_the_domain(is_proved, scale, count, claim):
    result = find_counterexample(plan(scale, count), claim)
    assert DOMAIN.exact_point(result.point) == result.point
    exact = sp.sympify(count / scale).subs(result.point)
    assert (exact > sp.sympify(claim).subs(result.point)) == True  # noqa: E712
    assert exact == result.cost
    assert str(result.cost) in str(result)
    assert not is_proved(plan(scale, count), claim)


def is_open(is_proved, plan, claim):
    return find_counterexample(plan, claim) is None and not is_proved(plan, claim)


def test_what_is_neither_is_open(is_proved):
    """True ((K - 2)^2 >= 0), but with a negative coefficient; false only beyond the values tried."""
    assert is_open(is_proved, plan(1 / eps, 4 * K), (K**2 + 4) * eps)
    assert is_open(is_proved, plan(1 / eps, K), 1000 * eps)


def test_a_scale_that_can_be_zero_proves_nothing(is_proved):
    assert is_open(is_proved, plan((L - K) / eps, 1), 2 * eps)
    assert is_proved(plan((L - K + 1) / eps, 1), eps)
    # true for K < 150, false beyond, where a denominator has changed its sign
    assert is_open(is_proved, plan(K / eps, K), eps + eps / (150 - K))
    assert is_open(is_proved, plan(K / eps, K), eps - eps / (K - 150))


def test_the_worst_kind_of_record_decides():
    both = SymbolicPlan(
        DOMAIN,
        {
            "a round": (SymbolicStep(SymbolicLaplace(K / eps), K),),
            "the start": (SymbolicStep(SymbolicLaplace(K / eps), L),),
        },
    )
    result = find_counterexample(both, eps)
    assert result.kind == "the start"
    assert result.point == {K: 1, L: 2, eps: 1}


def test_steps_add_up_and_declassified_values_cost_infinity(is_proved):
    mixed = SymbolicPlan(
        DOMAIN,
        {
            "r": (
                SymbolicStep(SymbolicLaplace(2 * K / eps), K),
                SymbolicStep(SymbolicResponse(K + 1, eps / 2)),
            )
        },
    )
    assert is_proved(mixed, eps)
    open_plan = SymbolicPlan(DOMAIN, {"r": (SymbolicStep(DeclassifiedStep("as printed")),)})
    assert find_counterexample(open_plan, eps).cost == math.inf
    assert not is_proved(open_plan, eps)
    sometimes = SymbolicPlan(DOMAIN, {"r": (SymbolicStep(DeclassifiedStep("but the first"), K - 1),)})
    assert find_counterexample(sometimes, eps).point[K] == 2


@pytest.mark.slow
@settings(max_examples=15, deadline=None)  # SymPy is slow
@given(
    st.lists(st.integers(-3, 3), min_size=4, max_size=4),
    st.integers(1, 4),
    st.integers(0, 5),
    st.fractions(Fraction(1, 20), 20),
)
def test_a_proof_is_never_contradicted_by_values(is_proved, coefficients, size, more, loss):
    """Random polynomial costs: what is proved, exact evaluation agrees with everywhere tried."""
    a, b, c, d = coefficients
    cost = a * K + b * L + c + d * K * L
    claim = 2 * L * K
    symbolic = SymbolicPlan(DOMAIN, {"r": (SymbolicStep(SymbolicLaplace(1 / eps), cost),)})
    point = {K: size, L: size + more, eps: sp.Rational(loss.numerator, loss.denominator)}
    holds = (sp.sympify(cost * eps).subs(point) <= (claim * eps).subs(point)) == True  # noqa: E712
    assert holds or not is_proved(symbolic, claim * eps)


def test_domains():
    assert DOMAIN.exact_point({K: 2, L: 2, eps: 0.1}) == {K: 2, L: 2, eps: Fraction(0.1)}
    for point, words in [
        ({K: 2, L: 1, eps: 1}, "L = 1 is no whole number of at least K = 2"),
        ({K: 0, L: 1, eps: 1}, "K = 0 is no whole number of at least 1"),
        ({K: sp.Rational(3, 2), L: 2, eps: 1}, "K = 3/2 is no whole number"),
        ({K: 1, L: 1, eps: 0}, "epsilon = 0 is no number above 0"),
        ({K: 1, L: 1}, "there is no value of epsilon"),
    ]:
        with pytest.raises(ValueError, match=f"point: {words}"):
            DOMAIN.exact_point(point)
    assert next(DOMAIN.samples()) == {K: 1, L: 1, eps: 1}


def test_at_values_a_plan_can_hold_a_run():
    symbolic = SymbolicPlan(
        DOMAIN,
        {
            "r": (
                SymbolicStep(SymbolicLaplace(K / eps, coordinates=L), K),
                SymbolicStep(SymbolicResponse(K + 1, eps)),
                SymbolicStep(SymbolicGaussian(K / eps, coordinates=L)),
            ),
            "s": (SymbolicStep(DeclassifiedStep("as printed")),),
        },
    )
    found = symbolic.evaluate({K: 3, L: 5, eps: 0.1}, "r")
    laplace, response, gaussian = found.steps
    assert laplace.mechanism == Laplace(scale=30.0, sensitivity=Sensitivity.of_box([1.0] * 5))
    assert Fraction(3) / Fraction(0.1) <= Fraction(laplace.mechanism.scale)
    assert (laplace.count, laplace.effective_sensitivity) == (3, Sensitivity(1, 1, 1))
    assert response.mechanism == RandomizedResponse(size=4, epsilon=0.1)
    assert gaussian.mechanism == Gaussian(
        sigma=gaussian.mechanism.sigma, sensitivity=laplace.mechanism.sensitivity
    )
    assert 0 <= Fraction(gaussian.mechanism.sigma) ** 2 - Fraction(3) / Fraction(0.1) < 1e-13
    assert gaussian.effective_sensitivity == Sensitivity(1, 1, 1)
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
    "a scale just below 0": (
        SymbolicStep(SymbolicLaplace(1 / eps), count=3),
        SymbolicStep(SymbolicLaplace(sp.Rational(-1, 2))),
    ),
    "a loss just below 0": (
        SymbolicStep(SymbolicLaplace(1 / eps), count=3),
        SymbolicStep(SymbolicResponse(2, sp.Rational(-1, 2))),
    ),
    "one category": (SymbolicStep(SymbolicResponse(1, eps)),),
    "a count that may be a fraction": (SymbolicStep(SymbolicLaplace(1 / eps), count=1 / (1 + eps)),),
}


@pytest.mark.parametrize("claim", [eps, eps / 8])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_nothing_is_proved_or_refuted_of_steps_that_cannot_be_made(is_proved, name, claim):
    impossible = SymbolicPlan(SymbolDomain({eps: RealAbove(0)}), {"a record": IMPOSSIBLE[name]})
    assert is_open(is_proved, impossible, claim)


def costs_at_most(domain, count, scale, claim):
    return find_counterexample(plan(scale, count, SymbolDomain(domain)), claim)


p = sp.Symbol("p", positive=True)
n = sp.Symbol("n", integer=True)
UNDER = sp.Symbol("K_", integer=True, nonnegative=True)
TWIN = sp.Symbol("K", positive=True)
FALSE = {
    "a symbol with a name the prover might use": lambda: costs_at_most(
        {K: IntegerRange(1), eps: RealAbove(0)}, K, 1 / eps, (UNDER + 1) * eps
    ),
    "two symbols with one name": lambda: costs_at_most(
        {K: IntegerRange(1), TWIN: IntegerRange(1), eps: RealAbove(0)},
        K,
        1 / eps,
        TWIN * eps,
    ),
    "a symbol with the name of a declared one": lambda: costs_at_most(
        {K: IntegerRange(1), eps: RealAbove(0)}, K, 1 / eps, TWIN * eps
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
    """SymPy may have rewritten each of them by what is not so."""
    with pytest.raises(ValueError, match=r"declared|two symbols|assumes something|is a float|a formula"):
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
    "a logarithm of what may be 0": sp.log(K - 1) + 10**9 * K,
    "a root of what may be negative": sp.sqrt(150 - K) + K,
    "a logarithm that is negative far away": K + sp.log(1000 / eps),
    "a floor that is negative far away": K + sp.floor(1000 - eps),
    "a root": sp.sqrt(K),
    "a floor": sp.floor(K / 2),
    "the larger of two numbers": sp.Max(K, L),
}
NO_VALUE = {
    "a division by what may be zero": sp.Add(2 * K, ZERO / (K - 150), evaluate=False),
    "a pole beyond the values tried": K + 1 / (K - 150) ** 2,
    "a division by zero": sp.Add(2 * K, ZERO / sp.Add(K, -K, evaluate=False), evaluate=False),
}


@pytest.mark.few(19)
@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_outside_of_the_language_is_refused(name):
    with pytest.raises(ValueError, match=r"a formula has numbers.*, no|is no whole number up to 24"):
        find_counterexample(plan(1, K), OUTSIDE[name])


@pytest.mark.parametrize("name", NO_VALUE)
def test_what_may_have_no_value_proves_nothing(is_proved, name):
    assert is_open(is_proved, plan(1, K), NO_VALUE[name])


def test_what_is_not_evaluated_is_refuted():
    assert find_counterexample(plan(1, K), sp.Mul(ZERO, K, evaluate=False)).cost == 1


def test_classes_of_others_are_refused():
    for claim in (Twin(L), SymbolTwin("Z"), 2 * SymbolTwin("Z")):
        with pytest.raises(ValueError, match=r"a formula has numbers.*, no"):
            find_counterexample(plan(1, K), claim)
    shrinking = Shrinking("K")
    with pytest.raises(ValueError, match="not a Symbol of SymPy"):
        SymbolDomain({shrinking: IntegerRange(1)})
    with pytest.raises(ValueError, match="none of a subclass"):
        SymbolicPlan(DOMAIN, {"r": (SymbolicStep(Cheap(1 / eps), K),)})
    with pytest.raises(ValueError, match="no Shrinking"):
        find_counterexample(plan(shrinking, K), 1)


def test_no_values_are_changed_after_they_were_checked():
    symbols = {K: IntegerRange(1), L: IntegerRange(K), eps: RealAbove(0)}
    values = SymbolDomain(symbols)
    symbols[K] = IntegerRange(-5)
    assert values == DOMAIN


def test_computed_symbols_are_proved_in_their_range_and_refuted_at_their_values(is_proved):
    nodes = sp.Symbol("n")

    def tree(scale, claim, least=1):
        levels = IntegerRange(1, computed=lambda point: int(point[T]).bit_length())
        values = SymbolDomain({eps: RealAbove(0), T: IntegerRange(least), nodes: levels})
        return plan(scale, nodes, values), claim

    assert is_proved(*tree(nodes / eps, eps))
    assert is_open(is_proved, *tree(1 / eps, T * eps))  # true, as n <= T; the range does not say so
    refuted = find_counterexample(*tree((nodes - 1 + eps) / eps, eps))
    assert refuted.cost > refuted.claim
    at_powers = find_counterexample(*tree(1 / eps, sp.Rational(5, 2) * eps, least=4))
    assert (at_powers.point[T], at_powers.point[nodes], at_powers.cost) == (4, 3, 3)


@pytest.mark.parametrize("computed", [0, Fraction(3, 2), -1])
def test_a_computed_value_out_of_its_range_is_an_error(computed):
    values = SymbolDomain({K: IntegerRange(1, computed=lambda point: computed)})
    with pytest.raises(ValueError, match=f"point: K = {computed} is no whole number of at least 1"):
        find_counterexample(plan(1, K, values), K)
    with pytest.raises(ValueError, match=f"point: K = {computed} is no whole number of at least 1"):
        values.exact_point({K: 2})  # what is given of it counts for nothing


def test_bounds_are_polynomials():
    with pytest.raises(ValueError, match=r"the bound of L = 1/K: it must be a polynomial"):
        SymbolDomain({K: IntegerRange(0), L: IntegerRange(1 / K)})


def test_what_has_no_formula_in_a_currency_is_open_there(is_proved):
    """A Laplace release is Gaussian DP with some mu: it is not infinite."""
    values = SymbolDomain({eps: RealAbove(0)})
    laplace = SymbolicPlan(values, {"r": (SymbolicStep(SymbolicLaplace(1 / eps)),)}, currency="mu_squared")
    assert is_open(is_proved, laplace, eps)
    raw = SymbolicPlan(values, {"r": (SymbolicStep(DeclassifiedStep("as printed")),)}, currency="mu_squared")
    assert find_counterexample(raw, eps).cost == math.inf


def test_a_computed_claim_is_never_proved(is_proved):
    assert is_open(is_proved, plan(1, 1), NumericClaim("a lot", lambda point: Fraction(10**9)))
    assert find_counterexample(plan(1, 1), NumericClaim("little", lambda point: Fraction(1, 2))).cost == 1


def test_a_plan_says_something_of_some_record():
    with pytest.raises(ValueError, match="at least one kind"):
        SymbolicPlan(SymbolDomain({eps: RealAbove(0)}), {})


def test_what_a_program_calibrates_is_checked_at_values_and_said_of_a_proof(is_proved):
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
        ValueError, match=r"make = .*lambda.*: gives a mechanism of epsilon = 1.0 .* at most 0.5"
    ):
        quiet.evaluate({eps: 0.5}, "one round")
    assert is_proved(quiet, eps)
    assert not is_proved(quiet, eps * Fraction(9, 10))
    (said,) = quiet.promises
    assert "noise is calibrated to epsilon = epsilon for all values, by " in said
