"""Results of blocks in a folder, for runs that are stopped, resumed, extended and merged.

``FOLDER/<identity of the work>/<number>.block``, one small file per block, written atomically. Its name contains
everything that determines it, so folders of several machines may be copied over each other: two files of one name are
equal. Each names its work and has a digest of its contents; no object is ever rebuilt from one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from accountant.files.data_files import DataFileError, from_json
from accountant.files.whole_file import whole_file
from algorithms.blocks.identity import environment
from mechanisms.parameters import DPWitnessError, ParameterError

Arrays = Mapping[str, npt.NDArray[Any]]
"""The result of a block: arrays of numbers by name."""

FORMAT = 1
"""The version of the files' format, part of every identity."""

_NAME = re.compile(r"([0-9]+)\.block")
_LONGEST = 1000  # bytes of the first line


class DamagedBlock(DPWitnessError, ValueError):
    """A stored file does not match its name; the message gives the remedy."""


@dataclass(frozen=True)
class BlockStore:
    """A folder of stored blocks.

    Attributes
    ----------
    folder
        The folder of the blocks; it is made when the first block is stored.

    Raises
    ------
    ParameterError
        If the folder is a file.
    """

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))
        if self.folder.exists() and not self.folder.is_dir():
            raise ParameterError(f"store = {str(self.folder)!r}: must be a folder")

    def stored_blocks(self, identity: str) -> _StoredBlocks:
        """Return the blocks of one piece of work."""
        return _StoredBlocks(self.folder / identity, identity)


@dataclass(frozen=True)
class _StoredBlocks:
    """The stored blocks of one piece of work.

    Attributes
    ----------
    folder
        The folder of the blocks.
    identity
        The identity of the work.
    """

    folder: Path
    identity: str

    def numbers(self) -> set[int]:
        """Return the numbers of all blocks that are stored."""
        if not self.folder.is_dir():
            return set()
        found = (_NAME.fullmatch(entry.name) for entry in os.scandir(self.folder))
        return {int(match[1]) for match in found if match}

    def read_block(self, number: int) -> Arrays:
        """Return a stored block.

        Raises
        ------
        DamagedBlock
            If the file is not of this block, or not as it was written.
        """
        path = self._path(number)
        first, _, contents = path.read_bytes().partition(b"\n")
        try:
            said: Any = from_json(first[:_LONGEST].decode("utf-8"))
        except (DataFileError, UnicodeDecodeError):
            said = None
        known = isinstance(said, dict) and "dpwitness block" in said
        if not known:
            raise DamagedBlock(f"{path}: is no stored block; take it out of the store")
        if said["dpwitness block"] != FORMAT:
            raise DamagedBlock(
                f"{path}: is of another version of the block format ({said['dpwitness block']!r}, not {FORMAT})"
            )
        if (said.get("identity"), said.get("number")) != (self.identity, number):
            raise DamagedBlock(
                f"{path}: is block {said.get('number')!r} of {said.get('identity')!r}, not of what its name says; "
                "put it back under its own name, or delete it"
            )
        if said.get("digest") != _digest(contents):
            raise DamagedBlock(f"{path}: is damaged; delete it, and the block is done again")
        try:
            with np.load(io.BytesIO(contents), allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except (BadZipFile, ValueError, EOFError, OSError) as error:
            raise DamagedBlock(f"{path}: holds no numbers ({error}); delete it") from None

    def write(self, number: int, arrays: Arrays, says: Mapping[str, Any]) -> None:
        """Store a block.

        Parameters
        ----------
        number, arrays
            The block.
        says
            A description of the work, JSON data, for a file beside the blocks that people can read.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        if not self.folder.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            told = {**says, "identity": self.identity, "environment": environment(), "format": FORMAT}
            with whole_file(self.folder / "work.json") as file:
                file.write(json.dumps(told, indent=1, sort_keys=True, default=str).encode() + b"\n")
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        contents = buffer.getvalue()
        said = {
            "dpwitness block": FORMAT,
            "identity": self.identity,
            "number": number,
            "digest": _digest(contents),
        }
        with whole_file(self._path(number)) as file:
            file.write(json.dumps(said).encode() + b"\n" + contents)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.block"


def _digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()
