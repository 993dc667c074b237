"""A verification as a document: the verdict first, then what a stranger needs to judge it, and to see it again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from algorithms.claim import Claim
from verify.document.charts import Area, Axis, Curve, chart, interval
from verify.document.elements import (
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Facts,
    Paragraph,
    Picture,
    Section,
    TextTable,
    Tone,
)
from verify.document.terminal_text import print_document
from verify.findings import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.sentences import number
from verify.verdict.answer import BLACK_BOXES, SubjectKind
from verify.verdict.bounds_picture import draw_bounds
from verify.verdict.common_sections import (
    ADVERSARY,
    arithmetic_words,
    claim_numbers,
    claim_section,
    largest_factor,
    provenance_section,
    references_section,
    rests_on_section,
    theorem_named,
    versions_words,
)
from verify.verdict.references import BETS, COUNTS, PROFILE
from verify.verdict.result import Verification
from verify.verdict.verdict import Verdict

_TONES: dict[Verdict, Tone] = {"certified": "good", "refuted": "bad", "unproven": "open"}
_MEANING: dict[Verdict, str] = {
    "certified": "The claim is proved, and no test contradicts it.",
    "refuted": "The claim is false: the witness below shows it.",
    "unproven": "The claim is neither proved nor refuted.",
}
_LEAST_DELTA = 1e-7  # the least decade of the curve


def verification_document(verification: Verification, **files: str) -> Document:
    """Return what is said of a verification; `files` are digests of what it was read from, by name."""
    sections = [
        claim_section(
            verification.subject,
            verification.claim,
            arithmetic_words(verification.kind, counted=_rounding_counts(verification)),
            str(verification.details.get("problem", "")),
        ),
        Section("Why", (Bullets(verification.decision.reasons),)),
        _bounds(verification),
        _witness(verification),
        _findings(verification),
        _rests_on(verification),
        _certainty(verification),
        _again(verification),
        provenance_section(verification.provenance, **files),
        references_section(_theorems(verification)),
    ]
    return Document(
        verdict=verification.verdict.upper(),
        tone=_TONES[verification.verdict],
        name=f"{verification.subject}, {claim_numbers(verification.claim)}",
        meaning=_meaning(verification),
        sections=tuple(section for section in sections if section is not None),
    )


def print_verification(verification: Verification, console: Console, *, verbose: bool = False) -> None:
    """Print what is said of a verification; `verbose` if with what is for specialists."""
    made = "; ".join(filter(None, (f"seed {verification.seed}", versions_words(verification.provenance))))
    print_document(verification_document(verification), console, made, unfolded=verbose)


def _meaning(verification: Verification) -> str:
    """Return the verdict as a sentence."""
    if not _passed_tests(verification):
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


def _passed_tests(verification: Verification) -> bool:
    """Whether the subject is one of which nothing can be proved, and no test and no check speaks against it."""
    lower = verification.lower
    return (
        verification.verdict == "unproven"
        and verification.kind in BLACK_BOXES
        and lower is not None
        and not lower.exceeds(verification.claim)
        and not any(finding.failing for finding in verification.findings)
    )


def _rounding_counts(verification: Verification) -> bool:
    return any(each.kind is FindingKind.FLOATING_POINT and each.failing for each in verification.findings)


def _bounds(verification: Verification) -> Section:
    low, high = _ends(verification)
    claim = verification.claim.epsilon
    words = f"Bounds on ε: at least {number(low)}, at most {number(high)}; the claim is {number(claim)}."
    plain = "\n".join(draw_bounds(claim, low, high))
    said = (
        _upper_words(verification.upper),
        _lower_words(verification.lower, verification.upper),
        *_view_words(verification),
    )
    caption = ""
    if not _proved(verification):
        caption = "from what tests showed to " + (
            "no limit" if math.isinf(high) else "what these runs were charged"
        )
    drawn = interval(claim, low, high, words, caption=caption)
    return Section("Privacy loss", (Picture(drawn, words, plain), Bullets(said)))


def _ends(verification: Verification) -> tuple[float, float]:
    """Return what ε is at least and at most; 0 and infinity where nothing is known."""
    lower, upper = verification.lower, verification.upper
    return (0.0 if lower is None else lower.epsilon, math.inf if upper is None else upper.epsilon)


def _upper_words(upper: UpperBound | None) -> str:
    """Return the upper bound, and how it was found."""
    if upper is None:
        return "at most ∞: there is no upper bound"
    if math.isinf(upper.epsilon):
        return f"at most ∞: {upper.method.removeprefix('none: ')}"
    return f"at most {number(upper.epsilon)} at δ = {number(upper.delta)}: {upper.method}"


def _lower_words(lower: LowerBound | None, upper: UpperBound | None) -> str:
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


def _view_words(verification: Verification) -> tuple[str, ...]:
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


def _proved(verification: Verification) -> bool:
    """Whether the upper bound is a proof for all data, and not what a ledger showed of some runs."""
    return verification.verdict == "certified" or (
        verification.kind is SubjectKind.MECHANISM and math.isfinite(_ends(verification)[1])
    )


def _witness(verification: Verification) -> Section | None:
    witness = verification.witness
    if witness is None:
        return None
    facts = Facts(_witness_words(witness, verification.claim, verification.lower))
    title = "Witness" if verification.verdict == "refuted" else "The event that tells most"
    return Section(title, (facts, Paragraph(_witness_meaning(witness))))


def _witness_words(witness: Witness, claim: Claim, lower: LowerBound | None) -> tuple[tuple[str, str], ...]:
    """Return what a witness consists of, part by part; `lower` is the bound that it shows."""
    return (
        ("data D", witness.neighbours["data"]),
        ("data D′", witness.neighbours["data_prime"]),
        ("event", witness.event),
        ("on D", _how_often(witness.probability, witness.hits, witness.trials)),
        ("on D′", _how_often(witness.probability_prime, witness.hits_prime, witness.trials)),
        ("ratio", _ratio_words(witness, claim, lower)),
    )


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


def _witness_meaning(witness: Witness) -> str:
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


def _findings(verification: Verification) -> Section | None:
    if not verification.findings:
        return None
    heading: tuple[str, ...] = ("kind", "what was seen", "means")
    rows: tuple[tuple[str, ...], ...] = tuple(
        (each.kind.value, each.message, _weight(each)) for each in verification.findings
    )
    if any(each.where for each in verification.findings):
        heading = (*heading, "where")
        rows = tuple((*row, each.where) for row, each in zip(rows, verification.findings, strict=True))
    return Section("Findings", (TextTable(heading, rows),))


def _weight(finding: Finding) -> str:
    if finding.failing:
        return "no certificate"
    return "does not count here" if finding.kind is FindingKind.FLOATING_POINT else "a remark"


def _rests_on(verification: Verification) -> Section:
    drawn = "Draws of the generator are random and independent (what a subject does to them is looked for)."
    lower = verification.lower
    trusted = [ADVERSARY] if lower is None or not lower.samples else [ADVERSARY, drawn]
    if verification.subject.startswith("published/"):
        trusted.append(
            "The code in algorithms/published is the algorithm that was printed, transcribed for dpwitness."
        )
    if verification.assumptions:
        unchecked = Bullets(tuple(str(assumption) for assumption in verification.assumptions))
        return rests_on_section(
            (Paragraph("Nobody checked, and it is taken to be true:"), unchecked), *trusted
        )
    if verification.verdict == "certified":
        said = (
            "Assumed and not checked: nothing. The proof is about the mechanism with these parameters."
            if verification.kind is SubjectKind.MECHANISM
            else "Assumed and not checked: nothing. The proof is about this learner as it runs under dpwitness's "
            "accountant, which refuses, before anything is drawn, whatever would take a record over the claim; run "
            "without it, it is another program."
        )
    elif verification.verdict == "refuted":
        said = "On the witness: two neighbouring data sets and an event. Who repeats the command below sees it again."
    else:
        said = "Nothing was proved. What the tests say rests on what follows alone."
    return rests_on_section((Paragraph(said),), *trusted)


def _certainty(verification: Verification) -> Section:
    blocks: list[Block] = [Paragraph(_certainty_words(verification))]
    alone = "The tests by themselves, without the proof: " if verification.verdict == "certified" else ""
    shown = {"certified": ("detection_floor",), "unproven": ("near_claim", "detection_floor"), "refuted": ()}
    details = verification.details
    blocks += [Paragraph(f"{alone}{details[key]}") for key in shown[verification.verdict] if key in details]
    curve = [str(details["band"]["words"])] if "band" in details else []
    if verification.verdict != "refuted" and "detection_power" in details:
        curve.append(str(details["detection_power"]))
    technical: list[Block] = [Paragraph(f"{words[:1].upper()}{words[1:].rstrip('.')}.") for words in curve]
    band = details.get("band")
    if band is not None:
        said = "The curve holds for all ε at once; at one ε it says a little less than the bound above does."
        technical.append(Paragraph(said))
        if band["delta_upper_by"] is not None:
            technical.append(Paragraph(f"At most: {band['delta_upper_by']}."))
        technical += [_profile(verification, band), _trade_off(band)]
    if technical:
        blocks.append(Details("The whole privacy curve, for specialists", tuple(technical)))
    return Section("How sure this is, and its limits", tuple(blocks))


def _certainty_words(verification: Verification) -> str:
    lower = verification.lower
    if verification.verdict == "certified":
        return (
            "The upper bound is proved: it holds for all data and all attacks in the claimed view, and not just for "
            "those that were tried. The tests beside it try to contradict the proof, and did not."
        )
    if verification.verdict == "refuted" and lower is not None:
        if lower.confidence == 1.0 and not lower.samples:
            exact = "The lower bound was computed exactly: no chance is involved in it."
            witness = verification.witness
            return f"{exact} The counts of the witness are of draws." if witness and witness.trials else exact
        return (
            f"The lower bound comes from {lower.samples:,} draws, those of the search included, and holds with "
            f"{100 * lower.confidence:.6g} % confidence. The verdict is held to more than that: "
            f"{_false_alarm(verification)}"
        )
    if _passed_tests(verification):
        return (
            "Tests can show that a claim is false, and never that it is true. These looked for the neighbours and the "
            "event that tell most, and found none that breaks the claim in its arithmetic; the lower bound is what "
            "they showed."
        )
    return "Nothing is concluded. The reasons above say what stood in the way."


def _false_alarm(verification: Verification) -> str:
    tested = verification.details.get("black_box")
    share = tested.get("false_alarm") if isinstance(tested, Mapping) else None
    limit = f"at most {share:g}" if isinstance(share, float) else "small"
    return f"the probability that such a verification refutes a true claim is {limit}."


def _profile(verification: Verification, band: Mapping[str, Any]) -> Picture:
    grid, lower = _numbers(band["epsilon"]), _numbers(band["delta_lower"])
    upper = None if band["delta_upper"] is None else _numbers(band["delta_upper"])
    claim = verification.claim
    known = upper if upper is not None else [1.0] * len(grid)
    seen = [value for value in lower if value > 0.0]
    least = max(_LEAST_DELTA, min(1.0, 0.3 * min(seen, default=1.0)))
    curves = [
        Curve(
            f"at least, {100 * float(band['confidence']):.3g} % confidence",
            [point for point in zip(grid, lower, strict=True) if point[1] > 0.0],
            "shown",
        ),
        Curve("the claimed ε", [(claim.epsilon, least), (claim.epsilon, 1.0)], "claim"),
    ]
    if upper is not None:
        proved = [point for point in zip(grid, upper, strict=True) if point[1] > 0.0]
        name = "at most, proved" if _proved(verification) else "at most, as charged in these runs"
        curves.insert(0, Curve(name, proved, "proved"))
    possible = [
        (x, max(low, least), max(high, least)) for x, low, high in zip(grid, lower, known, strict=True)
    ]
    words = (
        "The privacy profile: for every ε, from the least δ that the draws leave to the largest not excluded."
    )
    axes = Axis("ε", 0.0, max(grid, default=1.0) or 1.0), Axis("δ", least, 1.0, logarithmic=True)
    return Picture(chart(*axes, curves, [Area("possible", possible)], words), words)


def _trade_off(band: Mapping[str, Any]) -> Picture:
    reached = list(
        zip(_numbers(band["trade_off"]["alpha"]), _numbers(band["trade_off"]["beta_upper"]), strict=True)
    )
    curves = [
        Curve("perfect privacy", [(0.0, 1.0), (1.0, 0.0)], "aside"),
        Curve("reached by a test", reached, "shown"),
    ]
    words = "The trade-off curve: how often a test takes D′ for D, against how often it takes D for D′."
    axes = Axis("false-positive rate", 0.0, 1.0), Axis("false-negative rate", 0.0, 1.0)
    return Picture(chart(*axes, curves, words=words), words)


def _numbers(values: list[Any]) -> list[float]:
    return [float(value) for value in values]


def _again(verification: Verification) -> Section:
    witness = verification.witness
    commands = (Code(witness.reproduce),) if witness is not None and witness.reproduce else ()
    said = (
        f"The seed is {verification.seed}; with the code and versions below all numbers come out the same (the "
        "digest tells the code). Another seed makes an independent check."
    )
    return Section("See it again", commands, (Paragraph(said),))


def _theorems(verification: Verification) -> tuple[str, ...]:
    found = [theorem_named(verification.claim.composition)]
    if verification.upper is not None:
        found.append(verification.upper.method)
    by_bets = "anytime" in verification.details
    if verification.lower is not None and verification.lower.samples:
        found.append(BETS if by_bets else COUNTS)
    if "band" in verification.details:
        found.append(PROFILE)
    return (*found, verification.claim.source)
