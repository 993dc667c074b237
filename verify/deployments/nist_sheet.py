"""An answer sheet for the topics of NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025).

Topics go by names of our own: the publication's text was not at hand, so no section of it is cited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from verify.deployments.deployment import Deployment
from verify.deployments.proved_facts import ProvedFacts, bound_words, known_values
from verify.deployments.registry_entry import NOT_DECLARED, in_one_line
from verify.document.elements import Document, Facts, Section, Tone
from verify.findings.sentences import Basis, remark
from verify.verdict.common_sections import provenance_section

AnswerBasis = Literal["Known", "Tested", "Refuted", "Declared", "Not assessed"]

TOPICS: Mapping[str, tuple[str, ...]] = {
    "Privacy parameters and their meaning": (),
    "Variant of differential privacy": ("privacy.variant",),
    "Unit of privacy": ("privacy.unit", "privacy.unit_details"),
    "Comparing and composing guarantees": ("privacy.other_releases",),
    "Releases without differential privacy": ("privacy.unprotected",),
    "Algorithms and sensitivity": (),
    "Utility and accuracy": ("deployment.intended_use", "processing.utility"),
    "Bias (systemic, human, statistical)": ("processing.bias",),
    "Query model": ("model.access", "model.access_details"),
    "Trust model": ("model.name", "model.actors"),
    "Implementation: floating point and randomness": (),
    "Timing and other side channels": ("processing.side_channels",),
    "Security and access control": ("processing.access_control",),
    "Exposure of collected data": ("processing.data_collection",),
}
"""The topics, each with the keys of the declarations on it."""

_NOT_ASSESSED: Mapping[str, str] = {
    "Privacy parameters and their meaning": "whether this ε is acceptable",
    "Comparing and composing guarantees": "releases of the same data that are in none of the files",
    "Releases without differential privacy": "what others publish of the same people",
    "Algorithms and sensitivity": "code outside of the files; that mechanisms and sensitivities are those written down",
    "Bias (systemic, human, statistical)": "bias of the data, of people and of clipping",
    "Implementation: floating point and randomness": "rounding and random bits of the deployed code",
    "Timing and other side channels": "timing, memory, logs and crash reports: no test looks at them",
    "Security and access control": "the rest of the system",
}
"""Limits of files and declarations on each topic, stated in any case."""


def nist_sheet(deployment: Deployment, facts: ProvedFacts, command: str) -> Document:
    """Return the answer sheet: known, declared and open answers on each topic."""
    answers = {topic: tuple(_answers(topic, deployment, facts)) for topic in TOPICS}
    counted = Counter(basis for rows in answers.values() for basis, _ in rows)
    meaning = remark(
        "Answers on the {topics} topics of NIST SP 800-226: {known} known from the files, {declared} declared by "
        "people and not checked, {open} not assessed{more}.",
        topics=len(TOPICS),
        known=counted["Known"],
        declared=counted["Declared"],
        open=counted["Not assessed"],
        more="".join(f", {counted[each]} {each.lower()}" for each in ("Tested", "Refuted") if counted[each]),
    )
    name = deployment.get("deployment.name") or (facts.audit.name if facts.audit else "") or "deployment"
    sections = [Section(topic, (Facts(rows),)) for topic, rows in answers.items()]
    if facts.audit is not None:
        sections.append(provenance_section(facts.audit.provenance))
    tone: Tone = "bad" if facts.refuted else "plain"
    return Document("ANSWER SHEET", tone, name, meaning, facts.first_screen(command), tuple(sections))


def _answers(topic: str, deployment: Deployment, facts: ProvedFacts) -> Iterator[tuple[AnswerBasis, str]]:
    known = list(_proved_answers(topic, facts))
    for said in known:
        yield "Known", in_one_line(said)
    for each in {"Algorithms and sensitivity": facts.results, "Utility and accuracy": facts.utility}.get(
        topic, ()
    ):
        yield _basis(each), in_one_line(f"{each.title}. {each.summary.found} {each.summary.sure}")
        known.append(each.title)
    for key in TOPICS[topic]:
        value = deployment.get(key)
        if value is not None:
            yield "Declared", in_one_line(str(value))
        elif not (known and key in ("privacy.unprotected", "model.name", "privacy.variant")):
            yield "Not assessed", f"{NOT_DECLARED} ({key})"
    if (
        topic == "Trust model"
        and not known
        and facts.audit is not None
        and facts.audit.chosen_under is not None
    ):
        yield (
            "Not assessed",
            "the trust model that the ledger's accountant enforced: the ledger has it, its audit not",
        )
    if topic in _NOT_ASSESSED:
        yield "Not assessed", _NOT_ASSESSED[topic]
    elif not known and not TOPICS[topic]:
        yield "Not assessed", "none of the files shows it"


def _basis(result: Document) -> AnswerBasis:
    """Return the basis of a result: known only if it is proved; declared if it is a certificate, unchecked."""
    if result.tone == "bad":
        return "Refuted"
    if result.verdict == "CERTIFICATE":
        return "Declared"
    return "Known" if result.meaning.basis is Basis.EXACT else "Tested"


def _proved_answers(topic: str, facts: ProvedFacts) -> Iterator[str]:
    """Yield the facts that the files prove on a topic."""
    known = known_values(facts)
    match topic:
        case "Privacy parameters and their meaning" if facts.audit is not None:
            yield bound_words(facts)
            if facts.person is not None:
                yield facts.person.text
        case "Variant of differential privacy" if facts.variant is not None:
            yield f"{facts.variant}{facts.condition}"
        case "Unit of privacy" if facts.audit is not None:
            yield known["privacy_loss.privacy_unit_details"]
        case "Comparing and composing guarantees" if facts.audit is not None:
            yield known["implementation.composition"]
        case "Releases without differential privacy" if facts.unprotected is not None:
            yield facts.unprotected
        case "Algorithms and sensitivity" if facts.audit is not None:
            yield known["implementation.mechanisms"]
        case "Query model" if facts.releases > 1:
            yield f"{facts.releases:,} releases are recorded{'' if facts.is_whole else ' of the worst-case record'}."
        case "Trust model" if facts.model is not None:
            yield f"{facts.model}, enforced by the ledger's accountant"
        case "Implementation: floating point and randomness" if facts.ledger is not None:
            yield f"Noise is drawn by {', '.join(facts.ledger.noise)}."
        case "Security and access control" if facts.ledger is not None:
            yield "The ledger's entries are chained by hashes, and were verified when it was read."
