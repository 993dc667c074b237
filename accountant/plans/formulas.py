"""Formulas over declared symbols, read by rules of their own: where they are above 0, and what they are at a point.

The language: rational numbers, declared symbols, sums, products, whole powers, roots, `Min`, `Max`, `floor`, `log`.
A formula is a tree of SymPy's own, unmodified classes; what each node means is said here, and nothing that SymPy would
conclude of it (`simplify`, assumptions, comparisons) is used. What is no part of the language is never guessed at.

**Reading.** A formula becomes a quotient of polynomials over the rationals. A declared symbol is its bound plus an
offset, which is at least 0 (`IntegerRange`) or above 0 (`RealAbove`); a root, a floor or a logarithm is one more
unknown, of which only the sign is used. `Min` and `Max` are replaced by one of their arguments at a time: a statement
that holds with each of them holds.

**Signs.** A polynomial without a negative coefficient in unknowns that are at least 0 is at least 0, and above 0 if
one of its terms has none but positive unknowns. A divisor has to be shown to be nonzero on the whole domain before
anything is cancelled, the argument of a logarithm to be above 0, that of a root not to be below 0.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

from mechanisms.parameters import DPWitnessError, ParameterError

if TYPE_CHECKING:
    import sympy as sp

_MOST_POWER = 24
_MOST_CASES = 64
_DIGITS = 60


class ConditionUnproved(Exception):
    """A requirement of a formula that is not shown to hold on the whole domain, or that is no part of the language."""


class UndefinedValue(DPWitnessError, ArithmeticError):
    """A formula has no real value at a point, or none could be computed."""


@dataclass(frozen=True)
class DeclaredSymbol:
    """A symbol with its domain: at least `bound` and whole, or above it."""

    symbol: sp.Symbol
    whole: bool
    bound: sp.Expr


def formula(name: str, value: object) -> sp.Expr:
    """Return a number or an expression as a formula.

    Raises
    ------
    ParameterError
        If it is none: a float, which stands for a number that is rounded already, or text, a relation and the like.
    """
    import sympy as sp

    if isinstance(value, Rational) and not isinstance(value, bool):
        return sp.Rational(int(value.numerator), int(value.denominator))
    if not isinstance(value, sp.Expr):
        raise ParameterError(f"{name}={value!r}: a formula is an int, a Fraction or an expression of SymPy")
    for node in sp.preorder_traversal(value):
        if isinstance(node, sp.Float):
            raise ParameterError(f"{name}={value}: {node} is a float, a rounded number; write a Rational")
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
                f"{name}={expression}: the symbol {node} is not declared{twin if same else ''}; "
                f"declared are {', '.join(map(str, known)) or 'none'}"
            )


class Sign(IntEnum):
    """The proved sign of a symbol or a polynomial on the whole domain."""

    ANY = 0
    NOT_NEGATIVE = 1
    POSITIVE = 2


@functools.cache
def _rationals() -> frozenset[type]:
    import sympy as sp
    from sympy.core import numbers

    return frozenset({sp.Integer, sp.Rational, numbers.Zero, numbers.One, numbers.NegativeOne, numbers.Half})


def _is_rational(node: object) -> bool:
    return type(node) in _rationals()


@functools.cache
def _language() -> frozenset[type]:
    import sympy as sp

    return _rationals() | {sp.Symbol, sp.Dummy, sp.Add, sp.Mul, sp.Pow, sp.Min, sp.Max, sp.floor, sp.log}


def _check_language(node: sp.Expr) -> None:
    """Check the exact class: a subclass, and what is equal to another node by its own word, may mean anything."""
    if type(node) not in _language():
        raise ConditionUnproved(f"what {node} is: the language has no {type(node).__name__}")


def _unknowns(expressions: Iterable[sp.Expr]) -> tuple[dict[Hashable, sp.Expr], list[sp.Expr]]:
    """Return the roots, floors and logarithms in expressions by a key of each, and the choices (Min and Max)."""
    import sympy as sp

    unknowns: dict[Hashable, sp.Expr] = {}
    choices: dict[sp.Expr, None] = {}
    for expression in expressions:
        for node in sp.preorder_traversal(expression):
            if type(node) in (sp.floor, sp.log):
                unknowns[node] = node
            elif type(node) in (sp.Min, sp.Max):
                choices[node] = None
            elif type(node) is sp.Pow and _is_rational(node.exp) and node.exp.q != 1:
                unknowns[node.base, int(node.exp.q)] = sp.Pow(node.base, sp.Rational(1, node.exp.q))
    return unknowns, list(choices)


class PlanStatement:
    """Formulas over one domain, to be looked at together.

    Parameters
    ----------
    domain
        The declared symbols, in an order in which bounds refer backwards.
    expressions
        Every formula that will be asked about.
    """

    def __init__(self, domain: Sequence[DeclaredSymbol], expressions: Iterable[sp.Expr]) -> None:
        self._domain = tuple(domain)
        self._unknowns, self._choices = _unknowns((*(d.bound for d in domain), *expressions))

    def normal_form(self, expression: sp.Expr) -> sp.Expr:
        """Return a formula as a reduced quotient of polynomials, with symbols of the statement.

        Raises
        ------
        ConditionUnproved
            If it is no part of the language.
        """
        reading = _Reading(self._domain, self._unknowns, self._choices, {}, shifted=False)
        return reading.written(reading.read(expression))

    def cases(self) -> Iterator[FormulaCase]:
        """Iterate over cases of which each point of the domain lies in one: which argument each Min and Max is.

        Raises
        ------
        ConditionUnproved
            If there are too many.
        """
        if math.prod(len(node.args) for node in self._choices) > _MOST_CASES:
            raise ConditionUnproved(f"more than {_MOST_CASES} cases of Min and Max")
        for chosen in itertools.product(*(node.args for node in self._choices)):
            yield FormulaCase(self._domain, self._unknowns, dict(zip(self._choices, chosen, strict=True)))


class FormulaCase:
    """A statement where each Min and Max is one of its arguments.

    Raises
    ------
    ConditionUnproved
        By every method, if the formula is not shown to have a value on the whole domain.
    """

    def __init__(
        self,
        domain: Sequence[DeclaredSymbol],
        unknowns: Mapping[Hashable, sp.Expr],
        chosen: Mapping[sp.Expr, sp.Expr],
    ) -> None:
        self._plain = _Reading(domain, unknowns, (), chosen, shifted=False)
        self._shifted = _Reading(domain, unknowns, (), chosen, shifted=True)

    def is_positive(self, expression: sp.Expr) -> bool:
        """Return True if a formula is proved to be above 0."""
        return self._shifted.has_sign(self._shifted.read(expression), Sign.POSITIVE)

    def is_not_negative(self, expression: sp.Expr) -> bool:
        """Return True if a formula is proved to be at least 0."""
        return self._shifted.has_sign(self._shifted.read(expression), Sign.NOT_NEGATIVE)

    def is_never_above(self, small: sp.Expr, large: sp.Expr) -> bool:
        """Return True if one formula is proved to be at most another; each has a value of its own."""
        difference = self._shifted.read(large) - self._shifted.read(small)
        return self._shifted.has_sign(difference, Sign.NOT_NEGATIVE)

    def is_integer(self, expression: sp.Expr) -> bool:
        """Return True if a formula is proved to be an integer: a polynomial in integers with integer coefficients."""
        self._shifted.read(expression)  # it has a value
        return self._plain.is_integer(self._plain.read(expression))


class _Reading:
    """Formulas as elements of a field of quotients of polynomials.

    Shifted, a declared symbol is its bound plus an offset, and what a formula needs to have a value is checked.
    """

    def __init__(
        self,
        domain: Sequence[DeclaredSymbol],
        unknowns: Mapping[Hashable, sp.Expr],
        choices: Sequence[sp.Expr],
        chosen: Mapping[sp.Expr, sp.Expr],
        *,
        shifted: bool,
    ) -> None:
        import sympy as sp
        from sympy.polys.fields import FracField

        self._shifted, self._chosen = shifted, chosen
        self._written = [*(d.symbol for d in domain), *unknowns.values(), *choices]
        # One more, for a field needs an unknown.
        self._field = FracField([sp.Dummy() for _ in (*self._written, None)], sp.QQ, "lex")
        gens = self._field.gens
        self._signs = [Sign.ANY] * len(gens)
        self._whole = [False] * len(gens)
        self._place: dict[Hashable, int] = {key: len(domain) + i for i, key in enumerate(unknowns)}
        self._known: dict[Hashable, Any] = {
            node: gens[len(domain) + len(unknowns) + i] for i, node in enumerate(choices)
        }
        for i, declared in enumerate(domain):
            bound = self.read(declared.bound)
            self._whole[i] = declared.whole
            self._signs[i] = Sign.NOT_NEGATIVE if declared.whole else Sign.POSITIVE
            self._known[declared.symbol] = bound + gens[i] if shifted else gens[i]

    def read(self, node: sp.Expr) -> Any:
        """Return a formula as an element of the field."""
        _check_language(node)
        if node not in self._known:
            self._known[node] = self._read(node)
        return self._known[node]

    def _read(self, node: sp.Expr) -> Any:
        import sympy as sp

        kind = type(node)
        if _is_rational(node):
            return self._field.field_new(sp.QQ(int(node.p), int(node.q)))
        if kind is sp.Add:
            return sum(map(self.read, node.args), self._field.zero)
        if kind is sp.Mul:
            return math.prod(map(self.read, node.args), start=self._field.one)
        if kind is sp.Pow and _is_rational(node.exp):
            return self._power(node.base, int(node.exp.p), int(node.exp.q))
        if node in self._chosen:
            return self.read(self._chosen[node])
        if kind is sp.floor:
            inner = self.read(node.args[0])
            sign = Sign.NOT_NEGATIVE if self.has_sign(inner, Sign.NOT_NEGATIVE) else Sign.ANY
            return self._unknown(node, sign, whole=True)
        if kind is sp.log and len(node.args) == 1:
            inner = self.read(node.args[0])
            self._need(
                self.has_sign(inner, Sign.POSITIVE),
                f"{node.args[0]}, of which there is a logarithm, is above 0",
            )
            return self._unknown(node, self._sign_of(inner - self._field.one))
        raise ConditionUnproved(f"what {node} is")

    def _power(self, base: sp.Expr, power: int, root: int) -> Any:
        if abs(power) > _MOST_POWER:
            raise ConditionUnproved(f"what the {power}-th power of {base} is: powers go to {_MOST_POWER}")
        value = self.read(base)
        if root != 1:
            self._need(
                self.has_sign(value, Sign.NOT_NEGATIVE), f"{base}, of which there is a root, is at least 0"
            )
            value = self._unknown((base, root), self._sign_of(value))
        if power < 0:
            if not value:
                raise ConditionUnproved(f"{base}, which is a divisor, is not 0")
            nonzero = self.has_sign(value, Sign.POSITIVE) or self.has_sign(-value, Sign.POSITIVE)
            self._need(nonzero, f"{base}, which is a divisor, is not 0")
        return value**power

    def _need(self, shown: bool, what: str) -> None:
        if self._shifted and not shown:
            raise ConditionUnproved(what)

    def _unknown(self, key: Hashable, sign: Sign, *, whole: bool = False) -> Any:
        place = self._place[key]
        self._signs[place], self._whole[place] = sign, whole
        return self._field.gens[place]

    def _sign_of(self, value: Any) -> Sign:
        return next(
            (sign for sign in (Sign.POSITIVE, Sign.NOT_NEGATIVE) if self.has_sign(value, sign)), Sign.ANY
        )

    def has_sign(self, value: Any, sign: Sign) -> bool:
        """Whether an element is shown to have a sign: its parts have none but coefficients >= 0, or <= 0."""
        top, bottom = value.numer, value.denom
        return any(
            self._polynomial_sign(side * bottom) is Sign.POSITIVE
            and self._polynomial_sign(side * top) >= sign
            for side in (1, -1)
        )

    def _polynomial_sign(self, polynomial: Any) -> Sign:
        best = Sign.NOT_NEGATIVE
        for powers, coefficient in polynomial.terms():
            present = [self._signs[i] for i, power in enumerate(powers) if power]
            if coefficient < 0 or Sign.ANY in present:
                return Sign.ANY
            if all(sign is Sign.POSITIVE for sign in present):
                best = Sign.POSITIVE
        return best

    def is_integer(self, value: Any) -> bool:
        """Whether an element is a polynomial with whole coefficients in whole unknowns."""
        if not value.denom.is_ground:
            return False
        scale = value.denom.LC if value.denom else 1
        return all(
            (coefficient / scale).denominator == 1
            and all(self._whole[i] for i, power in enumerate(powers) if power)
            for powers, coefficient in value.numer.terms()
        )

    def written(self, value: Any) -> sp.Expr:
        """Return an element as an expression in the symbols it was read from."""
        import sympy as sp

        def polynomial(part: Any) -> sp.Expr:
            return sp.Add(
                *(
                    sp.Rational(int(c.numerator), int(c.denominator))
                    * sp.Mul(*(base**power for base, power in zip(self._written, powers, strict=False)))
                    for powers, c in part.terms()
                )
            )

        return polynomial(value.numer) / polynomial(value.denom)


@dataclass(frozen=True)
class RealInterval:
    """A real number that lies in [lower, upper]; exact if both are the same."""

    lower: Fraction
    upper: Fraction

    @property
    def exact(self) -> Fraction | None:
        """The number, if it is known exactly."""
        return self.lower if self.lower == self.upper else None

    def __add__(self, other: RealInterval) -> RealInterval:
        return RealInterval(self.lower + other.lower, self.upper + other.upper)

    def __mul__(self, other: RealInterval) -> RealInterval:
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return RealInterval(min(ends), max(ends))

    def reciprocal(self) -> RealInterval:
        """Return 1 over the number."""
        if self.lower <= 0 <= self.upper:
            raise UndefinedValue("division by what may be 0")
        return RealInterval(1 / self.upper, 1 / self.lower)

    def root(self, degree: int) -> RealInterval:
        """Return the root of the number, which is at least 0."""
        if self.lower < 0:
            raise UndefinedValue("a root of what may be below 0")
        return RealInterval(_root(self.lower, degree)[0], _root(self.upper, degree)[1])

    def logarithm(self) -> RealInterval:
        """Return the natural logarithm of the number, which is above 0."""
        if self.lower <= 0:
            raise UndefinedValue("a logarithm of what may not be above 0")
        return RealInterval(_logarithm(self.lower).lower, _logarithm(self.upper).upper)

    def floor(self) -> RealInterval:
        """Return the largest whole number that is not above the number."""
        low, high = math.floor(self.lower), math.floor(self.upper)
        if low != high:
            raise UndefinedValue("a floor that could not be told")
        return RealInterval(Fraction(low), Fraction(low))


def _logarithm(value: Fraction) -> RealInterval:
    """Return log(value) = n log 2 + log(m) for m within a factor of 3/2 of 1; log(1) is exact."""
    n = value.numerator.bit_length() - value.denominator.bit_length()
    near = value / Fraction(2) ** n
    n, near = (n + 1, near / 2) if near > Fraction(3, 2) else (n, near)
    steps = Fraction(n)
    return _log_series(near) + RealInterval(steps, steps) * _log_series(Fraction(2))


def _log_series(value: Fraction) -> RealInterval:
    """Return log(value) = 2 artanh(t), t = (value - 1) / (value + 1), by its series, for |t| <= 1/3."""
    t = (value - 1) / (value + 1)
    terms = [t ** (2 * k + 1) / (2 * k + 1) for k in range(_DIGITS + 6)]
    # What follows is a geometric series at most, with ratio 1/9.
    total, rest = 2 * sum(terms[:-1], Fraction(0)), 3 * abs(terms[-1])
    return RealInterval(total - rest, total + rest)


def _root(value: Fraction, degree: int) -> tuple[Fraction, Fraction]:
    """Return two numbers between which the root lies, the same if it is rational."""
    import sympy as sp

    (top, a), (bottom, b) = (sp.integer_nthroot(n, degree) for n in value.as_integer_ratio())
    if a and b:
        return Fraction(int(top), int(bottom)), Fraction(int(top), int(bottom))
    scale = 10**_DIGITS
    whole = int(sp.integer_nthroot(value.numerator * scale**degree // value.denominator, degree)[0])
    return Fraction(whole, scale), Fraction(whole + 1, scale)


def enclose(expression: sp.Expr, point: Mapping[sp.Symbol, Fraction]) -> RealInterval:
    """Return the value of a formula at a point: exact, but for roots and logarithms.

    Raises
    ------
    UndefinedValue
        If it has none, or none that could be told.
    ConditionUnproved
        If it is no part of the language.
    """
    import sympy as sp

    def value(node: sp.Expr) -> RealInterval:
        _check_language(node)
        kind = type(node)
        if _is_rational(node):
            return RealInterval(*[Fraction(int(node.p), int(node.q))] * 2)
        if node in point:
            return RealInterval(point[node], point[node])
        if kind is sp.Add:
            return functools.reduce(RealInterval.__add__, map(value, node.args))
        if kind is sp.Mul:
            return functools.reduce(RealInterval.__mul__, map(value, node.args))
        if kind is sp.Pow and _is_rational(node.exp) and abs(node.exp.p) <= _MOST_POWER:
            base = value(node.base)
            base = base if node.exp.q == 1 else base.root(int(node.exp.q))
            base = base.reciprocal() if node.exp.p < 0 else base
            one = RealInterval(Fraction(1), Fraction(1))
            return functools.reduce(RealInterval.__mul__, [base] * abs(int(node.exp.p)), one)
        if kind in (sp.Min, sp.Max):
            least: Callable[..., Fraction] = min if kind is sp.Min else max
            parts = [value(arg) for arg in node.args]
            return RealInterval(least(part.lower for part in parts), least(part.upper for part in parts))
        if kind is sp.log and len(node.args) == 1:
            return value(node.args[0]).logarithm()
        if kind is sp.floor:
            return _floor(node.args[0], value)
        raise ConditionUnproved(f"what {node} is")

    return value(expression)


def _floor(inner: sp.Expr, value: Callable[[sp.Expr], RealInterval]) -> RealInterval:
    """Return a floor; that of log(x) / log(b), which is often at a whole number, from powers of b."""
    import sympy as sp

    logs = [node for node in inner.args if type(node) is sp.log]
    bases = [
        node.base.args[0]
        for node in inner.args
        if type(node) is sp.Pow and node.exp == -1 and type(node.base) is sp.log
    ]
    if type(inner) is sp.Mul and len(inner.args) == 2 and logs and bases:
        x, b = value(logs[0].args[0]).exact, value(bases[0]).exact
        if x is not None and b is not None and x >= 1 and b >= 2:
            return next(RealInterval(Fraction(n), Fraction(n)) for n in itertools.count() if b ** (n + 1) > x)
    return value(inner).floor()
