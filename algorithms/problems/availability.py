"""Availability of arms: the oracle's answer among super arms that consist of available arms.

The oracles of sets of K arms, ranked lists and matroids go by the order of weights. So where an arm that is not there
has a weight below all others, it is taken only if nothing else completes the super arm: never, if there is a super arm
without it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable

import numpy as np

from algorithms.problems.matroid import Matroid
from algorithms.problems.problem_errors import ProblemError
from algorithms.problems.ranked_lists import RankedLists
from algorithms.problems.super_arms import SuperArms
from algorithms.problems.top_k import TopK
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import quoted


def available_arms(structure: SuperArms | RankedLists, available: Iterable[int]) -> BoolArray:
    """Return which arms are available, shape (arms,), if the structure can be played without the others.

    Parameters
    ----------
    structure
        The structure to play on.
    available
        The arms that are there, in any order.

    Raises
    ------
    ProblemError
        If the structure's oracle does not go by the order of weights; if these are no arms, or one is given twice; or
        if no super arm consists of them.
    """
    if not isinstance(structure, TopK | RankedLists | Matroid):
        raise ProblemError(
            f"available: the oracle of {type(structure).__name__} cannot leave arms out; those of TopK, Arms, "
            "RankedLists and matroids can"
        )
    mask = np.zeros(structure.arms, dtype=np.bool_)
    for arm in _check_iterable(available):
        number = _arm_number(arm)
        if not 0 <= number < structure.arms:
            raise ProblemError(
                f"available: {quoted(number)} is no arm: must be from 0 to {structure.arms - 1}, the arms that the "
                "learner was made with (make it with all that may ever come, and leave out those not there "
                "yet)"
            )
        if mask[number]:
            raise ProblemError(f"available: {number} is given twice: must be each arm that is there, once")
        mask[number] = True
    there = np.flatnonzero(mask)
    longest = structure.rank_of(there.tolist()) if isinstance(structure, Matroid) else there.size
    if longest < structure.size:
        raise ProblemError(
            f"available: {counted_noun(there.size, 'arm')}, of which at most {longest} can be played together: must "
            f"hold a super arm, of {counted_noun(structure.size, 'arm')}"
        )
    return mask


def mask_weights(weights: FloatArray, available: BoolArray | None) -> FloatArray:
    """Return the weights with which an oracle takes available arms only: of `available_arms`; None for all."""
    return weights if available is None else np.where(available, weights, -np.finfo(np.float64).max)


def least_among(index: FloatArray, available: BoolArray | None) -> IntArray:
    """Return the available arm of least index in each lane, the lowest id among equals, shape (lanes, 1)."""
    if available is None:
        return np.asarray(index.argmin(axis=1)[:, np.newaxis], dtype=np.int64)
    there = np.flatnonzero(available)
    return np.asarray(there[index[:, there].argmin(axis=1)][:, np.newaxis])


def _check_iterable(available: Iterable[int]) -> Iterable[int]:
    if isinstance(available, np.ndarray) and available.ndim != 1:
        raise ProblemError(f"available of shape {available.shape}: must be arms, the same for all lanes")
    if isinstance(available, str | bytes) or not isinstance(available, Iterable):
        raise ProblemError(f"available = {quoted(available)}: must be the arms that are there")
    return available


def _arm_number(arm: object) -> int:
    try:
        if not isinstance(arm, bool | np.bool_):
            return operator.index(arm)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise ProblemError(f"available: {quoted(arm)} must be the whole number of an arm (flags: np.flatnonzero)")
