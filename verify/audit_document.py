"""An audit of written-down releases as a document."""

from __future__ import annotations

import math

from accountant.audit import About, Audit
from accountant.losses.risk import Risk
from verify.document.blocks import Block, Bullets, Code, Document, Facts, Paragraph, Section, Table, Tone
from verify.sentences import number
from verify.verdict.verification_document import provenance_section, references_section

_VERDICTS: dict[bool | None, tuple[str, Tone]] = {
    True: ("WITHIN THE BUDGET", "good"),
    False: ("OVER THE BUDGET", "bad"),
    None: ("NOT KNOWN", "open"),
}
_NO_BUDGET: tuple[str, Tone] = ("AUDITED", "open")

_INTEGRAL = "the composed privacy-loss distributions, by an integral whose error is bounded"
_FINITE = "the composed privacy-loss distributions, by a sum of finitely many terms"
_METHODS = {
    "contour": _INTEGRAL,
    "contour with phantom Gaussian": _INTEGRAL,
    "lattice contour": _FINITE,
    "near the largest loss": _FINITE,
    "mass near the largest loss": _FINITE,
    "series over n equal Laplace": "the composed privacy-loss distributions, by a series whose rest is bounded",
    "grid": "the composed privacy-loss distributions, rounded to a grid on the safe side",
    "Renyi composition": "the sum of Rényi divergences, at the best order",
    "closed form": "the exact privacy profile of what was released",
    "sum of largest losses": "the sum of the largest losses",
    "infinite loss": "a loss that has no limit",
    "nothing": "nothing is known that says more",
}
"""What stands behind the names of methods; theorems explain themselves."""


def audit_document(audited: Audit, **files: str) -> Document:
    """Return what is said of an audit; `files` are digests of what it was read from, by name."""
    asked, given = audited.question.asked, audited.question.given
    symbol, other = ("ε", "δ") if asked == "epsilon" else ("δ", "ε")
    answer = audited.answer
    said = f"{symbol} at {other} = {given:g} is at most {_digits(answer.upper)} and at least {_digits(answer.lower)}"
    verdict, tone = _NO_BUDGET
    if audited.remaining is not None:
        verdict, tone = _VERDICTS[audited.within]
        said += f"; the budget is {audited.remaining.budget:g}"
    sections = [
        _about(audited.about),
        _meaning(audited, symbol, other),
        _released(audited),
        _theorems(audited),
        _risk(audited.risk) if audited.risk is not None else None,
        _left(audited),
        _rests_on(audited),
        Section("See it again", (Code(audited.repeat),)) if audited.repeat else None,
        provenance_section(audited.provenance, **files),
        references_section(_theorem_names(audited)),
    ]
    return Document(
        verdict,
        tone,
        audited.name or "releases",
        f"{said}. Neighbours: {audited.relation}.",
        tuple(section for section in sections if section is not None),
    )


def _theorem_names(audited: Audit) -> tuple[str, ...]:
    chosen = () if audited.chosen_under is None else (audited.chosen_under.theorem,)
    return (*audited.theorems, *chosen)


def risk_rows(risk: Risk) -> tuple[tuple[str, str, str], ...]:
    """Return what attacks reach: each of what, at least, and at most."""
    found = [
        ("advantage over guessing (true - false positive rate)", risk.advantage),
        ("right answers, if half of all records take part", risk.accuracy),
        *(
            (f"members found (or records guessed) where chance alone finds {rate:g}", reached)
            for rate, reached in risk.true_positive_rates.items()
        ),
    ]
    return tuple((name, f"{one.lower:.6g}", f"{one.upper:.6g}") for name, one in found)


def _about(about: About) -> Section | None:
    released = "" if about.first is None else f"{about.first} to {about.last}"
    pairs = (
        ("title", about.title),
        ("date", "" if about.date is None else str(about.date)),
        ("released", released),
        *(("notes", line) for line in about.notes.splitlines()),
    )
    said = tuple(pair for pair in pairs if pair[1])
    return Section("What the file says of itself", (Facts(said),)) if said else None


def _meaning(audited: Audit, symbol: str, other: str) -> Section:
    answer = audited.answer
    facts = Facts(
        (
            ("at most", f"{_digits(answer.upper)}: {_found_by(answer.upper_by)}"),
            ("at least", f"{_digits(answer.lower)}: {_found_by(answer.lower_by)}"),
            ("neighbours", f"{audited.neighbouring.words} ({audited.neighbouring})"),
            *(
                [
                    (
                        "groups",
                        f"of {audited.group_size} records that change together, part of the same releases",
                    )
                ]
                if audited.group_size > 1
                else []
            ),
            ("who loses most", _losing_most(audited)),
        )
    )
    who = "one record changes" if audited.group_size == 1 else "such a group changes"
    plain = (
        f"{symbol} is what the releases together cost the records that lose most, at {other} = "
        f"{audited.question.given:g}. Whatever anybody concludes from them, {who} its probability by a factor of at "
        "most e^ε, except for an amount of δ. Both ends are proved, rounding included."
    )
    return Section("What the releases cost", (Paragraph(plain), facts))


def _found_by(method: str) -> str:
    """Return a method in words, with the name that the JSON has."""
    return f"{_METHODS[method]} ({method})" if method in _METHODS else method


def _losing_most(audited: Audit) -> str:
    worst = audited.worst
    if audited.groups == 1 and worst.records == 1:
        return f"{worst.name}; nobody is part of other releases"
    alike = f" and {worst.records - 1:,} more who are part of the same releases" if worst.records > 1 else ""
    others = (
        f"; records differ in {audited.groups:,} ways in what they are part of" if audited.groups > 1 else ""
    )
    return f"{worst.name}{alike}{others}"


def _released(audited: Audit) -> Section:
    heading: tuple[str, ...] = ("release", "mechanism and noise", "how often, for who loses most")
    rows: tuple[tuple[str, ...], ...] = tuple(
        (
            each.name.removesuffix(f": {each.mechanism}"),
            each.mechanism or "not said: its curve alone is known",
            f"{each.count:,}",
        )
        for each in audited.released
    )
    if any(each.movement for each in audited.released):  # of sampled releases alone
        heading += ("what its sensitivity is of",)
        rows = tuple((*row, each.movement) for row, each in zip(rows, audited.released, strict=True))
    return Section("What was released", (Table(heading, rows),))


def _theorems(audited: Audit) -> Section:
    rows = tuple(
        (name, _digits(found.lower) if found.lower > 0 else "-", _digits(found.upper))
        for name, found in audited.theorems.items()
    )
    said = f"The least upper end is by {audited.best}. The others are there to compare with older reports."
    return Section(
        "Every theorem by itself", (Paragraph(said), Table(("theorem", "at least", "at most"), rows))
    )


def _risk(risk: Risk) -> Section:
    said = "What any attack reaches that tells from the releases whether a record takes part."
    return Section(
        "What it means for a person",
        (Paragraph(said), Table(("any attack", "at least", "at most"), risk_rows(risk))),
    )


def _left(audited: Audit) -> Section | None:
    remaining = audited.remaining
    if remaining is None:
        return None
    rows = tuple(
        (
            name,
            "over a trillion" if math.isinf(more) else f"{more:,.0f}",
        )
        for name, more in remaining.more.items()
    )
    said = f"Of the budget ε = {number(remaining.budget)} at least {_digits(remaining.epsilon)} is left."
    return Section(
        "What is left", (Paragraph(said), Table(("release", "more of it that fit, if of this alone"), rows))
    )


def _rests_on(audited: Audit) -> Section:
    chosen = audited.chosen_under
    fixed = "The releases were fixed in advance, and not chosen by what earlier ones showed."
    blocks: list[Block] = [
        Bullets(
            (
                "The releases are what the file says: their mechanisms, noise, sensitivities and counts. Nothing here "
                "looks at data or code.",
                fixed if chosen is None else f"{fixed} Where they were chosen, see below.",
            )
        )
    ]
    if chosen is not None:
        limit = "no limit"
        if not math.isinf(chosen.budget.epsilon):
            limit = f"ε = {number(chosen.budget.epsilon)}, δ = {number(chosen.budget.delta)}"
        blocks.append(
            Paragraph(
                "A run of an accountant may choose releases by what it saw. Whatever it chose, its accountant kept "
                f"each record of this ledger within: {limit} ({chosen.theorem})."
            )
        )
    if not audited.complete:
        blocks.append(
            Paragraph("It was stopped at a time limit: what is said holds, more time may say it closer.")
        )
    return Section("What it rests on", tuple(blocks))


def _digits(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.10g}"
