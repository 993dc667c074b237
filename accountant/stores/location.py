"""Where a store lies, as far as that tells an original from a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

RUN_STORE = "ledger.db"
"""The store of a run, in the run's folder."""


def location_of(path: Path) -> dict[str, Any]:
    """Return device, file number and machine: a copy has another number, or is on another machine.

    A file that was only renamed has them still, and so has a copy that was written over the original.
    """
    found = path.stat()
    return {"device": found.st_dev, "file": found.st_ino, "machine": _machine()}


def _machine() -> str:
    for name in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            return Path(name).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
    return ""
