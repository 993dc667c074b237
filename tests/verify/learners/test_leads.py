"""Leads: decisions that come late are found."""

import pytest

from verify import PlainBandit, verify


class LateAndRaw:
    """Plays either arm 260 times, and then for ever the one whose raw rewards, with one noise for both, are more."""

    length = 260

    def __init__(self, rng):
        self.sums, self.best, self.rng = [0.0, 0.0], None, rng

    def select_arm(self, t):
        return self.best if t >= 2 * self.length else t // self.length

    def update(self, t, arm, reward):
        if t < 2 * self.length:
            self.sums[arm] += reward
        if t == 2 * self.length - 1:
            noise = self.rng.laplace()
            noisy = [total + noise for total in self.sums]
            self.best = noisy.index(max(noisy))


class LateAndPrivate(LateAndRaw):
    """The same with a noise for each."""

    def update(self, t, arm, reward):
        super().update(t, arm, reward)
        if t == 2 * self.length - 1:
            noisy = [total + self.rng.laplace() for total in self.sums]
            self.best = noisy.index(max(noisy))


def test_a_decision_after_hundreds_of_rounds_is_found():
    raw = verify(PlainBandit(LateAndRaw, arms=2, rounds=1_000), epsilon=1.0, effort="quick")
    assert raw.verdict == "refuted"
    assert "the first 521 of 1000 rounds are played" in raw.witness.neighbours["data"]


@pytest.mark.slow
def test_a_late_private_decision_is_not_refuted():
    private = verify(PlainBandit(LateAndPrivate, arms=2, rounds=1_000), epsilon=1.0)
    assert private.verdict == "unproven"
    assert private.findings == ()
    assert 0.2 < private.lower.epsilon < 1.0
