"""A regret report as a document."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from verify.document.blocks import (
    Bullets,
    Code,
    Document,
    Facts,
    Paragraph,
    Picture,
    Section,
    Table,
    Tone,
)
from verify.document.charts import Area, Axis, Curve, chart
from verify.sentences import number
from verify.verdict.verification_document import provenance_section

if TYPE_CHECKING:
    from verify.regret_claims.regret_report import RegretReport, RegretVerdict

_TONES: dict[RegretVerdict, Tone] = {"consistent": "good", "violated": "bad"}

_MEANING: dict[RegretVerdict, str] = {
    "consistent": "Regret stays below what the theorem says, and what its proof rests on holds in every run.",
    "violated": "The learner does not keep what the theorem says, or what its proof rests on.",
    "undecided": "These runs do not tell whether the learner keeps its bound.",
    "vacuous": "The bound is larger than any regret can be here: it says nothing, and nothing could violate it.",
    "out of regime": "No theorem is about this learner on this instance.",
}


def regret_document(report: RegretReport, **files: str) -> Document:
    """Return what is said of a regret report; `files` are digests of what it was read from, by name."""
    sections = [
        Section("Why", (Bullets(report.reasons),)),
        _played(report),
        _theorem(report),
        _outcome(report),
        _proof(report),
        _certainty(report),
        Section("See it again", (Code(report.reproduce),)),
        provenance_section(report.provenance, **files),
    ]
    return Document(
        verdict=report.verdict.upper(),
        tone=_TONES.get(report.verdict, "open"),
        name=f"regret of {report.learner}, ε = {number(report.epsilon)}, T = {report.horizon:,}",
        meaning=_MEANING[report.verdict],
        sections=tuple(section for section in sections if section is not None),
    )


def _played(report: RegretReport) -> Section:
    pairs = (
        ("learner", report.learner),
        ("problem", report.problem),
        ("ε and δ", f"ε = {number(report.epsilon)}, δ = {number(report.delta)}"),
        ("neighbours", report.neighbours),
        ("rounds", f"{report.horizon:,}"),
        ("runs", f"{report.lanes:,} from seed {report.seed}"),
    )
    return Section("What was played", (Facts(pairs),))


def _theorem(report: RegretReport) -> Section:
    theorem = report.theorem
    speaks = (
        ""
        if theorem.speaks_from is None
        else f"from T = {theorem.speaks_from:,} on: there it is below a third of the worst regret"
    )
    largest = f"{theorem.dominant[0]} = {theorem.dominant[1]:.5g}" if theorem.dominant[0] else ""
    pairs = (
        ("source", theorem.source),
        ("holds for", theorem.regime),
        ("its value here", number(theorem.bound)),
        ("the worst possible regret", number(theorem.trivial)),
        ("its largest term, as SymPy writes it", largest),
        ("gaps", theorem.gaps),
        ("it speaks", speaks),
        ("as printed", theorem.printed),
        ("corrected", theorem.correction),
        ("not proved", theorem.unproved),
    )
    return Section("The theorem", (Facts(tuple(pair for pair in pairs if pair[1])),))


def _outcome(report: RegretReport) -> Section:
    outcome = report.outcome
    words = "Cumulative regret: the mean of the runs, limits on its expectation, the theorem, and the worst possible."
    rows = tuple(
        (
            f"{each.round:,}",
            *(number(value) for value in (each.mean, each.lower, each.upper, each.bound, each.trivial)),
            each.verdict,
        )
        for each in outcome
    )
    heading = ("round", "mean", "at least", "at most", "bound", "worst", "verdict")
    points = [(float(each.round), each.mean) for each in outcome if each.mean > 0.0]
    values = [
        value for each in outcome for value in (each.mean, each.lower, each.upper, each.bound, each.trivial)
    ]
    finite = [value for value in values if math.isfinite(value) and value > 0.0]
    if not points or not finite:
        return Section("Regret", (Table(heading, rows),))
    least, most = min(finite), max(finite)
    axes = (
        Axis("round t", float(outcome[0].round) or 1.0, float(max(outcome[-1].round, 1)), logarithmic=True),
        Axis("cumulative regret", least, most, logarithmic=True),
    )
    limits = [(float(each.round), max(each.lower, least), max(each.upper, least)) for each in outcome]
    curves = [
        Curve("theorem", [(float(each.round), each.bound) for each in outcome], "proved"),
        Curve(f"mean of {report.lanes:,} runs", points, "shown"),
        Curve("worst possible", [(float(each.round), each.trivial) for each in outcome], "aside"),
    ]
    drawn = chart(*axes, curves, [Area("limits on expected regret", limits)], words)
    return Section("Regret", (Picture(drawn, words), Table(heading, rows)))


def _proof(report: RegretReport) -> Section | None:
    if not report.proof:
        return None
    rows = tuple(
        (check.name, f"{check.p:.2g}", check.words, _check_words(check.violated, check.binding))
        for check in report.proof
    )
    said = "Each line is a statement that the theorem's proof uses, watched while the learner ran."
    return Section(
        "What the proof rests on", (Paragraph(said), Table(("check", "p-value", "seen", "verdict"), rows))
    )


def _check_words(violated: bool, binding: bool) -> str:
    if not violated:
        return "holds"
    return "violated" if binding else "false as printed; not needed"


def _certainty(report: RegretReport) -> Section:
    said = (
        f"All limits on regret and all checks of the proof hold together except with probability {report.error:g}: so "
        "rarely a learner that keeps its bound is called violated. Regret is measured on this problem alone; that it "
        "stays below the bound elsewhere is what the theorem says, and not these runs."
    )
    return Section("How sure this is, and its limits", (Paragraph(said),))
