"""Gaussian noise on a Poisson sample that is cut to a uniform subset where it exceeds the batch size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.amplification.gaussian_mixture import GaussianMixtureDirection
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError, open_unit, positive, whole_number
from mechanisms.profiles.subsampled import BothDirections

BOUND = "truncated batches"
_TAIL = 1e-9
"""Relative error of a binomial tail, at most."""
_NEXT_TO_NOTHING = 1e-290
_LEAST_SIGMA = 0.05
"""Quadratures of movements by 2 take too many nodes below."""
_LARGEST_SIGMA = 1e15
MOST_RECORDS = 10**8


def binomial_tail(size: int, rate: float, least: int) -> tuple[float, float]:
    """Return P(Bin(size, rate) < least) and P(Bin(size, rate) >= least) to `_TAIL` of themselves, for size <= 1e8.

    One that is below 1e-290 is rounded up to that. Sums of terms over that of the mode, each the product of quotients
    of neighbours. A quotient is off by 2.5 units of 2^-52, its product by another half. At most w = 38 sd + 502 <
    190,600 are multiplied, so quotients of sums are off by 6w 2^-52 < 3e-10. Numbers further than 38 sd + 500 from the
    mean have probability < 2e-300 (Bernstein: d² >= 1382 (sd² + d/3)).
    """
    reach = math.ceil(38.0 * math.sqrt(size * rate * (1.0 - rate))) + 501
    mode = min(size, math.floor((size + 1) * rate))
    first, last = max(0, mode - reach), min(size, mode + reach)
    up, down = np.arange(mode, last, dtype=np.float64), np.arange(mode, first, -1, dtype=np.float64)
    odds = rate / (1.0 - rate)
    above, below = np.cumprod((size - up) / (up + 1.0) * odds), np.cumprod(down / (size - down + 1.0) / odds)
    terms = np.concatenate((below[::-1], [1.0], above))
    cut = min(max(least - first, 0), terms.size)
    sums = float(np.sum(terms[:cut])), float(np.sum(terms[cut:]))
    less, more = (max(part / (sums[0] + sums[1]), _NEXT_TO_NOTHING) for part in sums)
    return less, more


@dataclass(frozen=True)
class TruncatedBatchProfile(BothDirections):
    """Upper curve of Gaussian noise on a Poisson sample of n records of which at most B are kept, uniformly.

    **Theorem.** Let τ = P(Bin(n-1, q) >= B) and ρ = B P(Bin(n, q) >= B+1) / nτ, records contributing vectors of norm at
    most 1. If one of n records is removed the output is dominated by the pair ((1-ρ) N_0 + ρ N_2, N_0) with probability
    τ, which is announced, else by ((1-q) N_0 + q N_1, N_0); if it is added by the reverse of these.

    *Proof.* Let K of the n-1 others be drawn, and announce whether K >= B. K < B: nothing is cut. K >= B: without the
    record a uniform B-subset of a uniform K-subset is a uniform B-subset of the others, for any K. With it, it is
    drawn and kept with probability qB/(K+1), and takes the place of a uniform member: the sum moves by at most 2. So
    all K >= B have one law without it, and only the mean ρ = E[qB/(K+1) | K >= B] counts; joint convexity over subsets
    (`SampledGroupProfile` for vectors that move in one direction). []

    Parameters
    ----------
    sigma : float
        Noise over the norm to which a record's contribution is clipped, from 0.05 to 1e15.
    sampling_probability : float
        q in (0, 1).
    dataset_size : int
        n, the size of the larger of both data sets, public up to one record; at most 1e8.
    truncated_batch_size : int
        B, at least 1.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule.
    """

    sigma: float
    sampling_probability: float
    dataset_size: int
    truncated_batch_size: int

    def __post_init__(self) -> None:
        if not _LEAST_SIGMA <= positive("sigma", self.sigma) <= _LARGEST_SIGMA:
            raise ParameterError(f"sigma = {self.sigma!r}: must be {_LEAST_SIGMA:g} to {_LARGEST_SIGMA:g}")
        open_unit("sampling_probability", self.sampling_probability)
        for name in ("dataset_size", "truncated_batch_size"):
            if whole_number(name, getattr(self, name), least=1) > MOST_RECORDS:
                raise ParameterError(f"{name} = {getattr(self, name)}: must be at most {MOST_RECORDS:,}")

    @cached_property
    def _chances(self) -> tuple[float, float, float]:
        """Return 1 - τ, τ, and ρ rounded up."""
        size, most = self.dataset_size, self.truncated_batch_size
        if most >= size:
            return 1.0, 0.0, self.sampling_probability
        rest, tau = binomial_tail(size - 1, self.sampling_probability, most)
        if tau <= _NEXT_TO_NOTHING:
            return 1.0, tau, 1.0 - 2.0**-53
        _, more = binomial_tail(size, self.sampling_probability, most + 1)
        return rest, tau, min(most / size * more / tau * (1.0 + 4.0 * _TAIL), 1.0 - 2.0**-53)

    @cached_property
    def _sides(self) -> tuple[GaussianMixtureDirection, GaussianMixtureDirection]:
        rest, tau, kept = self._chances
        free, full = (
            ((0.0, math.log1p(-chance)), (moved, math.log(chance)))
            for moved, chance in ((1.0, self.sampling_probability), (2.0, kept))
        )
        removed = GaussianMixtureDirection(
            ((rest, free), (tau, full)) if tau else ((1.0, free),),
            self.sigma,
            Neighbouring.ADD_OR_REMOVE,
            added=False,
            bound=BOUND,
            off=_TAIL,
        )
        return removed, removed.reversed()
