"""What a regret proof rests on, checked on an instance of the proof's own, if the learner shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from algorithms.catalogue.structured_entries import learner_builder
from algorithms.problems import Cascade, Problem, SemiBandit, TopK, UniformMatroid
from algorithms.theory.confidence_theorem import ClickTheorem, ConfidenceTheorem
from algorithms.theory.regret_bound import Instance, RegretBound
from verify.regret_claims.click_checks import check_clicks
from verify.regret_claims.mean_checks import check_means
from verify.regret_claims.proof_run import ProofCheck

_MEANS = np.array(
    [0.3, 0.45, 0.6, 0.9]
)  # near 1/2, where estimates vary most, and off it, where a wrong gain shows
_ATTRACTIONS = np.array([0.1, 0.25, 0.4, 0.7])
_ROUNDS, _LANES = 256, 128


def check_proof(
    make: type[Any], bound: RegretBound, played: Instance, *, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    """Check what a theorem's proof rests on, at the learner's epsilon; nothing if the learner or theorem does not say.

    Two of four arms are played for 256 rounds in 128 lanes: proofs speak at any horizon, where bounds do not.

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
    problem: Problem
    if (
        isinstance(bound.confidence, ConfidenceTheorem)
        and hasattr(make, "confidence")
        and hasattr(make, "fed")
    ):
        problem = SemiBandit(UniformMatroid(4, 2) if make.family == "matroid" else TopK(4, 2), _MEANS)
        checks: Any = check_means
    elif isinstance(bound.confidence, ClickTheorem) and hasattr(make, "click_confidence"):
        problem, checks = Cascade(4, 2, _ATTRACTIONS), check_clicks
    else:
        return ()
    instance = replace(played, problem=problem, horizon=_ROUNDS)
    build = learner_builder(
        make,
        problem,
        epsilon=instance.epsilon,
        delta=instance.delta,
        horizon=_ROUNDS,
        settings=instance.settings,
    )
    found: tuple[ProofCheck, ...] = checks(build, bound, instance, lanes=_LANES, seed=seed, error=error)
    return found
