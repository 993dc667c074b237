"""The whole result of one verification, and its JSON form."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mechanisms import Assumption
from verify.findings import Finding, LowerBound, UpperBound, Witness
from verify.printable import printable
from verify.verdict.json_form import json_able
from verify.verdict.verdict import EXIT_CODES, ClaimLike, Decision, Verdict


@dataclass(frozen=True, slots=True, repr=False)
class Verification:
    """The whole result of one verification.

    Attributes
    ----------
    subject
        What was verified: a registered name or ``path.py:object``.
    claim
        What it claims.
    decision
        The verdict and its reasons; the verdict is also `verdict`.
    upper, lower
        The two bounds on ε; None where there is none.
    witness
        None unless something was seen.
    assumptions
        What the upper bound rests on and nobody checked.
    findings
        In the order in which they were met.
    seed
        Seed of everything random.
    versions
        Of the packages that took part.
    details
        More keys of the JSON object, such as ``"coupled"`` or ``"detection_floor"``; they must not repeat
        its own.
    """

    subject: str
    claim: ClaimLike
    decision: Decision
    upper: UpperBound | None
    lower: LowerBound | None
    witness: Witness | None
    findings: tuple[Finding, ...]
    seed: int
    versions: Mapping[str, str]
    details: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """``"certified"``, ``"refuted"`` or ``"unproven"``."""
        return self.decision.verdict

    @property
    def exit_code(self) -> int:
        """Of the command line: 0 certified, 1 refuted, 3 unproven."""
        return EXIT_CODES[self.verdict]

    def __str__(self) -> str:
        """The report that the command line prints, in 80 columns and without colour."""
        from rich.console import Console

        from verify.verdict.report import render  # the report shows results, so that it imports this file

        text = io.StringIO()
        render(self, Console(file=text, width=80, color_system=None))
        return text.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        """One line; `str` gives the report, `json` everything."""
        lower = "not known" if self.lower is None else f"{self.lower.epsilon:g}"
        upper = "not known" if self.upper is None else f"{self.upper.epsilon:g}"
        return (
            f"<Verification of {printable(self.subject)}: {self.verdict}, claim epsilon={self.claim.epsilon:g} "
            f"delta={self.claim.delta:g}, epsilon at least {lower}, at most {upper}, "
            f"neighbours: {self.claim.neighbours}>"
        )

    def json(self) -> dict[str, Any]:
        """The result as JSON-able data: infinity is the string "inf".

        ``"best_event"`` is what told the data sets apart best; it is the ``"witness"`` if it refutes.

        Raises
        ------
        ValueError
            If a number is NaN, or a key of `details` is taken.
        """
        claim, upper, lower, witness = self.claim, self.upper, self.lower, self.witness
        best_event = witness and {
            "neighbours": witness.neighbours,
            "event": witness.event,
            "probability": witness.probability,
            "probability_prime": witness.probability_prime,
            "hits": witness.hits,
            "hits_prime": witness.hits_prime,
            "trials": witness.trials,
            "reproduce": witness.reproduce,
            "details": witness.details,
        }
        result: dict[str, Any] = {
            "subject": self.subject,
            "claim": {
                "model": claim.model,
                "epsilon": claim.epsilon,
                "delta": claim.delta,
                "unit": claim.unit,
                "neighbours": claim.neighbour_words,
                "relation": claim.neighbours.value,
                "view": claim.view,
            },
            "verdict": self.verdict,
            "reasons": self.decision.reasons,
            "upper": upper and {"epsilon": upper.epsilon, "delta": upper.delta, "method": upper.method},
            "lower": lower
            and {
                "epsilon": lower.epsilon,
                "delta": lower.delta,
                "confidence": lower.confidence,
                "method": lower.method,
                "samples": lower.samples,
                "in_view": lower.in_view,
                "decisive": lower.decisive,
            },
            "witness": best_event if self.verdict == "refuted" else None,
            "findings": [
                {"kind": f.kind.value, "where": f.where, "message": f.message, "failing": f.failing}
                for f in self.findings
            ],
            "assumptions": [
                {"kind": each.kind.value, "message": each.message, "where": each.where}
                for each in self.assumptions
            ],
            "seed": self.seed,
            "versions": self.versions,
            "best_event": best_event,
        }
        if taken := result.keys() & self.details.keys():
            raise ValueError(f"details must not repeat the result's own keys, got {sorted(taken)}")
        plain: dict[str, Any] = json_able({**result, **self.details})
        return plain
