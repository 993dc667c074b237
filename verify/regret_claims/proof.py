"""Checks of a regret proof's assumptions: on the user's own problem, and their laws on a problem of the checks.

Statements about every run, as that actions answer the indices, are checked in one run of the user's own instance, to
its horizon, wherever something changes. Statements with a probability need many runs, of a problem that shows them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from algorithms.epochs import epoch_end
from algorithms.full_information.hedge import Hedge
from algorithms.linear.contextual_learner import ContextualLearner
from algorithms.linear.dp_pe import StandardElimination
from algorithms.linear.phased_elimination import PhasedElimination
from algorithms.problems import LinearBandit, LinearContexts, Value
from algorithms.theory.confidence_theorem import (
    ClickTheorem,
    ConfidenceTheorem,
    EliminationTheorem,
    PhaseTheorem,
    WeightTheorem,
    WidthTheorem,
)
from algorithms.theory.gaps import GapsUnavailable
from algorithms.theory.regret_bound import Instance, RegretBound
from verify.findings.sentences import exact
from verify.regret_claims.click_checks import ClickRun
from verify.regret_claims.elimination_checks import EliminationRun
from verify.regret_claims.episode_checks import EpisodeRun
from verify.regret_claims.expert_checks import ExpertRun
from verify.regret_claims.mean_checks import MeanRun
from verify.regret_claims.phase_checks import PhaseRun
from verify.regret_claims.plain_problem import plain_instance, plain_problem
from verify.regret_claims.proof_run import ProofRun, check_laws, play_checked
from verify.regret_claims.regret_report import ProofCheck
from verify.regret_claims.simulated_regret import builder_for
from verify.regret_claims.speaking_instances import with_clients
from verify.regret_claims.width_checks import WidthRun

# Near 1/2, where estimates vary most, and off it, where a wrong gain shows.
_MEANS = np.array([0.3, 0.45, 0.6, 0.9])
_ATTRACTIONS = np.array([0.1, 0.25, 0.4, 0.7])
_ROUNDS, _LANES = 256, 128
_ELIMINATED, _ELIMINATION_LANES = 512, 64
# One arm goes in each of the first two epochs.
_EPOCH_MEANS, _EPOCH_ROUNDS = np.array([0.2, 0.8, 0.9]), 20_500
_LINEAR_ROUNDS, _LINEAR_LANES = 512, 24
_PARAMETER, _OFFERED = np.array([0.6, -0.3]), 4
_MOMENT_LANES, _MOST_MOMENTS = 64, 4096


def check_proof(
    make: type[Any], bound: RegretBound, played: Instance, *, problem: str, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    """Check the assumptions of a theorem; nothing if theorem or learner do not show them.

    Parameters
    ----------
    make
        The learner's class: an `ExplainedLearner`, or `ExplainedLists`.
    bound, played
        The theorem, and the instance that is played.
    problem
        The problem's name.
    seed
        The seed of all randomness.
    error
        The probability that a true learner violates anything, at most.
    """
    if _run_class(make, bound.confidence) is None:
        return ()
    once = played
    if bound.restarts and played.anytime:
        once = played.with_horizon(played.horizon)  # every epoch is a run of this
    found = _check_own_laws(make, bound, once, seed=seed, error=0.75 * error)
    if any(check.violated for check in found):
        return found
    own = check_run(make, bound, once, problem=problem, seed=seed, error=0.25 * error)
    if any(check.differs for check in own):
        found = tuple(check for check in found if not check.differs)
    return own if any(check.violated for check in own) else (*found, *own)


def _run_class(make: type[Any], theorem: object) -> type[Any] | None:
    """Return the class of the runs that check a theorem; None if such learners do not show the state for it."""
    means = EpisodeRun if getattr(theorem, "index", "") == "divergence" else MeanRun
    feeds = getattr(theorem, "feeds", "") != "least" or hasattr(make, "fed_arms")
    rows: dict[type[Any], tuple[type[Any], bool]] = {
        ConfidenceTheorem: (means, hasattr(make, "confidence") and feeds),
        EliminationTheorem: (EliminationRun, hasattr(make, "confidence")),
        ClickTheorem: (ClickRun, hasattr(make, "click_confidence")),
        PhaseTheorem: (PhaseRun, issubclass(make, PhasedElimination | StandardElimination)),
        WidthTheorem: (WidthRun, issubclass(make, ContextualLearner)),
        WeightTheorem: (ExpertRun, issubclass(make, Hedge)),
    }
    run, shows = rows.get(type(theorem), (ProofRun, False))
    return run if shows else None


def check_run(
    make: type[Any], bound: RegretBound, played: Instance, *, problem: str, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    """Return the checks of one run of a learner on the user's own problem, with the rounds that were looked at."""
    kind = _run_class(make, bound.confidence)
    assert kind is not None
    try:
        run: ProofRun = kind(bound, played, 1, laws=False)
    except GapsUnavailable:
        return ()
    contradiction = play_checked(run, builder_for(make, played), seed=seed)
    where = exact("of {rounds:,} rounds of {problem}", rounds=played.horizon, problem=problem).text
    if contradiction is not None:
        said = contradiction.sentence.with_words(f", {where}")
        return (replace(contradiction, sentence=said),)
    checks = [
        ProofCheck(
            "your problem", 1.0, 0.0, exact("looked at: {looked}, {where}", looked=run.extent, where=where)
        )
    ]
    law = getattr(run, "noise", None)
    if law is not None and law.p <= error:
        said = exact("{seen}, {where}", seen=law.description, where=where)
        checks = [ProofCheck("noise", law.p, error, said)]
    return (*checks, *([] if run.difference is None else [run.difference]))


def _check_own_laws(
    make: type[Any], bound: RegretBound, played: Instance, *, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    """Check a proof's random quantities, at the learner's epsilon, in many runs of a problem of its own.

    Two of four arms (of a bandit one) are played for 256 rounds in 128 lanes, one of six vectors for 512 rounds in 24:
    proofs hold at any horizon, where bounds may be vacuous. A learner by epochs is played until the third one, one that
    restarts as in each of its epochs; one by elimination among four arms for 512 rounds in 64 lanes, or among three for
    20,500, where a phase takes thousands. One on moments plays four actions of R^2, drawn anew for each of 256 rounds,
    in 64 lanes; up to 4,096 rounds where the first batches are long.
    """
    instance, lanes = _law_instance(make, bound, played)
    kind, build = _run_class(make, bound.confidence), builder_for(make, instance)
    assert kind is not None
    return check_laws(kind, build, bound, instance, lanes=lanes, seed=seed, error=error)


def _law_instance(make: type[Any], bound: RegretBound, played: Instance) -> tuple[Instance, int]:
    """Return the instance that tests the laws of a proof, and the number of lanes."""
    theorem = bound.confidence
    own_rounds = int(epoch_end(1)) + _ROUNDS if played.anytime and bound.levels else _ROUNDS
    if isinstance(theorem, PhaseTheorem):
        dimension = 2 if theorem.width is None else 3
        problem = linear_check_problem(_LINEAR_ROUNDS, played.settings, dimension=dimension)
        if issubclass(make, StandardElimination):
            problem = replace(problem, sigma=0.0)
        return replace(played, problem=problem, horizon=_LINEAR_ROUNDS), _LINEAR_LANES
    if isinstance(theorem, WidthTheorem):
        shorter = min(1.0, float(played.settings.get("norm", 1.0)))
        instance = replace(played, problem=LinearContexts(shorter * _PARAMETER, _OFFERED), horizon=own_rounds)
        first = bound.value_of(theorem.first, instance)
        if first > own_rounds / 3:  # for three releases
            instance = replace(instance, horizon=min(_MOST_MOMENTS, math.ceil(3 * first)))
        return instance, _MOMENT_LANES
    if isinstance(theorem, EliminationTheorem):
        means, rounds = (_EPOCH_MEANS, _EPOCH_ROUNDS) if theorem.fresh else (_MEANS, _ELIMINATED)
        there = replace(played, problem=plain_problem("bandit", means), horizon=rounds)
        return there, _ELIMINATION_LANES
    means = _ATTRACTIONS if make.family == "cascade" else _MEANS
    size = 1 if make.family in ("bandit", "experts") else 2
    instance = plain_instance(make.family, bound, played, means, size)
    return replace(instance, horizon=own_rounds), _LANES


def linear_check_problem(horizon: int, settings: Mapping[str, Value], *, dimension: int = 2) -> LinearBandit:
    """Return six actions on the unit circle or (for 3) the axes, with rewards that are signs, and clients enough."""
    angles = 2 * np.pi * np.arange(6) / 6
    actions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if dimension == 3:
        actions = np.concatenate([np.eye(3), -np.eye(3)])
    return with_clients(LinearBandit(actions, 0.7 * actions[5], 0.05, 1, "signs"), horizon, settings)
