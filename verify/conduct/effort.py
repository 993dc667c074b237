"""How much work a verification may do."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from algorithms.learner import check_horizon
from verify.conduct.options import check_number

FALSE_ALARM = 1e-4
"""The largest probability with which a true claim is refuted, all looks of one verification together, by default."""


@dataclass(frozen=True)
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
        Rounds and draws of the coupled runs that look for telling transcripts.
    lane_rounds
        Rounds that all draws of the black-box test together may play.
    single_samples
        Draws of a function that is called once per draw.
    search_samples
        Draws that the search for neighbours may spend on a function that answers for many lanes at once.
    confidence
        Of the lower bounds that rest on draws.
    false_alarm
        The largest probability with which a true claim is refuted.
    given
        Whether the draws were said by the caller: then there are as many, whatever they cost.
    batch_samples
        As `samples`, for mechanisms and for functions that return many outputs at once: their draws cost
        nanoseconds.
    workers
        Processes of the black-box test; no result depends on it.
    """

    accounting_rounds: int
    coupled_rounds: int
    coupled_lanes: int
    samples: int
    view_rounds: int
    replays: int
    scan_rounds: int = 64
    scan_lanes: int = 2_048
    lane_rounds: int = 6_000_000
    single_samples: int = 400_000
    search_samples: int = 3_000_000
    confidence: float = 0.95
    batch_samples: int = 10_000_000
    workers: int = 1
    false_alarm: float = FALSE_ALARM
    given: bool = False

    def with_samples(self, samples: int | None, confidence: float) -> Effort:
        """Return the effort with this many draws in the black-box test, if given, and this confidence.

        Raises
        ------
        ValueError
            If `samples` is not a whole number of at least 1, or `confidence` does not lie in [0.5, 1).
        """
        if not 0.5 <= check_number("confidence", confidence) < 1.0:
            raise ValueError(f"confidence={confidence!r}: must lie in [0.5, 1)")
        if samples is None:
            return replace(self, confidence=confidence)
        count = check_number("samples", samples)
        if not math.isfinite(count) or int(count) != count or count < 1:
            raise ValueError(f"samples={samples!r}: must be a whole number of at least 1")
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
        ValueError
            If the horizon is not a whole number of at least 1.
        """
        if horizon is None:
            return self
        rounds = check_horizon(horizon)
        return replace(
            self,
            accounting_rounds=rounds,
            coupled_rounds=min(self.coupled_rounds, rounds),
            view_rounds=min(self.view_rounds, rounds),
            scan_rounds=min(self.scan_rounds, rounds),
        )


EFFORTS: dict[str, Effort] = {
    "quick": Effort(
        200,
        12,
        256,
        100_000,
        3,
        20,
        32,
        512,
        1_000_000,
        batch_samples=1_000_000,
        search_samples=1_000_000,
        single_samples=100_000,
    ),
    "default": Effort(1_000, 24, 512, 2_000_000, 4, 100),
    "thorough": Effort(
        5_000, 48, 1_024, 20_000_000, 8, 500, 1_024, 4_096, 60_000_000, batch_samples=60_000_000
    ),
}
"""Efforts by name."""
