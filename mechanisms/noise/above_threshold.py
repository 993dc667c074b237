"""Sparse vector with Gaussian noise: a run of queries that ends with the first one above a threshold.

**Theorem.** Let ρ ~ N(0, σ²) be drawn once and ν_i ~ N(0, τ²) for each of at most k queries, chosen by earlier
answers, the values f_i of which move by at most Δ when one record changes; let a run answer for each whether f_i + ν_i
>= T_i + ρ, and end with the first that is. With g_μ the Gaussian curve,

    δ(ε) <= k g_m(ε) + g_a(ε),  a = Δ/σ,  m² = a² + b²,  b = 2Δ/τ, or Δ/τ if a record moves all values in one direction.

*Proof.* While a run goes on all its answers are alike, so queries are fixed in advance. Let f_i and f'_i be the values
on both data sets, ρ' = ρ + Δ and ν'_i = ν_i + 2Δ. As f_i >= f'_i - Δ, f_i + ν_i < T_i + ρ implies f'_i + ν_i < T_i +
ρ'; as f_i <= f'_i + Δ, f_i + ν_i >= T_i + ρ implies f'_i + ν'_i >= T_i + ρ'. So the outcome i of the first data has at
most the probability of the outcome i of the second for noise ρ', ν_1, .., ν_{i-1}, ν'_i, which has the density R_i =
dN(Δ, σ²)/ dN(0, σ²) times dN(2Δ, τ²)/dN(0, τ²) at (ρ, ν_i) over the noise as it is; no outcome at all that with R_0,
the first factor. For a set of outcomes, w = e^ε and O_i the events of the second data, P - w P' <= Σ_i E[1_{O_i} (R_i -
w)] <= Σ_i E(R_i - w)^+: g_m for each of k, g_a for the run without an end. If all values move in one direction, and
those of the first data are the larger ones, ρ' = ρ and ν_i + Δ do; else ρ + Δ and ν_i + Δ. [] Data attain less.

The best choice of each threshold by backward recursion, given ρ, is below this by 4e-5 of ε at k = 1000 and δ = 1e-6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.numerics.rounding import square_root_up, up
from mechanisms.parameters import positive, whole_number
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile


@dataclass(frozen=True)
class AboveThresholdProfile(PrivacyProfile):
    """Upper curve of one run of sparse vector with Gaussian noise; see the module's theorem.

    Parameters
    ----------
    threshold_mu, query_mu : Fraction
        a and b, positive.
    queries : int
        k, at least 1.
    """

    threshold_mu: Fraction
    query_mu: Fraction
    queries: int
    bound = "sparse vector, outcome by outcome"

    def __post_init__(self) -> None:
        for name in ("threshold_mu", "query_mu"):
            positive(name, up(getattr(self, name)))
        whole_number("queries", self.queries, least=1)

    @property
    def pure_epsilon(self) -> None:
        """None: the loss is unbounded."""
        return None

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        both = square_root_up(self.threshold_mu**2 + self.query_mu**2)
        shown, none = (GaussianProfile(mu).bounds(epsilon)[1] for mu in (both, up(self.threshold_mu)))
        return np.minimum(1.0, self.queries * shown + none)
