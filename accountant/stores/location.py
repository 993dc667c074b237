"""Where a store lies, as far as that tells an original from a copy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUN_STORE = "ledger.db"
"""The store of a run, in the run's folder."""
CHARGES = ".charges"
"""Ends the name of the file beside it that has what was charged since the last save."""


def location_of(path: Path) -> dict[str, Any]:
    """Return device, file number and machine: a copy has another number, or is on another machine.

    Also its name, and its folder's number: SQLite looks for its log, which has what was written last, by that name in
    that folder. A copy that was written over the original has all of them still.
    """
    real = path.resolve()
    found = real.stat()
    return {
        "device": found.st_dev,
        "file": found.st_ino,
        "folder": real.parent.stat().st_ino,
        "machine": _machine(),
        "name": real.name,
    }


def same_location(made: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a store is where it was made or adopted; earlier versions noted less of that."""
    return all(now.get(key) == value for key, value in made.items())


def left_log(path: Path, made: Mapping[str, Any]) -> Path | None:
    """Return the log of a file that was renamed without it, if it is there; `made` is what `location_of` returned."""
    real = path.resolve()
    former = real.with_name(made.get("name", real.name))
    log = former.with_name(f"{former.name}-wal")
    return log if not former.exists() and log.exists() and log.stat().st_size else None


def _machine() -> str:
    for name in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            return Path(name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
    return ""
