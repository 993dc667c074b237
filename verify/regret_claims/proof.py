"""The assumptions of a regret proof, checked on the user's own problem, and their laws on one of the proof's own.

What holds in every run, as that actions answer the indices, is looked at in one run of what was asked for, to its
horizon, wherever something changes. What holds with a probability needs many runs, of a problem that shows it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
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
from verify.regret_claims.phase_checks import PhaseRun, check_phases, play_phases_checked
from verify.regret_claims.plain_problem import plain_instance, plain_problem
from verify.regret_claims.proof_run import ProofCheck, StructuredRun, check_rounds, play_checked
from verify.regret_claims.simulated_regret import builder_for
from verify.regret_claims.speaking_instances import with_clients
from verify.regret_claims.width_checks import WidthRun, check_widths, play_widths_checked

_MEANS = np.array(
    [0.3, 0.45, 0.6, 0.9]
)  # near 1/2, where estimates vary most, and off it, where a wrong gain shows
_ATTRACTIONS = np.array([0.1, 0.25, 0.4, 0.7])
_ROUNDS, _LANES = 256, 128
_ELIMINATED, _ELIMINATION_LANES = 512, 64
_EPOCH_MEANS, _EPOCH_ROUNDS = (
    np.array([0.2, 0.8, 0.9]),
    20_500,
)  # one arm goes in each of the first two epochs
_LINEAR_ROUNDS, _LINEAR_LANES = 512, 24
_PARAMETER, _OFFERED = np.array([0.6, -0.3]), 4
_MOMENT_LANES, _MOST_MOMENTS = 64, 4096

WHOLE, ONE_BY_ONE = 1_000, 20_000
"""Rounds of a run that are played one by one: of learners that hold their actions, which go on by phases; of others."""


def check_proof(
    make: type[Any], bound: RegretBound, played: Instance, *, problem: str, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    """Check the assumptions of a theorem; nothing if theorem or learner do not show them.

    Parameters
    ----------
    make
        The learner's class: an `ExplainedLearner`, or `ExplainedLists`.
    bound, played
        The theorem, and what is played.
    problem
        The problem's name.
    seed
        Of all randomness.
    error
        The probability that a true learner violates anything, at most.
    """
    theorem = bound.confidence
    if not _shows(make, theorem):
        return ()
    once = played
    if bound.restarts and played.anytime:
        once = played.with_horizon(played.horizon)  # what every epoch is a run of
    found = _checked_laws(make, bound, once, seed=seed, error=0.75 * error)
    if any(check.violated for check in found):
        return found
    own = check_run(make, bound, once, problem=problem, seed=seed, error=0.25 * error)
    if any(check.differs for check in own):
        found = tuple(check for check in found if not check.differs)
    return own if any(check.violated for check in own) else (*found, *own)


def _shows(make: type[Any], theorem: object) -> bool:
    """Return True if learners of a class show what a theorem is about."""
    if isinstance(theorem, ConfidenceTheorem):
        return hasattr(make, "confidence") and (theorem.feeds != "least" or hasattr(make, "fed_arms"))
    if isinstance(theorem, EliminationTheorem):
        return hasattr(make, "confidence")
    if isinstance(theorem, ClickTheorem):
        return hasattr(make, "click_confidence")
    if isinstance(theorem, PhaseTheorem):
        return issubclass(make, PhasedElimination | StandardElimination)
    if isinstance(theorem, WeightTheorem):
        return issubclass(make, Hedge)
    return isinstance(theorem, WidthTheorem) and issubclass(make, ContextualLearner)


def _run_of(theorem: object) -> Callable[..., Any]:
    """Return the class of the runs that check a theorem."""
    if isinstance(theorem, ConfidenceTheorem):
        return EpisodeRun if theorem.index == "divergence" else MeanRun
    if isinstance(theorem, PhaseTheorem):
        return PhaseRun
    if isinstance(theorem, WeightTheorem):
        return ExpertRun
    if isinstance(theorem, WidthTheorem):
        return WidthRun
    return ClickRun if isinstance(theorem, ClickTheorem) else EliminationRun


def check_run(
    make: type[Any], bound: RegretBound, played: Instance, *, problem: str, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    """Return the checks of one run of a learner on the user's own problem, with the rounds that were looked at."""
    try:
        run: PhaseRun | WidthRun | StructuredRun[Any] = _run_of(bound.confidence)(
            bound, played, 1, laws=False
        )
    except GapsUnavailable:
        return ()
    build = builder_for(make, played)
    if isinstance(run, PhaseRun):
        contradiction = play_phases_checked(run, build, seed=seed)
        looked = f"{run.round:,} phases of a run"
    elif isinstance(run, WidthRun):
        contradiction = play_widths_checked(run, build, lanes=1, seed=seed)
        looked = f"{run.round:,} rounds one by one"
    else:
        assert not isinstance(played.problem, LinearBandit | LinearContexts)
        contradiction = play_checked(run, build, lanes=1, seed=seed, whole=WHOLE, rounds=ONE_BY_ONE)
        looked = f"{run.single:,} rounds one by one" + (f" and {run.phases:,} phases" if run.phases else "")
    where = exact("of {rounds:,} rounds of {problem}", rounds=played.horizon, problem=problem).text
    if contradiction is not None:
        said = contradiction.sentence.with_words(f", {where}")
        return (replace(contradiction, sentence=said),)
    checks = [
        ProofCheck(
            "your problem", 1.0, 0.0, exact("looked at: {looked}, {where}", looked=looked, where=where)
        )
    ]
    law = getattr(run, "noise", None)
    if law is not None and law.p <= error:
        said = exact("{seen}, {where}", seen=law.description, where=where)
        checks = [ProofCheck("noise", law.p, error, said)]
    return (*checks, *([] if run.difference is None else [run.difference]))


def _checked_laws(
    make: type[Any], bound: RegretBound, played: Instance, *, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    """Check what a proof says of random quantities, at the learner's epsilon, in many runs of a problem of its own.

    Two of four arms (of a bandit one) are played for 256 rounds in 128 lanes, one of six vectors for 512 rounds in 24:
    proofs hold at any horizon, where bounds may be vacuous. A learner by epochs is played until the third one, one that
    restarts as in each of its epochs; one by elimination among four arms for 512 rounds in 64 lanes, or among three for
    20,500, where a phase takes thousands. One on moments plays four actions of R^2, drawn anew for each of 256 rounds,
    in 64 lanes; up to 4,096 rounds where the first batches are long.
    """
    theorem = bound.confidence
    if isinstance(theorem, PhaseTheorem):
        return _checked_phases(make, bound, theorem, played, seed=seed, error=error)
    if isinstance(theorem, WidthTheorem):
        return _checked_widths(make, bound, theorem, played, seed=seed, error=error)
    lanes, rounds = _LANES, _ROUNDS
    if isinstance(theorem, EliminationTheorem):
        means, rounds = (_EPOCH_MEANS, _EPOCH_ROUNDS) if theorem.fresh else (_MEANS, _ELIMINATED)
        instance, lanes = replace(played, problem=plain_problem("bandit", means)), _ELIMINATION_LANES
    else:
        means = _ATTRACTIONS if make.family == "cascade" else _MEANS
        instance = plain_instance(
            make.family, bound, played, means, 1 if make.family in ("bandit", "experts") else 2
        )
        if played.anytime and bound.levels:
            rounds = int(epoch_end(1)) + _ROUNDS
    instance = replace(instance, horizon=rounds)
    build = builder_for(make, instance)
    return check_rounds(_run_of(theorem), build, bound, instance, lanes=lanes, seed=seed, error=error)


def linear_check_problem(horizon: int, settings: Mapping[str, Value], *, dimension: int = 2) -> LinearBandit:
    """Return six actions on the unit circle or (for 3) the axes, with rewards that are signs, and clients enough."""
    angles = 2 * np.pi * np.arange(6) / 6
    actions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if dimension == 3:
        actions = np.concatenate([np.eye(3), -np.eye(3)])
    return with_clients(LinearBandit(actions, 0.7 * actions[5], 0.05, 1, "signs"), horizon, settings)


def _checked_phases(
    make: type[Any], bound: RegretBound, theorem: PhaseTheorem, played: Instance, *, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    dimension = 2 if theorem.width is None else 3
    problem = linear_check_problem(_LINEAR_ROUNDS, played.settings, dimension=dimension)
    if issubclass(make, StandardElimination):
        problem = replace(problem, sigma=0.0)
    instance = replace(played, problem=problem, horizon=_LINEAR_ROUNDS)
    build = functools.partial(builder_for, make)
    return check_phases(build(instance), bound, instance, lanes=_LINEAR_LANES, seed=seed, error=error)


def _checked_widths(
    make: type[Any],
    bound: RegretBound,
    theorem: WidthTheorem,
    played: Instance,
    *,
    seed: int,
    error: float,
) -> tuple[ProofCheck, ...]:
    shorter = min(1.0, float(played.settings.get("norm", 1.0)))
    instance = replace(played, problem=LinearContexts(shorter * _PARAMETER, _OFFERED), horizon=_ROUNDS)
    first = bound.value_of(theorem.first, instance)
    if first > _ROUNDS / 3:  # for three releases
        instance = replace(instance, horizon=min(_MOST_MOMENTS, math.ceil(3 * first)))
    build = builder_for(make, instance)
    return check_widths(build, bound, instance, lanes=_MOMENT_LANES, seed=seed, error=error)
