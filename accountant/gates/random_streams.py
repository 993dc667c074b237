"""The random streams of one run: no two of them may share a seed."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


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
    ACCOUNTANT_DRAWS = 0x9D1C
    """The public draws of an accountant; its noise may have the same seed, or a child of a small spawn key."""


def stream_generator(
    seed: int | np.random.SeedSequence | None, stream: RandomStream, *key: int
) -> np.random.Generator:
    """Return the generator of one stream of a seed; `key` follows the stream in the spawn key.

    Raises
    ------
    TypeError, ValueError
        If NumPy takes no such seed.
    """
    parent = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return np.random.default_rng(
        np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, stream, *key))
    )
