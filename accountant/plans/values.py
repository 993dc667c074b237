"""What the symbols of a statement may be.

>>> import sympy as sp
>>> K, L = sp.symbols("K L")
>>> SymbolDomain({K: IntegerRange(1), L: IntegerRange(K)}).holds({K: 3, L: 2})
False
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from accountant.plans.formulas import (
    ConditionUnproved,
    DeclaredSymbol,
    PlanStatement,
    UndefinedValue,
    check_declared,
    enclose,
    formula,
)
from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class IntegerRange:
    """A whole number that is at least `least`, a number or an expression in earlier symbols."""

    least: Any


@dataclass(frozen=True)
class RealAbove:
    """A real number above `bound`, a number or an expression in earlier symbols."""

    bound: Any


@dataclass(frozen=True)
class SymbolDomain:
    """The domain of a statement: the values that each symbol may take.

    Parameters
    ----------
    symbols
        The kind of each symbol. What a symbol assumes of itself must follow from it: SymPy uses assumptions when an
        expression is made, before anything can be checked (``floor(n)`` becomes ``n``).

    Raises
    ------
    ParameterError
        If a symbol is none, has the name of another, or assumes more than its domain says; if a bound is a float,
        refers to a symbol that is not declared before it, or is not shown to have a value.
    """

    symbols: Mapping[Any, IntegerRange | RealAbove]

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", dict(self.symbols))
        _ = self.declared

    @functools.cached_property
    def declared(self) -> tuple[DeclaredSymbol, ...]:
        """The symbols with their domains, as formulas."""
        import sympy as sp

        earlier: list[DeclaredSymbol] = []
        for symbol, kind in self.symbols.items():
            if type(symbol) not in (sp.Symbol, sp.Dummy):
                raise ParameterError(
                    f"symbols: {symbol!r} is a {type(symbol).__name__}, not a Symbol of SymPy"
                )
            if any(symbol.name == other.symbol.name for other in earlier):
                raise ParameterError(
                    f"symbols: there are two symbols with the name {symbol}; rename one of them"
                )
            if type(kind) not in (IntegerRange, RealAbove):
                raise ParameterError(
                    f"symbols: {symbol} is {kind!r}; it must be IntegerRange(...) or RealAbove(...)"
                )
            name = f"the bound of {symbol}"
            bound = formula(name, kind.least if isinstance(kind, IntegerRange) else kind.bound)
            check_declared(name, bound, (other.symbol for other in earlier))
            declared = DeclaredSymbol(symbol, isinstance(kind, IntegerRange), bound)
            _check_assumptions(declared, earlier)
            earlier.append(declared)
        return tuple(earlier)

    def samples(self) -> Iterator[dict[Any, Fraction]]:
        """Iterate over exact values in the domain, small ones first."""
        choices = [
            (0, 1, 2, 3, 7, 96) if declared.whole else (1, Fraction(1, 10), 10) for declared in self.declared
        ]
        ranked = sorted(itertools.product(*(range(len(steps)) for steps in choices)), key=sum)
        for chosen in ranked:
            point: dict[Any, Fraction] = {}
            for declared, steps, i in zip(self.declared, choices, chosen, strict=True):
                low = enclose(declared.bound, point).upper
                point[declared.symbol] = Fraction(math.ceil(low) if declared.whole else low) + steps[i]
            yield point

    def holds(self, point: Mapping[Any, Any]) -> bool:
        """Return True if a point lies in the domain; a bound that is not rational is rounded up first."""
        exact = {symbol: Fraction(exact_number(value)) for symbol, value in point.items()}
        for declared in self.declared:
            value, bound = exact[declared.symbol], enclose(declared.bound, exact).upper
            if value < bound or (value.denominator != 1 if declared.whole else value == bound):
                return False
        return True


def exact_number(value: Any) -> Fraction:
    """Return the exact value of a number of Python, NumPy or SymPy."""
    import sympy as sp

    if isinstance(value, sp.Basic):
        value = formula("value", value)
        return Fraction(int(value.p), int(value.q))
    return Fraction(value)


def _check_assumptions(declared: DeclaredSymbol, earlier: list[DeclaredSymbol]) -> None:
    """Check that all that a symbol assumes of itself follows from its domain."""
    import sympy as sp

    try:
        statement = PlanStatement(earlier, (declared.bound,))
        cases = list(statement.cases())
        positive = all(case.is_positive(declared.bound) for case in cases)
        not_negative = all(case.is_not_negative(declared.bound) for case in cases)
    except (ConditionUnproved, UndefinedValue) as error:
        raise ParameterError(
            f"the bound {declared.bound} of {declared.symbol}: it is not shown for all values that {error}"
        ) from None
    follows: dict[str, bool] = {"integer": True} if declared.whole else {"real": True}
    if positive or (not_negative and not declared.whole):
        follows["positive"] = True
    elif not_negative:
        follows["nonnegative"] = True
    known = sp.Symbol("_", **follows).assumptions0
    for assumption, value in declared.symbol.assumptions0.items():
        if known.get(assumption) is not value:
            kind = "a whole number that is at least" if declared.whole else "a number above"
            raise ParameterError(
                f"symbols: {declared.symbol} assumes {assumption}={value}, which does not follow from its domain, "
                f"{kind} {declared.bound}; make it without assumptions"
            )
