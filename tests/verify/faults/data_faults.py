"""Faults of data: sums that keep what they should forget, other names, state in transformations, wrong domains."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Mask, Private, PrivateSums
from faults.fault import Misuse
from faults.noise_faults import NoisyValues, OtherMechanism, held, with_noise
from faults.planted_gate import PlantedGate
from mechanisms import Affine, Box, Domain, Mechanism, OneHot, Sensitivity, Transformation


class UsedAgain(Misuse):
    """Something stays in sums that were released: it costs nothing before they are released again."""

    def __init__(self) -> None:
        # With the sums themselves, which have no hash: others that come once they are gone may have their number.
        self._kept: dict[int, tuple[PrivateSums, Mask]] = {}

    def keeps(self, sums: PrivateSums, where: Mask) -> None:
        """Remember where something stayed."""
        _, before = self._kept.get(id(sums), (sums, np.zeros_like(where)))
        self._kept[id(sums)] = sums, before | where

    def releases(
        self, gate: PlantedGate, mechanism: Mechanism, value: Private | PrivateSums, where: Mask | None
    ) -> NoisyValues:
        """Release, and say so where something had stayed."""
        if id(value) in self._kept:
            _, kept = self._kept[id(value)]
            if (kept if where is None else kept & where).any():
                gate.acted()
        return super().releases(gate, mechanism, value, where)


class NeverCleared(UsedAgain):
    """Sums are not cleared once they were released."""

    def clears(self, gate: PlantedGate, sums: PrivateSums, where: Mask) -> None:
        """Keep everything."""
        self.keeps(sums, where)


class InTwoBatches(UsedAgain):
    """A batch starts with the last value of the one before: its boundary is off by one."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[int, tuple[PrivateSums, Private, npt.NDArray[np.int64]]] = {}

    def adds(self, gate: PlantedGate, sums: PrivateSums, values: Private, at: npt.NDArray[np.int64]) -> None:
        """Add, and keep what was added."""
        super().adds(gate, sums, values, at)
        self._last[id(sums)] = sums, values, at

    def clears(self, gate: PlantedGate, sums: PrivateSums, where: Mask) -> None:
        """Clear, and add the last value again."""
        super().clears(gate, sums, where)
        if id(sums) not in self._last:
            return
        _, values, at = self._last[id(sums)]
        kept = np.where(np.take_along_axis(where, np.maximum(at, 0), axis=1), at, -1)
        if (kept >= 0).any():
            lanes, places = np.nonzero(kept >= 0)
            stayed = np.zeros_like(where)
            stayed[lanes, kept[lanes, places]] = True
            self.keeps(sums, stayed)
            super().adds(gate, sums, values, kept)


class AnotherName(Misuse):
    """Every value is used twice, the second time as if it were another record's."""

    def adds(self, gate: PlantedGate, sums: PrivateSums, values: Private, at: npt.NDArray[np.int64]) -> None:
        """Add the values and their copy."""
        super().adds(gate, sums, values, at)
        renamed = self._renamed(gate, values)
        if renamed is not None:
            super().adds(gate, sums, renamed, at)

    def releases(
        self, gate: PlantedGate, mechanism: Mechanism, value: Private | PrivateSums, where: Mask | None
    ) -> NoisyValues:
        """Release a message and its copy, and average the two."""
        outputs = gate.honest(mechanism, value, where)
        renamed = self._renamed(gate, value) if isinstance(value, Private) else None
        return outputs if renamed is None else 0.5 * (outputs + gate.honest(mechanism, renamed, where))

    @staticmethod
    def _renamed(gate: PlantedGate, values: Private) -> Private | None:
        """Let values in once more under another name; None for what is no real number."""
        if values._categories or values._values.dtype.kind != "f":
            return None
        gate.acted()
        domain = Box(gate.low, gate.high, values.shape[1])
        return gate.private(values._values.copy(), domain, f"the copy of {gate.round}")


class _Damping:
    """Multiplies a report by what is left of the one before: a function with a memory.

    In units of the domain, report u after report v becomes u (1 - v), which lies in the domain again.
    """

    def __init__(self) -> None:
        self.low, self.high = 0.0, 1.0
        self._before: NoisyValues | None = None

    def __call__(self, values: NoisyValues) -> NoisyValues:
        shares = (values - self.low) / (self.high - self.low)
        before, self._before = self._before, shares
        if before is None or before.shape[1:] != shares.shape[1:]:
            return values
        left = 1.0 - (before if len(before) == len(shares) else before[:1])
        return self.low + shares * left * (self.high - self.low)


class FunctionWithMemory(Misuse):
    """Feedback is mapped by a Python function that remembers the report before."""

    def __init__(self) -> None:
        self._damping = _Damping()

    def takes(self, gate: PlantedGate, feedback: Private) -> Private:
        """Map the feedback."""
        domain = feedback._domain
        if domain is None:
            return feedback
        gate.acted()
        self._damping.low, self._damping.high = gate.low, gate.high
        return feedback.map(self._damping, into=domain)


class TransformationWithMemory(FunctionWithMemory):
    """Feedback is mapped by a transformation of the author's own class that remembers the report before."""

    def takes(self, gate: PlantedGate, feedback: Private) -> Private:
        """Map the feedback."""
        gate.acted()
        self._damping.low, self._damping.high = gate.low, gate.high
        return feedback.map(_remembering()(self._damping))


@functools.cache
def _remembering() -> type[Any]:
    """Make the class when it is first needed, as a user's file does."""

    def init(self: Any, damping: _Damping) -> None:
        self.damping = damping

    members = {
        "__init__": init,
        "__module__": "__main__",
        "stability": 1.0,
        "output_domain": lambda self, domain: domain,
        "apply": lambda self, values: self.damping(values),
    }
    return type("Remembering", (Transformation,), members)


class ParameterFromData(Misuse):
    """Feedback is scaled by a transformation of this library whose factor follows from the report before."""

    def __init__(self) -> None:
        self._factor = 1.0

    def takes(self, gate: PlantedGate, feedback: Private) -> Private:
        """Scale the feedback, and choose the next factor."""
        if isinstance(feedback._domain, OneHot) or gate.low > 0.0:
            return feedback
        gate.acted()
        factor = self._factor
        largest = float(feedback._values[0, 0].max(initial=0.0))
        self._factor = 1.0 - 0.5 * (largest - gate.low) / (gate.high - gate.low)
        return feedback.map(Affine(factor))


class HalvedSensitivity(OtherMechanism):
    """Noise is calibrated for records that move a value half as far as they do."""

    def other(self, mechanism: Mechanism) -> Mechanism:
        """Return the mechanism with half of its sensitivity and of its noise."""
        if "sensitivity" not in held(mechanism):
            return mechanism
        quieter: Any = with_noise(mechanism, 0.5)
        return dataclasses.replace(quieter, sensitivity=_half(mechanism.sensitivity))  # type: ignore[no-any-return]


def _half(whole: Sensitivity) -> Sensitivity:
    return Sensitivity(whole.l1 / 2, whole.l2 / 2, whole.linf / 2)


class NarrowDomain(HalvedSensitivity):
    """Feedback comes from a domain of the author's own class that says half of its width; so does the noise."""

    def __init__(self) -> None:
        self._narrow = False

    def narrowed(self, domain: Domain) -> Domain:
        """Return the domain, of a class that says so."""
        parts = held(domain)
        if not parts:
            return domain
        self._narrow = True
        narrow: Domain = _narrow(type(domain))(**parts)
        return narrow

    def other(self, mechanism: Mechanism) -> Mechanism:
        """Return the mechanism as it is calibrated for that domain, if the learner has named it."""
        return super().other(mechanism) if self._narrow else mechanism


@functools.cache
def _narrow(cls: type[Any]) -> type[Any]:
    def widths(self: Any) -> NoisyValues:
        return np.asarray(cls.widths.__get__(self)) / 2

    def sensitivity(self: Any) -> Sensitivity:
        return _half(cls.sensitivity.__get__(self))

    members = {"widths": property(widths), "sensitivity": property(sensitivity), "__module__": "__main__"}
    return type(f"Narrow{cls.__name__}", (cls,), members)
