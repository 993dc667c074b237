"""Search for the neighbouring reward tables with the largest predicted bound of a bandit in plain Python, by halving.

Many tables are played on few pairs of runs, the best of them and their variants on more, and again (successive
halving), since most differences in few runs are chance; runs are kept from round to round. To the tables that are made
for it (`verify.bandits.neighbouring_tables`) come those that bisection finds between two others
(`verify.transcripts.table_bisection`). Their number follows from the cost of a run (`verify.bandits.call_cost`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.claim import Claim
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.neighbouring_tables import NeighbouringTables, first_tables, variants
from verify.bandits.paired_events import BestEvent, best_paired_event, view_pair_of
from verify.bandits.paired_runs import PairedPlayer, PairedRuns, RoundChange
from verify.conduct.effort import Effort
from verify.transcripts.table_bisection import anchor_tables, bisect_tables
from verify.transcripts.view_pair import ViewPair


@dataclass(frozen=True, kw_only=True)
class _Round:
    """A round of successive halving.

    Attributes
    ----------
    units
        That may be spent for each lane-round of the effort.
    most_pairs
        The largest number of pairs of runs for each arm.
    caution
        Standard errors that are taken off every estimate. Few at first: rare events are not known well yet.
    enter
        Tables that go on from the round before.
    longer
        Tables are cut to so many times the rounds that their best event takes.
    parents, children
        Tables that get variants, and the number of variants of each.
    all_partners
        True if every run gets a partner, and features of all kinds are read.
    """

    units: float
    most_pairs: int
    caution: float
    enter: int = 0
    longer: float = 1.0
    parents: int = 0
    children: int = 0
    all_partners: bool = False


@dataclass(frozen=True, kw_only=True)
class _SearchSize:
    """Limits of the search.

    The values were chosen by hand; the verdicts on the plain bandits of the zoo and of the held-out set rest on them.

    Attributes
    ----------
    rounds
        The fewest and the most of the first tables.
    fewest_pairs
        The least number of pairs of runs for every arm of the changed round.
    runs_per_pair, runs_of_small, small_family
        Runs of a family for each of those pairs, of which some arms have few; and of a family of so few tables.
    runs_later
        Runs for each of those pairs of a table by itself.
    first, again
        The first round, and that of tables on which few pairs of runs did not differ.
    halvings
        The later rounds.
    kept
        Pairs of tables that are returned at most.
    enough_if_far_beyond
        Tables that enter the rounds that are left out if much is predicted.
    pair_caution
        Standard errors that are taken off the estimates on the pairs that are returned.
    bisected_rounds
        Rounds of the tables between which to bisect: longer ones if the shorter show no difference.
    anchor_units, anchor_draws
        Units for each lane-round of the effort that drawing on all these tables may take; fewest and most draws.
    bisection_units, bisections
        Units that bisection may take, and the most bisections.
    plain_units, plain_runs, plain_rounds
        Units that the plainest tables may take, the fewest and most runs of each, and their longest.
    """

    rounds: tuple[int, int] = (32, 512)
    fewest_pairs: int = 6
    runs_per_pair: int = 32
    runs_of_small: int = 8
    small_family: int = 4
    runs_later: int = 4
    first: _Round = _Round(units=2.0, most_pairs=64, caution=0.5)
    again: _Round = _Round(units=2.0, most_pairs=256, caution=0.5)
    halvings: tuple[_Round, ...] = (
        _Round(units=1.5, most_pairs=256, caution=0.75, enter=24, longer=4.0),
        _Round(units=1.5, most_pairs=512, caution=1.0, enter=12, longer=2.0, parents=4, children=4),
        _Round(units=1.5, most_pairs=2_048, caution=1.5, enter=8, all_partners=True),
        _Round(units=1.5, most_pairs=8_192, caution=1.5, enter=3, all_partners=True),
    )
    kept: int = 3
    enough_if_far_beyond: int = 8
    pair_caution: float = 1.5
    bisected_rounds: tuple[int, ...] = (512, 4_096, 32_768)
    anchor_units: float = 1.0 / 6.0
    anchor_draws: tuple[int, int] = (8, 128)
    bisection_units: float = 2.0
    bisections: int = 3
    plain_units: float = 2.0
    plain_runs: tuple[int, int] = (512, 8_192)
    plain_rounds: int = 64


_SIZE = _SearchSize()


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Tables that were played on, their best event and, once all partners were played, the pair for the test."""

    event: BestEvent
    played: PairedRuns
    pair: ViewPair | None = None


def telling_tables(
    bandit: PlainBandit, claim: Claim, effort: Effort, seed: np.random.SeedSequence
) -> list[ViewPair]:
    """Return the most distinguishing pairs of tables, the best first; none if the actions never vary.

    Parameters
    ----------
    bandit, claim
        The bandit, and its claim.
    effort
        The effort preset.
    seed
        The seed of all randomness.

    Raises
    ------
    BanditError
        If the bandit cannot be called in the given way, or does not return arms.
    """
    search = _TableSearch(bandit, claim, effort, seed)
    first = search.affordable_tables()
    found = search.candidates(search.first_runs(first), _SIZE.first)
    others: list[NeighbouringTables] = []
    for number, rounds in enumerate(_SIZE.bisected_rounds):
        rounds = min(bandit.places, rounds)
        bisected = search.bisect(rounds, _child(seed, 5, number))
        others += bisected
        found += search.candidates(search.runs_of(bisected, _SIZE.fewest_pairs), _SIZE.first)
        if rounds == bandit.places or any(each.event.predicted > 0.0 for each in found):
            break
    if not found:  # the effect of a change may be too rare, or too late, for a first round
        whole = np.tile(first[0].table[0], (bandit.places + 1, 1))
        others.append(replace(first[0], table=whole, family=-1))
        pairs = search.affordable_pairs(_SIZE.again, search.rounds_of(others))
        found = search.candidates(search.runs_of(others, pairs), _SIZE.again)
    if not found:  # no change of a round changes actions: any tables will do, if actions vary at all
        pair = search.any_pair(others[-1])
        return [] if pair is None else [pair]
    for halving in _SIZE.halvings:
        found = _best_candidates(found, halving.enter)
        if halving.enter <= _SIZE.enough_if_far_beyond and is_far_beyond(found[0].event.predicted, claim):
            break
        found = search.halve(halving, found) or found
    pairs_found = [each.pair or search.complete(each).pair for each in found[: _SIZE.kept]]
    return sorted((pair for pair in pairs_found if pair is not None), key=lambda pair: -pair.predicted)


def plainest_pair(
    bandit: PlainBandit, claim: Claim, effort: Effort, seed: np.random.SeedSequence
) -> ViewPair | None:
    """Return the most distinguishing of the plainest pairs of tables, None if no run differs on any.

    All rewards are the same but those of round 1, or of the round after every arm was played once. The search ranks
    tables by few runs, and at first by counts and times, not by whole sequences. Here all runs have partners, and
    features of all kinds are read, so that a difference on these tables does not depend on the luck of the search.
    Parameters as for `telling_tables`.
    """
    search, records = _TableSearch(bandit, claim, effort, seed), bandit.records
    rounds = min(bandit.places, _SIZE.plain_rounds)
    lowest, highest = records.points()[:2]
    changes = [(highest, 1), (lowest, 1), (highest, records.arms + 1)]
    plain = [
        NeighbouringTables(np.tile(row, (rounds + 1, 1)), record, records.alternatives(row)[0], records.arms)
        for row, record in changes
        if record <= rounds
    ]
    runs = search.player.runs(_SIZE.plain_units, 2.0 * rounds * len(plain), _SIZE.plain_runs)
    found = [search.any_pair(tables, runs) for tables in plain]
    return max(filter(None, found), key=lambda pair: pair.predicted, default=None)


def is_far_beyond(predicted: float, claim: Claim) -> bool:
    """Return True if the predicted bound is so large that few draws suffice: 3 times the claim, and 2 more than it."""
    return predicted > max(3.0 * claim.epsilon, claim.epsilon + 2.0)


RUNS_OF_ANY_PAIR = _SIZE.runs_later * _SIZE.fewest_pairs
"""Runs on a table after which actions that have not varied count as constant."""


class _TableSearch:
    """A search for the tables with the largest predicted bounds; parameters as for `telling_tables`."""

    def __init__(
        self, bandit: PlainBandit, claim: Claim, effort: Effort, seed: np.random.SeedSequence
    ) -> None:
        self.bandit = bandit
        self.rng = np.random.default_rng(_child(seed, 0))
        self.player = PairedPlayer(bandit, claim, effort, _child(seed, 1))
        self.partners = min(bandit.arms, 3)  # arms of a round for which there are partners, about

    def affordable_tables(self) -> list[NeighbouringTables]:
        """Return first tables of as many rounds as the fewest pairs of runs can be played of, and not of fewer."""
        fewest, most = _SIZE.rounds
        state = self.rng.bit_generator.state
        rounds = min(self.bandit.places, most)
        while True:
            self.rng.bit_generator.state = state
            found = first_tables(self.bandit.records, rounds, self.rng)
            affordable = self.player.affordable(_SIZE.first.units, self._first_rounds(found))
            if rounds <= fewest or affordable >= _SIZE.fewest_pairs:
                self.player.share_runs(found)
                return found
            rounds = max(rounds // 2, fewest)

    def first_runs(self, every: Sequence[NeighbouringTables]) -> list[PairedRuns]:
        """Play all first tables."""
        runs = _runs_of_families(every)
        pairs = self.affordable_pairs(_SIZE.first, self._first_rounds(every))
        return [self.player.play(tables, runs[tables.family] * pairs, pairs) for tables in every]

    def runs_of(self, every: Sequence[NeighbouringTables], pairs: int) -> list[PairedRuns]:
        """Play tables by themselves, with `pairs` pairs for every arm."""
        return [self.player.play(tables, _SIZE.runs_later * pairs, pairs) for tables in every]

    def candidates(self, every: Iterable[PairedRuns], within: _Round) -> list[_Candidate]:
        """Return the played tables with their best events, without those on which no run differs."""
        planned, caution = self.player.planned, within.caution
        events = ((best_paired_event(played, planned, caution=caution), played) for played in every)
        return [_Candidate(event, played) for event, played in events if event is not None]

    def halve(self, within: _Round, entered: Sequence[_Candidate]) -> list[_Candidate]:
        """Play more of the tables that entered a round, and some of their variants."""
        entered = [
            replace(
                each,
                played=each.played.first_rounds(
                    max(int(within.longer * each.event.rounds), each.played.tables.record + 1)
                ),
            )
            for each in entered
        ]
        children = [
            child
            for parent in entered[: within.parents]
            for child in itertools.islice(
                variants(parent.played.tables, self.bandit.records, self.rng), within.children
            )
        ]
        every = [*(each.played.tables for each in entered), *children]
        together = np.cumsum([self.rounds_of([tables]) for tables in every])
        affordable = self.player.affordable(within.units, 1.0) / _SIZE.fewest_pairs
        kept = max(int(np.searchsorted(together, affordable, "right")), 1)  # of long tables the best alone
        children = children[: max(kept - len(entered), 0)]
        entered = entered[:kept]
        pairs = self.affordable_pairs(within, together[min(kept, len(every)) - 1])
        runs = _SIZE.runs_later * pairs
        if within.all_partners:
            completed = [self.complete(each, runs) for each in entered]
            return [each for each in completed if each.pair is not None]
        again = [self.player.play(each.played.tables, runs, pairs, before=each.played) for each in entered]
        return self.candidates([*again, *self.runs_of(children, pairs)], within)

    def complete(self, candidate: _Candidate, runs: int = 0) -> _Candidate:
        """Return a candidate with partners for all runs that the change may affect, and with `runs` runs."""
        event, before = candidate.event, candidate.played
        played = self.player.play(before.tables, runs, None, arm=event.change.only_arm, before=before)
        pair = self._pair_of(played, event.change)
        if pair is not None:
            event = replace(event, predicted=pair.predicted, rounds=pair.rounds)
        return _Candidate(event, played, pair)

    def any_pair(self, tables: NeighbouringTables, runs: int = RUNS_OF_ANY_PAIR) -> ViewPair | None:
        """Return tables as a pair, with all that is different in their rows; None if the actions never vary."""
        played = self.player.play(tables, runs, None)
        return self._pair_of(played, played.changes()[0])

    def _pair_of(self, played: PairedRuns, change: RoundChange) -> ViewPair | None:
        """Return the tables of a change, if all runs that it may affect have partners; None if nothing varies."""
        space, planned = self.bandit.action_space, self.player.planned
        return view_pair_of(played, change, space, planned, caution=_SIZE.pair_caution)

    def bisect(self, rounds: int, seed: np.random.SeedSequence) -> list[NeighbouringTables]:
        """Return the tables that bisection between tables of `rounds` rounds finds; none if contexts are private."""
        bandit, player = self.bandit, self.player
        if bandit.records.private:
            return []
        tables = anchor_tables(bandit.record_domain, rounds, self.rng)
        draws = player.runs(_SIZE.anchor_units, len(tables) * rounds, _SIZE.anchor_draws)
        looks = draws * (2 + rounds.bit_length())
        most = player.runs(_SIZE.bisection_units, looks * rounds, (1, _SIZE.bisections))
        found = bisect_tables(bandit.actions, tables, bandit.action_space, draws=draws, seed=seed, most=most)
        return [
            NeighbouringTables(each.data, neighbour.record, neighbour.value, bandit.arms, each.others)
            for each in found
            for neighbour in each.neighbours
        ]

    def affordable_pairs(self, within: _Round, rounds: float) -> int:
        """Return the number of pairs for each arm in a round, if one pair of all its tables takes so many rounds."""
        return self.player.runs(within.units, rounds, (_SIZE.fewest_pairs, within.most_pairs))

    def rounds_of(self, every: Iterable[NeighbouringTables]) -> int:
        """Return the number of rounds of tables that are played by themselves, for a pair of each arm."""
        return (_SIZE.runs_later + self.partners) * sum(tables.rounds for tables in every)

    def _first_rounds(self, every: Sequence[NeighbouringTables]) -> int:
        """Return the number of rounds of first tables for a pair of each arm."""
        runs = _runs_of_families(every)
        longest: dict[int, int] = {}
        for tables in every:
            longest[tables.family] = max(longest.get(tables.family, 0), tables.rounds)
        rounds = sum(runs[family] * rounds for family, rounds in longest.items())
        return rounds + self.partners * sum(tables.rounds for tables in every)


def _runs_of_families(every: Sequence[NeighbouringTables]) -> dict[int, int]:
    """Return the number of runs of each family for a pair of each arm."""
    sizes = Counter(tables.family for tables in every)
    return {
        family: _SIZE.runs_per_pair if size > _SIZE.small_family else _SIZE.runs_of_small
        for family, size in sizes.items()
    }


def _best_candidates(candidates: Sequence[_Candidate], most: int) -> list[_Candidate]:
    """Return the candidates with the largest predictions; of equal ones, which have equal runs, the first."""
    distinct: dict[tuple[float, float, int], _Candidate] = {}
    for each in sorted(candidates, key=lambda each: -each.event.predicted):
        distinct.setdefault((each.event.predicted, each.event.share, each.event.rounds), each)
    return list(distinct.values())[:most]


def _child(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))
