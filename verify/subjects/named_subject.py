"""The subject that a command line names: by its name, by a function and its neighbours, or by a command."""

from __future__ import annotations

from dataclasses import replace

from verify.findings.subject_error import SubjectError
from verify.functions.function_subject import FunctionSubject
from verify.neighbouring.adjacency import Adjacency
from verify.neighbouring.registry import adjacency_from_words
from verify.subjects.resolve import Named


def named_subject(
    subject: str | None, command: str | None, data: str | None
) -> tuple[str | Named | FunctionSubject, Adjacency | None]:
    """Return the subject of a command line, and the adjacency if one is given; no code of the subject's is imported.

    Parameters
    ----------
    subject
        A name, or None with a command.
    command
        A command, or None with a name.
    data
        A domain or an adjacency in words. A command needs it.

    Raises
    ------
    SubjectError
        If there is not exactly one of `subject` and `command`, or a command has no neighbours.
    ParameterError
        If the words cannot be read.
    """
    if (subject is None) == (command is None):
        raise SubjectError(
            "name what to verify: a SUBJECT (dpwitness list shows the learners), or a --command, and not both"
        )
    if data is None:
        if subject is not None:
            return subject, None
        raise SubjectError(
            "--command: say which data sets are neighbours, as in --data 'interval(0, 1)' or "
            "--data 'within(box(-10, 10, 5), linf=1)'"
        )
    adjacency = adjacency_from_words(data)
    if command is None:
        assert subject is not None
        return Named(subject, (subject, "--data", data)), adjacency
    from verify.functions.command_subject import command_subject

    found = command_subject(command, adjacency)
    return replace(found, arguments=("--command", command, "--data", data)), None
