"""Refusals to open a store, or to charge anything in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mechanisms.parameters import DPWitnessError


class StoreRefused(DPWitnessError, ValueError):
    """A store is not opened, or nothing is charged in it; the message names the remedy."""


class InUse(StoreRefused):
    """Another process, or another object of this one, has it open, and one at a time may go on.

    Attributes
    ----------
    holder
        The process that has it open, if it is known.
    """

    def __init__(self, message: str, holder: str = "another process") -> None:
        super().__init__(message)
        self.holder = holder


class RetryAlone(Exception):
    """A transaction beside other writers was given up, and nothing of it is written: it has to be done alone."""


class OtherTerms(StoreRefused):
    """A store was made for other terms than the accountant's."""


class KeyRefused(StoreRefused):
    """A store names records by hashes under a key, and it was not given, or is not this one."""


class StoreMoved(StoreRefused):
    """A store is a copy, was restored from a backup, or was adopted elsewhere: it may lack charges."""


class LedgerDamaged(StoreRefused):
    """An entry of a store or an export does not fit the one before it, or a table does not fit the entries.

    Attributes
    ----------
    position
        The first entry that does not fit, from 1; None if it is none of the entries.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message if position is None else f"entry {position}: {message}")
        self.position = position


@contextmanager
def damage_in(name: str, words: str = "damaged") -> Iterator[None]:
    """Report damage that the block finds with the name of the store or file that is read."""
    try:
        yield
    except LedgerDamaged as error:
        raise LedgerDamaged(f"{name}: {error}") from None
    except StoreRefused:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise LedgerDamaged(f"{name}: {words} ({type(error).__name__}: {error})") from None


class OutcomeUnknown(DPWitnessError, OSError):
    """A commit failed, so a charge was made or not: nothing was drawn, and it counts as charged."""
