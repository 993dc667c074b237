"""Calling a function that is verified: with randomness that is ours, and whatever it does otherwise contained."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountant import Direct
from verify.functions.outputs import Raised, Readings, UnreadableOutput, read_lanes, read_outputs
from verify.learners.accounting_run import failing_place
from verify.neighbouring.adjacency import Data
from verify.subjects.subject import FunctionSubject, SubjectError

EXCERPT = 60  # characters of what a subject prints that a finding shows


class RaisedInLanes(Exception):
    """A function raised while it worked on several lanes at once: which lane it was cannot be said."""


@dataclass
class Seen:
    """What calls did besides returning something.

    Attributes
    ----------
    printed
        The beginning of what was written to standard output.
    changed_data
        Whether a call changed its data argument.
    drew
        Whether any call drew from the generator it was given; None if that cannot be said.
    """

    printed: str = ""
    changed_data: bool = False
    drew: bool | None = False


@dataclass
class FunctionRuns:
    """Calls of one subject.

    Attributes
    ----------
    subject
        The subject.
    lanes_together
        Whether several lanes are asked for in one call; may be switched off.
    seen
        What calls did besides, kept up to date by `watch`.
    """

    subject: FunctionSubject
    lanes_together: bool
    seen: Seen = field(default_factory=Seen)

    @property
    def name(self) -> str:
        """The subject's name."""
        return self.subject.name

    def outputs(
        self,
        data: Data,
        n: int,
        seed: np.random.SeedSequence,
        *,
        global_seed: np.random.SeedSequence | None = None,
    ) -> Readings:
        """Return n independent outputs on a data set.

        Parameters
        ----------
        data
            The data set.
        n
            How many outputs.
        seed
            Of the generator that the function gets.
        global_seed
            Of NumPy's and Python's global random states, by default derived from `seed`.

        Raises
        ------
        SubjectError
            If an output cannot be read.
        RaisedInLanes
            If the function raised while it worked on several lanes at once.
        """
        spread = seed if global_seed is None else global_seed
        with _global_random_state(spread), redirect_stdout(_Sink()):
            return self._read(data, n, np.random.default_rng(seed), self.lanes_together)

    def watched(
        self,
        data: Data,
        n: int,
        seed: np.random.SeedSequence,
        *,
        global_seed: np.random.SeedSequence | None = None,
    ) -> Readings:
        """Return outputs as `outputs` does, and note in `seen` what the calls did besides."""
        rng = np.random.default_rng(seed)
        before = str(rng.bit_generator.state)
        out = io.StringIO()
        spread = seed if global_seed is None else global_seed
        with _global_random_state(spread), redirect_stdout(out):
            readings = self._read(data, n, rng, self.lanes_together, watch=True)
        if self.seen.drew is not None:
            self.seen.drew = self.seen.drew or str(rng.bit_generator.state) != before
        self.seen.printed = self.seen.printed or out.getvalue()[:EXCERPT]
        return readings

    def _read(
        self, data: Data, n: int, rng: np.random.Generator, together: bool, *, watch: bool = False
    ) -> Readings:
        try:
            if self.subject.takes_lanes and together:
                given = _given(data)
                try:
                    result = self.subject.function(given, rng, lanes=n)
                except (Exception, SystemExit) as error:  # whatever a user's function raises
                    if isinstance(error, SubjectError):
                        raise
                    raise RaisedInLanes(_raised(error).message) from error
                if watch:
                    self._compare(given, data)
                return read_lanes(result, n)
            call: Callable[[Any], Any] = self._call_of(rng)
            outputs: list[Any] = []
            scalar = data.item() if data.ndim == 0 else None
            for _ in range(n):
                given = scalar if scalar is not None else np.array(data)
                try:
                    outputs.append(call(given))
                except (Exception, SystemExit) as error:
                    # Where it was raised takes a hundred times as long to find as the call took: once is enough.
                    outputs.append(_raised(error) if watch else Raised(type(error).__name__, "", ""))
                if watch:
                    self._compare(given, data)
            return read_outputs(outputs)
        except UnreadableOutput as error:
            raise SubjectError(f"{self.name} {error}") from None

    def _call_of(self, rng: np.random.Generator) -> Callable[[Any], Any]:
        """Return the function of the data alone that is called once per output."""
        function = self.subject.function
        if self.subject.takes_gate:
            gate = Direct(rng)
            return lambda given: function(given, gate)
        if self.subject.takes_lanes:
            return lambda given: _one_lane(function(given, rng, lanes=1))
        return lambda given: function(given, rng)

    def _compare(self, given: Any, data: Data) -> None:
        if not np.array_equal(np.asarray(given), data):
            self.seen.changed_data = True


def _one_lane(result: Any) -> Any:
    """Return the single output of a call for one lane."""
    if isinstance(result, tuple):
        return [np.asarray(part)[0] for part in result]
    return result[0] if isinstance(result, list) else np.asarray(result)[0]


def _given(data: Data) -> Any:
    """Return a data set as a function gets it: a copy, a 0-d array as a Python number."""
    return data.item() if data.ndim == 0 else np.array(data)


def _raised(error: BaseException) -> Raised:
    return Raised(type(error).__name__, f"{type(error).__name__}: {error}", str(failing_place(error)))


@contextmanager
def _global_random_state(seed: np.random.SeedSequence) -> Iterator[None]:
    """Seed NumPy's and Python's global random states, and put them back as they were."""
    words = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 0x610BA1)).generate_state(4)
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(words)  # noqa: NPY002
    random.seed(words.tobytes())
    try:
        yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)


class _Sink(io.TextIOBase):
    """Swallows what subjects print: standard output is the result's alone."""

    def write(self, text: str) -> int:
        return len(text)
