"""The identity of a subject's code and parameters, so that evidence on one is never counted for another."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import sys
import types
from collections.abc import Callable, Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from accountant.provenance import IMPORTED_AS
from algorithms.code_fingerprint import code_digests, module_digest, modules_used, packages_named
from dpwitness import LIBRARY, in_place, is_of_library, is_of_python
from verify.bandits.calling.plain_bandit import BanditSubject, PlainBandit
from verify.conduct.process_state import subjects_own
from verify.functions.command_subject import Command
from verify.functions.function_subject import FunctionSubject
from verify.learners.learner_subject import LearnerSubject
from verify.verification.python_file import check_byte_code, is_package_of_users, of_users, own_packages
from verify.verification.resolve import Subject
from verify.verification.verify_mechanism import MechanismSubject

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def source_digest(subject: Subject) -> str:
    """Return a digest of a subject's own code and parameters.

    The digest is of a class and its bases, of a function with the plain values that it closes over and the defaults of
    its parameters, of a mechanism's parameters, or of a command and the files among its words; not of code that they
    call.
    """
    if isinstance(subject, MechanismSubject):
        text = repr(subject.mechanism) + _class_source(type(subject.mechanism))
    elif isinstance(subject, LearnerSubject):
        text = _class_source(subject.make)
    elif isinstance(subject, BanditSubject):
        text = _bandit_source(subject.bandit)
    elif isinstance(subject.function, Command):
        text = _command_source(subject.function)
    else:
        text = _source(subject.function)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def module_digests(subject: Subject) -> dict[str, str]:
    """Return a digest of each module that a learner's code consists of, by name; of this library, those it uses itself.

    Of its own module, of those that it uses (`algorithms.code_fingerprint` says how far) and that belong to no
    installed package, and of the packages that these lie in, whose code runs before theirs; of installed packages that
    any of them imports, the version. Other subjects have none: their proof, if there is one, rests on parameters alone.

    Raises
    ------
    SubjectError
        If one of them was run from byte code of another version.
    """
    if not isinstance(subject, LearnerSubject) or subject.entry is not None:
        return {}
    digests = _code_from(subject.make.__module__)
    check_byte_code(of_users(digests.keys()))
    versions = _versions(digests)
    ours = {name: module_digest(name) for name in sorted(modules_used(digests, frozenset(LIBRARY)))}
    digests |= {name: digest for name, digest in ours.items() if digest is not None}
    packages = own_packages.get(subject.make.__module__)
    own = {} if packages is None else packages.digests()
    return (
        {f"module {name.removeprefix(IMPORTED_AS)}": digest for name, digest in digests.items()}
        | {f"version of {name}": version for name, version in versions.items()}
        | {f"own file {name}": digest for name, digest in own.items()}
    )


def modules_of_user(subject: Subject) -> list[types.ModuleType]:
    """Return the loaded modules of a user's that a subject's code consists of, each after those that it imports."""
    match subject:
        case LearnerSubject(make=code) | FunctionSubject(function=code):
            pass
        case BanditSubject(bandit=bandit):
            code = bandit.make
        case MechanismSubject(mechanism=mechanism):
            code = type(mechanism)
    with subjects_own():
        packages = in_place()
    own, shared = getattr(code, "__module__", None), [] if packages is None else packages.modules()
    if any(module.__name__ == own for module in shared) and not is_of_library(
        code if isinstance(code, types.FunctionType | type) else type(code)
    ):
        return shared
    if not isinstance(own, str) or not of_users([own]):
        return []
    names = {module.__name__ for module in of_users(_code_from(own))}
    return [*shared, *(module for name, module in reversed(list(sys.modules.items())) if name in names)]


def _code_from(own: str) -> dict[str, str]:
    """Return a digest of each module, of no installed package, that a module's code consists of with its own."""
    known = {own.partition(".")[0]} | {
        module.__name__.partition(".")[0] for module in of_users(sys.modules.keys())
    }
    digests: dict[str, str] = {}
    looked_into: frozenset[str] = frozenset()
    above, begun = {own}, set[str]()
    while known - looked_into or above - begun:
        looked_into, begun = frozenset(known), set(above)
        digests = code_digests(begun, looked_into.difference(LIBRARY))
        above |= {
            ".".join(parts[:n])
            for parts in (name.split(".") for name in digests)
            for n in range(1, len(parts))
        }
        # Modules and packages that are imported in a function that did not run, too.
        known |= {name for name in packages_named(digests) - looked_into if is_package_of_users(name)}
    return digests


def _versions(modules: Collection[str]) -> dict[str, str]:
    """Return the versions of the installed packages that some loaded modules import, but for this library."""
    imported = {
        value.__name__.partition(".")[0]
        if inspect.ismodule(value)
        else str(getattr(value, "__module__", None) or "")
        for name in modules
        for value in vars(sys.modules.get(name, types.ModuleType(name))).values()
    }
    own = {name.partition(".")[0] for name in modules}
    packages = {name.partition(".")[0] for name in imported}.difference(
        LIBRARY, sys.stdlib_module_names, own, ("",)
    )
    return {name: version for package in sorted(packages) for name, version in _versions_of(package)}


def _versions_of(package: str) -> list[tuple[str, str]]:
    """Return the names and versions of the distributions that installed a package; most have its name."""
    try:
        return [(package, metadata.version(package))]
    except metadata.PackageNotFoundError:
        return [(name, metadata.version(name)) for name in _distributions().get(package, ())]


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def class_without_source(subject: object) -> str | None:
    """Return the name of a class, or base class, with unreadable source; None if all can be read, or it is no class."""
    for base in subject.__mro__ if inspect.isclass(subject) else ():
        if not is_of_python(base):
            try:
                inspect.getsource(base)
            except Exception:  # a class may name a module whose source cannot be read
                return base.__qualname__
    return None


def _bandit_source(bandit: PlainBandit) -> str:
    """Return the code of a bandit's class and of its calling functions, and all its parameters."""
    parts = []
    for name in sorted(one.name for one in dataclasses.fields(PlainBandit)):
        value = getattr(bandit, name)
        if name == "adversary" and value is not None:
            said = adversary_words(value)
        elif isinstance(value, np.ndarray):
            said = repr(value.tolist())
        else:
            said = _source(value) if callable(value) else _plain(value)
        parts.append(f"{name}: {said}")
    return "\n".join(parts)


def adversary_words(adversary: Any) -> str:
    """Return an adversary's words and code."""
    return f"{adversary.description}\n{_class_source(type(adversary))}"


def _class_source(made: type[Any]) -> str:
    """Return the source of a class and of its bases, as far as there is any; Python's own by their names."""
    return "\n".join(
        _fixed_text(base) if is_of_python(base) or is_of_library(base) else _text_of(base)
        for base in made.__mro__
        if base is not object
    )


def _source(called: Callable[..., Any]) -> str:
    """Return the source of a function, of a class, or of the class of a callable object."""
    if inspect.isclass(called):
        return _class_source(called)
    if isinstance(called, functools.partial):
        given = [*called.args, *(value for _, value in sorted(called.keywords.items()))]
        return f"{_source(called.func)}\n{[_plain(value) for value in given]} {sorted(called.keywords)}"
    function = inspect.unwrap(called)
    if inspect.ismethod(function):
        function = function.__func__
    if not inspect.isfunction(function):
        own = sorted(vars(function).items()) if hasattr(function, "__dict__") else []
        return f"{_class_source(type(function))}\n{[(name, _plain(value)) for name, value in own]}"
    cells = [_content(cell) for cell in function.__closure__ or ()]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return f"{_text_of(function)}\n{cells} {[_plain(value) for value in defaults]}"


def _command_source(command: Command) -> str:
    """Return the words of a command, and digests of the files that any of them name."""
    folder = command.folder or Path()
    contents = []
    for word in command.arguments:
        file = folder / word
        try:
            contents.append(hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "")
        except OSError:  # not ours to read
            contents.append("")
    return f"{list(command.arguments)} {contents}"


def _text_of(found: Any) -> str:
    try:
        with subjects_own():  # a user's modules may have names of this library's
            return inspect.getsource(found)
    except Exception:  # written at a prompt, not in Python, or where it says, since 3.13, nothing can be read
        return getattr(found, "__qualname__", "")


@functools.cache  # inspect parses a module for each of its classes; users' modules may be read again, and change
def _fixed_text(found: type[Any]) -> str:
    # Python's own source differs between versions, but the subject is the same.
    ours = is_of_library(found) or of_users({found.__module__})
    return _text_of(found) if ours else f"{found.__module__}.{found.__qualname__}"


def _content(cell: Any) -> str:
    try:
        return _plain(cell.cell_contents)
    except ValueError:  # empty
        return ""


def _plain(value: Any) -> str:
    """Return a plain value as text that is the same in every process; the type's name of any other value."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_plain, value))}]"
    if callable(value) and not inspect.isclass(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return type(value).__qualname__
