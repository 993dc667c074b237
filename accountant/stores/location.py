"""The location of a store, by which a copy differs from the original."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUN_STORE = "ledger.db"
"""The store of a run, in the run's folder."""
CHARGES = ".charges"
"""Suffix of the file beside it with the charges since the last save."""


def location_of(path: Path) -> dict[str, Any]:
    """Return file number, time of birth and machine: a copy has others, or is on another machine.

    The device is noted, too, and tells only where no time of birth is known: a file system that is mounted again may
    have another number, and it is the same file.

    Also its name, and its folder's number: SQLite looks for its log, which has the last writes, by that name in that
    folder. A copy that was written over the original has all of them still.
    """
    real = path.resolve()
    found = real.stat()
    born = _birth_time(real)
    return {
        **({} if born is None else {"born": born}),
        "device": found.st_dev,
        "file": found.st_ino,
        "folder": real.parent.stat().st_ino,
        "machine": _machine(),
        "name": real.name,
    }


def same_location(made: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """True if a store is at the place where it was made or adopted."""
    return all(now.get(key) == value for key, value in made.items() if key != "device" or "born" not in made)


def left_log(path: Path, made: Mapping[str, Any]) -> Path | None:
    """Return the log of a file that was renamed without it, if it is there; `made` is the value of `location_of`."""
    real = path.resolve()
    former = real.with_name(made.get("name", real.name))
    log = former.with_name(f"{former.name}-wal")
    return log if not former.exists() and log.exists() and log.stat().st_size else None


_MOUNTS = Path("/proc/self/mountinfo")
_SHARED = re.compile(
    "9p|acfs|afs|beegfs|ceph|cifs|coda|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|smb3|smbfs|vboxsf|virtiofs|"
    "vmhgfs|fuse[.](blobfuse2?|ceph|ceph-fuse|davfs|gcsfuse|glusterfs|goofys|juicefs|mfs|rclone|s3fs|sshfs|vmhgfs-fuse)"
)
"""File systems that other machines may have mounted, too."""
_OF_SANDBOXES = ("9p", "virtiofs")


def shared_file_system(folder: Path) -> str | None:
    """Return the kind of a folder's file system if other machines may have it mounted, where Linux knows.

    Their locks may be none here, and SQLite's log is in the memory of one machine. On macOS SQLite itself takes no log
    on such a file system, and is refused for that. A root of kind 9p or virtiofs is a sandbox's or small virtual
    machine's, which its host serves to no other machine.
    """
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = [line.split() for line in _MOUNTS.read_text(errors="replace").splitlines()]
    except OSError:
        return None
    found = ((fields[fields.index("-") + 1], fields[4]) for fields in mounts if fields[2] == number)
    shared = (
        kind for kind, at in found if _SHARED.fullmatch(kind) and (at != "/" or kind not in _OF_SANDBOXES)
    )
    return next(shared, None)


def _birth_time(path: Path) -> str | None:
    """Return the time at which a file was made, in nanoseconds; None where its file system does not keep it."""
    found = _statx()
    if found is None:
        seconds = getattr(path.stat(), "st_birthtime", None)  # of macOS
        return None if seconds is None else str(round(seconds * 10**9))
    about = ctypes.create_string_buffer(256)
    if found(_HERE, os.fsencode(path), 0, _BORN, about) or not _number_at(about, 0, 4) & _BORN:
        return None
    return str(_number_at(about, 80, 8) * 10**9 + _number_at(about, 88, 4))


_HERE, _BORN = -100, 0x800  # AT_FDCWD, STATX_BTIME


def _number_at(about: ctypes.Array[ctypes.c_char], start: int, size: int) -> int:
    return int.from_bytes(about.raw[start : start + size], sys.byteorder)


@functools.cache
def _statx() -> Any:
    """Return Linux's ``statx``, which Python does not have; None where there is none."""
    return getattr(ctypes.CDLL(None), "statx", None) if sys.platform == "linux" else None


def _machine() -> str:
    for name in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            return Path(name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
    return ""
