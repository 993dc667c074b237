"""Semi-bandits with users drawn from a log: the outcomes of one user's arms belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from algorithms.problems.problem_errors import ProblemError, real_array, require_structure
from algorithms.problems.semi_bandit import SemiBandit
from algorithms.problems.super_arms import SuperArms
from mechanisms import Randomness
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False, init=False)
class LoggedUsers(SemiBandit):
    """Every round a user is drawn uniformly from a log, with replacement: all outcomes are that user's.

    Unlike those of `SemiBandit`, the outcomes of one round are dependent, as they are in the log.

    Parameters
    ----------
    structure
        The super arms.
    outcomes
        Zeros and ones, one row for each user, one column for each base arm.
    names
        The names of the base arms; empty if unknown.

    Raises
    ------
    ProblemError
        If there is no user, the number of columns or of names is not that of the arms, or an entry is neither 0 nor 1.
    """

    outcomes: FloatArray
    names: tuple[str, ...]

    def __init__(self, structure: SuperArms, outcomes: npt.ArrayLike, names: Sequence[str] = ()) -> None:
        require_structure(structure)
        table = real_array("outcomes", outcomes)
        if table.ndim != 2 or table.shape[1] != structure.arms or not len(table):
            raise ProblemError(
                f"outcomes of shape {table.shape}: must have a row for each user, at least one, and a column for "
                f"each of the {structure.arms} arms"
            )
        if not ((table == 0) | (table == 1)).all():
            raise ProblemError("outcomes: every entry must be 0 or 1")
        if names and len(names) != structure.arms:
            raise ProblemError(
                f"names of length {len(names)}: there must be one for each of the {structure.arms} arms"
            )
        table.flags.writeable = False
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "structure", structure)
        object.__setattr__(self, "outcomes", table)
        object.__setattr__(self, "means", table.mean(axis=0))
        super().__post_init__()

    def draw_records(self, randomness: Randomness, lanes: int) -> FloatArray:
        """Draw a user for each lane: the outcomes of all base arms, ``(lanes, arms)``."""
        return np.asarray(self.outcomes[randomness.integers(0, len(self.outcomes), (lanes,))])

    def draw_feedback(self, super_arm: IntArray, randomness: Randomness) -> FloatArray:
        """Draw a user for each lane: the outcomes of the base arms played, ``(lanes, size)``; 0 at padding."""
        users = randomness.integers(0, len(self.outcomes), (len(super_arm),))
        outcomes: FloatArray = self.outcomes[users[:, np.newaxis], super_arm]
        return np.where(super_arm >= 0, outcomes, 0.0)

    def draw_totals(self, super_arm: IntArray, rounds: IntArray, randomness: Randomness) -> FloatArray:
        """Draw the users of some rounds, or the number of visits of each user, and return the sums for the arms played.

        A lane draws from a generator of its own, with a seed from `randomness`: the number of draws that it needs
        depends on its rounds, and must not affect the other lanes.
        """
        users = len(self.outcomes)
        totals = np.zeros(super_arm.shape)
        seeds = randomness.integers(0, 2**63 - 1, (len(rounds),))
        for lane in np.flatnonzero(rounds):
            arms, own = super_arm[lane][super_arm[lane] >= 0], np.random.default_rng(seeds[lane])
            if rounds[lane] < users:
                came = own.integers(0, users, rounds[lane])
                totals[lane, : arms.size] = self.outcomes[came[:, np.newaxis], arms].sum(axis=0)
            else:
                visits = own.multinomial(rounds[lane], np.full(users, 1.0 / users))
                totals[lane, : arms.size] = visits @ self.outcomes[:, arms]
        return totals
