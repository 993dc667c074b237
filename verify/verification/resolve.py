"""The resolution of a subject: by a registered name, as ``zoo/<name>``, as ``path.py:object``, or as an object."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from algorithms.catalogue.contextual_entries import ContextualEntry, contextual_learners
from algorithms.catalogue.linear_entries import LinearEntry, linear_learners
from algorithms.catalogue.structured_entries import LearnerEntry, learners
from algorithms.claim import ClaimForm
from algorithms.problems import SettingError, known_name
from mechanisms import Domain, Mechanism, Neighbouring
from mechanisms.domains.neighbouring import conversion_hint
from verify.bandits.calling.plain_bandit import BanditSubject, PlainBandit
from verify.conduct.process_state import subjects_own
from verify.findings.subject_error import SubjectError
from verify.functions.claimed import Declared, claim_form
from verify.functions.function_subject import FunctionSubject
from verify.learners.learner_subject import LearnerSubject
from verify.neighbouring.adjacency import Adjacency, relation_of
from verify.neighbouring.registry import as_adjacency
from verify.verification.python_file import import_file
from verify.verification.verify_mechanism import MechanismSubject

Subject = LearnerSubject | MechanismSubject | FunctionSubject | BanditSubject
"""A subject of verification, of any kind."""

_ZOO = "zoo/"  # how the names of its specimens start

every_learner: Mapping[str, LearnerEntry | LinearEntry | ContextualEntry] = {
    **learners,
    **linear_learners,
    **contextual_learners,
}
"""The registered learners of all families."""


@dataclass(frozen=True)
class Named:
    """A function as a command line names it.

    Attributes
    ----------
    name
        ``"file.py:object"``, or another name.
    arguments
        The words of the command line for it: the name, and the words for its neighbours.
    """

    name: str
    arguments: tuple[str, ...]


def names_file(name: str) -> bool:
    """Return True if a name is that of an object in a file of code to be imported (of a notebook: to be refused)."""
    return any(f"{ending}:" in name or name.endswith(ending) for ending in (".py", ".ipynb"))


def file_of(subject: object) -> Path | None:
    """Return the Python file that a subject's name leads to; None if it names no file."""
    name = subject.name if isinstance(subject, Named) else subject
    if not isinstance(name, str) or not names_file(name):
        return None
    return Path(_parts_of(name)[0])


def _parts_of(reference: str) -> tuple[str, str]:
    """Return the file that a name leads to, and the object in it."""
    path, _, attribute = reference.rpartition(":")
    return (path, attribute) if path else (reference.rstrip(":"), "")


def is_registered(subject: object) -> bool:
    """Return True if a subject is the name of a learner or specimen of this library."""
    return isinstance(subject, str) and (subject in every_learner or subject.startswith(_ZOO))


def takes_delta(learner: str) -> bool:
    """Return True if a learner may be built with a delta: every one but those registered without."""
    return learner not in every_learner or every_learner[learner].takes_delta


def check_delta_is_taken(delta: float, *learners: str) -> None:
    """Refuse a delta that none of these learners takes."""
    if not any(map(takes_delta, learners)):
        raise SettingError(
            f"--delta {delta:g}: must not be given, as no learner here takes it: {', '.join(learners)}"
        )


def registered_name(subject: object) -> str | None:
    """Return the name of a registered learner that was named or given, None if it is none."""
    return next(
        (name for name, entry in every_learner.items() if entry.make is subject or name == subject), None
    )


def resolve(subject: object, neighbours: Domain | Adjacency | None = None) -> Subject:
    """Find a subject by its name, or classify an object.

    Parameters
    ----------
    subject
        A learner's name, ``"zoo/<name>"``, ``"file.py:object"``, ``"file.toml"``
        (`verify.functions.command_subject`), or an object.
    neighbours
        For functions: the adjacency of data sets, in place of one that the function declares.

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
        return _find_subject(subject, None)
    adjacency = as_adjacency(neighbours, "neighbours")
    form = claim_form("central", "", "stated by the caller", adjacency)
    found = _find_subject(subject.name if isinstance(subject, Named) else subject, Declared(adjacency, form))
    if not isinstance(found, FunctionSubject):
        raise SubjectError(f"{found.name} is no function: it takes no neighbours")
    arguments = subject.arguments if isinstance(subject, Named) else found.arguments
    form = replace(found.form, neighbours=relation_of(adjacency), differ=adjacency.description)
    return replace(found, neighbours=adjacency, form=form, guessed=False, arguments=arguments)


def _find_subject(subject: object, declared: Declared | None) -> Subject:
    """Find a subject; a function that declares nothing is taken as `declared`."""
    if isinstance(subject, str):
        if subject.endswith(".toml"):
            from verify.functions.command_subject import subject_from_file

            return subject_from_file(subject)
        if names_file(subject):
            return _classify(load_object(subject), subject, declared)
        if subject.startswith(_ZOO):
            return _specimen(subject)
        entry = every_learner[known_name("learner", subject, every_learner)]
        return LearnerSubject(entry.name, entry.make, entry)
    for entry in every_learner.values():
        if entry.make is subject:
            return LearnerSubject(entry.name, entry.make, entry)
    name = getattr(subject, "__qualname__", type(subject).__name__ if callable(subject) else repr(subject))
    return _classify(subject, name, declared)


@subjects_own()
def _classify(found: object, name: str, declared: Declared | None = None) -> Subject:
    # Learners for contexts have a policy in place of `act`.
    if inspect.isclass(found) and (
        callable(getattr(found, "act", None)) or getattr(found, "family", None) == "contextual"
    ):
        form = getattr(found, "claim", None)
        if not isinstance(form, ClaimForm):
            raise SubjectError(
                f"{name}: a learner class needs a `claim`, an algorithms.ClaimForm that says its trust model and view"
            )
        if form.neighbours is not Neighbouring.REPLACE_ONE:
            raise SubjectError(
                f"{name}: its claim is for neighbours {form.neighbours.value!r}; accountants, coupled runs and "
                f"replays replace one record. {conversion_hint(form.neighbours, Neighbouring.REPLACE_ONE)}"
            )
        return LearnerSubject(name, found, None)
    if not inspect.isclass(found) and isinstance(found, Mechanism):
        return MechanismSubject(name, found)
    if isinstance(found, PlainBandit):
        return BanditSubject(found.name if name == repr(found) else name, found)
    if type(found).__module__.startswith("opendp.") and type(found).__name__ == "Measurement":
        raise SubjectError(
            f"{name}: an OpenDP measurement does not say how far apart neighbours are: give "
            "mechanisms.from_opendp(measurement, d_in=...), the distance in its input metric"
        )
    if callable(found) and not inspect.isclass(found):
        return _classify_function(found, name, declared)
    raise SubjectError(
        f"{name} is of type {type(found).__name__}; must be a learner class (act or policy, observe, claim), "
        "a mechanism object, a verify.PlainBandit, or a function f(data, rng) or f(data, gate) marked with @claimed"
    )


def _classify_function(
    function: Callable[..., Any], name: str, declared: Declared | None = None
) -> FunctionSubject:
    claim = getattr(function, "dpwitness_claim", None) or declared
    if claim is None:
        makes = (
            ""
            if _takes_randomness(function)
            else (f"; if it makes a bandit, give verify.PlainBandit({name}, arms=..., rounds=...)")
        )
        raise SubjectError(
            f"{name}: no claim; mark the function with @claimed(data=...), which says what its neighbours are, or give "
            f"--data{makes}"
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
        guessed=claim.guessed,
    )


def _takes_randomness(function: Callable[..., Any]) -> bool:
    """Return True if a function's second parameter is a generator or a gate."""
    parameters = list(inspect.signature(function).parameters)
    return len(parameters) >= 2 and parameters[1] in ("rng", "gate")


def _specimen(name: str) -> Subject:
    """Return a specimen of the zoo with its own claim."""
    specimens: Mapping[str, Any] = import_module(
        "verify.zoo"
    ).specimens  # with all of its files, for a name of its own
    specimen = specimens[known_name("specimen", name.removeprefix(_ZOO), specimens)]
    found = _classify(specimen.subject, f"{_ZOO}{specimen.name}")
    assert isinstance(found, LearnerSubject | FunctionSubject | BanditSubject)
    return replace(found, claimed_epsilon=specimen.epsilon, claimed_delta=specimen.delta)


def load_object(reference: str) -> object:
    """Import ``path/to/file.py:object``.

    Raises
    ------
    SubjectError
        If there is no such file or object, or the file does not import.
    """
    path, attribute = _parts_of(reference)
    module = import_file(Path(path))
    if not attribute:
        raise SubjectError(f"{path}: name the object too, as in {path}:MyLearner{_contents(module)}")
    if not hasattr(module, attribute):
        raise SubjectError(f"{path} has no object {attribute!r}{_contents(module)}")
    return getattr(module, attribute)


def _contents(module: ModuleType) -> str:
    """Return the contents of a file in words: its subjects, and its other callables with their signatures."""
    subjects = {name: value for name, value in vars(module).items() if _is_subject(value)}
    others = {
        name: value
        for name, value in vars(module).items()
        if name not in subjects
        and not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
    }
    functions = [
        name for name, value in others.items() if inspect.isfunction(value) and _takes_randomness(value)
    ]
    said = f"; what could be verified in it: {', '.join(subjects) or 'none'}"
    said += f"; given --data also {', '.join(functions)}" if functions else ""
    rest = [f"{name}{_signature(value)}" for name, value in others.items() if name not in functions]
    return said + (f"; its other callables: {'; '.join(rest)}" if rest else "")


def _signature(value: Callable[..., Any]) -> str:
    """Return a callable's signature, of a bandit class with its methods; "(...)" if it has none."""
    try:
        said = str(inspect.signature(value))
    except (TypeError, ValueError):
        said = "(...)"
    methods = [name for name in vars(value) if not name.startswith("_")] if inspect.isclass(value) else []
    return said + (f" with {', '.join(methods)}" if methods else "")


def _is_subject(value: object) -> bool:
    try:
        _classify(value, "")
    except SubjectError:
        return False
    return True
