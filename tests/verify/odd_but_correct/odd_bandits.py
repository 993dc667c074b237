"""Correct bandits of odd shapes: each reward is answered by a response or with noise once, or sums are released once.

Each is 1-private for rewards 0 and 1.
"""

import collections
import functools
import random
from dataclasses import dataclass, field

import numpy as np
from odd_ingredients import KEEP

from verify import PlainBandit


@dataclass
class Answers:
    """Arms by odd rules of what has been answered; a reward is answered once, when it comes."""

    rng: np.random.Generator
    arms: int = 2
    said: list = field(default_factory=list)

    def __post_init__(self):
        """Take what a subclass needs."""

    def select_arm(self):
        """Play in turn until each arm is answered; then by a rule."""
        return len(self.said) if len(self.said) < self.arms else int(self.rule()) % self.arms

    def update(self, arm, reward):
        """Keep the answer alone."""
        self.said.append((arm, self.answer(reward)))

    def answer(self, reward):
        """Return a response to a bit."""
        return int(reward) ^ int(self.rng.random() >= KEEP)

    def means(self):
        """Return the mean answer of each arm."""
        return [np.mean([said for a, said in self.said if a == arm] or [np.inf]) for arm in range(self.arms)]

    def rule(self):
        """Play the best arm, the last of those that are tied."""
        means = self.means()
        return max(range(self.arms), key=lambda arm: (means[arm], arm))


class TiesByLot(Answers):
    """Ties are broken by lot."""

    def rule(self):
        means = self.means()
        return self.rng.choice(np.flatnonzero(means == np.max(means)))


class OwnGenerator(Answers):
    """Answers with a generator of its own, and explores by that of the run."""

    def __post_init__(self):
        self.own = random.SystemRandom()

    def answer(self, reward):
        return int(reward) ^ int(self.own.random() >= KEEP)

    def rule(self):
        return self.rng.integers(self.arms) if self.rng.random() < 0.2 else super().rule()


class Laplacian(Answers):
    """Adds Laplace noise to each reward, and samples posteriors of what comes out."""

    def answer(self, reward):
        return reward + self.rng.laplace()

    def rule(self):
        return np.argmax([self.rng.normal(mean, 1.0) for mean in self.means()])


class Parity(Answers):
    """Plays the parity of all answers."""

    def rule(self):
        return sum(said for _, said in self.said) & 1


class Late(Answers):
    """Plays by answers of five rounds ago."""

    def rule(self):
        return self.said[-6][1] if len(self.said) > 5 else 0


class Forgetful(Answers):
    """Keeps the last three answers."""

    def __post_init__(self):
        self.said = collections.deque(maxlen=max(3, self.arms))


class Sampling(Answers):
    """Thompson sampling with beta posteriors of the answers."""

    def rule(self):
        counts = np.ones((self.arms, 2))
        for arm, said in self.said:
            counts[arm, said] += 1
        return np.argmax(self.rng.beta(counts[:, 1], counts[:, 0]))


class Batches(Answers):
    """Plays eight rounds in turn, then for ever the arm whose sum, released once with Laplace noise, is larger."""

    def __post_init__(self):
        self.sums, self.t, self.best = np.zeros(self.arms), 0, None

    def select_arm(self):
        if self.t >= 8 and self.best is None:
            self.best = int(np.argmax(self.sums + self.rng.laplace(size=self.arms)))
        return self.t % self.arms if self.best is None else self.best

    def update(self, arm, reward):
        if self.best is None:
            self.sums[arm] += reward
        self.t += 1


class Exponential(Batches):
    """Plays eight rounds in turn, and selects an arm by the exponential mechanism on sums of its own rounds."""

    def select_arm(self):
        if self.t >= 8 and self.best is None:
            weights = np.exp(self.sums - self.sums.max())  # one reward moves one of them by a factor of e
            self.best = int(self.rng.choice(self.arms, p=weights / weights.sum()))
        return self.t % self.arms if self.best is None else self.best


class Blind(Answers):
    """Never looks at a reward."""

    def update(self, arm, reward):
        self.said.append((arm, 0))

    def rule(self):
        return self.rng.integers(self.arms)


class Steps(Answers):
    """Plays by one method that is told the last reward and arm."""

    def step(self, reward, arm):
        """Answer the reward, and return the next arm."""
        if arm is not None:
            self.update(arm, reward)
        return self.select_arm()


class Plays:
    """Plays by itself against an environment."""

    def __init__(self, env, rng):
        self.env, self.learner = env, Answers(rng)

    def play(self):
        """Play one round."""
        arm = self.learner.select_arm()
        self.learner.update(arm, self.env.pull(arm))


class Sends(Answers):
    """Sends each answer."""

    def answer(self, reward):
        self.sent = super().answer(reward)
        return self.sent

    def report(self):
        """Return a sentence."""
        return f"round {len(self.said)}: {self.sent}"


class Thirds(Answers):
    """Rounds rewards of [0, 1] to bits by lot, and answers these."""

    def answer(self, reward):
        return super().answer(self.rng.random() < reward)


def bandit(kind, arms=2, rounds=16, **how):
    """Return a bandit of a class that is told how many arms there are."""
    return PlainBandit(functools.partial(_make, kind, arms), arms=arms, rounds=rounds, **how)


def _make(kind, arms, rng):
    return kind(rng, arms)


SUBJECTS = {
    "best-answer": bandit(Answers),
    "best-of-five": bandit(Answers, 5, 24),
    "one-round": bandit(Answers, 2, 1),
    "one-arm": bandit(Answers, 1, 8),
    "ties-by-lot": bandit(TiesByLot, 3, 20),
    "generator-of-its-own": bandit(OwnGenerator),
    "noisy-rewards": bandit(Laplacian),
    "parity-of-answers": bandit(Parity),
    "late-answers": bandit(Late, 2, 24),
    "few-answers": bandit(Forgetful),
    "posterior-sampling": bandit(Sampling, 3, 20),
    "first-eight-rounds": bandit(Batches),
    "selected-after-eight": bandit(Exponential),
    "never-looks": bandit(Blind),
    "by-steps": bandit(Steps, step="step"),
    "plays-by-itself": PlainBandit(Plays, arms=2, rounds=12, play="play"),
    "sends-sentences": bandit(Sends, 2, 8, message=lambda sent: sent.report()),
    "rewards-between": bandit(Thirds, rewards=(0.0, 0.3, 1.0)),
    "rounds-by-context": bandit(Answers, 2, 12, contexts=np.eye(12)),
}
SUBJECTS = {name: (subject, None, 1.0, 0.0) for name, subject in SUBJECTS.items()}
