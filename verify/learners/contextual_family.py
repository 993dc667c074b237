"""Contextual learners: a public policy, and users that take its action for their own contexts.

Only its user sees an action. So a replay compares the policies of all rounds, and the actions of users that stay the
same, as a policy may remember earlier users; and the actions of other users are tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountant import Coupled
from algorithms.claim import Claim, View
from algorithms.linear.contextual_play import BuildContextual, ContextualUsers, play_users
from algorithms.problems import LinearContexts
from algorithms.unit import ONE_REPORT, RecordOf
from mechanisms.arrays import FloatArray
from verify.conduct.conduct import Conduct
from verify.findings.finding import Statement
from verify.learners.accounting_run import Accounting, Play, TapedRun
from verify.learners.context_view import users_who_tell
from verify.learners.contextual_data import ShownTurn, constant_users, drawn_users, growing_users, other_users
from verify.learners.learner_family import LearnerFamily
from verify.learners.other_records import groups_of_records
from verify.learners.played_pairs import RELEASED_VIEWS, PlayedNeighbours
from verify.learners.replay_run import OtherData, Replays
from verify.sampling.evidence import Evidence
from verify.sampling.tester import Candidates, CandidateSource, Tester


@dataclass(eq=False)
class ContextualFamily(LearnerFamily):
    """A contextual learner.

    Attributes
    ----------
    build
        Function that makes the learner on a gate.
    problem
        The law that users are drawn from.
    claim
        The claim of the learner.
    rounds
        Number of rounds of every run.
    """

    build: BuildContextual
    problem: LinearContexts
    claim: Claim
    rounds: int
    _data: Sequence[ContextualUsers] = field(default=(), init=False)
    _stopped: bool = field(default=False, init=False)

    @property
    def record_of(self) -> RecordOf:
        """The record's name of each round, in replays, coupled runs and accounting runs but those on extreme data."""
        return self.names(0)

    def datasets(
        self, law: np.random.SeedSequence, others: np.random.SeedSequence
    ) -> Sequence[ContextualUsers]:
        """Return growing users, users of the problem's law, and extreme ones."""
        rng = np.random.default_rng(law)
        return [
            growing_users(self.problem, self.rounds, rng),
            drawn_users(self.problem, self.rounds, rng),
            constant_users(self.problem, self.rounds, 1.0),
            constant_users(self.problem, self.rounds, -1.0),
        ]

    def player(self, users: ContextualUsers, number: int) -> Play:
        """Return how users are played, under the names of the accounting run of this number."""
        record_of = self.names(number)
        return lambda learner, gate: map(
            ShownTurn.from_turn, play_users(learner, users, gate, record_of=record_of)
        )

    @property
    def replays(self) -> Replays:
        """The replay of taped runs: policies must have the same numbers, and choose alike."""
        return Replays(self.build, ShownTurn.is_same, Statement.ROUND_DIFFERS)

    def variants(self, run: TapedRun, numbers: FloatArray, rng: np.random.Generator) -> Iterator[OtherData]:
        """Yield all users changed, and some of them."""
        users = self._data[run.number]
        for group in groups_of_records(run.recording, rng):
            replaced = np.zeros(len(users.rewards), dtype=np.bool_)
            replaced[: group.members.size] = group.members
            changed = other_users(users, numbers, replaced, rng)
            yield OtherData(group.words, self.player(changed, run.number))

    def add_losses(
        self, evidence: Evidence, accounting: Accounting, conduct: Conduct, seed: np.random.SeedSequence
    ) -> None:
        """Play pairs in which one user has an extreme action and reward on D and others on D′."""
        self._stopped = accounting.refused or evidence.does_not_run
        view = self.claim.view
        moved = self.on_pairs(self._pairs(accounting), accounting, conduct).add(evidence, seed)
        if view == View.OTHER_ACTIONS.value or self._stopped:
            return
        if view in RELEASED_VIEWS and moved is not None:
            evidence.details["tested_view"] = f"{View.RELEASES.value}, on pairs that were played"
        else:
            why = "of a contextual learner, the actions of other users are tested, or releases"
            evidence.findings.append(Statement.VIEW_NOT_TESTED.finding(view=view, why=why))

    def _pairs(self, accounting: Accounting) -> PlayedNeighbours:
        """Return pairs of a few users: the first round's, those that paid most, and the one that could not pay."""
        asked = dict.fromkeys((self.record_of(1), *accounting.dearest(1)))
        turns = {
            record: [t for t in range(self.rounds) if self.record_of(t + 1) == record] for record in asked
        }
        drawn, first = self._data[1], _unit(self.problem.features, 1.0)
        known = {record: own for record, own in turns.items() if own}
        data = drawn
        for own in known.values():
            data = data.with_user(own, first, 1.0)
        others = (
            ("e_1 for actions, and reward -1", first, -1.0),
            ("another unit vector for actions, and reward -1", _unit(self.problem.features, 0.5), -1.0),
            ("another unit vector for actions, and reward 1", _unit(self.problem.features, 0.0), 1.0),
        )
        sides = [
            (record, words, data.with_user(own, action, reward))
            for record, own in known.items()
            for words, action, reward in others
        ]

        def play(learner: Any, gate: Coupled, numbers: Sequence[int]) -> Iterable[object]:
            beside = [sides[number][2] for number in numbers]
            return play_users(learner, data, gate, others=beside, record_of=self.record_of)

        said = "e_1 for actions, and reward 1"
        who = "user of round" if self.claim.unit == ONE_REPORT else "person with the name"
        words = [(f"the {who} {name} has {said}", f"that user has {low}") for name, low, _ in sides]
        return PlayedNeighbours(words, [name for name, _, _ in sides], play)

    def source(
        self, evidence: Evidence, conduct: Conduct, tester: Tester, seed: np.random.SeedSequence
    ) -> CandidateSource | None:
        """Return the users with the largest predicted losses in the action of the next one."""
        if self._stopped or self.claim.view != View.OTHER_ACTIONS.value:
            return None
        effort = conduct.effort
        shown = users_who_tell(
            self.build,
            self.problem.features,
            horizon=self.rounds,
            delta=self.claim.delta,
            samples=effort.batch_samples,
        )
        evidence.details["tested_view"] = self.claim.view if shown else "nothing is released"
        if not shown:
            return None
        samples = min(effort.batch_samples, effort.lane_rounds // (shown[0].batch + 1))
        return Candidates([each.worlds() for each in shown], samples)


def _unit(features: int, along: float) -> FloatArray:
    """Return a unit vector with this product with e_1; e_1 itself if there is no other direction."""
    vector = np.zeros(features)
    vector[0] = along if features > 1 else 1.0
    if features > 1:
        vector[1] = math.sqrt(1.0 - along * along)
    return vector
