"""The division of a verification's draws among the tests of a function."""

from __future__ import annotations

from dataclasses import dataclass

from mechanisms.parameters import ParameterError
from verify.conduct.effort import Effort
from verify.functions.runs import FunctionRuns
from verify.sampling.stage_sizes import FEWEST_SAMPLES

DRAWS_OF_ALL_TESTS = 20_000
"""Draws from which on there is enough for a search and for the floating-point test, too."""


@dataclass(frozen=True, kw_only=True)
class _Shares:
    """The shares of the tests in the draws; the values were chosen by hand.

    Attributes
    ----------
    search
        Share of the search for neighbours, where a function is called once per draw.
    wide, widest
        Number of columns from which on a view is drawn less often, in proportion; and the share of the widest views.
    lattice
        Share of the floating-point test.
    full_width, full_width_of_calls
        Largest number of entries of an output with all draws of the effort: where a call answers for many lanes, and
        for one lane, whose entries Python code makes one by one.
    second, second_of_lanes
        Draws of a second test for each of the first: where a call answers for one lane, and for many.
    """

    search: float = 0.3
    wide: int = 7
    widest: float = 0.7
    lattice: float = 0.1
    full_width: int = 64
    full_width_of_calls: int = 10
    second: int = 4
    second_of_lanes: int = 3


_SHARES = _Shares()


@dataclass(frozen=True)
class DrawBudget:
    """The draws of one verification.

    Attributes
    ----------
    runs
        Calls of the subject; the width of its outputs is known after a first look.
    effort
        The effort that the caller chose.
    """

    runs: FunctionRuns
    effort: Effort

    @property
    def is_cheap(self) -> bool:
        """True if a call answers for many lanes, and starts no process."""
        return self.runs.together and self.runs.subject.single_lanes

    @property
    def samples(self) -> int:
        """Draws of all tests together."""
        if self.is_cheap:
            return self._fewer(self.effort.batch_samples)
        return self._fewer(
            self.effort.single_samples if self.runs.subject.single_lanes else self.effort.samples
        )

    @property
    def search(self) -> int:
        """Draws of the search for neighbours."""
        return (
            self._fewer(self.effort.search_samples) if self.is_cheap else int(_SHARES.search * self.samples)
        )

    def search_of(self, samples: int) -> int:
        """Return the draws of a search beside bets, if both have `samples` together."""
        return min(int(_SHARES.search * samples), self.effort.search_samples)

    @property
    def lattice(self) -> int:
        """Draws of the floating-point test; 0 if there are too few for it."""
        return int(_SHARES.lattice * self.samples) if self.samples >= DRAWS_OF_ALL_TESTS else 0

    def second(self, first: int) -> int:
        """Return the draws of a second test of a claim that a `first` leaves open; 0 if the caller gave the number."""
        if self.effort.given or not self.runs.subject.single_lanes:
            return 0
        return first * (_SHARES.second_of_lanes if self.is_cheap else _SHARES.second)

    @property
    def most_pairs(self) -> int:
        """Largest number of pairs for which there are enough draws to choose an event."""
        return max(self.samples // FEWEST_SAMPLES, 1)

    def main_test_draws(self, searched: int, columns: int) -> int:
        """Return the draws of the main test: those left by the other tests and, if draws are dear, by the search.

        Each column of a draw is drawn, sorted and counted: wide views are drawn less often.
        """
        left = self.samples - self.lattice - (0 if self.is_cheap else searched)
        return int(left * min(1.0, max(_SHARES.widest, _SHARES.wide / columns))) if self.is_cheap else left

    def check(self, *, floating_point: bool) -> None:
        """Refuse too few draws; `floating_point` is whether the test of the lowest bits counts.

        Raises
        ------
        ParameterError
            If there are fewer than 20,000 where the floating-point test counts.
        """
        if floating_point and not self.lattice:
            raise ParameterError(
                f"samples = {self.samples}: must be at least {DRAWS_OF_ALL_TESTS:,} with floating_point=True: the "
                "search and both tests share them"
            )

    def _fewer(self, draws: int) -> int:
        """Return `draws`, or fewer of outputs with many entries: they cost as much as all draws of the full width."""
        full = _SHARES.full_width if self.runs.together else _SHARES.full_width_of_calls
        if self.effort.given or self.runs.width <= full:
            return draws
        return min(draws, max(DRAWS_OF_ALL_TESTS, draws * full // self.runs.width))
