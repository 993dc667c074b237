"""Gates for code that holds raw data itself: record on D, replay on a neighbour with the same outputs.

Foreign code takes raw data and calls ``gate.release(mechanism, raw_value)`` itself. A `Recorder` runs it
on a data set D and keeps every call. A `Replay` runs it on a neighbour D', answers every call with the
outputs recorded on D, and compares the calls: any difference that remains flowed around the mechanisms.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant.gates.closing import Closing
from accountant.gates.movement import distance, excess
from accountant.gates.random_streams import RandomStream, stream_generator
from accountant.place import Place, calling_place
from mechanisms import DensityUnavailable, Mechanism, NumpyNoise
from mechanisms.noise.mechanism import is_categorical


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded release: the mechanism, the raw value, the output and the line.

    Attributes
    ----------
    value
        Shape (n,); a scalar has n = 1.
    outputs
        The mechanism's outputs for it.
    """

    mechanism: Mechanism
    value: npt.NDArray[Any]
    outputs: npt.NDArray[Any]
    where: Place


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between runs on D and on a neighbour with the same released values.

    Attributes
    ----------
    kind
        ``"mechanism"``, ``"shape"``, ``"place"``, ``"more-calls"``, ``"fewer-calls"`` or ``"sensitivity"``.
    where
        The line of the release.
    message
        The difference in words.
    """

    kind: str
    where: Place
    message: str


class Recorder(Closing):
    """Runs foreign code on D and keeps its calls.

    Parameters
    ----------
    seed
        Both the noise and `random` follow from it.
    """

    lanes = 1

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self.random = stream_generator(seed, RandomStream.OWN_DRAWS)
        self._noise = NumpyNoise(stream_generator(seed, RandomStream.NOISE))
        self.calls: list[Call] = []

    def release(self, mechanism: Mechanism, value: npt.ArrayLike) -> Any:
        """Sample the mechanism on a raw value and record the call; a scalar in gives a scalar out."""
        self.check_open()
        raw = np.array(value)  # a copy: the caller may change it later
        outputs = _draw(self, mechanism, raw, self._noise)
        self.calls.append(Call(mechanism, np.atleast_1d(raw), outputs, calling_place()))
        return _copy_outputs(outputs, raw)


class Replay(Closing):
    """Runs foreign code on a neighbour D' and answers its calls with D's outputs.

    Attributes
    ----------
    loss
        The privacy loss of all releases, ``ln P_D(outputs) / P_D'(outputs)``; NaN once a mechanism whose
        density is unknown has released something.
    differences
        The differences from D's run, in order: the outputs were the same, and the data were not.
    """

    lanes = 1

    def __init__(self, seed: np.random.SeedSequence, calls: Sequence[Call]) -> None:
        self.random = stream_generator(seed, RandomStream.OWN_DRAWS)
        self._noise = NumpyNoise(stream_generator(seed, RandomStream.NOISE))
        self._calls = calls
        self._position = 0
        self.loss = 0.0
        self.differences: list[Difference] = []

    def release(self, mechanism: Mechanism, value: npt.ArrayLike) -> Any:
        """Compare with the recorded call and return its outputs."""
        self.check_open()
        place = calling_place()
        array = np.asarray(value)
        raw = np.atleast_1d(array)
        if self._position >= len(self._calls):
            self._note("more-calls", place, "on the neighbouring data this line releases once more")
            return _copy_outputs(_draw(self, mechanism, array, self._noise), array)
        recorded = self._calls[self._position]
        self._position += 1
        if recorded.where != place:
            self._note("place", place, f"on D the same release is made at {recorded.where}")
        if recorded.value.shape != raw.shape:
            self._note(
                "shape",
                place,
                f"the released value has shape {raw.shape}; on D it has {recorded.value.shape}",
            )
            return _copy_outputs(recorded.outputs, array)
        if recorded.mechanism != mechanism:
            self._note("mechanism", place, f"the mechanism is {mechanism}; on D it is {recorded.mechanism}")
        self._compare_values(recorded, mechanism, raw, place)
        return _copy_outputs(recorded.outputs, array)

    def _compare_values(
        self, recorded: Call, mechanism: Mechanism, raw: npt.NDArray[Any], place: Place
    ) -> None:
        categorical = is_categorical(mechanism)
        broken, by = excess(
            distance(raw, recorded.value, categorical=categorical).ravel(), mechanism.sensitivity
        )
        if broken.any():
            self._note(
                "sensitivity",
                place,
                f"one record moved the released value by {by} that its {type(mechanism).__name__} is "
                "calibrated for",
            )
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                under_d = recorded.mechanism.log_density(recorded.outputs, recorded.value)
                self.loss += float(np.sum(under_d - mechanism.log_density(recorded.outputs, raw)))
        except DensityUnavailable:
            self.loss = float("nan")

    def finish(self) -> None:
        """Compare the number of calls, after the code has returned."""
        if self._position < len(self._calls):
            missing = self._calls[self._position]
            self._note(
                "fewer-calls",
                missing.where,
                f"on the neighbouring data only {self._position} of D's {len(self._calls)} releases are made",
            )

    def _note(self, kind: str, place: Place, message: str) -> None:
        if not any(known.kind == kind and known.where == place for known in self.differences):
            self.differences.append(Difference(kind, place, message))


class Direct(Closing):
    """Answers releases of raw values and keeps nothing: for drawing many outputs of foreign code.

    Parameters
    ----------
    random
        The source of the code's own draws and of the noise.
    """

    lanes = 1

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self._noise = NumpyNoise(random)

    def release(self, mechanism: Mechanism, value: npt.ArrayLike) -> Any:
        """Sample the mechanism on a raw value; a scalar in gives a scalar out."""
        self.check_open()
        raw = np.asarray(value)
        return _copy_outputs(_draw(self, mechanism, raw, self._noise), raw)


def _draw(gate: Closing, mechanism: Mechanism, raw: npt.NDArray[Any], noise: NumpyNoise) -> npt.NDArray[Any]:
    """Sample the mechanism on a copy of the raw value, a scalar as an array of length 1; the gate is shut meanwhile."""
    try:
        gate._drawing = threading.get_ident()
        return np.asarray(mechanism.release(np.array(raw, ndmin=1), noise))
    finally:
        gate._drawing = None


def _copy_outputs(outputs: npt.NDArray[Any], raw: npt.NDArray[Any]) -> Any:
    """Return a copy of the outputs in the form of the raw value: for a scalar, without its axis."""
    if raw.ndim == 0 and outputs.shape[-1:] == (1,):
        outputs = outputs[..., 0]
    return outputs.item() if outputs.ndim == 0 else outputs.copy()
