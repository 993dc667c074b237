"""The answer of the layers about a subject, in one value, and as JSON data: all that leaves the process of a subject.

The process that ran the subject sends the data; the process that waits reads them, every key and type checked, and
decides.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Any, TypeVar, get_type_hints

from accountant.files.json_object import JsonError, JsonObject
from algorithms.claim import Claim
from algorithms.unit import checked_unit
from mechanisms import Assumption, AssumptionKind, Neighbouring
from mechanisms.parameters import DPWitnessError
from verify.findings import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.sentences import Sentence, read_sentence
from verify.verdict.evidence import Evidence
from verify.verdict.json_form import json_able

_Written = TypeVar("_Written")


class AnswerError(DPWitnessError, ValueError):
    """Data are no answer, or the answer to another inquiry."""


@unique
class SubjectKind(StrEnum):
    """The kind of a subject, on which the possible proofs depend."""

    LEARNER = "learner"
    MECHANISM = "mechanism"
    BANDIT = "bandit"
    FUNCTION = "function"


BLACK_BOXES = frozenset({SubjectKind.BANDIT, SubjectKind.FUNCTION})
"""Of these nothing can be proved."""


@dataclass(frozen=True)
class Answer:
    """The findings about a subject, before anything is decided.

    Attributes
    ----------
    subject
        Its name.
    claim
        Its claim.
    seed
        Of everything random.
    kind
        The kind of the subject. Of a learner, the evidence has the number of rounds that were played.
    mechanism
        A mechanism's parameters, as its ``to_dict`` returns them; of others None.
    digest
        Of the subject's own code and parameters; "" if they have none that can be read.
    modules
        Digests of the modules outside of this library that its code consists of, by name.
    evidence
        Everything that the layers found.
    """

    subject: str
    claim: Claim
    seed: int
    kind: SubjectKind
    mechanism: Mapping[str, Any] | None = None
    digest: str = ""
    modules: Mapping[str, str] = field(default_factory=dict)
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
            "claim": {**dataclasses.asdict(self.claim), "unit": str(self.claim.unit)},
            "seed": self.seed,
            "kind": self.kind,
            "mechanism": self.mechanism,
            "digest": self.digest,
            "modules": self.modules,
            "upper": found.upper and dataclasses.asdict(found.upper),
            "lower": found.lower and dataclasses.asdict(found.lower),
            "witness": found.witness
            and {one.name: getattr(found.witness, one.name) for one in dataclasses.fields(Witness)},
            "findings": list(map(dataclasses.asdict, found.findings)),
            "declassified": found.declassified,
            "contradictions": found.contradictions,
            "assumptions": list(map(dataclasses.asdict, found.assumptions)),
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
        try:
            answer = cls._read(JsonObject(data, "the answer"))
        except JsonError as error:
            raise AnswerError(str(error)) from None
        upper = answer.evidence.upper
        if answer.kind in BLACK_BOXES and upper is not None and math.isfinite(upper.epsilon):
            raise AnswerError(f"it has an upper bound on a {answer.kind.value}")
        return answer

    @classmethod
    def _read(cls, read: JsonObject) -> Answer:
        claim = read.object("claim", _read_claim)
        answer = cls(
            subject=read.text("subject"),
            claim=claim,
            seed=read.integer("seed"),
            kind=SubjectKind(read.one_of("kind", [kind.value for kind in SubjectKind])),
            mechanism=read.pop("mechanism", dict, type(None)),
            digest=read.text("digest"),
            modules=read.text_mapping("modules"),
            evidence=Evidence(
                upper=read.optional("upper", read_upper),
                lower=read.optional("lower", read_lower),
                witness=read.optional("witness", read_witness),
                findings=read.entries("findings", read_finding),
                declassified=read.texts("declassified"),
                contradictions=read.entries("contradictions", read_sentence),
                assumptions=read.entries("assumptions", read_assumption),
                details=read.mapping("details"),
            ),
        )
        read.end()
        return answer

    def agrees_with(self, later: Answer) -> bool:
        """Return True if a later answer is about the same; its unit and comment may say more about a record."""
        same = dataclasses.replace(later.claim, unit=self.claim.unit, comment=self.claim.comment)
        return dataclasses.replace(self, evidence=later.evidence) == dataclasses.replace(later, claim=same)

    @property
    def rounds(self) -> int:
        """Rounds of every accounting run of a learner.

        Raises
        ------
        AnswerError
            If the evidence does not say it.
        """
        try:
            return JsonObject(self.evidence.details.get("accounting"), "accounting").integer("rounds")
        except JsonError as error:
            raise AnswerError(str(error)) from None


def _read_claim(read: JsonObject, relation: str = "neighbours") -> Claim:
    """Return a claim that was written by its fields, its relation under a name of its own."""
    return Claim(
        model=read.text("model"),  # type: ignore[arg-type]
        epsilon=read.real_number("epsilon"),
        delta=read.real_number("delta"),
        unit=checked_unit(read.text("unit")),
        neighbours=Neighbouring.from_name(read.text(relation)),
        view=read.text("view"),
        source=read.text("source"),
        differ=read.text("differ"),
        composition=read.text("composition"),
        comment=read.text("comment"),
    )


def claim_data(claim: Claim) -> dict[str, Any]:
    """Return a claim as results state it in JSON: with the words of its neighbours beside the relation."""
    return {
        "model": claim.model,
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "unit": str(claim.unit),
        "neighbours": claim.neighbour_words,
        "relation": claim.neighbours.value,
        "view": claim.view,
        "source": claim.source,
        "differ": claim.differ,
        "composition": claim.composition,
        "comment": claim.comment,
    }


def read_stated_claim(read: JsonObject) -> Claim:
    """Read the claim that `claim_data` wrote; `ValueError` if a value is wrong or the words are not the relation's."""
    claim = _read_claim(read, relation="relation")
    read.one_of("neighbours", [claim.neighbour_words])
    return claim


_TAKEN: Mapping[Any, Callable[[JsonObject, str], Any]] = {
    str: JsonObject.text,
    bool: JsonObject.flag,
    int: JsonObject.integer,
    float: JsonObject.real_number,
    int | None: JsonObject.optional_integer,
    tuple[str, float]: JsonObject.labelled_number,
    Mapping[str, str]: JsonObject.text_mapping,
    Mapping[str, Any]: JsonObject.mapping,
    FindingKind: lambda read, key: FindingKind(read.text(key)),
    Sentence: lambda read, key: read.object(key, read_sentence),
    AssumptionKind: lambda read, key: AssumptionKind(read.text(key)),
}
"""How a value of a type is taken from a JSON object."""


def dataclass_reader(kind: type[_Written]) -> Callable[[JsonObject], _Written]:
    """Return the function that reads a data class from the JSON object of its fields."""
    types = get_type_hints(kind)
    return lambda read: kind(**{name: _TAKEN[its_type](read, name) for name, its_type in types.items()})


read_upper = dataclass_reader(UpperBound)
read_lower = dataclass_reader(LowerBound)
read_witness = dataclass_reader(Witness)
read_finding = dataclass_reader(Finding)
read_assumption = dataclass_reader(Assumption)
