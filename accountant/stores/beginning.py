"""The beginning of a store's entries: the first entry, or the fold that summarises those removed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from accountant.stores.replayed_entries import EntryRow, History, ReplayedEntries
from accountant.stores.schema import RARE
from accountant.stores.session import Session
from accountant.stores.store_refusals import LedgerDamaged
from accountant.stores.transaction import rows_after

_FOLD = f"{RARE} AND substr(body, 3, 7) = 'fold\":{{'"


@dataclass(frozen=True)
class Fold:
    """The last fold of a store.

    Attributes
    ----------
    position
        The position of its entry.
    text
        Its entry.
    after
        The last entry that it replaces: verification begins after it.
    hash
        The hash of that entry.
    parts
        The number of entries after this one that belong to it.
    """

    position: int
    text: str
    after: int
    hash: bytes
    parts: int


def last_fold(session: Session) -> Fold | None:
    """Return the last fold of a store; None if nothing was folded.

    Raises
    ------
    LedgerDamaged
        If it cannot be read.
    """
    found = list(rows_after(session, 0, _FOLD))
    return fold_of(*found[-1][:2]) if found else None


def fold_of(position: int, text: str) -> Fold:
    """Return the fold that an entry is.

    Raises
    ------
    LedgerDamaged
        If it is none.
    """
    try:
        said = json.loads(text)["fold"]
        fold = Fold(position, text, int(said["after"]), bytes.fromhex(said["hash"]), int(said["parts"]))
    except (LookupError, TypeError, ValueError) as error:
        raise LedgerDamaged(f"damaged ({type(error).__name__}: {error})", position) from None
    if not 0 < fold.after < position:
        raise LedgerDamaged(f"claims to replace the entries up to {fold.after}", position)
    return fold


@dataclass(frozen=True)
class Beginning:
    """A fold with which entries begin, and its content.

    Attributes
    ----------
    fold
        The fold.
    parts
        The texts of its parts.
    left
        The entries that it left.
    """

    fold: Fold
    parts: Sequence[str]
    left: Sequence[EntryRow]


def beginning(session: Session) -> Beginning | None:
    """Return the fold with which the entries of a store begin; None if they begin at the first.

    Raises
    ------
    LedgerDamaged
        If it cannot be read.
    """
    fold = last_fold(session)
    if fold is None:
        return None
    parts = itertools.islice(rows_after(session, fold.position), fold.parts)
    left = rows_after(session, 0, f"position <= {fold.after:d}")
    return Beginning(fold, [text for _, text, _ in parts], list(left))


def begin_replay(session: Session, history: History | None = None) -> ReplayedEntries:
    """Return a replay before the first entry of a store that is chained to the one before it.

    Parameters
    ----------
    session
        Its transaction.
    history
        Function that reads the entries again, if there are more than it has written.

    Raises
    ------
    LedgerDamaged
        If a fold was changed after it was written.
    """
    return replay_from(beginning(session), partial(rows_after, session, 0) if history is None else history)


def replay_from(here: Beginning | None, history: History) -> ReplayedEntries:
    """Return a replay that begins at a fold, or at the first entry; see `begin_replay`."""
    replay = ReplayedEntries(history)
    if here is not None:
        try:
            said = json.loads(here.fold.text)["fold"]
            parts = [json.loads(text)["folded"] for text in here.parts]
            replay.begin_folded(here.fold.position, said, parts, here.left)
        except LedgerDamaged:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(f"damaged ({type(error).__name__}: {error})", here.fold.position) from None
    return replay
