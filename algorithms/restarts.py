"""Restarts: how learners whose noise or eliminations are for a known number of rounds go on without one.

Rounds fall into epochs of T_0, T_1, ... rounds. When an epoch begins, the learner begins afresh, as one that was told
the horizon T_k: new sums, new noise, nothing of what was learned. Feedback enters the sums of the epoch in which it is
observed, also if its action was chosen in an earlier one. So a record pays in one epoch, and there what it pays with a
known horizon, once.

**Theorem** (privacy). If the learner is private for every horizon, in the view of everything that it releases, then so
is the one that restarts, at the same epsilon and delta.

*Proof.* When an epoch begins follows from the number of rounds, which is public. Take the record that is replaced, and
the epoch in which it is observed: all that was released and played before has the same law in both worlds. Given that,
the epoch is a run of a private learner for the horizon T_k. What comes later is a function of it, of other records and
of randomness of its own: post-processing. QED

**Theorem** (regret). If regret after T rounds is at most R(T) in expectation where T is known, for every T, then
without a horizon, in epoch k, it is at most ``R(T_0) + ... + R(T_k)``.

*Proof.* Each epoch that has ended is a run of the learner with its own horizon, and the failure of its own good event
is in R(T_i). The open one is a part of a run with horizon T_k; the bounds are on the sum of the gaps that are paid,
none of which is negative, so a part has no more than the whole. QED Below T_0 rounds that is ``R(T_0)``.

Which T_k are best depends on R. Where ``R(T) <= c T^h``, doubled horizons give ``2^h / (2^h - 1) c (T + T_0)^h`` at
most, 3.42 times for h = 1/2 and 2.94 for 0.6: epoch k begins after ``T_0 (2^k - 1) < T`` rounds, and the sum is
geometric.
Where ``R(T) <= a + c ln T``, squared ones give ``(2 + log2(ln T / ln T_0)) a + 4 c ln T`` at most from T = T_0 on, and
no other power less than 4 c: epoch k begins after more than T_(k-1) rounds, so ``ln T_k < 2 ln T``, and the sum of the
logarithms is less than twice the last.

Rounds are counted when they are observed, as in `algorithms.epochs`: if at most W others wait for their feedback at any
time, at most W more belong to an epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Restarts:
    """How many rounds each epoch has.

    Attributes
    ----------
    first
        T_0.
    grows
        "squares": ``T_(k+1) = T_k^2``; "doubles": ``T_(k+1) = 2 T_k``.

    Examples
    --------
    >>> [SQUARES.horizon(epoch) for epoch in range(4)], SQUARES.epoch_of(32 + 1024)
    ([32, 1024, 1048576, 1099511627776], 2)
    >>> [DOUBLES.horizon(epoch) for epoch in range(4)], DOUBLES.end(2)
    ([512, 1024, 2048, 4096], 3584)
    """

    longest: ClassVar[int] = 1 << 62
    """No epoch has more rounds."""

    first: int
    grows: Literal["squares", "doubles"]

    def horizon(self, epoch: int) -> int:
        """Return T_k, the rounds of an epoch and the horizon that the learner has in it."""
        rounds = self.first
        for _ in range(epoch):
            rounds = min(self.longest, rounds * (rounds if self.grows == "squares" else 2))
        return rounds

    def end(self, epoch: int) -> int:
        """Return the last round of an epoch."""
        return sum(self.horizon(k) for k in range(epoch + 1))

    def epoch_of(self, observed: int) -> int:
        """Return the epoch of the round that follows so many."""
        epoch, end = 0, self.horizon(0)
        while observed >= end:
            epoch += 1
            end += self.horizon(epoch)
        return epoch

    @property
    def words(self) -> str:
        """The horizons as a phrase."""
        horizons = ", ".join(f"{self.horizon(epoch):,}" for epoch in range(3))
        return f"{horizons}, ..., each {'the square of' if self.grows == 'squares' else 'twice'} the last"


SQUARES = Restarts(32, "squares")
"""Of learners whose regret is a power of log T."""
DOUBLES = Restarts(512, "doubles")
"""Of learners whose regret is a power of T."""
