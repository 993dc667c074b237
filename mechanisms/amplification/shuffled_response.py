"""Shuffled randomized responses: an upper curve from this randomizer's blanket, and a lower one that data attain.

With r = 1/(e^{ε₀} + k - 1) and p = e^{ε₀} r a client sends its own word with probability p, each other one with r.

**Theorem** (Balle, Bell, Gascón & Nissim 2019, "The privacy blanket of the shuffle model", Sec. 5; here for this
randomizer). n clients send one message each, and a shuffler removes the senders. For replacing one client's word 0 by
word 1 the multiset of messages is dominated by the pair that, given m - 1 ~ Bin(n - 1, kr), has the numbers N_0, N_1 of
both words among m uniform ones, weighted by k((p-r) N_0/m + r) under P and by k((p-r) N_1/m + r) under Q.

*Proof.* Every other client sends a uniform word with probability kr, and else its own, independently of the record; the
latter clients and their words are revealed. The m - 1 uniform words and the client's message are a multiset of m words,
with a density over that of m uniform ones that is the mean of its words': kp for word 0 and kr for others. It depends
on N_0 and N_1 alone. []

Fewer uniform words are a post-processing of more: m may be rounded down. *Attained* from below for k >= 3: all others
hold a third word, so that N_0 and N_1 among their messages are trinomial with (r, r, 1 - 2r). All other words, and
outcomes of nearly the same likelihood ratio, are taken for one, which is a post-processing.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import gammaln

from mechanisms.amplification.shuffled import MOST_CLIENTS, numbers_of_coins
from mechanisms.arrays import FloatArray
from mechanisms.losses.loss_product import on_grid
from mechanisms.losses.privacy_loss import ROUNDING
from mechanisms.parameters import ParameterError, positive, whole_number
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile

BOUND = "shuffled responses: the blanket of the randomizer"
_FALL = 45.0
"""Numbers of a word are kept but for a tail of e^{-45}, by Bernstein's inequality."""
_PER_DEVIATION = 32
_PER_LOCAL = 4096
"""Points of the grid in a standard deviation of the loss, and at least in ε₀, which is rounded up to one of them."""
_PLACES = np.concatenate(
    [np.arange(*part) for part in ((-38, -14, 4), (-14, -4, 2), (-4, -3, 0.5), (-3, 3, 0.2), (3, 8, 1))]
)
"""Numbers of uniform words that are kept apart, in standard deviations from their mean."""
_LARGEST = 8.0
"""ε₀ up to which responses are computed: a larger one is hardly hidden by others."""
_MOST_WORDS = 4096
_NUMBERS = 1500.0
"""Numbers of one word that are kept; of two words as many pairs."""


@dataclass(frozen=True)
class ShuffledResponseProfile(AtomicProfile):
    """An upper curve for shuffled responses, and that of data which attain a lower one, if these are known."""

    below: AtomicProfile | None = None

    __hash__ = AtomicProfile.__hash__

    def attained(self) -> tuple[PrivacyProfile, ...]:
        """Return the pair of data in which all others hold a third word."""
        return () if self.below is None else (self.below,)


def shuffled_response(size: int, epsilon: float, clients: int) -> ShuffledResponseProfile:
    """Return the curve of the shuffled messages of clients that all send k-ary randomized responses.

    It holds if all other clients follow the protocol; against clients that do not, and against the shuffler, only the
    local guarantee remains.

    Parameters
    ----------
    size : int
        Number k of words, from 2 to 4096.
    epsilon : float
        ε₀ of one response, positive, at most 8.
    clients : int
        The public number of messages that are shuffled together, at least 2; clients beyond `most_clients` do not lower
        the curve.

    Raises
    ------
    ParameterError
        If one of them is out of range.

    Examples
    --------
    >>> from mechanisms.amplification.shuffled_response import shuffled_response
    >>> round(shuffled_response(2, 1.0, 10_000).epsilon(1e-6), 4)
    0.0432
    """
    n, most = whole_number("clients", clients, least=2), most_clients(size, epsilon)
    if most < 2:
        raise ParameterError(
            f"size = {size}, epsilon = {epsilon!r}: shuffled responses are computed up to size {_MOST_WORDS} and "
            f"epsilon {_LARGEST:g}"
        )
    return _response(size, float(epsilon), min(n, most), size > 2 and n <= most)


def most_clients(size: int, epsilon: float) -> int:
    """Return the largest number of clients that is computed; 0 where nothing is."""
    k, local = whole_number("size", size, least=2), positive("epsilon", epsilon)
    if k > _MOST_WORDS or local > _LARGEST:
        return 0
    pairs = _NUMBERS**2 / (8.0 * _FALL) * (math.exp(local) + k - 1.0)  # of which a window has so many
    return MOST_CLIENTS if k == 2 else min(MOST_CLIENTS, int(pairs))


@functools.lru_cache(maxsize=64)
def _response(k: int, local: float, clients: int, both: bool) -> ShuffledResponseProfile:
    r = 1.0 / (math.exp(local) + (k - 1.0))
    p = math.exp(local) * r
    share = k * r * (1.0 - 8.0 * ROUNDING)  # fewer uniform words hide less
    deviation = (p - r) * math.sqrt(2.0 * k / max(1.0, (clients - 1) * share))
    step = 2.0 ** math.floor(math.log2(min(deviation / _PER_DEVIATION, local / _PER_LOCAL)))
    highest = math.ceil(local / step)
    total, far = np.zeros(2 * highest + 2), 0.0
    for c, chance in zip(
        *(own.tolist() for own in numbers_of_coins(clients - 1, share, _PLACES)), strict=True
    ):
        losses, masses, beyond = _among_uniform(c + 1, k, p, r)
        raised = np.minimum(losses + 32.0 * ROUNDING * (local + 1.0), highest * step)
        grid = on_grid(raised, chance * masses, 0.0, step, (-highest * step, math.inf))
        first = grid.first + highest
        total[first : first + grid.masses.size] += grid.masses
        far += chance * beyond
    total[2 * highest] += total[2 * highest + 1] + far
    kept = np.flatnonzero(total[: 2 * highest + 1])
    return ShuffledResponseProfile(
        tuple((int(i) - highest) * Fraction(step) for i in kept),
        tuple(total[kept].tolist()),
        bound=BOUND,
        relative_rounding=_rounding(clients),
        below=_others_alike(k, p, r, clients, step) if both else None,
    )


def _rounding(trials: int) -> float:
    """Return the relative rounding of probabilities from ln Γ of numbers up to ``trials``."""
    return 2.0**-40 + 32.0 * ROUNDING * trials * math.log(trials + 2.0)


def _window(trials: int, chance: float) -> FloatArray:
    """Return the numbers from which Bin(trials, chance) differs with probability at most 2 e^{-45}."""
    variance = trials * chance * (1.0 - chance)
    reach = _FALL / 3.0 + math.sqrt(_FALL**2 / 9.0 + 2.0 * _FALL * variance)
    mean = trials * chance
    return np.arange(max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach)) + 1.0)


def _trinomial(trials: int, chance: float, counts: FloatArray) -> FloatArray:
    """Return the probabilities of two numbers of equal chance, by both, 0 where they are too many."""
    beside = trials - counts[:, None] - counts[None, :]
    own = counts * math.log(chance) - gammaln(counts + 1.0)
    left = np.arange(float(np.max(beside)) + 1.0)
    rest = (
        left * math.log1p(-2.0 * chance) - gammaln(left + 1.0)
        if chance < 0.5
        else np.where(left > 0.0, -np.inf, 0.0)
    )
    logs = (
        own[:, None] + own[None, :] + rest[np.maximum(beside, 0.0).astype(np.int64)] + gammaln(trials + 1.0)
    )
    return np.where(beside >= 0.0, np.exp(logs), 0.0)


def _among_uniform(m: int, k: int, p: float, r: float) -> tuple[FloatArray, FloatArray, float]:
    """Return the losses given m, their probabilities under P, and a bound on the mass left out."""
    counts = _window(m, 1.0 / k)
    weights = k * ((p - r) * (counts / m) + r)
    logs = np.log(weights)
    if k == 2:  # the second number is m less the first
        first = counts[(m - counts >= counts[0]) & (m - counts <= counts[-1])]
        at = (first - counts[0]).astype(np.int64)
        other = (m - first - counts[0]).astype(np.int64)
        masses = np.exp(
            gammaln(m + 1.0) - gammaln(first + 1.0) - gammaln(m - first + 1.0) - m * math.log(2.0)
        )
        losses, masses = logs[at] - logs[other], masses * weights[at]
    else:
        masses = (_trinomial(m, 1.0 / k, counts) * weights[:, None]).ravel()
        losses = (logs[:, None] - logs[None, :]).ravel()
    kept = masses > 0.0
    whole = counts[0] == 0.0 and counts[-1] == m
    return losses[kept], masses[kept], 0.0 if whole else 4.0 * math.exp(-_FALL) * k * p


def _others_alike(k: int, p: float, r: float, clients: int, step: float) -> AtomicProfile:
    """Return the pair in which all others hold a third word, outcomes with losses within a step taken for one."""
    counts = _window(clients, r)
    base = _trinomial(clients, r, counts)  # of all messages, the client's like the others'
    a, b = counts[:, None], counts[None, :]
    rest = (k - 2.0) * r / (1.0 - 2.0 * r) * np.maximum(clients - a - b, 0.0)
    of_p, of_q = ((p / r * x + y + rest) / clients for x, y in ((a, b), (b, a)))
    kept = base > 0.0
    cells = np.floor((np.log(of_p) - np.log(of_q))[kept] / step).astype(np.int64)
    masses_p, masses_q = (np.bincount(cells - cells.min(), (base * own)[kept]) for own in (of_p, of_q))
    some = (masses_p > 0.0) & (masses_q > 0.0)
    masses_p, masses_q = masses_p[some], masses_q[some]
    losses = np.log(masses_p / masses_q) - 1e-12 - 4.0 * step * _rounding(clients)
    missing = max(0.0, 1.0 - math.fsum(masses_p))
    return AtomicProfile(
        (*map(Fraction, losses.tolist()), Fraction(float(losses.min()) - 1.0)),
        (*masses_p.tolist(), missing),
        relative_rounding=_rounding(clients),
    )
