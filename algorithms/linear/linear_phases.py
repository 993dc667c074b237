"""Phases of distributed linear bandits: their plays, their reporting clients, and the private mean of reports."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private, PrivateSums, Simulation, add_to_all, check_feedback
from algorithms.learner import check_horizon
from mechanisms import Box, Communication, Gaussian, Mechanism, Sensitivity, ShuffledMean
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import DPWitnessError, ParameterError, quoted, whole_number

PAPER = "distributed linear bandits paper, "
"""The beginning of sources: Li, Zhou & Ji 2022."""

SHUFFLED = Fraction(13, 10)
"""The largest ratio of shuffled noise, calibrated with fair bits, to the central Gaussian's; checked numerically."""

_WHOLE = 1e-9  # 2^(alpha l) computed a little above a whole number is that number


class PopulationTooSmall(DPWitnessError, ValueError):
    """The horizon needs more clients than there are, each reporting once."""


@functools.lru_cache(maxsize=256)  # asked for every report
def _cube(bound: float, size: int) -> Box:
    return Box(-bound, bound, size)


@functools.lru_cache(maxsize=256)  # phases, and runs, ask for the same ones again
def calibrated_bits(epsilon: float, delta: float, clients: int, size: int) -> ShuffledMean:
    """Return the protocol of `clients` clients with reports in [-1, 1]^size."""
    return ShuffledMean.calibrated(epsilon, delta, clients=clients, size=size, bound=1.0)


@dataclass(frozen=True, eq=False)
class Phase:
    """One phase, public.

    Attributes
    ----------
    number
        l = 1, 2, ...
    support
        Ids of the actions played, ascending; shape (s,).
    counts
        The number of plays of each; shape (s,).
    clients
        The number of new clients that report at its end; 0 in the last phase, to the horizon.
    bounds
        A report's coordinate is clipped to [-bounds, bounds] and divided by it; shape (s,).
    clipped
        Whether it is clipped at all; noise is calibrated as if it were.
    """

    number: int
    support: IntArray
    counts: IntArray
    clients: int
    bounds: FloatArray
    clipped: bool = True

    @property
    def rounds(self) -> int:
        """Number of rounds in the phase."""
        return int(self.counts.sum())

    @property
    def domain(self) -> Box:
        """Domain of a report: [-1, 1]^s, or all of R^s if reports are not clipped."""
        return _cube(1.0 if self.clipped else math.inf, self.support.size)

    def asks_as(self, other: Phase) -> bool:
        """Return True if a report in the other phase is one in this: of the same plays, in the same units."""
        return self.clipped == other.clipped and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("support", "counts", "bounds")
        )

    def cut(self, rounds: int) -> Self:
        """Return the first plays of the phase, as one without reports."""
        played = np.diff(np.minimum(np.cumsum(self.counts), rounds), prepend=0)
        kept = played > 0
        bounds = self.bounds[kept]
        return replace(self, support=self.support[kept], counts=played[kept], clients=0, bounds=bounds)

    @property
    def calibration(self) -> Sensitivity:
        """Sensitivity of a sum to one report in [-1, 1]^s, for which noise is calibrated."""
        return Box(-1.0, 1.0, self.support.size).sensitivity

    @property
    def _report_groups(self) -> tuple[tuple[int, int], ...]:
        """Numbers of clients, and of the actions that they report of together: all of the whole support."""
        return ((self.clients, self.support.size),)

    @property
    def reports(self) -> IntArray:
        """Number of reports of each action; shape (s,)."""
        return np.concatenate([np.full(size, clients) for clients, size in self._report_groups])

    def domain_of(self, clients: int) -> Box:
        """Return the domain of the concatenated reports of this number of clients."""
        own = self.domain
        return own if clients == 1 else _cube(own.upper, own.size * clients)

    def report(self, averages: npt.ArrayLike) -> FloatArray:
        """Return the report of a client with these average rewards: clipped, in units of ``bounds``.

        Averages of several clients, shape (clients, s), are reports of the same shape.
        """
        scaled: FloatArray = np.asarray(averages) / self.bounds
        return np.clip(scaled, -1.0, 1.0) if self.clipped else scaled


PhaseType = TypeVar("PhaseType", bound=Phase)


@dataclass(frozen=True, eq=False)
class Learned:
    """Public result of a phase.

    Attributes
    ----------
    phase
        The phase, with its clients and actions.
    active
        Ids of the actions that were active before; shape (k,).
    averages
        Private average rewards of the support; shape (s,).
    variances
        Their variance proxies around the mean of their clients, rewards and privacy noise together; shape (s,).
    values, widths
        <theta~, a> and W_a of the active actions; shape (k,).
    """

    phase: Phase
    active: IntArray
    averages: FloatArray
    variances: FloatArray
    values: FloatArray
    widths: FloatArray


@dataclass(frozen=True, eq=False)
class Following:
    """Continuation after a phase for given surviving actions.

    Attributes
    ----------
    exploration
        The next phase; None if the action with the largest estimate is played to the horizon.
    left
        The number of rounds to the horizon.
    """

    exploration: Phase | None
    left: int

    def plays(self, action: int, leader: int) -> int:
        """Return how often an action is played next if `leader` has the largest estimate."""
        if self.exploration is None:
            return self.left if action == leader else 0
        return int(self.exploration.counts[self.exploration.support == action].sum())


class RewardPhase(Phase):
    """One phase of a standard linear bandit, public: every client plays one round and reports its one reward.

    ``clients`` is the number of rounds; 0 in the last phase, in which nobody reports.
    """

    @property
    def order(self) -> IntArray:
        """Ids of the actions in the order in which they are played and reported; shape (rounds,)."""
        return np.repeat(self.support, self.counts)

    @property
    def domain(self) -> Box:
        """Domain of a report: [-1, 1]."""
        return _cube(1.0, 1)

    @property
    def calibration(self) -> Sensitivity:
        """Sensitivity of a sum to one report."""
        return self.domain.sensitivity

    @property
    def _report_groups(self) -> tuple[tuple[int, int], ...]:
        """The same of each action alone: every play is a client's."""
        return tuple((plays, 1) for plays in self.counts.tolist())

    def report(self, averages: npt.ArrayLike) -> FloatArray:
        """Return the reports of clients with one reward each: clipped, in units of B; shape (clients,)."""
        scaled: FloatArray = np.ravel(averages) / self.bounds[0]
        return np.clip(scaled, -1.0, 1.0)


@dataclass(frozen=True)
class Schedule:
    """Phase lengths h_l = 2^l and clients ⌈2^{alpha l}⌉, or a fixed number of clients.

    Attributes
    ----------
    horizon
        T.
    alpha
        In (0, 1): how fast the number of reporting clients grows.
    fixed_clients
        If given, that many clients in every phase.
    """

    horizon: int
    alpha: float = 0.8
    fixed_clients: int | None = None

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, float) or not 0.0 < self.alpha < 1.0:
            raise ParameterError(f"alpha = {quoted(self.alpha)}: must be a number in (0, 1)")
        if self.fixed_clients is not None:
            whole_number("fixed_clients", self.fixed_clients, least=1)

    @property
    def phases(self) -> int:
        """L = ⌊log₂(T/2 + 1)⌋: a phase lasts at least 2^l rounds, so no more than L complete."""
        return (self.horizon + 2).bit_length() - 2

    def length(self, number: int) -> int:
        """Return h_l."""
        return 1 << number

    def clients(self, number: int) -> int:
        """Return |U_l|."""
        if self.fixed_clients is not None:
            return self.fixed_clients
        return math.ceil(math.pow(2.0, self.alpha * number) - _WHOLE)

    def check_population(self, population: int, *, replacement: bool) -> None:
        """Raise `PopulationTooSmall` unless every phase that can complete finds enough clients.

        Without `replacement` they must be new in every phase.
        """
        numbers = [self.clients(number) for number in range(1, self.phases + 1)]
        needed = max(numbers, default=0) if replacement else sum(numbers)
        if needed > population:
            rule = "the largest of them" if replacement else "each reporting once"
            raise PopulationTooSmall(
                f"population = {population!r}: {self.phases} phases within horizon {self.horizon} need {needed} "
                f"clients, {rule}"
            )


def check_reports(gate: Gate, reports: Private, phase: Phase, clients: int, missing: int) -> None:
    """Check that a value holds the reports of this number of clients in a phase; nothing changes.

    Raises
    ------
    ForeignValue, DomainError, ValueError
        As `accountant.check_feedback`; also if fewer reports are `missing`, or several come elsewhere than under
        `Simulation`.
    """
    if clients != 1 and not isinstance(gate, Simulation):
        raise ParameterError(
            f"clients = {clients!r}: only a Simulation takes reports of several clients at once"
        )
    if not 1 <= clients <= missing:
        raise ParameterError(
            f"clients = {clients!r}: must be from 1 to the {missing} whose reports are missing"
        )
    check_feedback(gate, reports, phase.domain_of(clients), name="report")


def _add_reports(
    sums: PrivateSums,
    reports: Private,
    clients: int,
    at: int,
    release: Mechanism | None,
    beside: Sequence[PrivateSums] = (),
) -> None:
    """Add reports side by side, coordinate by coordinate from a place on; see `add_to_all`."""
    size = reports.shape[1] // clients
    if clients == 1:
        releases = () if release is None else ((release, reports, 1),)
        add_to_all((sums,), reports, at + np.arange(size)[np.newaxis], releases, beside=beside)
        return
    for place in range(size):
        column = reports.take(np.arange(place, clients * size, size)[np.newaxis])
        sums.add(column.sum(), at=np.array([[at + place]]), release=release)


class ReportMean(Protocol):
    """The means of a phase's reports, as far as the trust model lets the server see them."""

    def add(self, reports: Private, clients: int = 1, at: int = 0) -> Communication:
        """Take a client's report, or several side by side, from a place in the support on; return a message's size."""

    def release(self) -> FloatArray:
        """Return the private means, shape (s,)."""

    @property
    def mechanism(self) -> Mechanism | None:
        """Mechanism of releases; None if they are not private."""

    @property
    def proxy(self) -> FloatArray | float:
        """Sub-Gaussian variance proxy of each mean's privacy noise."""


class CentralMean:
    """The server adds up the reports and adds Gaussian noise to the sums.

    One client moves the sums by at most the diameter of its report's box.
    """

    mechanism: Gaussian | None
    proxy: FloatArray | float

    def __init__(self, gate: Gate, phase: Phase, mechanism: Gaussian) -> None:
        self._gate, self._mechanism, self._phase = gate, mechanism, phase
        self.mechanism = mechanism
        self._sums = gate.sums(phase.support.size)
        self.proxy = (mechanism.sigma / phase.reports) ** 2

    def add(self, reports: Private, clients: int = 1, at: int = 0) -> Communication:
        """Add reports to the sums."""
        _add_reports(self._sums, reports, clients, at, self.mechanism)
        return Communication(reals=self._phase.domain.size)

    def release(self) -> FloatArray:
        """Return (sum + N(0, σ² I)) / n."""
        return np.asarray(self._gate.release(self._mechanism, self._sums)[0] / self._phase.reports)


class RawMean(CentralMean):
    """No privacy: the sums are published as they are."""

    def __init__(self, gate: Gate, phase: Phase) -> None:
        super().__init__(gate, phase, Gaussian(sigma=1.0, sensitivity=phase.calibration))
        self.mechanism, self.proxy = None, 0.0

    def release(self) -> FloatArray:
        """Return sum / n."""
        sums: FloatArray = self._gate.declassify(self._sums, "the learner is not private")[0]
        return sums / self._phase.reports


class LocalMean:
    """Every client adds Gaussian noise to its own report."""

    def __init__(self, gate: Gate, phase: Phase, mechanism: Gaussian) -> None:
        self._gate, self.mechanism, self._phase = gate, mechanism, phase
        self._total: FloatArray = np.zeros(phase.support.size)
        self.proxy: FloatArray | float = mechanism.sigma**2 / phase.reports

    def add(self, reports: Private, clients: int = 1, at: int = 0) -> Communication:
        """Release reports with noise, and add them up in public."""
        messages = self._gate.release(self.mechanism, reports)[0].reshape(clients, -1)
        self._total[at : at + messages.shape[1]] += messages.sum(axis=0)
        return Communication(reals=self._phase.domain.size)

    def release(self) -> FloatArray:
        """Return the means of the messages."""
        return self._total / self._phase.reports


class ShuffledReportMean:
    """Every client sends random bits; the server sees how many ones there are per coordinate.

    The rounding to whole numbers uses public randomness: privacy holds for any value of it.

    Parameters
    ----------
    gate, phase
        The gate, and the phase of the reports.
    protocol
        Function that returns the protocol of so many clients with reports of so many coordinates.
    """

    def __init__(self, gate: Gate, phase: Phase, protocol: Callable[[int, int], ShuffledMean]) -> None:
        known = {each: protocol(*each) for each in set(phase._report_groups)}
        self._gate, self._protocols = gate, [known[each] for each in phase._report_groups]
        self._sums = [gate.sums(each.size) for each in self._protocols]
        self._uniform: FloatArray | None = None
        self.mechanism = self._protocols[0].mechanism
        self.proxy: FloatArray | float = np.repeat(
            [each.proxy for each in self._protocols], [each.size for each in self._protocols]
        )

    def add(self, reports: Private, clients: int = 1, at: int = 0) -> Communication:
        """Add clients' whole numbers to the sum that their bits will show."""
        protocol = self._protocols[at]
        if self._uniform is None:  # else it was drawn for a refused client
            self._uniform = self._gate.random.random((1, clients * protocol.size))
        encoded = reports.map(protocol.encoder(self._uniform))
        _add_reports(self._sums[at], encoded, clients, 0, protocol.mechanism, beside=self._sums)
        self._uniform = None
        return protocol.communication

    def release(self) -> FloatArray:
        """Return the means estimated from the numbers of ones."""
        means = [
            protocol.analyze(self._gate.release(protocol.mechanism, sums)[0])
            for protocol, sums in zip(self._protocols, self._sums, strict=True)
        ]
        return np.concatenate(means)
