"""Random statements about random plans: false ones, by values at random points, are never proved.

Their evaluation is their own and does not know SymPy.
"""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from accountant.plans.symbolic import (
    SymbolicLaplace,
    SymbolicPlan,
    SymbolicStep,
    find_counterexample,
)
from accountant.plans.values import IntegerRange, RealAbove, SymbolDomain

Point = dict[str, Fraction]
IsProved = Callable[[SymbolicPlan, Any], bool]


@dataclass(frozen=True)
class Term:
    """An expression twice: for the prover, and as a function of a point."""

    expression: Any
    value: Callable[[Point], Fraction]

    def __add__(self, other: Term) -> Term:
        return Term(self.expression + other.expression, lambda p: self.value(p) + other.value(p))

    def __sub__(self, other: Term) -> Term:
        return Term(self.expression - other.expression, lambda p: self.value(p) - other.value(p))

    def __mul__(self, other: Term) -> Term:
        return Term(self.expression * other.expression, lambda p: self.value(p) * other.value(p))

    def __truediv__(self, other: Term) -> Term:
        return Term(self.expression / other.expression, lambda p: self.value(p) / other.value(p))


def number(value: Fraction | int) -> Term:
    exact = Fraction(value)
    return Term(sp.Rational(exact.numerator, exact.denominator), lambda p: exact)


def variable(symbol: sp.Symbol) -> Term:
    return Term(symbol, lambda p: p[symbol.name])


@dataclass(frozen=True)
class Statement:
    """Each record pays at most `claim`: the sum of count / scale over steps. Domain: (symbol, whole, bound)."""

    domain: tuple[tuple[sp.Symbol, bool, Term], ...]
    steps: tuple[tuple[Term, Term], ...]
    claim: Term

    def plan(self) -> SymbolicPlan:
        """Return the plan for the prover."""
        values = SymbolDomain(
            {
                symbol: IntegerRange(bound.expression) if whole else RealAbove(bound.expression)
                for symbol, whole, bound in self.domain
            }
        )
        return SymbolicPlan(
            values,
            {"r": tuple(SymbolicStep(SymbolicLaplace(s.expression), c.expression) for c, s in self.steps)},
        )

    def random_point(self, draw: random.Random) -> Point:
        """Return a point of the domain."""
        point: Point = {}
        for symbol, whole, bound in self.domain:
            low = bound.value(point)
            if whole:
                point[symbol.name] = Fraction(math.ceil(low) + draw.choice([0, 0, 1, 2, 5, 40, 10**6]))
            else:
                point[symbol.name] = low + Fraction(draw.choice([1, 3, 7])) * Fraction(10) ** draw.randint(
                    -9, 9
                )
        return point

    def fails_at(self, point: Point) -> bool:
        """Whether the plan cannot be run at a point, or costs more than is claimed there."""
        try:
            paid = Fraction(0)
            for count, scale in self.steps:
                times, noise = count.value(point), scale.value(point)
                if times < 0 or times.denominator != 1 or noise <= 0:
                    return True
                paid += times / noise
            return paid > self.claim.value(point)
        except ZeroDivisionError:
            return self._fails_as_simplified(point)

    def _fails_as_simplified(self, point: Point) -> bool:
        """As `fails_at`, of what SymPy left of it: some fractions cancel before the prover sees them."""
        values = {symbol: sp.Rational(point[symbol.name]) for symbol, _, _ in self.domain}
        try:
            claim, *parts = (
                term.expression.xreplace(values)
                for term in (self.claim, *(term for step in self.steps for term in step))
            )
        except ValueError:  # Min(zoo, 1)
            return True
        steps = list(zip(parts[::2], parts[1::2], strict=True))
        if not all(value.is_Rational for value in (claim, *parts)):
            return True
        if any(count < 0 or not count.is_Integer or scale <= 0 for count, scale in steps):
            return True
        return bool(sum(count / scale for count, scale in steps) > claim)

    def is_refuted(self, draw: random.Random, points: int = 40) -> bool:
        """Whether one of some random points is a counterexample."""
        return any(self.fails_at(self.random_point(draw)) for _ in range(points))


def _domain(draw: random.Random) -> tuple[tuple[sp.Symbol, bool, Term], ...]:
    domain: list[tuple[sp.Symbol, bool, Term]] = []
    for name in draw.sample(["K", "L", "T", "epsilon", "Kx", "x"], draw.randint(1, 3)):
        bound = number(draw.choice([0, 0, 1, 1, 2, -1, Fraction(1, 2), Fraction(-3, 2)]))
        if domain and draw.random() < 0.4:
            bound = variable(draw.choice(domain)[0]) + number(draw.choice([0, 1, -1]))
        domain.append((sp.Symbol(name), draw.random() < 0.5, bound))
    return tuple(domain)


def _term(draw: random.Random, leaves: list[Term], depth: int) -> Term:
    if depth == 0 or draw.random() < 0.25:
        if leaves and draw.random() < 0.75:
            return draw.choice(leaves)
        return number(draw.choice([1, 2, 3, -1, Fraction(1, 2), Fraction(7, 3), 0]))
    kind = draw.choice(["+", "+", "*", "*", "-", "/"])
    a, b = _term(draw, leaves, depth - 1), _term(draw, leaves, depth - 1)
    made = {"+": operator.add, "*": operator.mul, "-": operator.sub, "/": operator.truediv}[kind]
    return made(a, b) if kind != "/" or b.expression != 0 else a


def random_statement(draw: random.Random) -> Statement:
    """Return a statement that may be true or false; most come close to what they say of the cost."""
    domain = _domain(draw)
    everything = [variable(symbol) for symbol, _, _ in domain]
    whole = [variable(symbol) for symbol, is_whole, _ in domain if is_whole]
    steps = []
    for _ in range(draw.randint(1, 2)):
        count = draw.choice([number(draw.randint(1, 3)), _term(draw, whole, draw.randint(0, 2))])
        scale = draw.choice([number(1), _term(draw, everything, draw.randint(0, 2))])
        if scale.expression != 0:
            steps.append((count, scale))
    steps = steps or [(number(1), number(1))]
    cost = steps[0][0] / steps[0][1]
    for count, scale in steps[1:]:
        cost = cost + count / scale
    other = _term(draw, everything, draw.randint(0, 2))
    claim = draw.choice(
        [
            cost,
            cost + other,
            cost + other * other,
            cost - other * number(Fraction(1, 10**6)),
            cost * (number(1) + other * number(Fraction(1, 10**4))),
            other,
        ]
    )
    return Statement(domain, tuple(steps), claim)


def check(is_proved: IsProved, false: int, seed: int) -> float:
    """Ask for proofs until so many statements were false; return which share of the others was proved."""
    draw = random.Random(seed)
    seen, standing, proved = 0, 0, 0
    while seen < false:
        statement = random_statement(draw)
        plan, claim = statement.plan(), statement.claim.expression
        found = find_counterexample(plan, claim)
        if found is not None:
            assert statement.fails_at({str(symbol): value for symbol, value in found.point.items()})
        if found is not None or statement.is_refuted(draw):
            assert not is_proved(plan, claim), (plan, claim)
            seen += 1
        else:
            standing += 1
            proved += is_proved(plan, claim)
    return proved / standing


def test_random_false_statements_are_not_proved(is_proved: IsProved) -> None:
    assert check(is_proved, 30, 1) > 0.3  # and many others are; none with a real number above a negative one


@pytest.mark.slow
def test_many_random_false_statements_are_not_proved(is_proved: IsProved) -> None:
    assert check(is_proved, 3_000, 2) > 0.3
