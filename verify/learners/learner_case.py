"""A learner that is held to a claim, and what is known of it before its view is sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from algorithms.claim import Claim, View
from algorithms.play import BuildLearner
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray
from verify.learners.coupled_run import CoupledRun
from verify.transcripts.adversary import Adversary
from verify.transcripts.neighbours import InitialOutcomes, Neighbour
from verify.transcripts.view_pair import ViewPair
from verify.transcripts.views import LearnerView, message_view, transcript_view
from verify.verdict.evidence import Evidence


@dataclass(frozen=True, eq=False)
class LearnerCase:
    """A learner, what it plays, and what it claims.

    Attributes
    ----------
    build
        Makes the learner on a gate.
    problem
        The structure it plays on, and the law that data sets are drawn from.
    claim
        What it claims.
    initial
        Whether it observes outcomes before the first round, and whether they are one record.
    adversary
        An interactive adversary to test besides fixed data sets.
    """

    build: BuildLearner
    problem: Problem
    claim: Claim
    initial: InitialOutcomes
    adversary: Adversary | None = None

    @property
    def shows_actions(self) -> bool:
        """Whether the adversary sees actions, and nothing else."""
        return self.claim.view in (View.ACTIONS.value, View.OTHER_ACTIONS.value)

    @property
    def hides_own_action(self) -> bool:
        """Whether the action of the changed record's own round is hidden."""
        return self.claim.view == View.OTHER_ACTIONS.value

    def view(self, pair: ViewPair, data: FloatArray, *, single_lanes: bool = False) -> LearnerView:
        """Return what the claim's adversary sees on one of a pair's data sets."""
        build, problem = self.build, self.problem
        if self.claim.view == View.MESSAGE.value:
            return message_view(build, problem, data, pair.record, single_lanes=single_lanes)
        hidden = pair.record if self.hides_own_action else None
        return transcript_view(build, problem, data, pair.features, hidden=hidden, single_lanes=single_lanes)

    def works_in_lanes(self, pair: ViewPair) -> bool:
        """Whether the learner works on many lanes at once."""
        return self.view(pair, pair.data).works_in_lanes()


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
