"""Gates that shut for good once an error has told something about private data."""

from __future__ import annotations

from accountant.place import Place, calling_place
from accountant.refusals import GateClosed


class Closing:
    """What every gate does when code around private data fails.

    Whether a function of private data fails can depend on the data. A caller that catches the error would
    learn it for free; so the gate shuts, and everything that follows is refused.
    """

    _closed: tuple[str, Place] | None = None

    @property
    def closed(self) -> tuple[str, Place] | None:
        """Why and where the gate was shut; None while it is open."""
        return self._closed

    def close(self, why: str, where: Place) -> None:
        """Shut the gate; the first reason stays."""
        if self._closed is None:
            self._closed = (why, where)

    def check_open(self) -> None:
        """Refuse if the gate is shut.

        Raises
        ------
        GateClosed
            With the reason, and the place where it was shut.
        """
        if self._closed is not None:
            why, where = self._closed
            raise GateClosed(f"the gate is closed since {where}: {why}", calling_place())
