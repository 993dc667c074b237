"""Privacy losses with finitely many values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from mechanisms.arrays import FloatArray
from mechanisms.point_masses import fourier_of_masses
from mechanisms.privacy_loss import ROUNDING, ComplexArray, LatticeAtoms, PrivacyLoss
from mechanisms.rounding import up


@dataclass(frozen=True)
class AtomicLoss(PrivacyLoss):
    """A loss with values ``losses[j]`` of probability ``probabilities[j]``: M(z) = Σ p_j e^{z l_j}.

    Probabilities are taken to carry a relative error of u (8 + 2 |ln p|): they come from an exponential.

    Parameters
    ----------
    losses : tuple of Fraction
        Distinct values.
    probabilities : tuple of float
        Their probabilities; with ``mass`` they add up to one.
    mass : float
        Probability of an infinite loss.
    """

    losses: tuple[Fraction, ...]
    probabilities: tuple[float, ...]
    mass: float = 0.0

    @cached_property
    def _hash(self) -> int:
        return hash((self.losses, self.probabilities, self.mass))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _arrays(self) -> tuple[FloatArray, FloatArray]:
        """Values and log probabilities of the atoms of positive probability."""
        kept = [(float(loss), p) for loss, p in zip(self.losses, self.probabilities, strict=True) if p > 0.0]
        values, masses = np.array(kept, dtype=np.float64).reshape(-1, 2).T
        return np.ascontiguousarray(values), np.log(masses)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return -up(-min(self.losses)), up(max(self.losses))

    @property
    def supremum(self) -> float:
        """The largest value, rounded up."""
        return self._ends[1]

    @property
    def infimum(self) -> float:
        """The smallest value, rounded down."""
        return self._ends[0]

    @property
    def infinite_mass(self) -> float:
        """Probability of an infinite loss."""
        return self.mass

    @cached_property
    def _lattice(self) -> LatticeAtoms:
        ordered = sorted(self.losses)
        differences = {b - a for a, b in zip(ordered, ordered[1:], strict=False)}
        return LatticeAtoms(tuple(sorted(differences)), ordered[0])

    @property
    def lattice(self) -> LatticeAtoms:
        """All values."""
        return self._lattice

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the tilted sum; see `fourier_of_masses`."""
        values, log_p = self._arrays
        relative = ROUNDING * (12.0 + 3.0 * np.abs(log_p) + 3.0 * s * np.abs(values))
        return fourier_of_masses(log_p + s * values, values, relative, 0.0, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """ln Σ p_j e^{s l_j}."""
        values, log_p = self._arrays
        return np.asarray(logsumexp(log_p[:, None] + values[:, None] * s, axis=0))
