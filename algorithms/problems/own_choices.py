"""Checks of super arms chosen by a user's own learner or oracle."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from algorithms.problems.matroid import Matroid
from algorithms.problems.own_draws import is_librarys, is_own
from algorithms.problems.problem_errors import ProblemError
from algorithms.problems.ranked_lists import RankedLists
from algorithms.problems.super_arms import check_super_arms
from algorithms.problems.top_k import TopK
from mechanisms.arrays import BoolArray, IntArray


def is_ours(owner: object, method: str) -> bool:
    """Return True if a method of an object or class is this library's, and so is proved to return super arms."""
    found = getattr(owner, method, None)
    function = getattr(found, "__func__", found)
    return isinstance(function, FunctionType) and is_librarys(function)


def check_choice(
    chosen: Any, lanes: int, structure: Any, name: str, available: BoolArray | None = None
) -> IntArray:
    """Return the chosen actions, one super arm a lane, after checking that they may be played.

    Of sets, lists and matroids of this library every row is checked to be a super arm; of other structures, that it
    has different arms.

    Parameters
    ----------
    chosen
        The value that a learner or an oracle returned.
    lanes, structure
        The number of super arms, and their structure.
    name
        The name of the learner or oracle, for errors.
    available
        The arms that are available, shape (arms,), or None for all.

    Raises
    ------
    ProblemError
        If a row is no super arm, by the rules of `check_super_arms`; or holds an arm that is not available.
    """
    found = check_super_arms(chosen, lanes, structure, name)
    if isinstance(structure, Matroid):
        _refuse_where(~structure.are_bases(found), found, name, f"must be a basis of {structure!r}"[:500])
    elif isinstance(structure, TopK | RankedLists) and not is_own(structure):
        _refuse_where(
            (found < 0).any(axis=1), found, name, f"must be {structure.size} arms, as {structure!r} has"
        )
    if available is not None:
        missing = (found >= 0) & ~available[found]
        there = np.flatnonzero(available).tolist()
        _refuse_where(
            missing.any(axis=1), found, name, f"must be of the arms that are available, {there}"[:500]
        )
    return found


def _refuse_where(wrong: Any, found: IntArray, name: str, rule: str) -> None:
    if wrong.any():
        raise ProblemError(f"{name} returned {found[wrong][0].tolist()}; {rule}")
