"""Where a run is kept: a journal that grows, a state that is replaced, and a lock."""

from __future__ import annotations

import errno
import json
import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from accountant.durable.file_lock import FileLock
from accountant.durable.journal import Journal, Mark
from accountant.durable.whole_file import sync_folder, whole_file
from accountant.stores.location import location_of
from accountant.stores.refusals import StoreMoved
from algorithms.durable.state import Arrays

_FORMAT = "dpwitness-run-2"
_SINGLE_FILE = "dpwitness-run-1"
_TEXT = "run"  # the archive's entry that holds the JSON; all others are arrays
STATE, JOURNAL, LOCK = "state.npz", "journal.jsonl", "lock"
_UNFINISHED = f"{STATE}.*.partial"
_BEGUN = "first-save.partial"  # there until the first save has ended: what lies beside it counts nothing yet


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

    def __init__(self, path: Path, lock: FileLock, journal: Journal, *, fresh: bool) -> None:
        self.path = path
        self._lock = lock
        self.journal = journal
        self._fresh = fresh

    @classmethod
    def claim(cls, path: Path, journal: Journal) -> RunFolder:
        """Take a folder for a run that begins; it is made, mode 700, if it does not exist.

        Raises
        ------
        InUse
            If another process has it open.
        ValueError
            If it holds a run already, what is left of one, or anything that is not of a run; or if it is a file, or its
            own folder does not exist.
        OSError
            If it cannot be made or written to.
        """
        path = path.absolute()  # wherever the process goes
        parent = path.parent
        if (path.exists() and not path.is_dir()) or not parent.is_dir():
            raise ValueError(f"folder={str(path)!r}: must be a folder, or a new name in a folder that exists")
        if not path.exists():
            path.mkdir(mode=0o700)
            sync_folder(parent)
        _refuse_others(path)
        lock = FileLock(path / LOCK)
        try:
            _refuse_others(path)
            if (path / STATE).exists():
                raise ValueError(
                    f"folder={str(path)!r}: holds a run, whose budgets a new one would forget: go on with it by load, "
                    "or give the new run a folder of its own"
                )
            (path / _BEGUN).touch(mode=0o600)
            _sweep(path)
            journal.create(path / JOURNAL)  # in the place of what a first save left that did not end
            return cls(path, lock, journal, fresh=True)
        except BaseException:
            journal.close()
            lock.release()
            raise

    @classmethod
    def open(cls, path: Path, *, adopt: bool = False) -> tuple[RunFolder, dict[str, Any], Arrays, list[Any]]:
        """Take the folder of a run that goes on.

        Parameters
        ----------
        path
            The folder.
        adopt
            Whether it may be a copy, or have been moved.

        Returns
        -------
        tuple
            The folder, the state, its arrays and the journal's rows.

        Raises
        ------
        InUse
            If another process has it open.
        StoreMoved
            If it is a copy.
        ValueError
            If it holds no run, or a damaged one.
        OSError
            If there is no such folder, or it cannot be read.
        """
        path = path.absolute()
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        if path.is_file():
            raise ValueError(_what_file(path))
        if not (path / STATE).exists():
            if _lost(path):
                raise ValueError(_LOST.format(path=path))
            raise ValueError(f"{path}: holds no saved run: there is no {STATE}, so no save has ended here")
        lock = FileLock(path / LOCK)
        journal = None
        try:
            (path / _BEGUN).unlink(missing_ok=True)
            _sweep(path)
            saved, arrays = _read_state(path)
            if not adopt and saved.get("location", here := location_of(path / JOURNAL)) != here:
                raise StoreMoved(
                    f"{path}: is a copy, or was moved to another disk or machine: the original may spend the same "
                    "budgets, and may have since. If the original is gone or will never go on, say so "
                    "with load(..., adopt=True)"
                )
            journal, rows = Journal.read(path / JOURNAL, Mark(**saved["journal"]))
            return cls(path, lock, journal, fresh=False), saved, arrays, rows
        except BaseException as error:
            if journal is not None:
                journal.close()
            lock.release()
            if isinstance(error, LookupError | TypeError):
                raise ValueError(f"{path}: damaged run ({type(error).__name__}: {error})") from None
            raise

    @property
    def kept(self) -> bool:
        """Whether a write has ended here: the run is kept here from then on."""
        return not self._fresh or (self.path / STATE).exists()

    def write(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Bring the journal's new rows and the state to the disk.

        Raises
        ------
        InUse
            If this process does not hold the folder any more.
        ValueError
            If somebody else deleted, replaced or cut the journal.
        OSError
            If a file cannot be written; what was there before counts, and the next write tries again.
        """
        self._lock.check()
        mark = self.journal.sync()
        text = json.dumps(
            {
                "format": _FORMAT,
                **state,
                "journal": {"size": mark.size, "digest": mark.digest},
                "location": location_of(self.path / JOURNAL),
            }
        )
        with whole_file(self.path / STATE) as file:
            np.savez(file, **{_TEXT: np.frombuffer(text.encode(), dtype=np.uint8)}, **arrays)  # type: ignore[arg-type]
        self.journal.settle(mark)
        if self._fresh:
            (self.path / _BEGUN).unlink(missing_ok=True)
            self._fresh = False

    def close(self) -> None:
        """Give the folder free; what a first save left that did not end is removed, but for the folder and its lock."""
        if self._lock.held and not self.kept:
            (self.path / JOURNAL).unlink(missing_ok=True)
            _sweep(self.path)
            (self.path / _BEGUN).unlink(missing_ok=True)
        self.journal.close()
        self._lock.release()


def _refuse_others(path: Path) -> None:
    """Refuse a folder that holds anything but what a first save leaves, or a whole run."""
    for name in sorted(entry.name for entry in path.iterdir()):
        if name not in (STATE, JOURNAL, LOCK, _BEGUN) and not fnmatchcase(name, _UNFINISHED):
            raise ValueError(
                f"folder={str(path)!r}: holds {name!r}: must be new, or empty, for a run to begin"
            )
    if _lost(path):
        raise ValueError(f"folder={_LOST.format(path=repr(str(path)))}")


_LOST = (
    f"{{path}}: holds a {JOURNAL}, but no {STATE}: the charges of a run whose state was lost, or a file of something "
    "else. Put the state back that belongs to it, or give a new run a folder of its own"
)


def _lost(path: Path) -> bool:
    return (path / JOURNAL).exists() and not (path / STATE).exists() and not (path / _BEGUN).exists()


def _sweep(path: Path) -> None:
    """Remove the states that a process had not finished when it was killed."""
    for left in path.glob(_UNFINISHED):
        left.unlink(missing_ok=True)


def _what_file(path: Path) -> str:
    try:
        single = _read_archive(path)[0].get("format") == _SINGLE_FILE
    except Exception:  # anything: it is some file
        single = False
    if single:
        return (
            f"{path}: was saved by an earlier version of dpwitness as a single file (format {_SINGLE_FILE!r}): must be "
            f"a folder (format {_FORMAT!r}) now; end that run with the version that began it"
        )
    return f"{path}: not a saved run: must be a folder (format {_FORMAT!r})"


def _read_archive(path: Path) -> tuple[Any, Arrays]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    return json.loads(arrays.pop(_TEXT).tobytes()), arrays


def _read_state(path: Path) -> tuple[dict[str, Any], Arrays]:
    try:
        saved, arrays = _read_archive(path / STATE)
    except OSError:
        raise
    except Exception as error:  # NumPy, zipfile and zlib each have errors of their own for a damaged file
        raise ValueError(f"{path / STATE}: not a saved run ({type(error).__name__})") from None
    if not isinstance(saved, dict) or saved.get("format") != _FORMAT:
        raise ValueError(f"{path / STATE}: not a saved run of format {_FORMAT!r}")
    return saved, arrays
