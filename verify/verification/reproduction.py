"""The command line, or the Python call, that repeats a verification."""

from __future__ import annotations

import numbers
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from verify.bandits.calling.plain_bandit import BanditSubject
from verify.functions.function_subject import FunctionSubject
from verify.verification.options import Options, each_option
from verify.verification.resolve import Subject, every_learner


def reproduction(subject: object, found: Subject, options: Options) -> str:
    """Return the command line that repeats a verification, or the Python call if it has no words for everything.

    Parameters
    ----------
    subject, found
        The subject that was verified, as the caller named it and as it was resolved.
    options
        The options to write: with the numbers of the claim, and the seed that was used.
    """
    arguments = found.arguments if isinstance(found, FunctionSubject) else ()
    named = isinstance(subject, str) or found.name in every_learner or bool(arguments)
    if arguments:
        options = replace(options, neighbours=None)  # they are among the arguments
    called = found.bandit.call if isinstance(found, BanditSubject) else found.name
    return rerun_command("verify", called, options, named=named, arguments=arguments or (found.name,))


def rerun_command(
    function: str,
    called: str,
    options: Options,
    *,
    named: bool,
    arguments: Sequence[str] = (),
    further: Sequence[str] = (),
) -> str:
    """Return the command line, or the Python call, with these options.

    Parameters
    ----------
    function
        The name of the function called in Python; on the command line it is `verify`.
    called
        The subject in a Python call.
    options
        The options; those of default value are not written.
    named
        True if a command line can name the subject.
    arguments
        The words by which it does; by default the subject as in a Python call.
    further
        Flags of the command line alone.
    """
    changed = {
        name: (facts, getattr(options, name))
        for name, default, facts in each_option(type(options))
        if name == "seed" or (facts.repeats and not _is_default(getattr(options, name), default))
    }
    in_words = (str, numbers.Real, Mapping, list, tuple)
    if named and all(facts.flag and isinstance(value, in_words) for facts, value in changed.values()):
        flags = [part for name, (facts, value) in changed.items() for part in _flag(facts.flag, value)]
        return shlex.join(["dpwitness", "verify", *(arguments or (called,)), *flags, *further])
    return (
        f"{function}({', '.join([called, *(f'{name}={value!r}' for name, (_, value) in changed.items())])})"
    )


def _is_default(value: Any, default: Any) -> bool:
    """Return True if an option's value is the default, or an empty dictionary or list."""
    return (isinstance(value, dict | list) and not value) or bool(value == default)


def _flag(flag: str, value: Any) -> list[str]:
    """Return an option as arguments of the command line."""
    if flag == "--composition":
        theorem, *settings = (part.strip() for part in str(value).split(","))
        return [flag, theorem, *(part for each in settings for part in ("--set", each))]
    if flag.endswith("="):
        option, name = flag.split()
        return [option, f"{name}{value}"]
    if isinstance(value, Mapping):
        return [part for key, each in value.items() for part in (flag, f"{key}={each}")]
    if isinstance(value, list | tuple):
        return [part for each in value for part in (flag, str(each))]
    if value is True:
        return [flag]
    return [flag, str(value) if isinstance(value, str) else str(value).removesuffix(".0")]
