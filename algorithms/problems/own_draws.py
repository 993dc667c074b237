"""Problems of a user's own: which they are, and that what they draw is in bounds."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from algorithms.problems.linear import LONGEST_UNIT, LinearBandit
from algorithms.problems.problem_errors import ProblemError
from dpwitness import is_of_library
from mechanisms.arrays import FloatArray

_ROUNDING = 1e-9
_PACKAGE = __name__.rpartition(".")[0] + "."
is_librarys = functools.lru_cache(is_of_library)  # asked every round


def is_own(problem: object) -> bool:
    """Return True if a problem's class, or one that it inherits from, is not this library's.

    Such a problem may draw anything.
    """
    *kinds, _ = type(problem).__mro__  # the last is `object`
    return not all(kind.__module__.startswith(_PACKAGE) and is_librarys(kind) for kind in kinds)


def checked_outcomes(problem: object, drawn: FloatArray, most: npt.ArrayLike = 1.0) -> FloatArray:
    """Return outcomes or clicks, or totals of `most` rounds, as they are.

    Raises
    ------
    ProblemError
        If a user's own problem drew one outside [0, `most`]: what a round can cost, and so every limit on regret, would
        be another.
    """
    if is_own(problem):
        largest = np.broadcast_to(np.asarray(most, dtype=np.float64).reshape(-1, 1), drawn.shape)
        far = ~((drawn >= -_ROUNDING) & (drawn <= largest * (1.0 + _ROUNDING)))
        if far.any():
            raise ProblemError(
                f"outcomes: {drawn[far][0]:.6g} was drawn: must be from 0 to {largest[far][0]:.6g}, as many as rounds"
            )
    return drawn


def checked_averages(problem: object, drawn: FloatArray, clients: int, size: int) -> FloatArray:
    """Return clients' average rewards as they are.

    Raises
    ------
    ProblemError
        If a user's own `LinearBandit` drew other than (clients, size) finite numbers, or, with rewards that are signs,
        one outside [-1, 1].
    """
    if isinstance(problem, LinearBandit) and is_own(problem):
        shape = np.shape(drawn)
        if shape != (clients, size):
            raise ProblemError(
                f"averages of shape {shape} were drawn: must be (clients, actions) = {(clients, size)}"
            )
        if problem.rewards == "signs":
            return _within("averages", drawn, LONGEST_UNIT, "from -1 to 1")
        return _within("averages", drawn, np.finfo(np.float64).max, "a finite number")
    return drawn


def checked_contexts(drawn: FloatArray) -> FloatArray:
    """Return contexts as they are.

    Raises
    ------
    ProblemError
        If one of the actions that they offer lies outside the unit ball.
    """
    lengths = np.linalg.norm(drawn, axis=-1)
    if not (lengths <= LONGEST_UNIT).all():
        raise ProblemError(f"contexts: an action of length {lengths.max():.6g} was drawn: must be at most 1")
    return drawn


def checked_rewards(drawn: FloatArray) -> FloatArray:
    """Return rewards of contexts as they are.

    Raises
    ------
    ProblemError
        If one lies outside [-1, 1].
    """
    return _within("rewards", drawn, LONGEST_UNIT, "from -1 to 1")


def _within(name: str, drawn: FloatArray, most: float, rule: str) -> FloatArray:
    """Return numbers of at most this size as they are; refuse others, and NaN, in the words of a rule."""
    far = ~(np.abs(drawn) <= most)
    if far.any():
        raise ProblemError(f"{name}: {drawn[far][0]:.6g} was drawn: must be {rule}")
    return drawn
