"""A verification as a document: the verdict first, then what a stranger needs to judge it, and to see it again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from accountant.compositions import composition_named
from accountant.provenance import Provenance
from algorithms.claim import Claim
from mechanisms import Neighbouring
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
from verify.findings import Finding, FindingKind
from verify.sentences import number
from verify.verdict.answer import BLACK_BOXES, SubjectKind
from verify.verdict.bounds_picture import draw_bounds
from verify.verdict.references import BETS, COUNTS, PROFILE, references
from verify.verdict.result import Verification
from verify.verdict.verdict import Verdict
from verify.verdict.words import (
    bounds,
    claim_numbers,
    claim_words,
    curve_words,
    largest_factor,
    lower_words,
    meaning,
    passed_tests,
    unseen_words,
    upper_words,
    view_words,
    witness_meaning,
    witness_title,
    witness_words,
)

_TONES: dict[Verdict, Tone] = {"certified": "good", "refuted": "bad", "unproven": "open"}
_DIGESTS = {
    "dpwitness": "SHA-256 of all code of dpwitness",
    "file": "SHA-256 of the file it is about",
    "subject": "code and parameters of the subject, first 16 digits of their SHA-256",
}
_TRUSTED = "dpwitness itself (its digest is below), Python, and the libraries below: that they do what they document."
ADVERSARY = "The adversary sees what is said here, and nothing beside: no time, memory, log or crash report."
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
        meaning=meaning(verification),
        sections=tuple(section for section in sections if section is not None),
    )


def print_verification(verification: Verification, console: Console, *, verbose: bool = False) -> None:
    """Print what is said of a verification; `verbose` if with what is for specialists."""
    made = "; ".join(filter(None, (f"seed {verification.seed}", _versions(verification.provenance))))
    print_document(verification_document(verification), console, made, unfolded=verbose)


def _versions(provenance: Provenance) -> str:
    return ", ".join(f"{name} {version}" for name, version in provenance.versions.items())


def provenance_section(provenance: Provenance, **files: str) -> Section:
    """Return when and by which code a result was made; `files` are digests of what it was read from, by name."""
    pairs = [("found on", _utc(provenance.date) or "not known"), ("versions", _versions(provenance))]
    pairs += [
        (_DIGESTS.get(name, f"SHA-256 of the code of {name}"), digest)
        for name, digest in provenance.digests.items()
    ]
    pairs += [(f"SHA-256 of {name}, from which this page was made", digest) for name, digest in files.items()]
    return Section("When and by which code", (), (Facts(tuple(pair for pair in pairs if pair[1])),))


def _utc(date: str) -> str:
    """Return a date of ISO 8601 in UTC as people read it."""
    return date.replace("T", " ").replace("+00:00", " UTC")


def references_section(names: tuple[str, ...]) -> Section | None:
    """Return where theorems and methods are published, by their names; None if none of them is known."""
    found = references(names)
    return Section("References", (), (Bullets(found),)) if found else None


def claim_section(subject: str, claim: Claim, arithmetic: str = "", problem: str = "") -> Section:
    """Return a claim about a subject in words and numbers.

    Parameters
    ----------
    subject, claim
        What claims what.
    arithmetic, problem
        Of which numbers it is, and on which problem a learner was tested, if that is known.
    """
    pairs = [
        ("ε and δ", claim_numbers(claim)),
        ("trust model", claim.model),
        ("one record (the unit)", claim.unit),
        ("neighbours", f"{claim.neighbour_words} ({claim.neighbours.value})"),
        ("the adversary sees", claim.view),
        ("arithmetic", arithmetic),
        ("composition theorem", claim.composition),
        ("claimed in", claim.source),
        ("tested on the problem", problem),
    ]
    replaced = claim.neighbours is Neighbouring.REPLACE_ONE
    one, other = ("with one record", "with another in its place") if replaced else ("on D", "on D′")
    plain = (
        f"In other words: for anything that the adversary may see, its probability {one} and its probability {other} "
        f"differ by a factor of at most e^ε = {number(largest_factor(claim.epsilon))}"
    )
    plain += f", but for a probability of δ = {number(claim.delta)}." if claim.delta else "."
    plain += " Whoever is k records at once is protected by k·ε" + (
        ", and a δ that grows, too." if claim.delta else "."
    )
    facts = Facts(tuple(pair for pair in pairs if pair[1]))
    return Section("The claim", (Paragraph(claim_words(subject, claim)),), (Paragraph(plain), facts))


def arithmetic_words(kind: SubjectKind, *, counted: bool = False) -> str:
    """Return of which numbers a claim about a subject of a kind is; `counted` if rounding counts against it."""
    if kind in BLACK_BOXES:
        if counted:
            return "as the machine rounds it (--floating-point)"
        return (
            "real numbers: what only the last bits of floating-point numbers tell is a finding, and does not count "
            "against the claim (with --floating-point it does)"
        )
    if kind is SubjectKind.MECHANISM:
        return "real numbers; drawn by OpenDP, the default where it is released, noise tells nothing by its rounding"
    return (
        "real numbers, and the rounding of what enters a release is charged for; in production OpenDP draws the noise, "
        "which tells nothing by its rounding"
    )


def _rounding_counts(verification: Verification) -> bool:
    return any(each.kind is FindingKind.FLOATING_POINT and each.failing for each in verification.findings)


def _bounds(verification: Verification) -> Section:
    low, high = bounds(verification)
    claim = verification.claim.epsilon
    words = f"Bounds on ε: at least {number(low)}, at most {number(high)}; the claim is {number(claim)}."
    plain = "\n".join(draw_bounds(claim, low, high))
    said = (
        upper_words(verification.upper),
        lower_words(verification.lower, verification.upper),
        *view_words(verification),
    )
    caption = ""
    if not _proved(verification):
        caption = "from what tests showed to " + (
            "no limit" if math.isinf(high) else "what these runs were charged"
        )
    drawn = interval(claim, low, high, words, caption=caption)
    return Section("Privacy loss", (Picture(drawn, words, plain), Bullets(said)))


def _proved(verification: Verification) -> bool:
    """Whether the upper bound is a proof for all data, and not what a ledger showed of some runs."""
    return verification.verdict == "certified" or (
        verification.kind is SubjectKind.MECHANISM and math.isfinite(bounds(verification)[1])
    )


def _witness(verification: Verification) -> Section | None:
    witness = verification.witness
    if witness is None:
        return None
    facts = Facts(witness_words(witness, verification.claim, verification.lower))
    return Section(witness_title(verification), (facts, Paragraph(witness_meaning(witness))))


def rests_on_section(blocks: Sequence[Block], *more: str) -> Section:
    """Return what a result rests on: its own, and what every result does; `more` is trusted beside."""
    trusted = (Paragraph("Trusted, as in every result:"), Bullets((_TRUSTED, *more)))
    return Section("What it rests on", (), (*blocks, *trusted))


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
    blocks += [Paragraph(f"{alone}{words}") for words in unseen_words(verification)]
    curve = curve_words(verification)
    technical: list[Block] = [Paragraph(f"{words[:1].upper()}{words[1:].rstrip('.')}.") for words in curve]
    band = verification.details.get("band")
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
    if passed_tests(verification):
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


def _again(verification: Verification) -> Section:
    witness = verification.witness
    commands = (Code(witness.reproduce),) if witness is not None and witness.reproduce else ()
    said = (
        f"The seed is {verification.seed}; with the code and versions below all numbers come out the same (the "
        "digest tells the code). Another seed makes an independent check."
    )
    return Section("See it again", commands, (Paragraph(said),))


def theorem_named(composition: str) -> str:
    """Return the name of the composition theorem that a claim names in a word; "" for none."""
    return composition_named(composition).name if composition else ""


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
