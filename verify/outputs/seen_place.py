"""The values at one place of a function's outputs, on several data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from verify.outputs.entries import SORTED
from verify.outputs.output_readings import Readings
from verify.outputs.raised import ERRORS


@dataclass(frozen=True, eq=False)
class SeenPlace:
    """One place of the outputs.

    Attributes
    ----------
    name
        Its name.
    single
        True if outputs have no other place.
    outputs
        The outputs on each data set on which some have this place, with its number.
    """

    name: str
    single: bool
    outputs: Sequence[tuple[Readings, int]]

    @cached_property
    def holds_numbers(self) -> bool:
        """True if a number was seen, or nothing at all."""
        return not any(at in r.words for r, at in self.outputs) or not all(
            np.isnan(r.values[:, at]).all() for r, at in self.outputs
        )

    @cached_property
    def holds_words(self) -> bool:
        """True if a word was seen."""
        return any(at in r.words for r, at in self.outputs)

    @property
    def words_apart(self) -> list[list[str]]:
        """The words on each data set, as often as they came."""
        return [[word for word in r.words[at] if word is not None] for r, at in self.outputs if at in r.words]

    @property
    def is_entry(self) -> bool:
        """True of an entry of the output, which an element of a set is not: that set is."""
        return not (self.name in ERRORS or self.name.endswith("}") or SORTED in self.name)

    @property
    def key(self) -> str:
        """The name of a column of the place, such as ``output[2]``."""
        if self.name in ERRORS:
            return self.name
        return "output" if self.single and self.name == "[1]" else f"output{self.name}"

    @property
    def description(self) -> str:
        """The place in words, such as "output 2"; a member of a set as "3 in the output"."""
        return describe_place(self.name, self.single)


def seen_places(seen: Sequence[Readings]) -> list[SeenPlace]:
    """Return all places of outputs: in order those of the outputs with most, then the further ones of the others."""
    by_length = sorted(seen, key=lambda each: -len(each.names))
    names = list(dict.fromkeys(name for each in by_length for name in each.names))
    errors, names = [n for n in ERRORS if n in names], [n for n in names if n not in ERRORS]
    # Entries of a dictionary come in the order in which outputs happen to show them, as members of a set do.
    if all(name.startswith((".", "{")) for name in names):
        names.sort()
    return [
        SeenPlace(name, len(names) == 1, [(r, r.places[name]) for r in seen if name in r.places])
        for name in (*names, *errors)
    ]


def describe_place(name: str, single: bool = False) -> str:
    """Return the name of a place in words; `single` is True if outputs have no other."""
    if name in ERRORS:
        return ERRORS[name]
    if SORTED in name:
        of, _, number = name.rpartition(SORTED)
        return f"element {number[1:-1]} of {describe_place(of)} in order"
    if name.endswith("}"):
        of, _, member = name.rpartition("{")
        return f"{member[:-1]} in {describe_place(of)}"
    if not name or (single and name == "[1]"):
        return "the output"
    if name.startswith("[") and name.count("[") == 1 and name.endswith("]"):
        return f"output {name[1:-1]}"
    return f"output {name.removeprefix('.')}"
