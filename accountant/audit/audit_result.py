"""The result of an audit, and its JSON form, from which it loads back."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from accountant.audit.audit_question import AuditQuestion
from accountant.audit.releases import NO_METADATA, EnforcedBudget, FileMetadata, Group, GroupResult
from accountant.files.json_form import check_derived, json_able, json_fields, read_fields, reader_of
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

    KEYS: ClassVar = {"sensitivity_text": "sensitivity"}

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

    KEYS: ClassVar = {"neighbouring": "neighbours", "best_theorem": "best", "provenance": "made"}
    DERIVED: ClassVar = ("best_theorem",)

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
        given, answer = self.question, _interval(self.answer)
        remaining = None if self.remaining is None else {**json_able(self.remaining), "within": self.within}
        return {
            "format": FORMAT,
            **json_fields(self, (*_OWN, *self.DERIVED)),
            "delta": given.delta if given.quantity == "epsilon" else answer,
            "epsilon": given.epsilon if given.quantity == "delta" else answer,
            "theorems": {name: _interval(found) for name, found in self.theorems.items()},
            "worst": {"group": self.worst.name, "alike": self.worst.records, "groups": self.groups},
            "risk": None if self.risk is None else _risk_data(self.risk),
            "remaining": remaining,
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
        own = read_fields(read, cls, _OWN)
        read_interval = functools.partial(_read_interval, relation=own["neighbouring"])
        known, asked = ("epsilon", "delta") if isinstance(data.get("delta"), dict) else ("delta", "epsilon")
        worst = read.object(
            "worst", lambda one: (one.text("group"), one.integer("alike"), one.integer("groups"))
        )
        within, remaining = read.optional("remaining", _read_remaining) or (True, None)
        theorems = JsonObject(read.mapping("theorems"), "theorems")
        counts = {i: one.count for i, one in enumerate(own["released"]) if one.count}
        audit = cls(
            question=AuditQuestion(**{known: read.real_number(known)}),
            answer=read.object(asked, read_interval),
            theorems={name: theorems.object(name, read_interval) for name in data["theorems"]},
            worst=Group(worst[0], worst[1], counts),
            groups=worst[2],
            remaining=remaining,
            risk=read.optional("risk", functools.partial(_read_risk, read_interval=read_interval)),
            **own,
        )
        if audit.group_size < 1:
            raise JsonError("group_size of the audit must be at least 1")
        if not audit.theorems:
            raise JsonError("theorems of the audit must be at least one")
        check_derived(read, audit)
        read.end()
        if within != audit.within:
            raise JsonError(f"within of remaining must follow from the answer and the budget: {audit.within}")
        if remaining is not None and remaining.more.keys() != {one.name for one in audit.released}:
            raise JsonError("more of remaining must name what is released")
        return audit


_OWN = (
    "name",
    "about",
    "neighbouring",
    "group_size",
    "released",
    "complete",
    "chosen_under",
    "repeat",
    "provenance",
)
"""The fields that JSON has as they are."""


def _read_remaining(read: JsonObject) -> tuple[bool | None, RemainingBudget]:
    return read.pop("within", bool, type(None)), reader_of(RemainingBudget)(read)


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


def _read_risk(read: JsonObject, read_interval: Callable[[JsonObject], Enclosure | Bound]) -> Risk:
    def read_rate(one: JsonObject) -> tuple[float, Enclosure | Bound]:
        return one.real_number("false_positive_rate"), read_interval(one)

    return Risk(
        read.object("advantage", read_interval),
        read.object("accuracy", read_interval),
        dict(read.entries("true_positive_rates", read_rate)),
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
    data: dict[str, Any] = json_able(
        {
            "lower": lower_end(found),
            "upper": found.upper,
            "method": _method(found),
            "lower_by": found.attained_by if isinstance(found, Enclosure) else None,
            "upper_by": found.by,
        }
    )
    return data


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
