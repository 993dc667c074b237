"""Substitutes for the names of records in a ledger."""

from __future__ import annotations


class Pseudonym(str):
    """The substitute of a record's name in a store: a keyed hash of it, or a mark that the name was erased.

    It is a text, so that code that counts and shows names takes it; but it is equal to no name, and no record of a
    release can have it as its name.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pseudonym) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Pseudonym, str.__hash__(self)))
