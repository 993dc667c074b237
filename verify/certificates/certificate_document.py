"""A certificate as a document: its content, with the note that reading it proves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from mechanisms.numerics.printed_numbers import counted_noun
from verify.certificates.certificate import Certificate
from verify.document.elements import Bullets, Code, Document, Facts, FirstScreen, Section, TextTable, Words
from verify.findings.sentences import remark
from verify.verdict.common_sections import (
    ADVERSARY,
    arithmetic_words,
    assumptions_section,
    claim_person_sentence,
    claim_section,
    claim_sentence,
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
        claim_section(claim, arithmetic_words(certificate.kind)),
        Section("Proof stated by the file", (Bullets(certificate.reasons), Facts(_facts(certificate)))),
        _releases(proof),
        assumptions_section((), ADVERSARY),
        provenance_section(certificate.provenance, **files),
        references_section((theorem_named(claim.composition), claim.source)),
    ]
    return Document(
        "CERTIFICATE",
        "plain",
        certificate.subject,
        remark(
            "{said} To read it is no check: run the command below.",
            said=claim_person_sentence("Says that it is proved: someone", claim).text,
        ),
        FirstScreen(
            claimed=claim_sentence(certificate.subject, claim),
            found=remark(
                "States that {claim} is certified ({relation}).",
                claim=claim_words(claim),
                relation=claim.neighbours.value,
            ),
            sure=remark(
                "Not checked for this page. The check needs nothing but the file. Whether the code releases what the "
                "proof lists and nothing else was tested, not proved: dpwitness check --replay runs it again, and "
                "{repeat} certifies it again.",
                repeat=certificate.repeat,
            ),
            rests_on=remark("By the file: no unchecked assumption."),
            again=Code(command),
        ),
        tuple(section for section in sections if section is not None),
    )


def _facts(certificate: Certificate) -> tuple[tuple[str, Words], ...]:
    theorem = {**certificate.proof["theorem"]}
    pairs: list[tuple[str, Words]] = [("theorem", _call_text(theorem.pop("name"), theorem))]
    flows = {**certificate.flows}
    if "runs" in flows:
        runs, rounds = counted_noun(flows["runs"], "run"), counted_noun(flows["rounds"], "round")
        seen = f"{runs} of {rounds}, {counted_noun(flows['releases'], 'charge')}"
        pairs.append(("tested in", seen))
    return tuple(pairs)


def _releases(proof: Mapping[str, Any]) -> Section:
    rows = [
        (name, _through(form), _call_text(**_mechanism(form)), _call_text("", form["charged"]).strip() or "-")
        for name, form in proof["releases"].items()
    ]
    taken = [
        (f"kind {i}", ", ".join(f"{count} of {name}" for name, count in forms.items()))
        for i, forms in enumerate(proof["records"].values(), 1)
    ]
    return Section(
        "Releases",
        (
            TextTable(("release", "domain and steps", "mechanism", "charge"), tuple(rows)),
            TextTable(("record", "takes part in at most"), tuple(taken)),
        ),
    )


def _through(form: Mapping[str, Any]) -> str:
    """Return the domain and the steps of a release in words."""
    domain = form["domain"]
    steps = "".join(f", {step['op']}" for step in form["steps"])
    times = f", {form['terms']} terms" if form["terms"] != 1 else ""
    return (
        f"{domain['kind']} [{_short(domain['low'])}, {_short(domain['high'])}]^{domain['size']}{steps}{times}"
    )


def _mechanism(form: Mapping[str, Any]) -> dict[str, Any]:
    mechanism = {**form["mechanism"]}
    return {"name": mechanism.pop("kind"), "parameters": mechanism}


def _call_text(name: str, parameters: Mapping[str, Any]) -> str:
    return f"{name} {', '.join(f'{key}={_short(value)}' for key, value in parameters.items())}".rstrip()


def _short(value: object) -> str:
    """Return a number of a proof in few digits, a long fraction rounded; a long text that is no number is cut."""
    text = str(value)
    if len(text) <= 12:
        return text
    try:
        return f"about {float(Fraction(text)):.6g}"
    except (ValueError, ArithmeticError):
        return f"{text[:60]}..."
