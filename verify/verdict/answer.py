"""The answer of the layers about a subject, in one value, and as JSON data: all that leaves the process of a subject.

The process that ran the subject sends the data; the process that waits reads them, every key and type checked, and
decides.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Any, TypeVar

from accountant.files.json_object import JsonError, JsonObject
from algorithms.claim import Claim
from algorithms.unit import checked_unit
from mechanisms import Assumption, Neighbouring
from mechanisms.parameters import DPWitnessError
from verify.findings.finding import Finding, LowerBound, UpperBound, Witness
from verify.findings.json_form import json_able, reader_of
from verify.findings.sentences import read_sentence
from verify.sampling.evidence import Evidence

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
            "claim": claim_data(self.claim),
            "seed": self.seed,
            "kind": self.kind,
            "mechanism": self.mechanism,
            "digest": self.digest,
            "modules": self.modules,
            "upper": found.upper,
            "lower": found.lower,
            "witness": found.witness,
            "findings": found.findings,
            "declassified": found.declassified,
            "contradictions": found.contradictions,
            "assumptions": found.assumptions,
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
        claim = read.object("claim", read_stated_claim)
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
    claim = Claim(
        model=read.text("model"),  # type: ignore[arg-type]
        epsilon=read.real_number("epsilon"),
        delta=read.real_number("delta"),
        unit=checked_unit(read.text("unit")),
        neighbours=Neighbouring.from_name(read.text("relation")),
        view=read.text("view"),
        source=read.text("source"),
        differ=read.text("differ"),
        composition=read.text("composition"),
        comment=read.text("comment"),
    )
    read.one_of("neighbours", [claim.neighbour_words])
    return claim


read_upper = reader_of(UpperBound)
read_lower = reader_of(LowerBound)
read_witness = reader_of(Witness)
read_finding = reader_of(Finding)
read_assumption = reader_of(Assumption)
