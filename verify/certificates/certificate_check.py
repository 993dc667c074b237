"""Checks of a certificate: the independent checker, and on request a replay on the installed code."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from accountant.files.json_form import json_able
from algorithms.claim import Claim
from mechanisms import ParameterError
from verify.certificates.certificate import Certificate
from verify.conduct.exit_codes import BAD, GOOD, OPEN
from verify.findings.proof_checker import CheckedProof, check_proof, check_proof_file
from verify.findings.sentences import Sentence, exact, remark
from verify.findings.subject_error import SubjectError
from verify.verdict.answer import SubjectKind
from verify.verification.resolve import is_registered, names_file
from verify.verification.verification import run_verification
from verify.verification.verify_mechanism import rebuilt

FORMAT = "dpwitness certificate check, version 2"

_CheckVerdict = Literal["valid", "invalid", "unproven"]

_EXIT_CODES: Mapping[_CheckVerdict, int] = {"valid": GOOD, "invalid": BAD, "unproven": OPEN}


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """The result of checking a certificate.

    Attributes
    ----------
    certificate
        The certificate that was checked.
    verdict
        ``"valid"``: the claim follows from the proof. ``"invalid"``: it does not, or a replay refutes it.
        ``"unproven"``: it does, and a replay was about another claim, released something that the proof does not
        list, or did not come to its end.
    reasons
        The reasons, the deciding one first.
    said
        The answer of the checker, in its own words.
    """

    certificate: Certificate
    verdict: _CheckVerdict
    reasons: tuple[Sentence, ...]
    said: str

    @property
    def exit_code(self) -> int:
        """Of the command line: 0 valid, 1 invalid, 3 unproven."""
        return _EXIT_CODES[self.verdict]

    def json(self) -> dict[str, Any]:
        """Return the check as JSON data."""
        return {
            "format": FORMAT,
            "verdict": self.verdict,
            "reasons": json_able(self.reasons),
            "checker": self.said,
            "certificate": self.certificate.json(),
        }


def check_certificate(
    certificate: Certificate,
    subject: object = None,
    *,
    replay: bool,
    options: Mapping[str, Any],
    file: Path | None = None,
) -> CertificateCheck:
    """Check a certificate; see `Certificate.check`. The checker reads the file that it was in, if there is one."""
    checked: CheckedProof = check_proof(certificate.json()) if file is None else check_proof_file(file)
    if not checked.follows:
        reason = exact("the claim does not follow from the proof: {why}", why=checked.words)
        return CertificateCheck(certificate, "invalid", (reason,), checked.words)
    follows = exact("the claim follows from the releases that the proof lists")
    if not replay:
        untested = remark(
            "That the code releases these and nothing else was tested when it was made; see --replay."
        )
        return CertificateCheck(certificate, "valid", (follows, untested), checked.words)
    verdict, reasons = _replay_subject(certificate, subject, options)
    return CertificateCheck(certificate, verdict, (*reasons, follows), checked.words)


def _replay_subject(
    certificate: Certificate, subject: object, options: Mapping[str, Any]
) -> tuple[_CheckVerdict, tuple[Sentence, ...]]:
    """Return the verdict on a certificate, with reasons, from a run of the installed code with a new seed."""
    found = _subject(certificate, subject)
    isolated = isinstance(found, str) and not is_registered(found)
    asked = replace(
        certificate.requested_options, isolated=isolated, **{"seed": secrets.randbelow(2**32), **options}
    )
    result = run_verification(found, asked, tests=False)
    if result.verdict != "certified":
        verdict: _CheckVerdict = "invalid" if result.verdict == "refuted" else "unproven"
        return verdict, result.decision.reasons
    if (other_parts := _differences(result.claim, certificate.claim)) != "":
        said = "a replay with seed {seed} is about another claim: {differences}"
        return "unproven", (exact(said, seed=asked.seed, differences=other_parts),)
    known = list(certificate.proof["releases"].values())
    if others := [form for form in result.details["proof"]["releases"].values() if form not in known]:
        said = "a replay with seed {seed} releases a form that the proof does not list: {form}"
        return "unproven", (exact(said, seed=asked.seed, form=others[0]),)
    made, here = certificate.provenance.digests, result.provenance.digests
    changed = sorted(name for name in made.keys() & here.keys() if made[name] != here[name])
    other = [remark("Other code than when it was made: {names}", names=", ".join(changed))] if changed else []
    return "valid", (exact("a replay with seed {seed} released nothing else", seed=asked.seed), *other)


def _differences(claimed: Claim, certified: Claim) -> str:
    """Return the parts in which the claims of the code and the certificate differ, without sources and comments."""
    pairs = (
        (each.name, getattr(claimed, each.name), getattr(certified, each.name)) for each in fields(Claim)
    )
    return "; ".join(
        f"{name} {str(there)!r}, not {str(here)!r}"
        for name, there, here in pairs
        if there != here and name not in ("source", "comment")
    )


def _subject(certificate: Certificate, subject: object) -> object:
    """Return the subject of a certificate, as an object or by its name.

    Raises
    ------
    SubjectError
        If it names something that only the caller has.
    """
    name = certificate.subject
    if isinstance(subject, str) and names_file(name) and not names_file(subject):
        return f"{subject}:{name.rpartition(':')[2]}"  # a file's place here
    if subject is not None:
        return subject
    if is_registered(name) or names_file(name):
        return name
    if certificate.kind is SubjectKind.MECHANISM and "mechanism" in certificate.flows:
        try:
            return rebuilt(certificate.flows["mechanism"])
        except (ParameterError, ValueError, TypeError, LookupError):
            pass
    raise SubjectError(
        f"{name}: its subject is not found; name it (--subject path.py:object, or check(subject=...))"
    )
