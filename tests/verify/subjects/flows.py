"""Learners that are private where one looks, and not in production, late, rarely, or if noise comes out oddly."""

import warnings

import numpy as np

from algorithms import ClaimForm, View
from mechanisms import Box, Laplace


class NoisyMeans:
    """Plays the arms with the best noisy means; subclasses say what becomes public."""

    claim = ClaimForm(model="local", view=View.MESSAGE, unit="one report", source="a test")
    family = "semi-bandit"
    price = 1.0

    def __init__(self, structure, gate, *, epsilon, horizon):
        self.structure, self.gate, self.epsilon = structure, gate, epsilon
        self.feedback_domain = Box(0, 1, structure.size)
        self.total = np.zeros((gate.lanes, structure.arms))
        self.rows = np.arange(gate.lanes)[:, None]
        self.rounds = 0
        self.laplace = Laplace.for_epsilon(self.price * epsilon, sensitivity=self.feedback_domain.sensitivity)

    def act(self):
        self.played = self.structure.solve(self.total)
        return self.played

    def observe(self, feedback):
        self.rounds += 1
        self.total[self.rows, self.played] += self.published(feedback)

    def published(self, feedback):
        return self.gate.release(self.laplace, feedback)

    def raw(self, feedback):
        """Return what nobody may see."""
        return 1000.0 * (feedback._values[0] - 0.5)


# --- in production only ---------------------------------------------------------------------------


class InOneLane(NoisyMeans):
    def published(self, feedback):
        if self.gate.lanes == 1:
            return self.raw(feedback)
        return super().published(feedback)


class ByTheTypesName(NoisyMeans):
    def published(self, feedback):
        if type(self.gate).__name__ == "Accountant":
            return self.raw(feedback)
        return super().published(feedback)


class InOneLateRound(NoisyMeans):
    def published(self, feedback):
        if self.gate.lanes == 1 and self.rounds == 37:
            return self.raw(feedback)
        return super().published(feedback)


class ForRareValues(NoisyMeans):
    def published(self, feedback):
        value = feedback._values[0, 0, 0]
        if self.gate.lanes == 1 and 0.7310 < value < 0.7311:
            return self.raw(feedback)
        return super().published(feedback)


class ForOneValue(NoisyMeans):
    def published(self, feedback):
        if self.gate.lanes == 1 and feedback._values[0, 0, 0] == 0.8125:
            return self.raw(feedback)
        return super().published(feedback)


class ThroughWarnings(NoisyMeans):
    def published(self, feedback):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.log(np.maximum(feedback._values[0] - 0.5, 0.0))
        return super().published(feedback) + 1000.0 * len(caught) * np.arange(self.played.shape[-1])


class AfterTheNoise(NoisyMeans):
    """Post-processing that holds a raw value."""

    def published(self, feedback):
        raw = feedback._values[0].copy()
        return self.gate.release(self.laplace >> (lambda noisy: noisy + 1e-6 * raw), feedback)


class WhoPays(NoisyMeans):
    """A raw value of one user in what is released of the next."""

    kept = 0.5

    def published(self, feedback):
        mixed = feedback * 0.5 + 0.5 * self.kept
        if self.gate.lanes == 1:
            self.kept = float(feedback._values[0, 0, 0])
        return self.gate.release(self.laplace, mixed)


class WhoPaysByHand(NoisyMeans):
    """As `WhoPays`, but past all operations."""

    kept = 0.5

    def published(self, feedback):
        raw = feedback._values.copy()
        feedback._values *= 0.5
        feedback._values += 0.5 * self.kept
        if self.gate.lanes == 1:
            self.kept = float(raw[0, 0, 0])
        return self.gate.release(self.laplace, feedback)


class UnderAnotherName(NoisyMeans):
    """Each user's rewards once more, in the name of nobody."""

    def published(self, feedback):
        again = self.gate.private(feedback._values[0], self.feedback_domain, f"copy-{self.rounds}")
        return super().published(feedback) + self.gate.release(self.laplace, again)


class IntoLaterBatches(NoisyMeans):
    """A raw value of round 1 in the sums of all later batches of ten rounds."""

    claim = ClaimForm(model="central", view=View.ACTIONS, unit="one report", source="a test")

    def observe(self, feedback):
        if self.rounds % 10 == 0:
            self.sums, self.open = self.gate.sums(self.structure.arms), self.played
        self.rounds += 1
        if self.rounds == 1 and self.gate.lanes == 1:
            self.kept = 1e-6 * float(feedback._values[0, 0, 0])
        moved = feedback + getattr(self, "kept", 0.0)
        self.sums.add(moved, at=self.open)
        if self.rounds % 10 == 0:
            self.total += self.gate.release(self.laplace, self.sums)

    def act(self):
        if self.rounds % 10 == 0:
            super().act()
        return self.played


class WithinABatch(IntoLaterBatches):
    """A raw value of each round in what the next one adds to the same sums; nothing is kept for the next batch."""

    def observe(self, feedback):
        if self.rounds % 10 == 0:
            self.sums, self.open, self.before = self.gate.sums(self.structure.arms), self.played, 0.0
        self.rounds += 1
        raw = feedback._values.copy()
        if self.gate.lanes == 1:
            feedback._values *= 1.0 - 0.25 * self.before
            self.before = float(raw[0, 0, 0])
        self.sums.add(feedback, at=self.open)
        if self.rounds % 10 == 0:
            self.total += self.gate.release(self.laplace, self.sums)


# --- charges that depend on what was released -----------------------------------------------------


class AgainIfImplausible(NoisyMeans):
    """Releases once more when noise looks implausible: hardly ever, and then the user pays twice."""

    def published(self, feedback):
        noisy = super().published(feedback)
        if np.abs(noisy).max() > 20.0 * self.laplace.scale:
            noisy = 0.5 * (noisy + super().published(feedback))
        return noisy


class AgainIfTied(NoisyMeans):
    def published(self, feedback):
        noisy = super().published(feedback)
        if len(np.unique(noisy)) < noisy.size:
            noisy = super().published(feedback)
        return noisy


class AgainIfAllAreLow(NoisyMeans):
    """One round in two million; with noise 30 times as large, one in 25."""

    def published(self, feedback):
        noisy = super().published(feedback)
        if (noisy < -3.0 * self.laplace.scale).all():
            noisy = super().published(feedback)
        return noisy


class AgainWithinTheBudget(AgainIfImplausible):
    """The same, each time at half the price: nobody ever pays more than is claimed."""

    price = 0.5


class AsksTheAccountant(NoisyMeans):
    """Goes on until the accountant refuses: its users have spent whatever the budget was then."""

    price = 0.25

    def published(self, feedback):
        noisy = super().published(feedback)
        if self.gate.lanes == 1 and np.abs(noisy).max() > 20.0 * self.laplace.scale:
            for _ in range(9):
                try:
                    noisy = super().published(feedback)
                except ValueError:
                    break
        return noisy


class AgainInALateRound(NoisyMeans):
    def published(self, feedback):
        if self.rounds == 33:
            super().published(feedback)
        return super().published(feedback)


# --- views ----------------------------------------------------------------------------------------


class OneLaneOnly(NoisyMeans):
    """An honest learner that never heard of lanes."""

    claim = ClaimForm(model="central", view=View.RELEASES, unit="one report", source="a test")

    def published(self, feedback):
        (noisy,) = super().published(feedback)
        return noisy


class PostProcesses(NoisyMeans):
    """An honest learner that rounds what is released, and says that all of it is seen."""

    claim = ClaimForm(model="central", view=View.RELEASES, unit="one report", source="a test")

    def published(self, feedback):
        return self.gate.release(self.laplace >> np.rint, feedback)


class FailsWhereNeighboursStand(NoisyMeans):
    """No coupled run is possible: what it releases is seen by no layer."""

    claim = ClaimForm(model="central", view=View.RELEASES, unit="one report", source="a test")

    def published(self, feedback):
        if type(self.gate).__name__ == "Coupled":
            raise NotImplementedError
        return super().published(feedback)


class AnotherView(NoisyMeans):
    claim = ClaimForm(model="central", view=View.OUTPUT, unit="one report", source="a test")
