"""The joint answer of all layers about a subject, and its JSON form, which leaves the subject's process.

The process that ran the subject sends the data; the process that waits reads them, every key and type checked, and
decides.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from accountant.files.json_form import json_able, read_fields
from accountant.files.json_object import JsonError, JsonObject
from algorithms.claim import Claim
from mechanisms.parameters import DPWitnessError
from verify.findings.grounds import Grounds
from verify.sampling.evidence import Evidence
from verify.verdict.subject_kind import BLACK_BOXES, SubjectKind


class AnswerError(DPWitnessError, ValueError):
    """Data are no answer, or the answer to another inquiry."""


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
        The seed of everything random.
    kind
        The kind of the subject. Of a learner, the evidence has the number of rounds that were played.
    mechanism
        A mechanism's parameters, as its ``to_dict`` returns them; of others None.
    digest
        The digest of the subject's own code and parameters; "" if they have none that can be read.
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
            If the evidence has a value without a JSON form.
        """
        evidence = {name: getattr(self.evidence, name) for name in _SENT}
        try:
            data: dict[str, Any] = json_able({name: getattr(self, name) for name in _OWN} | evidence)
        except ValueError as error:  # a fault of ours, and no error in a user's input
            raise TypeError(f"evidence on {self.subject}: {error}") from error
        return data

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
            read = JsonObject(data, "the answer")
            answer = cls(
                **read_fields(read, cls, _OWN), evidence=Evidence(**read_fields(read, Grounds, _SENT))
            )
            read.end()
        except JsonError as error:
            raise AnswerError(str(error)) from None
        upper = answer.evidence.upper
        if answer.kind in BLACK_BOXES and upper is not None and math.isfinite(upper.epsilon):
            raise AnswerError(f"it has an upper bound on a {answer.kind.value}")
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


_OWN = tuple(one.name for one in dataclasses.fields(Answer) if one.name != "evidence")
_SENT = tuple(one.name for one in dataclasses.fields(Grounds))
"""The parts of the evidence that are sent."""
