"""The common part of catalogue entries: a learner's name, description and settings, and its construction."""

from __future__ import annotations

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
    takes_delta,
    takes_horizon,
)
from algorithms.problems import LinearBandit, LinearContexts, Parameter, ProblemError, Value, parse_settings
from algorithms.structured_learner import PLAYS, problem_kind

_ProblemType = TypeVar("_ProblemType")
LearnerType = TypeVar("LearnerType")

ANYTIME = Parameter(
    "anytime",
    "str",
    "no",
    meaning="whether the learner runs without a horizon",
    choices=("no", "yes"),
)
"""The setting of learners that accept a horizon and need none."""

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
class CatalogueEntry(Generic[_ProblemType, LearnerType]):
    """A learner that can be asked for by name.

    All but `make` are attributes of the class, by the same names (`catalogue_entries`).

    Attributes
    ----------
    make
        The learner's class.
    name
        As in ``cucb-ldp2``, or ``published/name`` for an algorithm exactly as printed.
    summary
        A description in one line.
    as_printed
        The verdict on the paper's privacy claim, or on this class if it is a repair; by default that it makes none.
    parameters
        Its own settings.
    source
        The paper and the number of the algorithm; by default those of its claim.
    default_problem
        The problem of its catalogue that it plays if none is named; by default that of its family.
    repaired_by
        For an algorithm as printed, the name of the certified learner that replaces it.
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
        return self.repaired_by or ("" if self.claim.is_none else self.name.removeprefix("published/"))

    @property
    def takes_delta(self) -> bool:
        """True if the learner is built with a delta."""
        return takes_delta(self.make)

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
        return learner_builder(
            self.make, problem, epsilon=epsilon, horizon=horizon, delta=delta, settings=given
        )


def catalogue_entries(kind: type[_Entry], makes: Iterable[type[Any]]) -> dict[str, _Entry]:
    """Return the entries of learner classes, by name."""
    said = [field.name for field in fields(kind)]
    entries = [
        kind(make, **{name: getattr(make, name) for name in said if hasattr(make, name)}) for make in makes
    ]
    return {entry.name: entry for entry in entries}


def learner_builder(
    make: type[Any],
    problem: Any,
    *,
    epsilon: float,
    horizon: int | None,
    delta: float = DEFAULT_DELTA,
    settings: Mapping[str, Value] | None = None,
) -> Callable[[Gate], Any]:
    """Return a function that makes a learner of class `make` on a gate, for a problem of its family.

    epsilon, delta and horizon are passed if the class takes them; of a linear bandit population, sigma, replacement and
    reward_bound, too. reward_bound is the setting of that name; 0 or none means the bound of the problem's rewards: 1,
    or no bound.

    Raises
    ------
    ProblemError
        If the problem is not of the learner's family.
    ParameterError
        If the class takes epsilon, delta or horizon and it is out of range, or needs a horizon and it is None.
    """
    _check_family(make, problem)
    given, needed = dict(settings or {}), needs_horizon(make)
    offered: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "horizon": horizon}
    named = {"delta", "epsilon"}  # keywords that a class with ``**keywords`` takes by name
    if isinstance(problem, LinearBandit):
        played: Any = problem.actions
        offered |= {name: getattr(problem, name) for name in ("population", "sigma", "replacement")}
        bound = given.pop("reward_bound", 0.0) or (1.0 if problem.rewards == "signs" else None)
        if bound is not None:
            offered["reward_bound"] = bound
    elif isinstance(problem, LinearContexts):
        played = problem.features
    else:
        played, named = problem.structure, {"delta"}
    if given.pop(ANYTIME.name, "no") == "yes":
        offered["horizon"] = None
    accepted = inspect.signature(make).parameters
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
    passed = {
        name: value for name, value in offered.items() if name in accepted or (anything and name not in named)
    }
    if "horizon" in passed and (needed or passed["horizon"] is not None):
        check_horizon(passed["horizon"], needed)
    for name, check in (("epsilon", check_epsilon), ("delta", check_delta)):
        if name in passed:
            check(passed[name])
    build: Callable[..., Any] = make
    return functools.partial(build, played, **(passed | given))


def _check_family(make: type[Any], problem: object) -> None:
    """Raise `ProblemError` unless learners of class `make` play `problem`."""
    family = getattr(make, "family", None)
    if family not in PLAYS:
        raise ProblemError(
            f"{make.__name__}: a learner class must name its family, one of {', '.join(sorted(PLAYS))}"
        )
    kind = problem_kind(problem)
    if kind not in PLAYS[family]:
        raise ProblemError(
            f"{make.__name__} plays {' and '.join(PLAYS[family])} problems, not a {kind} problem"
        )
