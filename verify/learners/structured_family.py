"""Learners with a structure (semi-bandits, matroids, cascades, bandits), on outcomes of every arm in every round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from accountant import Coupled, Place
from algorithms.claim import View
from algorithms.play import INITIAL_RECORD
from algorithms.unit import OnePerson
from mechanisms.arrays import FloatArray
from verify.conduct.conduct import Conduct
from verify.findings.finding import Statement
from verify.learners.accounting_run import Accounting, Play, TapedRun
from verify.learners.function_trials import add_function_trials
from verify.learners.groundwork import Groundwork
from verify.learners.learner_case import LearnerCase
from verify.learners.learner_family import EXTREME, LearnerFamily
from verify.learners.learner_pairs import LearnerPairs
from verify.learners.likelihood import likelihoods_hold
from verify.learners.other_records import groups_of_records, growing_records, other_records
from verify.learners.played_pairs import RELEASED_VIEWS, CoupledRun, PlayedNeighbours
from verify.learners.replay_run import OtherData, Replays
from verify.sampling.counted_event import CountedEvent
from verify.sampling.evidence import Evidence
from verify.sampling.tester import CandidateSource, Tester
from verify.transcripts.action_features import with_paths_spelled
from verify.transcripts.neighbours import (
    Neighbour,
    constant_data,
    initial_replacements,
    of_people,
    record_words,
    replacements,
    spread_records,
)
from verify.transcripts.transcript import ActionSpace

_EARLY = 64  # rounds that are replayed on extreme data: a run's first records have few other chances
_RELEASED_ROUNDS = 512  # of coupled runs, where the view is everything that is released
_PEOPLE = (1, 2)  # persons with rounds replaced in coupled runs, beside the one that could not pay


@dataclass(eq=False)
class StructuredFamily(LearnerCase, LearnerFamily):
    """A learner with a structure.

    Attributes
    ----------
    rounds
        Number of rounds of every accounting run.
    """

    least: ClassVar[float] = 0.0
    rounds: int = field(kw_only=True)
    _data: Sequence[FloatArray] = field(default=(), init=False)
    _ground: Groundwork | None = field(default=None, init=False)

    @property
    def _law_records(self) -> FloatArray:
        """The records drawn from the problem's law."""
        return self._data[1]

    def datasets(self, law: np.random.SeedSequence, others: np.random.SeedSequence) -> Sequence[FloatArray]:
        """Return growing data, data of the problem's law, and constant data."""
        domain, rounds = self.problem.record_domain, self.rounds
        drawn = self.problem.draw_records(np.random.default_rng(law), rounds + 1)
        grown = growing_records(domain, rounds, np.random.default_rng(others))
        return [grown, drawn, *constant_data(domain, rounds)]

    def player(self, data: FloatArray, number: int) -> Play:
        """Return how data are played, under the names of the accounting run of this number."""
        names = self.names(number)
        return lambda learner, gate: self.play(learner, gate, data, names)

    def try_functions(self, evidence: Evidence, seed: np.random.SeedSequence) -> None:
        """Test the functions that the learner declares to be transformations."""
        add_function_trials(evidence, self, self._law_records, seed)

    @property
    def replays(self) -> Replays:
        """The replay of taped runs: the actions must be the same."""
        feedback = self.problem.feedback
        code = getattr(getattr(feedback, "__func__", feedback), "__code__", None)
        place = Place("", 0) if code is None else Place(code.co_filename, code.co_firstlineno)
        return Replays(self.build, np.array_equal, Statement.ROUND_DIFFERS, place)

    def variants(self, run: TapedRun, numbers: FloatArray, rng: np.random.Generator) -> Iterator[OtherData]:
        """Yield data with all records changed, and with some of them; of the problem's law, extreme ones, too."""
        data, domain = self._data[run.number], self.problem.record_domain
        names = [record for record, _ in run.recording.inputs]
        own = [INITIAL_RECORD, *map(self.names(run.number), range(1, len(data)))]
        for group in groups_of_records(run.recording, rng):
            told = dict(zip(names, group.members, strict=True))
            replaced = np.array([bool(told.get(name, False)) for name in own])
            changed = other_records(data, domain, numbers, rng, replaced)
            kept = frozenset(name for name, changes in told.items() if not changes)
            yield OtherData(group.words, self.player(changed, run.number), kept=kept)
        if data is self._law_records:
            lowest, highest = self._data[EXTREME:]
            for changed, how in ((lowest, "lowest"), (highest, "highest")):
                player = self.player(changed, run.number)
                yield OtherData(f"when all records are all {how}", player, _EARLY)
            opposite = self.player(lowest + highest - data, run.number)
            yield OtherData("when all records are their opposites", opposite, _EARLY)

    def add_losses(
        self, evidence: Evidence, accounting: Accounting, conduct: Conduct, seed: np.random.SeedSequence
    ) -> None:
        """Play coupled runs in lanes: D, and neighbours in which one of many records is replaced."""
        effort, drawn, domain = conduct.effort, self._law_records, self.problem.record_domain
        if self.claim.view in (View.RELEASES.value, View.SHUFFLED.value):
            # A record may be released long after its round.
            data = drawn[: _RELEASED_ROUNDS + 1]
            records: Sequence[int] = spread_records(len(data) - 1)
        else:
            data = drawn[: effort.coupled_rounds + 1]
            records = range(1, effort.coupled_rounds + 1)
        payer = accounting.exceeded.record if accounting.exceeded is not None else None
        if isinstance(payer, int) and 0 < payer < min(len(drawn), _RELEASED_ROUNDS) and payer not in records:
            # The record that could not pay lost the most.
            data, records = drawn[: max(len(data), payer + 1)], [*records, payer]
        replaced = replacements(data, domain, records)
        if isinstance(self.claim.unit, OnePerson):
            people = [*_PEOPLE, *([payer] if isinstance(payer, int) else [])]
            data, replaced = of_people(data, domain, self.claim.unit, people)
            # Two layers may refute.
            conduct = replace(conduct, effort=replace(effort, significance=effort.significance / 2.0))
            # Such pairs with all lowest in all rounds, and all highest.
            pairs = self._pairs(*of_people(drawn[: _RELEASED_ROUNDS + 1], domain, self.claim.unit, people))
            own_seed = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 0))
            self.on_pairs(pairs, accounting, conduct).add(evidence, own_seed)
        neighbours = [*initial_replacements(data, domain, self.initial), *replaced]
        plays = self.on_pairs(self._pairs(data, neighbours), accounting, conduct)
        coupled = plays.run(evidence, seed)
        if coupled is not None:
            again = coupled if accounting.taped else plays.run(evidence, seed)  # else replays have looked
            repeats = again is not None and np.array_equal(again.losses, coupled.losses)
            plays.add_run(evidence, coupled, seed, repeats=repeats)
        self._add_view(evidence, coupled)
        trusted = not evidence.declassified and likelihoods_hold(evidence, list(accounting.mechanisms))
        # Likelihood ratios leave out the action of one round only.
        trusted = trusted and not (isinstance(self.claim.unit, OnePerson) and self.hides_own_action)
        self._ground = Groundwork(evidence, drawn, neighbours, coupled, trusted, evidence.proves(self.claim))

    def _pairs(self, data: FloatArray, neighbours: Sequence[Neighbour]) -> PlayedNeighbours:
        """Return pairs of D and a neighbour."""

        def play(learner: Any, gate: Coupled, numbers: Sequence[int]) -> Iterator[object]:
            worlds = np.stack([data, *(neighbours[number].apply_to(data) for number in numbers)])
            return self.play(learner, gate, worlds)

        words = [
            (
                record_words(each.record, data[each.record], each.rounds),
                record_words(each.record, each.value, each.rounds),
            )
            for each in neighbours
        ]
        return PlayedNeighbours(words, [each.record for each in neighbours], play)

    def _add_view(self, evidence: Evidence, coupled: CoupledRun | None) -> None:
        """Record which view is tested, and add a finding if that is not the claimed one."""
        view = self.claim.view
        if self.shows_actions:
            evidence.details["tested_view"] = view
        elif view in RELEASED_VIEWS and coupled is not None:
            more = ", before functions of it," if coupled.more_than_seen else ""
            evidence.details["tested_view"] = f"{View.RELEASES.value}{more} in coupled runs"
        elif not evidence.does_not_run:
            why = (
                "no coupled run was possible"
                if view in RELEASED_VIEWS
                else "learners show actions or releases"
            )
            evidence.details["tested_view"] = View.ACTIONS.value
            evidence.findings.append(Statement.VIEW_NOT_TESTED.finding(view=view, why=why))

    def source(
        self, evidence: Evidence, conduct: Conduct, tester: Tester, seed: np.random.SeedSequence
    ) -> CandidateSource | None:
        """Return early records, distinguishing transcripts and the worlds of an adversary."""
        assert self._ground is not None
        return LearnerPairs(self, self._ground, conduct)

    def keep(self, evidence: Evidence, result: CountedEvent, conduct: Conduct) -> None:
        """Add the result of a test of the view to the evidence."""
        result = replace(
            result, event=with_paths_spelled(result.event, ActionSpace.from_problem(self.problem))
        )
        # The confidence is that of this bound and of the likelihood ratios' together.
        lower = replace(result.lower_bound(), confidence=conduct.effort.confidence)
        evidence.keep(result, conduct.reproduce, lower)
        if result.refuted:  # an event that the adversary sees is a better witness than a density ratio
            evidence.witness = result.witness(conduct.reproduce)
