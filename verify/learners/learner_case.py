"""A learner with a claim, and its plays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from accountant import Gate
from algorithms.claim import Claim, View
from algorithms.learner import Learner
from algorithms.play import BuildLearner, play_records
from algorithms.problems import Problem
from algorithms.unit import RecordOf
from mechanisms.arrays import FloatArray, IntArray
from verify.transcripts.adversary import Adversary
from verify.transcripts.neighbours import InitialOutcomes, rounds_of
from verify.transcripts.view_pair import ViewPair
from verify.transcripts.views import LearnerView, message_view, transcript_view


@dataclass(eq=False)
class LearnerCase:
    """A learner, its problem, and its claim.

    Attributes
    ----------
    build
        Function that makes the learner on a gate.
    problem
        The structure it plays on, and the law that data sets are drawn from.
    claim
        Its claim.
    initial
        The records of its outcomes before the first round: "none", "one" for all, or "separate" ones.
    adversary
        An interactive adversary to test besides fixed data sets.
    """

    build: BuildLearner
    problem: Problem
    claim: Claim
    initial: InitialOutcomes
    adversary: Adversary | None = None

    def play(
        self, learner: Learner, gate: Gate, data: FloatArray, record_of: RecordOf | None = None
    ) -> Iterator[IntArray]:
        """Let a learner play on data, (rounds + 1, arms), or of all worlds of a coupled gate.

        The record's name of each round follows from the claim's unit, unless it is given.
        """
        names = self.claim.unit.names(data.shape[-2] - 1) if record_of is None else record_of
        return play_records(learner, self.problem, gate, data, record_of=names)

    @property
    def shows_actions(self) -> bool:
        """True if the adversary sees actions, and nothing else."""
        return self.claim.view in (View.ACTIONS.value, View.OTHER_ACTIONS.value)

    @property
    def hides_own_action(self) -> bool:
        """True if the actions of the changed record's own rounds are hidden."""
        return self.claim.view == View.OTHER_ACTIONS.value

    def view(self, pair: ViewPair, data: FloatArray, *, single_lanes: bool = False) -> LearnerView:
        """Return the view of the claim's adversary on one of a pair's data sets."""
        build, problem = self.build, self.problem
        if self.claim.view == View.MESSAGE.value:
            return message_view(build, problem, data, pair.record, single_lanes=single_lanes)
        hidden = self._own_rounds(pair) if self.hides_own_action else ()
        return transcript_view(build, problem, data, pair.features, hidden=hidden, single_lanes=single_lanes)

    def _own_rounds(self, pair: ViewPair) -> list[int]:
        """Return the rounds of the record in which two data sets differ."""
        name = self.claim.unit.names(pair.rounds)(pair.record)
        differ = np.flatnonzero((pair.data[1:] != pair.data_prime[1:]).any(axis=1)) + 1
        return sorted({*rounds_of(name, pair.rounds, self.claim.unit), *differ.tolist()})

    def works_in_lanes(self, pair: ViewPair) -> bool:
        """Return True if the learner works on many lanes at once."""
        return self.view(pair, pair.data).works_in_lanes()
