"""Learners that claim shuffle trust; only one of them has a shuffler."""

import numpy as np

from algorithms import ClaimForm, View
from mechanisms import Binomial, Box, Laplace, ShuffledMean


class Shuffles:
    """Every round, one user sends the bits of one arm's reward; after `clients` rounds the ones are counted."""

    claim = ClaimForm(model="shuffle", view=View.ACTIONS, unit="one report", source="a test")
    family = "semi-bandit"
    clients = 5

    def __init__(self, structure, gate, *, epsilon, delta, horizon):
        self.structure, self.gate = structure, gate
        self.feedback_domain = Box(0, 1, structure.size)
        self.protocol = ShuffledMean.calibrated(
            epsilon, delta, clients=self.clients, size=structure.size, bound=1.0
        )
        self.mean = np.zeros((gate.lanes, structure.arms))
        self.rows = np.arange(gate.lanes)[:, None]
        self.at = np.tile(np.arange(structure.size), (gate.lanes, 1))
        self.played = structure.solve(self.mean)
        self.open()

    def open(self):
        self.sums, self.waiting = self.gate.sums(self.structure.size), 0

    def act(self):
        if self.waiting == 0:
            self.played = self.structure.solve(self.mean)
        return self.played

    def observe(self, feedback):
        self.sums.add(self.encoded(feedback), at=self.at)
        self.waiting += 1
        if self.waiting == self.clients:
            self.mean[self.rows, self.played] = self.released()
            self.open()

    def encoded(self, feedback):
        uniform = self.gate.random.random((self.gate.lanes, self.structure.size))
        return feedback.map(self.protocol.encoder(uniform))

    def released(self):
        return self.protocol.analyze(self.gate.release(self.protocol.mechanism, self.sums))


class NoShuffler(Shuffles):
    """Central noise on a sum: the server has seen every reward."""

    def encoded(self, feedback):
        return feedback

    def released(self):
        laplace = Laplace.for_epsilon(1.0, sensitivity=self.feedback_domain.sensitivity)
        return self.gate.release(laplace, self.sums)


class NoiseOfTheServer(Shuffles):
    """The same noise, but nobody's bits."""

    def released(self):
        bits = self.protocol.mechanism
        return self.protocol.analyze(
            self.gate.release(
                Binomial(trials=bits.trials, shift=bits.shift, dimension=bits.dimension, delta=bits.delta),
                self.sums,
            )
        )


class AbsentClients(Shuffles):
    """Four of five clients send: a fifth of the bits is missing."""

    clients = 4

    def __init__(self, structure, gate, *, epsilon, delta, horizon):
        super().__init__(structure, gate, epsilon=epsilon, delta=delta, horizon=horizon)
        self.protocol = ShuffledMean.calibrated(epsilon, delta, clients=5, size=structure.size, bound=1.0)
