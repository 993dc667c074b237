"""What files prove about a deployment, and declarations that contradict it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from accountant.audit import Audit, AuditQuestion, Releases, audit, read_releases
from accountant.audit.releases import LedgerFacts
from accountant.provenance import file_digest, made_now
from algorithms.problems import SettingError
from mechanisms.losses.enclosure import Enclosure
from mechanisms.printed_numbers import as_given, at_least, at_most
from verify.deployments.deployment import Deployment
from verify.document.elements import Document

USUAL_DELTA = 1e-6
"""Where nobody says another, and no ε holds at δ = 0."""
DIGITS = 10
_NOTHING = ("none", "no", "nothing", "n/a", "na", "-", "not applicable", "keine")
_MODELS = {"central": "Central", "local": "Local", "shuffle": "Shuffle"}


@dataclass(frozen=True)
class Evidence:
    """Proved facts about a deployment, from files.

    Attributes
    ----------
    audit
        The audit of its releases; None if only other results are given.
    ledger
        What else its ledger says; None without one.
    rho
        The ρ of the worst-case record, rounded up, if all releases are declared by ρ alone; else None.
    results, utility
        Documents of other results: on algorithms, and on utility.
    """

    audit: Audit | None = None
    ledger: LedgerFacts | None = None
    rho: float | None = None
    results: tuple[Document, ...] = ()
    utility: tuple[Document, ...] = ()

    @property
    def enforced(self) -> bool:
        """True if an accountant enforced a finite budget, also on releases that were chosen by earlier ones."""
        chosen = None if self.audit is None else self.audit.chosen_under
        return chosen is not None and not math.isinf(chosen.budget.epsilon) and not self.declassified

    @property
    def epsilon(self) -> float | None:
        """The proved upper bound on ε, rounded up; None if there is none, or it is infinite."""
        if self.audit is None:
            return None
        found = (
            self.audit.answer.upper
            if self.audit.question.quantity == "epsilon"
            else self.audit.question.fixed_value
        )
        if self.enforced and self.audit.chosen_under is not None:
            found = self.audit.chosen_under.budget.epsilon
        return None if math.isinf(found) else float(at_most(found, DIGITS))

    @property
    def delta(self) -> float | None:
        """The δ at which that is; None without a bound."""
        if self.audit is None:
            return None
        if self.enforced and self.audit.chosen_under is not None:
            return float(self.audit.chosen_under.budget.delta)
        asked = self.audit.question
        return (
            asked.fixed_value
            if asked.quantity == "epsilon"
            else float(at_most(self.audit.answer.upper, DIGITS))
        )

    @property
    def variant(self) -> str | None:
        """The variant of differential privacy, as the registry calls it; None without a bound."""
        if self.epsilon is None:
            return None
        if self.rho is not None:
            return "Zero-concentrated DP"
        return "Approximate DP" if self.delta else "Pure DP"

    @property
    def declassified(self) -> tuple[str, ...]:
        """The values that left without noise."""
        if self.ledger is not None:
            return self.ledger.declassified
        released = () if self.audit is None else self.audit.released
        return tuple(each.name for each in released if "declassified" in (each.mechanism, each.name))

    @property
    def releases(self) -> int:
        """The number of releases; of local messages, those of one record."""
        if self.ledger is not None and self.ledger.trust == "central":
            return self.ledger.releases
        return 0 if self.audit is None else sum(each.count for each in self.audit.released)

    @property
    def model(self) -> str | None:
        """The trust model, as the registry calls it; None without a ledger."""
        return None if self.ledger is None else _MODELS[self.ledger.trust]

    @property
    def first(self) -> datetime.date | None:
        """The day of the first release; None if no file has it."""
        if self.ledger is not None:
            return self.ledger.first
        return None if self.audit is None else self.audit.about.first

    @property
    def unprotected(self) -> str | None:
        """The quantities without noise, or a sentence that there are none; None if no file knows."""
        if self.declassified:
            return "\n".join(f"- {each}" for each in self.declassified)
        whole = self.ledger is not None and self.ledger.strict and self.ledger.first is not None
        return "Of the values in the ledger, which is strict, none left without noise." if whole else None


def evidence_of(releases: Path, deployment: Deployment) -> Evidence:
    """Read the proved facts of a file of releases or a ledger.

    It is ε at the declared δ, else at the δ of the ledger's budget, else at 0 if one is proved there.

    Raises
    ------
    ValueError
        If the file cannot be read.
    """
    read = read_releases(releases)
    found = _audited(read, deployment)
    made = made_now(file=file_digest(releases))
    return Evidence(replace(found, name=releases.name, provenance=made), read.ledger, _rho(read))


def _audited(read: Releases, deployment: Deployment) -> Audit:
    delta = deployment.get("privacy.delta")
    if read.chosen_under is not None and not math.isinf(read.chosen_under.budget.epsilon):
        delta = float(read.chosen_under.budget.delta)
    if delta is None and deployment.get("privacy.variant") in (None, "Pure DP"):
        found = audit(read, AuditQuestion(delta=0.0))
        if not math.isinf(found.answer.upper):
            return found
    return audit(read, AuditQuestion(delta=USUAL_DELTA if delta is None else delta))


def _rho(read: Releases) -> float | None:
    """Return the largest sum of ρ of a record, rounded up, if every release is a declared ρ, of all records alike."""
    rhos = {}
    for i, kind in enumerate(read.kinds):
        written = kind.written
        if written is None or written.kind != "zcdp" or written.rate != 1.0 or written.clients is not None:
            return None
        rhos[i] = Fraction(
            repr(float(written.parameters["rho"]))
        )  # the number that is written, not its binary digits
    most = max(sum(count * rhos[i] for i, count in group.counts.items()) for group in read.groups)
    nearest = float(most)
    return float(
        at_most(nearest if Fraction(repr(nearest)) >= most else math.nextafter(nearest, math.inf), DIGITS)
    )


def bound_words(evidence: Evidence) -> str:
    """Return the proved bounds of an audit in words; a lower end only where two data sets attain it."""
    found = evidence.audit
    assert found is not None
    symbol, other = ("ε", "δ") if found.question.quantity == "epsilon" else ("δ", "ε")
    at, answer = as_given(found.question.fixed_value), found.answer
    if evidence.declassified:
        return f"No finite ε: {len(evidence.declassified):,} values left without noise."
    if math.isinf(answer.upper):
        return f"No finite ε is proved at {other} = {at}."
    said = f"{symbol} ≤ {at_most(answer.upper, DIGITS)} at {other} = {at}, proved, by {found.best_theorem}"
    if isinstance(answer, Enclosure) and answer.lower > 0.0:
        said += f"; two data sets attain {symbol} ≥ {at_least(answer.lower, DIGITS)}"
    chosen = found.chosen_under
    if chosen is None:
        return f"{said}."
    if evidence.enforced:
        limit = f"ε = {as_given(chosen.budget.epsilon)}, δ = {as_given(chosen.budget.delta)}"
        return (
            f"The accountant enforced {limit} for every record ({chosen.theorem}), also for releases chosen by earlier "
            f"ones. Of what was spent, if releases were fixed in advance: {said}."
        )
    return f"The accountant enforced no finite limit. If releases were fixed in advance: {said}."


def check_declarations(deployment: Deployment, evidence: Evidence) -> None:
    """Refuse declarations that contradict proved facts.

    Raises
    ------
    SettingError
        For the first of them; it names the key, its value, and what is known.
    """
    for key, known in _contradictions(deployment, evidence):
        value = deployment.get(key)
        shown = str(value) if isinstance(value, datetime.date) else repr(value)
        raise SettingError(f"{deployment.name}: {key} = {shown}: contradicts what is known: {known}")


def _contradictions(deployment: Deployment, evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield keys whose declared values contradict what is known, and that."""
    found = evidence.audit
    if found is None:
        return
    declared = deployment.get
    if (model := evidence.model) and declared("model.name") not in (None, model):
        yield "model.name", f"the ledger's trust model is {model!r}"
    if declared("model.release") == "One release" and evidence.releases > 1:
        yield "model.release", f"{evidence.releases:,} releases are recorded"
    if evidence.declassified and _says_nothing(declared("privacy.unprotected")):
        yield "privacy.unprotected", f"left without noise: {'; '.join(evidence.declassified)[:200]}"
    if (epsilon := declared("privacy.epsilon")) is not None and not _rounds_up(evidence.epsilon, epsilon):
        known = "no finite ε is proved"
        if evidence.epsilon is not None and evidence.delta is not None:
            known = f"ε ≤ {as_given(evidence.epsilon)} at δ = {as_given(evidence.delta)}"
        yield "privacy.epsilon", known
    if (delta := declared("privacy.delta")) is not None and delta != evidence.delta:
        yield "privacy.delta", f"the bound is at δ = {as_given(evidence.delta or 0.0)}"
    if (variant := declared("privacy.variant")) is not None and variant != evidence.variant:
        yield "privacy.variant", evidence.variant or "no finite ε is proved"
    if declared("privacy.neighbours") not in (None, found.neighbouring.value):
        yield "privacy.neighbours", f"the audit is for {found.neighbouring.value!r}"
    published, first = declared("deployment.published"), evidence.first
    if published is not None and first is not None and published < first:
        yield "deployment.published", f"the first release is of {first}"


def _says_nothing(text: Any) -> bool:
    return isinstance(text, str) and text.strip(" .!").casefold() in _NOTHING


def _rounds_up(known: float | None, declared: float) -> bool:
    """Return True if a declared ε is the known one, rounded up to the digits that it has."""
    if known is None or declared < known:
        return False
    said = Decimal(repr(declared))
    return said - Decimal(repr(known)) < Decimal(1).scaleb(int(said.as_tuple().exponent))


def evidence_words(evidence: Evidence) -> Mapping[str, Any]:
    """Return the known values of the registry's fields, by their paths."""
    found = evidence.audit
    if found is None:
        return {}
    parameters = {"epsilon": evidence.epsilon, "delta": evidence.delta or None, "rho": evidence.rho}
    listed = "\n".join(f"- {each.count:,} × {each.mechanism or each.name}" for each in found.released)
    theorem = (
        found.best_theorem
        if not evidence.enforced or found.chosen_under is None
        else found.chosen_under.theorem
    )
    noise = "" if evidence.ledger is None else f"\nSources of noise: {', '.join(evidence.ledger.noise)}."
    many = "Many releases" if evidence.releases > 1 else "One release"
    known = {
        "basic.publication_date": None if evidence.first is None else str(evidence.first),
        "dp_variant.variant_name": evidence.variant,
        "dp_variant.unprotected_quantities": evidence.unprotected,
        "privacy_loss.privacy_unit_details": (
            f"Neighbouring data sets: {found.neighbouring.description} ({found.relation})."
        ),
        "privacy_loss.privacy_parameters": (
            {name: value for name, value in parameters.items() if value is not None}
            if evidence.epsilon is not None
            else None
        ),
        "privacy_loss.privacy_parameters_details": bound_words(evidence),
        "deployment_model.model_name": evidence.model,
        "deployment_model.release_type": many if evidence.releases else None,
        "implementation.composition": f"{theorem}; releases of the worst-case record:\n{listed}",
        "implementation.mechanisms": f"{listed}{noise}",
    }
    return {path: value for path, value in known.items() if value is not None}
