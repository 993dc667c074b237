"""The result of an audit, and its JSON form, from which it loads back."""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from accountant.audit.audit_question import AuditQuestion
from accountant.audit.releases import NO_METADATA, EnforcedBudget, FileMetadata, Group, GroupResult
from accountant.budget import Budget
from accountant.files.json_object import FromJson, JsonError, JsonObject
from accountant.provenance import Provenance
from mechanisms.composition.enclosure import Bound, Enclosure, lower_end
from mechanisms.composition.risk import Risk
from mechanisms.domains.neighbouring import Neighbouring

FORMAT = "dpwitness audit, version 1"


@dataclass(frozen=True)
class RemainingBudget:
    """The rest of an epsilon budget for the records of the worst group.

    Attributes
    ----------
    budget
        The budget.
    epsilon
        The budget less the answer's upper end, at least 0.
    more
        The number of further releases of each kind that fit for these records, by the kind's name; inf if more than a
        trillion do. After a time limit at least so many.
    """

    budget: float
    epsilon: float
    more: Mapping[str, float]


@dataclass(frozen=True)
class ReleaseSummary:
    """One kind of release of an audited file.

    Attributes
    ----------
    name
        Its name in reports.
    count
        The number of times that the worst group is part of it.
    sensitivity_text
        For a sampled release, the movement that its sensitivity bounds, in words.
    mechanism
        The mechanism with its noise, in words; "" if only a curve is known.
    """

    name: str
    count: int
    sensitivity_text: str = ""
    mechanism: str = ""


@dataclass(frozen=True)
class Audit(FromJson, GroupResult):
    """The answer to a question about a file of releases.

    Attributes
    ----------
    question
        The question.
    answer
        For the worst group: the upper bound of all theorems together, with a lower end if data sets attain one.
    theorems
        The same by every theorem by itself.
    worst
        The group with the largest answer.
    groups
        The number of groups.
    remaining
        The rest of a budget; None if none was given.
    neighbouring
        The neighbouring relation of every number.
    chosen_under
        For a ledger, the budget that held for every choice of its run: the other numbers hold for releases fixed in
        advance.
    risk
        Bounds on the success of attacks, the largest over all groups of records; None if they were not asked for.
    group_size
        The number of records that change together: every number is for groups of this size that take part in the same
        releases.
    complete
        True if all was done before the time limit; if not, intervals are wider, and theorems may be missing.
    about
        The file's title, notes and dates.
    released
        Every kind of release, and how often the worst group is part of it.
    name, repeat
        The name of the releases, and the command that audits them again; empty where there is none.
    provenance
        Its date and the code that made it.
    """

    question: AuditQuestion
    answer: Enclosure | Bound
    theorems: Mapping[str, Enclosure | Bound]
    worst: Group
    groups: int
    remaining: RemainingBudget | None
    neighbouring: Neighbouring
    chosen_under: EnforcedBudget | None
    risk: Risk | None = None
    group_size: int = 1
    complete: bool = True
    about: FileMetadata = NO_METADATA
    released: tuple[ReleaseSummary, ...] = ()
    name: str = ""
    repeat: str = ""
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    @property
    def within(self) -> bool | None:
        """True if the releases are within the budget or none was given; None if the bounds do not decide it."""
        if self.remaining is None or self.answer.upper <= self.remaining.budget:
            return True
        return False if (lower_end(self.answer) or 0.0) > self.remaining.budget else None

    @property
    def best_theorem(self) -> str:
        """The theorem with the smallest upper bound."""
        return min(self.theorems, key=lambda name: self.theorems[name].upper)

    def json(self) -> dict[str, Any]:
        """Return the audit as the stable JSON object; infinity is the string ``"inf"``."""
        given = self.question
        return {
            "format": FORMAT,
            "name": self.name,
            **_about_data(self.about),
            "neighbours": self.neighbouring.value,
            "group_size": self.group_size,
            "delta": given.delta if given.quantity == "epsilon" else _interval(self.answer),
            "epsilon": given.epsilon if given.quantity == "delta" else _interval(self.answer),
            "theorems": {name: _interval(found) for name, found in self.theorems.items()},
            "best": self.best_theorem,
            "worst": {"group": self.worst.name, "alike": self.worst.records, "groups": self.groups},
            "released": [
                {
                    "name": each.name,
                    "count": each.count,
                    "sensitivity": each.sensitivity_text,
                    "mechanism": each.mechanism,
                }
                for each in self.released
            ],
            "complete": self.complete,
            "chosen_under": None
            if self.chosen_under is None
            else {
                "theorem": self.chosen_under.theorem,
                "epsilon": _json_number(self.chosen_under.budget.epsilon),
                "delta": self.chosen_under.budget.delta,
            },
            "risk": None if self.risk is None else _risk_data(self.risk),
            "remaining": None
            if self.remaining is None
            else {
                "budget": self.remaining.budget,
                "within": self.within,
                "epsilon": self.remaining.epsilon,
                "more": {name: _json_number(count) for name, count in self.remaining.more.items()},
            },
            "repeat": self.repeat,
            "made": self.provenance.json(),
        }

    @classmethod
    def from_json(cls, data: Any) -> Audit:
        """Return the audit that `json` wrote.

        Raises
        ------
        JsonError, ParameterError
            If a key is missing, unknown or of another type, a value is out of range, or a statement does not follow
            from the numbers.
        """
        read = JsonObject(data, "the audit")
        read.one_of("format", [FORMAT])
        relation = Neighbouring(read.one_of("neighbours", [each.value for each in Neighbouring]))
        read_interval = functools.partial(_read_interval, relation=relation)
        if isinstance(data.get("delta"), dict):
            question = AuditQuestion(epsilon=read.real_number("epsilon"))
            answer = read.object("delta", read_interval)
        else:
            question = AuditQuestion(delta=read.real_number("delta"))
            answer = read.object("epsilon", read_interval)
        worst = read.object(
            "worst", lambda one: (one.text("group"), one.integer("alike"), one.integer("groups"))
        )
        released = tuple(
            read.entries(
                "released",
                lambda one: ReleaseSummary(
                    one.text("name"), one.integer("count"), one.text("sensitivity"), one.text("mechanism")
                ),
            )
        )
        within, remaining = read.optional("remaining", _read_remaining) or (True, None)
        best = read.text("best")
        theorems = JsonObject(read.mapping("theorems"), "theorems")
        audit = cls(
            question=question,
            answer=answer,
            theorems={name: theorems.object(name, read_interval) for name in data["theorems"]},
            worst=Group(worst[0], worst[1], {i: one.count for i, one in enumerate(released) if one.count}),
            groups=worst[2],
            remaining=remaining,
            neighbouring=relation,
            chosen_under=read.optional("chosen_under", _read_chosen),
            risk=read.optional("risk", functools.partial(_read_risk, relation=relation)),
            group_size=read.integer("group_size"),
            complete=read.flag("complete"),
            about=_read_about(read),
            released=released,
            name=read.text("name"),
            repeat=read.text("repeat"),
            provenance=read.object("made", Provenance.from_fields),
        )
        read.end()
        if audit.group_size < 1:
            raise JsonError("group_size of the audit must be at least 1")
        if not audit.theorems or best != audit.best_theorem:
            raise JsonError("best of the audit must be the theorem with the least upper end")
        if within != audit.within:
            raise JsonError(f"within of remaining must follow from the answer and the budget: {audit.within}")
        if remaining is not None and remaining.more.keys() != {one.name for one in released}:
            raise JsonError("more of remaining must name what is released")
        return audit


def _about_data(about: FileMetadata) -> dict[str, Any]:
    dates = {"date": about.date, "first": about.first, "last": about.last}
    return {
        "title": about.title,
        "notes": about.notes,
        **{key: None if date is None else date.isoformat() for key, date in dates.items()},
    }


def _read_about(read: JsonObject) -> FileMetadata:
    return FileMetadata(
        read.text("title"), read.text("notes"), _date(read, "date"), _date(read, "first"), _date(read, "last")
    )


def _date(read: JsonObject, key: str) -> datetime.date | None:
    written = read.pop(key, str, type(None))
    try:
        return None if written is None else datetime.date.fromisoformat(written)
    except ValueError:
        raise JsonError(f"{key} of the audit must be a date, year-month-day") from None


def _risk_data(risk: Risk) -> dict[str, Any]:
    return {
        "advantage": _interval(risk.advantage),
        "accuracy": _interval(risk.accuracy),
        "true_positive_rates": [
            {"false_positive_rate": rate, **_interval(found)}
            for rate, found in risk.true_positive_rates.items()
        ],
        "profile": [{"epsilon": epsilon, "delta": delta} for epsilon, delta in risk.profile],
    }


def _read_risk(read: JsonObject, relation: Neighbouring) -> Risk:
    interval = functools.partial(_read_interval, relation=relation)
    return Risk(
        read.object("advantage", interval),
        read.object("accuracy", interval),
        dict(
            read.entries(
                "true_positive_rates", lambda one: (one.real_number("false_positive_rate"), interval(one))
            )
        ),
        tuple(read.entries("profile", _read_point)),
    )


def _read_point(read: JsonObject) -> tuple[float, float]:
    epsilon, delta = read.real_number("epsilon"), read.real_number("delta")
    if not (0.0 <= epsilon < math.inf and 0.0 <= delta <= 1.0):
        raise JsonError(
            f"profile must be of finite ε of at least 0 and δ in [0, 1], got {epsilon!r}, {delta!r}"
        )
    return epsilon, delta


def _interval(found: Enclosure | Bound) -> dict[str, Any]:
    lower = lower_end(found)
    return {
        "lower": None if lower is None else _json_number(lower),
        "upper": _json_number(found.upper),
        "method": _method(found),
        "lower_by": found.attained_by if isinstance(found, Enclosure) else None,
        "upper_by": found.by,
    }


def _method(found: Enclosure | Bound) -> str:
    if isinstance(found, Bound) or found.attained_by == found.by:
        return found.by
    return f"at least: {found.attained_by}; at most: {found.by}"


def _read_interval(read: JsonObject, relation: Neighbouring) -> Enclosure | Bound:
    upper, by = read.real_number("upper"), read.text("upper_by")
    found: Enclosure | Bound = Bound(upper, by, relation)
    if (attained_by := read.pop("lower_by", str, type(None))) is None:
        read.pop("lower", type(None))
        if not upper >= 0.0:
            raise JsonError(f"upper must be at least 0, got {upper!r}")
    else:
        lower = read.real_number("lower")
        if not 0 <= lower <= upper:
            raise JsonError(f"lower and upper must be 0 <= lower <= upper, got {lower!r} and {upper!r}")
        found = Enclosure(lower, upper, attained_by, by, relation)
    read.one_of("method", [_method(found)])
    return found


def _read_chosen(read: JsonObject) -> EnforcedBudget:
    return EnforcedBudget(
        read.text("theorem"), Budget(read.real_number("epsilon"), read.real_number("delta"))
    )


def _read_remaining(read: JsonObject) -> tuple[bool | None, RemainingBudget]:
    within = read.pop("within", bool, type(None))
    more = read.mapping("more")
    counts = JsonObject(more, "more")
    return within, RemainingBudget(
        read.real_number("budget"),
        read.real_number("epsilon"),
        {name: counts.real_number(name) for name in more},
    )


def _json_number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value
