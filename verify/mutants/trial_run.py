"""Whether a fault ever acts in a learner: one run, before it is verified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from accountant import Simulation
from algorithms.linear.contextual_play import play_users
from algorithms.linear.linear_play import play_linear
from algorithms.play import play_records
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray
from verify.conduct.effort import EFFORTS
from verify.faults.fault import Fault
from verify.faults.planted_learner import planted_learner
from verify.learners.learner_subject import LearnerSubject, learner_effort
from verify.linear.contextual_data import drawn_users
from verify.linear.linear_subject import build_learner, is_contextual, is_linear, linear_rounds
from verify.options import Options
from verify.subjects.own_problem import loaded_problem


def rounds_of(subject: LearnerSubject, options: Options) -> int:
    """Return the rounds of the longest runs of a verification."""
    effort = EFFORTS[options.effort]
    if is_linear(subject):
        return linear_rounds(effort, options.horizon)
    return learner_effort(subject, effort, options.horizon).accounting_rounds


def acts(subject: LearnerSubject, fault: Fault, options: Options, epsilon: float, delta: float) -> bool:
    """Whether a fault changes anything in one run of a learner; a run that fails is left to the verification.

    Data are drawn from the problem's law; for a fault that waits for a rare value, evenly from a record's domain.
    """
    subject = replace(subject, make=planted_learner(subject.make, fault))
    rounds = rounds_of(subject, options)
    gate = Simulation(options.seed, 1)
    rng = np.random.default_rng(np.random.SeedSequence(options.seed))
    build, problem, _ = build_learner(
        subject,
        loaded_problem(options.problem),
        options.settings or {},
        epsilon=epsilon,
        delta=delta,
        horizon=rounds,
    )
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
    except (Exception, SystemExit):  # a user's learner may raise anything
        return True
    return bool(learner.planted.did_act)


def _records(problem: Problem, rounds: int, fault: Fault, rng: np.random.Generator) -> FloatArray:
    drawn = problem.draw_records(rng, rounds + 1)
    if fault.span is None:
        return drawn
    low, high = problem.record_domain.extremes()[:2]
    return np.asarray(low + (high - low) * rng.random(drawn.shape))
