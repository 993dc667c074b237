"""Who may spend a budget: one process, and only for as long as what it spends is kept."""

from __future__ import annotations

import os

from accountant.place import calling_place
from accountant.refusals import GateClosed


class Tenure:
    """The right of this process, and none of its forks, to release through an accountant, until `end`."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._ended: str | None = None

    def end(self, why: str) -> None:
        """End it; the first reason stays."""
        if self._ended is None:
            self._ended = why

    def check(self) -> None:
        """Refuse unless it lasts.

        Raises
        ------
        GateClosed
            After `end`, or in a forked child, whose releases the budget would not remember.
        """
        if os.getpid() != self._process:
            raise GateClosed(
                f"this process ({os.getpid()}) is a fork of process {self._process}, which spends this budget: "
                "nothing may be released here",
                calling_place(),
            )
        if self._ended is not None:
            raise GateClosed(self._ended, calling_place())
