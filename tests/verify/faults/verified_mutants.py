"""A subject verified without a fault, and then with each fault that acts in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from accountant import Simulation
from algorithms.linear.contextual_play import play_users
from algorithms.linear.linear_play import play_linear
from algorithms.play import play_records
from algorithms.problems import Problem
from faults.fault import AnyFault, Fault
from faults.planted_learner import planted_learner
from faults.planted_subject import faults_of, plant
from mechanisms.arrays import FloatArray
from verify.conduct.effort import EFFORTS
from verify.functions.function_subject import FunctionSubject
from verify.learners.contextual_data import drawn_users
from verify.learners.learner_on_problem import build_learner, is_contextual, is_linear, length_of_runs
from verify.learners.learner_subject import LearnerSubject
from verify.verdict.result import Verification
from verify.verification.resolve import resolve
from verify.verification.verification import verify


@dataclass(frozen=True)
class Mutant:
    """A subject with a fault, verified.

    Attributes
    ----------
    fault
        What was planted.
    result
        What the verification says.
    exceeds
        Whether its true loss exceeds the claim: True or False by the argument that stands at the fault; None where a
        learner has more noise than its claim needs, so that a fault of a finite factor may keep the claim.
    """

    fault: AnyFault
    result: Verification
    exceeds: bool | None

    @property
    def falsely_certified(self) -> bool:
        """True if the mutant is certified although its true loss exceeds the claim."""
        return self.result.verdict == "certified" and self.exceeds is True


def verified_mutants(
    subject: object, names: Sequence[str] = (), **options: Any
) -> tuple[Verification, list[Mutant]]:
    """Return a subject's own verification, and those of it with each of the named faults (default: all) that acts."""
    found = resolve(subject)
    assert isinstance(found, LearnerSubject | FunctionSubject)
    honest, mutants = verify(found, **options), []
    for name in names or faults_of(found):
        fault, horizon = faults_of(found)[name], options.get("horizon")
        if isinstance(found, LearnerSubject):
            assert isinstance(fault, Fault)
            rounds = rounds_of(found, options["effort"], horizon)
            if horizon is None and rounds < fault.rounds and fault.start > 1:
                horizon = rounds = fault.rounds
            if fault.factor > 1.0 and not acts(
                found, fault, rounds, epsilon=options["epsilon"], delta=options.get("delta", 0.0)
            ):
                continue
        result = verify(plant(found, name), **(options | {"horizon": horizon}))
        mutants.append(Mutant(fault, result, exceeds(fault, honest)))
    return honest, mutants


def exceeds(fault: AnyFault, honest: Verification) -> bool | None:
    """Return whether a mutant exceeds the claim: a finite factor does so only where the loss is about the claim."""
    if fault.harmless:
        return False
    if math.isinf(fault.factor) or honest.upper is None:
        return True
    return True if fault.factor * honest.upper.epsilon > honest.claim.epsilon else None


def rounds_of(subject: LearnerSubject, effort: str, horizon: int | None) -> int:
    """Return the rounds of the longest runs of a verification."""
    return length_of_runs(subject, EFFORTS[effort], horizon)[1]


def acts(subject: LearnerSubject, fault: Fault, rounds: int, *, epsilon: float, delta: float) -> bool:
    """Return whether a fault changes anything in one run of a learner; a run that fails is left to the verification.

    Data are drawn from the problem's law; for a fault that waits for a rare value, evenly from a record's domain.
    """
    subject = replace(subject, make=planted_learner(subject.make, fault))
    gate, rng = Simulation(0, 1), np.random.default_rng(0)
    build, problem, _ = build_learner(subject, None, {}, epsilon=epsilon, delta=delta, horizon=rounds)
    learner = build(gate)
    steps: Iterator[object]
    if is_linear(subject):
        steps = play_linear(learner, problem, gate, rng, rounds=rounds)
    elif is_contextual(subject):
        steps = play_users(learner, drawn_users(problem, rounds, rng), gate)
    else:
        steps = play_records(learner, problem, gate, _records(problem, rounds, fault, rng))
    try:
        for _ in steps:
            if learner.planted.did_act:
                return True
    except Exception:  # a learner with a fault may raise anything
        return True
    return bool(learner.planted.did_act)


def _records(problem: Problem, rounds: int, fault: Fault, rng: np.random.Generator) -> FloatArray:
    drawn = problem.draw_records(rng, rounds + 1)
    if fault.span is None:
        return drawn
    low, high = problem.record_domain.extremes()[:2]
    return np.asarray(low + (high - low) * rng.random(drawn.shape))
