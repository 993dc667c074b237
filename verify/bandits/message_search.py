"""Search for the round with the largest privacy loss in its messages.

First every round at once: in runs on rewards drawn by coins, each run its own, the messages of a round are compared
between the runs that paid more and those that paid less, each number as it is and as its step since the round before;
and correlations find later messages that depend on a reward, and others that depend on these, as they do if noise is
used twice.
Then the rounds with the largest predicted bounds, and the plainest ones in any case, are played on neighbouring
tables. The search only ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from algorithms.claim import Claim, View
from mechanisms.arrays import BoolArray, FloatArray
from mechanisms.numerics.printed_numbers import percent
from verify.bandits.bandit_view import (
    BanditView,
    fill_absent,
    layouts_of_round,
    messages_by_round,
    read_messages,
    sample_of_round,
    step_layouts,
)
from verify.bandits.calling.bandit_calls import BanditError
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.neighbouring_tables import NeighbouringTables
from verify.bandits.paired_runs import PairedPlayer
from verify.conduct.effort import Effort
from verify.events.view_sample import ViewSample
from verify.findings.finding import Finding, Statement
from verify.outputs.output_layout import layout_of
from verify.transcripts.action_features import doubling, first_actions
from verify.transcripts.predicted_bounds import STANDARD_ERRORS
from verify.transcripts.view_pair import ViewPair


@dataclass(frozen=True, kw_only=True)
class _SearchSize:
    """Limits of the search; the values were chosen by hand on the subjects of `tests/verify/bandits/messages`.

    Attributes
    ----------
    probed
        Runs, and rounds of them, that show the form of messages.
    scanned
        The fewest and the most runs of the scan.
    rounds
        The most rounds of the scan.
    units_of_scan, units_of_contest
        Units for each lane-round of the effort.
    entries
        Entries of all messages of the scan at most.
    caution
        Standard errors that are taken off every estimate, beside those of the final test.
    hits
        Runs in an event of one world alone, from which on a round is outstanding.
    rows
        Values that are sorted at once.
    few_values
        Values of a column up to which each is an event.
    correlated
        Standard errors beyond which a later message depends on a reward, or on another message.
    outstanding, hanging, later
        Rounds that are outstanding by their own messages, and by later ones; later rounds that are read with a round,
        and rounds that are read with these.
    after
        Rounds after the changed one that are read in any case.
    contest
        The fewest and the most runs on every table.
    alternatives
        The largest number of alternatives of a row.
    columns
        The largest number of columns of a view.
    kept
        Pairs that are returned at most.
    """

    probed: tuple[int, int] = (64, 32)
    scanned: tuple[int, int] = (256, 1_024)
    rounds: int = 4_096
    units_of_scan: float = 3.0
    units_of_contest: float = 4.0
    entries: int = 1 << 23
    caution: float = 2.0
    hits: int = 16
    rows: int = 1 << 21
    few_values: int = 32
    correlated: float = 5.0
    outstanding: int = 4
    hanging: int = 3
    later: int = 4
    after: int = 2
    contest: tuple[int, int] = (96, 1_024)
    alternatives: int = 3
    columns: int = 48
    kept: int = 2


_SIZE = _SearchSize()


@dataclass(frozen=True, eq=False)
class MessageScan:
    """The predicted bounds of the messages of all rounds, on rewards drawn by coins.

    Attributes
    ----------
    runs, rounds
        Numbers of runs and of rounds of each.
    own
        The bound that the messages of each round predict; shape (rounds,).
    later
        For each round the later ones with messages that depend on its reward, the most dependent first.
    hangs
        The largest correlation of later messages with the round's reward, in standard errors; shape (rounds,).
    """

    runs: int
    rounds: int
    own: FloatArray
    later: list[list[int]]
    hangs: FloatArray

    def finding(self, rounds: int) -> Finding:
        """Return the finding on the messages that were tested, and those that were not.

        It states the least detectable share of runs with an event under one reward of a round, and none under the
        other.
        """
        beyond = f"; those of rounds {self.rounds + 1:,} to {rounds:,} were not tested"
        return Statement.MESSAGES_LOOKED_AT.finding(
            last=f"{self.rounds:,}",
            draws=self.runs,
            share=percent(min(2.0 * _SIZE.hits / self.runs, 1.0)),
            beyond=beyond if self.rounds < rounds else "",
        )

    @property
    def outstanding(self) -> list[int]:
        """The rounds, counted from 1, with the largest bounds of own messages or correlations of later ones."""
        own = np.argsort(-self.own, kind="stable")[: _SIZE.outstanding] + 1
        hanging = np.argsort(-self.hangs, kind="stable")[: _SIZE.hanging] + 1
        return list(dict.fromkeys([*own.tolist(), *(t for t in hanging.tolist() if self.later[t - 1])]))


def distinguishing_messages(
    bandit: PlainBandit, claim: Claim, effort: Effort, seed: np.random.SeedSequence
) -> tuple[MessageScan, list[BanditView]]:
    """Search; return the scan of all rounds, and the pairs of tables with the largest predicted bounds, the best first.

    Raises
    ------
    BanditError
        If no run sends a message, or a message cannot be read.
    """
    scan_seed, play_seed, table_seed = seed.spawn(3)
    player = PairedPlayer(bandit, claim, effort, play_seed)
    scan, ranks = _scan(bandit, player, claim.delta, scan_seed)
    contest = _Contest(bandit, player, View(claim.view), scan, ranks, np.random.default_rng(table_seed))
    return scan, contest.best_views()


def _scan(
    bandit: PlainBandit, player: PairedPlayer, delta: float, seed: np.random.SeedSequence
) -> tuple[MessageScan, FloatArray]:
    """Compare the messages of all rounds that can be afforded; return their ranks, too: runs, rounds, columns."""
    probed, few = _SIZE.probed
    rounds = min(bandit.rounds, few)
    first = _CoinRuns(bandit, probed, rounds, seed.spawn(1)[0])
    if all(message is None for run in first.messages for message in run):
        raise BanditError(
            f"message = {bandit.message!r}: no message was sent in {probed} runs of {rounds} rounds"
        )
    both = [
        read_messages([first.messages[i][t] for i, t in zip(*np.nonzero(which), strict=True)])
        for which in (first.paid, ~first.paid)
        if which.any()
    ]
    layout = layout_of(both)
    layouts = [layout, *step_layouts(layout, both)]
    columns = sum(len(each.columns) for each in layouts)
    fewest, most = _SIZE.scanned
    rounds = min(bandit.rounds, _SIZE.rounds)
    affordable = min(player.affordable(_SIZE.units_of_scan, 1.0), _SIZE.entries / columns)
    runs = int(min(max(affordable / rounds, fewest), most))
    rounds = int(min(rounds, max(affordable / runs, few)))
    played = _CoinRuns(bandit, runs, rounds, seed)
    sent = read_messages([message for run in played.messages for message in run], layout)
    before = read_messages([run[max(t - 1, 0)] for run in played.messages for t in range(rounds)], layout)
    plain, *steps = (fill_absent(each.sample(sent, before).values).reshape(runs, -1) for each in layouts)
    own = np.full(rounds, -np.inf)
    for flat in (plain, *steps):
        p = flat.shape[1] // rounds
        drawn = np.full(flat.shape[1], float(player.planned.most_draws))
        for which in played.labels:
            bounds = _column_bounds(flat, np.repeat(which, p, axis=1), drawn, delta)
            own = np.maximum(own, bounds.reshape(rounds, p).max(axis=1))
    ranks, p = _ranks(plain), len(layout.columns)  # a step depends on the message before anyhow
    scores = _standard(played.paid.astype(np.float64)).T @ ranks / np.sqrt(runs)
    scores = np.abs(scores).reshape(rounds, rounds, p).max(axis=2)
    scores[np.tri(rounds, dtype=np.bool_)] = 0.0  # of later messages alone
    hangs = scores.max(axis=1)
    later = np.argsort(-scores, axis=1, kind="stable")[:, : _SIZE.later] + 1
    scan = MessageScan(
        runs,
        rounds,
        own,
        [
            [t for t in row.tolist() if scores[number, t - 1] > _SIZE.correlated]
            for number, row in enumerate(later)
        ],
        hangs,
    )
    return scan, ranks.reshape(runs, rounds, p)


class _CoinRuns:
    """Runs, each on rewards (and contexts) of its own that are drawn by coins.

    Attributes
    ----------
    messages
        The messages of each run, by round.
    paid
        True where the round paid more than the middle; shape (runs, rounds).
    labels
        The same, and True where the private context is each of the known ones; each of shape (runs, rounds).
    """

    def __init__(self, bandit: PlainBandit, runs: int, rounds: int, seed: np.random.SeedSequence) -> None:
        records = bandit.records
        rng = np.random.default_rng(seed.spawn(1)[0])
        tables = np.stack([records.coins(rounds, rng) for _ in range(runs)])
        # One table would be that of all runs.
        actions, self.messages = bandit.messages(list(tables), range(runs), seed, range(rounds))
        arms = np.minimum(actions, records.arms - 1).astype(np.int64)  # any, for a bandit that has stopped
        rewards = np.take_along_axis(tables[:, 1:, : records.arms], arms, axis=2)[:, :, 0]
        self.paid: BoolArray = rewards > 0.5 * (records.low + records.high)
        self.labels: list[BoolArray] = [self.paid]
        if records.private:
            contexts = tables[:, 1:, records.arms :]
            known = np.unique(contexts.reshape(-1, contexts.shape[2]), axis=0)
            self.labels += [(contexts == each).all(axis=2) for each in known]


@dataclass(frozen=True, eq=False)
class _Contest:
    """Neighbouring tables that are played on, and compared by the predicted bounds of their messages."""

    bandit: PlainBandit
    player: PairedPlayer
    view: View
    scan: MessageScan
    ranks: FloatArray
    rng: np.random.Generator

    def best_views(self) -> list[BanditView]:
        """Return the pairs with the largest predicted bounds."""
        entered = self._affordable()
        together = sum(tables.rounds for tables in entered)
        runs = self.player.runs(_SIZE.units_of_contest, 2.0 * together, _SIZE.contest)
        found = [view for tables in entered if (view := self._play_pair(tables, runs)) is not None]
        found.sort(key=lambda view: -view.pair.predicted)
        return found[: _SIZE.kept]

    def _affordable(self) -> list[NeighbouringTables]:
        """Return the tables of the outstanding rounds, and of plain ones as far as they can be afforded."""
        plain = sorted({*doubling(self.scan.rounds), min(self.bandit.arms + 1, self.scan.rounds)})
        records = list(dict.fromkeys([1, *self.scan.outstanding, *plain]))
        found: list[NeighbouringTables] = []
        left = self.player.affordable(_SIZE.units_of_contest, 2.0 * _SIZE.contest[0])
        for record in records:
            for tables in self._tables(record):
                if found and tables.rounds > left:
                    continue
                left -= tables.rounds
                found.append(tables)
        return found

    def _tables(self, record: int) -> list[NeighbouringTables]:
        """Return the tables that change a round: all others pay most, least, or by coins."""
        records = self.bandit.records
        rounds = self._rounds_read(record)[-1]
        lowest, highest = records.points()[:2]
        alike = [np.tile(row, (rounds + 1, 1)) for row in (highest, lowest, *records.middle())]
        drawn = "the records of all others were drawn once by a fair coin"
        tables = [*((table, "") for table in alike), (records.coins(rounds, self.rng), drawn)]
        return [
            NeighbouringTables(table, record, row, records.arms, words)
            for table, words in tables
            for row in records.alternatives(table[record])[: _SIZE.alternatives]
        ]

    def _rounds_read(self, record: int) -> list[int]:
        """Return the rounds of which messages are read if one is changed."""
        later = self.scan.later[record - 1]
        after = range(record, record + 1 + _SIZE.after)
        return sorted(
            {t for t in (*after, *later, *self._correlated_with([record, *later])) if t <= self.scan.rounds}
        )

    def _correlated_with(self, rounds: Sequence[int]) -> list[int]:
        """Return other rounds with messages correlated with those of some: noise of both would cancel."""
        runs, count, p = self.ranks.shape
        these = [t - 1 for t in rounds]
        told = self.ranks[:, these].reshape(runs, -1).T @ self.ranks.reshape(runs, -1) / np.sqrt(runs)
        scores = np.abs(told).reshape(-1, count, p).max(axis=(0, 2))
        scores[these] = 0.0
        best = np.argsort(-scores, kind="stable")[: _SIZE.later]
        return [int(t) + 1 for t in best if scores[t] > _SIZE.correlated]

    def _play_pair(self, tables: NeighbouringTables, runs: int) -> BanditView | None:
        """Play a pair, and return its view; None if nothing varies, or no message is seen."""
        record = tables.record
        rounds = [t for t in self._rounds_read(record) if t <= tables.rounds]
        hidden = self.view.hides_own_action
        kept = {t for number in rounds for t in (number - 1, number)} - {0}
        if self.view is View.OTHER_MESSAGES:
            kept.discard(record)
        rounds = [t for t in rounds if t in kept]
        if not rounds:
            return None
        worlds = [
            messages_by_round(self.bandit, table, runs, self.player.seed, kept)[1]
            for table in (tables.table, tables.neighbour)
        ]
        read = [(t, layout) for t in rounds for layout in layouts_of_round(t, worlds)]
        space = self.bandit.action_space
        seen = [[sample_of_round(t, layout, each) for each in worlds] for t, layout in read]
        final = float(self.player.planned.draws(np.array([tables.rounds]))[0])
        bounds = [self._bounds(first.values, second.values, final) for first, second in seen]
        # Columns beyond the most are left out, those with the smallest bounds.
        every = np.concatenate(bounds)
        least = np.sort(every)[::-1][min(len(every), _SIZE.columns) - 1]
        read = [
            (t, layout.without([i for i, bound in enumerate(own) if bound < least]))
            for (t, layout), own in zip(read, bounds, strict=True)
        ]
        predicted = max(float(every.max()), self._joint_bound(seen, final))
        if predicted == -np.inf:
            return None
        features = first_actions(min(tables.rounds, record + _SIZE.after), space, first=record + int(hidden))
        pair = ViewPair(
            tables.table, tables.neighbour, record, tables.unchanged_rounds, tuple(features), predicted
        )
        telling = [(t, layout) for t, layout in read if layout.columns]
        return BanditView(pair, *map(tuple, zip(*telling, strict=True)))

    def _bounds(self, first: FloatArray, second: FloatArray, final: float) -> FloatArray:
        """Return the predicted bound of each column of two worlds."""
        values = fill_absent(np.concatenate([first, second]))
        world = np.arange(len(values))[:, np.newaxis] < len(first)
        which = np.repeat(world, values.shape[1], axis=1)
        return _column_bounds(values, which, np.full(values.shape[1], final), self.player.planned.delta)

    def _joint_bound(self, seen: Sequence[Sequence[ViewSample]], final: float) -> float:
        """Return the predicted bound of all columns: of the sum of their ranks, with weights from half of the runs."""
        both = [np.hstack([each[world].values for each in seen]) for world in (0, 1)]
        ranks = _ranks(fill_absent(np.concatenate(both)))
        world, fit = np.arange(len(ranks)) < len(both[0]), np.arange(len(ranks)) % 2 == 0
        weights = ranks[world & fit].mean(axis=0) - ranks[~world & fit].mean(axis=0)
        score, of_score = (ranks @ weights)[~fit, np.newaxis], world[~fit, np.newaxis]
        return float(_column_bounds(score, of_score, np.array([final]), self.player.planned.delta)[0])


def _column_bounds(values: FloatArray, which: BoolArray, final: FloatArray, delta: float) -> FloatArray:
    """Return the lower bound on epsilon that each column's best event predicts of a test.

    Events are half-lines, and single values where there are few.

    Parameters
    ----------
    values
        The values of every run, shape (runs, columns).
    which
        The runs of the one world, for each column; the same shape.
    final
        Draws of one world that the test of a column will have.
    delta
        The delta of the claim.
    """
    step = max(_SIZE.rows // len(values), 1)
    some = (slice(at, at + step) for at in range(0, values.shape[1], step))
    return np.concatenate([_some_bounds(values[:, at], which[:, at], final[at], delta) for at in some])


def _some_bounds(values: FloatArray, which: BoolArray, final: FloatArray, delta: float) -> FloatArray:
    """Return the same for as many columns as are sorted at once."""
    order = np.argsort(values, axis=0, kind="stable")
    ranked = np.take_along_axis(values, order, axis=0)
    first = np.take_along_axis(which, order, axis=0)
    a, b = np.cumsum(first, axis=0), np.cumsum(~first, axis=0)
    ends = ranked[1:] != ranked[:-1]  # a half-line ends between different values
    totals = a[-1], b[-1]
    best = np.full(values.shape[1], -np.inf)
    for p, q in ((a[:-1], b[:-1]), (totals[0] - a[:-1], totals[1] - b[:-1])):
        for bound in _both_ways(p, q, totals, final, delta):
            best = np.maximum(best, np.where(ends, bound, -np.inf).max(axis=0, initial=-np.inf))
    for column in np.flatnonzero((ends.sum(axis=0) > 1) & (ends.sum(axis=0) < _SIZE.few_values)):
        last = np.append(np.flatnonzero(ends[:, column]), len(values) - 1)
        p, q = (np.diff(each[last, column], prepend=0) for each in (a, b))
        these = totals[0][column], totals[1][column]
        best[column] = max(
            best[column], *(each.max() for each in _both_ways(p, q, these, final[column], delta))
        )
    return best


def _both_ways(p: Any, q: Any, totals: tuple[Any, Any], final: Any, delta: float) -> Iterator[FloatArray]:
    """Yield ``ln((p - delta) / q)`` less its standard errors, from hits in two worlds; and that of q and p."""
    shares = (p + 0.5) / (totals[0] + 1.0), (q + 0.5) / (totals[1] + 1.0)
    error = _SIZE.caution * np.sqrt(1.0 / (p + 0.5) + 1.0 / (q + 0.5))
    error = error + STANDARD_ERRORS * np.sqrt((1.0 / shares[0] + 1.0 / shares[1]) / final)
    with np.errstate(invalid="ignore", divide="ignore"):
        for likely, rare in (shares, shares[::-1]):
            yield np.where(likely > delta, np.log(np.maximum(likely - delta, 0.0) / rare), -np.inf) - error


def _ranks(values: FloatArray) -> FloatArray:
    """Return the standardized ranks of every column; equal values have one rank."""
    return _standard(scipy.stats.rankdata(values, method="dense", axis=0) - 1.0)


def _standard(values: FloatArray) -> FloatArray:
    """Return columns with mean 0 and standard deviation 1; those that never vary are 0."""
    spread = values.std(axis=0)
    standard: FloatArray = (values - values.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return standard
