"""Neighbouring reward tables to play a bandit on: a table, and one round with other rewards in its neighbour.

One reward changes actions if the best arm depends on it. So in the first tables the other rewards make arms equal (all
pay the same; two of many pay best), put one arm clearly ahead before the changed round, or are the same in all rounds
after it, so that they do not hide its effect. Their variants differ in the changed round, or in the rewards of some
arms in a stretch of rounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from verify.bandits.calling.bandit_records import BanditRecords
from verify.transcripts.neighbours import describe_record

_ALTERNATIVES = 2  # to a row, in the first tables
_PLAYED_OUT = 3  # tables that are played to the end, too, with an early round changed
_MOVED = 0.3  # share of variants in which another round is changed
_MOST_STRETCHES = 12  # of equal rows, that are described


@dataclass(frozen=True, eq=False)
class NeighbouringTables:
    """A reward table and its neighbour, in which one round is another.

    Attributes
    ----------
    table
        Rows 0 .. rounds, shape (rounds + 1, places); row 0 is not used.
    record
        The changed round, counted from 1.
    row
        Its row in the neighbour.
    arms
        Number of entries of a row that are rewards; the others are the round's private context.
    words
        The origin of the table, if its rows take too many words; "" if not.
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
        """Number of rounds that are played."""
        return len(self.table) - 1

    @property
    def neighbour(self) -> FloatArray:
        """The table with the round's row replaced."""
        table = self.table.copy()
        table[self.record] = self.row
        return table

    @property
    def unchanged_rounds(self) -> str:
        """All rounds but the changed one, in words."""
        return _rows_in_words(self.table, self.record, self.arms) or self.words


def first_tables(records: BanditRecords, rounds: int, rng: np.random.Generator) -> list[NeighbouringTables]:
    """Return the tables to begin with, those of one family in a row.

    Parameters
    ----------
    records
        The possible rows.
    rounds
        The number of rounds of the bandit.
    rng
        The generator that draws one table by a fair coin.
    """
    points = records.points()
    changed = _records_to_change(rounds, records.arms)
    tables = [(np.tile(point, (rounds + 1, 1)), "", changed) for point in [*points, *records.middle()]]
    drawn = "the records of all others were drawn once by a fair coin"
    tables.append((records.coins(rounds, rng), drawn, changed))
    lowest, highest, ahead = (*points, points[1])[:3]  # of one arm all that is best is highest
    turned = [(ahead, lowest), (ahead, highest), (lowest, highest), (highest, lowest)]
    if records.arms > 2:
        turned.append((points[5], lowest))
    turns = sorted({turn for turn in (rounds // 4, rounds // 2) if 1 <= turn < rounds})
    for turn in turns:  # rounds after which rewards change for good
        near = [record for record in changed if turn / 2 < record <= turn] + [turn + 1]
        for before, after in turned:
            table = np.tile(after, (rounds + 1, 1))
            table[: turn + 1] = before
            tables.append((table, "", near))
    found = []
    for family, (table, words, its) in enumerate(tables):
        for number, record in enumerate(its):
            rows = records.alternatives(table[record])
            played = min(rounds, max(32, 8 * records.arms, 4 * record))  # enough for an effect to show
            for k in sorted({(_ALTERNATIVES * number + k) % len(rows) for k in range(_ALTERNATIVES)}):
                short = table[: played + 1]
                found.append(NeighbouringTables(short, record, rows[k], records.arms, words, family))
            early = record in (1, records.arms + 1) and played < rounds
            if early and family < _PLAYED_OUT:  # weights, once moved, may stay so for ever
                found.append(NeighbouringTables(table, record, rows[0], records.arms, words, family))
    return found


def _records_to_change(rounds: int, arms: int) -> list[int]:
    """Return the rounds that are changed first: 2^k and 3 · 2^k, and those after every arm was played once or twice."""
    grid = [base * 2**k for k in range(rounds.bit_length()) for base in (1, 3)]
    turns = [arms + 1, arms + 2, 2 * arms, 2 * arms + 1]
    return sorted({each for each in (*grid, *turns) if each <= rounds})


def variants(
    tables: NeighbouringTables, records: BanditRecords, rng: np.random.Generator
) -> Iterator[NeighbouringTables]:
    """Yield tables that differ a little, for ever.

    Either another round near it is changed, or the rewards of one arm or of all in a stretch of rounds: before the
    change, after it, in all of them, or from one doubling time to the next.
    """
    words = "the records of all others were found by a search"
    while True:
        table, record = tables.table, tables.record
        if rng.random() < _MOVED:
            record = _other_round(record, tables.rounds, rng)
        else:
            first, last = _stretch(record, tables.rounds, rng)
            table = records.changed_stretch(table, first, last, rng)
            if first != 1 or last != tables.rounds:
                table[record] = tables.table[record]
        if record == tables.record and np.array_equal(table, tables.table):
            continue
        rows = records.alternatives(table[record])
        yield NeighbouringTables(table, record, rows[rng.integers(len(rows))], tables.arms, words)


def row_in_words(row: FloatArray, arms: int) -> str:
    """Return the rewards of a row, and its context if it has one, in words."""
    said = describe_record(row[:arms])
    if row.size == arms:
        return said
    return f"{said} and the context ({', '.join(f'{value:.3g}' for value in row[arms:].tolist())})"


def _rows_in_words(table: FloatArray, record: int, arms: int) -> str:
    """Return the rows of a table but that of one record in words; "" if there are too many different ones."""
    numbers = [number for number in range(1, len(table)) if number != record]
    stretches = [
        list(each) for _, each in itertools.groupby(numbers, key=lambda number: table[number].tobytes())
    ]
    if not 1 <= len(stretches) <= _MOST_STRETCHES:
        return ""
    if len(stretches) == 1:
        return f"all other users have {row_in_words(table[numbers[0]], arms)}"
    said = []
    for stretch in stretches:
        first, last = stretch[0], stretch[-1]
        who = f"that of round {first} has" if first == last else f"those of rounds {first} to {last} have"
        said.append(f"{who} {row_in_words(table[first], arms)}")
    return "of the other users, " + "; ".join(said)


def _other_round(record: int, rounds: int, rng: np.random.Generator) -> int:
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
