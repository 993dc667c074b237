"""Phased elimination with reporting clients: estimates and exact widths, in every trust model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar, Required, TypedDict

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.linear.elimination import Elimination
from algorithms.linear.linear_parameters import checked_scale
from algorithms.linear.linear_phases import (
    Phase,
    PopulationTooSmall,
    Schedule,
    check_reports,
)
from algorithms.problems import Parameter
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import ParameterError, quoted, whole_number

ALPHA = Parameter("alpha", "float", 0.8, 0.01, 0.99, "2^(alpha l) clients report in phase l")
_BOUND = Parameter(
    "reward_bound",
    "float",
    0.0,
    0,
    None,
    "B of rewards in [-B, B]; 0: as the problem's rewards are, without a bound wide enough for no report to be clipped",
)


class PhasedSettings(TypedDict, total=False):
    """Keywords of `PhasedElimination`."""

    horizon: Required[int | None]
    population: Required[int]
    sigma: Required[float]
    alpha: float
    reward_bound: float | None
    fixed_clients: int | None
    replacement: bool


class PhasedElimination(Elimination[Phase]):
    """Phased elimination in which clients report their average rewards at the end of a phase.

    Parameters
    ----------
    actions
        Shape (k, d), each of length at most 1.
    gate
        The gate for reports; one lane.
    horizon
        T; None if it is not known.
    population
        The number of clients; each reports at most once. Without a horizon, each epoch takes new ones, and `act`
        refuses the first phase that needs more than remain.
    sigma
        Sub-Gaussian parameter of clients' deviations.
    alpha
        ⌈2^{alpha l}⌉ clients report in phase l.
    reward_bound
        If rewards lie in [-B, B] for sure: B. None: rewards are 1-sub-Gaussian around their means, and a report
        of n rewards is clipped at 1 + √(2 (σ² + 1/n) ln(2 s |U| L T)), which no report of a run exceeds with
        probability 1 - 1/T.
    fixed_clients
        If given, that many clients report in every phase.
    replacement
        True if clients may report again in a later phase; each report then costs its privacy again.

    Raises
    ------
    PopulationTooSmall
        If the horizon needs more clients than there are.
    ParameterError
        If a parameter is out of range, or the gate has more than one lane.
    TrustViolation
        If the gate's trust is local and the learner's claim is not.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (ALPHA, _BOUND)
    clipped: bool = True

    def __init__(
        self,
        actions: npt.ArrayLike,
        gate: Gate,
        *,
        horizon: int | None,
        population: int,
        sigma: float,
        alpha: float = 0.8,
        reward_bound: float | None = None,
        fixed_clients: int | None = None,
        replacement: bool = False,
    ) -> None:
        super().__init__(actions, gate, horizon)
        if not isinstance(replacement, bool | np.bool_):
            raise ParameterError(f"replacement = {quoted(replacement)}: must be True or False")
        self.sigma = checked_scale("sigma", sigma, least=0.0)
        self.reward_bound = None if reward_bound is None else checked_scale("reward_bound", reward_bound)
        self.population, self.replacement = whole_number("population", population, least=1), bool(replacement)
        self.schedule = Schedule(self.horizon, alpha, fixed_clients)
        if self.told is not None:
            self.schedule.check_population(population, replacement=replacement)
        self._begin(self.horizon)

    def _begin(self, horizon: int) -> None:
        self.schedule = replace(self.schedule, horizon=horizon)
        self.exponent = math.log(2.0 * self.actions.shape[0] * max(self.schedule.phases, 1) * horizon)

    def _check_clients(self, phase: Phase) -> None:
        left = self.population if self.replacement else self.population - self.reported
        if phase.clients > left:
            raise PopulationTooSmall(
                f"population = {self.population!r}: after {self.played} rounds {self.reported} clients have reported, "
                f"and phase {phase.number} of epoch {self.epoch} needs {phase.clients} more, each reporting once"
            )

    def length(self, number: int) -> int:
        """Return h_l = 2^l."""
        return self.schedule.length(number)

    def _clients(self, number: int, counts: IntArray) -> int:
        return self.schedule.clients(number)

    def _planned(self, number: int, support: IntArray, counts: IntArray, clients: int) -> Phase:
        return Phase(number, support, counts, clients, self._bounds(counts, clients), self.clipped)

    def _averaged(self, phase: Phase) -> int:
        return phase.clients

    def _bounds(self, counts: IntArray, clients: int) -> FloatArray:
        if self.reward_bound is not None:
            return np.full(counts.shape, self.reward_bound)
        many = 2.0 * counts.size * max(clients, 1) * max(self.schedule.phases, 1) * self.schedule.horizon
        return np.asarray(1.0 + np.sqrt(2.0 * (self.sigma**2 + 1.0 / counts) * math.log(many)))

    def observe(self, report: Private, *, phase: Phase | None = None) -> None:
        """Take one new client's report, in `Phase.domain`; the last one of a phase ends it.

        Parameters
        ----------
        report
            The client's averages.
        phase
            The phase that the client played, where reports may come late; by default the open phase.

        Raises
        ------
        RuntimeError
            If no phase waits for reports.
        ParameterError
            If `phase` is none, or the client played other than the open phase asks for; nothing changes.
        ForeignValue, DomainError, ValueError
            If the report is not private or comes from another domain; nothing changes.
        RecordWaiting, BudgetExceeded
            If the client reports in this phase already, or cannot pay for its release; nothing changes. From the
            release itself, if a client has spent its budget elsewhere meanwhile: then the phase ends, and nobody
            learns from it.
        """
        if phase is not None and not isinstance(phase, Phase):
            raise ParameterError(
                f"phase = {phase!r}: must be a phase that act returned, or None for the open one"[:500]
            )
        if phase is not None and self._phase is not None and not self._phase.asks_as(phase):
            raise ParameterError(
                f"phase = {phase.number!r}: must play as the open one, {self._phase.number}: the report came too late"
            )
        self.observe_many(report, 1)

    def observe_many(self, reports: Private, clients: int) -> None:
        """Take the reports of the next clients of the open phase side by side, in `Phase.domain_of`.

        Under `Simulation` only, where no record pays; the same draws as one report at a time.

        Raises
        ------
        RuntimeError, ForeignValue, DomainError, ValueError
            As `observe`; also if fewer reports are missing, or several come elsewhere than under `Simulation`.
        """
        phase = self._asking_phase()
        check_reports(self.gate, reports, phase, clients, phase.clients - self._reports)
        self._take(phase, reports, clients)
