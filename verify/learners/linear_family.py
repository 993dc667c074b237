"""Learners of linear bandits: phases with clients that report averages of their rewards."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountant import Coupled, Gate, Place, RecordId, Simulation
from algorithms.claim import Claim, View
from algorithms.linear.linear_phases import Phase
from algorithms.linear.linear_play import BuildPhased, Clients, play_linear
from algorithms.problems import LinearBandit
from algorithms.unit import ONE_REPORT, RecordOf, Unit
from mechanisms.arrays import BoolArray, FloatArray
from mechanisms.parameters import ParameterError
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.process_state import subjects_own
from verify.findings.finding import Finding, Statement
from verify.learners.accounting_run import Accounting, Play, TapedRun
from verify.learners.learner_family import EXTREME, LearnerFamily
from verify.learners.learner_randomness import is_of_algorithms
from verify.learners.linear_data import HUGE, Constant, Growing, OneByOne, OtherClients, same_phase
from verify.learners.other_records import groups_of_records
from verify.learners.played_pairs import RELEASED_VIEWS, PlayedNeighbours
from verify.learners.replay_run import OtherData, Replays
from verify.learners.tipping_view import NEGLIGIBLE, decisive_pairs
from verify.sampling.evidence import Evidence
from verify.sampling.tester import Candidates, CandidateSource, Tester

_NOBODY = np.zeros(0, dtype=bool)
_MOST_RECORDS = 6  # that are replaced in pairs
_MOST_PAYERS = 3  # of each theorem, among them


@dataclass(frozen=True)
class _ActionDraws:
    """Bounds on the draws of a learner's actions: with more of them a draw costs more, and fewer are made.

    Attributes
    ----------
    actions
        The most actions of which as many draws are made as the effort allows.
    fewest
        Draws that are made in any case.
    earlier_phase
        The added cost of a draw for each earlier phase that is drawn.
    in_all_runs
        A number that the draws in all runs of a wealth file together stay below.
    """

    actions: int = 100
    fewest: int = 100_000
    earlier_phase: int = 6
    in_all_runs: int = 10**12


_DRAWS = _ActionDraws()

_MakeClients = Callable[[BoolArray], Clients]
"""Makes the clients of a play, those of a mask (in the order of reports) drawn anew."""

_Others = tuple[str, Callable[[FloatArray], FloatArray]]
_AT_THE_OTHER_END: Sequence[_Others] = (
    ("every average reward is at its lower bound", lambda upper: -upper),
    (
        "every second average reward is at its lower bound, from the first on",
        lambda upper: np.where(np.arange(upper.size) % 2 == 0, -upper, upper),
    ),
    (
        "the first average reward is at its lower bound, the others at their upper one",
        lambda upper: np.where(np.arange(upper.size) == 0, -upper, upper),
    ),
    ("every average reward is 0", np.zeros_like),
)
"""The rewards of a client on D′ in place of its upper bounds: in words, and as a function of these."""


@dataclass(eq=False)
class LinearFamily(LearnerFamily):
    """A learner of linear bandits.

    Attributes
    ----------
    build
        Function that makes the learner on a gate.
    problem
        The actions, and the law that clients are drawn from.
    claim
        The claim of the learner.
    rounds
        Number of rounds of every run.
    unit
        The unit that is identified by a client's name: without replacement that of the claim.
    """

    build: BuildPhased
    problem: LinearBandit
    claim: Claim
    rounds: int
    unit: Unit
    _data: Sequence[_MakeClients] = field(default=(), init=False)
    _environment: np.random.SeedSequence = field(default_factory=np.random.SeedSequence, init=False)
    _stopped: bool = field(default=False, init=False)

    def check(self, effort: Effort) -> None:
        """Refuse so few false alarms that no test of the actions could refute."""
        least = min(effort.significance, 1.0 - effort.confidence)
        if self.claim.view == View.ACTIONS.value and not least > 2.0 * NEGLIGIBLE:
            raise ParameterError(
                f"significance = {effort.significance!r}, confidence = {effort.confidence!r}: must leave errors above "
                f"{2.0 * NEGLIGIBLE:g} where the view is a linear learner's actions: of the histories that are drawn, "
                "some are left out"
            )

    def datasets(self, law: np.random.SeedSequence, others: np.random.SeedSequence) -> Sequence[_MakeClients]:
        """Return how clients are made: with growing rewards, by the problem's law, with rewards beyond every bound."""
        self._environment = law
        population, replacement = self.problem.population, self.problem.replacement
        return [
            lambda _: Growing(population, replacement),
            self._law_clients,
            lambda _: Constant(population, replacement, HUGE),
            lambda _: Constant(population, replacement, -HUGE),
        ]

    def _law_clients(self, replaced: BoolArray) -> Clients:
        """Return clients of the problem's law, those of a mask drawn anew."""
        if not _is_users(self.problem):
            return self.problem
        return OneByOne(_own_copy(self.problem), self._environment, replaced)

    def player(self, clients: _MakeClients, number: int) -> Play:
        """Return how clients are played, under the names of the accounting run of this number."""
        names = self.unit.in_order if number < EXTREME else self.unit.everyone_in_order
        return lambda learner, gate: self._play(learner, gate, clients(_NOBODY), names)

    def _play(
        self,
        learner: Any,
        gate: Gate,
        clients: Clients,
        names: Callable[[], RecordOf] | None = None,
        **worlds: Any,
    ) -> Iterator[Phase]:
        rng = np.random.default_rng(self._environment)
        record_of = (names or self.unit.in_order)()
        return play_linear(learner, clients, gate, rng, rounds=self.rounds, record_of=record_of, **worlds)

    def remarks(self, accounting: Accounting) -> list[Finding]:
        """Return a remark on the number of reports of a client, where clients are drawn with replacement."""
        if not self.problem.replacement:
            return []
        times = max((len(payer.charges) for payer in accounting.own_pricing.payers), default=0)
        return [Statement.REPLACEMENT.finding(times=times)]

    @property
    def replays(self) -> Replays:
        """The replay of taped runs: phases must play the same, and ask as many clients."""
        code = getattr(type(self.problem).draw_averages, "__code__", None)
        place = Place("", 0) if code is None else Place(code.co_filename, code.co_firstlineno)
        observed = place if _is_users(self.problem) else None
        return Replays(self.build, same_phase, Statement.PHASE_DIFFERS, observed)

    def variants(self, run: TapedRun, numbers: FloatArray, rng: np.random.Generator) -> Iterator[OtherData]:
        """Yield all clients changed, and some of them."""
        names = [record for record, _ in run.recording.inputs]
        for group in groups_of_records(run.recording, rng):
            changed = self._changed(self._data[run.number], group.members, numbers, rng.spawn(1)[0])
            changes = {name for name, member in zip(names, group.members, strict=True) if member}
            player = self.player(changed, run.number)
            yield OtherData(group.words, player, kept=frozenset(names) - changes)

    def _changed(
        self, clients: _MakeClients, members: BoolArray, numbers: FloatArray, rng: np.random.Generator
    ) -> _MakeClients:
        """Return a function that makes clients with others of a mask: the same at each call."""
        return lambda _: OtherClients(clients(members), numbers, members, copy.deepcopy(rng))

    def add_losses(
        self, evidence: Evidence, accounting: Accounting, conduct: Conduct, seed: np.random.SeedSequence
    ) -> None:
        """Play pairs in which all rewards of one client are at their upper bounds on D and others on D′."""
        self._stopped = accounting.refused or evidence.does_not_run
        pairs = self._pairs(accounting)
        moved = self.on_pairs(pairs, accounting, conduct).add(evidence, seed) if pairs.records else False
        if self._stopped or self.claim.view == View.ACTIONS.value:
            return
        if self.claim.view not in RELEASED_VIEWS or moved is None:
            why = "no coupled run was possible" if moved is None else "learners show actions or releases"
            evidence.findings.append(Statement.VIEW_NOT_TESTED.finding(view=self.claim.view, why=why))
        else:
            shown = f"{View.RELEASES.value}, on pairs that were played" if moved else "nothing is released"
            evidence.details["tested_view"] = shown

    def _pairs(self, accounting: Accounting) -> PlayedNeighbours:
        """Return pairs of a few clients: the first, the most frequent, those that paid most, one that could not pay."""
        reports: list[RecordId] = []
        sizes: set[int] = set()

        def record_reports(records: Sequence[int], averages: FloatArray) -> Sequence[FloatArray]:
            reports.extend(records)
            sizes.add(averages.shape[1])
            return list(averages[:, np.newaxis])

        try:
            gate = Coupled(0, 1, 1)
            for _ in self._play(self.build(gate), gate, self._law_clients(_NOBODY), worlds=record_reports):
                pass
        except subject_exceptions():  # accounting has reported it
            pass
        often = [record for record, _ in Counter(reports).most_common(1)]
        known = set(reports)
        asked = (*reports[:1], *accounting.dearest(_MOST_PAYERS), *often)
        chosen = list(dict.fromkeys(record for record in asked if record in known))[:_MOST_RECORDS]
        others = _AT_THE_OTHER_END if max(sizes, default=0) > 1 else _AT_THE_OTHER_END[:1]
        sides = [(record, *other) for record in chosen for other in others]

        def play(learner: Any, gate: Coupled, numbers: Sequence[int]) -> Iterable[object]:
            beside = [sides[number] for number in numbers]

            def worlds(records: Sequence[int], averages: FloatArray) -> Sequence[FloatArray]:
                return [_averages(*each, chosen, beside) for each in zip(records, averages, strict=True)]

            return self._play(learner, gate, self._law_clients(_NOBODY), worlds=worlds)

        top = "every average reward is at its upper bound"
        who = "client" if self.unit == ONE_REPORT else "person"
        words = [(f"{who} {record}: {top}", f"{who} {record}: {low}") for record, low, _ in sides]
        return PlayedNeighbours(words, [record for record, _, _ in sides], play)

    def source(
        self, evidence: Evidence, conduct: Conduct, tester: Tester, seed: np.random.SeedSequence
    ) -> CandidateSource | None:
        """Return data sets in which one client tips the elimination of an action: the view is the actions.

        Draws come from a model of how the learner goes on, which is known of this library's own classes only.
        """
        view = self.claim.view
        if self._stopped or view != View.ACTIONS.value:
            return None
        with subjects_own():
            learner: Any = self.build(Simulation(0, 1))
        if not is_of_algorithms(type(learner)) or not hasattr(learner, "continuation"):
            why = "how actions follow from releases is known of this library's own classes only"
            evidence.findings.append(Statement.VIEW_NOT_TESTED.finding(view=view, why=why))
            return None
        evidence.details["tested_view"] = view
        candidates = self._tipped_actions(learner.active.size, conduct, tester, seed)
        if not candidates.worlds:
            evidence.details["action_view"] = (
                "Within this horizon no single client can tip the elimination of an action, as far as was looked."
            )
            return None
        return candidates

    def _tipped_actions(
        self, actions: int, conduct: Conduct, tester: Tester, seed: np.random.SeedSequence
    ) -> Candidates:
        draws, claim = conduct.effort.batch_samples, self.claim
        pairs = decisive_pairs(self.build, epsilon=claim.epsilon, delta=claim.delta, samples=draws, seed=seed)
        history = max((len(pair.drawn_history(draws)) for pair in pairs), default=0)
        cost = (1 + _DRAWS.earlier_phase * history) * actions
        samples = min(draws, max(_DRAWS.fewest, _DRAWS.actions * draws // cost))
        in_all = _DRAWS.in_all_runs if tester.anytime else samples
        return Candidates([pair.worlds(in_all) for pair in pairs], samples, negligible=NEGLIGIBLE)


def _averages(
    record: int, average: FloatArray, chosen: Sequence[RecordId], beside: Sequence[tuple[RecordId, Any, Any]]
) -> FloatArray:
    """Return a client's average rewards on D, and on the neighbours beside it; (1, s) where they are the same."""
    if record not in chosen:
        return average[np.newaxis]
    upper = np.full(average.size, HUGE)
    if all(record != changed for changed, *_ in beside):
        return upper[np.newaxis]
    return np.stack([upper, *(low(upper) if record == changed else upper for changed, _, low in beside)])


def _own_copy(problem: LinearBandit) -> LinearBandit:
    """Return a copy for one run, if there can be one: a problem may go on in a log of its own from draw to draw."""
    try:
        return copy.deepcopy(problem)
    except Exception:  # a user's object may forbid copies: an open file, a lock
        return problem


def _is_users(problem: LinearBandit) -> bool:
    """Return True if a user's code computes the clients' reports."""
    return type(problem).draw_averages is not LinearBandit.draw_averages
