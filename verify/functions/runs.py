"""Calls of a function that is verified, with our randomness and its side effects contained."""

from __future__ import annotations

import copy
import io
import random
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountant import Direct
from mechanisms.arrays import FloatArray
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.process_state import subjects_own
from verify.events.view_sample import ViewSample
from verify.findings.subject_error import SubjectError, failing_place
from verify.functions.function_subject import FunctionSubject
from verify.neighbouring.adjacency import Data, data_key
from verify.outputs.output_layout import OutputLayout
from verify.outputs.output_readings import Readings, UnreadableOutput
from verify.outputs.raised import Raised
from verify.outputs.read_lanes import read_lanes
from verify.outputs.read_outputs import read_outputs

_EXCERPT = 60  # characters of printed text in a finding
_MOST_VALUES = 1 << 22  # entries of outputs that are read at once
_UNCHANGING = frozenset({bool, int, float, str, bytes, type(None), np.float64, np.int64, np.bool_})
_FEWEST = 64  # outputs that are read at once, however long they are


class RaisedInLanes(Exception):
    """A function raised while it worked on several lanes at once, so that the lane is unknown."""


@dataclass
class _SideEffects:
    """The side effects of calls.

    Attributes
    ----------
    printed
        The beginning of the standard output and standard error.
    warned
        The first warning: its class, its text and the line.
    changed_data
        True if a call changed its data argument.
    drew, drew_last
        True if any call drew from the generator that it got, and if the last one did.
    """

    printed: str = ""
    warned: str = ""
    changed_data: bool = False
    drew: bool = False
    drew_last: bool = False


@dataclass
class FunctionRuns:
    """Calls of one subject.

    Attributes
    ----------
    subject
        The subject.
    together
        True if one call answers for several lanes; a subject that takes lanes may be asked for one at a time.
    effects
        The side effects of calls, as `outputs_with_effects` records them.
    width
        The number of entries of an output, known after a first look.
    draws, seconds
        The number of outputs drawn so far, and the time that their calls took; without those of the first calls, in
        which a function may be compiled or load something.
    outside
        If the caller named no data and they are a guess, the data sets on which the subject raised an error, and
        the errors.
    """

    subject: FunctionSubject
    together: bool
    effects: _SideEffects = field(default_factory=_SideEffects)
    width: int = 1
    draws: int = 0
    seconds: float = 0.0
    outside: dict[Any, tuple[Data, Raised]] = field(default_factory=dict)
    _warm: bool = False

    @property
    def name(self) -> str:
        """The subject's name."""
        return self.subject.name

    def is_outside(self, *datasets: Data) -> bool:
        """Return whether the subject raised an error on one of these data sets, which are a guess."""
        return any(data_key(data) in self.outside for data in datasets)

    def outputs(self, data: Data, n: int, seed: np.random.SeedSequence) -> Readings:
        """Return n independent outputs on a data set.

        Parameters
        ----------
        data
            The data set.
        n
            The number of outputs.
        seed
            The seed of the generator that the function gets, and of NumPy's and Python's global random states.

        Raises
        ------
        SubjectError
            If an output cannot be read.
        RaisedInLanes
            If the function raised while it worked on several lanes at once.
        """
        with self._timed(n), _contained(seed, _Sink()):
            returned = self._call([data] * n, np.random.default_rng(seed))
        return self._readings_of(returned, n)

    def sample(
        self,
        layout: OutputLayout,
        data: Data,
        n: int,
        seed: np.random.SeedSequence,
        beside: Data | None = None,
    ) -> ViewSample:
        """Return n independent outputs as a view; very long outputs are drawn and read in several parts.

        With another data set `beside`, a fair coin chooses before each call on which of the two it is, and the outputs
        on `data` are returned. The memory that the function has of earlier calls then has the same law, whichever of
        the two is `data`: if its claim holds for every state of its memory, it holds for these outputs.

        Raises
        ------
        SubjectError, RaisedInLanes
            As `outputs` does.
        """
        most = max(_FEWEST, _MOST_VALUES // layout.width)
        rng, left = np.random.default_rng(seed), n
        coins = np.random.default_rng(seed.generate_state(4))
        parts: list[FloatArray] = []
        while left:
            size = min(left, most)
            turns, kept = [data] * size, list(range(size))
            if beside is not None and not self.together:
                turns, kept = _by_coins(data, beside, size, coins)
            with self._timed(size), _contained(seed, _Sink(), len(parts)):
                returned = self._call(turns, rng)
            earlier = None
            if layout.steps is not None:
                earlier = self._readings_of([returned[place - 1] for place in kept], size, layout.places)
            if len(turns) > size:
                returned = [returned[place] for place in kept]
            parts.append(layout.sample(self._readings_of(returned, size, layout.places), earlier).values)
            left -= size
        return ViewSample(np.concatenate(parts), layout.columns)

    def outputs_with_effects(
        self,
        data: Data,
        n: int,
        seed: np.random.SeedSequence,
        *,
        global_seed: np.random.SeedSequence | None = None,
    ) -> Readings:
        """Return outputs as `outputs` does, and record the side effects of the calls in `effects`.

        `global_seed` is that of NumPy's and Python's global random states, if it is to be another.
        """
        rng = np.random.default_rng(seed)
        before = str(rng.bit_generator.state)
        out = io.StringIO()
        with self._timed(n), _contained(seed if global_seed is None else global_seed, out) as warned:
            returned = self._call([data] * n, rng, watch=True)
        self.effects.drew_last = str(rng.bit_generator.state) != before
        self.effects.drew = self.effects.drew or self.effects.drew_last
        self.effects.printed = self.effects.printed or out.getvalue()[:_EXCERPT]
        if warned and not self.effects.warned:
            first = warned[0]
            self.effects.warned = (
                f"{first.category.__name__}: {first.message} (at {first.filename}:{first.lineno})"
            )
        return self._readings_of(returned, n)

    @property
    def seconds_a_draw(self) -> float:
        """Mean time of an output, in seconds; 0 before a second stretch of calls."""
        return self.seconds / max(self.draws, 1)

    @contextmanager
    def _timed(self, n: int) -> Iterator[None]:
        """Add the time of the block, in which n outputs are drawn."""
        began = time.monotonic()
        yield
        if self._warm:
            self.draws, self.seconds = self.draws + n, self.seconds + time.monotonic() - began
        self._warm = True

    def _readings_of(self, returned: Any, n: int, known: Collection[str] | None = None) -> Readings:
        try:
            return read_lanes(returned, n, known) if self.together else read_outputs(returned, known)
        except UnreadableOutput as error:
            raise SubjectError(f"{self.name} {error}") from None

    def _call(self, turns: Sequence[Data], rng: np.random.Generator, *, watch: bool = False) -> Any:
        """Return the result of one call for many lanes on one data set, or those of a call for each turn, as a list."""
        if self.together:
            given = _argument_of(turns[0])
            try:
                result = self.subject.function(given, rng, lanes=len(turns))
            except subject_exceptions() as error:  # a user's function may raise anything
                if isinstance(error, SubjectError):
                    raise
                raise RaisedInLanes(Raised.from_error(error).said) from error
            if watch:
                self._compare(given, turns[0])
            return result
        call: Callable[[Any], Any] = self._call_of(rng)
        outputs: list[Any] = []
        for data in turns:
            given = _argument_of(data)
            try:
                outputs.append(_as_returned(call(given)))
            except subject_exceptions() as error:
                # Where it was raised takes a hundred times as long to find as the call took: once is enough.
                unknown = self.subject.guessed and data_key(data) not in self.outside
                outputs.append(
                    Raised.from_error(error, str(failing_place(error)) if watch or unknown else "")
                )
                if unknown:
                    self.outside[data_key(data)] = data, outputs[-1]
            if watch:
                self._compare(given, data)
        return outputs

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
        if not same_data(np.asarray(given), data):
            self.effects.changed_data = True


def _by_coins(data: Data, beside: Data, n: int, coins: np.random.Generator) -> tuple[list[Data], list[int]]:
    """Return the data sets of successive calls, each by a fair coin, and the places of n calls on `data`.

    The first of these places is always that of the second call. Were it the first call on `data` that the coins give,
    the call before it would always be on `beside`.
    """
    places = np.cumsum([1, *coins.geometric(0.5, n - 1)]).tolist()
    turns = [beside] * (places[-1] + 1)
    for place in (*places, *[0] * int(coins.integers(2))):
        turns[place] = data
    return turns, places


def same_data(one: Data, other: Data) -> bool:
    """Return whether two data sets are equal; NaN, wherever it is, equals NaN."""
    if one.shape != other.shape:
        return False
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc" and other.dtype.kind in "fc")


def _as_returned(value: Any) -> Any:
    """Return a copy of the result of a call: the next call may write into the same array, list or dictionary."""
    try:
        return _copied(value)
    except Exception:  # a user's class may refuse it, or an object hold itself
        return value


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if kind is list or kind is tuple:
        return kind([_copied(part) for part in value])
    if kind is dict:
        return {key: _copied(part) for key, part in value.items()}
    return copy.deepcopy(value)


def _one_lane(result: Any) -> Any:
    """Return the single output of a call for one lane."""
    if isinstance(result, tuple):
        return [np.asarray(part)[0] for part in result]
    return result[0] if isinstance(result, list) else np.asanyarray(result)[0]


def _argument_of(data: Data) -> Any:
    """Return a data set as a function gets it: a copy, a 0-d array as a Python number."""
    return data.item() if data.ndim == 0 else np.array(data)


@contextmanager
def _contained(
    seed: np.random.SeedSequence, out: io.TextIOBase, part: int = 0
) -> Iterator[list[warnings.WarningMessage]]:
    """Seed NumPy's and Python's global random states, and put them back; redirect output to `out`, yield warnings.

    Which warnings are given, ignored or raised is left as it is: a subject may rely on it.
    """
    key = (*seed.spawn_key, 0x610BA1, *([part] if part else []))
    words = np.random.SeedSequence(seed.entropy, spawn_key=key).generate_state(4)
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(words)  # noqa: NPY002
    random.seed(words.tobytes())
    try:
        with (
            subjects_own(),
            warnings.catch_warnings(record=True) as warned,
            redirect_stdout(out),
            redirect_stderr(out),
        ):
            yield warned
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)


class _Sink(io.TextIOBase):
    """Drop the output of subjects: standard output is for the result alone."""

    def write(self, text: str) -> int:
        return len(text)
