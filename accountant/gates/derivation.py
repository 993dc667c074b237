"""Derivations of private values: the domain that a record entered through, each map, and the number of its terms.

A derivation has the domain of one record's value after each step, so that an independent checker can compute how far
the record moves the released value (`verify.certificates`). It keeps only parameters that this distance depends on: of
`Choose` how often each coordinate is chosen, not which ones, of `Above` no threshold. Where a step has no rule, or a
domain is not known, there is no derivation.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from mechanisms.domains.choices import Categories, Integers, OneHot
from mechanisms.domains.domain import Ball, Box, Domain, Interval
from mechanisms.domains.regression_moments import RegressionMoments
from mechanisms.transformations.arithmetic import Affine, Choose, Clip, LinearMap
from mechanisms.transformations.categories import (
    Above,
    BitsToCategory,
    CategoryToOneHot,
    FirstAbove,
    RandomRounding,
    Table,
)
from mechanisms.transformations.transformation import Transformation, parts_of


class ExactDomain(NamedTuple):
    """A domain in exact numbers.

    Attributes
    ----------
    kind
        ``"box"``, ``"whole"`` (numbers), ``"one-hot"``, ``"categories"``, ``"ball-1"``, ``"ball-2"``, ``"moments"`` or
        ``"reals"``, which have no bound.
    low, high
        The ends of each coordinate; of a ball 0 and its radius, of a one-hot vector 0 if it may be zero, and else 1.
    size
        The number of coordinates, categories or features.
    """

    kind: str
    low: Fraction
    high: Fraction
    size: int


class Step(NamedTuple):
    """A map of a record's value: its name, its parameters by name, and the domain in which its results lie."""

    op: str
    parameters: tuple[tuple[str, Any], ...]
    into: ExactDomain


_NO_COORDINATES = ("categories", "moments", "reals")
"""Kinds of domains without rules for single coordinates."""


@dataclass(frozen=True, eq=False)
class Derivation:
    """The steps of a record's value from the domain that it entered through; equal ones are one object (`intern`).

    Attributes
    ----------
    domain
        The domain that it entered through.
    steps
        The maps that were applied to it, in this order.
    terms
        The number of such terms of the record that are added up.
    """

    domain: ExactDomain
    steps: tuple[Step, ...] = ()
    terms: int = 1

    @staticmethod
    def intern(domain: ExactDomain, steps: tuple[Step, ...] = (), terms: int = 1) -> Derivation:
        """Return the one object of a derivation, so that many are compared by identity, as at every release."""
        return _known.setdefault((domain, steps, terms), Derivation(domain, steps, terms))

    def __reduce__(self) -> tuple[Any, ...]:
        return Derivation.intern, (self.domain, self.steps, self.terms)

    def to_list(self) -> list[Any]:
        """Return domain, steps and terms as JSON-able data, exact."""
        steps = [[op, _to_lists(parameters), _to_lists(into)] for op, parameters, into in self.steps]
        return [_to_lists(self.domain), steps, self.terms]

    @classmethod
    def from_list(cls, saved: list[Any]) -> Derivation:
        """Return the derivation that `to_list` described."""
        domain, steps, terms = saved
        read = [
            Step(op, tuple((name, _from_lists(value)) for name, value in parameters), _domain_of(into))
            for op, parameters, into in steps
        ]
        return cls.intern(_domain_of(domain), tuple(read), terms)

    @property
    def last_domain(self) -> ExactDomain:
        """The domain of each term."""
        return self.steps[-1].into if self.steps else self.domain

    @functools.lru_cache(maxsize=1024)  # noqa: B019 (values, few of them)
    def choose(self, coordinates: tuple[int, ...]) -> Derivation | None:
        """Follow a choice of coordinates of the value, which are renumbered.

        Domains do not depend on the numbers of their coordinates: the first one that is chosen is 0, the next other
        one 1. Padding is left out: no record moves it.
        """
        names: dict[int, int] = {}
        index = tuple(sorted(names.setdefault(i, len(names)) for i in coordinates))
        kind, low, high, size = self.last_domain
        length = {"categories": 1, "moments": size * (size + 3) // 2}.get(kind, size)
        if index == tuple(range(length)):
            return self
        if kind in _NO_COORDINATES or not 0 < len(names) <= size:
            return None
        if len(names) == len(index) and kind not in ("box", "whole"):
            into = ExactDomain(kind, Fraction(0), high, len(index))
        else:
            low, high = _ends(self.last_domain)
            into = ExactDomain("whole" if kind in ("whole", "one-hot") else "box", low, high, len(index))
        return self._then("choose", into, index=index)

    @functools.lru_cache(maxsize=1024)  # noqa: B019
    def scale(self, factors: tuple[float, ...]) -> Derivation | None:
        """Follow the product with a public factor, one for each coordinate."""
        if len(set(factors)) != 1 or self.last_domain.kind in _NO_COORDINATES:
            return None
        factor = Fraction(factors[0])
        kind, _, high, size = self.last_domain
        if kind.startswith("ball") and factor:
            into = ExactDomain(kind, Fraction(0), high * abs(factor), size)
        else:
            low, high = sorted(end * factor for end in _ends(self.last_domain))
            whole = kind in ("whole", "one-hot") and factor.denominator == 1
            into = ExactDomain("whole" if whole else "box", low, high, size)
        return self._then("affine", into, factor=factor, shift=Fraction(0))

    @functools.lru_cache(maxsize=1024)  # noqa: B019
    def sum_coordinates(self) -> Derivation | None:
        """Follow the sum over the coordinates."""
        kind, low, _, size = self.last_domain
        if kind in _NO_COORDINATES or kind.startswith("ball"):
            return None
        low, high = (
            (low, Fraction(1)) if kind == "one-hot" else tuple(size * end for end in _ends(self.last_domain))
        )
        into = ExactDomain("box", low, high, 1)
        return self._then("linear", into, matrix=((Fraction(1),) * size,))

    def add(self, other: Derivation | None) -> Derivation | None:
        """Follow the sum with another term of the same record."""
        if other is None or (self.domain, self.steps) != (other.domain, other.steps):
            return None
        return self.intern(self.domain, self.steps, self.terms + other.terms)

    def map(self, transformation: Transformation, domain: Domain) -> Derivation | None:
        """Follow a transformation of values in a domain, the last one of this derivation."""
        way: Derivation | None = self
        for part in parts_of(transformation):
            before, domain = domain, part.output_domain(domain)
            into, step = exact_domain(domain), _step(part, before)
            if way is None or self.terms != 1:
                return None
            if type(part) is Choose:
                index = part.index.ravel().tolist()
                one_row = part.index.size == part.index.shape[-1] and min(index) >= 0
                way = way.choose(tuple(index)) if one_row else None
            elif into is None or step is None:
                return None
            else:
                way = Derivation.intern(into) if into.kind == "reals" else way._then(step[0], into, **step[1])
        return way

    def _then(self, op: str, into: ExactDomain, **parameters: Any) -> Derivation:
        return self.intern(self.domain, (*self.steps, Step(op, tuple(parameters.items()), into)), self.terms)


_known: WeakValueDictionary[tuple[Any, ...], Derivation] = WeakValueDictionary()


def _to_lists(value: Any) -> Any:
    """Return nested tuples as lists, and fractions as texts."""
    if isinstance(value, tuple):
        return list(map(_to_lists, value))
    return str(value) if isinstance(value, Fraction) else value


def _from_lists(value: Any) -> Any:
    """Return the parameter of a step that `_to_lists` described."""
    if isinstance(value, list):
        return tuple(map(_from_lists, value))
    return Fraction(value) if isinstance(value, str) else value


def _domain_of(saved: list[Any]) -> ExactDomain:
    kind, low, high, size = saved
    return ExactDomain(kind, Fraction(low), Fraction(high), size)


def _ends(domain: ExactDomain) -> tuple[Fraction, Fraction]:
    if domain.kind == "one-hot":
        return Fraction(0), Fraction(1)
    return (-domain.high if domain.kind.startswith("ball") else domain.low), domain.high


@functools.lru_cache(maxsize=1024)
def entry_derivation(domain: Any) -> Derivation | None:
    """Return the derivation of a value that enters through a domain, or is checked to lie in it."""
    found = exact_domain(domain)
    return None if found is None else Derivation.intern(found)


def exact_domain(domain: Domain) -> ExactDomain | None:
    """Return a domain in exact numbers; None if it is none of this library's."""
    kind: Any = type(domain)
    given: Any = domain
    if kind is Categories:
        return ExactDomain("categories", Fraction(0), Fraction(0), given.size)
    if kind is OneHot:
        return ExactDomain("one-hot", Fraction(0 if given.allow_none else 1), Fraction(1), given.size)
    if kind is Integers:
        return ExactDomain("whole", Fraction(given.lower), Fraction(given.upper), given.size)
    if kind is RegressionMoments:
        return ExactDomain("moments", Fraction(0), Fraction(given.weight), given.features)
    if kind is Ball:
        radius = Fraction(given.radius)
        if given.order == math.inf:
            return ExactDomain("box", -radius, radius, given.size)
        return ExactDomain(f"ball-{given.order}", Fraction(0), radius, given.size)
    if kind in (Interval, Box):
        size = given.size if kind is Box else 1
        if math.isinf(given.lower) or math.isinf(given.upper):
            return ExactDomain("reals", Fraction(0), Fraction(0), size)
        return ExactDomain("box", Fraction(given.lower), Fraction(given.upper), size)
    return None


def _step(transformation: Transformation, domain: Domain) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the parameters of a transformation of one lane; None if there is no rule for it."""
    kind: Any = type(transformation)
    given: Any = transformation
    if kind is Affine:
        return "affine", {"factor": Fraction(given.factor), "shift": Fraction(given.shift)}
    if kind is Clip:
        return "clip", {"low": Fraction(given.lower), "high": Fraction(given.upper)}
    if kind is LinearMap:
        return "linear", {"matrix": _fractions(given.matrix.tolist())}
    if kind is RandomRounding:
        return "round", {"low": Fraction(given.lower), "high": Fraction(given.upper)}
    if kind is Table:
        return "table", {"entries": _fractions(given.entries.tolist())}
    if kind is FirstAbove:
        of_choice = isinstance(domain, OneHot) and 0.0 <= given.threshold < 1.0
        return "category of one-hot" if of_choice else "first above", {}
    named = {Above: "above", BitsToCategory: "category of bits", CategoryToOneHot: "one-hot"}
    return (named[kind], {}) if kind in named else None


def _fractions(numbers: Any) -> Any:
    return tuple(map(_fractions, numbers)) if isinstance(numbers, list) else Fraction(numbers)
