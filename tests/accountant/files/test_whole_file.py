"""Files that are complete or absent."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from reopened import reopened

from accountant import Accountant, Budget, GateClosed
from accountant.files.whole_file import whole_file
from mechanisms import Interval


def fail_while_writing(path: Path) -> None:
    with whole_file(path) as file:
        file.write(b"half of it")
        raise KeyboardInterrupt


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(KeyboardInterrupt):
        fail_while_writing(path)
    assert not list(tmp_path.iterdir())
    path.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        fail_while_writing(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"before"]


def test_only_the_owner_can_read_it_whatever_lies_around(tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    secret.write_bytes(b"untouched")
    (tmp_path / "file.partial").symlink_to(secret)
    (tmp_path / "file").write_bytes(b"open to all")
    (tmp_path / "file").chmod(0o644)
    with whole_file(tmp_path / "file") as file:
        file.write(b"mine")
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert secret.read_bytes() == b"untouched"


def test_links_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    """An anchor's link to another disk became a file on this one, and /dev/null a file."""
    link, file, pipe = tmp_path / "link", tmp_path / "file", tmp_path / "pipe"
    link.symlink_to(file)
    for words in (b"first", b"second"):
        with whole_file(link) as written:
            written.write(words)
        assert link.is_symlink()
        assert file.read_bytes() == words
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(pipe) as written:
        written.write(b"third")
    assert os.read(reading, 10) == b"third"
    os.close(reading)
    assert pipe.is_fifo()


def test_standard_output_is_written_to_where_it_is_a_file(capfd: pytest.CaptureFixture[str]) -> None:
    """Another file took the place of the one that it went to: what was printed was lost."""
    print("before")
    with whole_file("/dev/stdout") as file:
        file.write(b"inside\n")
    print("after")
    assert capfd.readouterr().out == "before\ninside\nafter\n"


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No space left on device: '.*file'"), whole_file(tmp_path / "file"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("path", [".", "none/file"])
def test_what_is_no_file_in_a_folder(path: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be a file in a folder"), whole_file(tmp_path / path):
        pass


def test_a_ledger_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    accountant = Accountant(Budget(1.0), store=path)
    with pytest.raises(ValueError, match=r"ledger\.db': must not be an SQLite database"):
        accountant.export(path)
    accountant.ledger.close()  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="must not be an SQLite database"), whole_file(path):
        pass
    assert path.read_bytes().startswith(b"SQLite")


def test_a_closed_accountant_stays_closed_through_a_restart(tmp_path: Path) -> None:
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    value = accountant.private([0.5], Interval(0, 1), "ann")
    with pytest.raises(ZeroDivisionError):
        value.map(lambda values: 1 // 0, into=Interval(0, 1))
    again = reopened(accountant, tmp_path)
    assert again.closure == accountant.closure
    with pytest.raises(GateClosed, match="a function in map failed"):
        again.private([0.5], Interval(0, 1), "bob")
