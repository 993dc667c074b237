"""Compaction of a store (a *fold*): old entries are removed, and entries with their results take their place."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accountant.stores.beginning import begin_replay
from accountant.stores.chain import bound_together, canonical
from accountant.stores.export import write_archive
from accountant.stores.replayed_entries import ReplayedEntries
from accountant.stores.sql_store import SQLStore, check_said
from accountant.stores.store_verification import compare_tables
from accountant.stores.transaction import Transaction, rows_after
from mechanisms.parameters import DPWitnessError

_Rows = Iterable[tuple[int, str, bytes]]
_IN_A_PART = 1_000


class NothingToFold(DPWitnessError, ValueError):
    """No entry is so old, apart from those that earlier folds left."""


@dataclass(frozen=True)
class Folded:
    """The result of a fold.

    Attributes
    ----------
    removed
        The number of removed entries.
    after
        The last entry that the fold replaces: verification begins after it.
    hash
        The hash of that entry: the head of an export that was made then.
    """

    removed: int
    after: int
    hash: str


def fold(
    store: SQLStore,
    before: int,
    by: str,
    reason: str,
    *,
    forget_requests: bool = False,
    archive: str | Path | None = None,
) -> Folded:
    """Remove the entries from before a time; their results are kept, and no record has spent less.

    The store is verified first, completely, in the same transaction. A fold keeps, in entries of the chain: the spent
    amounts of each account, by purpose and tenant; the counts of rules, day by day; the commitments of accounts; and
    the hash of the last entry that it replaces, which covers all before it. Kinds of charges, rules, assumptions,
    adoptions and earlier folds stay as they are, and so do open reservations, and requests. Rules that are made later
    count folded charges as of their last day, never earlier. Of a run it keeps the records that waited in each sum
    after the last folded save; its state is in no entry.

    Parameters
    ----------
    store
        The store, open to be spent from.
    before
        Milliseconds since 1970: entries are removed up to the first that is not older.
    by, reason
        The author and the reason, which the ledger keeps.
    forget_requests
        True to forget the keys and answers of earlier requests, too: a request with such a key is charged again.
    archive
        A new file to which the entries are written before they are removed, without names of accounts (but with those
        of records that wait in a run's sums): with it the fold can be verified later (`accountant.stores.archive`).

    Raises
    ------
    LedgerDamaged
        If an entry or a table does not fit.
    NothingToFold
        If no entry is so old.
    ParameterError
        If a name or reason is missing, or the archive exists already.
    """
    check_said(by, reason)
    with store.working(()) as work:
        work.check()
        found = _fold(work, before, by, reason, forget_requests, archive)
    store.database.compact()
    return found


def _fold(
    work: Transaction, before: int, by: str, reason: str, forget_requests: bool, archive: str | Path | None
) -> Folded:
    replay = begin_replay(work.session)
    begin = replay.position
    replay.feed_all(_until(rows_after(work.session, begin), before))
    last, digest, clock, drift = replay.position, replay.hash, replay.clock, replay.drift
    if last == begin:
        raise NothingToFold("before: there is no entry that is so old and was not folded")
    standing = _standing(replay)
    left = {position for position, state in replay.reservations.items() if state == "reserved"}
    requests = {request.position for request in replay.requests.values()}
    answered = {request.position for request in replay.requests.values() if request.digest is not None}
    replay.feed_all(rows_after(work.session, last))
    compare_tables(replay, work.session)
    left |= {position for position in replay.redrawn_positions if position <= last}
    now = {request.position for request in replay.requests.values() if request.digest is not None}
    left |= (now - answered) & requests  # a later entry names them
    forgotten = requests - left if forget_requests else set()
    left |= requests - forgotten

    if archive is not None:
        write_archive(work.session, last, archive)
    parts = [*standing, *_parts("paid", replay.sum_payments(last, left))]
    rows = ((position, text) for position, text, _ in rows_after(work.session, 0, f"position <= {last}"))
    texts = list(left_by_fold(rows, left))
    bound = bound_together(texts).hex()
    said = {"after": last, "hash": digest.hex(), "left": bound, "parts": len(parts), "clock": clock}
    said |= {"drift": drift} if drift else {}
    work.append({"fold": {**said, "at": work.time, "by": by, "reason": reason}})
    for part in parts:
        work.append({"folded": part})
    settled = [each for each in replay.reservations if each <= last and each not in left]
    return Folded(work.remove(last, texts, forgotten, settled, replay.tallies), last, digest.hex())


def summed_up(replay: ReplayedEntries, left: Collection[int]) -> list[dict[str, Any]]:
    """Return the parts of a fold of all that was fed, if it leaves some charges."""
    return [*_standing(replay), *_parts("paid", replay.sum_payments(replay.position, left))]


def _standing(replay: ReplayedEntries) -> list[dict[str, Any]]:
    """Return those parts of a fold that do not depend on which charges it leaves."""
    limits = replay.limits
    counted = (
        []
        if limits is None
        else [
            [number, limits.text(account.counted)]
            for number, account in sorted(replay.accounts.items())
            if account.counted
        ]
    )
    return [
        *_parts("opened", [list(each) for each in sorted(replay.commitments.items())]),
        *_parts("counted", [each for each in counted if each[1] is not None]),
        *_parts("waiting", replay.waiting.rows()),
        *([] if replay.saved is None else [{"saved": list(replay.saved)}]),
    ]


def _until(rows: _Rows, before: int) -> Iterator[tuple[int, str, bytes]]:
    """Yield the entries up to the last that was made before a time, and before any that was not."""
    timeless: list[tuple[int, str, bytes]] = []
    for row in rows:
        timeless.append(row)
        body = json.loads(row[1])
        at = body.get("at", next((body[each]["at"] for each in ("fold", "key") if each in body), None))
        if at is not None:
            if at >= before:
                return
            yield from timeless
            timeless.clear()


def left_by_fold(rows: Iterable[tuple[int, str]], left: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield the entries that stay: all that are of no charge and no save, and those of some charges."""
    for position, text in rows:
        body = json.loads(text)
        settled = [body[key] for key in ("drawn", "returned", "drawn again") if key in body]
        settled += [body["answered"][0]] if "answered" in body else []
        of = [position] if "paid" in body else settled
        if not body.keys() & {"folded", "labelled", "saved"} and all(each in left for each in of):
            yield position, canonical(body)


def _parts(name: str, rows: list[Any]) -> list[dict[str, Any]]:
    return [{name: rows[i : i + _IN_A_PART]} for i in range(0, len(rows), _IN_A_PART)]
