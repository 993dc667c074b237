"""The closing of gates: for good after an error that may depend on private data, and while a mechanism draws."""

from __future__ import annotations

import os
import threading

from accountant.place import Place, calling_place
from accountant.refusals import GateBusy, GateClosed


class Tenure:
    """The right of this process, and none of its forks, to release through an accountant, until `end`.

    Attributes
    ----------
    process
        This process.
    ended
        The reason for which it has ended; None while it lasts.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.ended: str | None = None

    def end(self, why: str) -> None:
        """End the tenure; the first reason stays."""
        if self.ended is None:
            self.ended = why


class Closing:
    """Mixin of all gates: it shuts the gate when code around private data fails.

    The failure of a function of private data can depend on the data. A caller that catches the error would
    learn it for free; so the gate shuts, and everything that follows is refused.

    It is shut during a draw (`accountant.gates.release.sample`), too, to all code that runs inside of it: a
    function that follows a mechanism is post-processing only as long as it sees released values alone.
    """

    _closed: tuple[str, Place] | None = None
    _drawing: int | None = None  # the thread in which a mechanism draws
    _tenure: Tenure | None = None

    @property
    def closure(self) -> tuple[str, Place] | None:
        """The reason and the place for which the gate was shut; None while it is open."""
        return self._closed

    def close(self, why: str, where: Place) -> None:
        """Shut the gate; the first reason stays."""
        if self._closed is None:
            self._closed = (why, where)

    def check_open(self) -> None:
        """Refuse if the gate is shut, or if this process may not release through it.

        Raises
        ------
        GateClosed
            With the reason, and the place where it was shut; after the end of its tenure; or in a forked child, whose
            releases the budget would not remember.
        GateBusy
            If this runs inside of a release.
        """
        if self._drawing is not None and self._drawing == threading.get_ident():
            raise GateBusy(
                "the gate is used inside of a release, by a function that follows its mechanism: what "
                "follows a mechanism sees released values only; release both one after the other",
                calling_place(),
            )
        if self._closed is not None:
            why, where = self._closed
            raise GateClosed(f"the gate is closed since {where}: {why}", calling_place())
        tenure = self._tenure
        if tenure is None:
            return
        if os.getpid() != tenure.process:
            raise GateClosed(
                f"this process ({os.getpid()}) is a fork of process {tenure.process}, which spends this budget: "
                "nothing may be released here",
                calling_place(),
            )
        if tenure.ended is not None:
            raise GateClosed(tenure.ended, calling_place())
