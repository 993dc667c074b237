"""Neighbouring relations: the pairs of data sets that a privacy loss compares. Losses for different ones do not add up.

==================  =============================================  ==================================
relation            two data sets are neighbours if                movement of a query
==================  =============================================  ==================================
replace one         one record is another one                      the diameter of contributions
add or remove one   one has a record more                          the largest contribution
zero out            one record is replaced by a null record        the same, as a null adds nothing
==================  =============================================  ==================================

The number of records is public under the first and the third, secret under the second.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Protocol

from mechanisms.parameters import ParameterError


class Neighbouring(Enum):
    """When two data sets are neighbours; the value is the name in files and reports."""

    REPLACE_ONE = "replace one"
    ADD_OR_REMOVE = "add or remove one"
    ZERO_OUT = "zero out"

    @property
    def description(self) -> str:
        """Difference between two neighbours, in words, for a sentence."""
        return _WORDS[self]

    def of_groups(self, size: int) -> str:
        """Return the name, with the number of records that change together if that is not one."""
        return self.value if size == 1 else f"{self.value}, groups of {size}"

    @classmethod
    def from_name(cls, name: object) -> Neighbouring:
        """Return the relation with this name; case is ignored, and words may be joined by hyphens or underscores.

        Raises
        ------
        ParameterError
            If there is none.
        """
        if isinstance(name, cls):
            return name
        plain = (
            " ".join(name.lower().replace("-", " ").replace("_", " ").split())
            if isinstance(name, str)
            else ""
        )
        for relation in cls:
            if relation.value == plain:
                return relation
        known = ", ".join(repr(relation.value) for relation in cls)
        raise ParameterError(f"neighbours = {name!r}: must be one of {known}")

    def __str__(self) -> str:
        return self.value


_WORDS = {
    Neighbouring.REPLACE_ONE: "one record replaced by any other",
    Neighbouring.ADD_OR_REMOVE: "one record added or removed",
    Neighbouring.ZERO_OUT: "one record replaced by the null record, which contributes nothing",
}

_CONVERSIONS = {
    (
        Neighbouring.ADD_OR_REMOVE,
        Neighbouring.REPLACE_ONE,
    ): "a group of two: remove one record, add the other",
    (Neighbouring.REPLACE_ONE, Neighbouring.ZERO_OUT): "if the null record lies in the domain",
    (
        Neighbouring.ZERO_OUT,
        Neighbouring.ADD_OR_REMOVE,
    ): "if the query ignores null records and uses no number of records",
}


class Stated(Protocol):
    """Protocol of objects that hold for a neighbouring relation."""

    @property
    def neighbouring(self) -> Neighbouring:
        """The relation."""


class MixedNeighbours(ParameterError):
    """Losses for different neighbouring relations were put together."""


def conversion_hint(one: Neighbouring, other: Neighbouring) -> str:
    """Return the direct conversion between two relations, in either direction, for a message."""
    for source, target in ((one, other), (other, one)):
        if (source, target) in _CONVERSIONS:
            return (
                f"a loss for {source.value!r} is converted by mechanisms.convert(profile, "
                f"Neighbouring.{target.name}) ({_CONVERSIONS[source, target]})"
            )
    return "there is no conversion"


def common_neighbouring(parts: Iterable[Stated]) -> Neighbouring:
    """Return the one relation that all parts hold for; "replace one" if there is no part.

    Raises
    ------
    MixedNeighbours
        If there are two; the message names both, and the conversion.
    """
    found: Neighbouring | None = None
    for part in parts:
        if found is None:
            found = part.neighbouring
        elif part.neighbouring is not found:
            raise MixedNeighbours(
                f"neighbours: {found.value!r} and {part.neighbouring.value!r} do not compose, as no pair of data sets "
                f"is both; {conversion_hint(found, part.neighbouring)}"
            )
    return Neighbouring.REPLACE_ONE if found is None else found
