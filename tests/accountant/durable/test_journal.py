"""A journal: what was marked can be read again, whatever happened since."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from accountant.durable.journal import Journal, Mark

ROWS: list[Any] = [[0, "ann", 7], {"kind": {"note": "ä"}}, [1], [], {"sums": 3}]


def test_rows_come_back_and_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal()
    journal.extend(ROWS[:1], None)
    with pytest.raises(ValueError, match="has no file"):
        journal.sync()
    journal.create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    marks = [journal.sync()]
    assert journal.sync() == marks[0]
    for number, row in enumerate(ROWS[1:]):
        journal.extend([row], number)
        assert journal.noted == number
        marks.append(journal.sync())
        if number % 2:
            journal.settle(marks[number])  # the mark before: what came since is still ahead
        assert journal.sync() == marks[-1]
    with pytest.raises(ValueError, match="is kept in"):
        journal.create(tmp_path / "elsewhere")
    journal.close()
    with pytest.raises(ValueError, match="has no file"):
        journal.sync()
    for count, mark in reversed(list(enumerate(marks, 1))):
        again, rows = Journal.read(path, mark)
        assert rows == ROWS[:count]
        assert path.stat().st_size == mark.size
        again.close()
    again, _ = Journal.read(path, marks[0])
    for row in ROWS[1:]:
        again.extend([row], None)
    assert again.sync() == marks[-1]


def test_every_other_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal()
    journal.create(path)
    for row in ROWS:
        journal.extend([row], None)
    mark = journal.sync()
    journal.settle(mark)
    whole = path.read_bytes()
    damaged = [whole[:end] for end in range(len(whole))]
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="does not begin with"):
            Journal.read(path, mark)
        assert path.read_bytes() == content
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="somebody else"):
        journal.sync()


@pytest.mark.parametrize("broken", ["write", "fsync"])
def test_a_write_that_failed_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path = tmp_path / "journal"
    journal = Journal()
    journal.create(path)
    journal.extend(ROWS[:1], None)
    first = journal.sync()
    journal.extend(ROWS[1:2], None)
    real = getattr(os, broken)

    def fail(file: int, *arguments: Any) -> Any:
        if broken == "write":  # half of it arrives
            real(file, arguments[0][: len(arguments[0]) // 2])
        raise OSError("no space left on device")

    with monkeypatch.context() as failing:
        failing.setattr(f"accountant.durable.journal.os.{broken}", fail)
        with pytest.raises(OSError, match="no space"):
            journal.sync()
    journal.extend(ROWS[2:3], None)
    second = journal.sync()
    journal.close()
    assert Journal.read(path, second)[1] == ROWS[:3]
    assert Journal.read(path, first)[1] == ROWS[:1]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    journal = Journal()
    journal.create(path)
    for row in ROWS:
        journal.extend([row], None)
    real = os.write
    monkeypatch.setattr("accountant.durable.journal.os.write", lambda file, content: real(file, content[:3]))
    mark = journal.sync()
    journal.close()
    assert Journal.read(path, mark)[1] == ROWS


def test_an_old_file_is_replaced_and_a_link_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"untouched")
    (tmp_path / "journal").symlink_to(tmp_path / "elsewhere")
    journal = Journal()
    journal.create(tmp_path / "journal")
    journal.extend([[1]], None)
    journal.sync()
    assert (tmp_path / "elsewhere").read_bytes() == b"untouched"
    assert not (tmp_path / "journal").is_symlink()


def test_an_empty_journal(tmp_path: Path) -> None:
    journal = Journal()
    journal.create(tmp_path / "journal")
    mark = journal.sync()
    assert mark == Mark(0, mark.digest)
    journal.close()
    assert Journal.read(tmp_path / "journal", mark)[1] == []


def test_a_file_that_was_deleted_or_replaced_is_noticed(tmp_path: Path) -> None:
    """Else every later save would go to a file that nobody can open."""
    path = tmp_path / "journal"
    journal = Journal()
    journal.create(path)
    journal.extend(ROWS, None)
    mark = journal.sync()
    path.rename(tmp_path / "kept")
    with pytest.raises(ValueError, match=r"journal: was deleted or replaced"):
        journal.sync()
    path.write_bytes((tmp_path / "kept").read_bytes())
    with pytest.raises(ValueError, match=r"journal: was deleted or replaced"):
        journal.sync()
    (tmp_path / "kept").replace(path)
    assert journal.sync() == mark


def test_a_beginning_that_failed_is_begun_elsewhere(tmp_path: Path) -> None:
    journal = Journal()
    journal.create(tmp_path / "full")
    journal.extend(ROWS[:2], None)
    journal.sync()  # the state that would count it could not be written
    journal.create(tmp_path / "other")
    journal.extend(ROWS[2:], None)
    mark = journal.sync()
    journal.close()
    assert Journal.read(tmp_path / "other", mark)[1] == ROWS
