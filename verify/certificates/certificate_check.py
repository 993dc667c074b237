"""Proving a certificate again on the installed code.

Nothing in a certificate is taken on trust. First its code: versions, and digests of this library and of the
subject's own file, before that is imported. Then everything that needs no test of the view (accounting, replays,
coupled runs, or the profile of a mechanism) is done again, and the result must be the same certificate, to the last
value but its date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from accountant.files.json_object import JsonError
from accountant.provenance import Provenance, file_digest
from mechanisms import ParameterError
from verify.certificates.certificate import Certificate, certificate_differences, certifying
from verify.certificates.certification import certificate_of
from verify.certificates.proof_code import code_here, is_of_proof_code
from verify.conduct.exit_codes import BAD, GOOD, OPEN
from verify.findings.json_form import json_able
from verify.findings.sentences import Sentence, exact, remark
from verify.findings.subject_error import SubjectError
from verify.subjects.resolve import file_of, is_registered, names_file
from verify.subjects.subject_identity import class_without_source
from verify.verdict.answer import SubjectKind
from verify.verification import run_verification
from verify.verify_mechanism import rebuilt

FORMAT = "dpwitness certificate check, version 1"

_CheckVerdict = Literal["valid", "invalid", "unproven"]

_EXIT_CODES: Mapping[_CheckVerdict, int] = {"valid": GOOD, "invalid": BAD, "unproven": OPEN}
_MOST_DIFFERENCES = 5


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """The result of proving a certificate again.

    Attributes
    ----------
    certificate
        The certificate that was checked.
    verdict
        ``"valid"``: the installed code is the certificate's, and proves the same. ``"invalid"``: it is the
        certificate's, and something else comes out, or the claim is refuted. ``"unproven"``: other code is
        installed, or the proof did not come to its end; there is no evidence against the claim.
    reasons
        The reasons, the deciding one first.
    """

    certificate: Certificate
    verdict: _CheckVerdict
    reasons: tuple[Sentence, ...]

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
            "certificate": self.certificate.json(),
        }


def check_certificate(certificate: Certificate, subject: object = None) -> CertificateCheck:
    """Prove a certificate again; see `Certificate.check`."""
    again = certifying(certificate.subject, certificate.claim, certificate.options)
    if certificate.repeat != again:
        said = "changed: its subject, claim and options are those of {again!r}, not of its own command"
        return CertificateCheck(certificate, "invalid", (exact(said, again=again),))
    found = _subject(certificate, subject)
    if isinstance(found, CertificateCheck):
        return found
    if hidden := class_without_source(found):
        return CertificateCheck(
            certificate, "unproven", (exact("the source of {hidden} cannot be read", hidden=hidden),)
        )
    if changed := _changed_code(certificate, found):
        anew = remark("To certify what is installed: {command}", command=certificate.repeat)
        return CertificateCheck(certificate, "unproven", (*changed, anew))
    isolated = isinstance(found, str) and not is_registered(found)
    result = run_verification(found, replace(certificate.requested_options, isolated=isolated), tests=False)
    if result.verdict != "certified":
        verdict: _CheckVerdict = "invalid" if result.verdict == "refuted" else "unproven"
        return CertificateCheck(certificate, verdict, result.decision.reasons)
    proved = certificate_of(result, found, certificate.requested_options)
    digests = certificate_differences(_code(certificate.provenance), _code(proved.provenance))
    if digests:
        words = tuple(
            exact("other code: the digest of {each}", each=each) for each in digests[:_MOST_DIFFERENCES]
        )
        return CertificateCheck(certificate, "unproven", words)
    # The folder of its file, when it was written and with which libraries, are no part of the proof.
    other_versions = certificate_differences(certificate.provenance.versions, proved.provenance.versions)
    proved = replace(proved, provenance=certificate.provenance)
    if _in_a_folder(proved.subject) == _in_a_folder(certificate.subject):
        proved = replace(proved, subject=certificate.subject, repeat=certificate.repeat)
    differing = certificate_differences(certificate.json(), proved.json(), done_again=True)
    if differing:
        words = tuple(exact("the proof differs: {each}", each=each) for each in differing[:_MOST_DIFFERENCES])
        return CertificateCheck(certificate, "invalid", words)
    return CertificateCheck(
        certificate,
        "valid",
        (
            exact(
                "The installed code is the certificate's and proves the same, all charges included; data files and "
                "environment variables are those of this machine."
            ),
            *(exact("Other versions, which change no figure: {each}", each=each) for each in other_versions),
            remark("Author, date and versions are unverified, unless the file is signed."),
        ),
    )


def _in_a_folder(subject: str) -> str:
    """Return the name of a file's object without the folder; any other name as it is."""
    file = file_of(subject)
    return subject if file is None else f"{file.name}:{subject.rpartition(':')[2]}"


def _subject(certificate: Certificate, subject: object) -> object:
    """Return what the certificate is about, or the check if that cannot be."""
    if subject is not None:
        return subject
    name = certificate.subject
    if is_registered(name) or names_file(name):
        return name
    if certificate.kind is SubjectKind.MECHANISM:
        try:
            return rebuilt(certificate.proof.mechanism or {})
        except (ParameterError, JsonError, TypeError, LookupError, AttributeError) as error:
            return CertificateCheck(
                certificate,
                "invalid",
                (exact("proof.mechanism is none of this library's: {error}", error=str(error)),),
            )
    raise SubjectError(
        f"{name}: is found by no name; say where it is (--subject path.py:object, or check(subject=...))"
    )


def _changed_code(certificate: Certificate, subject: object) -> tuple[Sentence, ...]:
    """Return which code differs from the certificate's; nothing of the subject is imported for it."""
    known = certificate.provenance.digests
    digests = code_here(name for name in known if is_of_proof_code(name))
    file = file_of(subject)
    if file is not None:
        if not file.is_file():
            raise SubjectError(f"{file}: no such file")
        digests["file"] = file_digest(file)
    found = certificate_differences({name: known.get(name, "none") for name in digests}, digests)
    return tuple(exact("other code: the digest of {each}", each=each) for each in found[:_MOST_DIFFERENCES])


def _code(provenance: Provenance) -> dict[str, str]:
    """Return the digests of code; the version of a library that every certificate names is none."""
    of_versions = {f"version of {name}" for name in provenance.versions}
    return {name: digest for name, digest in provenance.digests.items() if name not in of_versions}
