"""A learner that is held to a claim, and how it plays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from accountant import Gate
from algorithms.claim import Claim, View
from algorithms.learner import Learner
from algorithms.play import BuildLearner, RecordOf, each_its_own, play_records
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray, IntArray
from verify.transcripts.adversary import Adversary
from verify.transcripts.neighbours import InitialOutcomes
from verify.transcripts.view_pair import ViewPair
from verify.transcripts.views import LearnerView, message_view, transcript_view


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
    record_of
        The record's name of each round, in accounting runs, replays and coupled runs alike.
    """

    build: BuildLearner
    problem: Problem
    claim: Claim
    initial: InitialOutcomes
    adversary: Adversary | None = None
    record_of: RecordOf = each_its_own

    def play(self, learner: Learner, gate: Gate, data: FloatArray) -> Iterator[IntArray]:
        """Let a learner play on data, (rounds + 1, arms), or of all worlds of a coupled gate."""
        return play_records(learner, self.problem, gate, data, record_of=self.record_of)

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
