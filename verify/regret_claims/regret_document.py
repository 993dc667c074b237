"""A regret report as a document."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING

from mechanisms.numerics.printed_numbers import as_given, at_least, at_most, counted_noun, nearest
from verify.document.drawings import Area, Axis, Chart, Curve
from verify.document.elements import (
    Bullets,
    Code,
    Document,
    Facts,
    FirstScreen,
    Paragraph,
    Picture,
    Section,
    TextTable,
    Tone,
)
from verify.document.typeset_formulas import typeset
from verify.findings.sentences import Sentence, confident, exact, remark
from verify.verdict.common_sections import (
    assumptions_section,
    correct_guesses,
    person_sentence,
    provenance_section,
    references_section,
)

if TYPE_CHECKING:
    from verify.regret_claims.regret_report import ProofCheck, RegretReport


def regret_document(report: RegretReport, twin: RegretReport | None = None, **files: str) -> Document:
    """Return a regret report as a document.

    Parameters
    ----------
    report
        The report.
    twin
        That of the same learner without privacy, for the picture.
    files
        Digests of the files it was read from, by name.
    """
    sections = [
        _theorem(report),
        Section("Why", (Bullets(report.reasons),)),
        _setting(report),
        _outcome(report, twin),
        _proof(report),
        assumptions_section(()),
        provenance_section(report.provenance, **files),
        references_section((report.theorem.source,)),
    ]
    return Document(
        verdict=report.verdict.upper(),
        tone=_tone(report),
        name=f"regret of {report.learner}, ε = {as_given(report.epsilon)}, T = {report.horizon:,}",
        meaning=_meaning(report),
        summary=_summary(report),
        sections=tuple(section for section in sections if section is not None),
    )


def _tone(report: RegretReport) -> Tone:
    if report.verdict == "violated":
        return "bad"
    return "good" if report.verdict == "consistent" and not report.theorem.unproved else "open"


def _meaning(report: RegretReport) -> Sentence:
    """Return the verdict in plain words, for a reader without knowledge of the field."""
    match report.verdict:
        case "violated":
            words = "Broken: the learner loses more than its theorem allows, or a step of the theorem's proof fails"
            if not report.theorem.covered:
                words = (
                    "Broken: the learner loses more than its paper claims here, where no proved theorem holds"
                )
        case "undecided":
            words = "Open: these runs do not show whether the learner loses more than its theorem allows"
        case "vacuous":
            return exact("Empty: the theorem allows the learner to lose as much as can be lost here.")
        case "out of regime":
            return exact("No theorem covers this problem.")
        case "another learner":
            return exact("Another learner than the theorem's: its regret is not judged.")
        case "consistent":
            words = "Kept: on average the learner lost no more than its theorem allows"
    theorem = report.theorem
    if theorem.correction:
        words = words.replace("its theorem", "its theorem as corrected", 1)
    if theorem.unproved:
        words += "; the theorem is not fully proved"
    return confident(
        f"{words} ({{confidence}} confidence, {counted_noun(report.lanes, 'run')}).", report.confidence
    )


def _summary(report: RegretReport) -> FirstScreen:
    theorem, last = report.theorem, report.outcome[-1]
    bound = f"{nearest(last.bound)} after {counted_noun(last.round, 'round')}"
    if theorem.correction:
        bound += " as corrected (the printed one is not tested)"
    lemmas = ""
    if report.proof:
        lemmas = (
            "; a lemma is violated"
            if any(map(attrgetter("violated"), report.proof))
            else "; lemmas not rejected"
        )
    if theorem.unproved:
        lemmas += "; the bound is not fully proved"
    return FirstScreen(
        claimed=remark(
            "expected regret (reward lost against the best choice, or the promised share of it) at most {bound}, by "
            "{source}",
            bound=bound,
            source=theorem.source,
        ),
        found=confident(
            "expected regret from {lower} to {upper} ({confidence} confidence){lemmas}",
            report.confidence,
            lower=at_least(last.lower),
            upper=at_most(last.upper),
            lemmas=lemmas,
        ),
        sure=_certainty(report),
        rests_on=remark(
            "Simulated outcomes and NumPy noise. Privacy is a separate claim (dpwitness verify)."
        ),
        again=Code(report.reproduce),
        person=_person(report),
    )


def _person(report: RegretReport) -> Sentence:
    if not report.claims_privacy:
        return remark("The learner makes no claim about privacy: its output may show any record.")
    return person_sentence(
        f"If its privacy claim holds (ε = {as_given(report.epsilon)}; not tested here), someone",
        "which of two data sets that differ in one record it learned from",
        "the output",
        correct_guesses(report.epsilon, report.delta),
    )


def _setting(report: RegretReport) -> Section:
    pairs = (
        ("learner", report.learner),
        ("problem", report.problem + (f", {report.size}" if report.size else "")),
        (
            "its privacy",
            f"ε = {as_given(report.epsilon)}, δ = {as_given(report.delta)}, neighbours: {report.neighbours}"
            if report.claims_privacy
            else "none claimed",
        ),
        ("rounds", f"{report.horizon:,}"),
        ("runs", f"{report.lanes:,} from seed {report.seed}"),
    )
    return Section("Setting", (Facts(pairs),))


def _theorem(report: RegretReport) -> Section:
    theorem = report.theorem
    first = theorem.speaks_from
    speaks = "" if first is None else f"T ≈ {first:,} (bound below a third of the largest possible regret)"
    largest = (
        f"{typeset(theorem.dominant[0])} = {nearest(theorem.dominant[1], 5)}" if theorem.dominant[0] else ""
    )
    pairs = (
        ("Bound", typeset(theorem.statement)),
        ("Source", theorem.source),
        ("Holds for", typeset(theorem.regime)),
        ("Value", nearest(theorem.bound)),
        ("Largest possible regret", nearest(theorem.trivial)),
        ("Dominant term", largest),
        ("Gaps", f"found by {theorem.gaps}" if theorem.gaps else ""),
        ("Non-vacuous from", speaks),
        ("As printed", typeset(theorem.printed)),
        ("Correction", typeset(theorem.correction)),
        ("Not proved", theorem.unproved),
    )
    said = remark("(pseudo-)regret R(T) = Σ_t (μ* − μ(a_t)); claimed bound on its expectation:")
    return Section("The claim", (Paragraph(said), Facts(tuple(pair for pair in pairs if pair[1]))))


def _outcome(report: RegretReport, twin: RegretReport | None) -> Section:
    outcome = report.outcome
    words = confident(
        "Cumulative regret on {problem}: mean of {draws:,} runs from seed {seed}, limits on its expectation "
        "({confidence} confidence), trivial bound, and theorem ({source}).",
        report.confidence,
        report.lanes,
        problem=report.problem + (f" ({report.size})" if report.size else ""),
        seed=report.seed,
        source=report.theorem.source,
    )
    rows = tuple(
        (
            f"{each.round:,}",
            nearest(each.mean),
            at_least(each.lower),
            at_most(each.upper),
            *map(nearest, (each.bound, each.trivial)),
            each.verdict,
        )
        for each in outcome
    )
    heading = ("t", "Mean", "Lower limit", "Upper limit", "Bound", "Trivial bound", "Result")
    said = Paragraph(
        confident(
            "Simultaneous confidence limits ({confidence}) without normal approximation.", report.confidence
        )
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
        Curve(f"mean of {counted_noun(report.lanes, 'run')}", points, "shown"),
        Curve("trivial bound", [(float(each.round), each.trivial) for each in outcome], "aside"),
    ]
    if twin is not None:
        means = [(float(each.round), each.mean) for each in twin.outcome]
        curves.append(Curve(f"without privacy ({twin.learner})", means, "claim"))
    drawn = Chart(*axes, curves, [Area("limits on expected regret", limits)])
    return Section("Regret", (Picture(drawn, words), said, TextTable(heading, rows)))


def _proof(report: RegretReport) -> Section | None:
    if not report.proof:
        return None
    rows = tuple((check.name, check.sentence, _p_value(check), _check_words(check)) for check in report.proof)
    said = remark(
        "Statements that the theorem's proof uses, tested in separate runs of the learner, on problems that show them; "
        "p-values are of exact tests, corrected for all looks. On the good event estimates are off by at most their "
        "radii; the oracle finds the best action for given weights."
    )
    return Section("Lemmas", (Paragraph(said), TextTable(("Lemma", "Observed", "p-value", "Result"), rows)))


def _p_value(check: ProofCheck) -> str:
    if not check.level:
        return "deterministic"
    return at_most(check.p, 2) if check.was_tested else "-"


def _check_words(check: ProofCheck) -> str:
    if check.differs:
        return "another learner"
    if not check.violated:
        return (
            ("not rejected" if check.level else "holds in these runs") if check.was_tested else "not tested"
        )
    return "violated"


def _certainty(report: RegretReport) -> Sentence:
    return confident(
        "False-positive rate at most {error:g} over all intervals and lemmas ({confidence} confidence). Results hold "
        "for this problem and horizon; another seed is an independent check.",
        report.confidence,
        error=report.error,
    )
