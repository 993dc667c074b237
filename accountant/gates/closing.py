"""Gates that shut for good once an error has told something about private data, and while a mechanism draws."""

from __future__ import annotations

import threading

from accountant.place import Place, calling_place
from accountant.refusals import GateBusy, GateClosed


class Closing:
    """Mixin of all gates: it shuts the gate when code around private data fails.

    Whether a function of private data fails can depend on the data. A caller that catches the error would
    learn it for free; so the gate shuts, and everything that follows is refused.

    It is shut for the time of a draw (`accountant.gates.release.Drawing`), too, to whatever runs inside of it: a
    function that follows a mechanism is post-processing only as long as it sees nothing but what was released.
    """

    _closed: tuple[str, Place] | None = None
    _drawing: int | None = None  # the thread in which a mechanism draws

    @property
    def closed(self) -> tuple[str, Place] | None:
        """The reason and the place for which the gate was shut; None while it is open."""
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
        GateBusy
            If this runs inside of a release.
        """
        if self._drawing == threading.get_ident():
            raise GateBusy(
                "the gate is used inside of a release, by a function that follows its mechanism: what "
                "follows a mechanism sees released values only; release both one after the other",
                calling_place(),
            )
        if self._closed is not None:
            why, where = self._closed
            raise GateClosed(f"the gate is closed since {where}: {why}", calling_place())
