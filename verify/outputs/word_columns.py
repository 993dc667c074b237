"""Words at one place of many outputs, each different word held once, and the codes of words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from verify.events.event import mixed_keys
from verify.outputs.shapes import format_shape

Labels = tuple[tuple[float, str], ...]

NO_WORD = -1  # the code of an output that holds no word at the place
ANOTHER = -1.0
"""The code of all words that were not seen when the layout was made."""
_ADDRESS = re.compile(r"(?<= at )0x[0-9a-f]{6,16}(?=>)")  # as in "<object object at 0x7f6960912a50>"
AN_ADDRESS = "0x…"
"""The substitute in words for an object's address in memory, which depends on the process and on no data."""


@dataclass(frozen=True, eq=False)
class Words:
    """The words at one place of n outputs; iterated as ``str | None`` (None: no word there).

    Attributes
    ----------
    vocabulary
        Words, each once.
    codes
        The number in the vocabulary of each output's word, -1 where there is none; shape (n,).
    """

    vocabulary: tuple[str, ...]
    codes: IntArray

    @classmethod
    def of_list(cls, column: Iterable[Any]) -> Words:
        """Return the words of a column of ``str``, or None for no word."""
        known: dict[Any, int] = {None: NO_WORD}
        codes = np.array([known.setdefault(word, len(known) - 1) for word in column], dtype=np.int64)
        return cls(tuple(str(word) for word in known if word is not None), codes)._without_addresses()

    @classmethod
    def of_array(cls, array: npt.NDArray[Any]) -> Words:
        """Return the words of a one-dimensional array of fixed-width text, or of bytes in hexadecimal.

        Equal words are found by comparing the array's bytes, so that no Python object is made for an entry.
        """
        array = np.ascontiguousarray(array)
        if array.dtype.itemsize == 0:
            return cls(("",), np.zeros(len(array), dtype=np.int64))
        size: Any = np.uint32 if array.dtype.kind == "U" else np.uint8
        units = array.view(size).reshape(len(array), -1).astype(np.uint64)
        for keys in (mixed_keys(units.T, len(array)), array):
            _, firsts, codes = np.unique(keys, return_index=True, return_inverse=True)
            if np.array_equal(array[firsts][codes], array):  # else two words have one key
                break
        spoken = array[firsts].tolist()
        words = tuple(word.hex() if isinstance(word, bytes) else word for word in spoken)
        return cls(words, codes.astype(np.int64))._without_addresses()

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str | None]:
        listed: list[str | None] = [*self.vocabulary, None]  # -1, the code of no word, is the last
        return (listed[code] for code in self.codes.tolist())

    @property
    def distinct_words(self) -> set[str]:
        """Return the words that occur."""
        return {self.vocabulary[code] for code in np.unique(self.codes).tolist() if code != NO_WORD}

    def _without_addresses(self) -> Words:
        """Return the words, addresses of objects replaced by one and the same."""
        if not any(_ADDRESS.search(word) for word in self.vocabulary):
            return self
        shorter = [_ADDRESS.sub(AN_ADDRESS, word) for word in self.vocabulary]
        number = {word: code for code, word in enumerate(dict.fromkeys(shorter))}
        codes = np.array([*map(number.__getitem__, shorter), NO_WORD])  # -1, the code of no word, is the last
        return Words(tuple(number), codes[self.codes])

    def numbers(self, of: Callable[[str], float]) -> FloatArray:
        """Return the number of each output's word, NaN where there is none; shape (n,)."""
        table = np.array([*map(of, self.vocabulary), np.nan])
        return np.asarray(table[self.codes])


@dataclass(frozen=True)
class WordCodes:
    """The codes of words in a column: fixed when a layout is made, in the order of the alphabet."""

    codes: Mapping[str, int]

    @classmethod
    def from_words(cls, words: Iterable[str]) -> WordCodes:
        """Return a code for each different word."""
        return cls({word: code for code, word in enumerate(sorted(set(words)))})

    def __len__(self) -> int:
        return len(self.codes)

    def code_of(self, word: str) -> float:
        """Return a word's code."""
        return float(self.codes.get(word, ANOTHER))

    def values(self, words: Words) -> FloatArray:
        """Return the codes of n words, NaN where there is none; shape (n, 1)."""
        return words.numbers(self.code_of)[:, None]

    def labels(self, kind: str = "word", say: Callable[[str], str] | None = None) -> Labels:
        """Return the words of all codes, as a column's labels.

        Parameters
        ----------
        kind
            The noun for the words.
        say
            Function from a word to its label; by default the word in quotation marks.
        """
        named = quoted if say is None else say
        words = ((float(code), named(word)) for word, code in self.codes.items())
        return ((ANOTHER, f"another {kind} than those seen at first"), *words)


def quoted(word: str) -> str:
    """Return a word in quotation marks, a long one cut short; None, which is read as a word, without."""
    if word == "None":
        return word
    return format_shape(json.dumps(word, ensure_ascii=False))
