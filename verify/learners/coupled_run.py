"""Coupled runs: exact privacy losses of a learner's releases, for many neighbours at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from accountant import Coupled, Divergence
from algorithms.play import BuildLearner, play_records
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray
from verify.transcripts.neighbours import Neighbour

_NEIGHBOURS_AT_ONCE = 48  # bounds memory; D's run is the same in every batch


@dataclass(frozen=True)
class CoupledRun:
    """What coupled runs showed.

    Attributes
    ----------
    losses
        Shape (neighbours, lanes), of everything that left the gate.
    shown_losses
        The same, 0 in lanes where a declassified value that is not itself shown differed: what is certain
        for an adversary who sees all that is published.
    divergences
        Each with the index of the neighbour that shows it, among all neighbours.
    """

    losses: FloatArray
    shown_losses: FloatArray
    divergences: tuple[Divergence, ...]

    def largest(self) -> tuple[int, float]:
        """Return the neighbour with the largest loss of any lane, and that loss."""
        worst = self.losses.max(axis=1)
        neighbour = int(np.argmax(worst))
        return neighbour, float(worst[neighbour])


def run_coupled(
    build: BuildLearner,
    problem: Problem,
    data: FloatArray,
    neighbours: Sequence[Neighbour],
    *,
    lanes: int,
    seed: np.random.SeedSequence,
) -> CoupledRun:
    """Run a learner on D and its neighbours, on the same released values.

    Parameters
    ----------
    build
        Makes the learner on a gate.
    problem, data
        The problem, and D with records 0 .. rounds, shape (rounds + 1, arms).
    neighbours
        What D is compared with.
    lanes
        How many samples of every loss; a multiple of the block size.
    seed
        Of all randomness.

    Raises
    ------
    RawRead
        If the learner reads a private value.
    """
    losses, shown = [], []
    divergences: dict[tuple[str, object], Divergence] = {}
    for start in range(0, len(neighbours), _NEIGHBOURS_AT_ONCE):
        batch = neighbours[start : start + _NEIGHBOURS_AT_ONCE]
        worlds = np.stack([data, *(neighbour.applied(data) for neighbour in batch)])
        gate = Coupled(seed, lanes, len(batch))
        for _ in play_records(build(gate), problem, gate, worlds):
            pass
        losses.append(gate.loss)
        shown.append(np.where(gate.hidden, 0.0, gate.loss))
        for found in gate.divergences:
            shifted = Divergence(found.kind, found.where, start + found.neighbour, found.share, found.message)
            divergences.setdefault((found.kind, found.where), shifted)
    return CoupledRun(np.concatenate(losses), np.concatenate(shown), tuple(divergences.values()))
