"""What is known of a learner before its view is sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mechanisms.arrays import FloatArray
from verify.learners.coupled_run import CoupledRun
from verify.transcripts.neighbours import Neighbour
from verify.verdict.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Groundwork:
    """What the layers before showed.

    Attributes
    ----------
    evidence
        What was found so far; may be added to.
    drawn
        A data set from the problem's law.
    neighbours, coupled
        Neighbours of its beginning and what coupled runs on them showed; None if none were possible.
    trusted
        Whether nothing speaks against the gate's densities.
    proved
        Whether the ledger proves the claim and nothing speaks against it.
    """

    evidence: Evidence
    drawn: FloatArray
    neighbours: Sequence[Neighbour]
    coupled: CoupledRun | None
    trusted: bool
    proved: bool

    @property
    def scannable(self) -> bool:
        """Whether transcripts can be scanned by coupled runs in lanes."""
        return self.coupled is not None and self.coupled.in_lanes
