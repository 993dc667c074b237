"""The verdict, and the rules by which it follows from what was found.

The rules (`decide`) are a pure function of what the verifier's layers found:

certified
    the accountant's upper bound, in the claim's model, is at most the claim, and it was enforced for every record of
    every run (or is of all runs, as a mechanism's is); nothing was declassified; every domain, sensitivity and trust
    check passed; it rests on no assumption; no audit contradicts it.
refuted
    a lower bound in the claim's own view, statistical at the strict error level or exact, exceeds the claim,
    and a witness shows it.
unproven
    neither; the first reason says why no proof went through.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from algorithms.claim import Claim
from mechanisms import Assumption
from verify.conduct.exit_codes import BAD, GOOD, OPEN
from verify.findings import Finding, LowerBound, UpperBound, Witness
from verify.sentences import both_numbers

Verdict = Literal["certified", "refuted", "unproven"]

EXIT_CODES: Mapping[Verdict, int] = {"certified": GOOD, "refuted": BAD, "unproven": OPEN}


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and why, the deciding reason first; every reason is a sentence."""

    verdict: Verdict
    reasons: tuple[str, ...]


def decide(
    claim: Claim,
    *,
    upper: UpperBound | None,
    lower: LowerBound | None,
    witness: Witness | None,
    findings: Sequence[Finding] = (),
    declassified: Sequence[str] = (),
    contradictions: Sequence[str] = (),
    assumptions: Sequence[Assumption] = (),
) -> Decision:
    """Apply the verdict rules.

    Parameters
    ----------
    claim
        The claim.
    upper
        The accountant's bound in the claim's model, None if the subject could not be accounted.
    lower
        The best lower bound, None if nothing was audited.
    witness
        What shows the lower bound.
    findings
        All findings; a failing one stands in the way of a certificate.
    declassified
        The places at which private data were declassified, in words.
    contradictions
        What an audit saw that the upper bound excludes, one sentence each (say, a coupled loss above the
        ledger).
    assumptions
        What the upper bound rests on and nobody checked; any of them stands in the way of a certificate.

    Returns
    -------
    Decision
        A refutation needs a lower bound that is about the claim's own view, decisive, above the claim at the
        claimed δ or a larger one, and shown by a witness. If such a bound meets an upper bound within the
        claim, the accounting rests on something untrue, and the refutation stands.
    """
    in_the_way = [f"rests on: {assumption}" for assumption in assumptions]
    if declassified:
        in_the_way.append(
            f"Private data were declassified ({'; '.join(declassified)}): no bound covers what followed."
        )
    for finding in findings:
        if finding.failing:
            place = f" ({finding.where})" if finding.where else ""
            in_the_way.append(f"A check failed: {finding.message.rstrip('.')}{place}.")
    in_the_way.extend(contradictions)
    exceeds = lower is not None and lower.exceeds(claim)
    bound, refuted = "", False
    if lower is not None and exceeds:
        bound = f"The lower bound, {both_numbers(lower.epsilon, lower.delta)} by {lower.method},"
        refuted = lower.in_view and lower.decisive
    if refuted and witness is not None:
        against = [
            f"{bound} exceeds the claim, {both_numbers(claim.epsilon, claim.delta)}, in the claimed view."
        ]
        if upper is not None and upper.proves(claim):
            against.append(
                "The accountant's upper bound is within the claim all the same: it rests on a "
                "declaration or a sampler that does not hold."
            )
        return Decision("refuted", (*against, *in_the_way))

    in_the_way += _not_proved(claim, upper)
    if refuted:
        in_the_way.append(f"{bound} exceeds the claim, but there is no witness.")
    elif lower is not None and exceeds and in_the_way:  # it explains, but does not contradict a proof
        why = "at the strict error level of a refutation" if lower.in_view else "in the claimed view alone"
        in_the_way.append(f"{bound} exceeds the claim, but not {why}.")

    if in_the_way:
        passed = upper is not None and len(in_the_way) == 1 and math.isinf(upper.epsilon) and not exceeds
        if passed and lower is not None:  # then it is not because of what was seen
            in_the_way.insert(
                0,
                f"No test speaks against the claim: what the tests show, at least "
                f"{both_numbers(lower.epsilon, lower.delta)} ({lower.method}), is no more than is claimed.",
            )
        return Decision("unproven", tuple(in_the_way))
    assert upper is not None
    return Decision(
        "certified",
        (
            f"The accountant's upper bound, {both_numbers(upper.epsilon, upper.delta)}, is within the claim, and "
            "nothing speaks against it.",
        ),
    )


def _not_proved(claim: Claim, upper: UpperBound | None) -> list[str]:
    """Return why the upper bound proves nothing; none if it is within the claim."""
    if upper is None:
        return ["The subject could not be accounted, so that there is no upper bound."]
    if upper.proves(claim):
        return []
    if math.isinf(upper.epsilon):
        why = upper.method.removeprefix("none: ").removeprefix("no bound: ")
        return [f"There is no finite upper bound ({why})."]
    if upper.epsilon <= claim.epsilon and upper.delta <= claim.delta:
        return [
            f"The accountant's upper bound, {both_numbers(upper.epsilon, upper.delta)}, is of the runs that were "
            "looked at alone: no accountant enforced the claim for every record."
        ]
    return [
        f"The accountant's upper bound, {both_numbers(upper.epsilon, upper.delta)}, exceeds the claim, "
        f"{both_numbers(claim.epsilon, claim.delta)}."
    ]
