"""Data sets for learners of linear bandits: what every client would report, whichever actions are played.

Each is a `Clients` of `algorithms.linear.linear_play`: asked for average rewards when a phase ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from accountant import Gate, Retold, Taped
from algorithms.linear.dp_pe import StandardElimination
from algorithms.linear.linear_phases import DistributedLearner, Phase
from algorithms.linear.linear_play import BuildPhased, Clients, play_linear
from algorithms.play import place_of_act
from mechanisms.arrays import FloatArray, IntArray
from verify.findings import Finding, Statement
from verify.functions.gate_replay import CONFIRMATIONS


@dataclass(frozen=True)
class Constant:
    """Every client's every average reward is `value`."""

    population: int
    replacement: bool
    value: float

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return the value, shape (clients, s)."""
        return np.full((clients, support.size), self.value)


@dataclass(eq=False)
class _OneReplaced:
    """As `others`, but the first client that reports in one phase has another value in every coordinate.

    Attributes
    ----------
    others
        All other clients.
    phase
        Which phase, counted from 1 in the order in which clients are asked (of a learner with one client a
        round: which action of the support, over all phases).
    value
        What the client reports.
    """

    others: Clients
    phase: int
    value: float
    _asked: int = field(default=0, init=False)

    @property
    def population(self) -> int:
        """As the others'."""
        return self.others.population

    @property
    def replacement(self) -> bool:
        """As the others'."""
        return self.others.replacement

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return the others' averages with one row replaced."""
        averages = self.others.draw_averages(support, counts, clients, rng)
        self._asked += 1
        if self._asked == self.phase and clients:
            averages[0] = self.value
        return averages


def play_on(
    learner: DistributedLearner | StandardElimination,
    clients: Clients,
    gate: Gate,
    seed: np.random.SeedSequence,
) -> Iterator[Phase]:
    """Let a learner play to its horizon on a data set; the seed is of the clients' order and draws."""
    return play_linear(learner, clients, gate, np.random.default_rng(seed))


def replay_on_neighbours(
    build: BuildPhased, clients: Clients, largest: float, *, seed: np.random.SeedSequence
) -> list[Finding]:
    """Tape a run and replay it with one client replaced: phases must be the same, given the same releases.

    Parameters
    ----------
    build
        Makes the learner on a gate.
    clients
        The data set D.
    largest
        A client is replaced by one that reports this everywhere, and by one that reports its negative.
    seed
        Of all randomness.

    Returns
    -------
    list of Finding
        The first difference; empty if the learner touches data through its gate only.
    """
    own, environment = seed.spawn(2)
    taped = Taped(own, 1)
    learner = build(taped)
    where = str(place_of_act(learner))  # type: ignore[arg-type]
    phases = list(play_on(learner, clients, taped, environment))

    def retold(on: Clients) -> Finding | None:
        gate = Retold(taped.seed, 1, taped.tape)
        for number, phase in enumerate(play_on(build(gate), on, gate, environment)):
            if gate.difference is not None:
                break
            if number >= len(phases) or not _same(phase, phases[number]):
                return Statement.PHASE_DIFFERS.finding(where, number=number + 1)
        gate.finish()
        return None if gate.difference is None else Finding.of_gate(gate.difference)

    asked = _asked(phases, isinstance(learner, StandardElimination))
    changes = [_OneReplaced(clients, phase, value) for phase in asked for value in (largest, -largest)]
    for change in changes:
        difference = retold(change)
        if difference is None:
            continue
        for _ in range(CONFIRMATIONS):
            again = retold(clients)
            if again is not None:
                return [Statement.RUNS_DIFFER.finding(again.where, how=again.message)]
        which = f"when a client of phase {change.phase} reports {change.value:g} everywhere"
        return [replace(difference, message=f"{difference.message}, {which}")]
    return []


def _asked(phases: Sequence[Phase], one_client_a_round: bool) -> list[int]:
    """Return the first, a middle and the last question to clients, numbered from 1."""
    questions = sum(
        (phase.support.size if one_client_a_round else 1) if phase.clients else 0 for phase in phases
    )
    return sorted({1, (questions + 1) // 2, questions} - {0})


def _same(phase: Phase, other: Phase) -> bool:
    return (
        phase.clients == other.clients
        and np.array_equal(phase.support, other.support)
        and np.array_equal(phase.counts, other.counts)
    )
