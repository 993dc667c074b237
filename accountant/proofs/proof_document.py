"""A proof as data: derived releases, the records that are part of them, a theorem with its budget, and a claim.

What these data prove is decided by their checker alone, which knows nothing of this library and takes nothing on its
word. Numbers are exact: whole, or fractions as text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accountant.budget import Amount, Budget
from accountant.filters.composition_theorem import BasicComposition, Composition
from accountant.filters.gaussian_composition import GaussianComposition
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from accountant.gates.derivation import Derivation, StatedDomain, Step, entered
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry
from mechanisms import (
    Binomial,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    Neighbouring,
    PostProcessed,
    RandomizedResponse,
    Repeated,
    Sensitivity,
    Transformed,
)

FORMAT = "dpwitness proof, version 1"


class NoProof(ValueError):
    """There are no data that prove a claim; the message says what has no rule."""


def number(value: Fraction | float | int) -> int | str:
    """Return a number as the format has it."""
    exact = Fraction(value)
    return int(exact) if exact.denominator == 1 and abs(exact) < 10**79 else str(exact)


def _plain(value: Any) -> Any:
    """Return a parameter of a step as the format has it."""
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return number(value)


def domain_data(domain: StatedDomain) -> dict[str, Any]:
    """Return a domain as data."""
    return {
        "kind": domain.kind,
        "low": number(domain.low),
        "high": number(domain.high),
        "size": domain.size,
    }


def noise_data(mechanism: Mechanism) -> dict[str, Any]:
    """Return what a mechanism draws as data.

    Raises
    ------
    NoProof
        If there is no rule for it.
    """
    if type(mechanism) is Laplace:
        return {"kind": "laplace", "scale": number(mechanism.scale)}
    if type(mechanism) is Gaussian:
        return {"kind": "gaussian", "variance": number(Fraction(mechanism.sigma) ** 2)}
    if type(mechanism) is DiscreteLaplace:
        return {"kind": "discrete laplace", "scale": number(mechanism.scale)}
    if type(mechanism) is DiscreteGaussian:
        return {"kind": "discrete gaussian", "variance": number(Fraction(mechanism.sigma) ** 2)}
    if type(mechanism) is RandomizedResponse:
        epsilon = number(mechanism.epsilon)
        return {"kind": "randomized response", "size": mechanism.size, "epsilon": epsilon}
    if type(mechanism) is Binomial and mechanism.probability == 0.5:
        return {"kind": "binomial", "trials": mechanism.trials}
    raise NoProof(f"{mechanism!r}: proofs have no rule for it")


@dataclass(frozen=True)
class Form:
    """A form of release: what one record gives to it, through which mechanism, and what is charged for that.

    Attributes
    ----------
    derivation
        Of the record's part of the released value.
    mechanism
        What draws it.
    charged
        The charge of an accountant, by the names of its currency; nothing in a plan.
    """

    derivation: Derivation
    mechanism: Mechanism
    charged: tuple[tuple[str, Fraction], ...] = ()

    def data(self) -> dict[str, Any]:
        """Return the form as data.

        Raises
        ------
        NoProof
            If there is no rule for the mechanism.
        """
        mechanism, way = self.mechanism, self.derivation
        while isinstance(mechanism, PostProcessed):
            mechanism = mechanism.mechanism
        if isinstance(mechanism, Binomial) and mechanism.ones > 1:
            scaled = way.scale((float(mechanism.ones),))
            if scaled is None:
                raise NoProof(f"{mechanism!r}: of values that are no numbers")
            way = scaled
        return {
            "domain": domain_data(way.domain),
            "steps": list(map(_step_data, way.steps)),
            "terms": way.terms,
            "mechanism": noise_data(mechanism),
            "charged": {name: number(value) for name, value in self.charged},
        }


def _step_data(step: Step) -> dict[str, Any]:
    parameters = {name: _plain(value) for name, value in step.parameters}
    return {"op": step.op, **parameters, "into": domain_data(step.into)}


_CURRENCIES: Mapping[type, tuple[str, tuple[str, ...]]] = {
    BasicComposition: ("basic", ("epsilon", "delta")),
    GaussianComposition: ("gdp", ("mu_squared",)),
    ZeroConcentratedComposition: ("zcdp", ("rho",)),
}
"""The names of theorems and of their currencies in the format."""


def enforced_theorem(theorem: Composition, budget: Budget) -> dict[str, Any]:
    """Return a theorem as data, with the limits that an accountant with this budget enforces.

    Raises
    ------
    NoProof
        If the format has no such theorem, or the budget no limit.
    """
    if type(theorem) not in _CURRENCIES:
        raise NoProof(f"{theorem.name}: proofs do not have this theorem")
    name, currency = _CURRENCIES[type(theorem)]
    limits = theorem.boxes(budget)[0]  # type: ignore[attr-defined]
    if None in limits:
        raise NoProof(f"{theorem.name}: nothing is enforced without a finite budget")
    return {"name": name, **{each: number(most) for each, most in zip(currency, limits, strict=False)}}


def planned_theorem(resolution: int = 10) -> dict[str, Any]:
    """Return the theorem of releases that are fixed in advance; the resolution says how tightly it is checked."""
    return {"name": "plan", "resolution": resolution}


class DerivedReleases:
    """The forms of release in which each kind of record takes part, and in how many of each."""

    def __init__(self) -> None:
        self._records: dict[frozenset[tuple[Form, int]], str] = {}
        self._underived: list[str] = []

    def add_run(self, entries: Iterable[Entry], theorem: Composition) -> None:
        """Add what an accountant charged under a theorem."""
        currency = _CURRENCIES.get(type(theorem), ("", ()))[1]
        taken: dict[RecordId, Counter[Form]] = {}
        charges: dict[tuple[Mechanism, Sensitivity], Amount] = {}
        for entry in entries:
            if entry.derivation is None or entry.mechanism is None or entry.sensitivity is None:
                self._underived.append(f"{entry.where}: how the released value came about is not known")
                continue
            kind = entry.mechanism, entry.sensitivity
            if kind not in charges:  # what the ledger counts is rounded up to its unit
                charges[kind] = theorem.charge(*kind)
            values = charges[kind].values
            if any(values[len(currency) :]):
                self._underived.append(f"{entry.where}: what is charged as a failure has no rule")
                continue
            named = zip(currency, values, strict=False)
            form = Form(entry.derivation, entry.mechanism, tuple((n, Fraction(v or 0)) for n, v in named))
            for record in entry.records:
                taken.setdefault(record, Counter())[form] += 1
        for record, forms in taken.items():
            self._records.setdefault(frozenset(forms.items()), f"like record {record}")

    def add_planned(self, name: str, forms: Iterable[tuple[Form, int]]) -> None:
        """Add a kind of record with what it takes part in, and how often."""
        counts: Counter[Form] = Counter()
        for form, count in forms:
            counts[form] += count
        self._records.setdefault(frozenset(counts.items()), name)

    def document(
        self,
        claim: Mapping[str, float | Fraction],
        theorem: Mapping[str, Any],
        relation: Neighbouring,
        unit: str,
        tested: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the proof of a claim as data.

        Raises
        ------
        NoProof
            If a release is not derived, or something has no rule.
        """
        if self._underived:
            raise NoProof(self._underived[0])
        names: dict[Form, str] = {}
        records: dict[str, dict[str, int]] = {}
        for forms, name in self._records.items():
            records[name if name not in records else f"{name} ({len(records) + 1})"] = {
                names.setdefault(form, f"release {len(names) + 1}"): count for form, count in forms
            }
        return {
            "format": FORMAT,
            "claim": {
                "relation": relation.value,
                "unit": unit,
                **{name: number(value) for name, value in claim.items()},
            },
            "symbols": {},
            "releases": {name: form.data() for form, name in names.items()},
            "records": records,
            "theorem": dict(theorem),
            "tested": dict(tested),
        }


def forms_of_mechanism(mechanism: Mechanism) -> Iterator[tuple[Form, int]]:
    """Yield what a mechanism releases of a value that moves as far as the mechanism is calibrated for.

    Raises
    ------
    NoProof
        If there is no rule for it.
    """
    if isinstance(mechanism, PostProcessed):
        yield from forms_of_mechanism(mechanism.mechanism)
    elif isinstance(mechanism, Composed):
        for part in mechanism.parts:
            yield from forms_of_mechanism(part)
    elif isinstance(mechanism, Repeated):
        for form, count in forms_of_mechanism(mechanism.mechanism):
            yield form, count * mechanism.count
    elif isinstance(mechanism, Transformed):
        way = _through(mechanism)
        yield from ((Form(way, each.mechanism), n) for each, n in forms_of_mechanism(mechanism.mechanism))
    else:
        yield Form(Derivation(_moved_domain(mechanism)), mechanism), 1


def _through(mechanism: Transformed) -> Derivation:
    """Return the derivation of what a mechanism's transformation makes of any value that it takes."""
    takes = mechanism.takes
    start = None if takes is None else entered(takes)
    way = None if start is None or takes is None else start.map(mechanism.transformation, takes)
    if way is None:
        raise NoProof(f"{mechanism!r}: there is no rule for what is done before the noise is added")
    return way


def _moved_domain(mechanism: Mechanism) -> StatedDomain:
    """Return a domain whose values are apart as far as a mechanism is calibrated for."""
    if isinstance(mechanism, RandomizedResponse):
        return StatedDomain("categories", Fraction(0), Fraction(0), mechanism.size)
    l1, l2, linf = (Fraction(x) for x in _finite(mechanism))
    if isinstance(mechanism, Laplace):
        return StatedDomain("ball-1", Fraction(0), l1 / 2, 1)
    if isinstance(mechanism, Gaussian):
        return StatedDomain("ball-2", Fraction(0), l2 / 2, 1)
    coordinates = max(1, math.floor(l1 / linf)) if linf else 1
    if coordinates * linf != l1 or linf.denominator != 1:
        raise NoProof(f"{mechanism!r}: there is no rule for coordinates that move by different distances")
    return StatedDomain("whole", Fraction(0), linf, coordinates)


def _finite(mechanism: Mechanism) -> tuple[float, float, float]:
    moved = mechanism.sensitivity
    if isinstance(mechanism, Gaussian):
        moved = Sensitivity(max(moved.l2, moved.linf), moved.l2, moved.linf)
    if not math.isfinite(moved.l1):
        raise NoProof(f"{mechanism!r}: its value moves without limit")
    return moved.l1, moved.l2, moved.linf
