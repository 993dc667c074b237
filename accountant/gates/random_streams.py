"""Which random numbers of one run belong to what: no two streams may share a seed."""

from __future__ import annotations

from enum import IntEnum


class RandomStream(IntEnum):
    """First entry of the spawn key of all random numbers of one kind in a run.

    Seeded results follow from these numbers: none may change.
    """

    NOISE = 0
    """The noise of the mechanisms."""
    OWN_DRAWS = 1
    """The data-independent draws of the learner, or of the code under test."""
    ENVIRONMENT = 2
    """The users' data, where they are simulated."""
