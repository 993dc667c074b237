"""Where a run is kept: a journal that grows, a state that is replaced, and a lock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from accountant.file_lock import FileLock
from accountant.journal import Journal, Mark
from accountant.whole_file import sync_folder, whole_file
from algorithms.state import Arrays

_FORMAT = "dpwitness-run-2"
_TEXT = "run"  # the archive's entry that holds the JSON; all others are arrays
STATE, JOURNAL, LOCK = "state.npz", "journal.jsonl", "lock"


class RunFolder:
    """The folder of one run, locked until `close`.

    A write is done when the new state takes the place of the old one, which happens at once or not at all. The state
    says how much of the journal counts, and the journal is on the disk before it. So whenever a process or the machine
    stops, what is there is exactly what some write left.

    Attributes
    ----------
    path
        The folder.
    journal
        Its journal.
    """

    def __init__(self, path: Path, lock: FileLock, journal: Journal) -> None:
        self.path = path
        self._lock = lock
        self.journal = journal

    @classmethod
    def claim(cls, path: Path, journal: Journal) -> RunFolder:
        """Take a folder for a run that begins; it is made, mode 700, if it does not exist.

        Raises
        ------
        InUse
            If another process has it open.
        ValueError
            If it holds a run already, or is a file, or its own folder does not exist.
        """
        path = path.absolute()  # wherever the process goes
        parent = path.parent
        if (path.exists() and not path.is_dir()) or not parent.is_dir():
            raise ValueError(f"folder={str(path)!r}: must be a folder, or a new name in a folder that exists")
        if not path.exists():
            path.mkdir(mode=0o700)
            sync_folder(parent)
        lock = FileLock(path / LOCK)
        try:
            if (path / STATE).exists():
                raise ValueError(
                    f"folder={str(path)!r}: holds a run, whose budgets a new one would forget: go on with it by load, "
                    "or give the new run a folder of its own"
                )
            _sweep(path)
            journal.create(path / JOURNAL)  # what a first save left that did not end
        except BaseException:
            lock.release()
            raise
        return cls(path, lock, journal)

    @classmethod
    def open(cls, path: Path) -> tuple[RunFolder, dict[str, Any], Arrays, list[Any]]:
        """Take the folder of a run that goes on.

        Returns
        -------
        tuple
            The folder, the state, its arrays and the journal's rows.

        Raises
        ------
        InUse
            If another process has it open.
        ValueError
            If it holds no run, or a damaged one.
        OSError
            If there is no such folder, or it cannot be read.
        """
        path = path.absolute()
        if path.is_file():
            raise ValueError(f"{path}: not a saved run: must be a folder (format {_FORMAT!r})")
        if path.is_dir() and not (path / STATE).exists():
            raise ValueError(f"{path}: holds no saved run: there is no {STATE}, so no save has ended here")
        lock = FileLock(path / LOCK)
        try:
            _sweep(path)
            saved, arrays = _read_state(path)
            journal, rows = Journal.read(path / JOURNAL, Mark(**saved["journal"]))
        except (LookupError, TypeError) as error:
            lock.release()
            raise ValueError(f"{path}: damaged run ({type(error).__name__}: {error})") from None
        except BaseException:
            lock.release()
            raise
        return cls(path, lock, journal), saved, arrays, rows

    def write(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Bring the journal's new rows and the state to the disk.

        Raises
        ------
        InUse
            If this process does not hold the folder any more.
        OSError
            If a file cannot be written; what was there before counts, and the next write tries again.
        """
        self._lock.check()
        mark = self.journal.sync()
        text = json.dumps({"format": _FORMAT, **state, "journal": {"size": mark.size, "digest": mark.digest}})
        with whole_file(self.path / STATE) as file:
            np.savez(file, **{_TEXT: np.frombuffer(text.encode(), dtype=np.uint8)}, **arrays)  # type: ignore[arg-type]

    def close(self) -> None:
        """Give the folder free."""
        self.journal.close()
        self._lock.release()


def _sweep(path: Path) -> None:
    """Remove the states that a process had not finished when it was killed."""
    for left in path.glob(f"{STATE}.*.partial"):
        left.unlink(missing_ok=True)


def _read_state(path: Path) -> tuple[dict[str, Any], Arrays]:
    try:
        with (path / STATE).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        saved = json.loads(arrays.pop(_TEXT).tobytes())
    except OSError:
        raise
    except Exception as error:  # NumPy, zipfile and zlib each have errors of their own for a damaged file
        raise ValueError(f"{path / STATE}: not a saved run ({type(error).__name__})") from None
    if not isinstance(saved, dict) or saved.get("format") != _FORMAT:
        raise ValueError(f"{path / STATE}: not a saved run of format {_FORMAT!r}")
    return saved, arrays
