"""Rounds of a contextual learner on a problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from accountant import Gate
from algorithms.linear.dp_linucb import DPLinUCB
from algorithms.problems.linear_contexts import LinearContexts
from mechanisms import Randomness
from mechanisms.arrays import FloatArray


def play_contexts(
    learner: DPLinUCB, problem: LinearContexts, gate: Gate, environment: Randomness, rounds: int
) -> Iterator[FloatArray]:
    """Play on freshly drawn users, each a record; yield each round's expected regret, (lanes,).

    Parameters
    ----------
    learner, gate
        A learner built on `gate`.
    problem
        Draws contexts and rewards.
    environment
        Where the problem's randomness comes from.
    rounds
        How many rounds to play.
    """
    lane = np.arange(gate.lanes)
    for record in range(1, rounds + 1):
        contexts = problem.draw_contexts(environment, gate.lanes)
        chosen = learner.policy.choose(contexts)
        played = contexts[lane, chosen]
        moments = learner.feedback_domain.of(played, problem.draw_rewards(played, environment))
        learner.observe(gate.private(moments, learner.feedback_domain, record))
        yield problem.regrets(contexts)[lane, chosen]
