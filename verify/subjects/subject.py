"""What can be verified, and how it is found: a registered name, ``zoo/<name>``, ``path.py:object``, or an object.

Five kinds of subject: a learner (a class with ``act`` and ``observe``), a mechanism, a function
``f(data, gate)`` that holds raw data and releases through a gate, a function ``f(data, rng)`` or
``f(data, rng, lanes)`` that is a black box, and a command in any language (`verify.subjects.command_subject`).
Functions say which data sets are neighbours with the decorator `claimed`.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from algorithms.catalogue import LearnerEntry, learners
from algorithms.claim import ClaimForm, Model, View
from algorithms.linear_catalogue import LinearEntry, linear_learners
from algorithms.problems import known_name
from mechanisms import Domain, Mechanism
from verify.neighbouring.adjacency import Adjacency, as_adjacency
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
    law
        What is known of its output's law, for a likelihood audit; None if nothing.
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
    law: Any = None
    claimed_epsilon: float | None = None
    claimed_delta: float = 0.0
    single_lanes: bool = True
    arguments: tuple[str, ...] = ()


Subject = LearnerSubject | MechanismSubject | FunctionSubject | BanditSubject

WHOLE = "the whole input of the function"
"""What one record is where a function does not say."""

ZOO = "zoo/"
"""How the names of the zoo's specimens start."""

every_learner: Mapping[str, LearnerEntry | LinearEntry] = {**learners, **linear_learners}
"""The registered learners of all families."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class _Declared:
    """What `claimed` says of a function."""

    neighbours: Adjacency
    form: ClaimForm
    law: Any


def claimed(
    *,
    data: Domain | Adjacency,
    model: Model = "central",
    unit: str = WHOLE,
    law: Any = None,
) -> Callable[[_Function], _Function]:
    """Declare that a function is private, and what its data are; the command line supplies the numbers.

    Parameters
    ----------
    data
        Which data sets are neighbours: an adjacency (`verify.neighbouring.adjacency`), such as
        ``ReplaceOne(Interval(0, 1), 10)``, or the domain of the function's first argument, any two points of which are
        neighbours then.
    model
        The trust model, for the report.
    unit
        What one record is, for the report.
    law
        What is known of the output's law, for a likelihood audit.

    Raises
    ------
    ParameterError
        If `data` is neither a domain nor an adjacency.

    Examples
    --------
    >>> import numpy as np
    >>> from mechanisms import Interval
    >>> @claimed(data=Interval(0, 1))
    ... def noisy(data: float, rng: np.random.Generator) -> float:
    ...     return data + rng.laplace(scale=1.0)
    """
    neighbours = as_adjacency(data)
    form = ClaimForm(model, View.OUTPUT, unit, "declared with @claimed", neighbours.words)

    def mark(function: _Function) -> _Function:
        function.dpwitness_claim = _Declared(neighbours, form, law)  # type: ignore[attr-defined]
        return function

    return mark


def resolve(subject: object, neighbours: Domain | Adjacency | None = None) -> Subject:
    """Find a subject by its name, or classify an object.

    Parameters
    ----------
    subject
        A learner's name, ``"zoo/<name>"``, ``"file.py:object"``, ``"file.toml"``
        (`verify.subjects.command_subject`), or an object.
    neighbours
        For functions: which data sets are neighbours, in place of what the function declares, if it does.

    Raises
    ------
    SubjectError
        If there is no such subject, or it makes no claim.
    ParameterError
        If a registered name is misspelt; the message suggests the closest.
    """
    if isinstance(subject, LearnerSubject | MechanismSubject | FunctionSubject | BanditSubject):
        return subject
    if neighbours is None:
        return _found(subject, None)
    adjacency = as_adjacency(neighbours)
    form = ClaimForm("central", View.OUTPUT, WHOLE, "said by the caller", adjacency.words)
    found = _found(subject, _Declared(adjacency, form, None))
    if not isinstance(found, FunctionSubject):
        raise SubjectError(f"{found.name} is no function: it takes no neighbours")
    return replace(found, neighbours=adjacency, form=replace(found.form, neighbours=adjacency.words))


def _found(subject: object, declared: _Declared | None) -> Subject:
    """Find a subject; a function that declares nothing is taken as `declared`."""
    if isinstance(subject, FunctionSubject):
        return subject
    if isinstance(subject, str):
        if subject.endswith(".toml"):
            from verify.subjects.command_subject import subject_from_file

            return subject_from_file(subject)
        if ".py:" in subject or subject.endswith(".py"):
            return _classify(load_object(subject), subject, declared)
        if subject.startswith(ZOO):
            return _specimen(subject)
        entry = every_learner[known_name("learner", subject, every_learner)]
        return LearnerSubject(entry.name, entry.make, entry)
    for entry in every_learner.values():
        if entry.make is subject:
            return LearnerSubject(entry.name, entry.make, entry)
    name = getattr(subject, "__qualname__", type(subject).__name__ if callable(subject) else repr(subject))
    return _classify(subject, name, declared)


def _classify(found: object, name: str, declared: _Declared | None = None) -> Subject:
    if inspect.isclass(found) and callable(getattr(found, "act", None)):
        if not isinstance(getattr(found, "claim", None), ClaimForm):
            raise SubjectError(
                f"{name}: a learner class needs a `claim`, an algorithms.ClaimForm that says its trust model and view"
            )
        return LearnerSubject(name, found, None)
    if not inspect.isclass(found) and isinstance(found, Mechanism):
        built_in = type(found).__module__.partition(".")[0] == "mechanisms"
        return MechanismSubject(name, found, built_in)
    if isinstance(found, PlainBandit):
        return BanditSubject(found.name if name == repr(found) else name, found)
    if callable(found) and not inspect.isclass(found):
        return _classify_function(found, name, declared)
    raise SubjectError(
        f"{name} is of type {type(found).__name__}; must be a learner class (act, observe, claim), "
        "a mechanism object, a verify.PlainBandit, or a function f(data, rng) or f(data, gate) marked with @claimed"
    )


def _classify_function(
    function: Callable[..., Any], name: str, declared: _Declared | None = None
) -> FunctionSubject:
    claim = getattr(function, "dpwitness_claim", None) or declared
    if claim is None:
        raise SubjectError(
            f"{name}: no claim; mark the function with @claimed(data=...), which says what its neighbours are, or give "
            "--data or --neighbours"
        )
    parameters = list(inspect.signature(function).parameters)
    if not _takes_randomness(function):
        raise SubjectError(
            f"{name}: its parameters are ({', '.join(parameters)}); must be (data, rng), (data, rng, lanes) or "
            "(data, gate)"
        )
    return FunctionSubject(
        name,
        function,
        claim.neighbours,
        claim.form,
        takes_gate=parameters[1] == "gate",
        takes_lanes="lanes" in parameters,
        law=claim.law,
    )


def _takes_randomness(function: Callable[..., Any]) -> bool:
    """Return whether a function's second parameter is a generator or a gate."""
    parameters = list(inspect.signature(function).parameters)
    return len(parameters) >= 2 and parameters[1] in ("rng", "gate")


def _specimen(name: str) -> Subject:
    """Return a specimen of the zoo with its own claim."""
    from verify.zoo import specimens

    specimen = specimens[known_name("specimen", name.removeprefix(ZOO), specimens)]
    found = _classify(specimen.subject, f"{ZOO}{specimen.name}")
    assert isinstance(found, LearnerSubject | FunctionSubject | BanditSubject)
    return replace(found, claimed_epsilon=specimen.epsilon, claimed_delta=specimen.delta)


def load_object(reference: str) -> object:
    """Import ``path/to/file.py:object``.

    Raises
    ------
    SubjectError
        If there is no such file or object, or the file does not import.
    """
    path, colon, attribute = reference.rpartition(":")
    if not colon or not attribute:
        file = reference.rstrip(":")
        raise SubjectError(f"{file}: name the object too, as in {file}:MyLearner")
    module = _import(Path(path))
    if not hasattr(module, attribute):
        subjects = [name for name, value in vars(module).items() if _is_subject(value)]
        functions = [name for name, value in vars(module).items() if _lacks_neighbours_only(value, module)]
        also = f"; given --neighbours or --data also {', '.join(functions)}" if functions else ""
        raise SubjectError(
            f"{path} has no object {attribute!r}; what could be verified in it: {', '.join(subjects) or 'none'}{also}"
        )
    return getattr(module, attribute)


def _lacks_neighbours_only(value: object, module: ModuleType) -> bool:
    """Return whether a value is a function of the module's own that needs no more than its neighbours."""
    return (
        inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not value.__name__.startswith("_")
        and _takes_randomness(value)
        and not _is_subject(value)
    )


def _is_subject(value: object) -> bool:
    try:
        _classify(value, "")
    except SubjectError:
        return False
    return True


def _import(path: Path) -> ModuleType:
    if not path.is_file():
        raise SubjectError(f"{path}: no such file")
    specification = importlib.util.spec_from_file_location(f"dpwitness_subject_{path.stem}", path)
    if specification is None or specification.loader is None:
        raise SubjectError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    sys.path.insert(0, str(path.parent))
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a user's file raises
        del sys.modules[specification.name]
        line = _line_in(error, path)
        raise SubjectError(f"{path}{line} does not import: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _line_in(error: BaseException, path: Path) -> str:
    """Return ``:line`` of the file's own last frame in a traceback."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    line = ""
    trace = error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path:
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line
