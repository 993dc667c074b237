"""What a verification says, in words: the same on a terminal, on paper and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from algorithms.claim import Claim
from verify.findings import FindingKind, LowerBound, UpperBound, Witness
from verify.sentences import number
from verify.verdict.answer import BLACK_BOXES
from verify.verdict.verdict import Verdict

if TYPE_CHECKING:
    from verify.verdict.result import Verification

_MEANING: dict[Verdict, str] = {
    "certified": "The claim is proved, and no test contradicts it.",
    "refuted": "The claim is false: the witness below shows it.",
    "unproven": "The claim is neither proved nor refuted.",
}


def meaning(verification: Verification) -> str:
    """Return the verdict as a sentence."""
    if not passed_tests(verification):
        return _MEANING[verification.verdict]
    leak = _floating_point_leak(verification)
    if leak is None:
        return "Nothing was found against the claim. Tests of a black box prove nothing: it stays unproven."
    return (
        "Nothing was found against the claim about real numbers. As it is executed, in floating-point arithmetic, ε is "
        f"at least {number(leak)}: see Findings."
    )


def _floating_point_leak(verification: Verification) -> float | None:
    """Return the ε that the lowest bits of the outputs show, where a finding says so."""
    if not any(finding.kind is FindingKind.FLOATING_POINT for finding in verification.findings):
        return None
    found = verification.details.get("floating_point")
    leak = found.get("epsilon_lower") if isinstance(found, Mapping) else None
    return float(leak) if isinstance(leak, float | int) else math.inf


def passed_tests(verification: Verification) -> bool:
    """Whether the subject is one of which nothing can be proved, and no test and no check speaks against it."""
    lower = verification.lower
    return (
        verification.verdict == "unproven"
        and verification.kind in BLACK_BOXES
        and lower is not None
        and not lower.exceeds(verification.claim)
        and not any(finding.failing for finding in verification.findings)
    )


def claim_numbers(claim: Claim) -> str:
    """Return the numbers that are claimed."""
    return f"ε = {number(claim.epsilon)}, δ = {number(claim.delta)}"


def claim_words(subject: str, claim: Claim) -> str:
    """Return what is claimed as sentences."""
    return (
        f"{subject} claims {claim_numbers(claim)} differential privacy in the {claim.model} model. One record is "
        f"{claim.unit}. Data D and D′ are neighbours: {claim.neighbour_words}. The adversary sees {claim.view}."
    )


def bounds(verification: Verification) -> tuple[float, float]:
    """Return what ε is at least and at most; 0 and infinity where nothing is known."""
    lower, upper = verification.lower, verification.upper
    return (0.0 if lower is None else lower.epsilon, math.inf if upper is None else upper.epsilon)


def upper_words(upper: UpperBound | None) -> str:
    """Return the upper bound, and how it was found."""
    if upper is None:
        return "at most ∞: there is no upper bound"
    if math.isinf(upper.epsilon):
        return f"at most ∞: {upper.method.removeprefix('none: ')}"
    return f"at most {number(upper.epsilon)} at δ = {number(upper.delta)}: {upper.method}"


def lower_words(lower: LowerBound | None, upper: UpperBound | None = None) -> str:
    """Return the lower bound, how it was found, and how sure it is; also where it lies above a proved one."""
    if lower is None:
        return "at least 0: nothing was audited"
    how = lower.method
    if lower.samples:
        how += f", {_percent(lower.confidence)} confidence, {lower.samples:,} draws"
    elif lower.confidence == 1.0:
        how += ", exact"
    if not lower.in_view:
        how += "; of more than the adversary sees"
    if upper is not None and lower.exceeds(upper) and lower.samples and not lower.decisive:
        how += "; above what it is at most, as chance may have it: no refutation, which needs more confidence"
    return f"at least {number(lower.epsilon)} at δ = {number(lower.delta)}: {how}"


def view_words(verification: Verification) -> tuple[str, ...]:
    """Return what was looked at besides the final test, and what bets have won."""
    said = []
    coupled = verification.details.get("coupled") or {}
    if "largest_loss" in coupled:
        largest = number(float(coupled["largest_loss"]))
        said.append(f"coupled runs: all that was released, seen or not, lost up to ε = {largest}")
    if "tested_view" in verification.details:
        said.append(f"the view tested: {verification.details['tested_view']}")
    if "anytime" in verification.details:
        said.append(str(verification.details["anytime"]["words"]))
    return tuple(said)


def curve_words(verification: Verification) -> tuple[str, ...]:
    """Return what was found of the whole privacy curve, and what else is for specialists."""
    details = verification.details
    said = [str(details["band"]["words"])] if "band" in details else []
    if verification.verdict != "refuted" and "detection_power" in details:
        said.append(str(details["detection_power"]))
    return tuple(said)


def unseen_words(verification: Verification) -> tuple[str, ...]:
    """Return what the test could not have seen, and how likely more draws would refute a claim that it left open."""
    shown = {"certified": ("detection_floor",), "unproven": ("near_claim", "detection_floor"), "refuted": ()}
    return tuple(
        str(verification.details[key]) for key in shown[verification.verdict] if key in verification.details
    )


def witness_title(verification: Verification) -> str:
    """Return what the best event is to the verdict."""
    return "Witness" if verification.verdict == "refuted" else "The event that tells most"


def witness_words(witness: Witness, claim: Claim, lower: LowerBound | None) -> tuple[tuple[str, str], ...]:
    """Return what a witness consists of, part by part; `lower` is the bound that it shows."""
    return (
        ("data D", witness.neighbours["data"]),
        ("data D′", witness.neighbours["data_prime"]),
        ("event", witness.event),
        ("on D", _how_often(witness.probability, witness.hits, witness.trials)),
        ("on D′", _how_often(witness.probability_prime, witness.hits_prime, witness.trials)),
        ("ratio", _ratio_words(witness, claim, lower)),
    )


def witness_meaning(witness: Witness) -> str:
    """Return what seeing the event says."""
    p, q = witness.probability, witness.probability_prime
    if p == 1.0 and q == 0.0:
        how = "without error" if witness.hits is None else "without error in every draw"
        return f"Looking for the event tells D from D′ {how}: no privacy at all (δ = 1, whatever ε)."
    if p == 0.0:
        return "The event is seen on neither: no event is so much likelier on one of them."
    if q == 0.0:
        return "The event gives D away: it was never seen on D′."
    counted = " as counted" if witness.hits_prime is not None else ""
    return f"Seeing the event speaks {p / q:.4g} to 1{counted} for D against D′."


def _how_often(probability: float, hits: int | None, trials: int | None) -> str:
    if trials is None:
        return f"{_percent(probability)} (exact)"
    if hits is None:
        return "rarer by at least the ratio, by the densities"
    return f"{_percent(probability)} ({hits:,} of {trials:,} draws)"


def _ratio_words(witness: Witness, claim: Claim, lower: LowerBound | None) -> str:
    allowed = f"the claim allows {number(largest_factor(claim.epsilon))} (e^{number(claim.epsilon)})"
    excess = "(P(D) - δ)" if claim.delta > 0.0 else "P(D)"
    sure = ""
    if (
        lower is not None
        and lower.samples
        and witness.hits_prime is not None
        and math.isfinite(lower.epsilon)
    ):
        sure = f", and at least {number(largest_factor(lower.epsilon))} with {_percent(lower.confidence)} confidence"
    if witness.probability_prime == 0.0:
        return f"{'none' if witness.probability == 0.0 else 'no finite ratio'}{sure}; {allowed}"
    ratio = (witness.probability - claim.delta) / witness.probability_prime
    how = (
        "as counted"
        if witness.hits_prime is not None
        else "or more"
        if witness.trials is not None
        else "exactly"
    )
    return f"{excess} / P(D′) = {ratio:.4g} {how}{sure}; {allowed}"


def _percent(probability: float) -> str:
    if 0.99 < probability < 1.0:
        return f"{100.0 * probability:.6g} %"
    return f"{100.0 * probability:.3g} %"


def largest_factor(epsilon: float) -> float:
    """Return e^ε, infinity beyond the largest float."""
    return math.exp(epsilon) if epsilon < 700.0 else math.inf
