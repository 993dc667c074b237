"""A function on one data set, as a subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from algorithms.claim import ClaimForm
from verify.neighbouring.adjacency import Adjacency


@dataclass(frozen=True)
class FunctionSubject:
    """A function on one data set.

    Attributes
    ----------
    name
        The name as the user wrote it.
    function
        ``f(data, rng)``, ``f(data, rng, lanes)`` or ``f(data, gate)``.
    neighbours
        The relation of neighbouring data sets.
    form
        The claim without its numbers.
    takes_gate, takes_lanes
        True of ``f(data, gate)``, and of ``f(data, rng, lanes)``.
    claimed_epsilon, claimed_delta
        The numbers of the subject's own claim, if it has any; verified if the caller names no others.
    single_lanes
        True if it is cheap enough to be called for one lane at a time (a command is not: each call starts a process).
    guessed
        True if `neighbours` is a guess, so that data on which the function raises are no evidence.
    arguments
        Its words on the command line, if not its name.
    """

    name: str
    function: Callable[..., Any]
    neighbours: Adjacency
    form: ClaimForm
    takes_gate: bool
    takes_lanes: bool
    claimed_epsilon: float | None = None
    claimed_delta: float = 0.0
    single_lanes: bool = True
    guessed: bool = False
    arguments: tuple[str, ...] = ()
