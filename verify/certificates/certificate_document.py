"""A certificate as a document: what it says, and that reading it proves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verify.certificates.certificate import Accounted, Certificate, Proof
from verify.document.elements import Bullets, Code, Document, Facts, Paragraph, Section, TextTable
from verify.sentences import both_numbers
from verify.verdict.common_sections import (
    ADVERSARY,
    arithmetic_words,
    claim_section,
    provenance_section,
    references_section,
    rests_on_section,
    theorem_named,
)


def certificate_document(certificate: Certificate, **files: str) -> Document:
    """Return what a certificate says; `files` are digests of what it was read from, by name."""
    claim, proof = certificate.claim, certificate.proof
    sections = [
        claim_section(certificate.subject, claim, arithmetic_words(certificate.kind)),
        Section("Why it holds, as the file says", (Bullets(proof.reasons), Facts(_facts(proof)))),
        _charges(proof.accounted),
        rests_on_section(
            (
                Paragraph(
                    "Assumed and not checked: nothing, as the file says; what assumes anything gets no certificate."
                ),
            ),
            ADVERSARY,
        ),
        Section(
            "How sure this is, and its limits",
            (
                Paragraph(
                    "As sure as who gave you the file, until it is checked. The check believes nothing of it: it runs "
                    "and proves the subject again, with the code that is installed where it is checked, and compares "
                    "every value. A proof holds for all data; no chance is involved in it."
                ),
            ),
        ),
        Section(
            "See it again",
            (
                Paragraph("To check the file itself:"),
                Code(f"dpwitness certificate check {next(iter(files), 'FILE')}"),
                Paragraph("To certify its subject again, without the file:"),
                Code(certificate.repeat),
            ),
        ),
        provenance_section(certificate.provenance, **files),
        references_section((proof.upper.method, theorem_named(claim.composition), claim.source)),
    ]
    return Document(
        "CERTIFICATE",
        "plain",
        certificate.subject,
        f"It says that {both_numbers(claim.epsilon, claim.delta)} is certified, neighbours: {claim.neighbours}. A file "
        "proves nothing, and was not checked for this page; dpwitness certificate check proves it again.",
        tuple(section for section in sections if section is not None),
    )


def _facts(proof: Proof) -> tuple[tuple[str, str], ...]:
    pairs = [
        ("upper bound", f"{both_numbers(proof.upper.epsilon, proof.upper.delta)} by {proof.upper.method}")
    ]
    if proof.mechanism is not None:
        pairs.append(("mechanism", _named(proof.mechanism)))
    if proof.accounted is not None:
        accounted = proof.accounted
        pairs += [
            ("composition", accounted.theorem),
            ("runs", f"{accounted.runs} of {accounted.rounds:,} rounds, {accounted.releases:,} charges"),
            ("every record paid at most", _amount(accounted.covering)),
        ]
    if proof.plan is not None:
        pairs += [(f"plan: {record} pays", cost) for record, cost in proof.plan.costs.items()]
        pairs += [("given that", each) for each in proof.plan.rests_on]
    return tuple(pairs)


def _charges(accounted: Accounted | None) -> Section | None:
    if accounted is None or not any(payer.charges for payer in accounted.payers):
        return None
    heading = ("line", "mechanism", "releases", "each costs, exactly")
    tables = [
        TextTable(
            heading,
            tuple(
                (each.where, _named(each.mechanism), f"{each.releases:,}", _amount(each.charge))
                for each in payer.charges
            ),
        )
        for payer in accounted.payers
    ]
    title = (
        "What the records that paid most paid for"
        if len(tables) > 1
        else "What the record that paid most paid for"
    )
    return Section(title, tuple(tables))


def _named(mechanism: Mapping[str, Any]) -> str:
    """Return a mechanism's parameters in words."""
    rest = ", ".join(
        f"{key}={value}" for key, value in mechanism.items() if key not in ("kind", "sensitivity")
    )
    return f"{mechanism.get('kind', 'a mechanism')} {rest}".rstrip()


def _amount(amount: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in amount.items() if value != "0") or "nothing"
