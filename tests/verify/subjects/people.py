"""A learner that adds noise to every round's feedback, and claims to protect a person."""

import numpy as np

from algorithms import ClaimForm, OnePerson, View
from mechanisms import Box, Gaussian, Laplace


class OfPerson:
    """Play the arms with the best noisy means; each round costs a part of the claim."""

    claim = ClaimForm(
        model="central",
        view=View.RELEASES,
        unit=OnePerson(rounds=8),
        source="a test",
        comment="a customer, with all visits",
    )
    family = "semi-bandit"
    share = 1.0

    def __init__(self, structure, gate, *, epsilon, horizon):
        self.structure, self.gate = structure, gate
        self.feedback_domain = Box(0, 1, structure.size)
        self.total = np.zeros((gate.lanes, structure.arms))
        self.rows = np.arange(gate.lanes)[:, None]
        self.noise = self.noise_for(epsilon / self.share)

    def noise_for(self, epsilon):
        return Laplace.for_epsilon(epsilon, sensitivity=self.feedback_domain.sensitivity)

    def act(self):
        self.played = self.structure.solve(self.total)
        return self.played

    def observe(self, feedback):
        self.total[self.rows, self.played] += self.gate.release(self.noise, feedback)


class EachRound(OfPerson):
    """The claim, in each round."""


class EighthOfEachRound(OfPerson):
    """An eighth of it."""

    share = 8.0


class SeventhOfEachRound(OfPerson):
    """A seventh of it."""

    share = 7.0


class OfAnybody(OfPerson):
    """An eighth, and a claim for people who come as often as they like."""

    share = 8.0
    claim = ClaimForm(model="central", view=View.RELEASES, unit=OnePerson(), source="a test")


class GaussianEachRound(OfPerson):
    """Gaussian noise for the claim, in each round."""

    def noise_for(self, epsilon):
        return Gaussian.for_epsilon_delta(epsilon, 1e-4, sensitivity=self.feedback_domain.sensitivity)


class OfRound(OfPerson):
    """The claim, in each round, of one round."""

    claim = ClaimForm(model="central", view=View.RELEASES, unit="one report", source="a test")
