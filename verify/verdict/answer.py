"""What the layers answer about a subject, in one value, and as JSON data: all that leaves the process of a subject.

The process that ran the subject sends the data; the process that waits reads them, every key and type checked, and
decides.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Any, TypeVar

from algorithms.claim import Claim
from mechanisms import Assumption, AssumptionKind, Neighbouring
from verify.findings import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.verdict.evidence import Evidence
from verify.verdict.json_form import json_able

_LONGEST = 10**6  # characters of one text
_MOST_ENTRIES = 10**5  # of one list of texts, findings or assumptions

_Read = TypeVar("_Read")


class AnswerError(ValueError):
    """Data are no answer, or none to what was asked."""


@unique
class SubjectKind(StrEnum):
    """What a subject is, and with that, what can be proved of it."""

    LEARNER = "learner"
    MECHANISM = "mechanism"
    BANDIT = "bandit"
    FUNCTION = "function"


_BLACK_BOXES = frozenset({SubjectKind.BANDIT, SubjectKind.FUNCTION})


@dataclass(frozen=True)
class Answer:
    """What was found about a subject, before anything is decided.

    Attributes
    ----------
    subject
        Its name.
    claim
        What it is held to.
    seed
        Of everything random.
    kind
        What it is. Of a learner, the evidence says how many rounds were looked at.
    mechanism
        A mechanism's parameters, as its ``to_dict`` says them; of others None.
    evidence
        Everything that the layers found.
    """

    subject: str
    claim: Claim
    seed: int
    kind: SubjectKind
    mechanism: Mapping[str, Any] | None = None
    evidence: Evidence = field(default_factory=Evidence)

    def to_data(self) -> dict[str, Any]:
        """Return the answer as JSON data; infinity is the string "inf".

        Raises
        ------
        TypeError
            If the evidence holds what has no JSON form.
        """
        try:
            data: dict[str, Any] = json_able(self._parts())
        except ValueError as error:  # a fault of ours, and no error in anybody's input
            raise TypeError(f"evidence on {self.subject}: {error}") from error
        return data

    def _parts(self) -> dict[str, Any]:
        found = self.evidence
        return {
            "subject": self.subject,
            "claim": dataclasses.asdict(self.claim) | {"neighbours": self.claim.neighbours.value},
            "seed": self.seed,
            "kind": self.kind.value,
            "mechanism": self.mechanism,
            "upper": found.upper and dataclasses.asdict(found.upper),
            "lower": found.lower and dataclasses.asdict(found.lower),
            "witness": found.witness
            and {one.name: getattr(found.witness, one.name) for one in dataclasses.fields(Witness)},
            "findings": [
                {"kind": one.kind.value, "where": one.where, "message": one.message, "failing": one.failing}
                for one in found.findings
            ],
            "declassified": found.declassified,
            "contradictions": found.contradictions,
            "assumptions": [
                {"kind": one.kind.value, "message": one.message, "where": one.where}
                for one in found.assumptions
            ],
            "details": found.details,
        }

    @classmethod
    def from_data(cls, data: Any) -> Answer:
        """Return the answer that `to_data` wrote.

        Raises
        ------
        AnswerError
            If a key is missing or unknown, or a value has another type or lies outside its range; or if a black box
            comes with an upper bound, which nothing can prove.
        """
        read = _Object(data, "the answer")
        claim = read.object("claim", _claim)
        answer = cls(
            subject=read.text("subject"),
            claim=claim,
            seed=read.whole("seed"),
            kind=read.kind("kind"),
            mechanism=read.take("mechanism", dict, type(None)),
            evidence=Evidence(
                upper=read.perhaps("upper", _upper),
                lower=read.perhaps("lower", _lower),
                witness=read.perhaps("witness", _witness),
                findings=read.entries("findings", _finding),
                declassified=read.texts("declassified"),
                contradictions=read.texts("contradictions"),
                assumptions=read.entries("assumptions", _assumption),
                details=read.mapping("details"),
            ),
        )
        read.end()
        upper = answer.evidence.upper
        if answer.kind in _BLACK_BOXES and upper is not None and math.isfinite(upper.epsilon):
            raise AnswerError(f"it has an upper bound on a {answer.kind.value}")
        return answer

    def agrees_with(self, later: Answer) -> bool:
        """Whether a later answer is about the same; layers may add to what one record is."""
        same_unit = dataclasses.replace(later.claim, unit=self.claim.unit)
        return (self.subject, self.claim, self.seed, self.kind, self.mechanism) == (
            later.subject,
            same_unit,
            later.seed,
            later.kind,
            later.mechanism,
        )

    @property
    def rounds(self) -> int:
        """Rounds of every accounting run of a learner.

        Raises
        ------
        AnswerError
            If the evidence does not say it.
        """
        return _Object(self.evidence.details.get("accounting"), "accounting").whole("rounds")


class _Object:
    """An object of JSON data whose keys are taken one by one, each once and of a known type."""

    def __init__(self, data: Any, what: str) -> None:
        if type(data) is not dict:
            raise AnswerError(f"{what} is no object")
        self._left = dict(data)
        self._what = what

    def take(self, key: str, *types: type) -> Any:
        if key not in self._left:
            raise AnswerError(f"{self._what} has no {key}")
        value = self._left.pop(key)
        if types and type(value) not in types:
            raise AnswerError(f"{key} of {self._what} is of type {type(value).__name__}")
        return value

    def end(self) -> None:
        if self._left:
            raise AnswerError(f"{self._what} has keys that are unknown: {', '.join(sorted(self._left))[:60]}")

    def text(self, key: str) -> str:
        return _text(self.take(key), key)

    def flag(self, key: str) -> bool:
        found: bool = self.take(key, bool)
        return found

    def kind(self, key: str) -> SubjectKind:
        try:
            return SubjectKind(self.text(key))
        except ValueError:
            raise AnswerError(f"{key} of {self._what} is unknown") from None

    def whole(self, key: str) -> int:
        return self._counted(key, self.take(key, int))

    def perhaps_whole(self, key: str) -> int | None:
        found = self.take(key, int, type(None))
        return None if found is None else self._counted(key, found)

    def _counted(self, key: str, found: int) -> int:
        if found < 0:
            raise AnswerError(f"{key} of {self._what} is negative")
        return found

    def number(self, key: str) -> float:
        found = self.take(key, int, float, str)
        if found == "inf":
            return math.inf
        if type(found) is str:
            raise AnswerError(f"{key} of {self._what} is no number")
        try:
            return float(found)
        except OverflowError:
            raise AnswerError(f"{key} of {self._what} is larger than every float") from None

    def mapping(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = self.take(key, dict)
        return found

    def texts(self, key: str) -> list[str]:
        return [_text(each, key) for each in self._list(key)]

    def object(self, key: str, read: Callable[[_Object], _Read]) -> _Read:
        return _read(self.take(key), key, read)

    def perhaps(self, key: str, read: Callable[[_Object], _Read]) -> _Read | None:
        found = self.take(key, dict, type(None))
        return None if found is None else _read(found, key, read)

    def entries(self, key: str, read: Callable[[_Object], _Read]) -> list[_Read]:
        return [_read(each, f"one of {key}", read) for each in self._list(key)]

    def _list(self, key: str) -> list[Any]:
        found: list[Any] = self.take(key, list)
        if len(found) > _MOST_ENTRIES:
            raise AnswerError(f"{key} of {self._what} has {len(found):,} entries")
        return found


def _read(data: Any, what: str, read: Callable[[_Object], _Read]) -> _Read:
    found = _Object(data, what)
    try:
        value = read(found)
    except AnswerError:
        raise
    except ValueError as error:  # the value's own rules
        raise AnswerError(f"{what}: {error}") from None
    found.end()
    return value


def _text(value: Any, what: str) -> str:
    if type(value) is not str or len(value) > _LONGEST:
        raise AnswerError(f"{what} is no text, or too long")
    return value


def _claim(read: _Object) -> Claim:
    return Claim(
        model=read.text("model"),  # type: ignore[arg-type]
        epsilon=read.number("epsilon"),
        delta=read.number("delta"),
        unit=read.text("unit"),
        neighbours=Neighbouring.named(read.text("neighbours")),
        view=read.text("view"),
        source=read.text("source"),
        differ=read.text("differ"),
        composition=read.text("composition"),
    )


def _upper(read: _Object) -> UpperBound:
    return UpperBound(read.number("epsilon"), read.number("delta"), read.text("method"))


def _lower(read: _Object) -> LowerBound:
    return LowerBound(
        epsilon=read.number("epsilon"),
        delta=read.number("delta"),
        confidence=read.number("confidence"),
        method=read.text("method"),
        samples=read.whole("samples"),
        in_view=read.flag("in_view"),
        decisive=read.flag("decisive"),
    )


def _witness(read: _Object) -> Witness:
    neighbours: Mapping[str, Any] = read.mapping("neighbours")
    return Witness(
        neighbours={
            _text(key, "neighbours"): _text(value, "neighbours") for key, value in neighbours.items()
        },
        event=read.text("event"),
        probability=read.number("probability"),
        probability_prime=read.number("probability_prime"),
        reproduce=read.text("reproduce"),
        details=read.mapping("details"),
        hits=read.perhaps_whole("hits"),
        hits_prime=read.perhaps_whole("hits_prime"),
        trials=read.perhaps_whole("trials"),
    )


def _finding(read: _Object) -> Finding:
    kind = FindingKind(read.text("kind"))
    return Finding(kind, read.text("where"), read.text("message"), read.flag("failing"))


def _assumption(read: _Object) -> Assumption:
    return Assumption(AssumptionKind(read.text("kind")), read.text("message"), read.text("where"))
