"""The assumptions of a regret proof, checked on an instance of the proof's own, if the learner shows its state."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from algorithms.epochs import epoch_end
from algorithms.linear.contextual_learner import ContextualLearner
from algorithms.linear.dp_pe import StandardElimination
from algorithms.linear.phased_elimination import PhasedElimination
from algorithms.problems import LinearBandit, LinearContexts, Value
from algorithms.theory.confidence_theorem import (
    ClickTheorem,
    ConfidenceTheorem,
    EliminationTheorem,
    PhaseTheorem,
    WidthTheorem,
)
from algorithms.theory.regret_bound import Instance, RegretBound
from verify.regret_claims.click_checks import ClickRun
from verify.regret_claims.elimination_checks import EliminationRun
from verify.regret_claims.episode_checks import EpisodeRun
from verify.regret_claims.evidence_checks import EvidenceRun
from verify.regret_claims.mean_checks import MeanRun
from verify.regret_claims.phase_checks import check_phases
from verify.regret_claims.plain_problem import plain_instance, plain_problem
from verify.regret_claims.proof_run import ProofCheck, check_rounds
from verify.regret_claims.simulated_regret import builder_for
from verify.regret_claims.speaking_instances import with_clients
from verify.regret_claims.width_checks import check_widths
from verify.regret_claims.worst_clicks import check_worst_clicks, worst_lists
from verify.regret_claims.worst_data import check_worst_data, worst_instance
from verify.regret_claims.worst_rewards import check_worst_rewards, worst_actions

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
_SHUFFLED_EPSILON = 10.0


def check_proof(
    make: type[Any], bound: RegretBound, played: Instance, *, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    """Check the assumptions of a theorem, at the learner's epsilon; nothing if theorem or learner do not show them.

    Two of four arms (of a bandit one) are played for 256 rounds in 128 lanes, one of six vectors for 512 rounds in 24:
    proofs hold at any horizon, where bounds may be vacuous. A learner by epochs is played until the third one, one that
    restarts as in each of its epochs; one by elimination among four arms for 512 rounds in 64 lanes, or among three for
    20,500, where a phase takes thousands. One on moments plays four actions of R^2, drawn anew for each of 256 rounds,
    in 64 lanes; up to 4,096 rounds where the first batches are long.

    Parameters
    ----------
    make
        The learner's class: an `ExplainedLearner`, or `ExplainedLists`.
    bound, played
        The theorem, and the learner's epsilon, delta and settings.
    seed
        Of all randomness.
    error
        The probability that a true learner violates anything, at most.
    """
    if bound.restarts and played.anytime:
        played = played.with_horizon(played.horizon)  # what every epoch is a run of
    theorem = bound.confidence
    if (
        isinstance(theorem, ConfidenceTheorem)
        and hasattr(make, "confidence")
        and (theorem.feeds != "least" or hasattr(make, "fed_arms"))
    ):
        means = _ATTRACTIONS if make.family == "cascade" else _MEANS
        instance = plain_instance(make.family, bound, played, means, 1 if make.family == "bandit" else 2)
        run: Any = {"evidence": EvidenceRun, "divergence": EpisodeRun}.get(theorem.index, MeanRun)
    elif isinstance(theorem, ClickTheorem) and hasattr(make, "click_confidence"):
        instance, run = plain_instance("cascade", bound, played, _ATTRACTIONS, 2), ClickRun
    elif isinstance(theorem, PhaseTheorem) and issubclass(make, PhasedElimination | StandardElimination):
        return _checked_phases(make, bound, played, seed=seed, error=error)
    elif isinstance(theorem, WidthTheorem) and issubclass(make, ContextualLearner):
        return _checked_widths(make, bound, theorem, played, seed=seed, error=error)
    elif isinstance(theorem, EliminationTheorem) and hasattr(make, "confidence"):
        means, horizon = (_EPOCH_MEANS, _EPOCH_ROUNDS) if theorem.fresh else (_MEANS, _ELIMINATED)
        instance = replace(played, problem=plain_problem("bandit", means), horizon=horizon)
        build, lanes = builder_for(make, instance), _ELIMINATION_LANES
        return check_rounds(EliminationRun, build, bound, instance, lanes=lanes, seed=seed, error=error)
    else:
        return ()
    rounds = _ROUNDS if not played.anytime or not bound.levels else int(epoch_end(1)) + _ROUNDS
    instance = replace(instance, horizon=rounds)
    found = check_rounds(
        run, builder_for(make, instance), bound, instance, lanes=_LANES, seed=seed, error=error
    )
    if any(check.violated for check in found):
        return found
    if isinstance(theorem, ClickTheorem):
        worst = worst_lists(played)
        return found + check_worst_clicks(builder_for(make, worst), bound, worst, seed=seed)
    worst = worst_instance(make.family, bound, played)
    lemmas = theorem.lemma not in ("none", "evidence", "episode") and theorem.index != "level-free"
    if not lemmas or not bound.covers(worst):
        return found
    return found + check_worst_data(builder_for(make, worst), bound, worst, seed=seed)


def linear_check_problem(horizon: int, settings: Mapping[str, Value], *, dimension: int = 2) -> LinearBandit:
    """Return six actions on the unit circle or (for 3) the axes, with rewards that are signs, and clients enough."""
    angles = 2 * np.pi * np.arange(6) / 6
    actions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if dimension == 3:
        actions = np.concatenate([np.eye(3), -np.eye(3)])
    return with_clients(LinearBandit(actions, 0.7 * actions[5], 0.05, 1, "signs"), horizon, settings)


def _checked_phases(
    make: type[Any], bound: RegretBound, played: Instance, *, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    printed = isinstance(bound.confidence, PhaseTheorem) and bound.confidence.width is not None
    problem = linear_check_problem(_LINEAR_ROUNDS, played.settings, dimension=3 if printed else 2)
    if issubclass(make, StandardElimination):
        problem = replace(problem, sigma=0.0)
    instance = replace(played, problem=problem, horizon=_LINEAR_ROUNDS)
    build = functools.partial(builder_for, make)
    found = check_phases(build(instance), bound, instance, lanes=_LINEAR_LANES, seed=seed, error=error)
    worst = worst_actions(played, 3 if printed else 1)
    if not bound.covers(worst):  # shuffled noise is as the theorem says at a smaller epsilon only
        worst = replace(worst, epsilon=_SHUFFLED_EPSILON)
    if any(check.violated for check in found) or not bound.covers(worst):
        return found
    return found + check_worst_rewards(build, bound, worst, seed=seed)


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
