"""The beginning of a store's entries: the first entry, or the fold that summarises those removed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from accountant.stores.chain import entry_hash
from accountant.stores.replayed_entries import EntryRow, History, ReplayedEntries
from accountant.stores.schema import RARE
from accountant.stores.session import Session
from accountant.stores.store_refusals import LedgerDamaged
from accountant.stores.work import rows_after

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
        Positions and texts of the entries that it left.
    """

    fold: Fold
    parts: Sequence[str]
    left: Sequence[tuple[int, str]]

    def replay(self, history: History) -> ReplayedEntries:
        """Return a replay before the first entry that is chained to the one before it.

        Parameters
        ----------
        history
            Function that reads the entries again.

        Raises
        ------
        LedgerDamaged
            If the fold was changed after it was written.
        """
        rows = [(position, text, entry_hash(b"", text)) for position, text in self.left]
        return _begun_at(history, self.fold, self.parts, rows)


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
    return Beginning(fold, [text for _, text, _ in parts], [(position, text) for position, text, _ in left])


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
    fold = last_fold(session)
    again = partial(rows_after, session, 0) if history is None else history
    if fold is None:
        return ReplayedEntries(again)
    parts = itertools.islice(rows_after(session, fold.position), fold.parts)
    left = rows_after(session, 0, f"position <= {fold.after:d}")
    return _begun_at(again, fold, [text for _, text, _ in parts], left)


def _begun_at(
    history: History, fold: Fold, parts: Sequence[str], left: Iterable[EntryRow]
) -> ReplayedEntries:
    """Return a replay that begins at a fold, of the texts of its parts and the rows of the entries that it left."""
    replay = ReplayedEntries(history)
    try:
        replay.folds.append(json.loads(fold.text)["fold"])
        replay.begin_folded(fold.position, [json.loads(text)["folded"] for text in parts], left)
    except LedgerDamaged:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise LedgerDamaged(f"damaged ({type(error).__name__}: {error})", fold.position) from None
    return replay
