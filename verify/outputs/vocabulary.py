"""Codes of words: a column of words is a column of numbers in a sample."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

from verify.outputs.shapes import shown

ANOTHER = -1.0
"""The code of all words that were not seen when the layout was made, where their parts are columns, too."""

_UNSEEN = 2.0**32  # codes of words that were not seen when the layout was made lie above


def codes_of(words: Iterable[str]) -> dict[str, int]:
    """Return a code for each different word, in the order of the alphabet."""
    return {word: code for code, word in enumerate(sorted(set(words)))}


def code_of(codes: Mapping[str, int], word: str) -> float:
    """Return a word's code; of one that was not seen before, a number that depends on nothing but the word."""
    known = codes.get(word)
    return float(known) if known is not None else _UNSEEN + zlib.crc32(word.encode())


def labels_of(codes: Mapping[str, int], empty: str = "") -> tuple[tuple[float, str], ...]:
    """Return the words of all codes, as a column's labels."""
    return tuple((float(code), shown(word) if word else empty) for word, code in codes.items())
