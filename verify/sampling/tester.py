"""The parts of a test: the source of its pairs of worlds, and their tester.

A layer that knows worlds on which a claim may fail is a `CandidateSource`; where there is nothing to wait for, that
is the `Candidates` themselves. A `Tester` draws from them and returns a result (`verify.sampling.counted_event`). There
are two: the `SingleLook` of this module has the source search for all promising pairs, and tests once; the bets of
`verify.betting.bets` begin with the known pairs, and have the source search only if these show nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from verify.conduct.conduct import Conduct
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.black_box import black_box_test
from verify.sampling.black_box_result import BlackBoxResult
from verify.sampling.counted_event import CountedEvent
from verify.sampling.draws import ClaimTest
from verify.sampling.stage_sizes import fewest_samples


class CandidateSource(ABC):
    """The source of a test's pairs of worlds: all at once for a single look, one after the other for bets."""

    @property
    def search_samples(self) -> int:
        """Approximate number of draws that `further_candidates` spends; 0 if there is nothing to search for."""
        return 0

    @property
    def calls_are_dear(self) -> bool:
        """True if a call costs so much that as many draws as possible should come of each."""
        return False

    @property
    def share_of_wealth(self) -> float:
        """Share of the wealth that bets on this source may stake: the rest is kept for another."""
        return 1.0

    @abstractmethod
    def best_candidates(self) -> Candidates:
        """Search, and return all that is worth a single look."""

    @abstractmethod
    def known_candidates(self, earlier: Sequence[Mapping[str, Any]]) -> Candidates:
        """Return the candidates that can be bet on without a search.

        Parameters
        ----------
        earlier
            `NeighbouringWorlds.found` of pairs that searches of earlier runs found.

        Raises
        ------
        ParameterError
            If these are no pairs of the source's.
        """

    def further_candidates(self, left: int) -> Candidates:
        """Search for more pairs to bet on, beside the known ones, with `left` draws to spend."""
        raise NotImplementedError(f"{type(self).__name__} has nothing to search for")


@dataclass(frozen=True, eq=False)
class Candidates(CandidateSource):
    """Pairs of neighbouring worlds, and how they may be tested.

    Attributes
    ----------
    worlds
        The pairs.
    samples
        The most draws of all of them together.
    searched
        Draws that finding them took.
    share_of_error, share_of_false_alarm
        The shares of both errors that a single look may spend. The rest is spent elsewhere.
    negligible
        Part of the false-alarm rate that is set aside for negligible events, which no draw shows.
    """

    worlds: Sequence[NeighbouringWorlds]
    samples: int
    searched: int = 0
    share_of_error: float = 1.0
    share_of_false_alarm: float = 1.0
    negligible: float = 0.0

    def best_candidates(self) -> Candidates:
        """Return these: there are no others."""
        return self

    def known_candidates(self, earlier: Sequence[Mapping[str, Any]]) -> Candidates:
        """Return these: there are no others."""
        return self


@dataclass(frozen=True)
class Pace:
    """The time limit of bets, and a task during them.

    Attributes
    ----------
    seconds
        The time that they may take.
    to_the_end
        True if they go on for a better bound when the claim is refuted.
    meanwhile
        Function that is called once, when there is a first bound.
    """

    seconds: float = math.inf
    to_the_end: bool = False
    meanwhile: Callable[[], None] | None = None


ONCE = Pace()
"""Until the claim is refuted or the draws are spent, however long that takes."""


class Tester(Protocol):
    """Tests a claim on pairs of worlds.

    Attributes
    ----------
    anytime
        True if its bounds hold whenever it is stopped, and for many runs together.
    """

    anytime: ClassVar[bool]

    def test(
        self, source: CandidateSource, conduct: Conduct, *, epsilon: float, delta: float
    ) -> CountedEvent:
        """Test the claim (epsilon, delta) on the source's worlds.

        Raises
        ------
        ParameterError
            If there are too few draws.
        Stop
            If it came before anything was seen that says something.
        """
        ...


class PacedTester(Tester, Protocol):
    """A tester with a result that holds at any end."""

    def at_pace(self, pace: Pace, share_of_error: float = 1.0) -> Tester:
        """Return the tester that goes on until then, and may spend this share of every error."""
        ...


@dataclass(frozen=True)
class SingleLook:
    """The test of one event that is fixed before: see `verify.sampling.black_box`.

    Attributes
    ----------
    lattice
        If True, only the place of numbers on the floating-point lattice is tested.
    """

    anytime: ClassVar[bool] = False  # before its end it has no bound, or a weaker one
    lattice: bool = False

    def test(
        self, source: CandidateSource, conduct: Conduct, *, epsilon: float, delta: float
    ) -> BlackBoxResult:
        """Search first, then test all pairs together; see `Tester`."""
        chosen, effort = source.best_candidates(), conduct.effort
        result = black_box_test(
            chosen.worlds,
            ClaimTest(
                epsilon=epsilon,
                delta=delta,
                samples=max(chosen.samples, fewest_samples(len(chosen.worlds))),
                confidence=1.0 - chosen.share_of_error * (1.0 - effort.confidence),
                significance=chosen.share_of_false_alarm * effort.significance - chosen.negligible,
                seed=conduct.seed,
            ),
            progress=conduct.progress,
            executor=effort.executor,
            lattice=self.lattice,
        )
        return replace(result, search_samples=chosen.searched)
