"""The content of a certificate, and its JSON form, from which it loads back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from accountant.files.json_object import FromJson, JsonError, JsonObject
from accountant.provenance import Provenance
from algorithms.claim import Claim
from verify.document.html_page import fragment
from verify.findings.finding import UpperBound
from verify.findings.json_form import json_able
from verify.findings.sentences import Sentence, read_sentence
from verify.options import Options, each_option
from verify.subjects.reproduction import rerun_command
from verify.subjects.resolve import is_registered, names_file
from verify.verdict.answer import SubjectKind, claim_data, read_stated_claim, read_upper
from verify.verdict.verdict import claim_words

if TYPE_CHECKING:
    from verify.certificates.certificate_check import CertificateCheck

FORMAT = "dpwitness certificate, version 1"

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
"""The options of a verification that a certificate says, beside its claim."""

ALLOWANCE = 1e-9
"""By so much, relatively, figures of a proof may differ where it is done again: other processors and other versions of
NumPy and SciPy end them with other digits. The claim itself is compared with what is proved here, exactly."""

_NUMERAL = re.compile(r"-?\d{1,800}(?:\.\d{1,800})?(?:e[+-]?\d{1,3})?|-?\d{1,800}/[1-9]\d{0,800}", re.ASCII)
_AMOUNTS = ("total", "charge", "covering")
_LINE = re.compile(r":\d+$", re.ASCII)
_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class CertifiedCharge:
    """Equal releases that a record was part of.

    Attributes
    ----------
    mechanism
        Its parameters.
    sensitivity
        How far the record could move each of them: its l1, l2 and linf.
    where
        The line that released.
    releases
        How many.
    charge
        What each of them cost, exactly, in the currency of the theorem.
    """

    mechanism: Mapping[str, Any]
    sensitivity: Mapping[str, float]
    where: str
    releases: int
    charge: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CertifiedPayer:
    """A record of those that paid most: no other one paid as much in both numbers.

    Attributes
    ----------
    record
        Its name in the runs.
    total
        What its charges amount to: an exact (epsilon, delta).
    charges
        What it paid for.
    """

    record: str
    total: Mapping[str, str]
    charges: tuple[CertifiedCharge, ...]


@dataclass(frozen=True, slots=True)
class Accounted:
    """The charges that accountants enforced.

    Attributes
    ----------
    theorem
        The composition theorem that adds charges up.
    runs, rounds
        Numbers of runs and of rounds of each.
    releases
        Number of charges.
    covering
        The least exact (epsilon, delta) that is at least what every record of every run paid.
    payers
        The records that paid most: each other one paid at most as much as one of them in both numbers.
    """

    theorem: str
    runs: int
    rounds: int
    releases: int
    covering: Mapping[str, str]
    payers: tuple[CertifiedPayer, ...]


@dataclass(frozen=True, slots=True)
class PlanProof:
    """The proof of a registered learner's plan, for all numbers.

    Attributes
    ----------
    costs
        The cost of each kind of record.
    rests_on
        The assumptions of the proof: that noise which is calibrated by a program is what it is calibrated to.
    """

    costs: Mapping[str, str]
    rests_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof of a claim.

    Attributes
    ----------
    upper
        The upper bound, and the theorem that gives it.
    reasons
        The verdict's, in words.
    mechanism
        Of a mechanism: its parameters, from which the bound is computed.
    accounted
        Of a learner.
    plan
        Of a registered learner that has one.
    """

    upper: UpperBound
    reasons: tuple[Sentence, ...]
    mechanism: Mapping[str, Any] | None = None
    accounted: Accounted | None = None
    plan: PlanProof | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Certificate(FromJson):
    """A claim that was certified, with its proof and the code that it is about; `verify.certify` makes one.

    It rests on no assumption: what does gets none. A file proves nothing by itself; `check` proves it again.

    Attributes
    ----------
    subject, kind
        What is certified: a registered name, ``path.py:object`` or a mechanism in words; and what it is.
    claim
        What holds of it.
    proof
        Why.
    options
        How it was verified: those of `verify` in `SAID` that are not the default, and the seed.
    repeat
        The command, or Python call, that certifies the same again.
    provenance
        When it was made, by which versions, and digests of its subject's code and of all files of this library that its
        proof reaches.
    """

    subject: str
    kind: SubjectKind
    claim: Claim
    proof: Proof
    options: Mapping[str, Any]
    repeat: str
    provenance: Provenance = field(default_factory=Provenance)

    def __repr__(self) -> str:
        """One line; `json` gives everything."""
        return f"<Certificate of {self.subject}: {self.claim_words}>"

    def _repr_html_(self) -> str:
        """The certificate, as notebooks show it."""
        from verify.certificates.certificate_document import (
            certificate_document,
        )  # it shows this file's class

        return fragment(certificate_document(self))

    @property
    def claim_words(self) -> str:
        """Epsilon, delta and the relation, on one line."""
        claim = self.claim
        return f"{claim_words(claim)}, neighbours: {claim.neighbours}"

    @property
    def requested_options(self) -> Options:
        """The options with which the claim is verified."""
        return _asked(self.claim, self.options)

    def check(self, subject: object = None) -> CertificateCheck:
        """Prove it again on the installed code.

        Parameters
        ----------
        subject
            What it is about, where its name does not lead there: an object, or the path that its file has here.

        Raises
        ------
        ValueError
            If its subject is not found.
        """
        from verify.certificates.certificate_check import check_certificate

        return check_certificate(self, subject)

    def json(self) -> dict[str, Any]:
        """Return the certificate as JSON data."""
        data: dict[str, Any] = json_able(
            {
                "format": FORMAT,
                "subject": self.subject,
                "kind": self.kind,
                "claim": claim_data(self.claim),
                "assumptions": [],
                "proof": asdict(self.proof),
                "options": self.options,
                "repeat": self.repeat,
                **self.provenance.json(),
            }
        )
        return data

    @classmethod
    def from_json(cls, data: Any) -> Certificate:
        """Return the certificate that `json` wrote.

        Raises
        ------
        ValueError
            If a key is missing, unknown or of another type, a value is out of range, or it rests on an assumption.
        """
        read = JsonObject(data, "the certificate")
        read.one_of("format", [FORMAT])
        certificate = cls(
            subject=read.text("subject"),
            kind=SubjectKind(read.one_of("kind", [kind.value for kind in SubjectKind])),
            claim=read.object("claim", read_stated_claim),
            proof=read.object("proof", _read_proof),
            options=_checked_options(read.mapping("options")),
            repeat=read.text("repeat"),
            provenance=Provenance.from_fields(read),
        )
        if read.pop("assumptions", list):
            raise JsonError(
                "assumptions of the certificate must be empty: what rests on any gets no certificate"
            )
        read.end()
        if wrong := certificate_differences(data, certificate.json()):
            raise JsonError(f"{wrong[0]}: it must be written as it is read")
        return certificate


def _asked(claim: Claim, options: Mapping[str, Any]) -> Options:
    return Options(epsilon=claim.epsilon, delta=claim.delta, composition=claim.composition or None, **options)


def certifying(subject: str, claim: Claim, options: Mapping[str, Any]) -> str:
    """Return the command, or Python call, that certifies this."""
    named = is_registered(subject) or names_file(subject)
    further = ("--certificate", "certificate.json")
    return rerun_command("certify", subject, _asked(claim, options), named=named, further=further)


def said_options(options: Options) -> dict[str, Any]:
    """Return the options that a certificate states, without defaults, but with the seed.

    Raises
    ------
    ValueError
        If an option is set that no certificate states, or to an object that has no words.
    """
    said: dict[str, Any] = {}
    for name, default, facts in each_option(Options):
        value = getattr(options, name)
        if name in SAID and (name == "seed" or value not in (default, {}, [])):
            said[name] = _plain(name, value)
            if name == "problem" and names_file(value):
                raise ValueError(f"problem={value!r}: a certificate names problems of the catalogue only")
        elif facts.repeats and value != default and name not in (*SAID, "epsilon", "delta", "composition"):
            raise ValueError(f"{name}={value!r}: a certificate is about a proof, and takes none")
    return said


def _plain(name: str, value: Any) -> Any:
    """Return a value of an option as JSON data."""
    try:
        plain = json_able(value)
    except ValueError:
        raise ValueError(f"{name}={value!r}: has no words for a certificate; name it") from None
    if "inf" in (plain, value):
        raise ValueError(f"{name}={value!r}: must be finite for a certificate")
    return plain


def _checked_options(written: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := sorted(written.keys() - set(SAID)):
        raise JsonError(f"options of the certificate has keys that are unknown: {', '.join(unknown)[:60]}")
    if said_options(Options(**written)) != written:
        raise JsonError("options of the certificate must be those that are not the default, and the seed")
    return dict(written)


def _read_proof(read: JsonObject) -> Proof:
    return Proof(
        upper=read.object("upper", read_upper),
        reasons=tuple(read.entries("reasons", read_sentence)),
        mechanism=read.pop("mechanism", dict, type(None)),
        accounted=read.optional("accounted", read_accounted),
        plan=read.optional(
            "plan", lambda plan: PlanProof(plan.text_mapping("costs"), tuple(plan.texts("rests_on")))
        ),
    )


def read_accounted(read: JsonObject) -> Accounted:
    """Read the accounted charges from the JSON object of their fields."""
    return Accounted(
        theorem=read.text("theorem"),
        runs=read.integer("runs"),
        rounds=read.integer("rounds"),
        releases=read.integer("releases"),
        covering=read.text_mapping("covering"),
        payers=tuple(read.entries("payers", _read_payer)),
    )


def _read_payer(read: JsonObject) -> CertifiedPayer:
    return CertifiedPayer(
        read.text("record"), read.text_mapping("total"), tuple(read.entries("charges", _read_charge))
    )


def _read_charge(read: JsonObject) -> CertifiedCharge:
    return CertifiedCharge(
        mechanism=read.mapping("mechanism"),
        sensitivity=read.object(
            "sensitivity", lambda moved: {key: moved.real_number(key) for key in ("l1", "l2", "linf")}
        ),
        where=read.text("where"),
        releases=read.integer("releases"),
        charge=read.text_mapping("charge"),
    )


def certificate_differences(
    written: Mapping[str, Any], found: Mapping[str, Any], *, done_again: bool = False
) -> list[str]:
    """Return the differences of JSON data of a certificate from those found here; 1, 1.0 and true are three values.

    Of a proof that was ``done_again`` numbers may differ by `ALLOWANCE`, and places by the number of the line: the code
    is the same, comments and layout need not be.
    """
    left, right = dict(_leaves(written)), dict(_leaves(found))
    return [
        f"{_words(path)} is {_shown(left, path)} in the certificate, and {_shown(right, path)} here"
        for path in dict.fromkeys((*left, *right))
        if path not in left
        or path not in right
        or not (
            _same(left[path], right[path])
            or (done_again and path[0] == "proof" and _nearly_same(left[path], right[path], path))
        )
    ]


def _leaves(data: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """Yield every value of JSON data that holds no others, with the keys and places that lead to it."""
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(data, list) and data:
        for number, value in enumerate(data):
            yield from _leaves(value, (*path, number))
    else:
        yield path, data


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _nearly_same(one: Any, other: Any, path: _Path) -> bool:
    """Return whether two floats, or two amounts in words, are within the allowance, or two places in one file."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=ALLOWANCE)
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    if path[-1] == "where":
        return _LINE.sub("", one) == _LINE.sub("", other)
    if path[-2] not in _AMOUNTS or not (_NUMERAL.fullmatch(one) and _NUMERAL.fullmatch(other)):
        return False
    first, second = Fraction(one), Fraction(other)  # exactly: a float may be too small for them
    return abs(first - second) <= Fraction(ALLOWANCE) * max(abs(first), abs(second))


def _words(path: _Path) -> str:
    """Return a path as in ``proof.upper.epsilon``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


def _shown(values: Mapping[_Path, Any], path: _Path) -> str:
    return repr(values[path]) if path in values else "missing"
