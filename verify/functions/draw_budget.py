"""How the draws of a function's verification are shared out."""

from __future__ import annotations

from dataclasses import dataclass

from verify.conduct.effort import Effort
from verify.functions.runs import FunctionRuns


@dataclass(frozen=True, kw_only=True)
class _Shares:
    """How draws are shared out; the values were chosen by hand.

    Attributes
    ----------
    least
        Draws with which every stage has enough to lay out events.
    search
        Share of the draws that the search for neighbours gets, where a function is called once per draw.
    wide, widest
        Columns from which on a view is drawn less often, in proportion; and the share that the widest views get.
    lattice
        Share that the floating-point test gets.
    full_width
        Entries of an output up to which there are as many draws as the effort says.
    """

    least: int = 20_000
    search: float = 0.3
    wide: int = 7
    widest: float = 0.7
    lattice: float = 0.1
    full_width: int = 64


_SHARES = _Shares()


@dataclass(frozen=True)
class DrawBudget:
    """The draws of one verification.

    Attributes
    ----------
    runs
        Calls of the subject; how wide its outputs are is known after a first look.
    effort
        What the caller asked for.
    """

    runs: FunctionRuns
    effort: Effort

    @property
    def cheap(self) -> bool:
        """Whether a call answers for many lanes, and starts no process."""
        return self.runs.together and self.runs.subject.single_lanes

    @property
    def samples(self) -> int:
        """Draws of all tests together."""
        if self.cheap:
            return self._fewer(self.effort.batch_samples)
        return self._fewer(
            self.effort.single_samples if self.runs.subject.single_lanes else self.effort.samples
        )

    @property
    def search(self) -> int:
        """Draws of the search for neighbours."""
        return self._fewer(self.effort.search_samples) if self.cheap else int(_SHARES.search * self.samples)

    def search_of(self, samples: int) -> int:
        """Draws of a search beside bets that have so many in all."""
        return min(int(_SHARES.search * samples), self.effort.search_samples)

    @property
    def lattice(self) -> int:
        """Draws of the floating-point test."""
        return int(_SHARES.lattice * self.samples)

    def tested(self, searched: int, columns: int) -> int:
        """Draws of the main test: what the other tests leave, and where draws are dear, the `searched` ones.

        Each column of a draw is drawn, sorted and counted: wide views are drawn less often.
        """
        left = self.samples - self.lattice - (0 if self.cheap else searched)
        return int(left * min(1.0, max(_SHARES.widest, _SHARES.wide / columns))) if self.cheap else left

    def check(self) -> None:
        """Refuse too few draws.

        Raises
        ------
        ValueError
            If there are fewer than 20,000.
        """
        if self.samples < _SHARES.least:
            raise ValueError(
                f"samples={self.samples}: must be at least {_SHARES.least:,} for a function: the search for "
                "neighbours and the tests share them"
            )

    def _fewer(self, draws: int) -> int:
        """So many draws, or fewer of outputs with more than 64 entries: these cost as much as one of 64."""
        if self.effort.given or self.runs.width <= _SHARES.full_width:
            return draws
        return min(draws, max(_SHARES.least, draws * _SHARES.full_width // self.runs.width))
