"""A subject with a fault: what `verify` is asked about in place of the subject itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from algorithms.problems import known_name
from verify.faults.fault import AnyFault, Fault
from verify.faults.function_faults import FUNCTION_FAULTS, GATE_FUNCTION_FAULTS, FunctionFault
from verify.faults.learner_faults import LEARNER_FAULTS
from verify.faults.planted_learner import planted_learner
from verify.functions.function_subject import FunctionSubject
from verify.learners.learner_subject import LearnerSubject
from verify.subject_error import SubjectError


@dataclass(frozen=True)
class Planted:
    """A subject, and a fault to be planted in it wherever it is found.

    Attributes
    ----------
    subject
        What `verify` takes.
    fault
        The fault's name.
    """

    subject: object
    fault: str

    @property
    def name(self) -> str:
        """Of both."""
        named = self.subject if isinstance(self.subject, str) else getattr(self.subject, "name", None)
        own = named if isinstance(named, str) else getattr(self.subject, "__qualname__", "subject")
        return f"{own} with {self.fault}"


FAULTS: Mapping[str, Mapping[str, AnyFault]] = {
    "learner": LEARNER_FAULTS,
    "function of a gate": GATE_FUNCTION_FAULTS,
    "function": FUNCTION_FAULTS,
}
"""Faults by the kind of subject that they are planted in, and by name."""


def kind_of_faults(found: object) -> str:
    """Return the kind of faults that can be planted in a subject, see `FAULTS`.

    Raises
    ------
    SubjectError
        If it is a mechanism or a plain bandit: a mechanism has no gate, and a bandit's noise is out of reach.
    """
    if isinstance(found, LearnerSubject):
        return "learner"
    if isinstance(found, FunctionSubject):
        return "function of a gate" if found.takes_gate else "function"
    raise SubjectError(f"{getattr(found, 'name', found)}: faults are planted in learners and functions only")


def plant(found: object, fault: str) -> LearnerSubject | FunctionSubject:
    """Return a subject with a fault, under a name that says so.

    Raises
    ------
    SubjectError
        If it is of a kind in which nothing can be planted.
    ParameterError
        If there is no such fault for it; the message suggests the closest.
    """
    known = FAULTS[kind_of_faults(found)]
    chosen = known[known_name("fault", fault, known)]
    if isinstance(found, LearnerSubject):
        assert isinstance(chosen, Fault)
        return replace(found, name=f"{found.name} with {fault}", make=planted_learner(found.make, chosen))
    assert isinstance(found, FunctionSubject)
    assert isinstance(chosen, FunctionFault)
    planted = chosen.plant(found.function)
    return replace(found, name=f"{found.name} with {fault}", function=planted, arguments=())
