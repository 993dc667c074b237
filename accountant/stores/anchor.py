"""Anchors: the last position and hash of a ledger in a file outside its store, best on another disk."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from accountant.files.data_files import from_json
from accountant.files.whole_file import whole_file
from accountant.stores.file_lock import one_at_a_time
from accountant.stores.store_refusals import OutcomeUnknown, StoreRefused
from mechanisms.parameters import ParameterError


@dataclass(frozen=True, slots=True)
class Mark:
    """The head of a store.

    Attributes
    ----------
    instance, epoch
        The identity of the store, and the number of its adoptions.
    position, hash
        Its last entry.
    """

    instance: str
    epoch: int
    position: int
    hash: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """The file for the head of a store, written before the output that it pays for leaves.

    A store that was rolled back, however, does not hold the entry that its anchor names. It costs two more waits for
    the disk in every commit. A rollback of both is not noticed.
    """

    path: Path

    @classmethod
    def at_path(cls, path: str | Path) -> Anchor:
        """Return the anchor at a path.

        Raises
        ------
        ParameterError
            If it is no file in a folder that exists.
        """
        found = Path(path).absolute()
        if found.is_dir() or not found.parent.is_dir():
            raise ParameterError(f"anchor = {str(path)!r}: must be a file in a folder that exists")
        return cls(found)

    def read_mark(self) -> Mark | None:
        """Return the head that was written last; None if there is no file.

        Raises
        ------
        StoreRefused
            If the file is none of an anchor.
        """
        if not self.path.exists():
            return None
        try:
            return Mark(**from_json(self.path.read_text(encoding="ascii")))
        except (TypeError, ValueError) as error:
            raise StoreRefused(f"{self.path}: not the anchor of a store ({error})") from None

    def write(self, mark: Mark) -> None:
        """Write the head, unless a later one is there; it is on the disk when this returns.

        Raises
        ------
        OutcomeUnknown
            If it cannot be written, as on a full disk: the store's commit counts, and nothing is drawn.
        """
        try:
            with one_at_a_time(f"{self.path}.lock"):
                known = self.read_mark()
                if known is not None and (known.epoch, known.position) > (mark.epoch, mark.position):
                    return  # another process, whose commit came later, was faster here
                with whole_file(self.path) as file:
                    file.write(json.dumps(asdict(mark)).encode("ascii"))
        except OSError as error:
            raise OutcomeUnknown(
                f"{self.path}: the anchor could not be written ({error}): what was charged is in the store, and counts"
            ) from error
