"""The findings about a learner from the layers before its view is sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mechanisms.arrays import FloatArray
from verify.learners.played_pairs import CoupledRun
from verify.sampling.evidence import Evidence
from verify.transcripts.neighbours import Neighbour


@dataclass(frozen=True, eq=False)
class Groundwork:
    """The results of the layers before the test of the view.

    Attributes
    ----------
    evidence
        The evidence so far; may be added to.
    drawn
        A data set from the problem's law.
    neighbours, coupled
        Neighbours of its beginning and the coupled runs on them; None if none were possible.
    trusted
        True if there is no evidence against the gate's densities.
    proved
        True if the ledger proves the claim and there is no evidence against it.
    """

    evidence: Evidence
    drawn: FloatArray
    neighbours: Sequence[Neighbour]
    coupled: CoupledRun | None
    trusted: bool
    proved: bool

    @property
    def scannable(self) -> bool:
        """True if transcripts can be scanned by coupled runs in lanes."""
        return self.coupled is not None and self.coupled.in_lanes
