"""A screen of all rounds at once, in runs with rewards changed by coins: rounds on which later actions depend.

In a screened run all rounds pay alike, but a coin of its own changes each round with probability 1/8. If a bandit is
(epsilon, delta)-private for one changed round, then for every event E of the actions and every round u,
``P(E | u changed) <= e^epsilon P(E | u unchanged) + delta``: condition on the other rounds, which are independent of
u's coin, and average. So one batch of runs compares the two for every round, for any generator of a bandit.

The screen only proposes: a proposed pair of tables is tested on fresh draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mechanisms.arrays import BoolArray, FloatArray, IntArray
from mechanisms.numerics.printed_numbers import percent
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.neighbouring_tables import NeighbouringTables
from verify.bandits.paired_events import view_pair_of
from verify.bandits.paired_runs import PairedPlayer
from verify.findings.finding import Finding, Statement
from verify.transcripts.action_features import ActionFeature, PlayCount, first_actions, without_repeats
from verify.transcripts.transcript import ActionArray, Transcript
from verify.transcripts.view_pair import ViewPair


@dataclass(frozen=True, kw_only=True)
class _ScreenSize:
    """Limits of the screen; the values were chosen by hand on the subjects of `tests/verify/bandits/late_rounds.py`.

    Attributes
    ----------
    changed
        Probability of a coin: small, as the effect of two rounds together shows if the others are unchanged.
    units
        Units for each lane-round of the effort.
    runs, run_rounds
        The fewest and the most runs; rounds of all runs together beyond which there are fewer.
    fewest_rounds
        The fewest rounds that are screened, at any cost.
    alternatives
        Rows that a round is changed to.
    near, near_caution, far_caution
        Standard errors that are taken off the log-ratios of actions up to `near` rounds later, and of later ones,
        which are many.
    kept
        Rounds that are proposed at most.
    pair_units, pairs
        Units for each lane-round of the effort, and the fewest and most runs, on a proposed pair.
    entries
        Log-ratios that are held at once.
    """

    changed: float = 0.125
    units: float = 4.0
    runs: tuple[int, int] = (64, 512)
    run_rounds: int = 200_000
    fewest_rounds: int = 16
    alternatives: int = 2
    near: int = 8
    near_caution: float = 2.5
    far_caution: float = 4.0
    kept: int = 3
    pair_units: float = 1.0
    pairs: tuple[int, int] = (32, 512)
    entries: int = 1 << 20


_SIZE = _ScreenSize()


@dataclass(frozen=True, eq=False)
class _Proposal:
    """A round on which later actions seem to depend; it ranks by the cautious log-ratio of the best event."""

    score: float
    tables: NeighbouringTables
    features: tuple[ActionFeature, ...]


@dataclass(frozen=True, eq=False)
class CoinScreen:
    """The pairs of tables that a screen proposes, and the rounds that it changed.

    Attributes
    ----------
    pairs
        The proposed pairs, the best first.
    rounds, runs
        The rounds that were changed, the first so many; and the number of runs.
    settings
        Number of pairs of rows that share the runs.
    """

    pairs: list[ViewPair]
    rounds: int
    runs: int
    settings: int

    def finding(self, played: Sequence[int], rounds: int) -> Finding:
        """Return the finding on the changed rounds, and on the first `rounds` ones that tests play.

        It states, on average, the least detectable factor between the probabilities of an action, one of them 1/2, and
        the probability of an event that two changed runs on a pair of rows show: one run is no evidence.
        """
        every = self.runs / self.settings
        changed = _SIZE.changed * every
        error = np.sqrt(1.0 / changed + 1.0 / (every - changed))
        beyond = f"; rewards of rounds {self.rounds + 1:,} to {rounds:,} were not changed"
        return Statement.ROUNDS_LOOKED_AT.finding(
            last=f"{min(self.rounds, rounds):,}",
            changed=f"{round(_SIZE.changed * self.runs):,}",
            draws=self.runs,
            played=", ".join(dict.fromkeys(f"rounds 1 to {min(last, rounds):,}" for last in played)),
            factor=f"{np.exp(_SIZE.near_caution * error):.2g}",
            share=percent(2.0 / changed),
            beyond=beyond if self.rounds < rounds else "",
        )


def screen_rounds(bandit: PlainBandit, player: PairedPlayer, seed: np.random.SeedSequence) -> CoinScreen:
    """Change all rounds by coins; return the pairs of the most distinguishing rounds.

    Parameters
    ----------
    bandit, player
        The bandit, and its player on proposed pairs.
    seed
        The seed of all randomness.
    """
    records = bandit.records
    settings = [
        (base, row)
        for base in records.points()[:2]
        for row in records.alternatives(base)[: _SIZE.alternatives]
    ]
    fewest, most = _SIZE.runs
    affordable = min(player.affordable(_SIZE.units, 1.0), _SIZE.run_rounds)
    runs = int(min(max(affordable / bandit.places, fewest), most))
    rounds = int(min(bandit.places, max(affordable / runs, _SIZE.fewest_rounds)))
    rng = np.random.default_rng(seed.spawn(1)[0])
    found: list[_Proposal] = []
    for base, row, child in zip(*zip(*settings, strict=True), seed.spawn(len(settings)), strict=True):
        changed = rng.random((runs // len(settings), rounds + 1)) < _SIZE.changed
        tables = np.where(changed[:, :, np.newaxis], row, base)
        actions = bandit.actions(tables, len(tables), child)[:, :, 0]
        found += _proposals(bandit, actions, changed[:, 1:], base, row, player.planned.hidden)
    best: dict[int, _Proposal] = {}
    for each in sorted(found, key=lambda proposal: -proposal.score):
        best.setdefault(each.tables.record, each)
    proposals = list(best.values())[: _SIZE.kept]
    pairs = [pair for each in proposals if (pair := _play_proposal(bandit, player, each)) is not None]
    return CoinScreen(sorted(pairs, key=lambda pair: -pair.predicted), rounds, runs, len(settings))


def _proposals(
    bandit: PlainBandit,
    actions: ActionArray,
    changed: BoolArray,
    base: FloatArray,
    row: FloatArray,
    hidden: bool,
) -> Iterator[_Proposal]:
    """Yield the rounds on which later actions seem to depend, each with its best event, from runs on one setting."""
    rounds, space = actions.shape[1], bandit.action_space
    scores = _Scores(changed)
    for arm in range(space.arms):
        played = actions == arm
        scores.compare_later(played)
        scores.compare_counts(played, arm)
    if not hidden:  # the own action is seen, and others may be compared with it
        for lag in range(1, min(_SIZE.near, rounds - 1) + 1):
            for step in range(space.arms):
                scores.compare_near((actions[:, lag:] - actions[:, :-lag] - step) % space.arms == 0, lag)
    for u in np.flatnonzero(scores.best > 0.0).tolist():
        record, last, counted = u + 1, int(scores.last[u]) + 1, int(scores.counted[u])
        own = [] if hidden else first_actions(record, space, first=record)
        later: list[ActionFeature] = (
            [PlayCount(counted, record + 1, last)] if counted >= 0 else first_actions(last, space, first=last)
        )
        table = np.tile(base, (last + 1, 1))
        tables = NeighbouringTables(table, record, row, bandit.arms)
        yield _Proposal(float(scores.best[u]), tables, (*later, *own))


class _Scores:
    """The best event of every round: its cautious log-ratio, its last round, and the arm if it counts plays.

    Parameters
    ----------
    changed
        The coins; shape (runs, rounds).

    Attributes
    ----------
    best
        The largest log-ratio of each round; shape (rounds,).
    last
        The last round of its event, from 0; shape (rounds,).
    counted
        The arm of which plays are counted, -1 if an action is compared as it is; shape (rounds,).
    """

    def __init__(self, changed: BoolArray) -> None:
        self.rounds = changed.shape[1]
        self.coins = changed.astype(np.float32)
        self.ones = changed.sum(axis=0)
        self.zeros = len(changed) - self.ones
        self.best = np.full(self.rounds, -np.inf)
        self.last = np.zeros(self.rounds, dtype=np.int64)
        self.counted = np.full(self.rounds, -1)

    def compare_later(self, event: BoolArray) -> None:
        """Compare the event of each round, given the coin of every earlier one; shape (runs, rounds)."""
        every, total = event.astype(np.float32), event.sum(axis=0)
        step = max(_SIZE.entries // self.rounds, 1)
        for at in range(0, self.rounds, step):
            u = np.arange(at, min(at + step, self.rounds))[:, np.newaxis]
            hits = self.coins[:, at : at + step].T @ every
            gap = np.arange(self.rounds) - u
            caution = np.where(gap <= _SIZE.near, _SIZE.near_caution, _SIZE.far_caution)
            scores = self._log_ratios(hits, total - hits, u, caution)
            scores[gap <= 0] = -np.inf
            later = scores.argmax(axis=1)
            self._keep(u[:, 0], scores[np.arange(len(u)), later], later, -1)

    def compare_near(self, event: BoolArray, lag: int) -> None:
        """Compare an event of each round and of the one so many rounds later; shape (runs, rounds - lag)."""
        self._compare(event, np.arange(event.shape[1]) + lag, _SIZE.near_caution, -1)

    def compare_counts(self, played: BoolArray, arm: int) -> None:
        """Compare the event that the arm is played more often than its median in all rounds after each."""
        later = np.cumsum(played[:, :0:-1], axis=1)[:, ::-1]  # in rounds u + 1, ..
        last = np.full(self.rounds - 1, self.rounds - 1)
        self._compare(later > np.median(later, axis=0), last, _SIZE.far_caution, arm)

    def _compare(self, event: BoolArray, last: IntArray, caution: float, counted: int) -> None:
        """Compare an event of each of the first rounds, given the round's coin; shape (runs, rounds)."""
        u = np.arange(event.shape[1])
        hits = (self.coins[:, u] * event).sum(axis=0)
        self._keep(u, self._log_ratios(hits, event.sum(axis=0) - hits, u, caution), last, counted)

    def _log_ratios(self, ones: Any, zeros: Any, u: IntArray, caution: FloatArray | float) -> FloatArray:
        """Return the larger log-ratio of an event and of its complement, less standard errors."""
        n, m = self.ones[u], self.zeros[u]

        def score(a: Any, b: Any) -> FloatArray:
            p, q = (a + 0.5) / (n + 1.0), (b + 0.5) / (m + 1.0)
            error = np.sqrt((1.0 - p) / (n * p + 0.5) + (1.0 - q) / (m * q + 0.5))
            return np.asarray(np.abs(np.log(p / q)) - caution * error)

        return np.maximum(score(ones, zeros), score(n - ones, m - zeros))

    def _keep(self, u: IntArray, scores: FloatArray, last: IntArray, counted: int) -> None:
        better = scores > self.best[u]
        at = u[better]
        self.best[at], self.last[at], self.counted[at] = scores[better], last[better], counted


def _play_proposal(bandit: PlainBandit, player: PairedPlayer, proposal: _Proposal) -> ViewPair | None:
    """Play a proposed pair; None if no action varies. The screen's log-ratio counts as far as fresh runs confirm it."""
    tables = proposal.tables
    runs = player.runs(_SIZE.pair_units, 2.0 * tables.rounds, _SIZE.pairs)
    played = player.play(tables, runs, None)
    change = played.changes()[0]
    pair = view_pair_of(played, change, bandit.action_space, player.planned, caution=_SIZE.near_caution)
    if pair is None:
        return None
    shown = _log_ratio_again(proposal, played.worlds(change), bandit.action_space.arms)
    return replace(
        pair,
        data=tables.table,
        data_prime=tables.neighbour,
        features=without_repeats([*proposal.features, *pair.features]),
        predicted=max(pair.predicted, min(proposal.score, shown)),
    )


def _log_ratio_again(proposal: _Proposal, worlds: Sequence[ActionArray], arms: int) -> float:
    """Return the largest cautious log-ratio of a proposal's events in fresh runs: the best of many is often chance."""
    n, both = len(worlds[0]), Transcript(np.concatenate(worlds))
    later, *own = [feature.values(both) for feature in proposal.features]
    if isinstance(proposal.features[0], PlayCount):
        later = (later > np.median(later)).astype(np.int64)
    labels = [later, *(each for first in own for each in (later * arms + first, (later - first) % arms))]
    changed = np.arange(2 * n)[:, np.newaxis] < n
    scores = _Scores(changed)
    for each in labels:
        for value in np.unique(each).tolist():
            scores.compare_near(np.stack([each == value], axis=1), 0)
    return float(scores.best[0])
