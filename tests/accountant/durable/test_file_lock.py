"""A lock that is held by a process, and ends with it however it ends."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from accountant.durable.file_lock import FileLock, InUse

HOLDER = """
import sys, time
from pathlib import Path
from accountant.durable.file_lock import FileLock
lock = FileLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_another_process_is_named_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(InUse, match=rf"lock is held by process {other.pid} on \S+ since \d{{4}}-"):
                FileLock(path)
        finally:
            other.send_signal(signal.SIGKILL)
        other.wait()
    FileLock(path).check()


def test_released_or_forgotten_it_is_free(tmp_path: Path) -> None:
    first = FileLock(tmp_path / "lock")
    with pytest.raises(InUse, match=rf"held by this process, in another object \(process {os.getpid()} "):
        FileLock(tmp_path / "lock")
    first.release()
    first.release()
    with pytest.raises(InUse, match="given back"):
        first.check()
    second = FileLock(tmp_path / "lock")
    second.check()
    del second
    gc.collect()
    FileLock(tmp_path / "lock").check()


def test_a_fork_neither_has_it_nor_holds_it_up(tmp_path: Path) -> None:
    """A server that forks its workers after loading must not let each of them go on with the run."""
    path = tmp_path / "lock"
    lock = FileLock(path)
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:  # no assertion may leave this branch
        try:
            lock.check()
            verdict = b"has it"
        except InUse as refusal:
            verdict = b"fork" if "is a fork" in str(refusal) else b"?"
        os.write(ready[1], verdict)
        os.read(go[0], 1)
        os._exit(0)
    try:
        assert os.read(ready[0], 10) == b"fork"
        lock.release()
        FileLock(path).check()  # though the child lives
    finally:
        os.write(go[1], b".")
        os.waitpid(child, 0)
        for end in (*ready, *go):
            os.close(end)


def test_a_file_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = FileLock(path)
    path.unlink()
    with pytest.raises(InUse, match="deleted or replaced"):
        lock.check()
    other = FileLock(path)
    with pytest.raises(InUse, match="deleted or replaced"):
        lock.check()
    other.check()


def test_symlinks_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"untouched")
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="lock"):
        FileLock(tmp_path / "lock")
    assert (tmp_path / "elsewhere").read_bytes() == b"untouched"


def test_a_system_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accountant.durable.file_lock.fcntl", None)
    with pytest.warns(UserWarning, match="no flock"):
        FileLock(tmp_path / "lock").check()


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("apt lock 123")
    with pytest.raises(ValueError, match=r"lock: is no lock of this library: it holds 'apt lock 123'"):
        FileLock(tmp_path / "lock")
    assert (tmp_path / "lock").read_text() == "apt lock 123"
    for left in ("", "\0" * 60, "proc", "process 7 on vm since 2026"):  # what a crash leaves
        (tmp_path / "lock").write_text(left)
        FileLock(tmp_path / "lock").release()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("accountant.durable.file_lock.fcntl.flock", refuse)
    with pytest.raises(OSError, match=r"gives no locks \(flock\).*local disk.*/lock'") as refusal:
        FileLock(tmp_path / "lock")
    assert refusal.value.errno == code


def test_it_says_whether_it_is_held(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.held
    lock.release()
    assert not lock.held
