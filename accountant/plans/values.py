"""The domains of a statement's symbols.

>>> import sympy as sp
>>> K, L = sp.symbols("K L")
>>> SymbolDomain({K: IntegerRange(1), L: IntegerRange(K)}).exact_point({K: 3, L: 2})
Traceback (most recent call last):
mechanisms.parameters.ParameterError: point: L = 2 is no whole number of at least K = 3
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from accountant.plans.formulas import check_declared, formula, value_at
from mechanisms.parameters import ParameterError


@dataclass(frozen=True)
class IntegerRange:
    """A whole number that is at least a bound.

    Parameters
    ----------
    bound
        A number or a polynomial in earlier symbols.
    computed
        Function that returns its value at values of earlier symbols, where no formula gives it (a floor, the smaller of
        two numbers); None if it is free. Proofs cover the whole range, so the bound has to hold for every computed
        value.
    """

    bound: Any
    computed: Callable[[Mapping[Any, Fraction]], int] | None = None
    whole: ClassVar[bool] = True


@dataclass(frozen=True)
class RealAbove:
    """A real number above a bound.

    Parameters
    ----------
    bound
        A number or a polynomial in earlier symbols.
    computed
        As of `IntegerRange`; a rational number, so that of an irrational one it is a bound from the side on which a
        record pays less.
    """

    bound: Any
    computed: Callable[[Mapping[Any, Fraction]], Fraction] | None = None
    whole: ClassVar[bool] = False


@dataclass(frozen=True)
class SymbolDomain:
    """The domain of a statement: the values that each symbol may take.

    Parameters
    ----------
    symbols
        The kind of each symbol. A symbol must not assume anything of itself: SymPy uses assumptions when an expression
        is made, before anything can be checked (``floor(n)`` becomes ``n``).

    Raises
    ------
    ParameterError
        If a symbol is none, has the name of another, or assumes anything; if a bound is no polynomial, or refers to a
        symbol that is not declared before it.
    """

    symbols: Mapping[Any, IntegerRange | RealAbove]

    def __post_init__(self) -> None:
        import sympy as sp

        object.__setattr__(self, "symbols", dict(self.symbols))
        earlier: list[sp.Symbol] = []
        for symbol, kind in self.symbols.items():
            if type(symbol) is not sp.Symbol:
                raise ParameterError(
                    f"symbols: {symbol!r} is a {type(symbol).__name__}, not a Symbol of SymPy"
                )
            if any(symbol.name == other.name for other in earlier):
                raise ParameterError(
                    f"symbols: there are two symbols with the name {symbol}; rename one of them"
                )
            if symbol.assumptions0 != sp.Symbol(symbol.name).assumptions0:
                raise ParameterError(
                    f"symbols: {symbol} assumes something of itself; make it without assumptions"
                )
            if type(kind) not in (IntegerRange, RealAbove):
                raise ParameterError(
                    f"symbols: {symbol} is {kind!r}; it must be IntegerRange(...) or RealAbove(...)"
                )
            name = f"the bound of {symbol}"
            bound = formula(name, kind.bound)
            check_declared(name, bound, earlier)
            if not bound.is_polynomial(*earlier):
                raise ParameterError(f"{name} = {bound}: it must be a polynomial")
            earlier.append(symbol)

    def samples(self) -> Iterator[dict[Any, Fraction]]:
        """Yield points of exact values in the domain, small ones first."""
        choices = [
            (None,) if kind.computed else (0, 1, 2, 3, 7, 96) if kind.whole else (1, Fraction(1, 10), 10)
            for kind in self.symbols.values()
        ]
        ranked = sorted(itertools.product(*(range(len(steps)) for steps in choices)), key=sum)
        for chosen in ranked:
            point: dict[Any, Fraction] = {}
            for (symbol, kind), steps, i in zip(self.symbols.items(), choices, chosen, strict=True):
                low, step = value_at(formula("bound", kind.bound), point), steps[i]
                if step is not None:
                    point[symbol] = (math.ceil(low) if kind.whole else low) + Fraction(step)
                elif kind.computed is not None:
                    point[symbol] = Fraction(kind.computed(point))
            yield self.exact_point(point)

    def exact_point(self, point: Mapping[Any, Any]) -> dict[Any, Fraction]:
        """Return the exact values of all symbols, computed ones among them; a float is its exact value.

        Raises
        ------
        ParameterError
            If a symbol has no value, or one that is not in its range.
        """
        exact: dict[Any, Fraction] = {}
        for symbol, kind in self.symbols.items():
            if kind.computed is None and symbol not in point:
                raise ParameterError(f"point: there is no value of {symbol}")
            value = _exact_number(point[symbol]) if kind.computed is None else Fraction(kind.computed(exact))
            low = value_at(formula("bound", kind.bound), exact)
            if value < low or (value.denominator != 1 if kind.whole else value == low):
                words = "whole number of at least" if kind.whole else "number above"
                bound = kind.bound if str(kind.bound) == str(low) else f"{kind.bound} = {low}"
                raise ParameterError(f"point: {symbol} = {value} is no {words} {bound}")
            exact[symbol] = value
        return exact


def _exact_number(value: Any) -> Fraction:
    """Return the exact value of a number of Python, NumPy or SymPy."""
    import sympy as sp

    return value_at(formula("value", value), {}) if isinstance(value, sp.Basic) else Fraction(value)
