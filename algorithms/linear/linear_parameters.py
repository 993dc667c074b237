"""Checks of the parameters of linear bandit learners, before anything is played or charged."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Gate, check_gate
from algorithms.claim import ClaimForm
from algorithms.problems.linear import LONGEST_UNIT
from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError, within

_MOST = 1e100
"""Beyond it, and below its inverse, squares would leave the floats after everybody has paid."""


def checked_gate(gate: Gate, claim: ClaimForm, learner: str) -> Gate:
    """Return the gate of a learner.

    Raises
    ------
    ParameterError
        If it is no gate, or has more than one lane.
    TrustViolation
        If its trust is local and the learner's claim is not.
    """
    check_gate(gate, claim.model, learner)
    if gate.lanes != 1:
        raise ParameterError(
            f"gate.lanes = {gate.lanes}: designs differ from lane to lane, so there is one lane only"
        )
    return gate


def checked_actions(actions: npt.ArrayLike) -> FloatArray:
    """Return a copy of the actions, shape (k, d).

    Raises
    ------
    ParameterError
        Unless they are k >= 1 vectors of d >= 1 finite numbers each, of length at most 1.
    """
    try:
        array = np.array(actions, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"actions: must be numbers of shape (k, d) ({error})") from None
    if array.ndim != 2 or not array.size:
        raise ParameterError(
            f"actions of shape {array.shape}: must be of shape (k, d), k vectors of d numbers"
        )
    lengths = np.linalg.norm(array, axis=1)
    wrong = np.flatnonzero(~(lengths <= LONGEST_UNIT))
    if wrong.size:
        rule = "at most 1" if np.isfinite(array).all() else "at most 1, and every number finite"
        raise ParameterError(f"actions[{wrong[0]}] has length {lengths[wrong[0]]:g}: must be {rule}")
    return array


def checked_scale(name: str, value: Any, *, least: float = 1.0 / _MOST, why: str = "") -> float:
    """Return sigma, B or S as a float.

    Raises
    ------
    ParameterError
        Unless it is a number from `least` to 1e100; `why` goes on after the range.
    """
    return within(name, value, least, _MOST, why)
