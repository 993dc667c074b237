"""How much work a verification may do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from algorithms.learner import check_horizon


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
    """

    accounting_rounds: int
    coupled_rounds: int
    coupled_lanes: int
    samples: int
    view_rounds: int
    replays: int

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
        )


EFFORTS: dict[str, Effort] = {
    "quick": Effort(200, 12, 256, 100_000, 3, 20),
    "default": Effort(1_000, 24, 512, 2_000_000, 4, 100),
    "thorough": Effort(5_000, 48, 1_024, 20_000_000, 8, 500),
}
"""Efforts by name."""
