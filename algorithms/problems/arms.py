"""K arms, one at a time: the ordinary bandit."""

from __future__ import annotations

from dataclasses import dataclass, field

from algorithms.problems.top_k import TopK


@dataclass(frozen=True)
class Arms(TopK):
    """One out of `arms` arms; the reward is its mean. Everything that plays sets of arms plays these.

    Raises
    ------
    ProblemError
        Unless there is an arm.
    """

    size: int = field(default=1, init=False)
