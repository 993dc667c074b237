"""What can be verified, and how it is found: a registered name, ``path/to/file.py:object``, or an object.

Four kinds of subject: a learner (a class with ``act`` and ``observe``), a mechanism, a function
``f(data, gate)`` that holds raw data and releases through a gate, and a function ``f(data, rng)`` that is a
black box. Functions say what one record is with the decorator `claimed`.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from algorithms.catalogue import LearnerEntry, learners
from algorithms.claim import ClaimForm, Model, View
from algorithms.problems import known_name
from mechanisms import Domain, Mechanism


class SubjectError(ValueError):
    """The subject does not exist, does not import, or says nothing that could be verified."""


@dataclass(frozen=True)
class LearnerSubject:
    """A learner class, with its catalogue entry if it has one."""

    name: str
    make: type[Any]
    entry: LearnerEntry | None

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
class FunctionSubject:
    """A function on one data set, its data domain and claim."""

    name: str
    function: Callable[..., Any]
    data: Domain
    form: ClaimForm
    takes_gate: bool
    takes_lanes: bool


Subject = LearnerSubject | MechanismSubject | FunctionSubject

_Function = TypeVar("_Function", bound=Callable[..., Any])


def claimed(
    *,
    data: Domain,
    model: Model = "central",
    unit: str = "the whole input of the function",
) -> Callable[[_Function], _Function]:
    """Declare that a function is private, and what its data are; the command line supplies the numbers.

    Parameters
    ----------
    data
        The domain of the function's first argument. Any two of its points are neighbours.
    model
        The trust model, for the report.
    unit
        What one record is, for the report.

    Examples
    --------
    >>> import numpy as np
    >>> from mechanisms import Interval
    >>> @claimed(data=Interval(0, 1))
    ... def noisy(data: float, rng: np.random.Generator) -> float:
    ...     return data + rng.laplace(scale=1.0)
    """

    def mark(function: _Function) -> _Function:
        function.dpwitness_claim = (  # type: ignore[attr-defined]
            data,
            ClaimForm(model, View.OUTPUT, unit, "declared with @claimed"),
        )
        return function

    return mark


def resolve(subject: object) -> Subject:
    """Find a subject by its name, or classify an object.

    Raises
    ------
    SubjectError
        If there is no such subject, or it makes no claim.
    ParameterError
        If a registered name is misspelt; the message suggests the closest.
    """
    if isinstance(subject, str):
        if ".py:" in subject or subject.endswith(".py"):
            return _classify(_load(subject), subject)
        entry = learners[known_name("learner", subject, learners)]
        return LearnerSubject(entry.name, entry.make, entry)
    for entry in learners.values():
        if entry.make is subject:
            return LearnerSubject(entry.name, entry.make, entry)
    return _classify(subject, getattr(subject, "__qualname__", repr(subject)))


def _classify(found: object, name: str) -> Subject:
    if inspect.isclass(found) and callable(getattr(found, "act", None)):
        if not isinstance(getattr(found, "claim", None), ClaimForm):
            raise SubjectError(
                f"{name}: a learner class needs a `claim`, an algorithms.ClaimForm that says its trust model and view"
            )
        return LearnerSubject(name, found, None)
    if not inspect.isclass(found) and isinstance(found, Mechanism):
        built_in = type(found).__module__.partition(".")[0] == "mechanisms"
        return MechanismSubject(name, found, built_in)
    if inspect.isfunction(found):
        return _classify_function(found, name)
    raise SubjectError(
        f"{name} is of type {type(found).__name__}; must be a learner class (act, observe, claim), "
        "a mechanism object, or a function f(data, rng) or f(data, gate) marked with @claimed"
    )


def _classify_function(function: Callable[..., Any], name: str) -> FunctionSubject:
    claim = getattr(function, "dpwitness_claim", None)
    if claim is None:
        raise SubjectError(
            f"{name}: no claim; mark the function with @claimed(data=...), which says what one record is"
        )
    parameters = list(inspect.signature(function).parameters)
    if len(parameters) < 2 or parameters[1] not in ("rng", "gate"):
        raise SubjectError(
            f"{name}: its parameters are ({', '.join(parameters)}); must be (data, rng), (data, rng, lanes) or "
            "(data, gate)"
        )
    data, form = claim
    return FunctionSubject(
        name, function, data, form, takes_gate=parameters[1] == "gate", takes_lanes="lanes" in parameters
    )


def _load(reference: str) -> object:
    path, colon, attribute = reference.rpartition(":")
    if not colon or not attribute:
        file = reference.rstrip(":")
        raise SubjectError(f"{file}: name the object too, as in {file}:MyLearner")
    module = _import(Path(path))
    if not hasattr(module, attribute):
        subjects = ", ".join(name for name, value in vars(module).items() if _is_subject(value)) or "none"
        raise SubjectError(f"{path} has no object {attribute!r}; what could be verified in it: {subjects}")
    return getattr(module, attribute)


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
