"""Who may spend a budget: one process, and only for as long as what it spends is kept."""

from __future__ import annotations

import os

from accountant.place import calling_place
from accountant.refusals import GateClosed


class Tenure:
    """The right of this process, and none of its forks, to release through an accountant, until `end`.

    Attributes
    ----------
    process
        This process.
    ended
        Why it has ended; None while it lasts.
    """

    def __init__(self) -> None:
        self.process = os.getpid()
        self.ended: str | None = None

    def end(self, why: str) -> None:
        """End it; the first reason stays."""
        if self.ended is None:
            self.ended = why

    def check(self) -> None:
        """Refuse unless it lasts.

        Raises
        ------
        GateClosed
            After `end`, or in a forked child, whose releases the budget would not remember.
        """
        if os.getpid() != self.process:
            raise GateClosed(
                f"this process ({os.getpid()}) is a fork of process {self.process}, which spends this budget: "
                "nothing may be released here",
                calling_place(),
            )
        if self.ended is not None:
            raise GateClosed(self.ended, calling_place())
