"""Verification of folds: their sums, recomputed from the removed entries in archive files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accountant.stores.beginning import Beginning, beginning
from accountant.stores.chain import canonical
from accountant.stores.export import beginning_of, read_content, replay_content
from accountant.stores.folding import left_by_fold, summed_up
from accountant.stores.opening import find_database
from accountant.stores.replayed_entries import ReplayedEntries
from accountant.stores.store_refusals import LedgerDamaged, damage_in
from mechanisms.parameters import ParameterError


@dataclass(frozen=True)
class _Archive:
    """The entries that a fold removed.

    Attributes
    ----------
    replay
        The state after them.
    beginning
        The fold before, with which they begin; None if they begin at the first.
    rows
        All entries up to the last of them that are still known, by position.
    """

    replay: ReplayedEntries
    beginning: Beginning | None
    rows: Mapping[int, str]


def check_archives(where: str | Path, archives: Sequence[str | Path]) -> int:
    """Recompute the sums of folds from the entries that they removed.

    The file of the last fold is looked for first, then that of the one before; the hash that a fold names binds the
    entries of its file to each other, so a file that was changed is refused.

    Parameters
    ----------
    where
        A store, or a ledger in JSON (``.json``).
    archives
        Files that `fold` wrote.

    Returns
    -------
    int
        The last of the entries that are still believed, whose fold has no file here; 0 if there is none.

    Raises
    ------
    LedgerDamaged
        If a file does not fit together, or a fold says otherwise than it.
    ParameterError
        If a file is of no fold of the ledger.
    """
    known: dict[bytes, tuple[str | Path, _Archive]] = {}
    for path in archives:
        found = _read_archive(path)
        known[found.replay.hash] = path, found
    here, name = _beginning(where), where
    while here is not None:
        path, archive = known.pop(here.fold.hash, (where, None))
        if archive is None:
            break
        _check(
            here,
            archive,
            f"{name}: entry {here.fold.position}: what the fold says is not what {path} leads to",
        )
        here, name = archive.beginning, path
    if known:
        path, _ = next(iter(known.values()))
        raise ParameterError(
            f"{path}: is the archive of no fold of {where}, or the one of a fold after it was not given"
        )
    return 0 if here is None else here.fold.after


def _beginning(where: str | Path) -> Beginning | None:
    if str(where).endswith(".json"):
        return beginning_of(read_content(where)[0])
    database = find_database(where)
    try:
        with database.snapshot() as session:
            return beginning(session)
    finally:
        database.close()


def _read_archive(path: str | Path) -> _Archive:
    content, _ = read_content(path)
    with damage_in(str(path)):
        replay, before = replay_content(content), beginning_of(content)
        texts = [row.text for row in content["entries"]]
        rows: dict[int, str] = {} if before is None else {row[0]: row[1] for row in before.left}
        rows |= dict(enumerate(texts, start=1 if before is None else before.fold.after + 1))
        kept = {position: text for position, text in rows.items() if position <= replay.position}
    return _Archive(replay, before, kept)


def _check(here: Beginning, archive: _Archive, words: str) -> None:
    found = [(position, text) for position, text, _ in here.left]
    left = {position for position, text in found if "paid" in json.loads(text)}
    said: dict[str, Any] = json.loads(here.fold.text)["fold"]
    parts = [canonical({"folded": part}) for part in summed_up(archive.replay, left)]
    stay = list(left_by_fold(sorted(archive.rows.items()), left))
    if (said["after"], said["clock"]) != (archive.replay.position, archive.replay.clock):
        raise LedgerDamaged(words)
    if list(here.parts) != parts or found != stay:
        raise LedgerDamaged(words)
