"""What the checks of every regret proof share: rounds, lanes on the good event, counterexamples, and what is reported.

A proof is a good event, which fails as often as it says, and statements that hold on it without exception. So there are
*statements*, of which one lane is a counterexample, and *tests* of what is random, each at a share of the error. Lanes
are never left out of a count: that an arm was played often depends on what came out before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import FloatArray

BoolArray = npt.NDArray[np.bool_]

TOLERANCE = 1e-8
"""Relative: what rounding may do to a number that is computed again."""

LEVELS = np.array([1.0, 2.0, 3.0, 4.5])
"""Exponents at which the law of the estimates is tested."""

_TESTS = 3  # noise, estimates, good event


@dataclass(frozen=True)
class ProofCheck:
    """One thing that a proof rests on.

    Attributes
    ----------
    name
        Which.
    p
        The p-value of what was seen; 0 for a counterexample, 1 if there was none.
    level
        At or below which it is a violation; 0 for what is deterministic.
    words
        What was seen, with lane and round.
    """

    name: str
    p: float
    level: float
    words: str

    @property
    def violated(self) -> bool:
        """Whether what was seen contradicts the proof."""
        return self.p <= self.level


class Contradiction(Exception):
    """A statement is false: the check that says so."""

    def __init__(self, name: str, words: str) -> None:
        super().__init__(name)
        self.check = ProofCheck(name, 0.0, 0.0, words)


class ProofRun:
    """What has been seen so far of a learner on an instance.

    Attributes
    ----------
    round
        The rounds so far.
    failed
        Which lanes have left the good event.
    regret
        What each lane has lost.
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int, failure: float) -> None:
        self.bound, self.instance, self.failure = bound, instance, min(1.0, failure)
        self.round = 0
        self.failed: BoolArray = np.zeros(lanes, dtype=bool)
        self.regret: FloatArray = np.zeros(lanes)
        self._hits: dict[tuple[int, int, int, int], int] = {}  # arm, count, level, side: lanes
        self._cells = 0
        self._counts: set[int] = set()

    def ended(self) -> None:
        """Check that no lane on the good event has lost more than the bound."""
        bound = self.bound.evaluate(self.instance)
        self.refuse(
            "path",
            ~self.failed & (self.regret > bound * (1 + TOLERANCE)),
            lambda lane: (
                f"a lane on the good event lost {self.regret[lane]:.6g}, and the bound is {bound:.6g}"
            ),
        )

    def tested(self, error: float, noise: tuple[float, str], sides: float | None) -> tuple[ProofCheck, ...]:
        """Return the checks, in the proof's order, once all rounds are played.

        Parameters
        ----------
        error
            To be shared by the tests.
        noise
            The p-value of the noise's law, and what was seen of it.
        sides
            How many ``e^-level`` an estimate may be off on one side; None if that was not tested.
        """
        level, lanes, failures = error / _TESTS, len(self.failed), int(self.failed.sum())
        statements = ("bookkeeping", "radius", "oracle")
        event = float(stats.binom.sf(failures - 1, lanes, self.failure)) if failures else 1.0
        left = f"{failures} of {lanes} lanes left it; the proof allots {self.failure:.3g} of them"
        held = f"held in the {lanes - failures} lanes on the good event"
        return (
            *(ProofCheck(name, 1.0, 0.0, f"exact in {self.round:,} rounds") for name in statements),
            ProofCheck("noise", noise[0], level, noise[1]),
            self._law(level, sides),
            ProofCheck("good event", event, level, left),
            *(ProofCheck(name, 1.0, 0.0, held) for name in ("gap lemma", "path")),
        )

    def note_levels(
        self, count: FloatArray, here: BoolArray, far: Callable[[float], tuple[BoolArray, BoolArray]]
    ) -> None:
        """Note which estimates are off by more than their radius of each level, below and above, at dyadic counts.

        Parameters
        ----------
        count
            Values in each estimate, (lanes, arms).
        here
            Where one has just reached it, at a count of the form 2^i or, for batches, 2^i - 1.
        far
            Where estimates are off at a level, on either side.
        """
        for depth, level in enumerate(LEVELS.tolist()):
            for side, off in enumerate(far(level)):
                for lane, arm in zip(*np.nonzero(here & off), strict=True):
                    cell = (int(arm), int(count[lane, arm]), depth, side)
                    self._hits[cell] = self._hits.get(cell, 0) + 1
        new = {int(value) for value in np.unique(count[here])} - self._counts
        self._counts |= new
        self._cells += len(new) * count.shape[1] * len(LEVELS) * 2

    def _law(self, level: float, sides: float | None) -> ProofCheck:
        """Return the test of the estimates' law over all arms, counts, levels and sides."""
        if sides is None:
            return ProofCheck(
                "estimates", 1.0, level, "their radius has no level of its own: see the good event"
            )
        lanes, worst, words = len(self.failed), 1.0, "no estimate was further off than its radii say"
        for (arm, count, depth, side), seen in self._hits.items():
            chance = sides * float(np.exp(-LEVELS[depth]))
            p = 1.0 if chance >= 1 else float(stats.binom.sf(seen - 1, lanes, chance))
            if p < worst:
                worst = p
                words = (
                    f"{seen} of {lanes} lanes have arm {arm}'s estimate {'above' if side else 'below'} the radius of "
                    f"level {LEVELS[depth]:g} at {count} values; at most {chance:.3g} of them should"
                )
        return ProofCheck("estimates", min(1.0, worst * max(1, self._cells)), level, words)

    def refuse(self, name: str, wrong: BoolArray, words: Callable[[int], str]) -> None:
        """End the checks if a statement is wrong in any lane, in words about it."""
        if wrong.any():
            lane = int(np.flatnonzero(wrong)[0])
            raise Contradiction(name, f"round {self.round}, lane {lane}: {words(lane)}")

    def refuse_arm(self, name: str, wrong: BoolArray, words: Callable[[int, int], str]) -> None:
        """The same of an arm in a lane."""
        if wrong.any():
            lane, arm = (int(where[0]) for where in np.nonzero(wrong))
            raise Contradiction(name, f"round {self.round}, lane {lane}, arm {arm}: {words(lane, arm)}")


def rounded(values: FloatArray) -> list[float]:
    """Return numbers to be read."""
    return [round(float(value), 4) for value in values]
