"""Restarts: a learner with a fixed horizon, run without one by starting afresh in growing epochs.

Rounds fall into epochs of 32, 32^2, 32^4, ... rounds: ``T_(k+1) = T_k^2``. When an epoch begins, the learner begins
afresh, with the horizon T_k: new sums, new noise, no earlier estimates. Feedback enters the sums
of the epoch in which it is observed, also if its action was chosen in an earlier one. So a record pays in one epoch,
and there its price with a known horizon, once.

**Theorem** (privacy). If the learner is private for every horizon, in the view of everything that it releases, then so
is the one that restarts, at the same epsilon and delta.

*Proof.* When an epoch begins follows from the number of rounds, which is public. Take the record that is replaced, and
the epoch in which it is observed: all that was released and played before has the same law in both worlds. Given that,
the epoch is a run of a private learner for the horizon T_k. What comes later is a function of it, of other records and
of randomness of its own: post-processing. QED

**Theorem** (regret). If regret after T rounds is at most R(T) in expectation where T is known, for every T, then
without a horizon, in epoch k, it is at most ``R(T_0) + ... + R(T_k)``; and ``R(T_0) + ... + R(T_(k-1)) + P`` where P is
a bound on regret in the first rounds of a run with horizon T_k, as many as the epoch has had.

*Proof.* Each epoch that has ended is a run of the learner with its own horizon, and the failure of its own good event
is in R(T_i). The open one is a part of a run with horizon T_k; the bounds are on the sum of the gaps that are paid,
none of which is negative, so a part has no more than the whole. QED Below T_0 rounds the bound is ``R(T_0)``, or P.

Where ``R(T) <= a + c ln T``, the first bound is at most ``(2 + log2(ln T / ln T_0)) a + 4 c ln T`` from T = T_0 on:
epoch k begins after more than T_(k-1) rounds, so ``ln T_k < 2 ln T``, and the sum of the logarithms is less than twice
the last. No other power of the last horizon has less than 4 c, and doubled horizons have ``c ln^2 T``. Where R is a
power of T, and P that power of the rounds, times the root of the horizon's logarithm, the last epoch that has ended has
at most R(T), earlier ones much less, and the open one at most ``sqrt(2) R(T)``: about 2.4 times in all. (Doubled
horizons have 3.42 times for the root of T, and where an instance is so easy that regret is a logarithm all the same,
ever more: 6 times at T = 1e5, where these have 1.7.)

Rounds are counted when they are observed, as in `algorithms.epochs`: if at most W others wait for their feedback at any
time, at most W more belong to an epoch.
"""

from __future__ import annotations

FIRST_RUN = 32
"""T_0. At 1000, the horizon of the third epoch is 32^4, and holds for a million rounds."""
_LONGEST = 1 << 62
"""The largest number of rounds of an epoch."""


def restart_horizon(epoch: int) -> int:
    """Return T_k, the rounds of an epoch and the horizon that the learner has in it.

    >>> [restart_horizon(epoch) for epoch in range(4)]
    [32, 1024, 1048576, 1099511627776]
    """
    rounds = FIRST_RUN
    for _ in range(epoch):
        rounds = min(_LONGEST, rounds * rounds)
    return rounds


def restart_epoch(observed: int) -> int:
    """Return the epoch of the round after `observed` rounds.

    >>> [restart_epoch(rounds) for rounds in (0, 31, 32, 1055, 1056)]
    [0, 0, 1, 1, 2]
    """
    epoch, end = 0, FIRST_RUN
    while observed >= end:
        epoch += 1
        end += restart_horizon(epoch)
    return epoch


def restart_end(epoch: int) -> int:
    """Return the last round of an epoch.

    >>> [restart_end(epoch) for epoch in range(3)]
    [32, 1056, 1049632]
    """
    return sum(restart_horizon(k) for k in range(epoch + 1))
