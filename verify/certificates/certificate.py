"""Certificates and their JSON form: the claim, its proof, and the tests beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from accountant.files.json_form import json_able, json_fields, read_fields
from accountant.files.json_object import JsonError, JsonObject
from accountant.proofs.proof_document import FORMAT
from accountant.provenance import Provenance
from algorithms.claim import Claim
from mechanisms.parameters import ParameterError
from verify.findings.proof_checker import claim_as_data
from verify.findings.sentences import Sentence
from verify.verdict.result_kinds import ShownResult
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import claim_words
from verify.verification.options import Options, each_option

if TYPE_CHECKING:
    from verify.certificates.certificate_check import CertificateCheck

SAID = (
    "unit",
    "problem",
    "settings",
    "horizon",
    "effort",
    "samples",
    "confidence",
    "significance",
    "time_limit",
    "seed",
)
"""The options of a verification that a certificate records, beside its claim."""

PROOF_KEYS = ("format", "claim", "symbols", "releases", "records", "theorem")
"""The keys of a certificate that its checker reads."""


@dataclass(frozen=True, slots=True, repr=False)
class Certificate(ShownResult):
    """A certified claim with its proof, and the tests beside it; `verify.certify` makes one.

    It rests on no assumption: a claim that does gets no certificate. The independent checker alone decides from `proof`
    if the claim follows; that the code's releases are those of the proof, and no others, was tested.

    Attributes
    ----------
    subject, kind
        The certified subject: a registered name, ``path.py:object`` or a mechanism in words; and its kind.
    claim
        The claim that is proved.
    proof
        The proof as data: derived releases, the records that are part of them, a theorem and its budget.
    reasons
        The verdict's, in words.
    options
        The options of the verification: those of `verify` in `SAID` that are not the default, and the seed.
    repeat
        The command, or Python call, that certifies the same again.
    flows
        The numbers of runs in which no other release was seen; for a mechanism its parameters.
    provenance
        Date, versions, and digests of its subject's code.
    """

    subject: str
    kind: SubjectKind
    claim: Claim
    proof: Mapping[str, Any]
    reasons: tuple[Sentence, ...]
    options: Mapping[str, Any]
    repeat: str
    flows: Mapping[str, Any] = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance)

    def __repr__(self) -> str:
        """One line; `json` gives everything."""
        return f"<Certificate of {self.subject}: {self.claim_words}>"

    @property
    def claim_words(self) -> str:
        """Epsilon, delta and the relation, on one line."""
        claim = self.claim
        return f"{claim_words(claim)}, neighbours: {claim.neighbours}"

    @property
    def requested_options(self) -> Options:
        """The options with which the claim is verified."""
        return _claim_options(self.claim, self.options)

    def check(self, subject: object = None, *, replay: bool = False, **options: Any) -> CertificateCheck:
        """Ask the independent checker whether the claim follows.

        Parameters
        ----------
        subject
            For a replay: the subject, where its name does not lead to it: an object, or the path that its file has
            here.
        replay
            True to run the subject on the installed code, too, and compare its releases with those of the proof.
        options
            For a replay: options of `verify` other than the certificate's, such as a horizon; the seed is a new one.

        Raises
        ------
        ParameterError
            If its subject is not found.
        """
        from verify.certificates.certificate_check import check_certificate

        return check_certificate(self, subject, replay=replay, options=options)

    def json(self) -> dict[str, Any]:
        """Return the certificate as JSON data: the proof, and beside it, as ``tested``, everything else."""
        tested = json_fields(self, (*_OWN, "options"))
        return {**self.proof, "tested": _without_floats(tested)}

    @classmethod
    def from_json(cls, data: Any) -> Certificate:
        """Return the certificate that `json` wrote.

        Raises
        ------
        ParameterError
            If a key is missing, unknown or of another type, a value is out of range, or it is about another claim than
            its proof.
        """
        whole = JsonObject(data, "the certificate")
        whole.one_of("format", [FORMAT])
        proof = {"format": FORMAT, **_read_proof(whole)}
        tested = whole.mapping("tested")
        if not tested:
            raise JsonError("is the proof of an audit, for `dpwitness check`: must be a certificate")
        read = JsonObject(_with_floats(tested), "tested of the certificate")
        whole.end()
        own = read_fields(read, cls, _OWN)
        certificate = cls(proof=proof, options=_checked_options(read.mapping("options")), **own)
        read.end()
        if certificate.proof.get("claim") != claim_as_data(certificate.claim):
            raise JsonError("claim of the certificate must be the claim of its proof")
        return certificate


_OWN = ("subject", "kind", "claim", "reasons", "repeat", "flows", "provenance")


def _read_proof(whole: JsonObject) -> dict[str, Any]:
    """Return the parts of a proof, each of the form that a page shows; only the checker judges the claim."""
    parts = {key: whole.mapping(key) for key in PROOF_KEYS[1:]}
    for name, form in parts["releases"].items():
        read = JsonObject(form, f"{name!r} of the certificate")
        domain = JsonObject(read.mapping("domain"), f"domain of {name!r}")
        domain.text("kind")
        for key in ("low", "high", "size"):
            domain.pop(key)
        domain.end()
        read.entries("steps", lambda step: (step.text("op"), step.pop_remaining()))
        read.pop("terms")
        JsonObject(read.mapping("mechanism"), f"mechanism of {name!r}").text("kind")
        read.mapping("charged")
        read.end()
    for name, counts in parts["records"].items():
        JsonObject(counts, f"{name!r} of the certificate")
    JsonObject(parts["theorem"], "theorem of the certificate").text("name")
    return parts


_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-]\d{1,4}", re.ASCII)


def _map_leaves(data: Any, change: Callable[[Any], Any]) -> Any:
    """Return JSON data with a function applied to every number, text, flag and null."""
    if isinstance(data, Mapping):
        return {key: _map_leaves(value, change) for key, value in data.items()}
    return [_map_leaves(value, change) for value in data] if isinstance(data, list) else change(data)


def _without_floats(data: Any) -> Any:
    """Return JSON data with floats in hexadecimal, as text: a proof has no number that is not exact."""
    return _map_leaves(data, lambda x: x.hex() if isinstance(x, float) else x)


def _with_floats(data: Any) -> Any:
    return _map_leaves(data, lambda x: float.fromhex(x) if isinstance(x, str) and _FLOAT.fullmatch(x) else x)


def _claim_options(claim: Claim, options: Mapping[str, Any]) -> Options:
    return Options(epsilon=claim.epsilon, delta=claim.delta, composition=claim.composition or None, **options)


def certifying(subject: str, claim: Claim, options: Mapping[str, Any]) -> str:
    """Return the command, or Python call, that certifies this."""
    from verify.verification.reproduction import rerun_command  # a certificate is read without the learners
    from verify.verification.resolve import is_registered, names_file

    named = is_registered(subject) or names_file(subject)
    further = ("--certificate", "certificate.json")
    return rerun_command("certify", subject, _claim_options(claim, options), named=named, further=further)


def said_options(options: Options) -> dict[str, Any]:
    """Return the options that a certificate states, without defaults, but with the seed.

    Raises
    ------
    ParameterError
        If an option is set that no certificate states, or to an object that has no words.
    """
    said: dict[str, Any] = {}
    for name, default, facts in each_option(Options):
        value = getattr(options, name)
        if name in SAID and (name == "seed" or value not in (default, {}, [])):
            said[name] = _plain(name, value)
            if name == "problem":
                from verify.verification.resolve import names_file

                if names_file(value):
                    rule = "a certificate names problems of the catalogue only"
                    raise ParameterError(f"problem = {value!r}: {rule}")
        elif facts.repeats and value != default and name not in (*SAID, "epsilon", "delta", "composition"):
            raise ParameterError(f"{name} = {value!r}: a certificate is about a proof, and takes none")
    return said


def _plain(name: str, value: Any) -> Any:
    """Return a value of an option as JSON data."""
    try:
        plain = json_able(value)
    except ValueError:
        raise ParameterError(f"{name} = {value!r}: has no words for a certificate; name it") from None
    if "inf" in (plain, value):
        raise ParameterError(f"{name} = {value!r}: must be finite for a certificate")
    return plain


def _checked_options(written: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(written.keys() - set(SAID)):
        raise JsonError(f"options of the certificate has keys that are unknown: {', '.join(unknown)[:60]}")
    if said_options(Options(**written)) != written:
        raise JsonError("options of the certificate must be those that are not the default, and the seed")
    return dict(written)
