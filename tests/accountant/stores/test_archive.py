"""A fold can be verified from an archive of the entries that it removed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, Rule, spending_on
from accountant.rules import clock
from accountant.rules.clock import DAY
from accountant.stores.archive import check_archives
from accountant.stores.chain import bound_together, canonical, entry_hash
from accountant.stores.export import export_store, read_export
from accountant.stores.folding import fold
from accountant.stores.names import NameKey, add_key
from accountant.stores.opening import open_store, verify_store
from accountant.stores.renaming import erase, rotate
from accountant.stores.store_refusals import LedgerDamaged
from mechanisms import Interval, Laplace, Sensitivity

UNIT = Interval(0, 1)
EIGHTH = Laplace(scale=8.0, sensitivity=Sensitivity(1, 1, 1))
FIRST = 20_000 * DAY


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [FIRST]
    monkeypatch.setattr(clock, "wall", lambda: now[0])
    monkeypatch.setattr(clock, "running", lambda: now[0])
    return now


@pytest.fixture
def path(tmp_path: Path, now: list[int]) -> Path:
    """Return a store that was folded on the second and on the fourth day, each time with an archive."""
    path = tmp_path / "ledger.db"
    rules = [Rule(Budget(1.0), purpose="ads", days=7), Rule(Budget(4.0), groups=[("ann", "bob")])]
    with spending_on("ads"):
        accountant = Accountant(Budget(4.0), noise=np.random.default_rng(0), store=path, rules=rules)
        for day in range(5):
            now[0] = FIRST + day * DAY
            for record in ("ann", "bob", 17, "carl"):
                value = accountant.private([0.5], UNIT, record)
                accountant.release(EIGHTH, value, request=f"{day}" if record == 17 else None)
            reserved = accountant.reserve(accountant.price(EIGHTH, value))
            if day % 2:
                reserved.release()
            if day in (1, 3):
                fold(accountant.ledger, now[0], "ann", "room", archive=tmp_path / f"{day}.json")  # type: ignore[arg-type]
            if day == 2:
                erase(accountant.ledger, "carl", "ann", "asked for")  # type: ignore[arg-type]
    accountant.ledger.close()  # type: ignore[attr-defined]
    return path


def archives(path: Path) -> list[Path]:
    return [path.with_name("1.json"), path.with_name("3.json")]


def test_folds_are_verified_as_far_as_there_are_archives(path: Path) -> None:
    first, second = archives(path)
    folds = verify_store(path).replay.folds
    assert check_archives(path, []) == folds[-1]["after"]
    assert check_archives(path, [second]) == folds[0]["after"]
    assert check_archives(path, [first, second]) == check_archives(path, [second, first]) == 0
    export_store(path, path.with_suffix(".json"))
    assert check_archives(path.with_suffix(".json"), [first, second]) == 0
    with pytest.raises(ValueError, match=f"{first}: is the archive of no fold of {path}, or"):
        check_archives(path, [first])


def test_an_archive_names_nobody(path: Path) -> None:
    for archive in archives(path):
        assert "bob" not in archive.read_text()
        assert archive.stat().st_mode & 0o777 == 0o600
        with pytest.raises(LedgerDamaged, match="is the archive of a fold, without accounts"):
            read_export(archive)


def test_an_archive_is_never_written_over(path: Path) -> None:
    store, head = open_store(path), verify_store(path).head
    with pytest.raises(ValueError, match="exists already; each fold has an archive of its own"):
        fold(store, clock.wall() + 1, "ann", "room", archive=archives(path)[0])
    store.close()
    assert verify_store(path).head == head
    assert check_archives(path, archives(path)) == 0


def test_a_fold_of_less_than_the_one_before_has_an_archive_too(tmp_path: Path, now: list[int]) -> None:
    path = tmp_path / "ledger.db"
    accountant = Accountant(Budget(4.0), noise=np.random.default_rng(0), store=path)
    for day in range(4):
        now[0] = FIRST + day * DAY
        accountant.release(EIGHTH, accountant.private([0.5], UNIT, "ann"))
    files = [tmp_path / "1.json", tmp_path / "2.json"]
    for day, file in enumerate(files, start=1):
        fold(accountant.ledger, FIRST + day * DAY, "ann", "room", archive=file)  # type: ignore[arg-type]
    accountant.ledger.close()  # type: ignore[attr-defined]
    assert [each["after"] for each in verify_store(path).replay.folds] == [4, 5]
    assert check_archives(path, files) == 0
    assert check_archives(path, files[1:]) == 4


def test_names_that_are_hashed_afterwards_change_no_fold(path: Path, tmp_path: Path) -> None:
    add_key(tmp_path / "names.key")
    store = open_store(path)
    rotate(store, NameKey.from_source(tmp_path / "names.key"), "ann", "why")
    store.close()
    store = open_store(path)
    fold(store, clock.wall() + 1, "ann", "room", archive=tmp_path / "5.json")
    store.close()
    assert check_archives(path, [*archives(path), tmp_path / "5.json"]) == 0


def forge(path: Path, change: Any) -> Path:
    """Let whoever writes a file say otherwise in its last fold, and bind all that follows anew."""
    export_store(path, path.with_suffix(".json"))
    content = json.loads(path.with_suffix(".json").read_text())
    change(content)
    entries, before = content["entries"], bytes.fromhex(content["entries"][0]["hash"])
    here = max(i for i, row in enumerate(entries) if "fold" in row["entry"])
    for i, row in enumerate(entries):
        if i >= here:
            before = entry_hash(before, canonical(row["entry"]))
            row["hash"] = before.hex()
        else:
            before = bytes.fromhex(row["hash"])
    forged = path.with_name("forged.json")
    forged.write_text(json.dumps(content))
    return forged


def lower(content: Any) -> None:
    row = next(
        row["entry"]["folded"]["paid"][0]
        for row in content["entries"]
        if "paid" in row["entry"].get("folded", {})
    )
    assert row[2][0] != "1/64"
    row[2][0] = "1/64"


def fewer(content: Any) -> None:
    part = next(
        row["entry"]["folded"] for row in content["entries"] if "counted" in row["entry"].get("folded", {})
    )
    part["counted"] = []


def less_is_left(content: Any) -> None:
    """Leave out that a name was erased, and bind what the fold left anew."""
    content["left"] = [row for row in content["left"] if "erased" not in row["entry"]]
    fold = max(
        (row["entry"]["fold"] for row in content["entries"] if "fold" in row["entry"]),
        key=lambda each: each["after"],
    )
    fold["left"] = bound_together((row["position"], canonical(row["entry"])) for row in content["left"]).hex()


@pytest.mark.parametrize("change", [lower, fewer, less_is_left])
def test_a_fold_with_lower_totals_is_believed_without_its_archive_only(path: Path, change: Any) -> None:
    forged = forge(path, change)
    read_export(forged)  # the chain fits
    with pytest.raises(LedgerDamaged, match=r"what the fold says is not what .*3\.json leads to"):
        check_archives(forged, archives(path))


def test_100_changes_of_an_archive_are_refused_or_change_nothing(path: Path) -> None:
    archive, chosen, refused = archives(path)[1], random.Random(3), 0
    whole, believed = archive.read_bytes(), check_archives(path, archives(path))
    for _ in range(100):
        place, bit = chosen.randrange(len(whole)), 1 << chosen.randrange(8)
        archive.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        try:
            assert check_archives(path, archives(path)) == believed == 0
        except (ValueError, OSError):
            refused += 1
    assert refused > 90
