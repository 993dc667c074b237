"""Running private sums of a matrix counter: a record pays once, on entry, for all later sums.

Row t of R x is released with noise of its own, y_t = (R x)_t + z_t, and public numbers are made running sums, L y
(`mechanisms.counters.continual`). Let a record's values move by at most Δ in L2 norm.

*A record that enters once* (Lemma 1): in step s it is charged for one Gaussian release at movement N₁Δ, N₁ the norm of
the longest column of R, and for nothing later. Sound under every composition theorem.

    *Proof.* Draw z_s, ..., z_T when it enters: they are independent of all before. V_t = r_{t-s} x_s + z_t, t = s .. T,
    is one Gaussian release, which x_s moves by |(r_0 .. r_{T-s})| Δ <= N₁Δ. Row t >= s is V_t plus the part of other
    records, which is computed from public values and from these records; rows before s do not hold the record. []

*A record that returns* (Lemma 2). (a) R of w coefficients, any two entries at least w steps apart: the V of two entries
share no z, so that each pays as by itself. (b) Else, entry j pays at movement Δ_j √(N_j² - N_{j-1}²), Δ_j the largest
movement of its entries so far, N_j the norm of the sum of j columns at the least distance that the counter allows
(`ToeplitzCounter.record_norm`); under a filter of Gaussian or zero-concentrated losses alone.

    *Proof of (b).* Given what was released before, row t loses as a Gaussian at μ_t = |Σ_i r_{t-p_i} d_i| / σ, d_i the
    movements of the entries p_i so far; positions and values may follow from what was released. On every path, with j
    entries, σ² Σ μ_t² <= Σ_ik <R e_{p_i}, R e_{p_k}> |d_i| |d_k|, where |d_i| |d_k| <= Δ_max(i,k)²: entry k adds
    at most Δ_k² times <R e_{p_k}, R e_{p_k}> + 2 Σ_{i<k} <R e_{p_i}, R e_{p_k}>, each of these products at most what it
    is at the least distances (`mechanisms.counters.toeplitz_counter`), in all N_k² - N_{k-1}². So charges lead losses
    on every path, and these filters need no more (Smith & Thakurta 2022, "Fully adaptive composition for Gaussian
    differential privacy"; Whitehouse, Ramdas, Rogers & Wu 2023). Under basic composition the shared noise would need a
    theorem about concurrent releases. []

A certificate states N_j as a factor of the value that enters: like every step of a derivation, it is this gate's own
statement, and no checker computes this one again.

The rounding of floating point in all of a record's rows is charged when it enters (`Factors.bounds`): the root of the
sum of squares over T rows. A later step that would round off more is refused.

Rules for purposes, tenants and days count a charge where and when it is made, and a stream shows a record later, too:
a stream refuses gates that have such rules.
"""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from accountant.gates.lineage import Influence, Lineage, RecordId, Traced
from accountant.gates.private import Private, refuse_copy
from accountant.gates.release import check_owner
from accountant.place import calling_place
from accountant.refusals import ParticipationExceeded, RoundingExceeded, TheoremMissing
from accountant.trust import check_gate
from mechanisms import BandedCounter, BufferedCounter
from mechanisms.arrays import FloatArray
from mechanisms.counters.continual import checked_steps
from mechanisms.domains.float_bounds import NOTHING, FloatBounds
from mechanisms.numerics.rounding import multiply_up
from mechanisms.parameters import ParameterError, whole_number

if TYPE_CHECKING:
    from accountant.gates.gate import Gate


LONGEST_STREAM = 1 << 26
"""The largest number of values on a grid that floats always sum exactly (`mechanisms.domains.float_bounds`)."""


class PrivateStream:
    """Running private sums of vectors, shape (lanes, size), for one charge to a record.

    Parameters
    ----------
    gate
        The gate of the values and of the releases; of central trust.
    counter
        A banded or buffered counter. Its mechanism is calibrated for `participations` entries of a record, any two at
        least `separation` steps apart; a record that would enter otherwise is refused by name.
    size
        Coordinates of a running sum.

    Attributes
    ----------
    steps
        The steps so far.

    Raises
    ------
    ParameterError
        If `counter` is of another kind, or buffered for more than `LONGEST_STREAM` steps; `size` is no whole number of
        at least 1; or `gate` is no gate.
    TrustViolation
        If the gate's trust is not central.
    TheoremMissing
        If a record's entries share noise and the gate's theorem does not cover that (Lemma 2); or the gate has rules
        for purposes, tenants or days.
    """

    def __init__(self, gate: Gate, counter: BandedCounter | BufferedCounter, size: int) -> None:
        if not isinstance(counter, BandedCounter | BufferedCounter):
            raise ParameterError(f"counter = {counter!r}: must be a BandedCounter or a BufferedCounter")
        if isinstance(counter, BufferedCounter) and counter.horizon > LONGEST_STREAM:
            raise ParameterError(
                f"horizon = {counter.horizon:,}: must be at most {LONGEST_STREAM:,}, as sums of more are not exact"
            )
        check_gate(gate, "central", "PrivateStream")
        theorem: Any = getattr(gate, "composition", None)
        if counter.columns_overlap and not getattr(theorem, "charges_may_lead", theorem is None):
            raise TheoremMissing(
                f"participations = {counter.participations}, separation = {counter.separation}: a record's entries "
                f"share noise, which {theorem.name} does not cover; use GaussianComposition or "
                "ZeroConcentratedComposition, or a BandedCounter whose bandwidth is at most the separation",
                calling_place(),
            )
        self._gate: Any = gate
        self._check_rules()
        self._counter, self._factors = counter, counter.factors
        self._size = whole_number("size", size, least=1)
        shape = (self._factors.memory, gate.lanes, self._size)
        self._inside = self._hide(np.zeros((shape[0], 1, *shape[1:])))
        self._public = np.zeros(shape)
        self.steps = 0
        # Of each record: the number of entries, the step of the last one, and an influence that covers all.
        self._entries: dict[RecordId, tuple[int, int, Influence]] = {}
        self._entered: list[dict[RecordId, Influence]] = []  # on a tape: the records of each step
        self._bounds, self._rounding = NOTHING, 0.0
        self._stepping = threading.Lock()

    def step(self, values: Private) -> FloatArray:
        """Add private values, charge their records, and return the running sums.

        Parameters
        ----------
        values
            Numbers of the same gate, shape (lanes, size).

        Returns
        -------
        ndarray
            Shape (lanes, size).

        Raises
        ------
        HorizonExceeded
            Beyond the counter's horizon.
        ParticipationExceeded
            Under an accountant, if a record enters too often or too soon.
        RoundingExceeded
            Under an accountant, if these values would be rounded more than records that entered before have paid for.
        BudgetExceeded, SensitivityExceeded, TheoremMissing, ForeignValue, TypeError, ParameterError
            As `Gate.release`. With all of these nothing is charged, and the stream stays as it was.
        """
        check_owner(self._gate, values)
        if not isinstance(values, Private) or values.shape != (self._gate.lanes, self._size):
            raise ParameterError(
                f"values = {values!r}: must be private numbers of shape {(self._gate.lanes, self._size)}"
            )
        values._check_number("summed")
        with self._stepping:
            checked_steps(self.steps + 1, self._counter.horizon)
            self._check_rules()
            self._gate.operates(values)
            memory = np.moveaxis(
                self._inside._values.reshape(*self._inside._values.shape[:2], -1, self._size), 2, 0
            )
            with np.errstate(all="ignore"):  # whether a sum overflows depends on the data
                row, inside = self._factors.row(memory, values._values)
            origin, entries, bounds, rounding = self._row_provenance(values._provenance)
            released = self._gate.release(self._counter.mechanism, Private(self._gate, row, origin))
            self._entries.update(entries)  # first: at an interruption here the records have entered
            self.steps += 1
            self._inside, self._bounds = self._hide(inside), bounds
            self._rounding = max(self._rounding, rounding)
            if isinstance(values._provenance, Traced) and self._gate._tape is not None:
                self._entered.append(values._provenance.influences)
            total, self._public = self._factors.total(self._public, released)
            return total

    def _hide(self, memory: FloatArray) -> Private:
        """Return the memory of R, shape (memory, worlds, lanes, size), as a private value."""
        worlds, lanes = memory.shape[1:3]
        return Private(self._gate, np.moveaxis(memory, 0, 2).reshape(worlds, lanes, -1))

    def _check_rules(self) -> None:
        for rule in getattr(self._gate, "rules", ()):
            if rule.days is not None or rule.purpose is not None or rule.tenant is not None:
                raise TheoremMissing(
                    "rules for purposes, tenants or days count a charge where and when it is made; a stream shows a "
                    "record in later steps, too",
                    calling_place(),
                )

    def _row_provenance(
        self, origin: Lineage
    ) -> tuple[Lineage, dict[RecordId, tuple[int, int, Influence]], FloatBounds, float]:
        """Return the row's provenance, the entries of its records, and the bounds and rounding of all values so far."""
        if not isinstance(origin, Traced):
            return origin, {}, self._bounds, 0.0
        counter, moved = self._counter, {}
        entries: dict[RecordId, tuple[int, int, Influence]] = {}
        for record, influence in origin.influences.items():
            before, last, covering = self._entries.get(record, (0, 0, influence))
            if before == counter.participations:
                often = "once" if before == 1 else f"{before} times"
                raise ParticipationExceeded(record, f"it may enter {often}, and has", calling_place())
            if before and self.steps - last < counter.separation:
                raise ParticipationExceeded(
                    record,
                    f"it did so {self.steps - last} steps ago, and may again after {counter.separation}",
                    calling_place(),
                )
            covering = covering.cover(influence)
            moved[record] = covering.scale((_entry_norm(counter, before + 1),) * len(influence.widths))
            entries[record] = before + 1, self.steps, covering
        bounds = self._bounds.cover(origin.bounds)
        # `Traced.rounding` counts an error twice in each coordinate: so much is the L2 norm over all rows.
        of_rows = self._factors.bounds(bounds, counter.horizon)
        rounding = multiply_up(of_rows.error, math.sqrt(counter.horizon / self._size) * (1.0 + 2.0**-50))
        if self._entries and rounding > self._rounding:
            raise RoundingExceeded(
                "these values are larger, or finer, than those before: their sums would be rounded by more than was "
                "charged for",
                calling_place(),
            )
        return Traced(moved, replace(of_rows, error=rounding), self._past_payers()), entries, bounds, rounding

    def _past_payers(self) -> dict[RecordId, Influence]:
        """Return the movements of this row by earlier records, on a tape; none elsewhere."""
        paid: dict[RecordId, Influence] = {}
        if not self._entered:
            return paid
        column = self._counter.right_column(len(self._entered) + 1)[1:]
        for coefficient, entered in zip(column.tolist(), reversed(self._entered), strict=True):
            for record, influence in entered.items() if coefficient else ():
                one = influence.scale((coefficient * (1.0 + 1e-9),) * len(influence.widths))
                paid[record] = paid[record].add(one) if record in paid else one
        return paid

    def __repr__(self) -> str:
        return f"<private stream of shape {(self._gate.lanes, self._size)}>"

    __reduce__ = refuse_copy


@functools.lru_cache(maxsize=1024)
def _entry_norm(counter: BandedCounter | BufferedCounter, entry: int) -> float:
    return counter.entry_norm(entry)
