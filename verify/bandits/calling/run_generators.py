"""Random numbers for many runs of foreign code: each run has its own, independent of earlier runs.

So two runs of the same number on different data make the same random choices for as long as the data give them the
same answers, and only the runs that the data change differ. Runs of different numbers are independent.
"""

from __future__ import annotations

import random
from typing import Any, Self

import numpy as np

# Distance of the starts of runs in the generator's cycle of 2^128: the step of NumPy's own `jumped`.
_STEP = 0x9E3779B97F4A7C15F39CC0605CEDC835
# Global generators are seeded with 128 bits: two of 2^40 runs get the same with probability 2^-49.
_WORDS = 1  # last entry of the spawn key of the seeds


class RunGenerators:
    """A Generator that is passed on, and the global ones of NumPy and Python; all start anew with every run.

    But a global one from which the first run draws nothing goes on from run to run: runs that draw from it after all
    are independent, and not those of their numbers.

    As a context manager it restores the state of the global generators afterwards.

    Parameters
    ----------
    seed
        The seed of all runs.

    Attributes
    ----------
    rng
        The Generator, the same object in all runs.
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._bits = np.random.PCG64DXSM(seed)
        self._start = self._bits.state
        self.rng = np.random.Generator(self._bits)
        self._words = np.random.PCG64DXSM(
            np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, _WORDS))
        )
        self._first_words = self._words.state
        # Seeding takes longer than some runs: it is left out if the first run draws nothing there.
        self._numpy_used = self._python_used = True
        self._seeded: tuple[object, object] = (None, None)
        self._begun = 0

    def __enter__(self) -> Self:
        self._before = random.getstate(), np.random.get_state()  # noqa: NPY002 (others' code uses it)
        return self

    def __exit__(self, *error: object) -> None:
        of_python, of_numpy = self._before
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002

    def begin(self, run: int) -> None:
        """Start the run of this number, at least 0."""
        if self._begun == 1:
            used = _states()
            self._numpy_used, self._python_used = (
                now != then for now, then in zip(used, self._seeded, strict=True)
            )
        self._begun += 1
        self._bits.state = self._start
        self._bits.advance(run * _STEP % 2**128)
        if self._numpy_used or self._python_used:
            self._words.state = self._first_words
            self._words.advance(run * _STEP % 2**128)
            words = self._words.random_raw(4)
            if self._numpy_used:
                np.random.seed(words[:2].view(np.uint32))  # noqa: NPY002 (others' code uses it)
            if self._python_used:
                random.seed(int.from_bytes(words[2:].tobytes(), "little"))
        if self._begun == 1:
            self._seeded = _states()


def _states() -> tuple[object, object]:
    """Return the states of NumPy's and Python's global generators, to be compared."""
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    words = state["state"]
    return (words["key"].tobytes(), words["pos"], state["has_gauss"], state["gauss"]), random.getstate()
