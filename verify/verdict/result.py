"""The whole result of one verification, and its JSON form, from which it loads back."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from accountant.files.json_form import check_derived, json_able, json_fields, read_fields
from accountant.files.json_object import JsonError, JsonObject, checked_text
from accountant.provenance import Provenance
from algorithms.claim import Claim
from mechanisms.assumption import Assumption
from mechanisms.numerics.printed_numbers import at_least, at_most
from mechanisms.parameters import ParameterError
from verify.findings.finding import Finding, LowerBound, UpperBound, Witness
from verify.findings.grounds import Grounds
from verify.findings.printable import printable
from verify.findings.sentences import read_sentence
from verify.verdict.result_kinds import ShownResult, document_of
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import EXIT_CODES, Decision, Verdict, claim_words, decide

FORMAT = "dpwitness verification, version 1"

_FARTHEST = 1e300  # the largest epsilon of a curve that is drawn


@dataclass(frozen=True, slots=True, repr=False)
class Verification(ShownResult):
    """The whole result of one verification.

    Attributes
    ----------
    subject
        The subject: a registered name or ``path.py:object``.
    kind
        The kind of subject.
    claim
        Its claim.
    decision
        The verdict and its reasons; the verdict is also `verdict`.
    upper, lower
        The two bounds on ε; None where there is none.
    witness
        None unless something was seen.
    assumptions
        The unchecked assumptions of the upper bound.
    findings
        The findings, in the order in which they were met.
    seed
        Seed of everything random.
    provenance
        The date and the code of the verification.
    details
        More keys of the JSON object, such as ``"coupled"`` or ``"detection_floor"``; they must not repeat
        its own.
    """

    KEYS: ClassVar = {"witness": "best_event", "refuting_witness": "witness"}
    DERIVED: ClassVar = ("refuting_witness",)

    subject: str
    kind: SubjectKind
    claim: Claim
    decision: Decision
    upper: UpperBound | None
    lower: LowerBound | None
    witness: Witness | None
    findings: tuple[Finding, ...]
    seed: int
    provenance: Provenance = field(default_factory=Provenance)
    details: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """``"certified"``, ``"refuted"`` or ``"unproven"``."""
        return self.decision.verdict

    @property
    def epsilon_interval(self) -> tuple[float, float]:
        """Bounds on ε at the claimed δ: from below, for the adversary of the claim; from above, in every run.

        0 and infinity where nothing is known.
        """
        lower, upper = self.lower, self.upper
        low = lower.epsilon if lower is not None and lower.in_view else 0.0
        return low, upper.epsilon if upper is not None and upper.every_run else math.inf

    @property
    def exit_code(self) -> int:
        """Of the command line: 0 certified, 1 refuted, 3 unproven."""
        return EXIT_CODES[self.verdict]

    def __str__(self) -> str:
        """The report that the command line prints, in 80 columns and without colour."""
        from rich.console import Console

        from verify.document.terminal_text import print_document

        text = io.StringIO()
        print_document(document_of(self), Console(file=text, width=80, color_system=None))
        return text.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        """One line; `str` gives the report, `json` everything."""
        low, high = self.epsilon_interval
        return (
            f"<Verification of {printable(self.subject)}: {self.verdict}, claim {claim_words(self.claim)}, "
            f"epsilon at least {at_least(low)}, at most {'not known' if self.upper is None else at_most(high)}, "
            f"neighbours: {self.claim.neighbours}>"
        )

    @property
    def refuting_witness(self) -> Witness | None:
        """The witness of a refutation; None beside any other verdict."""
        return self.witness if self.verdict == "refuted" else None

    def json(self) -> dict[str, Any]:
        """The result as JSON-able data: infinity is the string "inf".

        ``"best_event"`` is the most distinguishing event; it is the ``"witness"`` if it refutes.

        Raises
        ------
        ParameterError
            If a number is NaN, or a key of `details` is taken.
        """
        stated = (*_OWN[:5], *self.DERIVED, *_OWN[5:])
        result = {**json_fields(self, stated), "format": FORMAT}
        if taken := result.keys() & self.details.keys():
            raise ParameterError(f"details must not repeat the result's own keys, got {sorted(taken)}")
        return {**result, **json_able(self.details)}

    @classmethod
    def from_json(cls, data: Any) -> Verification:
        """Return the result that `json` wrote; its details are the JSON data that were written.

        A file proves nothing: its author may have changed it. But it must be consistent.

        Raises
        ------
        ParameterError
            If a key is missing or of another type, a value is out of range, or the verdict does not follow from the
            bounds, findings and assumptions beside it.
        """
        read = JsonObject(data, "the result")
        read.one_of("format", [FORMAT])
        own = read_fields(read, cls, _OWN)
        result = cls(**own)
        _check_verdict(result)
        check_derived(read, result)
        result = replace(result, details=read.pop_remaining())
        _check_shown(result.details)
        return result


_OWN = (
    *("subject", "claim", "decision", "upper", "lower"),
    *("findings", "assumptions", "seed", "provenance", "kind", "witness"),
)
"""The fields that JSON has unchanged, in its order; derived values are between the two lines."""


def _check_verdict(result: Verification) -> None:
    """Refuse a verdict that contradicts the bounds, findings and witness beside it.

    Declassified data and contradictions by audits are among the reasons alone: a result may be unproven though the rest
    would certify it.
    """
    found = Grounds(
        result.upper,
        lower=result.lower,
        witness=result.witness,
        findings=list(result.findings),
        assumptions=list(result.assumptions),
    )
    follows = decide(result.claim, found).verdict
    if result.verdict != follows and (result.verdict, follows) != ("unproven", "certified"):
        raise JsonError(f"verdict is {result.verdict!r}, and what stands beside it makes it {follows!r}")


def _check_shown(details: Mapping[str, Any]) -> None:
    """Refuse details that reports show, if they have another form than reports read."""
    read = JsonObject(dict(details), "the result")
    if "tested_view" in details:
        read.text("tested_view")
    for key in details.keys() & {"detection_floor", "detection_power", "near_claim"}:
        read.object(key, read_sentence)
    if "anytime" in details:
        JsonObject(read.mapping("anytime"), "anytime").object("said", read_sentence)
    if (details.get("coupled") or {}) != {}:
        JsonObject(read.mapping("coupled"), "coupled").real_number("largest_loss")
    if "band" in details:
        _check_band(JsonObject(read.mapping("band"), "band"))


def _check_band(read: JsonObject) -> None:
    read.object("said", read_sentence)
    read.real_number("confidence")
    curves = {key: read.real_numbers(key) for key in ("epsilon", "delta_lower")}
    if (upper_by := read.pop("delta_upper_by", str, type(None))) is None:
        read.pop("delta_upper", type(None))
    else:
        checked_text(upper_by, "delta_upper_by")
        curves["delta_upper"] = read.real_numbers("delta_upper")
    if not all(0.0 <= each <= _FARTHEST for each in curves["epsilon"]):
        raise JsonError(f"epsilon of band must be numbers from 0 to {_FARTHEST:g}")
    tests = JsonObject(read.mapping("trade_off"), "trade_off")
    if len({len(each) for each in curves.values()}) > 1 or len(tests.real_numbers("alpha")) != len(
        tests.real_numbers("beta_upper")
    ):
        raise JsonError("curves of band must be of one length each")
