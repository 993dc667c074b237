"""A subject with a fault: what `verify` is asked about in place of the subject itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from faults.fault import AnyFault, Fault
from faults.function_faults import FUNCTION_FAULTS, GATE_FUNCTION_FAULTS, FunctionFault
from faults.learner_faults import LEARNER_FAULTS
from faults.planted_learner import planted_learner
from verify.functions.function_subject import FunctionSubject
from verify.learners.learner_subject import LearnerSubject
from verify.verification.resolve import resolve

Found = LearnerSubject | FunctionSubject


def faults_of(found: Found) -> Mapping[str, AnyFault]:
    """Return the faults that can be planted in a subject, by name."""
    if isinstance(found, LearnerSubject):
        return LEARNER_FAULTS
    return GATE_FUNCTION_FAULTS if found.takes_gate else FUNCTION_FAULTS


def plant(subject: object, fault: str) -> Found:
    """Return a subject with a fault, under a name that says so."""
    found = resolve(subject)
    assert isinstance(found, Found)
    chosen, name = faults_of(found)[fault], f"{found.name} with {fault}"
    if isinstance(found, LearnerSubject):
        assert isinstance(chosen, Fault)
        return replace(found, name=name, make=planted_learner(found.make, chosen))
    assert isinstance(chosen, FunctionFault)
    return replace(found, name=name, function=chosen.plant(found.function), arguments=())
