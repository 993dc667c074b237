"""Regret in simulations at checkpoints, with simultaneous confidence limits, against the bound.

Pseudo-regret is a sum of differences of expected rewards, at least 0 (against an exact oracle) and at most T times the
largest of a round, and runs are independent: so betting limits are exact (`verify.sampling.betting_means`). A
violation is shown by the lower limit, which needs no range; that regret is below a bound, by the upper one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from algorithms.linear.contextual_play import ContextualTrace
from algorithms.simulate import Trace
from mechanisms.arrays import FloatArray
from verify.sampling.betting_means import mean_at_least, mean_at_most

CheckpointVerdict = Literal["consistent", "violated", "undecided", "vacuous"]


@dataclass(frozen=True)
class Checkpoint:
    """Regret after a number of rounds.

    Attributes
    ----------
    round
        The number of rounds.
    mean, lower, upper
        Mean regret of the runs, and limits on its expectation.
    bound
        The theorem's, infinite if there is none.
    trivial
        The largest possible regret.
    """

    DERIVED: ClassVar = ("verdict",)

    round: int
    mean: float
    lower: float
    upper: float
    bound: float
    trivial: float

    @property
    def verdict(self) -> CheckpointVerdict:
        """The verdict on the bound by the limits."""
        if self.bound >= self.trivial:  # first: regret that is 0 may be some 1e-16 in floating point
            return "vacuous"
        if self.lower > self.bound:
            return "violated"
        return "consistent" if self.upper <= self.bound else "undecided"


def _error_shares(checkpoints: int) -> list[float]:
    """Return each checkpoint's share of an error: half is for the last one."""
    if checkpoints == 1:
        return [1.0]
    return [0.5 / (checkpoints - 1)] * (checkpoints - 1) + [0.5]


def allowed_at_most(trace: ContextualTrace, ceiling: float, error: float) -> FloatArray:
    """Return upper limits on the expected regret that the radii allow; wrong with probability at most `error`.

    Parameters
    ----------
    trace
        The regret that they allow in every run, at every checkpoint.
    ceiling
        The largest regret of one round.
    error
        As of `outcome`, on one side.
    """
    shares = _error_shares(len(trace.rounds))
    limits = [
        mean_at_most(allowed, rounds * ceiling, error * share)
        for rounds, allowed, share in zip(trace.rounds.tolist(), trace.allowed, shares, strict=True)
    ]
    return np.array(limits)


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
    checkpoints = []
    shares = _error_shares(len(trace.rounds))
    for number, (rounds, bound) in enumerate(zip(trace.rounds.tolist(), bounds.tolist(), strict=True)):
        share = error / 2 * shares[number]
        least = rounds * floor
        above = np.clip(trace.regret[number] - least, 0.0, rounds * (ceiling - floor))  # but for rounding
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
