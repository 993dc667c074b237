"""The settings of a verification of any subject: effort, seed, progress and time limit."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from verify.conduct.effort import Effort
from verify.conduct.progress import Progress, no_progress
from verify.conduct.time_limit import SECONDS


@dataclass(frozen=True)
class Conduct:
    """The conduct of a verification: the settings that all tests take, beside their subject and its claim.

    Attributes
    ----------
    effort
        The effort preset: the amount of work, and the probabilities of error.
    seed
        The seed of everything random.
    reproduce
        The command line, or the Python call, that repeats the verification.
    progress
        Function that is called with the share done and the name of the current stage.
    seconds
        The time limit, above 0, infinity for none. A verification that it ends reports its findings until then, and
        that it was stopped.
    began
        Time of the beginning, by `time.monotonic`.
    """

    effort: Effort
    seed: int
    reproduce: str
    progress: Progress = no_progress
    seconds: float = SECONDS
    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed_seconds(self) -> float:
        """Seconds of the time limit that are over."""
        return time.monotonic() - self.began
