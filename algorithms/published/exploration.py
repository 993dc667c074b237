"""Phased elimination as printed: one width for all actions, and exploration until the horizon cuts the last phase."""

from __future__ import annotations

import math

import numpy as np

from algorithms.linear.elimination import Elimination, design_counts, inverse_root
from algorithms.linear.g_optimal import g_optimal_design
from algorithms.linear.linear_phases import Phase, PhaseType
from mechanisms.arrays import FloatArray


class ExploresToTheEnd(Elimination[PhaseType]):
    """Learner without commitment: it plays the first plays of the phase that the horizon cuts, without reports."""

    needs_horizon = "its widths are printed for a known number of rounds"

    @property
    def _settled(self) -> bool:
        """Printed without a stop: a single action goes on having phases (unless it is 0, with no design)."""
        return not self.actions[self.active].any()

    def _exploration(self, left: int, widest: float | None) -> PhaseType | None:
        """Return the design's phase, or the part of it before the end."""
        if self._settled:
            return None
        design = g_optimal_design(self.actions[self.active])
        support, number = self.active[design.support], self._number
        counts = design_counts(self.length(number), design.weights)
        phase = self._planned(number, support, counts, self._clients(number, counts))
        return phase if phase.rounds <= left else phase.cut(left)

    def values(self, phase: Phase, averages: FloatArray, noise: FloatArray) -> FloatArray:
        """Return the printed estimates: V_l = Σ T x xᵀ, theta~ = V_l⁻¹ Σ T x y~(x)."""
        points = self.actions[phase.support]
        root = inverse_root(points, phase.counts)
        theta = (phase.counts * averages) @ points @ root
        return theta @ (self.actions[self.active] @ root).T

    def widths(self, phase: Phase, noise: FloatArray) -> FloatArray:
        """Return the common width ``W_l = (√(2d/(|U| h_l)) + sigma/√|U| + sigma_n) √(2 ln(kT))``."""
        (k, d), clients = self.actions.shape, self._averaged(phase)
        spread = math.sqrt(2 * d / (clients * self.length(phase.number))) + self.sigma / math.sqrt(clients)
        width = (spread + self._width_of_noise(phase, noise)) * math.sqrt(2 * math.log(k * self.horizon))
        return np.full(self.active.size, width)

    def _width_of_noise(self, phase: Phase, noise: FloatArray) -> float:
        """Return sigma_n; without privacy 0."""
        return 0.0
