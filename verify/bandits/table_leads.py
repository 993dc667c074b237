"""Which pairs of neighbouring reward tables tell most of a bandit in plain Python: games, and walks.

Games meet in heats: many on few pairs of runs, the best of them and mutants of theirs on more, and again, since what is
found in few runs is mostly luck; runs are kept from heat to heat. How many there are follows from what a run costs
(`verify.bandits.call_cost`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from algorithms.claim import Claim
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.game_scan import GameScan
from verify.bandits.paired_scan import Promise
from verify.bandits.played_game import PlayedGame
from verify.bandits.reward_games import Game, first_games, mutants
from verify.conduct.effort import Effort
from verify.transcripts.table_bisection import anchor_tables, bisect_tables
from verify.transcripts.view_pair import ViewPair

# What promises more than so many times the claim, and than so much above it, is no near thing.
_GROSS, _GROSS_ABOVE = 3.0, 2.0

_FEWEST_ROUNDS, _MOST_ROUNDS = 32, 512  # of the first games
# Rounds of the tables between which walks go: longer ones if the shorter tell nothing.
_WALK_ROUNDS = (512, 4_096, 32_768)
# Of walks: units for each lane-round of the effort, the fewest and most draws of a table, and how many.
_ANCHOR_UNITS, _ANCHOR_DRAWS = 1.0 / 6.0, (8, 128)
_WALK_UNITS, _WALKS = 2.0, 3

# Pairs for every arm of the changed round in a first heat; runs for each of them, of which some arms have few; of
# families of few games, fewer.
_FEWEST_PAIRS = 6
_RUNS_PER_PAIR, _RUNS_OF_SMALL, _RUNS_LATER, _SMALL = 32, 8, 4, 4
_LEADS = 3
_ENOUGH_IF_GROSS = 8  # entries of the heats that are left out if much is promised


@dataclass(frozen=True)
class _Heat:
    """How a heat is held.

    Attributes
    ----------
    units
        That may be spent for each lane-round of the effort.
    most
        Pairs for each arm, at most.
    caution
        Standard errors that are taken off every promise. Few at first: what a rare event promises is not known yet.
    enter
        Games that go on from the heat before.
    longer
        Games are cut to so many times the rounds that their best event takes.
    parents, children
        Games that get mutants, and how many each.
    whole
        Whether every run gets a partner, and features of all kinds are looked at.
    """

    units: float
    most: int
    caution: float
    enter: int = 0
    longer: float = 1.0
    parents: int = 0
    children: int = 0
    whole: bool = False


_FIRST_HEAT = _Heat(2.0, 64, 0.5)
_OFTEN = _Heat(2.0, 256, 0.5)  # of games that told nothing on few pairs
_HEATS = (
    _Heat(1.5, 256, 0.75, enter=24, longer=4.0),
    _Heat(1.5, 512, 1.0, enter=12, longer=2.0, parents=4, children=4),
    _Heat(1.5, 2_048, 1.5, enter=8, whole=True),
    _Heat(1.5, 8_192, 1.5, enter=_LEADS, whole=True),
)

_Entry = tuple[Promise, PlayedGame]


def table_leads(
    bandit: PlainBandit, claim: Claim, effort: Effort, seed: np.random.SeedSequence
) -> list[ViewPair]:
    """Return the most telling pairs of tables, the best first; none if the actions never vary.

    Parameters
    ----------
    bandit, claim
        The bandit, and what it is held to.
    effort
        How much work.
    seed
        Of all randomness.

    Raises
    ------
    BanditError
        If the bandit cannot be called as it was said, or does not return arms.
    """
    rng = np.random.default_rng(_child(seed, 0))
    scan = GameScan(bandit, claim, effort, _child(seed, 1))
    games = _affordable_games(scan, rng)
    scan.keep_families(games)
    entries = _first_heat(scan, games)
    late: list[Game] = []
    for number, longest in enumerate(_WALK_ROUNDS):
        longest = min(bandit.rounds, longest)
        walked = _walked(scan, longest, rng, _child(seed, 5, number))
        late += walked
        runs = [_RUNS_LATER * _FEWEST_PAIRS] * len(walked)
        entries += _judged(scan, scan.begin(walked, runs, _FEWEST_PAIRS), _FIRST_HEAT)
        if longest == bandit.rounds or any(promise.epsilon > 0.0 for promise, _ in entries):
            break
    if not entries:  # perhaps what a change does is seen too rarely, or too late, for a first heat
        late.append(_played_to_the_end(scan, games[0]))
        entries = _judged(scan, _played_often(scan, late), _FIRST_HEAT)
    for heat in _HEATS:
        entries = _best_of(entries, heat.enter)
        if heat.enter <= _ENOUGH_IF_GROSS and entries and _gross(entries[0][0].epsilon, claim):
            break
        entries = _heated(scan, heat, entries, rng) or entries
    found = [_whole(scan, promise, played) for promise, played in entries[:_LEADS]]
    if not entries:  # no change of a round changes anything: whichever game there is, if actions vary at all
        (played,) = scan.begin(late[-1:], [_FEWEST_PAIRS * _RUNS_LATER], _FEWEST_PAIRS)
        found = [scan.lead(scan.go_on(played, len(played.runs), None), played.changes()[0])]
    return sorted((lead for lead in found if lead is not None), key=lambda lead: -lead.predicted)


def _whole(scan: GameScan, promise: Promise, played: PlayedGame) -> ViewPair | None:
    """Return a game's lead, after all runs that the change may touch got their partners."""
    arm = None if promise.change.swapped else promise.change.arm
    return scan.lead(scan.go_on(played, len(played.runs), None, arm), promise.change)


def is_gross(lead: ViewPair, claim: Claim) -> bool:
    """Whether a lead promises so much that few draws will do."""
    return _gross(lead.predicted, claim)


def _gross(promised: float, claim: Claim) -> bool:
    return promised > max(_GROSS * claim.epsilon, claim.epsilon + _GROSS_ABOVE)


def _affordable_games(scan: GameScan, rng: np.random.Generator) -> list[Game]:
    """Return first games of as many rounds as the fewest pairs of runs can be played of, and not of fewer than 32."""
    bandit, state = scan.bandit, rng.bit_generator.state
    rounds = min(bandit.rounds, _MOST_ROUNDS)
    while True:
        rng.bit_generator.state = state
        games = first_games(bandit.records, rounds, rng)
        if (
            rounds <= _FEWEST_ROUNDS
            or scan.affordable(_FIRST_HEAT.units, _rounds_of(scan, games)) >= _FEWEST_PAIRS
        ):
            return games
        rounds = max(rounds // 2, _FEWEST_ROUNDS)


def _played_to_the_end(scan: GameScan, game: Game) -> Game:
    """Return a game of equal rows with all of the bandit's rounds."""
    table = np.tile(game.table[0], (scan.bandit.rounds + 1, 1))
    return replace(game, table=table, family=-1)


def _played_often(scan: GameScan, games: Sequence[Game]) -> list[PlayedGame]:
    """Play games that told nothing on few pairs of runs on as many as a heat affords."""
    each = _RUNS_LATER + _partners(scan)
    pairs = _pairs(scan, _OFTEN, sum(each * game.rounds for game in games))
    return scan.begin(games, [_RUNS_LATER * pairs] * len(games), pairs)


def _family_runs(games: Sequence[Game]) -> dict[int, int]:
    """Return how many runs each family has for a pair of each arm."""
    sizes = Counter(game.family for game in games)
    return {family: _RUNS_PER_PAIR if size > _SMALL else _RUNS_OF_SMALL for family, size in sizes.items()}


def _rounds_of(scan: GameScan, games: Sequence[Game]) -> int:
    """Return how many rounds first games take for a pair of each arm."""
    runs = _family_runs(games)
    longest: dict[int, int] = {}
    for game in games:
        longest[game.family] = max(longest.get(game.family, 0), game.rounds)
    rounds = sum(runs[family] * rounds for family, rounds in longest.items())
    return rounds + _partners(scan) * sum(game.rounds for game in games)


def _first_heat(scan: GameScan, games: Sequence[Game]) -> list[_Entry]:
    """Play all first games."""
    runs, pairs = _family_runs(games), _pairs(scan, _FIRST_HEAT, _rounds_of(scan, games))
    return _judged(scan, scan.begin(games, [runs[game.family] * pairs for game in games], pairs), _FIRST_HEAT)


def _heated(scan: GameScan, heat: _Heat, entries: Sequence[_Entry], rng: np.random.Generator) -> list[_Entry]:
    """Hold a heat: play more of the games that entered it, and some of their mutants."""
    entered = []
    for promise, played in entries:
        longest = max(int(heat.longer * promise.rounds), played.game.record + 1)
        entered.append((promise, played.cut(longest)))
    children = [
        child
        for _, parent in entered[: heat.parents]
        for child in itertools.islice(mutants(parent.game, scan.bandit.records, rng), heat.children)
    ]
    each = _RUNS_LATER + _partners(scan)
    rounds = [each * game.rounds for game in (*(played.game for _, played in entered), *children)]
    affordable = np.searchsorted(np.cumsum(rounds), scan.affordable(heat.units, 1.0) / _FEWEST_PAIRS, "right")
    kept = max(int(affordable), 1)  # of long games the best alone
    entered, children = entered[:kept], children[: max(kept - len(entered), 0)]
    pairs = _pairs(scan, heat, sum(rounds[:kept]))
    runs = _RUNS_LATER * pairs
    if not heat.whole:
        again = [scan.go_on(played, runs, pairs) for _, played in entered]
        return _judged(scan, [*again, *scan.begin(children, [runs] * len(children), pairs)], heat)
    found = []
    for promise, played in entered:
        arm = None if promise.change.swapped else promise.change.arm
        more = scan.go_on(played, runs, None, arm)
        lead = scan.lead(more, promise.change)
        if lead is not None:
            found.append((replace(promise, epsilon=lead.predicted, rounds=lead.rounds), more))
    return found


def _judged(scan: GameScan, played: Sequence[PlayedGame], heat: _Heat) -> list[_Entry]:
    """Return what games promise, without those on which no run differs."""
    promises = [(scan.promise(each, heat.caution), each) for each in played]
    return [(promise, each) for promise, each in promises if promise is not None]


def _best_of(entries: Sequence[_Entry], most: int) -> list[_Entry]:
    """Return the most promising games; of those that promise the very same, whose runs are the same, the first."""
    found: list[_Entry] = []
    seen: set[tuple[float, float, int]] = set()
    for promise, played in sorted(entries, key=lambda entry: -entry[0].epsilon):
        same = promise.epsilon, promise.share, promise.rounds
        if same not in seen:
            seen.add(same)
            found.append((promise, played))
    return found[:most]


def _pairs(scan: GameScan, heat: _Heat, rounds: float) -> int:
    """Return how many pairs for each arm a heat has, if one pair of all its games takes so many rounds."""
    return int(min(max(scan.affordable(heat.units, rounds), _FEWEST_PAIRS), heat.most))


def _partners(scan: GameScan) -> int:
    """Return for how many arms of a round there are partners, about."""
    return min(scan.bandit.arms, 3)


def _walked(
    scan: GameScan, rounds: int, rng: np.random.Generator, seed: np.random.SeedSequence
) -> list[Game]:
    """Return what walks between tables of so many rounds find; there are none where contexts are private."""
    records = scan.bandit.records
    if records.private:
        return []
    tables = anchor_tables(scan.bandit.record_domain, rounds, rng)
    fewest, most = _ANCHOR_DRAWS
    draws = int(min(max(scan.affordable(_ANCHOR_UNITS, len(tables) * rounds), fewest), most))
    looks = 2 + rounds.bit_length()
    walks = int(scan.affordable(_WALK_UNITS, draws * looks * rounds))
    found = bisect_tables(
        scan.bandit.actions,
        tables,
        scan.bandit.action_space,
        draws=draws,
        seed=seed,
        most=min(max(walks, 1), _WALKS),
    )
    return [
        Game(each.data, each.neighbours[0].record, each.neighbours[0].value, records.arms, each.others)
        for each in found
    ]


def _child(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))
