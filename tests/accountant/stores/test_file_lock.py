"""A lock that is held by a process, and ends with it however it ends."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from accountant.stores import file_lock
from accountant.stores.file_lock import FileLock, one_at_a_time
from accountant.stores.store_refusals import InUse

HOLDER = """
import sys, time
from accountant.stores.file_lock import FileLock, one_at_a_time
lock = FileLock(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""


def test_another_process_is_named_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
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
    FileLock(path).release()


def test_released_or_forgotten_it_is_free(tmp_path: Path) -> None:
    first = FileLock(str(tmp_path / "lock"))
    with pytest.raises(InUse, match=rf"held by this process, in another object \(process {os.getpid()} "):
        FileLock(str(tmp_path / "lock"))
    first.release()
    first.release()
    second = FileLock(str(tmp_path / "lock"))
    del second
    gc.collect()
    FileLock(str(tmp_path / "lock")).release()


def test_a_fork_neither_has_it_nor_holds_it_up(tmp_path: Path) -> None:
    """A server that forks its workers after loading must not let each of them go on with the run."""
    path = str(tmp_path / "lock")
    lock = FileLock(path)
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:  # no assertion may leave this branch
        try:
            verdict = b"has it" if lock.is_held else b"fork"
        except BaseException:
            verdict = b"?"
        os.write(ready[1], verdict)
        os.read(go[0], 1)
        os._exit(0)
    try:
        assert os.read(ready[0], 10) == b"fork"
        lock.release()
        FileLock(path).release()  # though the child lives
    finally:
        os.write(go[1], b".")
        os.waitpid(child, 0)
        for end in (*ready, *go):
            os.close(end)


@pytest.mark.parametrize("killed", [False, True])
def test_a_fork_that_falls_into_a_turn_holds_nobody_up(tmp_path: Path, killed: bool) -> None:
    """One thread charges while another forks: all charges of all processes waited until the child ended."""
    path = str(tmp_path / "lock")
    go = os.pipe()
    parent = os.fork() if killed else 0
    if parent == 0:
        with one_at_a_time(path):
            child = os.fork()
            if child == 0:
                os.close(go[1])
                os.read(go[0], 1)
                os._exit(0)
            if killed:
                os._exit(0)
    else:
        os.waitpid(parent, 0)
    try:
        with one_at_a_time(
            path, wait=10.0
        ):  # though the child lives, which closes the file when it begins to run
            pass
    finally:
        os.close(go[1])
        os.close(go[0])
        if not killed:
            os.waitpid(child, 0)


def test_symlinks_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"untouched")
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="lock"):
        FileLock(str(tmp_path / "lock"))
    assert (tmp_path / "elsewhere").read_bytes() == b"untouched"


def test_a_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accountant.stores.file_lock.fcntl", None)
    with pytest.raises(OSError, match="gives no locks"):
        FileLock(str(tmp_path / "lock"))
    with pytest.raises(OSError, match="gives no locks"), one_at_a_time(str(tmp_path / "lock")):
        pass


def test_who_hangs_in_a_turn_is_named_and_keeps_the_lock(tmp_path: Path) -> None:
    path, (ready, go) = str(tmp_path / "lock"), (os.pipe(), os.pipe())
    child = os.fork()
    if child == 0:
        with one_at_a_time(path):
            os.write(ready[1], b".")
            os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    os.kill(child, signal.SIGSTOP)
    try:
        for _ in range(2):
            begun = time.monotonic()
            with (
                pytest.raises(InUse, match=f"held by process {child} on ") as refused,
                one_at_a_time(path, wait=0.2),
            ):
                pass
            assert time.monotonic() - begun >= 0.2
            assert refused.value.holder.startswith(f"process {child} on ")
    finally:
        os.kill(child, signal.SIGCONT)
        os.write(go[1], b".")
        os.waitpid(child, 0)
        for end in (*ready, *go):
            os.close(end)
    with one_at_a_time(path, wait=0.0):
        pass


def test_what_a_crash_left_in_the_file_locks_nothing(tmp_path: Path) -> None:
    for left in ("", "\0" * 60, "proc", "process 7 on vm since 2026"):
        (tmp_path / "lock").write_text(left)
        FileLock(str(tmp_path / "lock")).release()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("accountant.stores.file_lock.fcntl.flock", refuse)
    with pytest.raises(OSError, match=r"gives no locks \(flock\).*local disk.*/lock'") as refusal:
        FileLock(str(tmp_path / "lock"))
    assert refusal.value.errno == code


def test_it_says_whether_it_is_held(tmp_path: Path) -> None:
    lock = FileLock(str(tmp_path / "lock"))
    assert lock.is_held
    lock.release()
    assert not lock.is_held


def test_an_interruption_on_any_line_keeps_no_lock(tmp_path: Path) -> None:
    """It did where it came just before the file was closed: the next one to ask in that process waited for ever."""
    path = str(tmp_path / "lock")
    left = 0

    def stops(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != file_lock.__file__:
            return None
        left -= event == "line"
        if left < 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return stops

    before, line, ended = sys.gettrace(), 0, False
    while not ended:
        left = line
        sys.settrace(stops)
        try:
            with file_lock.one_at_a_time(path):
                pass
            ended = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        FileLock(path).release()  # refused, if it is still held
        line += 1
    assert line > 5
