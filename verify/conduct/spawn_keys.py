"""The keys of the random streams of the parts of a verification: no two parts may share a stream."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class SpawnKey(IntEnum):
    """First entry of the spawn key of all random numbers of one part of a verification.

    The seeds of results that were published follow from these numbers: none may change. Parts that never meet in one
    verification share some.
    """

    # The black-box test, of any subject
    SCAN = 0
    CHOOSE = 1
    FINAL = 2
    CONFIRM = 3
    # Functions
    FRACTIONS = 6
    PLACEBO = 7
    NEIGHBOUR_SEARCH = 8
    PROBE = 9
    REPEATS = 10
    # Learners and plain bandits; the numbers are those of functions, too
    TRANSCRIPT_SCAN = 7
    LIKELIHOOD_LOOK = 8
    LIKELIHOOD_CHOICE = 9
    LIKELIHOOD_TEST = 10
    LIKELIHOOD_COUNT = 11
    ADVERSARY_PROBE = 12
    TABLES = 13
    SECOND_TEST = 17
    # Draws behind a bound, repeated in other processes
    OTHER_PROCESSES = 18
    # Bets, on any subject
    BETS = 14
    # The event of a witness, drawn again
    WITNESS = 20
    # A few calls of a function before anything else
    GLANCE = 19

    def sequence(self, seed: int, *key: int) -> np.random.SeedSequence:
        """Return the seed of one stretch of a part; `key` is the number of the stretch.

        Examples
        --------
        >>> SpawnKey.BETS.sequence(5, 0, 1).spawn_key
        (14, 0, 1)
        """
        return np.random.SeedSequence(seed, spawn_key=(int(self), *key))
