"""Comparison of records whose numbers other machines may round otherwise."""

import math
import re
from itertools import zip_longest

from syrupy.extensions.amber import AmberSnapshotExtension

NUMBER = re.compile(r"(-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+|(?<=4\^)-?\d+)")
"""Numbers that are no whole ones, and powers of 4, in which a width of few roundings is written."""
CLOSEST = 2e-3
"""The largest relative difference, however few digits are written."""


def significant_digits(text: str) -> int:
    return len(re.sub(r"e.*|[-.]", "", text).lstrip("0")) or 1


def alike(one: str, other: str) -> bool:
    """Return True if two numbers are equal but for one in the last digit that is written."""
    if one == other:
        return True
    if not {".", "e"} & set(one + other):
        return abs(int(one) - int(other)) <= 1
    a, b = float(one), float(other)
    largest = max(abs(a), abs(b))
    digits = max(significant_digits(one), significant_digits(other))
    last = 10.0 ** (math.floor(math.log10(largest)) - digits + 1) if largest else 0.0
    return abs(a - b) <= min(1.01 * last, CLOSEST * largest)


class NearNumbers(AmberSnapshotExtension):
    """Records whose texts and whole numbers are equal, and whose other numbers are alike."""

    def matches(self, *, serialized_data, snapshot_data):
        pieces = zip_longest(NUMBER.split(serialized_data), NUMBER.split(snapshot_data))
        return all(
            one == other or (i % 2 == 1 and one is not None and other is not None and alike(one, other))
            for i, (one, other) in enumerate(pieces)
        )
