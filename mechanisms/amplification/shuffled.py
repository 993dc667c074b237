"""Messages of a local randomizer, shuffled: the profile of one client's message among the others'.

**Theorem** (Feldman, McMillan & Talwar 2021, "Hiding among the clones", Thm 3.1; here for one randomizer). n clients
send one message each, by the same randomizer R of pure local ε₀, and a shuffler removes the senders. For replacing
one client's record the multiset of messages is dominated by the pair of

    P: (C, A + B),  C ~ Bin(n - 1, e^{-ε₀}),  A ~ Bin(C, 1/2),  B ~ Bern(p),  p = e^{ε₀} / (e^{ε₀} + 1),

and Q, the same with B ~ Bern(1 - p).

*Proof.* Let R₀, R₁ be the laws of the client's message under its two records. As R₀ <= e^{ε₀} R₁ and back,
Q₁ = (e^{ε₀} R₁ - R₀) / (e^{ε₀} - 1) and Q₀ = (e^{ε₀} R₀ - R₁) / (e^{ε₀} - 1) are laws, R₁ = p Q₁ + (1-p) Q₀, R₀ =
(1-p) Q₁ + p Q₀, and R₀ + R₁ = Q₀ + Q₁. Every other client's law is at least e^{-ε₀} max(R₀, R₁) >=
e^{-ε₀} (Q₀ + Q₁) / 2, so with probability e^{-ε₀} its message is Q₁ or Q₀ by a fair coin, and else something that is
independent of the record. Who draws what is independent of the record; given C and how many of these C + 1 messages
are from Q₁, the multiset is made without knowing it. []

So it holds for messages whose number is public and fixed, if the n - 1 others follow the protocol and the same R; the
record is all that a client sends. More coins are a post-processing of fewer: C may be rounded down. Given C = c and
a = A + B the loss is ln(p x + (1-p)(1-x)) - ln((1-p) x + p (1-x)), x = a / (c+1).
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.loss_product import on_grid
from mechanisms.losses.privacy_loss import ROUNDING
from mechanisms.numerics.binomial_law import log_binomial, window
from mechanisms.numerics.rounding import up
from mechanisms.parameters import ParameterError, whole_number
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile

BOUND = "shuffled messages: the clones of one client"
MOST_CLIENTS = 10**9
"""The largest number of clients that is computed; more count as so many, which dominates."""
_EXACT = 256
"""Numbers of coins up to which each is kept by itself."""
_REACH = 7.0
"""Ones further than this many √(c+1) from their mean cost as much as without a shuffler: of mass 4 e^{-98}."""
_PER_DEVIATION = 32
_PER_LOCAL = 4096
"""Points of the grid in a standard deviation of the loss, and at least in ε₀, which is rounded up to one of them."""
_HARDLY_ANY = 1e-290
"""Coins expected, below which none count, which dominates."""


def shuffled(profile: PrivacyProfile, clients: int) -> PrivacyProfile:
    """Return an upper curve for the shuffled messages of clients that all use one local randomizer.

    It holds if all other clients follow the protocol; against clients that do not, and against the shuffler, only the
    local guarantee remains.

    Parameters
    ----------
    profile
        The profile of one client's message, for replacing its record; of finite pure ε₀ (``pure_epsilon``), which is
        all that the theorem uses.
    clients
        The public number of messages that are shuffled together, that of the client in question included.

    Returns
    -------
    PrivacyProfile
        For replacing one client's record; its ``bound`` names the theorem.

    Raises
    ------
    ParameterError
        If the profile is stated for another relation or has no pure ε₀, or clients is no positive number.

    Examples
    --------
    >>> from mechanisms import RandomizedResponse, shuffled
    >>> round(shuffled(RandomizedResponse(size=2, epsilon=1.0).profile(), 10_000).epsilon(1e-6), 3)
    0.053
    """
    n = min(whole_number("clients", clients, least=1), MOST_CLIENTS)
    if profile.neighbouring is not Neighbouring.REPLACE_ONE:
        raise ParameterError(
            f"profile: is for {profile.neighbouring.value!r}; shuffled messages need it for 'replace one': any two "
            "records of a client, with the number of messages as it is"
        )
    if profile.pure_epsilon is None:
        raise ParameterError(
            "profile: has no finite pure epsilon; the theorem on shuffled messages is for local randomizers of pure "
            "epsilon, such as randomized response and Laplace noise"
        )
    local = up(profile.pure_epsilon)
    return profile if n == 1 or local == 0.0 else _among_clones(local, n)


@functools.lru_cache(maxsize=64)
def _among_clones(local: float, clients: int) -> AtomicProfile:
    share = min(math.exp(-local) * (1.0 - 4.0 * ROUNDING), 1.0 - ROUNDING)  # fewer coins hide less
    coins, chances = numbers_of_coins(clients - 1, share)
    losses, masses = [], []
    for c, chance in zip(coins.tolist(), chances.tolist(), strict=True):
        own_losses, own_masses = _losses_given(c, local)
        losses.append(own_losses)
        masses.append(chance * own_masses)
    deviation = 2.0 * math.tanh(0.5 * local) / math.sqrt(max(1.0, (clients - 1) * share))
    step = 2.0 ** math.floor(math.log2(min(deviation / _PER_DEVIATION, local / _PER_LOCAL)))
    highest = math.ceil(local / step)
    every = np.minimum(np.concatenate(losses), step * highest)
    grid = on_grid(every, np.concatenate(masses), 0.0, step, (-math.inf, math.inf))
    kept = np.flatnonzero(grid.masses)
    values = tuple((grid.first + int(i)) * Fraction(step) for i in kept)
    return AtomicProfile(values, tuple(grid.masses[kept].tolist()), bound=BOUND, relative_rounding=2.0**-40)


def numbers_of_coins(
    others: int, share: float, places: FloatArray | None = None
) -> tuple[IntArray, FloatArray]:
    """Return values of C and their chances, every C rounded down to one of them; the first is 0.

    Many are rounded to ``places``, standard deviations from their mean.
    """
    if others * share < _HARDLY_ANY:
        return np.zeros(1, dtype=np.int64), np.ones(1)
    low, high = window(others, share)
    if high - low < _EXACT:
        edges = np.arange(low, high + 1)
    else:
        mean = others * share
        if places is None:
            width = min(2.0, max(0.2, 2e-3 * math.sqrt(mean)))
            places = np.concatenate([np.arange(-38.0, -14.0, 4.0), np.arange(-14.0, 8.0, width)])
        edges = np.floor(mean + math.sqrt(mean * (1.0 - share)) * places).astype(np.int64)
        edges = np.unique(np.clip(edges, low, high))
    y = np.arange(low, high + 1)
    chances = np.add.reduceat(np.exp(log_binomial(y, others, share)), np.maximum(edges, low) - low)
    below = (
        float(np.sum(np.exp(log_binomial(y[: edges[0] - low], others, share)))) + 1e-300
    )  # beyond the window
    return np.concatenate([[0], edges]), np.concatenate([[below], chances])


def _losses_given(coins: int, local: float) -> tuple[FloatArray, FloatArray]:
    """Return the losses given C, and their probabilities under P; the last one has the mass of all far-out outcomes.

    With y = 2x - 1 the loss is 2 artanh(y tanh(ε₀/2)), where that does not cancel. Losses are raised by their rounding,
    and that of `on_grid`.
    """
    trials = coins + 1
    reach = _REACH * math.sqrt(trials)
    low, high = max(0, math.ceil(0.5 * trials - reach)), min(trials, math.floor(0.5 * trials + reach))
    a = np.arange(low, high + 1, dtype=np.float64)
    x, rest = a / trials, (trials - a) / trials
    fall = math.exp(-local)
    of_p, of_q = x + fall * rest, fall * x + rest
    far = 0.0 if low == 0 and high == trials else 4.0 * math.exp(-2.0 * reach * reach / trials)
    masses = 2.0 * np.exp(log_binomial(a, trials, 0.5)) * of_p / (1.0 + fall)
    tilted = (2.0 * a - trials) / trials * math.tanh(0.5 * local)
    near = 2.0 * np.arctanh(np.clip(tilted, -0.5, 0.5)) + 16.0 * ROUNDING * local
    inside = (x > 0.0) & (rest > 0.0)  # at the ends the losses are ±ε₀, and e^{-ε₀} may be no normal float
    logs = np.log(np.where(inside, of_p, 1.0)) - np.log(np.where(inside, of_q, 1.0))
    apart = np.where(inside, logs + 8.0 * ROUNDING * (local + 4.0), np.where(x > 0.0, local, -local))
    losses = np.minimum(np.where(np.abs(tilted) < 0.5, near, apart), local)
    return np.append(losses, local), np.append(masses, far)
