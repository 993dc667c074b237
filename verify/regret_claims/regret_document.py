"""A regret report as a document."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from verify.document.charts import Area, Axis, Curve, chart
from verify.document.elements import (
    Bullets,
    Code,
    Document,
    Facts,
    Paragraph,
    Picture,
    Section,
    TextTable,
    Tone,
)
from verify.sentences import number
from verify.verdict.common_sections import provenance_section, references_section, rests_on_section

if TYPE_CHECKING:
    from verify.regret_claims.proof_run import ProofCheck
    from verify.regret_claims.regret_report import RegretReport, RegretVerdict

_MEANING: dict[RegretVerdict, str] = {
    "violated": "The learner does not keep what the theorem says, or what its proof rests on.",
    "undecided": "These runs do not tell whether the learner keeps its bound.",
    "vacuous": "The bound is larger than any regret can be here: it says nothing, and nothing could violate it.",
    "out of regime": "No theorem is about this learner on this instance.",
}


def regret_document(report: RegretReport, **files: str) -> Document:
    """Return what is said of a regret report; `files` are digests of what it was read from, by name."""
    sections = [
        _theorem(report),
        Section("Why", (Bullets(tuple(f"{said[:1].upper()}{said[1:]}." for said in report.reasons)),)),
        _played(report),
        _outcome(report),
        _proof(report),
        rests_on_section(
            (
                Paragraph(
                    "On runs of the learner's own code, with simulated outcomes that are known, and noise of NumPy's "
                    "generator. Its privacy is another claim, which dpwitness verify checks."
                ),
            )
        ),
        _certainty(report),
        Section(
            "See it again",
            (Code(report.reproduce), Paragraph("Another seed makes an independent check.")),
        ),
        provenance_section(report.provenance, **files),
        references_section((report.theorem.source,)),
    ]
    return Document(
        verdict=report.verdict.upper(),
        tone=_tone(report),
        name=f"regret of {report.learner}, ε = {number(report.epsilon)}, T = {report.horizon:,}",
        meaning=_meaning(report),
        sections=tuple(section for section in sections if section is not None),
    )


def _tone(report: RegretReport) -> Tone:
    if report.verdict == "violated":
        return "bad"
    return "good" if report.verdict == "consistent" and not report.theorem.unproved else "open"


def _meaning(report: RegretReport) -> str:
    if report.verdict != "consistent":
        return _MEANING[report.verdict]
    theorem = report.theorem
    bound = "the theorem's bound"
    if theorem.correction:
        bound = "the bound as dpwitness corrected it (as printed, it was not tested)"
    said = f"On this problem, regret stays below {bound}"
    if theorem.unproved:
        return f"{said}. The bound has no complete proof: see below."
    return f"{said}, and what was watched of its proof held." if report.proof else f"{said}."


def _played(report: RegretReport) -> Section:
    pairs = (
        ("learner", report.learner),
        ("problem", report.problem),
        (
            "its privacy",
            f"ε = {number(report.epsilon)}, neighbours: {report.neighbours}; δ = {number(report.delta)} if it takes "
            "one",
        ),
        ("rounds", f"{report.horizon:,}"),
        ("runs", f"{report.lanes:,} from seed {report.seed}"),
    )
    return Section("What was played", (Facts(pairs),))


def _theorem(report: RegretReport) -> Section:
    theorem = report.theorem
    speaks = (
        ""
        if theorem.speaks_from is None
        else f"T = {theorem.speaks_from:,}, about the first at which it is below a third of the worst possible regret"
    )
    largest = f"{theorem.dominant[0]} = {theorem.dominant[1]:.5g}" if theorem.dominant[0] else ""
    pairs = (
        ("bound", theorem.statement),
        ("claimed in", theorem.source),
        ("holds for", theorem.regime),
        ("its value here", number(theorem.bound)),
        ("the worst possible regret", number(theorem.trivial)),
        ("its largest term", largest),
        ("gaps of the problem", f"found by {theorem.gaps}" if theorem.gaps else ""),
        ("says something from", speaks),
        ("as printed", theorem.printed),
        ("why it was corrected", theorem.correction),
        ("what is not proved", theorem.unproved),
    )
    said = (
        "Regret is what the best action would have earned in expectation, less what the actions played would have, "
        f"summed over the rounds. What is claimed of {report.learner} is a bound on its expectation:"
    )
    return Section("The claim", (Paragraph(said), Facts(tuple(pair for pair in pairs if pair[1]))))


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
    heading = (
        "round",
        "mean of runs",
        "expected, at least",
        "expected, at most",
        "bound",
        "worst possible",
        "verdict",
    )
    said = Paragraph(
        "Expected regret lies between its limits, all of them at once; they need no normal approximation, and are wide "
        "for few runs. Consistent: the upper limit is below the bound; violated: the lower one is above it; undecided: "
        "the bound lies between; vacuous: the bound is above the worst possible regret."
    )
    points = [(float(each.round), each.mean) for each in outcome if each.mean > 0.0]
    values = [
        value for each in outcome for value in (each.mean, each.lower, each.upper, each.bound, each.trivial)
    ]
    finite = [value for value in values if math.isfinite(value) and value > 0.0]
    if not points or not finite:
        return Section("Regret", (said, TextTable(heading, rows)))
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
    return Section("Regret", (Picture(drawn, words), said, TextTable(heading, rows)))


def _proof(report: RegretReport) -> Section | None:
    if not report.proof:
        return None
    rows = tuple((check.name, check.words, _p_value(check), _check_words(check)) for check in report.proof)
    said = (
        "Each line is a statement that the theorem's proof uses, watched in separate runs of the learner. p-values are "
        "of exact tests, those of many looks at once; 1 means that nothing speaks against the statement. A radius "
        "is how "
        "far an estimate may be off by the proof; on the good event none is further off. The oracle is what finds the "
        "best action for given weights."
    )
    return Section(
        "What the proof rests on", (Paragraph(said), TextTable(("check", "seen", "p-value", "verdict"), rows))
    )


def _p_value(check: ProofCheck) -> str:
    if not check.level:
        return "no chance"
    return f"{check.p:.2g}" if check.tested else "-"


def _check_words(check: ProofCheck) -> str:
    if not check.violated:
        return "holds" if check.tested else "not tested"
    return "violated" if check.binding else "false as printed; not needed"


def _certainty(report: RegretReport) -> Section:
    said = (
        f"A learner that keeps its bound and its proof is called violated with probability {report.error:g} at "
        "most: so "
        "sure are all limits on regret and all checks together. Regret is measured on this problem and for so many "
        "rounds alone; that it stays below the bound elsewhere is what the theorem says, and not these runs."
    )
    return Section("How sure this is, and its limits", (Paragraph(said),))
