"""The document of an audit of a release file."""

from __future__ import annotations

import math
from typing import NamedTuple

from accountant.audit.audit_result import Audit
from accountant.audit.releases import EnforcedBudget, FileMetadata
from mechanisms.composition.enclosure import Bound, Enclosure, lower_end
from mechanisms.composition.risk import Risk
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.numerics.printed_numbers import as_given, at_least, at_most, nearest
from verify.document.elements import (
    Block,
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
    Words,
)
from verify.findings.sentences import Sentence, exact, remark
from verify.verdict.common_sections import (
    ADVERSARY,
    assumptions_section,
    correct_guesses,
    person_sentence,
    provenance_section,
    references_section,
    trade_off_chart,
)

_VERDICTS: dict[bool | None, tuple[str, Tone]] = {
    True: ("WITHIN BUDGET", "good"),
    False: ("OVER BUDGET", "bad"),
    None: ("UNDECIDED", "open"),
}
_NO_BUDGET: tuple[str, Tone] = ("AUDITED", "plain")

_INTEGRAL = "composed privacy-loss distributions, by an integral with bounded error"
_FINITE = "composed privacy-loss distributions, by a finite sum"
_METHODS = {
    "contour": _INTEGRAL,
    "contour with phantom Gaussian": _INTEGRAL,
    "lattice contour": _FINITE,
    "near the largest loss": _FINITE,
    "mass near the largest loss": _FINITE,
    "series over n equal Laplace": "composed privacy-loss distributions, by a series with bounded rest",
    "grid": "composed privacy-loss distributions, rounded outward to a grid",
    "Renyi composition": "sum of Rényi divergences, at the best order",
    "closed form": "privacy profile",
    "sum of largest losses": "sum of the largest losses",
    "infinite loss": "unbounded loss",
    "nothing": "",
}
"""Explanations after the names of methods; theorems need none."""
_DIGITS = 10
_FILE = remark(
    "The file is complete and correct: mechanisms, noise, sensitivities, counts. Data and code are not examined."
)


def audit_document(audited: Audit, **files: str) -> Document:
    """Return an audit as a document; `files` are digests of the files it was read from, by name."""
    verdict, tone = _NO_BUDGET if audited.remaining is None else _VERDICTS[audited.within]
    enforced = () if audited.chosen_under is None else (audited.chosen_under.theorem,)
    sections = [
        _metadata_section(audited.about),
        _meaning(audited),
        _released(audited),
        _theorems(audited),
        _risk(audited.risk, audited) if audited.risk is not None else None,
        _remaining(audited),
        _assumptions(audited),
        _certainty(audited),
        provenance_section(audited.provenance, **files),
        references_section((*audited.theorems, *enforced)),
    ]
    return Document(
        verdict,
        tone,
        audited.name or "releases",
        audit_person_sentence(audited),
        _summary(audited),
        tuple(section for section in sections if section is not None),
    )


def _summary(audited: Audit) -> FirstScreen:
    claimed = "no budget was given"
    if audited.remaining is not None:
        budget, delta = as_given(audited.remaining.budget), as_given(audited.question.fixed_value)
        claimed = f"all releases together within ε = {budget} at δ = {delta}"
    again = Code(audited.repeat) if audited.repeat else remark("audit the same releases again")
    return FirstScreen(
        claimed=remark("{claimed}", claimed=claimed),
        found=_loss_sentence(audited),
        sure=_certainty_sentence(audited),
        rests_on=_FILE,
        again=again,
    )


def _loss_sentence(audited: Audit) -> Sentence:
    """Return the total loss, and the relation."""
    said = _ends_at(audited)
    if audited.chosen_under is not None:
        said += (
            ", if the releases were fixed in advance; in any case the accountant's limit, "
            f"{_limit(audited.chosen_under)}"
        )
    return exact("{said}. Neighbours: {relation}.", said=said, relation=audited.relation)


def _ends_at(audited: Audit) -> str:
    """Return the ends of the answer that are proved, with the number that was given."""
    return f"{_ends(audited)} at {_symbols(audited)[1]} = {as_given(audited.question.fixed_value)}"


def _symbols(audited: Audit) -> tuple[str, str]:
    return ("ε", "δ") if audited.question.quantity == "epsilon" else ("δ", "ε")


def _ends(audited: Audit) -> str:
    """Return the ends of the answer that are proved; one number where they agree to ten digits."""
    answer, (symbol, _) = audited.answer, _symbols(audited)
    lower = _lower_end(answer)
    if not _bounds_above(answer):
        return f"no bound on {symbol}" if lower is None else f"{symbol} ≥ {at_least(lower.value, _DIGITS)}"
    if lower is None:
        return f"{symbol} ≤ {at_most(answer.upper, _DIGITS)}"
    below_all = symbol == "δ" and lower.value < 1.0 and nearest(answer.upper, _DIGITS) == "1"
    if nearest(lower.value, _DIGITS) == nearest(answer.upper, _DIGITS) and not below_all:
        return f"{symbol} = {nearest(answer.upper, _DIGITS)}"
    return f"{at_least(lower.value, _DIGITS)} ≤ {symbol} ≤ {at_most(answer.upper, _DIGITS)}"


class _LowerEnd(NamedTuple):
    """A proved lower end, and the method that found it."""

    value: float
    method: str


def _lower_end(answer: Enclosure | Bound) -> _LowerEnd | None:
    """Return the lower end of an answer; None where none above 0 is known, and none is printed.

    It is never below 0: if the upper end is 0, it is 0, too.
    """
    if answer.upper == 0.0:
        return _LowerEnd(0.0, answer.by)
    if not isinstance(answer, Enclosure) or answer.lower <= 0.0:
        return None
    return _LowerEnd(answer.lower, answer.attained_by)


def _bounds_above(answer: Enclosure | Bound) -> bool:
    """Return True if the upper end is finite, or is one that data sets attain."""
    return math.isfinite(answer.upper) or lower_end(answer) == math.inf


def _written_lower(answer: Enclosure | Bound, digits: int = _DIGITS) -> str:
    lower = lower_end(answer)
    return "-" if lower is None else at_least(lower, digits)


def audit_person_sentence(audited: Audit) -> Sentence:
    """Return the largest share of right guesses from all releases of an audit, in a sentence.

    For adaptively chosen releases it is the share under the budget that their accountant enforced; without such a limit
    it is for releases fixed in advance.
    """
    question, answer, chosen = audited.question, audited.answer, audited.chosen_under
    enforced = chosen is not None and not math.isinf(chosen.budget.epsilon)
    if chosen is not None and enforced:
        share = correct_guesses(chosen.budget.epsilon, chosen.budget.delta)
    elif audited.risk is not None:
        share = audited.risk.accuracy.upper
    elif question.quantity == "epsilon":
        share = correct_guesses(answer.upper, question.fixed_value)
    else:
        share = correct_guesses(question.fixed_value, answer.upper)
    someone = "Someone" if chosen is None or enforced else "If the releases were fixed in advance, someone"
    guessed = _guessed(audited.neighbouring, audited.group_size)
    return person_sentence(someone, guessed, "all releases", share)


def _guessed(relation: Neighbouring, size: int) -> str:
    if relation is Neighbouring.REPLACE_ONE:
        return f"which of two values {_records(size)} {'has' if size == 1 else 'have'}"
    return f"whether {_records(size)} {'takes' if size == 1 else 'take'} part"


def _records(size: int) -> str:
    return "one record" if size == 1 else f"{size} records"


def _metadata_section(about: FileMetadata) -> Section | None:
    released = "" if about.first is None else f"{about.first} to {about.last}"
    pairs = (
        ("title", about.title),
        ("date", "" if about.date is None else str(about.date)),
        ("released", released),
        *(("notes", line) for line in about.notes.splitlines()),
    )
    said = tuple(pair for pair in pairs if pair[1])
    return Section("File metadata", (Facts(said),)) if said else None


def _meaning(audited: Audit) -> Section:
    answer, (symbol, other) = audited.answer, _symbols(audited)
    lower, bounded = _lower_end(answer), _bounds_above(answer)
    pairs: list[tuple[str, Words]] = [
        ("Upper bound", _bound(at_most(answer.upper, _DIGITS), answer.by) if bounded else "none is proved"),
        *([] if lower is None else [("Lower bound", _bound(at_least(lower.value, _DIGITS), lower.method))]),
        ("Neighbouring relation", f"{audited.neighbouring.description} ({audited.neighbouring})"),
        ("Unit of privacy", "not declared: what the audited data count as one record"),
    ]
    if audited.group_size > 1:
        pairs.append(
            ("Group size", f"{audited.group_size} records that change together, with the same releases")
        )
    # Of several records whose proved ends overlap, this is the one that the upper bound is of.
    known = audited.groups == 1 or (lower is not None and lower.value >= answer.upper * (1.0 - 1e-6))
    pairs.append(("Worst-case record" if known else "Largest upper bound", _worst(audited)))
    said = exact(
        "Total privacy loss {symbol} of {whom} at {other} = {given}.",
        symbol=symbol,
        whom="the worst-case record"
        if audited.group_size == 1
        else f"{audited.group_size} records like the worst-case one",
        other=other,
        given=as_given(audited.question.fixed_value),
    )
    return Section("Privacy loss", (Paragraph(said), Facts(tuple(pairs))))


def _bound(number: str, method: str) -> Sentence:
    """Return a bound with its method, and the method's name in the JSON."""
    words = _METHODS.get(method)
    how = method if words is None else f"{words} ({method})" if words else ""
    return exact("{number}{how}", number=number, how=f": {how}" if how else "")


def _worst(audited: Audit) -> Sentence:
    worst = audited.worst
    alike = f" (and {worst.records - 1:,} others with the same releases)" if worst.records > 1 else ""
    groups = f"; records have {audited.groups:,} different sets of releases" if audited.groups > 1 else ""
    return exact("{name}{alike}{groups}", name=worst.name, alike=alike, groups=groups)


def _released(audited: Audit) -> Section:
    heading: tuple[str, ...] = ("Release", "Mechanism", "Count (worst-case record)")
    rows: tuple[tuple[str, ...], ...] = tuple(
        (
            each.name.removesuffix(f": {each.mechanism}"),
            each.mechanism or "not stated (privacy profile only)",
            f"{each.count:,}",
        )
        for each in audited.released
    )
    if any(each.sensitivity_text for each in audited.released):  # of sampled releases alone
        heading += ("Sensitivity",)
        rows = tuple((*row, each.sensitivity_text) for row, each in zip(rows, audited.released, strict=True))
    said = remark("Noise is in units of the query; sensitivity is 1 unless stated.")
    return Section("Releases", (Paragraph(said), TextTable(heading, rows)))


def _theorems(audited: Audit) -> Section:
    rows = tuple(
        (name, _written_lower(found), at_most(found.upper, _DIGITS))
        for name, found in audited.theorems.items()
    )
    said = exact(
        "The result is the smallest upper bound ({best}); the others are for comparison.",
        best=audited.best_theorem,
    )
    return Section(
        "Bounds by theorem", (Paragraph(said), TextTable(("Theorem", "Lower bound", "Upper bound"), rows))
    )


def _risk(risk: Risk, audited: Audit) -> Section:
    found = [
        ("Membership advantage (TPR − FPR)", risk.advantage),
        ("Accuracy at prior 1/2", risk.accuracy),
        *((f"TPR at FPR {as_given(rate)}", reached) for rate, reached in risk.true_positive_rates.items()),
    ]
    rows = tuple((name, _written_lower(one, 6), at_most(one.upper)) for name, one in found)
    said = exact(
        "Best attack on {whom}, knowing all others ({question}):",
        whom=_records(audited.group_size),
        question=_guessed(audited.neighbouring, audited.group_size),
    )
    claim, remaining, chosen = [], audited.remaining, audited.chosen_under
    if remaining is not None:
        claim = [(remaining.budget, audited.question.fixed_value)]
    elif chosen is not None and math.isfinite(chosen.budget.epsilon):
        claim = [(float(chosen.budget.epsilon), float(chosen.budget.delta))]
    words = "Trade-off curve, {loss}: share of misses of the best attack at each share of false alarms."
    drawn = exact(words, loss=_ends_at(audited))
    table = TextTable(("Attack", "At least", "At most"), rows)
    return Section(
        "Attacks", (Paragraph(said), Picture(trade_off_chart(proved=risk.profile, claim=claim), drawn), table)
    )


def _certainty_sentence(audited: Audit) -> Sentence:
    ends = {
        (True, True): "both ends are proved",
        (True, False): "only the upper bound is proved",
        (False, True): "only the lower bound is proved",
        (False, False): "nothing is proved",
    }[_bounds_above(audited.answer), _lower_end(audited.answer) is not None]
    return exact("Deterministic computation with outward rounding; {ends}.", ends=ends)


def _certainty(audited: Audit) -> Section | None:
    said = []
    if audited.chosen_under is not None:
        limit = _limit(audited.chosen_under)
        said.append(
            exact(
                "If releases were chosen adaptively, quote the limit that the accountant enforced: {limit}.",
                limit=limit,
            )
        )
    if not audited.complete:
        said.append(remark("Stopped at a time limit: more time may bring the ends closer together."))
    return Section("Confidence and limits", tuple(map(Paragraph, said))) if said else None


def _remaining(audited: Audit) -> Section | None:
    remaining = audited.remaining
    if remaining is None:
        return None
    rows = tuple(
        (name, "over a trillion" if math.isinf(more) else f"{more:,.0f}")
        for name, more in remaining.more.items()
    )
    said = exact(
        "Remaining: ε = {epsilon}, for releases with δ = 0. Further releases that fit if only one kind is repeated:",
        epsilon=at_least(remaining.epsilon, _DIGITS),
    )
    more = "Further (worst-case record)" if audited.complete else "Further, at least (worst-case record)"
    return Section("Remaining budget", (Paragraph(said), TextTable(("Release", more), rows)))


def _assumptions(audited: Audit) -> Section:
    blocks: list[Block] = [
        Bullets(
            (
                _FILE,
                remark("Mechanisms and noise were fixed in advance; queries may be adaptive."),
                remark("Noise is real-valued; rounding is not examined."),
            )
        )
    ]
    if audited.chosen_under is not None:
        said = "Releases may have been chosen adaptively; the accountant enforced {limit} for each {who}."
        who = "record" if audited.group_size == 1 else f"group of {audited.group_size:,} records"
        blocks.append(Paragraph(exact(said, limit=_limit(audited.chosen_under), who=who)))
    return assumptions_section(blocks, ADVERSARY)


def _limit(chosen: EnforcedBudget) -> str:
    """Return the limit that an accountant enforced for each record, and its theorem."""
    budget = chosen.budget
    within = "no limit"
    if not math.isinf(budget.epsilon):
        within = f"ε = {as_given(budget.epsilon)}, δ = {as_given(budget.delta)}"
    return f"{within} ({chosen.theorem})"
