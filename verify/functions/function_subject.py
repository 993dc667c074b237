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
        As the user wrote it.
    function
        ``f(data, rng)``, ``f(data, rng, lanes)`` or ``f(data, gate)``.
    neighbours
        Which two data sets are neighbours.
    form
        Its claim, without the numbers.
    takes_gate, takes_lanes
        Which of the three.
    claimed_epsilon, claimed_delta
        The subject's own claim, if it has numbers; what is verified if no other numbers are given.
    single_lanes
        Whether it is cheap enough to be called for one lane at a time (a command is not: each call starts a process).
    guessed
        Whether `neighbours` is a guess, so that data on which the function raises are no evidence.
    arguments
        How the command line names it, if not by its name.
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
