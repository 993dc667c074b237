"""A certificate as a document: its content, with the note that reading it proves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from accountant.provenance import Provenance
from algorithms.code_fingerprint import fingerprint
from verify.certificates.certificate import Accounted, Certificate, Proof
from verify.certificates.proof_code import is_of_proof_code
from verify.document.elements import Bullets, Code, Document, Facts, Paragraph, Section, TextTable, Words
from verify.findings.sentences import exact, remark
from verify.verdict.common_sections import (
    ADVERSARY,
    arithmetic_words,
    assumptions_section,
    claim_section,
    provenance_section,
    references_section,
    theorem_named,
)
from verify.verdict.verdict import claim_words


def certificate_document(certificate: Certificate, **files: str) -> Document:
    """Return the content of a certificate as a document; `files` are digests of the files it was read from, by name."""
    claim, proof = certificate.claim, certificate.proof
    command = f"dpwitness check {next(iter(files), 'FILE')}"
    sections = [
        claim_section(certificate.subject, claim, arithmetic_words(certificate.kind)),
        Section("Proof stated by the file", (Bullets(proof.reasons), Facts(_facts(proof)))),
        _charges(proof.accounted),
        assumptions_section((Paragraph(remark("By the file: no unchecked assumption.")),), ADVERSARY),
        Section(
            "Confidence and limits",
            (
                Paragraph(
                    remark(
                        "Unchecked, it is as trustworthy as its sender. The check runs the subject again with the "
                        "installed code, computes the bound again and compares all values."
                    )
                ),
            ),
        ),
        Section(
            "Reproduce",
            (
                Paragraph(remark("Check the file:")),
                Code(command),
                Paragraph(remark("Certify the subject again:")),
                Code(certificate.repeat),
            ),
        ),
        provenance_section(_in_short(certificate.provenance), **files),
        references_section((proof.upper.method, theorem_named(claim.composition), claim.source)),
    ]
    return Document(
        "CERTIFICATE",
        "plain",
        certificate.subject,
        remark(
            "States that {claim} is certified ({relation}). Not checked for this page: run {command}.",
            claim=claim_words(claim),
            relation=claim.neighbours.value,
            command=command,
        ),
        tuple(section for section in sections if section is not None),
    )


def _in_short(provenance: Provenance) -> Provenance:
    """Return a provenance with one digest of all files of this library that the proof reaches."""
    code = {name: digest for name, digest in provenance.digests.items() if is_of_proof_code(name)}
    others = {name: digest for name, digest in provenance.digests.items() if name not in code}
    return replace(
        provenance,
        digests={f"the {len(code)} files of dpwitness that it reaches": fingerprint(code), **others},
    )


def _facts(proof: Proof) -> tuple[tuple[str, Words], ...]:
    bound = exact("{bound} ({method})", bound=proof.upper.description, method=proof.upper.method)
    pairs: list[tuple[str, Words]] = [("Upper bound", bound)]
    if proof.mechanism is not None:
        pairs.append(("mechanism", _named(proof.mechanism)))
    if proof.accounted is not None:
        accounted = proof.accounted
        pairs += [
            ("composition", accounted.theorem),
            ("runs", f"{accounted.runs} of {accounted.rounds:,} rounds, {accounted.releases:,} charges"),
            ("every record is charged at most", _amount(accounted.covering)),
        ]
    if proof.plan is not None:
        pairs += [
            (f"proved for {record}", exact("{cost}", cost=cost)) for record, cost in proof.plan.costs.items()
        ]
        pairs += [("if", each) for each in proof.plan.rests_on]
    return tuple(pairs)


def _charges(accounted: Accounted | None) -> Section | None:
    if accounted is None or not any(payer.charges for payer in accounted.payers):
        return None
    heading = ("line", "mechanism", "releases", "exact charge")
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
    return Section(f"Charges of the worst-case record{'s' if len(tables) > 1 else ''}", tuple(tables))


def _named(mechanism: Mapping[str, Any]) -> str:
    """Return a mechanism's parameters in words."""
    rest = ", ".join(
        f"{key}={value}" for key, value in mechanism.items() if key not in ("kind", "sensitivity")
    )
    return f"{mechanism.get('kind', 'a mechanism')} {rest}".rstrip()


def _amount(amount: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in amount.items() if value != "0") or "nothing"
