"""Problems of a user's: a structure with an oracle of its own, and one of each other family; and what is wrong."""

import numpy as np

from algorithms.problems import Cascade, LinearBandit, LinearContexts, SemiBandit


class TwoShelves:
    """An item of each shelf; the oracle, which is quick and careless, finds half of the best with probability 0.9."""

    arms, size = 6, 2
    alpha, beta = 0.5, 0.9
    smoothness_l1, smoothness_linf = 1.0, 2.0

    def solve(self, weights):
        return np.stack([weights[:, :3].argmax(axis=1), 3 + weights[:, 3:].argmax(axis=1)], axis=1)

    def reward(self, super_arm, means):
        return means[super_arm].sum(axis=1)

    def optimum(self, means):
        return float(means[:3].max() + means[3:].max())

    def super_arms(self):
        return ((one, other) for one in range(3) for other in range(3, 6))


MEANS = [0.1, 0.2, 0.9, 0.3, 0.4, 0.8]
shelves = SemiBandit(TwoShelves(), MEANS)
cascade = Cascade(5, 2, [0.1, 0.2, 0.3, 0.4, 0.5])
clients = LinearBandit(np.eye(3), [0.5, 0.1, 0.0], 0.1, 10**5, "signs")
visitors = LinearContexts(np.array([0.6, 0.3]), 4)
number = 3


def made():
    return shelves


def raises():
    raise RuntimeError("no data today")


def with_oracle(solve, **changed):
    kind = type("Changed", (TwoShelves,), {"solve": solve, **changed})
    return lambda: SemiBandit(kind(), MEANS)


good = TwoShelves.solve
floats = with_oracle(lambda self, weights: good(self, weights).astype(float))
flat = with_oracle(lambda self, weights: good(self, weights)[0])
twice = with_oracle(lambda self, weights: good(self, weights)[:, [0, 0]])
beyond = with_oracle(lambda self, weights: good(self, weights) + 5)
first_padded = with_oracle(lambda self, weights: np.full((len(weights), 2), [-1, 4]))
of_others = with_oracle(lambda self, weights: good(self, weights[np.zeros(len(weights), int)]))
never_fails = with_oracle(good, beta=1.0)
worst = with_oracle(lambda self, weights: good(self, -weights), beta=1.0, alpha=1.0)
low_optimum = with_oracle(good, optimum=lambda self, means: 0.1)
no_share = with_oracle(good, alpha=0.0)
worded_share = with_oracle(good, alpha="half")
fractional = with_oracle(good, arms=6.0)
sizeless = with_oracle(good, size=0)
rowless = with_oracle(lambda self, weights: [[0, 3], [1]])
worded_optimum = with_oracle(good, optimum=lambda self, means: None)


def worded_means():
    return SemiBandit(TwoShelves(), ["likely"] * 6)


not_a_number = with_oracle(good, reward=lambda self, super_arm, means: np.full(1, np.nan))
no_optimum = with_oracle(good, optimum=lambda self, means: float("nan"))
rough = with_oracle(good, smoothness_linf=1.0)
rougher = with_oracle(good, smoothness_l1=0.5)
negative = with_oracle(good, smoothness_linf=-1.0)
lists_none = with_oracle(good, super_arms=lambda self: iter(()))
lists_few = with_oracle(good, super_arms=lambda self: iter([(0, 3), (1, 3)]))
lists_beyond = with_oracle(good, super_arms=lambda self: iter([(0, 6)]))
lists_long = with_oracle(good, super_arms=lambda self: iter([(0, 3, 4)]))


def clears(self, weights):
    answer = good(self, weights)
    weights[:] = 0.0
    return answer


def later(self, weights):
    """Fail after the questions that are asked at first."""
    self.asked = getattr(self, "asked", 0) + 1
    if self.asked > 12:
        raise RuntimeError("no shelves left")
    return good(self, weights)


clears_weights = with_oracle(clears)
fails_later = with_oracle(later)
matrix = with_oracle(good, reward=lambda self, super_arm, means: means[super_arm])


def bare():
    found = with_oracle(good)()
    object.__setattr__(found, "structure", type("Bare", (), {"arms": 6, "size": 2})())
    return found


class WithMemory(SemiBandit):
    """Shelves whose customers are told, in some way, of those before them."""

    def feedback(self, records, super_arm):
        return self.mixed(super().feedback(records, super_arm), vars(self).setdefault("kept", {}))


class RelativeToTheLargest(WithMemory):
    """Shares of the largest that was ever seen; it stays what it was from run to run."""

    def mixed(self, observed, kept):
        kept["largest"] = max(kept.get("largest", 0.0), float(observed.max()), 1e-9)
        return observed / kept["largest"]


class Tired(WithMemory):
    """After a customer who took both, the next one looks at half."""

    def mixed(self, observed, kept):
        tired, kept["tired"] = kept.get("tired", False), bool((observed > 0.9).all())
        return observed * (0.5 if tired else 1.0)


relative = RelativeToTheLargest(TwoShelves(), MEANS)
tired = Tired(TwoShelves(), MEANS)
