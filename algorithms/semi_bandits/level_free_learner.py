"""Learners that play the oracle's answer to level-free indices of batches that are released once.

Every outcome enters at most one batch of its arm, a batch's sum is released once, when it is full, and batch ends
depend on counts of actions only. So a record moves as many released numbers as it feeds, each by at most 1, and
pays for one release of them, however long the run: no composition over batches.

Nothing is forgotten: the index of an arm is from the noisy total of all its releases (`level_free_upper`), and 1 before
the first one. Whenever something is released all indices of the run are computed again; nothing in them depends on a
horizon. An arm's first batch has ``b ln T`` outcomes with Laplace noise of scale b, or ``sigma sqrt(2 ln T)`` with
Gaussian noise: fewer say nothing. After j releases the next batch is ``max(0.1, 1.5 / j)`` of those released before.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from accountant import Gate, Private
from algorithms.estimates.chernoff import NoiseTail
from algorithms.estimates.doubling_batches import GrowingBatches
from algorithms.estimates.level_free import UNCOUNTED, level_free_upper
from algorithms.estimates.message_means import least_counted
from algorithms.lanes import gather
from algorithms.learner import Confidence, Family
from algorithms.problems.availability import mask_weights
from algorithms.structured_learner import HorizonLearner, StructureType
from mechanisms import Gaussian, Laplace
from mechanisms.arrays import BoolArray, FloatArray, IntArray


class LevelFreeLearner(HorizonLearner[StructureType]):
    """The oracle's super arm for the indices; the few arms played of least count put their outcomes in batches.

    Parameters
    ----------
    structure, gate, horizon
        As for `HorizonLearner`.
    noise
        The law of the noise on a batch's sum.
    few
        How many arms a round feeds, at most.
    """

    family: ClassVar[Family] = "semi-bandit"
    needs_horizon: ClassVar[str] = ""
    needs_all_arms: ClassVar[str] = ""
    growth: ClassVar[float] = 0.1
    """By which share of what was released an arm's data grow with its next batch, at least."""
    falling: ClassVar[float] = 1.5
    """After j releases by ``falling / j``, if that is more."""
    uncounted: ClassVar[float] = UNCOUNTED
    """c of the indices."""
    batches: GrowingBatches
    """What is released of each arm; to be made by the class."""

    def __init__(
        self, structure: StructureType, gate: Gate, noise: NoiseTail, horizon: int | None, few: int = 1
    ) -> None:
        super().__init__(structure, gate, horizon)
        self.noise, self.few = noise, few
        self.first = max(1, math.ceil(noise.first_size(self.horizon)))
        self.index: FloatArray = np.ones((gate.lanes, structure.arms))

    def choose(self, available: BoolArray | None = None) -> IntArray:
        """Return the oracle's answer to the indices."""
        return self.structure.solve(mask_weights(self.index, available))

    @property
    def fed_arms(self) -> IntArray:
        """The arms played of fewest released outcomes, (lanes, few)."""
        return gather(self.action, least_counted(self.batches.size, self.action, self.few))

    def confidence(self) -> Confidence:
        """Return the means of all released batches, the values and noises in them, and the indices."""
        return Confidence(self.batches.mean, self.batches.size, self.batches.releases, self.index)

    def learn(self, action: IntArray, feedback: Private, rounds: IntArray | None = None) -> None:
        """Put the outcomes of the arms of fewest released outcomes in their batches (lower ids among equals)."""
        place = least_counted(self.batches.size, action, self.few)
        released = self.batches.add(gather(action, place), feedback.take(place), rounds)
        if released is None:
            return
        clock = np.asarray(self.rounds.observed + (1 if rounds is None else rounds), dtype=np.float64)
        some = (self.batches.releases > 0) & released.any(axis=1, keepdims=True)
        batches = self.batches
        self.index[some] = level_free_upper(
            batches.size[some],
            batches.releases[some],
            batches.total[some],
            np.broadcast_to(clock[..., np.newaxis], some.shape)[some],
            noise=self.noise,
            share=self.uncounted,
        )


class HeldBatches(LevelFreeLearner[StructureType]):
    """The same where a server adds the noise to a batch's sum: it accepts the total of several rounds of an action."""

    def __init__(
        self,
        structure: StructureType,
        gate: Gate,
        mechanism: Laplace | Gaussian,
        horizon: int | None,
        few: int = 1,
    ) -> None:
        super().__init__(structure, gate, NoiseTail.from_mechanism(mechanism), horizon, few)
        self.mechanism = mechanism
        self.batches = GrowingBatches(
            gate,
            structure.arms,
            mechanism,
            first_size=self.first,
            growth=self.growth,
            falling=self.falling,
        )

    @property
    def committed_rounds(self) -> IntArray:
        """The rounds until a batch is full: before, nothing changes."""
        return self.batches.values_until_full(self.fed_arms)
