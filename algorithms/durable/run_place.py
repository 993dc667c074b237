"""The place of a run: a folder with a store, readable by its owner alone, or a database."""

from __future__ import annotations

import errno
import json
import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accountant.files.whole_file import sync_folder
from accountant.stores.location import CHARGES, RUN_STORE
from accountant.stores.store_refusals import InUse
from accountant.terms import Terms
from algorithms.durable.state import StateArrays
from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    from accountant.stores.run_store import RunStore, Saved

_BESIDE = tuple(f"{RUN_STORE}{suffix}" for suffix in ("", "-wal", "-shm", ".lock", ".held", CHARGES))
_FORMER = "state.npz"
_LOOK_AGAIN = 0.05
"""Seconds between two attempts to open a run that is in use."""


RunLocation = Path | str
"""The absolute path of a folder, or the URL of a database."""


def absolute_location(where: str | Path) -> RunLocation:
    """Return a place that is the same wherever the process goes."""
    return where if isinstance(where, str) and "://" in where else Path(where).absolute()


def same_place(one: RunLocation, other: RunLocation) -> bool:
    """Return True if two locations are the same."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def location_name(where: RunLocation) -> str:
    """Return a location's name for messages, without a password."""
    if isinstance(where, Path):
        return str(where)
    from accountant.stores.database import Database

    return Database.from_location(where).name


def claim(where: RunLocation, terms: Terms) -> RunStore:
    """Take a place for a run that begins; a folder is made, mode 700, if it does not exist.

    Raises
    ------
    InUse
        If another process has it open.
    ParameterError
        If it holds a run already, or anything that is not of a run; or if it is a file, its own folder does not
        exist, or it is no database's URL.
    OSError
        If it cannot be made or written to.
    """
    from accountant.stores.run_store import RunStore  # loads SQLAlchemy, which takes 0.2 s

    if isinstance(where, str):
        return RunStore.begin(where, terms)
    path, parent = where, where.parent
    if (path.exists() and not path.is_dir()) or not parent.is_dir():
        raise ParameterError(
            f"where = {str(path)!r}: must be a folder, or a new name in a folder that exists, or the URL of a database"
        )
    if not path.exists():
        path.mkdir(mode=0o700)
        sync_folder(parent)
    _refuse_former(path)
    for name in sorted(entry.name for entry in path.iterdir()):
        if name not in _BESIDE:
            raise ParameterError(
                f"where = {str(path)!r}: holds {name!r}: must be new, or empty, for a run to begin"
            )
    run = RunStore.begin(path / RUN_STORE, terms)
    sync_folder(path)
    return run


def reopen(where: RunLocation, *, adopt: bool, wait: float = 0.0) -> tuple[RunStore, Saved]:
    """Take the place of a run that goes on, after `wait` seconds at most; see `DurableRun.load`."""
    from accountant.stores.run_store import RunStore

    store = where if isinstance(where, str) else _store_in(where)
    until = time.monotonic() + wait
    while True:
        try:
            return RunStore.open(store, adopt=adopt)
        except InUse:
            if time.monotonic() >= until:
                raise
        time.sleep(min(_LOOK_AGAIN, max(0.0, until - time.monotonic())))


def _store_in(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if not path.is_dir():
        raise ParameterError(f"{path}: must be the folder of a run, or the URL of its database{_SINGLE}")
    _refuse_former(path)
    if not (path / RUN_STORE).exists():
        raise ParameterError(
            f"{path}: holds no saved run: there is no {RUN_STORE}, so no save has ended here"
        )
    return path / RUN_STORE


def kept_in(where: RunLocation, name: str) -> bytes | None:
    """Return the value that a run kept by a name; this only reads, and works while another process has the run open.

    Raises
    ------
    ParameterError
        If there is no run, or the value is damaged.
    """
    from accountant.stores.run_store import RunStore

    return RunStore.kept_in(where if isinstance(where, str) else where / RUN_STORE, name)


def state_in(where: RunLocation) -> bytes:
    """Return the state that a run was saved with last, as `pack` packed it; read as by `kept_in`.

    Raises
    ------
    ParameterError
        If there is no saved run.
    """
    from accountant.stores.run_store import RunStore

    return RunStore.state_in(where if isinstance(where, str) else _store_in(where))


def pack(state: dict[str, Any], arrays: StateArrays) -> bytes:
    """Return a state and its arrays as bytes: a line of JSON, and the arrays' numbers one after the other."""
    kinds = [
        [key, array.dtype.str, array.shape, *([] if array.flags.c_contiguous else [_axes(array)])]
        for key, array in arrays.items()
    ]
    text = json.dumps({"state": state, "arrays": kinds}, separators=(",", ":"))
    numbers = (array.transpose(_axes(array)).tobytes() for array in arrays.values())
    return b"".join([text.encode("ascii"), b"\n", *numbers])


def _axes(array: npt.NDArray[Any]) -> list[int]:
    """Return the axes in the order in which memory has them: sums are taken in it, and so rounded."""
    if array.flags.c_contiguous:
        return list(range(array.ndim))
    return sorted(range(array.ndim), key=lambda axis: -array.strides[axis])


def unpack(packed: bytes) -> tuple[dict[str, Any], StateArrays]:
    """Return the state and arrays that `pack` packed."""
    line = packed.index(b"\n")
    saved = json.loads(packed[:line])
    arrays, start = {}, line + 1
    for key, kind, shape, *order in saved["arrays"]:
        size = math.prod(shape)
        numbers = np.frombuffer(packed, np.dtype(kind), count=size, offset=start)
        axes = order[0] if order else list(range(len(shape)))
        laid = numbers.reshape([shape[axis] for axis in axes]).copy()
        arrays[key] = laid.transpose(np.argsort(axes).tolist())
        start += numbers.nbytes
    return saved["state"], arrays


_SINGLE = "; a file that an earlier version of dpwitness saved can only be gone on with by that version"


def _refuse_former(path: Path) -> None:
    if (path / _FORMER).exists():
        raise ParameterError(
            f"{path}: holds {_FORMER!r}, a run that an earlier version of dpwitness saved: go on with it by that "
            "version, to its end, and give a new run, with records of its own, a folder of its own: it would not know "
            "what they spent"
        )
