"""A proof as data: derived releases, the records that are part of them, a theorem with its budget, and a claim.

An independent checker, which uses nothing of this library, alone decides whether these data prove the claim. Numbers
are exact: whole, or fractions as text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accountant.accountant import Accountant
from accountant.budget import Amount, Budget
from accountant.filters.composition_theorem import BasicComposition, Composition
from accountant.filters.gaussian_composition import GaussianComposition
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from accountant.gates.derivation import Derivation, ExactDomain, Step, exact_domain
from accountant.gates.lineage import RecordId
from accountant.gates.release import split_functions
from accountant.ledger.entry import Entry
from mechanisms import (
    Binomial,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    PostProcessed,
    RandomizedResponse,
    Repeated,
    Sensitivity,
    Transformed,
)
from mechanisms.parameters import DPWitnessError

FORMAT = "dpwitness proof, version 1"


class NoProof(DPWitnessError, ValueError):
    """A claim has no proof of this format; the message names the part without a rule."""


def exact_number(value: Fraction | float | int) -> int | str:
    """Return an exact number in the format: a whole number of up to 79 digits, or a fraction as text."""
    exact = Fraction(value)
    return int(exact) if exact.denominator == 1 and abs(exact) < 10**79 else str(exact)


def _plain(value: Any) -> Any:
    """Return a parameter of a step in the format: a number, or lists of numbers."""
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return exact_number(value)


def _domain_data(domain: ExactDomain) -> dict[str, Any]:
    """Return a domain as data."""
    return {
        "kind": domain.kind,
        "low": exact_number(domain.low),
        "high": exact_number(domain.high),
        "size": domain.size,
    }


def claim_data(relation: object, unit: object, **limits: Any) -> dict[str, Any]:
    """Return a claim as data, its limits in the numbers of the format."""
    return {"relation": str(relation), "unit": str(unit), **limits}


def release_data(
    domain: ExactDomain,
    mechanism: Mapping[str, Any],
    charged: Mapping[str, Any],
    steps: Iterable[Step] = (),
    terms: int = 1,
) -> dict[str, Any]:
    """Return a form of release as data."""
    return {
        "domain": _domain_data(domain),
        "steps": list(map(_step_data, steps)),
        "terms": terms,
        "mechanism": dict(mechanism),
        "charged": dict(charged),
    }


def proof_data(
    claim: Mapping[str, Any],
    releases: Mapping[str, Any],
    records: Mapping[str, Any],
    theorem: Mapping[str, Any],
    symbols: Mapping[str, Any] | None = None,
    tested: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a proof as data, put together from its parts."""
    return {
        "format": FORMAT,
        "claim": dict(claim),
        "symbols": dict(symbols or {}),
        "releases": dict(releases),
        "records": dict(records),
        "theorem": dict(theorem),
        "tested": dict(tested or {}),
    }


def noise_data(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism, without its sensitivity, as data.

    Raises
    ------
    NoProof
        If there is no rule for it.
    """
    if type(mechanism) is Laplace:
        return {"kind": "laplace", "scale": exact_number(mechanism.scale)}
    if type(mechanism) is Gaussian:
        return {"kind": "gaussian", "variance": exact_number(Fraction(mechanism.sigma) ** 2)}
    if type(mechanism) is DiscreteLaplace:
        return {"kind": "discrete laplace", "scale": exact_number(mechanism.scale)}
    if type(mechanism) is DiscreteGaussian:
        return {"kind": "discrete gaussian", "variance": exact_number(Fraction(mechanism.sigma) ** 2)}
    if type(mechanism) is RandomizedResponse:
        epsilon = exact_number(mechanism.epsilon)
        return {"kind": "randomized response", "size": mechanism.size, "epsilon": epsilon}
    if type(mechanism) is Binomial:
        probability = exact_number(mechanism.probability)
        return {
            "kind": "binomial",
            "trials": mechanism.trials,
            "ones": mechanism.ones,
            "probability": probability,
        }
    raise NoProof(f"{mechanism!r}: proofs have no rule for it")


@dataclass(frozen=True)
class _Form:
    """A form of release: one record's part of the value, the mechanism, and the charge.

    Attributes
    ----------
    derivation
        The derivation of the record's part of the released value.
    mechanism
        The mechanism that draws the release.
    charged
        The charge of an accountant, by the names of its currency; empty in a plan.
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
        (mechanism, _), way = split_functions(self.mechanism), self.derivation
        charged = {name: exact_number(value) for name, value in self.charged}
        return release_data(way.domain, noise_data(mechanism), charged, way.steps, way.terms)


def _step_data(step: Step) -> dict[str, Any]:
    parameters = {name: _plain(value) for name, value in step.parameters}
    return {"op": step.op, **parameters, "into": _domain_data(step.into)}


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
    return {"name": name, **{each: exact_number(most) for each, most in zip(currency, limits, strict=False)}}


class DerivedReleases:
    """The forms of release of each kind of record, and how often it takes part in each."""

    def __init__(self) -> None:
        self._records: dict[frozenset[tuple[_Form, int]], tuple[str, Mapping[_Form, int]]] = {}
        self._underived: list[str] = []

    def add_run(self, accountant: Accountant) -> None:
        """Add the charged releases of an accountant; if there are none, the releases that its records wait for."""
        entries = accountant.ledger.entries
        if not entries:
            waiting = enumerate(sorted(accountant.awaited, key=repr))
            entries = [entry.for_records((i,)) for i, (entry, times) in waiting for _ in range(times)]
        self._add(entries, accountant.composition)

    def _add(self, entries: Iterable[Entry], theorem: Composition) -> None:
        currency = _CURRENCIES.get(type(theorem), ("", ()))[1]
        taken: dict[RecordId, Counter[_Form]] = {}
        charges: dict[tuple[Mechanism, Sensitivity], Amount] = {}
        for entry in entries:
            if entry.derivation is None or entry.mechanism is None or entry.sensitivity is None:
                self._underived.append(f"{entry.where}: how the released value came about is not known")
                continue
            kind = entry.mechanism, entry.sensitivity
            if kind not in charges:  # the ledger's own charge is rounded up to its unit
                charges[kind] = theorem.charge(*kind)
            values = charges[kind].values
            if any(values[len(currency) :]):
                self._underived.append(f"{entry.where}: what is charged as a failure has no rule")
                continue
            named = zip(currency, values, strict=False)
            form = _Form(entry.derivation, entry.mechanism, tuple((n, Fraction(v or 0)) for n, v in named))
            for record in entry.records:
                taken.setdefault(record, Counter())[form] += 1
        for record, forms in taken.items():
            self._records.setdefault(frozenset(forms.items()), (f"like record {record}", forms))

    def add_planned(self, name: str, forms: Iterable[tuple[_Form, int]]) -> None:
        """Add a kind of record with the releases that it takes part in, and how often."""
        counts: Counter[_Form] = Counter()
        for form, count in forms:
            counts[form] += count
        self._records.setdefault(frozenset(counts.items()), (name, counts))

    def document(
        self, claim: Mapping[str, Any], theorem: Mapping[str, Any], tested: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the proof of a claim as data.

        Raises
        ------
        NoProof
            If a release is not derived, or something has no rule.
        """
        if self._underived:
            raise NoProof(self._underived[0])
        if not self._records:
            raise NoProof("nothing was released in the runs: no release is known that a proof could be about")
        found = {form: form.data() for _, forms in self._records.values() for form in forms}
        releases: list[dict[str, Any]] = []
        records: dict[str, dict[str, int]] = {}
        for name, forms in self._records.values():
            taken: Counter[str] = Counter()
            for form, count in forms.items():
                if found[form] not in releases:
                    releases.append(found[form])
                taken[f"release {releases.index(found[form]) + 1}"] += count
            if taken not in records.values():
                records[name if name not in records else f"{name} ({len(records) + 1})"] = dict(taken)
        named = {f"release {i}": release for i, release in enumerate(releases, 1)}
        return proof_data(claim, named, records, theorem, tested=tested)


def forms_of_mechanism(mechanism: Mechanism) -> Iterator[tuple[_Form, int]]:
    """Yield the forms of release of a mechanism, at the sensitivity that it is calibrated for, and their counts.

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
        way = _transformed_derivation(mechanism)
        yield from ((_Form(way, each.mechanism), n) for each, n in forms_of_mechanism(mechanism.mechanism))
    else:
        yield _Form(Derivation.intern(moved_domain(mechanism, mechanism.sensitivity)), mechanism), 1


def _transformed_derivation(mechanism: Transformed) -> Derivation:
    """Return the derivation of the result of a mechanism's transformation, for any value in its domain."""
    takes = mechanism.takes
    start = None if takes is None else exact_domain(takes)
    way = (
        None
        if start is None or takes is None
        else Derivation.intern(start).map(mechanism.transformation, takes)
    )
    if way is None:
        raise NoProof(f"{mechanism!r}: there is no rule for what is done before the noise is added")
    return way


def moved_domain(mechanism: Mechanism, moved: Sensitivity, *, replaced: bool = True) -> ExactDomain:
    """Return a domain in which a record that is replaced, or joins or leaves, moves values by at most a sensitivity.

    Of a ball, that is the diameter for replacement, and else the radius. Whole numbers start from 0 for replacement,
    and else from minus the largest; as many coordinates as move by `moved.linf` each and by `moved.l1` together.

    Raises
    ------
    NoProof
        If the movement is infinite, or coordinates of whole numbers move by different distances, or by fractions.
    """
    if isinstance(mechanism, RandomizedResponse):
        return ExactDomain("categories", Fraction(0), Fraction(0), mechanism.size)
    normal = isinstance(mechanism, Gaussian)
    if not math.isfinite(moved.l2 if normal else moved.l1):
        raise NoProof(f"{mechanism!r}: its value moves without limit")
    if normal or isinstance(mechanism, Laplace):
        order, distance = (2, moved.l2) if normal else (1, moved.l1)
        return ExactDomain(f"ball-{order}", Fraction(0), Fraction(distance) / (2 if replaced else 1), 1)
    l1, step = Fraction(moved.l1), Fraction(moved.linf)
    coordinates = l1 / step if step else Fraction(1)
    if coordinates.denominator != 1 or step.denominator != 1:
        raise NoProof(f"{mechanism!r}: there is no rule for coordinates that move by different distances")
    return ExactDomain("whole", Fraction(0) if replaced else -step, step, int(coordinates))
