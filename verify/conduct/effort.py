"""Effort presets: the draws and searches that a verification may spend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from algorithms.blocks.executor import Executor, Serial

FALSE_ALARM = 1e-4
"""The largest probability with which a true claim is refuted, all looks of one verification together, by default."""

CONFIRMATIONS = 8
"""Replays that confirm a difference: a coin of the subject's own, thrown once a run, passes for a leak with probability
at most 4⁻⁹."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """The sizes of a verification's three layers.

    Attributes
    ----------
    accounting_rounds
        Rounds of every accounting run.
    coupled_rounds, coupled_lanes
        Rounds of the coupled runs, and samples of every privacy loss.
    samples
        Draws of the view in the black-box test: all stages, both worlds, all pairs.
    view_rounds
        Rounds of an action sequence that the black-box test looks at.
    replays
        Recorded runs per pair of neighbours, for code that holds raw data.
    scan_rounds, scan_lanes
        Rounds and draws of the coupled runs that look for distinguishing transcripts.
    lane_rounds
        Rounds that all draws of the black-box test together may play.
    single_samples
        Draws of a function that is called once per draw.
    search_samples
        Draws that the search for neighbours may spend on a function that answers for many lanes at once.
    batch_samples
        As `samples`, for mechanisms and for functions that return many outputs at once: their draws cost
        nanoseconds.
    confidence
        The confidence of the lower bounds that rest on draws.
    executor
        The executor of the black-box test's draws; no result depends on it.
    significance
        The largest probability with which a true claim is refuted.
    given
        True if the caller set the number of draws: then there are as many, at any cost.
    """

    accounting_rounds: int
    coupled_rounds: int
    coupled_lanes: int
    samples: int
    view_rounds: int
    replays: int
    scan_rounds: int
    scan_lanes: int
    lane_rounds: int
    single_samples: int
    search_samples: int
    batch_samples: int
    confidence: float = 0.95
    executor: Executor = field(default_factory=Serial)
    significance: float = FALSE_ALARM
    given: bool = False

    def with_samples(self, samples: int | None, confidence: float) -> Effort:
        """Return the effort with this many draws in the black-box test, if given, and this confidence."""
        if samples is None:
            return replace(self, confidence=confidence)
        n = int(samples)
        return replace(
            self,
            samples=n,
            single_samples=n,
            batch_samples=n,
            search_samples=min(n, self.search_samples),
            confidence=confidence,
            given=True,
        )

    def for_horizon(self, horizon: int | None) -> Effort:
        """Return the effort with accounting runs of `horizon` rounds, and no layer longer than that.

        Raises
        ------
        ParameterError
            If the horizon is not a whole number of at least 1.
        """
        if horizon is None:
            return self
        from algorithms.learner import check_horizon  # a report shows levels, and runs no learner

        rounds = check_horizon(horizon)
        return replace(
            self,
            accounting_rounds=rounds,
            coupled_rounds=min(self.coupled_rounds, rounds),
            view_rounds=min(self.view_rounds, rounds),
            scan_rounds=min(self.scan_rounds, rounds),
        )


_SIZES: Mapping[str, tuple[int, int, int]] = {
    "accounting_rounds": (200, 1_000, 5_000),
    "coupled_rounds": (12, 24, 48),
    "coupled_lanes": (256, 512, 1_024),
    "samples": (100_000, 2_000_000, 20_000_000),
    "view_rounds": (3, 4, 8),
    "replays": (20, 100, 500),
    "scan_rounds": (32, 64, 1_024),
    "scan_lanes": (512, 2_048, 4_096),
    "lane_rounds": (1_000_000, 6_000_000, 60_000_000),
    "single_samples": (100_000, 400_000, 400_000),
    "search_samples": (1_000_000, 3_000_000, 3_000_000),
    "batch_samples": (1_000_000, 10_000_000, 60_000_000),
}
"""The sizes in the three efforts, the smallest first."""


def _effort(number: int) -> Effort:
    sizes: dict[str, Any] = {name: row[number] for name, row in _SIZES.items()}
    return Effort(**sizes)


EFFORTS = {name: _effort(number) for number, name in enumerate(("quick", "default", "thorough"))}
"""Efforts by name."""
