"""Epochs of learners that do not know how many rounds there will be: a confidence level for each.

Epoch 0 is the first 1024 rounds, and each later one as many as were before it. In epoch k, of N_k rounds, all indices are
those of a learner with the horizon

``H_k = N_k (k + 1) (k + 2)``

and they are computed again from what was released when the epoch begins. Nothing else depends on it, neither noise nor
when a batch ends: so every record pays what it pays with a known horizon, and is asked for nothing twice.

**Theorem.** Where a regret proof for a known horizon T has a good event that fails with probability c / T, and counts on
it the rounds in which an arm is fed whose count allows the round's gap, the expected regret after any number of rounds
T, in epoch k, is at most the bound for the horizon H_k.

*Proof.* The rounds until the end of epoch i are at most H_i, so the good event of the horizon H_i speaks of all releases
of epoch i and before; it fails with probability ``c / H_i``, and that costs ``N_i R_max c / H_i``, over all epochs
``c R_max sum_i 1 / ((i + 1)(i + 2)) <= c R_max``, which is what the bound for a known horizon has for it. On the others,
a round of epoch i that is charged to an arm feeds it while its count is at most the one that the radii of H_i allow,
and so those of H_k, which are larger: how often that can be does not depend on when it is. QED.

Rounds are counted when they are observed. If at most W others wait for their feedback at any time, epoch i has at most
``N_i + W`` rounds: to the W rounds that the delay costs anyway comes less than W / 1024.
"""

from __future__ import annotations

import numpy as np

from mechanisms.arrays import IntArray

FIRST_EPOCH = 1 << 10
"""The rounds of epoch 0: shorter, and later epochs have more to be valid together with; longer, and short runs lose."""
EPOCHS = 53
"""So many have as many rounds as a 63-bit number can count."""


def epoch_of(observed: IntArray | int) -> IntArray:
    """Return the epoch of the round that follows so many.

    >>> [int(epoch_of(rounds)) for rounds in (0, 1023, 1024, 2047, 2048)]
    [0, 0, 1, 1, 2]
    """
    return np.asarray(np.frexp(np.asarray(observed) // FIRST_EPOCH)[1], dtype=np.int64)  # exact below 2^63


def epoch_horizon(epoch: int) -> int:
    """Return H_k, the horizon whose indices are used in epoch k.

    >>> [epoch_horizon(epoch) for epoch in (0, 1, 2)]
    [2048, 6144, 24576]
    """
    rounds = FIRST_EPOCH << max(0, epoch - 1)
    return rounds * (epoch + 1) * (epoch + 2)
