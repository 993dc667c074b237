"""A lower bound on ε from one run in production: some users' rewards are coins, which the auditor guesses.

Before the run, the rewards of m users are replaced by fair coins, 0 or 1, all independent; afterwards each coin gets a
score from the adversary's view: above 0 it is guessed to be 1, below 0 to be 0, and at 0 it is not guessed. This
shows the epsilon of local learners, and of deployments with messages in their logs; of central learners it shows gross
faults only, since all users' noise hides a coin.

Theorem (Steinke, Nasr, Jagielski, *Privacy Auditing with One (1) Training Run*, NeurIPS 2023, Theorem 5.2, for
delta = 0). Let the run be (epsilon, 0)-differentially private for one coin, given the others. Given its output and
all other coins, a coin is 1 with probability in [1 - p, p] with p = e^epsilon / (1 + e^epsilon), by Bayes' rule; so a
guess that is a function of the output is right with probability at most p, given which of the guesses before it were
right. If the guessed coins are a function of the output alone, then given the output the number of right guesses among
r is stochastically at most Binomial(r, p).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError, open_unit, real
from verify.sampling.binomial_bounds import clopper_pearson_lower


@dataclass(frozen=True)
class CanaryAudit:
    """The counts of the coins of one run, and their bounds on epsilon.

    Attributes
    ----------
    coins, guessed, right
        The number of coins, of those that were guessed, and of right guesses.
    """

    coins: int
    guessed: int
    right: int

    def epsilon_lower(self, confidence: float = 0.95) -> float:
        """Return a lower bound on the epsilon of every (epsilon, 0)-private run, at a confidence; at least 0."""
        below_1 = math.nextafter(1.0, 0.0)
        error = min(1.0 - open_unit("confidence", confidence), below_1)
        if self.guessed == 0:
            return 0.0
        p = min(float(clopper_pearson_lower(self.right, self.guessed, error)), below_1)
        return max(math.log(p / (1.0 - p)), 0.0) if p > 0.0 else 0.0

    def false_alarm(self, epsilon: float) -> float:
        """Return the largest probability of as many right guesses, if the run is (epsilon, 0)-private.

        A claim is refuted where that is at most a significance level that was fixed before the run.
        """
        epsilon = real("epsilon", epsilon)
        if epsilon < 0.0:
            raise ParameterError(f"epsilon = {epsilon!r}: must be at least 0")
        if self.right == 0:
            return 1.0
        return float(special.betainc(self.right, self.guessed - self.right + 1, special.expit(epsilon)))


def audit_canaries(coins: npt.ArrayLike, scores: npt.ArrayLike, *, share: float = 1.0) -> CanaryAudit:
    """Guess the coins of one run by their scores.

    Parameters
    ----------
    coins
        The coin of each user: fair, independent of each other and of all else, and drawn before the run.
    scores
        A number for each coin, computed from the run's output alone; never from the coins.
    share
        Share of the coins that are guessed, those of the largest absolute scores; fixed before the run. Equal scores
        are guessed together, so that the order of the users, which may depend on coins, decides nothing.

    Raises
    ------
    ParameterError
        If a coin is neither 0 nor 1, a score is no real number, there is not one for each coin, or the share is not in
        (0, 1].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> coins = rng.integers(2, size=1_000)
    >>> messages = np.where(rng.random(1_000) < 0.731, coins, 1 - coins)  # randomised response at epsilon = 1
    >>> audit = audit_canaries(coins, messages - 0.5)
    >>> 0.7 < audit.epsilon_lower() < 1.0
    True
    """
    drawn, seen = _numbers("coins", coins), _numbers("scores", scores)
    if drawn.ndim != 1 or drawn.shape != seen.shape or drawn.size == 0:
        raise ParameterError(
            f"scores of shape {seen.shape}: must be one for each coin, of shape {drawn.shape}"
        )
    if not np.isin(drawn, (0, 1)).all():
        raise ParameterError("coins: must be 0 or 1 each")
    if np.isnan(seen).any():
        raise ParameterError("scores: must be numbers, and some are nan")
    if not 0.0 < real("share", share) <= 1.0:
        raise ParameterError(f"share = {share!r}: must be in (0, 1]")
    sizes = np.abs(seen)
    least = np.sort(sizes)[::-1][max(int(share * sizes.size), 1) - 1]
    guessed = (sizes >= least) & (sizes > 0.0)
    right = guessed & ((seen > 0.0) == (drawn == 1))
    return CanaryAudit(drawn.size, int(guessed.sum()), int(right.sum()))


def _numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return an array of real numbers as float64; refuse texts and masked values, which NumPy would read."""
    try:
        given = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ParameterError(f"{name}: must be real numbers, in one array ({error})") from None
    if isinstance(values, np.ma.MaskedArray) or given.dtype.kind not in "biuf":
        kind = "masked" if isinstance(values, np.ma.MaskedArray) else f"of type {given.dtype}"
        raise ParameterError(f"{name}: must be real numbers, and the array is {kind}")
    return given.astype(np.float64)
