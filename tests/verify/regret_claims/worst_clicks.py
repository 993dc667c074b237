"""The worst clicks inside the good event of a learner of ranked lists (`worst_data`).

Every round has one click or none. The adversary tries each, and takes what keeps all shown items' estimates within
their radii and makes the bad items' upper bounds largest and the best ones' smallest: clicks on the bad one, which also
leave the items below it unexamined, for as long as clicks and examinations may be off.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from worst_data import WORST_EPSILON, worst_found

from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import FloatArray, IntArray
from verify.regret_claims.click_checks import BuildLists, ClickRun, examined_chance
from verify.regret_claims.plain_problem import plain_problem
from verify.regret_claims.proof_run import ProofCheck, play_checked

_ATTRACTIONS = np.array([0.1, 0.5, 0.5])
_SIZE = 2
_ROUNDS = 2048


def worst_lists(played: Instance) -> Instance:
    """Return lists of two of three items, with next to no noise, which an adversary does not choose."""
    problem = plain_problem("cascade", _ATTRACTIONS, _SIZE)
    return replace(played, problem=problem, epsilon=WORST_EPSILON, horizon=_ROUNDS)


def check_worst_clicks(
    build: BuildLists, bound: RegretBound, instance: Instance, *, seed: int
) -> tuple[ProofCheck, ...]:
    """Play a learner on the worst clicks inside the good event.

    Parameters, results and errors are those of `worst_data.check_worst_data`, for a theorem with a
    `ClickTheorem`, and `worst_lists`.
    """
    run = ClickRun(bound, instance, 1)
    contradiction = play_checked(run, build, seed=seed, data=_Adversary(run).outcomes)
    gap, shown = _ATTRACTIONS[1] - _ATTRACTIONS[0], int(run.displays[0, 0])
    words = f"two of three items: the one that is worse by {gap:g} is shown {shown:,} times, and"
    return worst_found(run, contradiction, words)


class _Adversary:
    """Chooses clicks on the list that is shown; `clicks`, `examinations` and `expected` are true ones, of each item."""

    def __init__(self, run: ClickRun) -> None:
        self.run = run
        self.clicks, self.examinations, self.expected = np.zeros((3, run.problem.means.size))

    def outcomes(self, shown: IntArray) -> FloatArray:
        """Return the clicks on the list, shape (1, size)."""
        run, items = self.run, shown[0]
        size, means = len(items), run.problem.means[items]
        n, j = run.displays[0, items] + run.length[0], run.releases[0, items] + 1  # when the phase ends
        radius = run.radius(n, j, run.exponent, means)
        margin = 0.0 if run.theorem.noise == "symbol" else 25 * run.scale * np.sqrt(j * size)
        scarce = run.scarcity(n, j, run.exponent, means) - margin
        growth = run.growth(n, j, run.exponent, means)
        expected = self.expected[items] + examined_chance(1 - means[np.newaxis])[0]

        # One click at each position, or none: (choices, size).
        clicks = self.clicks[items] + np.eye(size + 1, size)
        examinations = self.examinations[items] + np.tri(size + 1, size)
        off = clicks - means * examinations
        below = (
            radius / 2 if run.theorem.index_level is not None else radius
        )  # a mixture's upper bound is lower
        over = np.maximum(off - (radius - margin), -off - (below - margin))
        over = np.maximum(over, expected - scarce - examinations)
        index = (off + radius) / np.maximum(examinations - growth, 1.0)
        harm = np.where(np.isin(items, run.best), -index, index).sum(axis=1)
        outside = np.maximum(over, 0.0).sum(axis=1)
        choice = int(np.lexsort((-harm, outside))[0])

        self.clicks[items], self.examinations[items] = clicks[choice], examinations[choice]
        self.expected[items] = expected
        return np.eye(size + 1, size)[[choice]]
