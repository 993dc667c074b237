"""A command as a subject, in any language: it reads a data set as JSON and prints outputs as JSON.

For every batch the command is started once. It reads one JSON object from standard input,
``{"data": ..., "lanes": n, "seed": s}``, and prints n lines, each one independent output of the mechanism on the data
as a JSON value: a number, a word, true or false, null, or a list or object of these. All its randomness should come
from the seed, so that results repeat. The number of outputs and the seed are also in the environment variables
``DPWITNESS_LANES`` and ``DPWITNESS_SEED``; the last line of the command's standard error is shown if it fails.

A subject file in TOML::

    command = ["./mechanism", "--epsilon", "1"]     # started in the file's folder
    neighbours = "within(box(-10, 10, 5), linf=1)"  # or: data = "interval(0, 1)"
    epsilon = 1.0                                    # the claim; optional, as are delta, model and comment
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from accountant.files.data_files import DataFileError, from_toml, without_repetition
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import real
from verify.conduct.time_limit import TimeLimitReached
from verify.findings.subject_error import SubjectError
from verify.functions.claimed import claim_form
from verify.functions.function_subject import FunctionSubject
from verify.neighbouring.adjacency import Adjacency
from verify.neighbouring.registry import adjacency_from_words
from verify.outputs.raised import Raised

_TRIES = 4  # single outputs after which a command that failed counts as one that always fails on the data
_LONGEST_LINE = 120  # characters of a command's output in a message
_MOST_PRINTED = 2**28  # bytes of one answer: all of them are kept in memory
_AT_ONCE = 2**16  # bytes of one read
_PATIENCE = 1.0  # seconds to wait for the standard error: a process that the command started may hold it open


@dataclass(frozen=True)
class Command:
    """A command that answers for many lanes at once; called as a function f(data, rng, lanes).

    Attributes
    ----------
    arguments
        The program and its arguments; no shell takes part.
    folder
        The folder in which it is started; None for the current one.
    failures
        The first failure on each data set so far, by its JSON; None if it did not fail.
    """

    arguments: tuple[str, ...]
    folder: Path | None = None
    failures: dict[str, Raised | None] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, data: Any, rng: np.random.Generator, lanes: int) -> list[Any]:
        """Return one output for each lane.

        A failure (an exit status other than 0) on one data set of two distinguishes them: if the command fails again in
        each of 4 single runs with other seeds, and in all later ones, the failure is its output.

        Raises
        ------
        SubjectError
            If it cannot be started, prints no JSON or not one line for each lane, or fails now and then.
        """
        key = json.dumps(_plain(data))
        outputs, failure = self._run(data, int(rng.integers(2**53)), lanes)
        tries = range(_TRIES if failure is not None and key not in self.failures else 0)
        seen = [failure, *(self._run(data, int(rng.integers(2**53)), 1)[1] for _ in tries)]
        seen.append(self.failures.setdefault(key, failure))
        if any(seen) and not all(seen):
            failed = next(filter(None, seen))
            raise SubjectError(
                f"{self} {failed.verb} {failed.said} in some runs on data = {_excerpt(key)} and not in others: "
                "print an output instead, such as null; then it is audited"
            )
        return outputs if failure is None else [failure] * lanes

    def __str__(self) -> str:
        return shlex.join(self.arguments)

    def _run(self, data: Any, seed: int, lanes: int) -> tuple[list[Any], Raised | None]:
        question = json.dumps({"data": _plain(data), "lanes": lanes, "seed": seed})
        environment = {**os.environ, "DPWITNESS_LANES": str(lanes), "DPWITNESS_SEED": str(seed)}
        try:
            process = subprocess.Popen(
                self.arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=self.folder,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # the latter of a NUL in a word
            raise SubjectError(
                f"{self}: cannot be started: {getattr(error, 'strerror', error)} ({self.arguments[0]})"
            ) from None
        printed, complaint = _conversation(process, f"{question}\n")
        if printed is None:
            raise SubjectError(f"{self} printed more than {_MOST_PRINTED:,} bytes")
        if process.returncode != 0:
            verb, kind = "failed with", f"exit status {process.returncode}"
            if process.returncode < 0:
                verb, kind = "was ended by", f"signal {-process.returncode}"
            last = f": {_excerpt(complaint.strip().splitlines()[-1])}" if complaint.strip() else ""
            return [], Raised(kind, "", f"{kind}{last}", str(self), verb)
        return self._parse_outputs(printed, lanes, question), None

    def _parse_outputs(self, printed: str, lanes: int, question: str) -> list[Any]:
        """Return one JSON value a line, as many as there are lanes."""
        lines = [line for line in printed.splitlines() if line.strip()]
        if len(lines) != lanes:
            raise SubjectError(
                f"{self} printed {counted_noun(len(lines), 'line')} where {lanes} outputs were asked for: "
                f'print one JSON value a line, as many as "lanes" says; it was sent {_excerpt(question)} and printed '
                f"{_excerpt(printed)!r}"
            )
        try:
            # One call for all lines: ten times as fast as a call for each.
            outputs: list[Any] = _value_of(f"[{','.join(lines)}]")
        except (ValueError, RecursionError):
            outputs = []
        if len(outputs) != lanes:
            outputs = [self._value(line) for line in lines]
        return outputs

    def _value(self, line: str) -> Any:
        try:
            return _value_of(line)
        except DataFileError as error:
            raise SubjectError(f"{self} printed {_excerpt(line)!r}: {error}") from None
        except ValueError:
            raise SubjectError(
                f"{self} printed {_excerpt(line)!r}, which is no JSON value (words need quotation marks)"
            ) from None
        except RecursionError:
            raise SubjectError(f"{self} printed {_excerpt(line)!r}: lists too deep within lists") from None


def command_subject(
    command: str | Sequence[str],
    neighbours: Adjacency,
    *,
    folder: Path | None = None,
    name: str | None = None,
    model: str = "central",
    comment: str = "",
    epsilon: float | None = None,
    delta: float = 0.0,
) -> FunctionSubject:
    """Return a command as a subject.

    Parameters
    ----------
    command
        The program and its arguments, as a list or as one would type them; no shell takes part.
    neighbours
        The neighbouring data sets.
    folder
        The folder in which it starts; by default the current one.
    name
        Its name in reports; by default the command.
    model, comment
        The trust model and the meaning of a record, for the report.
    epsilon, delta
        The command's own claim, if it has one.

    Raises
    ------
    SubjectError
        If the command is empty or its quotation marks do not match, or the model is unknown.
    """
    try:
        arguments = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        raise SubjectError(f"command = {command!r}: {error}") from None
    if not arguments or not all(isinstance(argument, str) for argument in arguments):
        raise SubjectError(f"command = {command!r}: must be a program and its arguments")
    if model not in ("central", "local", "shuffle"):
        raise SubjectError(f"model = {model!r}: must be central, local or shuffle")
    called = Command(arguments, folder)
    form = claim_form(model, comment, "declared for the command", neighbours)  # type: ignore[arg-type]
    return FunctionSubject(
        name if name is not None else str(called),
        called,
        neighbours,
        form,
        takes_gate=False,
        takes_lanes=True,
        claimed_epsilon=epsilon,
        claimed_delta=delta,
        single_lanes=False,
    )


_KEYS = {"command", "data", "neighbours", "epsilon", "delta", "model", "comment"}


def subject_from_file(path: str) -> FunctionSubject:
    """Read a subject file in TOML.

    Raises
    ------
    SubjectError
        If the file is missing or is no TOML, or a key is missing, unknown or has a wrong value.
    """
    file = Path(path)
    try:
        read = from_toml(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SubjectError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, DataFileError) as error:
        raise SubjectError(f"{path}: {error}") from None
    unknown = sorted(read.keys() - _KEYS)
    if unknown:
        raise SubjectError(f"{path}: unknown key {unknown[0]!r}; keys are {', '.join(sorted(_KEYS))}")
    if "command" not in read or ("data" in read) == ("neighbours" in read):
        raise SubjectError(
            f'{path}: needs command = ["program", ...] and one of data = "..." and neighbours = "..."'
        )
    words: Any = read.get("data", read.get("neighbours"))
    for key, value in (("data or neighbours", words), ("comment", read.get("comment", ""))):
        if not isinstance(value, str):
            raise SubjectError(f"{path}: {key} = {value!r}: must be text")
    command = read["command"]
    if not isinstance(command, str | list):
        raise SubjectError(f"{path}: command = {command!r}: must be text or a list of texts")
    options: dict[str, Any] = {key: read[key] for key in ("model", "comment") if key in read}
    try:
        options |= {key: real(key, read[key]) for key in ("epsilon", "delta") if key in read}
        return command_subject(command, adjacency_from_words(words), folder=file.parent, name=path, **options)
    except ValueError as error:
        raise SubjectError(f"{path}: {error}") from None


def _plain(data: Any) -> Any:
    return data.tolist() if isinstance(data, np.ndarray | np.generic) else data


def _excerpt(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 3] + "..."


def _value_of(text: str) -> Any:
    """Return the JSON value of a text; NaN is one, as an output that is audited."""
    return json.loads(text, object_pairs_hook=without_repetition)


def _conversation(process: subprocess.Popen[bytes], question: str) -> tuple[str | None, str]:
    """Ask a command; return its standard output, None if that is too long, and the end of its standard error."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    end = b""

    def ask() -> None:
        with suppress(OSError), stdin:  # it may answer without reading
            stdin.write(question.encode())

    def keep_end() -> None:
        nonlocal end
        with suppress(OSError, ValueError):  # closed when the wait ends
            while part := os.read(stderr.fileno(), _AT_ONCE):
                end = (end + part)[-_AT_ONCE:]

    threads = [threading.Thread(target=one, daemon=True) for one in (ask, keep_end)]
    for thread in threads:
        thread.start()
    parts: list[bytes] = []
    left, complete = _MOST_PRINTED, False
    try:
        while left > 0 and (part := os.read(stdout.fileno(), min(left, _AT_ONCE))):
            parts.append(part)
            left -= len(part)
        if left > 0:
            process.wait()
            complete = True
    except TimeLimitReached as error:
        answer = b"".join(parts).decode(errors="replace")
        error.add_note(f"it was sent {_excerpt(question.strip())} and printed {_excerpt(answer)!r}")
        raise
    finally:  # also when a time limit or Ctrl-C ends the wait
        if not complete:
            _end(process)
        for thread in threads:
            thread.join(_PATIENCE)
        stdout.close()
        if not threads[1].is_alive():
            stderr.close()
    printed = b"".join(parts).decode(errors="replace") if complete else None
    return printed, end.decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and all processes of its session."""
    import signal

    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError, AttributeError):
        process.kill()
    process.wait()
