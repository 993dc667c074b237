"""What can be verified: learners, mechanisms, plain bandits, and functions.

Five kinds of subject: a learner (a class with ``act`` and ``observe``), a mechanism, a plain bandit
(`verify.subjects.plain_bandit`), a function ``f(data, gate)`` that holds raw data and releases through a gate, and a
function ``f(data, rng)`` or ``f(data, rng, lanes)`` that is a black box. A command in any language is a function, too
(`verify.subjects.command_subject`). Functions say which data sets are neighbours with the decorator
`verify.subjects.claimed.claimed`; `verify.subjects.resolve` finds a subject by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from algorithms.catalogue import LearnerEntry
from algorithms.claim import ClaimForm, View
from algorithms.linear_catalogue import LinearEntry
from mechanisms import Mechanism
from verify.neighbouring.adjacency import Adjacency
from verify.subjects.plain_bandit import PlainBandit


class SubjectError(ValueError):
    """The subject does not exist, does not import, or says nothing that could be verified."""


@dataclass(frozen=True)
class LearnerSubject:
    """A learner class, with its catalogue entry if it has one, and its own claim if that has numbers."""

    name: str
    make: type[Any]
    entry: LearnerEntry | LinearEntry | None
    claimed_epsilon: float | None = None
    claimed_delta: float = 0.0

    @property
    def form(self) -> ClaimForm:
        """What the learner claims for every epsilon."""
        form: ClaimForm = self.make.claim
        return form


@dataclass(frozen=True)
class MechanismSubject:
    """A mechanism object; `built_in` if its profile is one of this library's, proved and tested."""

    name: str
    mechanism: Mechanism
    built_in: bool

    @property
    def form(self) -> ClaimForm:
        """A mechanism's claim is about its output."""
        return ClaimForm(
            "central",
            View.OUTPUT,
            "whatever moves the value by at most the sensitivity that the mechanism is calibrated for",
            "the mechanism's own parameters",
        )


@dataclass(frozen=True)
class BanditSubject:
    """A bandit that knows nothing of gates (`verify.subjects.plain_bandit`), and its own claim if that has numbers."""

    name: str
    bandit: PlainBandit
    claimed_epsilon: float | None = None
    claimed_delta: float = 0.0

    @property
    def form(self) -> ClaimForm:
        """The claim without its numbers."""
        return self.bandit.form


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
    arguments: tuple[str, ...] = ()


Subject = LearnerSubject | MechanismSubject | FunctionSubject | BanditSubject
