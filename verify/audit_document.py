"""An audit of written-down releases as a document."""

from __future__ import annotations

import math

from accountant.audit import About, Audit
from accountant.audit.releases import ChosenUnder
from mechanisms import Neighbouring
from mechanisms.losses.enclosure import Bound, Enclosure, lower_end
from mechanisms.losses.risk import Risk
from verify.document.elements import (
    Block,
    Bullets,
    Code,
    Document,
    Facts,
    Paragraph,
    Section,
    TextTable,
    Tone,
)
from verify.sentences import digits, number
from verify.verdict.common_sections import ADVERSARY, provenance_section, references_section, rests_on_section

_VERDICTS: dict[bool | None, tuple[str, Tone]] = {
    True: ("WITHIN THE BUDGET", "good"),
    False: ("OVER THE BUDGET", "bad"),
    None: ("NOT KNOWN", "open"),
}
_NO_BUDGET: tuple[str, Tone] = ("AUDITED", "plain")

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
    least = lower_end(answer)
    rest = "; how much less is not known" if least is None else f" and at least {digits(least)}"
    said = f"{symbol} at {other} = {given:g} is at most {digits(answer.upper)}{rest}"
    verdict, tone = _NO_BUDGET
    if audited.remaining is not None:
        verdict, tone = _VERDICTS[audited.within]
        said += f"; the budget is ε = {audited.remaining.budget:g} at the same δ"
    if audited.chosen_under is not None:
        said += (
            f". So if the releases were fixed in advance; in any case within {_limit(audited.chosen_under)}"
        )
    sections = [
        _claim(audited),
        _about(audited.about),
        _meaning(audited, symbol, other),
        _released(audited),
        _theorems(audited),
        _risk(audited.risk, audited.neighbouring) if audited.risk is not None else None,
        _left(audited),
        _rests_on(audited),
        _certainty(audited),
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


def _risk_rows(risk: Risk) -> tuple[tuple[str, str, str], ...]:
    """Return what attacks reach: each of what, at least, and at most."""
    found = [
        ("advantage over guessing (true - false positive rate)", risk.advantage),
        ("right answers, if D and D′ are equally likely", risk.accuracy),
        *(
            (f"true-positive rate at a false-positive rate of {rate:g}", reached)
            for rate, reached in risk.true_positive_rates.items()
        ),
    ]
    lowers = [(name, lower_end(one), one.upper) for name, one in found]
    return tuple(
        (name, "not known" if least is None else f"{least:.6g}", f"{most:.6g}")
        for name, least, most in lowers
    )


def _claim(audited: Audit) -> Section:
    if audited.remaining is None:
        said = "None: no claim or budget was given to compare with."
    else:
        said = (
            f"None of a mechanism. The releases are compared with a budget that was given with them: ε = "
            f"{number(audited.remaining.budget)} at δ = {number(audited.question.given)}."
        )
    return Section("The claim", (), (Paragraph(said),))


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
            ("at most", f"{digits(answer.upper)}: {_found_by(answer.by)}"),
            ("at least", _at_least(answer)),
            ("neighbours D and D′", f"{audited.neighbouring.words} ({audited.neighbouring})"),
            ("one record", "what the audited data count as one; the releases do not say whose it is"),
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
        f"{audited.question.given:g}. For anything that may be seen of them, {who} its probability by a factor of at "
        "most e^ε, but for a probability of δ."
    )
    return Section("What the releases cost", (Paragraph(plain), facts))


def _at_least(answer: Enclosure | Bound) -> str:
    if isinstance(answer, Bound):
        return "not known: no data are known that lose so much"
    return f"{digits(answer.lower)}: {_found_by(answer.attained_by)}"


def _found_by(method: str) -> str:
    """Return a method in words, with the name that the JSON has."""
    return f"{_METHODS[method]} ({method})" if method in _METHODS else method


def _losing_most(audited: Audit) -> str:
    worst = audited.worst
    if audited.groups == 1 and worst.records == 1:
        return f"{worst.name}: each release listed counts for all of them"
    alike = f" and {worst.records - 1:,} more who are part of the same releases" if worst.records > 1 else ""
    others = (
        f"; records are part of {audited.groups:,} different sets of releases, of which this one costs most"
        if audited.groups > 1
        else ""
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
        heading += ("its sensitivity is",)
        rows = tuple((*row, each.movement) for row, each in zip(rows, audited.released, strict=True))
    said = (
        "Noise is in units of what was asked. How far one record moves that, its sensitivity, is 1 where none is "
        "written."
    )
    return Section("What was released", (Paragraph(said), TextTable(heading, rows)))


def _theorems(audited: Audit) -> Section:
    rows = tuple(
        (name, digits(found.lower) if isinstance(found, Enclosure) else "-", digits(found.upper))
        for name, found in audited.theorems.items()
    )
    said = (
        f"The smallest upper bound is the one that counts: by {audited.best}. The others say less, and are here to "
        "compare with older reports."
    )
    return Section(
        "Every theorem by itself", (Paragraph(said), TextTable(("theorem", "at least", "at most"), rows))
    )


def _risk(risk: Risk, relation: Neighbouring) -> Section:
    tells = (
        "whether a record has one value or another"
        if relation is Neighbouring.REPLACE_ONE
        else "whether a record takes part"
    )
    said = (
        f"What the best attack reaches that tells D from D′ by the releases: {tells}. It knows all other records; two "
        "equal numbers are exact."
    )
    return Section(
        "What it means for one record",
        (Paragraph(said), TextTable(("the best attack", "at least", "at most"), _risk_rows(risk))),
    )


def _certainty(audited: Audit) -> Section:
    both = isinstance(audited.answer, Enclosure)
    ends = (
        "both ends are proved, with their rounding" if both else "the upper end is proved, with its rounding"
    )
    said = f"No chance is involved: of releases as said above {ends}."
    if audited.chosen_under is not None:
        said += (
            " If releases were chosen by what earlier ones showed, which the ledger does not tell, quote what its "
            f"accountant enforced, as the ledger has it: {_limit(audited.chosen_under)}."
        )
    if not audited.complete:
        said += " The computation was stopped at a time limit; more time may bring the ends closer together."
    return Section("How sure this is", (Paragraph(said),))


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
    said = (
        f"Of the budget ε = {number(remaining.budget)} at δ = {number(audited.question.given)} at least "
        f"{digits(remaining.epsilon)} is left, for releases that spend no δ of their own. Of each of those here as "
        "many more would fit, if of it alone (composed anew, and not added up):"
    )
    more = "how many more" if audited.complete else "how many more, at least"
    return Section("What is left", (Paragraph(said), TextTable(("release", more), rows)))


def _rests_on(audited: Audit) -> Section:
    chosen = audited.chosen_under
    fixed = (
        "The mechanisms, their noise and sampling, and how many they are, were fixed in advance. What was asked "
        "through them may have followed from earlier answers."
    )
    blocks: list[Block] = [
        Bullets(
            (
                "The releases are all that there are, and what the file says: their mechanisms, noise, sensitivities "
                "(1 where it says none) and counts. Nothing here looks at data or code, or for what is not listed.",
                fixed if chosen is None else f"{fixed} Where they were chosen, see below.",
                "Noise is of real numbers, as its mechanism says: how it was rounded is not looked at.",
            )
        )
    ]
    if chosen is not None:
        blocks.append(
            Paragraph(
                "A run of an accountant may choose releases by what it saw. Whatever it chose, its accountant kept "
                f"each record of this ledger within: {_limit(chosen)}."
            )
        )
    return rests_on_section(blocks, ADVERSARY)


def _limit(chosen: ChosenUnder) -> str:
    """Return what an accountant kept each record within, and by which theorem."""
    budget = chosen.budget
    within = "no limit"
    if not math.isinf(budget.epsilon):
        within = f"ε = {number(budget.epsilon)}, δ = {number(budget.delta)}"
    return f"{within} ({chosen.theorem})"
