"""Epochs for learners without a known horizon, each with a confidence level of its own.

Epoch 0 is the first 1024 rounds, and each later one has as many as were before it. In epoch k, of N_k rounds, all
indices are those of a learner with the horizon

``H_k = N_k (k + 1) (k + 2)``

and they are computed again from what was released when the epoch begins. Nothing else depends on the horizon but an
arm's first batch, which is that of H_0: so every record pays what it pays with a known horizon, and once.

**Theorem.** Where a regret proof for every known horizon T has a good event that fails with probability c / T, pays
c times the largest regret of a round for that, and counts on it the rounds that feed an arm whose count allows the
round's gap, the expected regret after T rounds, in epoch k, is at most its bound for the horizon H_k.

*Proof.* The rounds until the end of epoch i are at most H_i, so the good event of the horizon H_i speaks of all
releases until then. It fails with probability ``c / H_i``, which costs ``c N_i / H_i`` times the largest regret of a
round, and over all epochs at most c times that, as ``sum_i 1 / ((i + 1) (i + 2)) = 1``. Where it does not fail, a round
of epoch i that is charged to an arm feeds it while its count is at most what the radii of H_i allow, and so what those
of H_k do, which are larger; a first batch is at most that of H_k. How often that can be does not depend on when it is.
QED.

Where lists are held for phases, a phase that begins in epoch i may outlast it, but is no longer than all rounds before
it: so the phases that begin there have at most 3 N_i rounds (2 N_0 in epoch 0), which makes 5/2 of the sum above.

Rounds are counted when they are observed. If at most W others wait for their feedback at any time, at most W more
belong to an epoch, and to what the delay costs anyway comes less than c W / 1024 times the largest regret of a round.
"""

from __future__ import annotations

import numpy as np

from mechanisms.arrays import IntArray

FIRST_EPOCH = 1 << 10
"""The rounds of epoch 0: shorter, and later epochs have more to be valid together with; longer, and short runs lose."""
EPOCHS = 53
"""The number of epochs with as many rounds as a 63-bit integer can count."""


def epoch_of(observed: IntArray | int) -> IntArray:
    """Return the epoch of the round after `observed` rounds.

    >>> [int(epoch_of(rounds)) for rounds in (0, 1023, 1024, 2047, 2048)]
    [0, 0, 1, 1, 2]
    """
    return np.asarray(np.frexp(np.asarray(observed) // FIRST_EPOCH)[1], dtype=np.int64)  # exact below 2^63


def epoch_end(epoch: IntArray | int) -> IntArray:
    """Return the last round of an epoch."""
    return np.asarray(FIRST_EPOCH << np.asarray(epoch), dtype=np.int64)


def epoch_horizon(epoch: int) -> int:
    """Return H_k, the horizon for which indices are computed in epoch k.

    >>> [epoch_horizon(epoch) for epoch in (0, 1, 2)]
    [2048, 6144, 24576]
    """
    rounds = FIRST_EPOCH << max(0, epoch - 1)
    return rounds * (epoch + 1) * (epoch + 2)
