"""Games to play a bandit on: a reward table, and one round whose rewards differ in its neighbour.

What one reward changes shows where the lead hangs on it. So the first games have others' rewards that leave arms level
(all pay the same; two of many pay best), that put one arm clearly ahead before the changed round, or that pay the same
for ever after it, so that nothing covers its trace. Their mutants differ in the changed round, or in what some arms
pay in a stretch of rounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from verify.bandits.calling.bandit_records import BanditRecords
from verify.transcripts.neighbours import describe_record

_FEWEST_ROUNDS, _ROUNDS_PER_ARM, _TIMES_LATER = 32, 8, 4
_ALTERNATIVES = 2  # to a row, that first games have
_PLAYED_OUT = 3  # tables on which games of early rounds are played to the end, too
_MOVED = 0.3  # share of mutants in which another round is changed
_SEARCHED = "the records of all others were found by a search"
_MOST_RUNS = 12  # stretches of equal rows that are said in words


@dataclass(frozen=True, eq=False)
class Game:
    """A reward table and the round to be changed.

    Attributes
    ----------
    table
        Rows 0 .. rounds, shape (rounds + 1, places); row 0 is not used.
    record
        The round, counted from 1.
    row
        What the round's row is replaced by.
    arms
        How many entries of a row are rewards; the others are the round's private context.
    words
        How the table came about, if its rows are not plain to say; "" if they are.
    family
        Tables of one family, from 0, are beginnings of one another; -1: of none.
    """

    table: FloatArray
    record: int
    row: FloatArray
    arms: int
    words: str = ""
    family: int = -1

    @property
    def rounds(self) -> int:
        """How many rounds are played."""
        return len(self.table) - 1

    @property
    def changed(self) -> FloatArray:
        """The table with the round's row replaced."""
        table = self.table.copy()
        table[self.record] = self.row
        return table

    @property
    def others(self) -> str:
        """All rounds but the changed one, in words."""
        return rows_in_words(self.table, self.record, self.arms) or self.words


def records_to_change(rounds: int, arms: int) -> list[int]:
    """Return the rounds that are changed first: 2^k and 3 · 2^k, and those after every arm was played once or twice."""
    grid = [base * 2**k for k in range(rounds.bit_length()) for base in (1, 3)]
    turns = [arms + 1, arms + 2, 2 * arms, 2 * arms + 1]
    return sorted({each for each in (*grid, *turns) if each <= rounds})


def first_games(records: BanditRecords, rounds: int, rng: np.random.Generator) -> list[Game]:
    """Return the games to begin with, those of one table in a row.

    Parameters
    ----------
    records
        What a row can be.
    rounds
        Of the bandit.
    rng
        Draws one table by a fair coin.
    """
    points = records.points()
    changed = records_to_change(rounds, records.arms)
    tables = [(np.tile(point, (rounds + 1, 1)), "", changed) for point in [*points, *records.middle()]]
    drawn = "the records of all others were drawn once by a fair coin"
    tables.append((records.coins(rounds, rng), drawn, changed))
    lowest, highest, ahead = points[:3]
    steered = [(ahead, lowest), (ahead, highest), (lowest, highest), (highest, lowest)]
    if records.arms > 2:
        steered.append((points[5], lowest))
    for turn in _turns(rounds):
        near = [record for record in changed if turn / 2 < record <= turn] + [turn + 1]
        tables += [(_spliced(before, after, turn, rounds), "", near) for before, after in steered]
    found = []
    for family, (table, words, its) in enumerate(tables):
        for number, record in enumerate(its):
            found += _games_of(table, record, records, words, family, number)
            early = record in (1, records.arms + 1) and game_rounds(record, rounds, records.arms) < rounds
            if early and family < _PLAYED_OUT:  # weights, once moved, may stay so for ever
                row = records.alternatives(table[record])[0]
                found.append(Game(table, record, row, records.arms, words, family))
    return found


def _games_of(
    table: FloatArray, record: int, records: BanditRecords, words: str, family: int, number: int
) -> list[Game]:
    """Return the games of a table and a round: two of the rows that the round's is replaced by, in turn."""
    table = table[: game_rounds(record, len(table) - 1, records.arms) + 1]
    rows = records.alternatives(table[record])
    chosen = {(2 * number + k) % len(rows) for k in range(_ALTERNATIVES)}
    return [Game(table, record, rows[k], records.arms, words, family) for k in sorted(chosen)]


def _turns(rounds: int) -> list[int]:
    """Return rounds after which rewards change for good: a quarter, a half."""
    return sorted({turn for turn in (rounds // 4, rounds // 2) if 1 <= turn < rounds})


def game_rounds(record: int, rounds: int, arms: int) -> int:
    """Return how many rounds of `rounds` a game is played at first: long enough to see what the change does."""
    return min(rounds, max(_FEWEST_ROUNDS, _ROUNDS_PER_ARM * arms, _TIMES_LATER * record))


def mutants(game: Game, records: BanditRecords, rng: np.random.Generator) -> Iterator[Game]:
    """Yield games that differ a little, for ever.

    Either another round near it is changed, or what one arm or all pay in a stretch of rounds: before the change, after
    it, all of them, or from one doubling time to the next.
    """
    while True:
        table, record = game.table, game.record
        if rng.random() < _MOVED:
            record = _moved(record, game.rounds, rng)
        else:
            first, last = _stretch(record, game.rounds, rng)
            table = records.changed_stretch(table, first, last, rng)
            if first != 1 or last != game.rounds:
                table[record] = game.table[record]
        if record == game.record and np.array_equal(table, game.table):
            continue
        rows = records.alternatives(table[record])
        yield Game(table, record, rows[rng.integers(len(rows))], game.arms, _SEARCHED)


def row_in_words(row: FloatArray, arms: int) -> str:
    """Say the rewards of a row and its context, if it has one."""
    said = describe_record(row[:arms])
    if row.size == arms:
        return said
    return f"{said} and the context ({', '.join(f'{value:.3g}' for value in row[arms:].tolist())})"


def rows_in_words(table: FloatArray, record: int, arms: int) -> str:
    """Say the rows of a table but that of one record; "" if that takes too many words."""
    rows = [number for number in range(1, len(table)) if number != record]
    runs = []
    for _, group in itertools.groupby(rows, key=lambda number: table[number].tobytes()):
        stretch = list(group)
        runs.append((stretch[0], stretch[-1], table[stretch[0]]))
    if len(runs) == 1:
        return f"all other users have {row_in_words(runs[0][2], arms)}"
    if len(runs) > _MOST_RUNS:
        return ""
    said = [
        f"{_rounds_in_words(first, last)} {'has' if first == last else 'have'} {row_in_words(row, arms)}"
        for first, last, row in runs
    ]
    return "of the other users, " + "; ".join(said)


def _rounds_in_words(first: int, last: int) -> str:
    return f"that of round {first}" if first == last else f"those of rounds {first} to {last}"


def _spliced(before: FloatArray, after: FloatArray, record: int, rounds: int) -> FloatArray:
    """Return a table with one row up to a round, and another after it."""
    table = np.tile(after, (rounds + 1, 1))
    table[: record + 1] = before
    return table


def _moved(record: int, rounds: int, rng: np.random.Generator) -> int:
    """Return another round: next to it, or up to half as far again."""
    most = max(1, record // 2) if rng.random() < 0.5 else 2
    step = int(rng.integers(1, most + 1)) * (1 if rng.random() < 0.5 else -1)
    return min(max(record + step, 1), rounds)


def _stretch(record: int, rounds: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return the first and the last round of a stretch."""
    kind = rng.random()
    if kind < 0.3:
        return 1, max(record - 1, 1)
    if kind < 0.6:
        return min(record + 1, rounds), rounds
    if kind < 0.8:
        return 1, rounds
    first = 2 ** int(rng.integers(rounds.bit_length()))
    return first, min(2 * first - 1, rounds)
