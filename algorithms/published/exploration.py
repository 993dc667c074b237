"""Phased elimination as printed: it explores to the horizon, which cuts its last phase."""

from __future__ import annotations

from typing import ClassVar

from algorithms.linear.elimination import Elimination, P, design_counts
from algorithms.linear.g_optimal import g_optimal_design
from algorithms.linear.linear_phases import cut


class ExploresToTheEnd(Elimination[P]):
    """Learner without commitment: it plays the first plays of the phase that the horizon cuts, without reports."""

    needs_horizon: ClassVar[str] = "its widths are printed for a known number of rounds"

    @property
    def _settled(self) -> bool:
        """Printed without a stop: a single action goes on having phases (unless it is 0, with no design)."""
        return not self.actions[self.active].any()

    def _exploration(self, left: int, widest: float | None) -> P | None:
        """Return the design's phase, or what is left of it."""
        if self._settled:
            return None
        design = g_optimal_design(self.actions[self.active])
        support, number = self.active[design.support], self._number
        counts = design_counts(self.length(number), design.weights)
        phase = self._planned(number, support, counts, self._clients(number, counts))
        return phase if phase.rounds <= left else cut(phase, left)
