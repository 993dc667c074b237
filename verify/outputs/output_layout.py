"""The columns of a function's view, fixed once from a few outputs and kept for all draws.

A layout is a function of the output: what it leaves out (entries of a name that was not seen, words at a place where
there were none, most of the entries of a very long list) makes events coarser, never wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column, ViewSample
from verify.outputs.columns import NumberColumns, Seen, key_and_words
from verify.outputs.large_integers import less, low_bits
from verify.outputs.output_readings import Readings
from verify.outputs.spelling import MOST_PLACES, Spelling, spelling_of
from verify.outputs.vocabulary import ANOTHER, code_of, codes_of, labels_of
from verify.outputs.wide_outputs import MOST_COLUMNS, Blocks, blocks_of, most_telling_names
from verify.outputs.words import Words


@dataclass(frozen=True)
class Layout:
    """Which column holds what.

    Attributes
    ----------
    numbers
        Names of the places whose numbers are columns.
    words
        Names of the places whose words are columns.
    codes
        Of the words, the same for all places.
    spellings
        For some places with words, how each word is taken apart into columns.
    orders
        Codes of the orders of a dictionary's keys; None if the same keys always come in the same order.
    shapes
        Codes of the output's shapes, which one column holds, and the next how many entries have a name that is not
        known; None if there is only one shape.
    errors
        Codes of what is raised; None if nothing was.
    columns
        All columns: numbers, words, what words are made of, the low bits of whole numbers, sums of blocks, shape,
        unknown entries, error.
    offsets
        For each of the numbers that is a whole number too large for floats, what is subtracted from it first.
    low
        Names of the places whose whole numbers are too far apart for that: their lowest 12 bits are a column, too.
    blocks
        Places that are looked at only as sums, where there are too many of them.
    places
        Names of all places that were seen.
    """

    numbers: tuple[str, ...]
    words: tuple[str, ...]
    codes: Mapping[str, int]
    spellings: Mapping[str, Spelling]
    orders: Mapping[str, int] | None
    shapes: Mapping[str, int] | None
    errors: Mapping[str, int] | None
    columns: tuple[Column, ...]
    offsets: Mapping[str, int] = field(default_factory=dict)
    low: tuple[str, ...] = ()
    blocks: Blocks = field(default_factory=Blocks)
    places: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many places outputs have."""
        return max(1, len(self.places))

    def sample(self, readings: Readings) -> ViewSample:
        """Return the view that n outputs are, shape (n, columns)."""
        n = len(readings)
        if readings.names == self.numbers and len(self.columns) == len(self.numbers) and not self.offsets:
            return ViewSample(readings.values, self.columns)
        values = np.full((n, len(self.columns)), np.nan)
        places = {name: place for place, name in enumerate(readings.names)}
        known = [(at, places[name]) for at, name in enumerate(self.numbers) if name in places]
        if known:
            columns, sources = map(list, zip(*known, strict=True))
            values[:, columns] = readings.values[:, sources]
        for at, name in enumerate(self.numbers):
            if name in self.offsets and name in places:
                place = places[name]
                values[:, at] = less(readings.values[:, place], readings.whole.get(place), self.offsets[name])
        at = len(self.numbers)
        for name in self.words:
            words = readings.words.get(places.get(name, -1))
            if words is not None:
                other = ANOTHER if name in self.spellings else None
                values[:, at] = _coded(self.codes, words, other)
            at += 1
        for name, spelling in self.spellings.items():
            words = readings.words.get(places.get(name, -1))
            if words is not None:
                values[:, at : at + spelling.width] = spelling.values(words)
            at += spelling.width
        for name in self.low:
            if name in places:
                place = places[name]
                values[:, at] = low_bits(readings.values[:, place], readings.whole.get(place))
            at += 1
        values[:, at : at + len(self.blocks)] = self.blocks.sums(readings)
        at += len(self.blocks)
        if self.orders is not None:
            if readings.orders is not None:
                values[:, at] = _coded(self.orders, readings.orders)
            at += 1
        if self.shapes is not None:
            shapes = readings.shapes if len(readings.shapes) == n else readings.shapes * n
            values[:, at] = [code_of(self.shapes, shape) for shape in shapes]
            values[:, at + 1] = self._unknown(readings)
            at += 2
        if self.errors is not None:
            for i, raised in readings.raised.items():
                values[i, at] = code_of(self.errors, raised.error)
        return ViewSample(values, self.columns)

    def _unknown(self, readings: Readings) -> FloatArray:
        """Return how many entries of each output have a name that was not seen before."""
        known = set(self.places)
        count = np.zeros(len(readings)) if readings.beyond is None else readings.beyond.astype(np.float64)
        for place, name in enumerate(readings.names):
            if name not in known:
                present = ~np.isnan(readings.values[:, place])
                if place in readings.words:
                    present |= readings.words[place].present
                count += present
        return count


def layout_of(seen: Sequence[Readings]) -> Layout:
    """Return the layout for outputs like those seen, some on each of several data sets.

    Of more than 256 places with numbers (or words), only those stay columns that differ most between the data sets;
    beside them, sums of all numbers in blocks. Words of which many are seen are taken apart, too.
    """
    here = Seen.of(seen)
    single = len(here.names) == 1
    numbers = [name for name in here.names if here.holds_numbers(name)]
    spoken = [name for name in here.names if here.holds_words(name)]
    blocks = blocks_of(numbers) if len(numbers) > MOST_COLUMNS else Blocks()
    numbers = most_telling_names(numbers, seen)
    spoken = most_telling_names(spoken, seen)
    both = {*numbers} & {*spoken}
    found = NumberColumns()
    for name in numbers:
        key, said = key_and_words(name, single)
        found.add(name, key, f"{said} as a number" if name in both else said, here.at(name))
    used = {name: here.words_at(name) for name in spoken}
    codes = codes_of(word for words in used.values() for word in words)
    labels = labels_of(codes)
    word_columns: list[Column] = []
    taken_apart: list[Column] = []
    spellings: dict[str, Spelling] = {}
    for name in spoken:
        key, said = key_and_words(name, single)
        spelling = spelling_of(used[name]) if len(spoken) <= MOST_PLACES else None
        if spelling is not None:
            spellings[name] = spelling
            taken_apart += spelling.columns(key, said)
        key, said = (f"{key}:word", f"{said} as a word") if name in both else (key, said)
        another = ((ANOTHER, "another word than those seen at first"),) if spelling is not None else ()
        word_columns.append(Column(key, said, "category", (*another, *labels)))
    columns = [*found.columns, *word_columns, *taken_apart, *found.low_columns, *blocks.columns]
    orders = codes_of(order for r in seen if r.orders is not None for order in r.orders.spoken)
    several = len({frozenset(order.split(", ")) for order in orders}) < len(orders)
    if several:
        columns.append(Column("order", "the order of the output's keys", "category", labels_of(orders)))
    shapes = codes_of(shape for r in seen for shape in r.shapes)
    errors = codes_of(raised.error for r in seen for raised in r.raised.values())
    if len(shapes) > 1:
        columns.append(
            Column("shape", "the shape of the output", "category", labels_of(shapes, "a single value"))
        )
        columns.append(
            Column("unknown", "the number of entries that the first outputs did not have", "category")
        )
    if errors:
        columns.append(Column("raised", "what the call raised", "category", labels_of(errors)))
    return Layout(
        tuple(numbers),
        tuple(spoken),
        codes,
        spellings,
        orders if several else None,
        shapes if len(shapes) > 1 else None,
        errors or None,
        tuple(columns),
        found.offsets,
        tuple(found.low),
        blocks,
        here.names,
    )


def _coded(codes: Mapping[str, int], words: Words, other: float | None = None) -> npt.NDArray[np.float64]:
    """Return the codes of words; of all that were not seen before, `other`, if it is given."""
    return words.numbers(
        {
            word: code_of(codes, word) if other is None else float(codes.get(word, other))
            for word in words.vocabulary
        }
    )
