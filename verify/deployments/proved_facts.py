"""Proved facts about a deployment, from files, and declarations that contradict them."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from accountant.audit import Audit, AuditQuestion, Releases, ReleaseSummary, audit, read_releases
from accountant.audit.audit_question import DEFAULT_DELTA, DEFAULT_SECONDS
from accountant.audit.releases import LedgerFacts
from accountant.budget import Budget
from accountant.provenance import file_digest, made_now
from algorithms.problems import SettingError
from mechanisms.composition.enclosure import Enclosure, lower_end
from mechanisms.numerics.printed_numbers import as_given, at_least, at_most, counted_noun
from verify.deployments.deployment import NONE_UNPROTECTED, Deployment
from verify.document.elements import Code, Document, FirstScreen
from verify.findings.sentences import Sentence, exact, remark
from verify.verdict.audit_document import audit_person_sentence

DIGITS = 10
_UNBOUNDED = (
    *("gaussian", "discretegaussian", "gaussianmixture", "truncatedbatches", "binomial", "thresholdedkeys"),
    *("squarerootcounter", "bufferedcounter", "bandedcounter", "cycliccounter"),
)
"""Mechanisms without a finite ε at δ = 0."""
_RAW = "declassified"
"""The mechanism of values that left without noise."""
_MODELS = {"central": "Central", "local": "Local", "shuffle": "Shuffle"}


@dataclass(frozen=True)
class ProvedFacts:
    """Proved facts about a deployment, from files.

    Attributes
    ----------
    audit
        The audit of its releases; None if only other results are given.
    ledger
        The further facts that its ledger holds; None without one.
    rho
        The ρ of the worst-case record, rounded up, if all releases are declared by ρ alone; else None.
    results, utility
        Documents of other results: on algorithms, and on utility; bad are those that refute a claim.
    """

    audit: Audit | None = None
    ledger: LedgerFacts | None = None
    rho: float | None = None
    results: tuple[Document, ...] = ()
    utility: tuple[Document, ...] = ()

    @property
    def enforced(self) -> Budget | None:
        """The finite budget that an accountant enforced, also on releases that were chosen by earlier ones."""
        chosen = None if self.audit is None or self.declassified else self.audit.chosen_under
        return None if chosen is None or math.isinf(chosen.budget.epsilon) else chosen.budget

    @property
    def bound(self) -> tuple[float, float] | None:
        """The proved ε, rounded up, and its δ, under `condition`; None if ε is infinite or δ is 1: that is none."""
        if self.audit is None:
            return None
        asked, upper = self.audit.question, self.audit.answer.upper
        epsilon, delta = upper, asked.fixed_value
        if asked.quantity == "delta":
            epsilon, delta = asked.fixed_value, float(at_most(upper, DIGITS))
        if (enforced := self.enforced) is not None:
            epsilon, delta = float(enforced.epsilon), float(enforced.delta)
        return None if math.isinf(epsilon) or delta >= 1.0 else (float(at_most(epsilon, DIGITS)), delta)

    @property
    def condition(self) -> str:
        """The condition of the bound, after a comma; empty where an accountant kept a limit, or nothing chose."""
        limited = self.audit is None or self.audit.chosen_under is None or self.enforced is not None
        return "" if limited else ", if the releases were fixed in advance"

    @property
    def refuted(self) -> tuple[Document, ...]:
        """The results that refute a claim."""
        return tuple(each for each in (*self.results, *self.utility) if each.tone == "bad")

    def first_screen(self, command: str) -> FirstScreen:
        """Return the summary of a sheet on the deployment."""
        claimed, found = "nothing that files prove", "no bound"
        if self.bound is not None:
            epsilon, delta = self.bound
            found = f"ε ≤ {as_given(epsilon)} at δ = {as_given(delta)}{self.condition}"
            if self.audit is not None and self.audit.group_size > 1:
                found = f"{found}, for groups of {self.audit.group_size:,} records"
            claimed = f"{self.variant}: {found}"
        known = "Known is proved from the files. Declared is people's word, held against the files only."
        if self.refuted:
            known += f" Refuted in the files: {'; '.join(each.title for each in self.refuted)}."
        of = "" if self.is_whole or self.audit is None else " of the worst-case record"
        return FirstScreen(
            claimed=remark("{claimed}", claimed=claimed),
            found=exact(
                "{found}, from {count}{of}.", found=found, count=counted_noun(self.releases, "release"), of=of
            ),
            sure=remark("{known}", known=known),
            rests_on=remark("The files and the declaration are about this deployment, and true."),
            again=Code(command),
            person=self.person,
        )

    @property
    def person(self) -> Sentence | None:
        """The largest share of right guesses under the bound, in a sentence; None without a bound."""
        return None if self.audit is None or self.bound is None else audit_person_sentence(self.audit)

    @property
    def variant(self) -> str | None:
        """The variant of differential privacy, as the registry calls it; None without a bound."""
        if self.bound is None:
            return None
        if self.rho is not None:
            return "Zero-concentrated DP"
        return "Approximate DP" if self.bound[1] else "Pure DP"

    @property
    def declassified(self) -> Mapping[str, int]:
        """The number of values that left without noise, by their names; without a ledger, a lower bound."""
        if self.ledger is not None:
            return self.ledger.declassified
        released = () if self.audit is None else self.audit.released
        return {each.name: max(1, each.count) for each in released if _kind(each) == _RAW}

    @property
    def is_whole(self) -> bool:
        """True if `releases` counts all of them, and not those of the worst-case record alone."""
        if self.ledger is not None:
            return self.ledger.trust == "central"
        return self.audit is not None and self.audit.groups == 1 and not self.audit.chosen_under

    @property
    def releases(self) -> int:
        """The number of releases, also of values without noise; those of one record where no more is known."""
        if self.ledger is not None and self.is_whole:
            return self.ledger.releases
        return 0 if self.audit is None else sum(each.count for each in self.audit.released)

    @property
    def release_type(self) -> str | None:
        """One release or many, as the registry calls it; None if no file has it."""
        if self.releases != 1:
            return "Many releases" if self.releases else None
        return "One release" if self.is_whole else None

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
            return "\n".join(f"- {each}{_times(count)}" for each, count in self.declassified.items())
        whole = self.ledger is not None and self.ledger.strict and self.ledger.first is not None
        return "Of the values in the ledger, which is strict, none left without noise." if whole else None


def read_proved_facts(releases: Path, deployment: Deployment) -> ProvedFacts:
    """Read the proved facts of a file of releases or a ledger.

    It is ε at the declared δ, else at the δ of the ledger's budget, else at 0 if one is proved there.

    Raises
    ------
    ValueError
        If the file cannot be read.
    """
    read = read_releases(releases)
    found = _audit_releases(read, deployment)
    made = made_now(file=file_digest(releases))
    return ProvedFacts(replace(found, name=releases.name, provenance=made), read.ledger, _rho(read))


def _audit_releases(read: Releases, deployment: Deployment) -> Audit:
    delta = deployment.get("privacy.delta")
    if read.chosen_under is not None and not math.isinf(read.chosen_under.budget.epsilon):
        delta = float(read.chosen_under.budget.delta)
    if delta is None and deployment.get("privacy.variant") in (None, "Pure DP"):
        found = audit(read, AuditQuestion(delta=0.0), time_limit=DEFAULT_SECONDS)
        if not math.isinf(found.answer.upper):
            return found
    question = AuditQuestion(delta=DEFAULT_DELTA if delta is None else delta)
    return audit(read, question, time_limit=DEFAULT_SECONDS)


def _rho(read: Releases) -> float | None:
    """Return the largest sum of ρ of a record, rounded up, if every release is a declared ρ, of all records alike."""
    rhos = {}
    for i, kind in enumerate(read.kinds):
        written = kind.written
        if written is None or written.kind != "zcdp" or written.rate != 1.0 or written.clients is not None:
            return None
        rhos[i] = Fraction(repr(float(written.parameters["rho"])))  # as written, not as a binary fraction
    most = max(sum(count * rhos[i] for i, count in group.counts.items()) for group in read.groups)
    below = Fraction(repr(float(most))) < most
    return float(at_most(math.nextafter(most, math.inf) if below else float(most), DIGITS))


def bound_words(facts: ProvedFacts) -> str:
    """Return the proved bounds of an audit in words; a lower end only where two data sets attain it."""
    found = facts.audit
    assert found is not None
    symbol, other = ("ε", "δ") if found.question.quantity == "epsilon" else ("δ", "ε")
    at, answer = as_given(found.question.fixed_value), found.answer
    none = math.isinf(answer.upper) or (symbol == "δ" and answer.upper >= 1.0)
    if none or (facts.bound is None and facts.declassified):
        raw, least = sum(facts.declassified.values()), "" if facts.ledger else "at least "
        left = f": {least}{counted_noun(raw, 'value')} left without noise" if raw else ""
        return f"No {'finite ε' if symbol == 'ε' else 'δ below 1'} is proved at {other} = {at}{left}."
    said = f"{symbol} ≤ {at_most(answer.upper, DIGITS)} at {other} = {at}, proved, by {found.best_theorem}"
    if isinstance(answer, Enclosure) and answer.lower > 0.0:
        said += f"; two data sets attain {symbol} ≥ {at_least(answer.lower, DIGITS)}"
    chosen = found.chosen_under
    if chosen is None:
        return f"{said}."
    if facts.enforced:
        limit = f"ε = {as_given(chosen.budget.epsilon)}, δ = {as_given(chosen.budget.delta)}"
        size = found.group_size
        who = "record" if size == 1 else f"group of {size:,} records, by that of each record"
        return (
            f"The accountant enforced {limit} for every {who} ({chosen.theorem}), also for releases chosen by earlier "
            f"ones. Of what was spent, if the releases were fixed in advance: {said}."
        )
    return f"The accountant enforced no finite limit. If the releases were fixed in advance: {said}."


def _times(count: int) -> str:
    """Return how often a release occurs, after its name; "" for once."""
    return "" if count == 1 else f", {count:,} times"


def _kind(released: ReleaseSummary) -> str:
    """Return the kind of a mechanism, by the first of its words alone: names are anybody's."""
    return re.sub(r"[-_]|[ (].*", "", released.mechanism, flags=re.DOTALL).lower()


def check_declarations(deployment: Deployment, facts: ProvedFacts) -> None:
    """Refuse declarations that contradict proved facts.

    Raises
    ------
    SettingError
        For the first of them; it names the key, its value, and the proved fact.
    """
    for key, known in _contradictions(deployment, facts):
        value = deployment.get(key)
        shown = str(value) if isinstance(value, datetime.date) else repr(value)
        raise SettingError(f"{deployment.name}: {key} = {shown}: contradicts the proved fact: {known}")


def _contradictions(deployment: Deployment, facts: ProvedFacts) -> Iterator[tuple[str, str]]:
    """Yield each key with a declared value that contradicts a known fact, with this fact in words."""
    found = facts.audit
    if found is None:
        return
    declared = deployment.get
    if (model := facts.model) and declared("model.name") not in (None, model):
        yield "model.name", f"the ledger's trust model is {model!r}"
    if declared("model.release") == "One release" and facts.releases > 1:
        yield "model.release", f"{facts.releases:,} releases are recorded"
    if facts.declassified and declared("privacy.unprotected") == NONE_UNPROTECTED:
        yield "privacy.unprotected", f"left without noise: {'; '.join(facts.declassified)[:200]}"
    bound, epsilon, delta = facts.bound, declared("privacy.epsilon"), declared("privacy.delta")
    known = (
        "no finite ε is proved" if bound is None else f"ε ≤ {as_given(bound[0])} at δ = {as_given(bound[1])}"
    )
    if epsilon is not None and not (bound and _rounds_up(bound[0], epsilon)):
        yield "privacy.epsilon", known
    if delta is not None and bound is not None and delta != bound[1]:
        yield "privacy.delta", known
    if declared("privacy.variant") is not None and facts.declassified:
        yield "privacy.variant", f"left without noise: {'; '.join(facts.declassified)[:200]}"
    if declared("privacy.variant") == "Pure DP":  # a δ that was only asked for contradicts nothing
        if found.question.delta == 0.0 and lower_end(found.answer) == math.inf:
            yield "privacy.variant", "two data sets attain ε = ∞ at δ = 0"
        for each in found.released:
            if _kind(each) in _UNBOUNDED:
                yield "privacy.variant", f"at best Approximate DP: no finite ε at δ = 0 by {each.mechanism}"
    if declared("privacy.neighbours") not in (None, found.neighbouring.value):
        yield "privacy.neighbours", f"the audit is for {found.neighbouring.value!r}"
    published, first = declared("deployment.published"), facts.first
    if published is not None and first is not None and published < first:
        yield "deployment.published", f"the first release is of {first}"


def _rounds_up(known: float, declared: float) -> bool:
    """Return True if a declared ε is the known one, rounded up to the digits that it has."""
    said = Decimal(repr(declared))
    return 0 <= said - Decimal(repr(known)) < Decimal(1).scaleb(int(said.as_tuple().exponent))


def known_values(facts: ProvedFacts) -> Mapping[str, Any]:
    """Return the known values of the registry's fields, by their paths."""
    found = facts.audit
    if found is None:
        return {}
    parameters = {}
    if (bound := facts.bound) is not None:
        parameters = {"epsilon": bound[0], "delta": bound[1] or None, "rho": facts.rho}
    names = {each: each.mechanism or each.name for each in found.released}
    listed = "\n".join(f"- {each.count:,} × {name}" for each, name in names.items() if each.count)
    used = "\n".join(f"- {name}" for name in dict.fromkeys(names.values()))
    theorem = found.chosen_under.theorem if facts.enforced and found.chosen_under else found.best_theorem
    noise = "" if facts.ledger is None else f"\nSources of noise: {', '.join(facts.ledger.noise)}."
    known = {
        "basic.publication_date": None if facts.first is None else str(facts.first),
        "dp_variant.variant_name": facts.variant,
        "dp_variant.unprotected_quantities": facts.unprotected,
        "privacy_loss.privacy_unit_details": (
            f"Neighbouring data sets: {found.neighbouring.description} ({found.relation})."
        ),
        "privacy_loss.privacy_parameters": {
            name: value for name, value in parameters.items() if value is not None
        }
        or None,
        "privacy_loss.privacy_parameters_details": bound_words(facts),
        "deployment_model.model_name": facts.model,
        "deployment_model.release_type": facts.release_type,
        "implementation.composition": f"{theorem}{facts.condition}; releases of the worst-case record:\n{listed}",
        "implementation.mechanisms": f"{used}{noise}",
    }
    return {path: value for path, value in known.items() if value is not None}
