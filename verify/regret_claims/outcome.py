"""The outcome: regret at checkpoints, with limits that hold at all of them at once, against the bound.

Pseudo-regret is a sum of differences of expected rewards, at least 0 (against an exact oracle) and at most T times the
largest of a round, and runs are independent: so betting limits are exact (`verify.statistics.betting_means`). What
shows a violation is the lower limit, which knows no range; what shows that regret is below a bound is the upper one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from algorithms.simulate import Trace
from verify.statistics.betting_means import mean_at_least, mean_at_most

CheckpointVerdict = Literal["consistent", "violated", "undecided", "vacuous"]


@dataclass(frozen=True)
class Checkpoint:
    """Regret after a number of rounds.

    Attributes
    ----------
    round
        How many.
    mean, lower, upper
        Mean regret of the runs, and limits on its expectation.
    bound
        The theorem's, infinite if there is none.
    trivial
        The largest possible regret.
    """

    round: int
    mean: float
    lower: float
    upper: float
    bound: float
    trivial: float

    @property
    def verdict(self) -> CheckpointVerdict:
        """What the limits say of the bound."""
        if self.lower > self.bound:
            return "violated"
        if self.bound >= self.trivial:
            return "vacuous"
        return "consistent" if self.upper <= self.bound else "undecided"


def outcome(
    trace: Trace, bounds: np.ndarray, floor: float, ceiling: float, error: float
) -> tuple[Checkpoint, ...]:
    """Return the checkpoints of a simulation; all limits hold together except with probability `error`.

    Parameters
    ----------
    trace
        Regret of every run at the checkpoints.
    bounds
        The theorem's value at each.
    floor, ceiling
        The least and largest regret of one round; the floor is below 0 where regret is against less than the optimum.
    error
        Half of it is for the last checkpoint, half for the others; half of each for either side.
    """
    count = len(trace.rounds)
    checkpoints = []
    for number, (rounds, bound) in enumerate(zip(trace.rounds.tolist(), bounds.tolist(), strict=True)):
        last = number == count - 1
        share = error / 2 * (1.0 if count == 1 else 0.5 if last else 0.5 / (count - 1))
        least = rounds * floor
        above = trace.regret[number] - least
        checkpoints.append(
            Checkpoint(
                rounds,
                float(trace.regret[number].mean()),
                least + mean_at_least(above, share),
                least + mean_at_most(above, rounds * (ceiling - floor), share),
                bound,
                rounds * ceiling,
            )
        )
    return tuple(checkpoints)
