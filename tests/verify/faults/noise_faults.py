"""Faults of noise: dropped, halved, shared, cached, or asked for and paid."""

from __future__ import annotations

import copy
import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Mask, Private, PrivateSums
from accountant.audit.releases import scale_noise
from faults.fault import Misuse
from faults.planted_gate import PlantedGate
from mechanisms import Mechanism, NumpyNoise, Randomness

NoisyValues = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Drawn:
    """A release as its author sees it who looks at the raw values, too.

    Attributes
    ----------
    mechanism
        What was released through.
    raw, outputs
        The values and what came out, shape (lanes, n).
    allowed
        Where something came out.
    categories
        How many category names there are; 0 for numbers.
    random
        The author's own randomness.
    """

    mechanism: Mechanism
    raw: NoisyValues
    outputs: NoisyValues
    allowed: Mask
    categories: int
    random: Randomness


class InPlaceOfReleased(Misuse):
    """What is released is charged and drawn as it should be; the learner goes on with other numbers."""

    def releases(
        self, gate: PlantedGate, mechanism: Mechanism, value: Private | PrivateSums, where: Mask | None
    ) -> NoisyValues:
        """Release, and put the other numbers in its place."""
        outputs = gate.honest(mechanism, value, where)
        raw = value._values[0]
        if raw.shape != outputs.shape:
            return outputs
        allowed = np.ones(raw.shape, dtype=bool) if where is None else where
        others = self.others(Drawn(mechanism, raw, outputs, allowed, value._categories, gate.random))
        return outputs if others is None else gate.instead(outputs, others, where)

    def others(self, drawn: Drawn) -> NoisyValues | None:
        """Return the other numbers, shape (lanes, n); None to change nothing."""
        raise NotImplementedError


class _FirstNoise:
    """Each lane's noise of the first release that asks for it; of categories, the shift."""

    def __init__(self, drawn: Drawn) -> None:
        self._noise: NoisyValues = np.zeros_like(drawn.outputs[:, 0] - drawn.raw[:, 0])
        self._known = np.zeros(len(drawn.raw), dtype=bool)

    def on(self, drawn: Drawn, here: Mask) -> NoisyValues:
        """Return the values with that noise; a lane that has none yet keeps that of its first coordinate `here`."""
        new = here.any(axis=1) & ~self._known
        first = here.argmax(axis=1)
        self._noise[new] = (drawn.outputs - drawn.raw)[np.arange(len(first)), first][new]
        self._known |= new
        values: NoisyValues = drawn.raw + self._noise[:, np.newaxis]
        return values % drawn.categories if drawn.categories else values


class RawValue(InPlaceOfReleased):
    """The values themselves."""

    def others(self, drawn: Drawn) -> NoisyValues | None:
        """Return the values."""
        return drawn.raw


class HalvedNoise(InPlaceOfReleased):
    """Half of the noise is taken away again; of a category, in half of all cases."""

    def others(self, drawn: Drawn) -> NoisyValues | None:
        """Return values halfway between raw and released."""
        raw, outputs = drawn.raw, drawn.outputs
        if drawn.categories:
            return np.where(drawn.random.random(raw.shape) < 0.5, raw, outputs)
        noise = outputs - raw
        halved: NoisyValues = raw + (noise // 2 if noise.dtype.kind in "iu" else noise * 0.5)
        return halved


class SharedNoise(InPlaceOfReleased):
    """The noise of the first coordinate that is released serves for all that follow; shifts, of categories."""

    def __init__(self) -> None:
        self._first: _FirstNoise | None = None

    def others(self, drawn: Drawn) -> NoisyValues | None:
        """Return values with each lane's one noise."""
        if self._first is None:
            self._first = _FirstNoise(drawn)
        return self._first.on(drawn, drawn.allowed)


class CachedNoise(InPlaceOfReleased):
    """Noise is drawn once for every value: a value that was released before gets the same again."""

    def __init__(self) -> None:
        self._cache: dict[float, _FirstNoise] = {}

    def others(self, drawn: Drawn) -> NoisyValues | None:
        """Return values with the noise that each had first."""
        result = drawn.outputs
        for value in np.unique(drawn.raw[drawn.allowed]).tolist():
            here = drawn.allowed & (drawn.raw == value)
            if value not in self._cache:
                self._cache[value] = _FirstNoise(drawn)
            result = np.where(here, self._cache[value].on(drawn, here), result)
        return result


class AgainByHand(InPlaceOfReleased):
    """The value is released once more by hand, with the learner's own randomness, and the two are averaged."""

    def others(self, drawn: Drawn) -> NoisyValues | None:
        """Return the average of what was released and of what nobody knows of."""
        if drawn.categories:
            return None  # names have no average
        again = np.asarray(drawn.mechanism.release(drawn.raw.copy(), NumpyNoise(drawn.random)))
        average: NoisyValues = 0.5 * (drawn.outputs + again)
        return average


class PublicNoise(InPlaceOfReleased):
    """More noise is added to what was released."""

    def others(self, drawn: Drawn) -> NoisyValues | None:
        """Return what was released with noise that does not depend on data."""
        if drawn.categories:
            return None
        return drawn.outputs + drawn.random.standard_normal(drawn.outputs.shape)


class OtherMechanism(Misuse):
    """The gate is asked for another mechanism than the learner is calibrated for."""

    def releases(
        self, gate: PlantedGate, mechanism: Mechanism, value: Private | PrivateSums, where: Mask | None
    ) -> NoisyValues:
        """Release through the other one."""
        other = self.other(mechanism)
        if other is not mechanism:
            gate.acted()
        return gate.honest(other, value, where)

    def other(self, mechanism: Mechanism) -> Mechanism:
        """Return the other mechanism; the same one to change nothing."""
        raise NotImplementedError


class QuietClass(OtherMechanism):
    """A class of the author's own that says it is what it stands in for, and adds no noise."""

    def other(self, mechanism: Mechanism) -> Mechanism:
        """Return the mechanism as an instance of that class."""
        quiet = copy.copy(mechanism)
        object.__setattr__(quiet, "__class__", _quiet(type(mechanism)))
        return quiet


@functools.cache
def _quiet(cls: type) -> type:
    def release(self: Any, value: npt.ArrayLike, noise: Any) -> NoisyValues:
        return np.array(value)

    return type(f"Quiet{cls.__name__}", (cls,), {"release": release, "__module__": "__main__"})


class AskedNoise(OtherMechanism):
    """The same mechanism with all noise multiplied by a factor.

    Parameters
    ----------
    factor
        What noise is multiplied by.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def other(self, mechanism: Mechanism) -> Mechanism:
        """Return it; one whose noise has no such parameter is left as it is."""
        return with_noise(mechanism, self._factor)


def held(value: Any) -> dict[str, Any]:
    """Return what a dataclass is made of, by name; nothing of anything else."""
    if not dataclasses.is_dataclass(value):
        return {}
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}


def with_noise(mechanism: Mechanism, factor: float) -> Mechanism:
    """Return a mechanism with its noise multiplied by a factor, if it has a parameter for that."""
    changed = scale_noise(held(mechanism), factor)
    known: Any = mechanism  # a dataclass, where there is anything to change
    return dataclasses.replace(known, **changed) if changed else mechanism


class ReleasedTwice(Misuse):
    """Everything is released twice, and both are used."""

    def releases(
        self, gate: PlantedGate, mechanism: Mechanism, value: Private | PrivateSums, where: Mask | None
    ) -> NoisyValues:
        """Release twice; return the average, or of categories the second."""
        gate.acted()
        outputs, again = (gate.honest(mechanism, value, where) for _ in range(2))
        return again if outputs.dtype.kind in "iu" else 0.5 * (outputs + again)


class AgainIfImplausible(Misuse):
    """A message that noise makes implausible, far outside of the values' domain, is asked for once more.

    Parameters
    ----------
    scales
        How many scales of the noise outside.
    """

    def __init__(self, scales: float) -> None:
        self._scales = scales

    def releases(
        self, gate: PlantedGate, mechanism: Mechanism, value: Private | PrivateSums, where: Mask | None
    ) -> NoisyValues:
        """Release, and once more if it looks wrong."""
        outputs = gate.honest(mechanism, value, where)
        scale = getattr(mechanism, "scale", None) or getattr(mechanism, "sigma", None)
        if not isinstance(value, Private) or scale is None:
            return outputs
        gate.acted()
        far = self._scales * float(scale)
        wrong = (outputs > gate.high + far) | (outputs < gate.low - far)
        if not wrong.any():
            return outputs
        again = gate.honest(mechanism, value, wrong if where is None else wrong & where)
        return np.where(wrong, again, outputs)
