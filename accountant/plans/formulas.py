"""Formulas over declared symbols, and their exact values.

The language: rational numbers, symbols, sums, products, whole powers. A formula is a tree of SymPy's own, unmodified
classes; this module defines the meaning of each node, and uses nothing that SymPy would conclude of it (`simplify`,
assumptions, comparisons). Every other class is refused.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING

from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    import sympy as sp

_MOST_POWER = 24


@functools.cache
def _integers() -> frozenset[type]:
    import sympy as sp
    from sympy.core import numbers

    return frozenset({sp.Integer, numbers.Zero, numbers.One, numbers.NegativeOne})


@functools.cache
def _rationals() -> frozenset[type]:
    import sympy as sp
    from sympy.core import numbers

    return _integers() | {sp.Rational, numbers.Half}


def formula(name: str, value: object) -> sp.Expr:
    """Return a number or an expression as a formula.

    Raises
    ------
    ParameterError
        If it is none: a float, which stands for a number that is rounded already; text, a relation and the like; or
        an expression with a part of another class, be it a subclass, which may mean anything.
    """
    import sympy as sp

    if isinstance(value, Rational) and not isinstance(value, bool):
        return sp.Rational(int(value.numerator), int(value.denominator))
    if not isinstance(value, sp.Expr):
        raise ParameterError(f"{name} = {value!r}: a formula is an int, a Fraction or an expression of SymPy")
    for node in sp.preorder_traversal(value):
        if isinstance(node, sp.Float):
            raise ParameterError(f"{name} = {value}: {node} is a float, a rounded number; write a Rational")
        if type(node) not in _rationals() | {sp.Symbol, sp.Add, sp.Mul, sp.Pow}:
            raise ParameterError(
                f"{name} = {value}: a formula has numbers, symbols, sums, products and powers, no "
                f"{type(node).__name__}; declare a symbol that is computed"
            )
        if type(node) is sp.Pow and not (type(node.exp) in _integers() and abs(node.exp.p) <= _MOST_POWER):
            raise ParameterError(
                f"{name} = {value}: the power {node.exp} is no whole number up to {_MOST_POWER}"
            )
    return value


def check_declared(name: str, expression: sp.Expr, declared: Iterable[sp.Symbol]) -> None:
    """Check that a formula has no symbols but declared ones.

    Raises
    ------
    ParameterError
        If it has others; one with the name of a declared one, but other assumptions, is another.
    """
    import sympy as sp

    known = set(declared)
    for node in sp.preorder_traversal(expression):
        if isinstance(node, sp.Symbol) and node not in known:
            twin = " (it has the name of a declared symbol, but is another one)"
            same = str(node) in map(str, known)
            raise ParameterError(
                f"{name} = {expression}: the symbol {node} is not declared{twin if same else ''}; "
                f"declared are {', '.join(map(str, known)) or 'none'}"
            )


def value_at(expression: sp.Expr, point: Mapping[sp.Symbol, Fraction]) -> Fraction:
    """Return the exact value of a formula at a point.

    Raises
    ------
    ZeroDivisionError
        If it has none.
    """
    import sympy as sp

    kind = type(expression)
    if kind in _rationals():
        return Fraction(int(expression.p), int(expression.q))
    if kind is sp.Symbol:
        return point[expression]
    if kind is sp.Pow:
        return Fraction(value_at(expression.base, point) ** int(expression.exp))
    parts = [value_at(part, point) for part in expression.args]
    return sum(parts, Fraction(0)) if kind is sp.Add else math.prod(parts, start=Fraction(1))
