"""Faults that begin late are seen in a run of the user's own problem; changes that break no proof are no violations."""

import inspect
from dataclasses import replace

import numpy as np

from algorithms.estimates.level_free import level_free_upper
from algorithms.problems import (
    LinearBandit,
    LinearContexts,
    build_problem,
)
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from verify.regret_claims.proof import check_run
from verify.regret_claims.speaking_instances import with_clients
from verify.subjects.resolve import every_learner


def plant(name, *methods):
    """Return the learner's class with methods in front of its own."""
    made = every_learner[name].make
    return type("Planted", (*methods, made), {"__signature__": inspect.signature(made)})


def instance(name, problem=None, horizon=4000, epsilon=1.0, **settings):
    family = every_learner[name].family
    if family == "contextual":
        played = LinearContexts(np.array([0.6, -0.3]), 4)
    elif family == "linear":
        angles = 2 * np.pi * np.arange(6) / 6
        actions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        played = with_clients(LinearBandit(actions, 0.7 * actions[5], 0.05, 1, "signs"), horizon, {})
    else:
        own = {"bandit": "arms", "matroid": "linear-matroid", "cascade": "cascade"}
        played = build_problem(problem or own.get(family, "top-k"), {})
    return Instance(played, epsilon, horizon, settings=settings)


def checked(name, *methods, **given):
    """Return the verdict on a planted learner by one run of a problem, and what was seen."""
    played = instance(name, **given)
    bound = BOUNDS[name].bound_for(played)
    found = check_run(plant(name, *methods), bound, played, problem="the problem", seed=3, error=1e-5)
    words = [check.description for check in found if check.violated or check.differs]
    if any(check.violated for check in found):
        return "violated", words
    return ("another learner" if any(check.differs for check in found) else "as the theorem says"), words


class Late:
    """A fault that begins after some rounds.

    Attributes
    ----------
    after
        How many.
    """

    after = 400
    seen = 0

    def observe(self, feedback, *rest, **more):
        rounds = rest[0] if rest else more.get("rounds")
        super().observe(feedback, *rest, **more)
        self.seen += 1 if rounds is None else int(np.max(rounds))

    @property
    def late(self):
        return self.seen >= self.after


class LateExponent(Late):
    """Indices get a quarter of the exponent."""

    def learn(self, *args, **keywords):
        if self.late:
            self.estimates._exponent = self.quarter
        else:
            self.quarter = self.estimates._exponent / 4
        super().learn(*args, **keywords)


class LearnsNoMore(Late):
    """Nothing is learned from feedback."""

    after = 600

    def hear(self, *args, **keywords):
        if not self.late:
            super().hear(*args, **keywords)


class NoReleases(Late):
    """Nothing is released any more."""

    after = 500

    def learn(self, action, feedback, rounds=None):
        if not self.late:
            super().learn(action, feedback, rounds)


class FrozenAboveACount:
    """The index of an arm stays as it is from 100 values on."""

    def learn(self, *args, **keywords):
        index, size = self.index.copy(), self.batches.size.copy()
        super().learn(*args, **keywords)
        self.index = np.where(size > 100, index, self.index)


class RandomArm(Late):
    """Batches of arms that are not those of largest index."""

    after = 2000

    def choose(self, *args, **keywords):
        action = super().choose(*args, **keywords)
        if self.late:
            weights = np.random.default_rng(self.seen).random((self.gate.lanes, self.structure.arms))
            action = self.structure.solve(weights)
        return action


class RandomOnPaths:
    """Right on sets; every third round a random path."""

    acts = 0

    def choose(self, *args, **keywords):
        action = super().choose(*args, **keywords)
        self.acts += 1
        if self.acts % 3 == 0 and type(self.structure).__name__ == "ShortestPath":
            weights = np.random.default_rng(self.acts).random((self.gate.lanes, self.structure.arms))
            action = self.structure.solve(weights)
        return action


class LoudNoiseLate(Late):
    """Five times the noise."""

    after = 2000

    def learn(self, *args, **keywords):
        if self.late and not hasattr(self, "right"):
            self.right = self.batches._mechanism
            self.batches._mechanism = replace(self.right, scale=5 * self.right.scale)
        super().learn(*args, **keywords)


class KeptFromPhaseEight:
    """No action is eliminated from phase 8 on."""

    def _eliminate(self, phase, *args, **keywords):
        before = self.active
        super()._eliminate(phase, *args, **keywords)
        if phase.number >= 8:
            self.active = before


class PolicyStays(Late):
    """The policy is that of round 500."""

    after = 500

    def learn(self, *args, **keywords):
        policy = self.policy
        super().learn(*args, **keywords)
        if self.late:
            self.policy = policy


class WorstListLate(Late):
    """The items of least index are shown."""

    def choose(self, *args, **keywords):
        shown = super().choose(*args, **keywords)
        if self.late:
            shown = self.list = self.structure.solve(-self.estimates.index)
        return shown


class SmallLevelLate(Late):
    """A quarter of the exponent, of lists."""

    def observe(self, *args, **keywords):
        super().observe(*args, **keywords)
        if self.late and not hasattr(self, "changed"):
            self.changed = True
            self.estimates.bound = replace(self.estimates.bound, exponent=self.estimates.bound.exponent / 4)


class NobodyRemoved:
    """From phase 6 on no arm is removed."""

    def _end_phase(self, lanes):
        left = self.left.copy()
        super()._end_phase(lanes)
        if self.phase.max() > 6:
            self.left = left
            self.recommendation[:] = -1


# Legal changes.


class RunningMinimum:
    """The least index so far, which is valid, too."""

    def hear(self, *args, **keywords):
        index = self.estimates.index.copy()
        super().hear(*args, **keywords)
        self.estimates.index = np.minimum(index, self.estimates.index)


class HalfTheError:
    """Radii for half the error."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        if hasattr(getattr(self, "estimates", None), "_exponent"):
            self.estimates._exponent += np.log(2)
        elif hasattr(self, "estimates"):
            self.estimates.bound = replace(
                self.estimates.bound, exponent=self.estimates.bound.exponent + np.log(2)
            )


class Clipped:
    """Indices are clipped to [0, 1]."""

    def confidence(self):
        found = super().confidence()
        return replace(
            found, index=np.clip(found.index, 0.0, 1.0) + np.where(np.isinf(found.index), np.inf, 0)
        )


class HighestId:
    """Of equal indices the highest id."""

    def choose(self, *args, **keywords):
        action = super().choose(*args, **keywords)
        index = np.minimum(self.confidence().index, 1e6)
        worst = self.structure.solve(index + 1e-13 * np.arange(index.shape[1]))
        return worst if worst.shape == action.shape else action


class Reversed:
    """The arms of an action in another order."""

    def choose(self, *args, **keywords):
        return super().choose(*args, **keywords)[:, ::-1].copy()


class Plain:
    """``H(v) = v``."""

    uncounted = 0.0


class AHairAbove:
    """Indices are a millionth larger."""

    def learn(self, *args, **keywords):
        super().learn(*args, **keywords)
        known = self.batches.releases > 0
        self.index[known] = np.minimum(self.index[known] * (1 + 1e-6), 1.0)


class LongerFirstBatch:
    """First batches of one more."""

    def __init__(self, *args, **keywords):
        super().__init__(*args, **keywords)
        self.batches._next_size += 1


class FasterGrowth:
    """Batches grow twice as fast."""

    growth = 0.2
    falling = 3.0


class AlwaysAnew:
    """All indices are computed anew in every round."""

    def learn(self, action, feedback, rounds):
        super().learn(action, feedback, rounds)
        known = self.batches.releases > 0
        if known.any():
            batches = (self.batches.size[known], self.batches.releases[known], self.batches.total[known])
            clock = np.full(known.sum(), self.rounds.observed + float(rounds.max()))
            self.index[known] = level_free_upper(*batches, clock, noise=self.noise)


class WiderWidth:
    """A tenth wider."""

    def widths(self, *args, **keywords):
        return 1.1 * super().widths(*args, **keywords)
