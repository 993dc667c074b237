"""An adversary that plays the best game a privacy filter allows it, found by dynamic programming.

The adversary chooses every release from a few by what was released before, some with a loss and one that publishes its
input with a small probability, as long as the filter says that what is spent then fits. It wants (1 - e^{ε-L})^+ at the
end, whose expectation is the δ of the run at ε. The filter is only asked through its public interface: what a release
charges, how charges add up, and what fits. Losses are on a lattice, rounded down where they are not: every value is
that of a run that is possible, so that a value above δ proves that the filter is wrong.

The same for an odometer (the adversary wants (1 - e^{ε-L})^+, or only L > ε, for the ε that is read when it stops) and
for `guarantee` (it plays within a fixed total, whose guarantee must hold).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
from scipy.stats import norm

from accountant import Budget, Plan, PlanStep, UnsupportedCharge
from accountant.compositions import COMPOSITIONS
from mechanisms import AtomicProfile, Gaussian, RandomizedResponse, Sensitivity

UNIT = Sensitivity(1, 1, 1)
SHARES = (0.0, 0.05, 0.1, 0.5)
ORDERS = ((8.0,), (8.0, 12.0, 16.0), (1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0))


@dataclass(frozen=True)
class Publish(RandomizedResponse):
    """Publishes its input with a probability and says nothing else."""

    size: int = 2
    epsilon: float = 1.0
    probability: float = 0.0

    @property
    def nominal_delta(self):
        return self.probability

    def profile(self, sensitivity=None):
        return AtomicProfile((Fraction(0),), (1.0 - self.probability,), self.probability)


@dataclass(frozen=True)
class Move:
    """A release, and the law of its loss: `chances[i]` is P(floor(loss / cell) = i - (size - 1) / 2), else it is inf.

    What the chances lack of 1 - `failure` is a loss below them all, which is worth nothing.
    """

    mechanism: object
    chances: np.ndarray
    failure: float = 0.0

    @classmethod
    def publish(cls, probability):
        return cls(Publish(probability=probability), np.array([1.0 - probability]), probability)

    @classmethod
    def response(cls, epsilon, cells=1):
        """Randomized response with a loss of so many cells."""
        truth = 1.0 / (1.0 + math.exp(-epsilon))
        between = np.zeros(2 * cells - 1)
        chances = np.concatenate([[1.0 - truth], between, [truth]])
        return cls(RandomizedResponse(size=2, epsilon=epsilon), chances)

    @classmethod
    def gaussian(cls, sigma, cell):
        reach = math.ceil((6.0 + 0.5 / sigma) / sigma / cell)
        below = norm.cdf(np.arange(-reach, reach + 2) * cell, 0.5 / sigma**2, 1.0 / sigma)
        below[-1] = 1.0
        return cls(Gaussian(sigma=sigma, sensitivity=UNIT), np.diff(below))

    @property
    def steps(self):
        return (len(self.chances) - 1) // 2

    def then(self, follows):
        """Return the expectation of what follows, on the lattice with an infinite loss last."""
        steps = self.steps
        finite = follows[:-1]
        if steps:
            padded = np.concatenate([np.zeros(steps), finite, np.full(steps, finite[-1])])
            go_on = np.correlate(padded, self.chances, "valid")
        else:
            go_on = self.chances[0] * finite
        return np.append(go_on + self.failure * follows[-1], follows[-1])


def theorems(planned: Sequence[PlanStep], shares: Sequence[float] = SHARES) -> Iterator[object]:
    """Make every registered composition theorem in every setting: a new one is attacked without a change here.

    A theorem is made with its defaults; `failures`, `orders`, `expected` and `plan` are varied where it has them.
    """
    for theorem in COMPOSITIONS.values():
        own = {item.name for item in fields(theorem)} if hasattr(theorem, "__dataclass_fields__") else set()
        choices = {"failures": shares, "orders": ORDERS, "plan": (Plan(tuple(planned)),)}
        varied = [name for name in choices if name in own]
        for values in itertools.product(*(choices[name] for name in varied)):
            given = dict(zip(varied, values, strict=True))
            yield theorem(**given)
            if "expected" in own and len(given["orders"]) > 1:
                yield theorem(**given, expected=given["orders"][len(given["orders"]) // 2])


Counts = tuple[int, ...]


@dataclass(frozen=True)
class Game:
    """Moves on one lattice, and how often each may be made at most, whatever the filter says."""

    moves: tuple[Move, ...]
    cell: float
    caps: Counts

    def states(self, theorem, allowed: Callable[[object], bool]) -> list[dict[Counts, object]]:
        """Return what may be made and what it costs, by the number of moves."""
        charges = []
        for move in self.moves:
            try:
                charges.append(theorem.charge(move.mechanism, UNIT))
            except UnsupportedCharge:
                charges.append(None)
        levels = [{(0,) * len(self.moves): theorem.zero_spend}]
        while levels[-1]:
            after: dict[Counts, object] = {}
            for counts, total in levels[-1].items():
                for i, charge in enumerate(charges):
                    if charge is None or counts[i] == self.caps[i]:
                        continue
                    more = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
                    if more not in after:
                        after[more] = total + charge
            levels.append({counts: total for counts, total in after.items() if allowed(total)})
        return levels[:-1]

    def value(self, levels, pay) -> float:
        """Return the most that `pay(total, losses)` can be made to expect, by stopping when it is best."""
        reach = max(
            sum(n * move.steps for n, move in zip(counts, self.moves, strict=True)) for counts in levels[-1]
        )
        reach = max(reach, *(len(levels) * move.steps for move in self.moves))
        losses = np.append(np.arange(-reach, reach + 1) * self.cell, math.inf)
        values: dict[Counts, np.ndarray] = {}
        for level in reversed(levels):
            now = {}
            for counts, total in level.items():
                best = pay(total, losses)
                for i, move in enumerate(self.moves):
                    follows = values.get((*counts[:i], counts[i] + 1, *counts[i + 1 :]))
                    if follows is not None:
                        best = np.maximum(best, move.then(follows))
                now[counts] = best
            values = now
        (start,) = values.values()
        return float(start[reach])


def gain(epsilon):
    """Return the payoff (1 - e^{ε-L})^+."""

    def pay(total, losses):
        return -np.expm1(np.minimum(0.0, epsilon - losses))

    return pay


def filter_value(theorem, budget: Budget, game: Game) -> float:
    """Return the δ at the budget's ε of the best adaptive run that the filter lets through."""
    levels = game.states(theorem, lambda total: theorem.fits(total, budget))
    return game.value(levels, gain(budget.epsilon))


def guarantee_value(theorem, budget: Budget, game: Game) -> float:
    """Return the δ of the best run within the game's caps at the ε that their total is said to guarantee."""
    levels = game.states(theorem, lambda total: True)
    (total,) = levels[-1].values()
    guaranteed = theorem.guarantee(total, budget).epsilon_up
    return game.value(levels, gain(guaranteed)) if guaranteed < math.inf else 0.0


def odometer_value(theorem, delta: float, game: Game) -> tuple[float, float]:
    """Return the δ at the ε that is read when the adversary stops, and P(L > ε) then, within the game's caps.

    Both are the most that it can get.
    """
    readings: dict[object, float] = {}

    def read(total):
        if total.values not in readings:
            try:
                readings[total.values] = theorem.odometer(total, delta).epsilon_up
            except UnsupportedCharge:
                readings[total.values] = math.inf
        return readings[total.values]

    def shortfall(total, losses):
        return gain(read(total))(total, losses) if read(total) < math.inf else np.zeros(losses.shape)

    levels = game.states(theorem, lambda total: True)
    return game.value(levels, shortfall), game.value(
        levels, lambda total, losses: (losses > read(total)).astype(float)
    )
