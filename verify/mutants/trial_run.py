"""Whether a fault ever acts in a learner: one run, before it is verified."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from accountant import Simulation
from algorithms.catalogue.structured_entries import learner_builder
from algorithms.linear.contextual_play import play_users
from algorithms.play import play_records
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray
from verify.conduct.effort import EFFORTS
from verify.faults.fault import Fault
from verify.faults.planted_learner import planted_learner
from verify.learners.learner_subject import LearnerSubject, choose_problem, learner_effort
from verify.linear.contextual_data import drawn_users
from verify.linear.contextual_subject import build_contextual, is_contextual
from verify.linear.linear_data import play_on
from verify.linear.linear_subject import build_linear, is_linear, linear_rounds
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
    seed = np.random.SeedSequence(options.seed)
    asked, settings = loaded_problem(options.problem), options.settings or {}
    numbers: Any = {"epsilon": epsilon, "delta": delta, "horizon": rounds}
    learner: Any
    steps: Any
    if is_linear(subject):
        build_phased, clients, _ = build_linear(subject, asked, settings, **numbers)
        learner = build_phased(gate)
        steps = play_on(learner, clients, gate, seed, rounds)
    elif is_contextual(subject):
        build_policy, contexts, _ = build_contextual(subject, asked, settings, **numbers)
        learner = build_policy(gate)
        steps = play_users(learner, drawn_users(contexts, rounds, np.random.default_rng(seed)), gate)
    else:
        problem, own, _ = choose_problem(subject, asked, settings)
        learner = learner_builder(subject.make, problem, settings=own, **numbers)(gate)
        steps = play_records(learner, problem, gate, _records(problem, rounds, fault, seed))
    try:
        for _ in steps:
            if learner.planted.did_act:
                return True
    except (Exception, SystemExit):  # a user's learner may raise anything
        return True
    return bool(learner.planted.did_act)


def _records(problem: Problem, rounds: int, fault: Fault, seed: np.random.SeedSequence) -> FloatArray:
    rng = np.random.default_rng(seed)
    drawn = problem.draw_records(rng, rounds + 1)
    if fault.span is None:
        return drawn
    low, high = problem.record_domain.extremes()[:2]
    return np.asarray(low + (high - low) * rng.random(drawn.shape))
