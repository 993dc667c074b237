"""The gate that a learner with a fault is built on: it belongs to the learner, and misuses the real one behind it.

The real gate (an accountant, a coupled gate, a replay) is nobody's but the verifier's: it sees what it would see of a
learner whose author had written the fault down. What carries no fault passes through unchanged, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Gate, Mask, Place, Private, PrivateSums, RecordId
from faults.fault import Fault
from mechanisms import Domain, Mechanism, Transformed


class PlantedGate:
    """A learner's view of a gate, with a fault; what is not told otherwise here is asked of the real gate.

    Parameters
    ----------
    gate
        The real gate.
    fault
        What the learner does otherwise than it should.

    Attributes
    ----------
    round
        How many reports were observed.
    low, high
        The ends of the domain of the last report.
    did_act
        Whether the fault has changed anything yet.
    """

    def __init__(self, gate: Gate, fault: Fault) -> None:
        self._gate = gate
        self._fault = fault
        self._misuse = fault.misuse()
        self._met = np.full(gate.lanes, fault.span is None)
        self.round = 0
        self.low, self.high = 0.0, 1.0
        self.did_act = False

    def __getattr__(self, name: str) -> Any:
        if name == "_gate":  # before `__init__`
            raise AttributeError(name)
        return getattr(self._gate, name)

    # --- what faults ask -------------------------------------------------------------------------

    @property
    def struck(self) -> npt.NDArray[np.bool_]:
        """In which lanes the fault acts, shape (lanes, 1)."""
        due = self.round >= self._fault.start and not (self._fault.one_lane and self.lanes > 1)
        return (self._met & due)[:, np.newaxis]

    def acted(self) -> None:
        """Note that the fault has changed something."""
        self.did_act = True

    def honest(
        self, mechanism: Mechanism, value: Private | PrivateSums, where: Mask | None
    ) -> npt.NDArray[Any]:
        """Release through the real gate."""
        return self._gate.release(mechanism, self._given(value), where)

    def instead(
        self, outputs: npt.NDArray[Any], others: npt.NDArray[Any], where: Mask | None
    ) -> npt.NDArray[Any]:
        """Return what was released with other numbers in its place, where something was and the fault acts."""
        self.acted()
        chosen = self.struck if where is None else self.struck & where
        return np.where(chosen, others, outputs)

    # --- the gate --------------------------------------------------------------------------------

    def observed(self, feedback: Private) -> Private:
        """Take over feedback that the real gate let in."""
        self.round += 1
        taken = self.own(feedback)
        domain = taken._domain
        if domain is not None:
            ends = np.asarray(domain.extremes(), dtype=np.float64)
            self.low, self.high = float(ends.min()), float(ends.max())
        if self._fault.span is not None:
            least, most = self._fault.span
            shares = (taken._values[0] - self.low) / (self.high - self.low)
            self._met |= ((shares >= least) & (shares <= most)).any(axis=-1)
        return self._misuse.takes(self, taken) if self.struck.any() else taken

    def narrowed(self, domain: Domain) -> Domain:
        """Return the domain that the learner says its feedback comes from."""
        return self._misuse.narrowed(domain)

    def private(self, values: npt.ArrayLike, domain: Domain, record: RecordId) -> Private:
        """Let data in at the real gate."""
        return self.own(self._gate.private(values, domain, record))

    def sums(self, size: int) -> PrivateSums:
        """Open sums whose additions and clearings the fault may change."""
        return _PlantedSums(self, self.lanes, size, self._gate.sums(size)._provenance)

    def release(
        self, mechanism: Mechanism, private: Private | PrivateSums, where: Mask | None = None
    ) -> npt.NDArray[Any]:
        """Release through the real gate, or as the fault does."""
        if not self.struck.any():
            return self.honest(mechanism, private, where)
        while isinstance(mechanism, Transformed) and isinstance(
            private, Private
        ):  # as the real gate takes it apart
            private, mechanism = private.map(mechanism.transformation), mechanism.mechanism
        return self._misuse.releases(self, mechanism, private, where)

    def declassify(
        self, private: Private | PrivateSums, reason: str, *, shown: bool = True
    ) -> npt.NDArray[Any]:
        """Publish at the real gate."""
        return self._gate.declassify(self._given(private), reason, shown=shown)

    def admit(self, releases: Any, sums: Any) -> None:
        """Ask the real accountant."""
        given = [(mechanism, self._given(value), times) for mechanism, value, times in releases]
        self._gate.admit(given, sums)  # type: ignore[attr-defined]

    def raw_read(self, private: Private, how: str, where: Place) -> npt.NDArray[Any]:
        """Ask the real gate."""
        return self._gate.raw_read(self._given(private), how, where)  # type: ignore[arg-type]

    def own(self, private: Private) -> Private:
        """Return a value of the real gate as this one's."""
        return _owned(private, self)

    def _given(self, value: Private | PrivateSums) -> Private | PrivateSums:
        """Return a value of this gate as the real one's."""
        if not isinstance(value, PrivateSums):
            return _owned(value, self._gate)
        sums = PrivateSums(self._gate, *value.shape, value._provenance)
        sums._values = value._values
        return sums


class _PlantedSums(PrivateSums):
    """Sums of a planted gate."""

    __slots__ = ()

    def _add_checked(self, values: Private, at: npt.NDArray[np.int64]) -> None:
        gate: Any = self._gate
        if gate.struck.any():
            gate._misuse.adds(gate, self, values, at)
        else:
            super()._add_checked(values, at)

    def clear(self, where: npt.NDArray[np.bool_]) -> None:
        """Clear, or do what the fault does instead."""
        gate: Any = self._gate
        if gate.struck.any():
            gate._misuse.clears(gate, self, where)
        else:
            super().clear(where)


def _owned(private: Private, gate: Gate) -> Private:
    if not isinstance(private, Private):
        return private  # whatever it is: the real gate refuses it
    return Private(
        gate,
        private._values,
        private._provenance,
        categories=private._categories,
        domain=private._domain,
        parts=private._parts,
    )
