"""What every learner that can be asked for by name says about itself, and how it is built."""

from __future__ import annotations

import abc
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from accountant import Gate
from algorithms.claim import ClaimForm
from algorithms.learner import (
    DEFAULT_DELTA,
    Family,
    check_delta,
    check_epsilon,
    check_horizon,
    needs_horizon,
    takes_horizon,
)
from algorithms.problems import Parameter, Value, parse_settings

_ProblemType = TypeVar("_ProblemType")
LearnerType = TypeVar("LearnerType")

_CHECKS: dict[str, Callable[[Any], Any]] = {"epsilon": check_epsilon, "delta": check_delta}

ANYTIME = Parameter(
    "anytime",
    "str",
    "no",
    meaning="whether the learner is not told how many rounds there will be",
    choices=("no", "yes"),
)
"""A setting of all learners that need not be told."""

DEFAULT_PROBLEMS = {
    "bandit": "arms",
    "semi-bandit": "top-k",
    "matroid": "linear-matroid",
    "cascade": "cascade",
    "experts": "experts",
    "linear": "linear",
    "contextual": "contexts",
}
"""The problem that learners of a family play if none is named."""


_Entry = TypeVar("_Entry", bound="CatalogueEntry[Any, Any]")


@dataclass(frozen=True)
class CatalogueEntry(abc.ABC, Generic[_ProblemType, LearnerType]):
    """A learner that can be asked for by name.

    All but `make` are attributes of the class, by the same names (`catalogue_entries`).

    Attributes
    ----------
    make
        The learner's class.
    name
        As in ``cucb-ldp2``, or ``published/name`` for an algorithm exactly as printed.
    summary
        One line on what it does.
    as_printed
        The verdict on the paper's privacy claim, or on this class if it is a repair; by default that it makes none.
    parameters
        Its own settings.
    source
        The paper and the number of the algorithm; by default those of its claim.
    default_problem
        The problem of its catalogue that it plays if none is named; by default that of its family.
    repaired_by
        Of an algorithm as printed: the name of the certified learner that takes its place.
    """

    make: type[Any]
    name: str
    summary: str
    as_printed: str = "makes no privacy claim"
    parameters: tuple[Parameter, ...] = ()
    source: str = ""
    default_problem: str = ""
    repaired_by: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", self.source or self.claim.source)
        object.__setattr__(self, "default_problem", self.default_problem or DEFAULT_PROBLEMS[self.family])
        if takes_horizon(self.make) and getattr(self.make, "needs_horizon", None) == "":
            object.__setattr__(self, "parameters", (*self.parameters, ANYTIME))

    @property
    def certified_form(self) -> str:
        """The name of the learner to use where a certificate counts: its own if it has one, "" if none is claimed."""
        return self.repaired_by or ("" if self.claim.is_none else self.name)

    @property
    def claim(self) -> ClaimForm:
        """The learner's privacy claim for every epsilon and delta."""
        form: ClaimForm = self.make.claim
        return form

    @property
    def family(self) -> Family:
        """The kind of problem it plays."""
        family: Family = self.make.family
        return family

    def build(
        self,
        problem: _ProblemType,
        *,
        epsilon: float,
        horizon: int | None,
        delta: float = DEFAULT_DELTA,
        settings: Mapping[str, Value] | None = None,
    ) -> Callable[[Gate], LearnerType]:
        """Return a function that makes the learner on a gate.

        epsilon, delta and horizon are passed if the learner takes them.

        Raises
        ------
        ProblemError
            If a setting is unknown or out of range, or the problem is of another family.
        PopulationTooSmall
            If the problem has fewer clients than the horizon needs.
        ParameterError
            If the learner takes epsilon, delta or the horizon and it is out of range; or needs a horizon, and it is
            None.
        """
        given = parse_settings(settings or {}, self.parameters)
        return self._built(problem, {"epsilon": epsilon, "delta": delta, "horizon": horizon}, given)

    @abc.abstractmethod
    def _built(
        self, problem: _ProblemType, offered: dict[str, Any], settings: Mapping[str, Value]
    ) -> Callable[[Gate], LearnerType]:
        """Return the learner's builder, with what of `offered` it takes."""


def catalogue_entries(kind: type[_Entry], makes: Iterable[type[Any]]) -> dict[str, _Entry]:
    """Return the entries of learner classes, by name."""
    said = [field.name for field in fields(kind)]
    entries = [
        kind(make, **{name: getattr(make, name) for name in said if hasattr(make, name)}) for make in makes
    ]
    return {entry.name: entry for entry in entries}


def builder(
    make: type[LearnerType],
    played: Any,
    offered: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    unnamed: frozenset[str],
) -> Callable[[Gate], LearnerType]:
    """Return a function that makes a learner ``make(played, gate, **keywords)`` on a gate.

    Parameters
    ----------
    make
        The learner's class.
    played
        The structure or the actions.
    offered
        Keywords that are passed if the class takes them.
    settings
        Keywords that are passed.
    unnamed
        Those of `offered` that are passed to a class which takes any keyword, too.

    Raises
    ------
    ParameterError
        If epsilon, delta or horizon is passed and out of range, or the horizon None and needed.
    """
    settings, needed = dict(settings), needs_horizon(make)
    if settings.pop(ANYTIME.name, "no") == "yes":
        offered = {**offered, "horizon": None}
    accepted = inspect.signature(make).parameters
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
    passed = {
        name: value for name, value in offered.items() if name in accepted or (anything and name in unnamed)
    }
    if "horizon" in passed and (needed or passed["horizon"] is not None):
        check_horizon(passed["horizon"], needed)
    for name in passed.keys() & _CHECKS.keys():
        _CHECKS[name](passed[name])
    return functools.partial(_make, make, played, passed | settings)


def _make(make: type[LearnerType], played: Any, keywords: dict[str, Any], gate: Gate) -> LearnerType:
    return make(played, gate, **keywords)  # type: ignore[call-arg]
