"""The verdict, and the rules by which it follows from the evidence.

The rules (`decide`) are a pure function of the evidence of the verifier's layers:

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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from algorithms.claim import Claim
from mechanisms.numerics.printed_numbers import as_given, at_most, nearest
from verify.conduct.exit_codes import BAD, GOOD, OPEN
from verify.findings.finding import UpperBound
from verify.findings.grounds import Grounds
from verify.findings.sentences import Sentence, exact, remark

Verdict = Literal["certified", "refuted", "unproven"]

EXIT_CODES: Mapping[Verdict, int] = {"certified": GOOD, "refuted": BAD, "unproven": OPEN}


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and why, the deciding reason first."""

    BESIDE: ClassVar = True  # in JSON

    verdict: Verdict
    reasons: tuple[Sentence, ...]


def decide(claim: Claim, evidence: Grounds) -> Decision:
    """Apply the verdict rules.

    Parameters
    ----------
    claim
        The claim.
    evidence
        Its upper bound is the accountant's in the claim's model, None if the subject could not be accounted; its lower
        bound the best one, shown by the witness, None if nothing was audited. A failing finding blocks a certificate,
        as do places at which private data were declassified, observations of an audit that the upper bound excludes
        (for example a coupled loss above the ledger's bound), and unchecked assumptions.

    Returns
    -------
    Decision
        A refutation needs a lower bound that is about the claim's own view, decisive, above the claim at the
        claimed δ or a larger one, and shown by a witness. If such a bound contradicts an upper bound within
        the claim, the accounting rests on something untrue, and the refutation is valid.
    """
    upper, lower = evidence.upper, evidence.lower
    unchecked = "Unchecked assumption: {assumption}"
    in_the_way = [remark(unchecked, assumption=each) for each in evidence.assumptions]
    if evidence.declassified:
        places = "; ".join(evidence.declassified)
        in_the_way.append(
            exact("Raw data were used without noise ({places}); later releases have no bound.", places=places)
        )
    in_the_way += [finding.reason for finding in evidence.findings if finding.failing]
    in_the_way += evidence.contradictions
    exceeds = lower is not None and lower.exceeds(claim)
    refuted = lower is not None and exceeds and lower.in_view and lower.decisive
    numbers = claim_words(claim)
    if lower is not None and refuted and evidence.witness is not None:
        against = [lower.sentence("Lower bound {bound} ({how}) exceeds the claim, {claim}.", claim=numbers)]
        if upper is not None and upper.proves(claim):
            against.append(
                exact(
                    "The accounting gives a bound within the claim, so one of its declarations or samplers is wrong."
                )
            )
        return Decision("refuted", (*against, *in_the_way))

    in_the_way += _not_proved(claim, upper)
    if lower is not None and refuted:
        said = "Lower bound {bound} ({how}) exceeds the claim, without a counterexample."
        in_the_way.append(lower.sentence(said))
    elif lower is not None and exceeds and in_the_way:  # it explains, but does not contradict a proof
        why = "not at the stricter level of a rejection" if lower.in_view else "only for a stronger adversary"
        said = "Lower bound {bound} ({how}) exceeds the claim, but {why}."
        in_the_way.append(lower.sentence(said, why=why))

    if in_the_way:
        passed = upper is not None and len(in_the_way) == 1 and math.isinf(upper.epsilon) and not exceeds
        if passed and lower is not None:  # then it is not because of an observation
            in_the_way.insert(
                0, lower.sentence("The tests did not contradict the claim; lower bound {bound} ({how}).")
            )
        return Decision("unproven", tuple(in_the_way))
    assert upper is not None
    said = "Upper bound {bound} is within the claim; checks and tests did not contradict it."
    return Decision("certified", (exact(said, bound=upper.description),))


def claim_words(claim: Claim) -> str:
    """Return both numbers of a claim, as they were given."""
    return f"ε = {as_given(claim.epsilon)}, δ = {as_given(claim.delta)}"


def _not_proved(claim: Claim, upper: UpperBound | None) -> list[Sentence]:
    """Return why the upper bound proves nothing; none if it is within the claim."""
    if upper is None:
        return [remark("Upper bound: none; the accounting did not finish.")]
    if upper.proves(claim):
        return []
    if math.isinf(upper.epsilon):
        return [remark("Upper bound: none ({why}).", why=upper.method)]
    if upper.epsilon <= claim.epsilon and upper.delta <= claim.delta:
        said = "Upper bound {bound} is of these runs only: the claim was not enforced for all records."
        return [exact(said, bound=upper.description)]
    bound = upper.description
    # Rounded, the two would differ by more, or not at all.
    if at_most(claim.epsilon) == nearest(upper.epsilon):
        bound = f"ε ≤ {as_given(upper.epsilon)} at δ = {at_most(upper.delta)}"
    return [exact("Upper bound {bound} exceeds the claim, {claim}.", bound=bound, claim=claim_words(claim))]
