"""Learners that users might hand to the verifier, each with one mistake, and one without."""

import numpy as np

from algorithms import ClaimForm, View
from mechanisms import Box, Laplace, Sensitivity

MESSAGE = ClaimForm(model="local", view=View.MESSAGE, unit="one report", source="a test")
ACTIONS = ClaimForm(model="central", view=View.ACTIONS, unit="one report", source="a test")


class NoisyMeans:
    """Play the arms with the best noisy means; subclasses decide how feedback becomes public."""

    claim = MESSAGE
    family = "semi-bandit"

    def __init__(self, structure, gate, *, epsilon, horizon):
        self.structure, self.gate, self.epsilon = structure, gate, epsilon
        self.feedback_domain = Box(0, 1, structure.size)
        self.total = np.zeros((gate.lanes, structure.arms))
        self.rows = np.arange(gate.lanes)[:, None]
        self.laplace = Laplace.for_epsilon(epsilon, sensitivity=self.feedback_domain.sensitivity)

    def act(self):
        self.played = self.structure.solve(self.total)
        return self.played

    def observe(self, feedback):
        self.total[self.rows, self.played] += self.published(feedback)


class Correct(NoisyMeans):
    def published(self, feedback):
        return self.gate.release(self.laplace, feedback)


class BranchesOnRaw(NoisyMeans):
    claim = ACTIONS

    def published(self, feedback):
        if feedback > 0.5:  # the leak
            return np.ones(self.played.shape)
        return np.zeros(self.played.shape)


class CallsFloat(NoisyMeans):
    claim = ACTIONS

    def published(self, feedback):
        return np.full(self.played.shape, float(feedback.take(np.zeros((1, 1), dtype=int))))  # the leak


class OneSharedDraw(NoisyMeans):
    def published(self, feedback):
        draw = self.gate.random.standard_exponential((self.gate.lanes, 1))
        return self.gate.declassify(feedback, "noise is added by hand") + draw / self.epsilon  # the leak


class SharedLaplace(Laplace):
    """A mechanism with one draw for all coordinates, which its inherited density does not say."""

    def release(self, value, noise):
        value = np.asarray(value)
        return value + super().release(np.zeros((*value.shape[:-1], 1)), noise)


class SharedDrawInMechanism(NoisyMeans):
    def __init__(self, structure, gate, *, epsilon, horizon):
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon)
        self.laplace = SharedLaplace(scale=self.laplace.scale, sensitivity=self.laplace.sensitivity)

    def published(self, feedback):
        return self.gate.release(self.laplace, feedback)  # the leak


class SharedDrawInCentralMechanism(SharedDrawInMechanism):
    claim = ACTIONS


class UnderDeclares(NoisyMeans):
    def published(self, feedback):
        one = Sensitivity(1.0, 1.0, 1.0)
        return self.gate.release(Laplace.for_epsilon(self.epsilon, sensitivity=one), feedback)  # the leak


class UnderDeclaresStability(NoisyMeans):
    def published(self, feedback):
        tripled = feedback.map(lambda value: 3 * value, stability=1.0)  # the leak
        return self.gate.release(self.laplace, tripled)


class WithoutClaim(NoisyMeans):
    claim = None


class Crashes(NoisyMeans):
    def published(self, feedback):
        return self.nothing  # the crash


class SmugglesThroughMap(NoisyMeans):
    claim = ACTIONS

    def published(self, feedback):
        kept = []
        feedback.map(lambda value: kept.append(value.copy()) or value, into=self.feedback_domain)
        return self.gate.release(self.laplace, feedback) + 100 * (kept[0][0] - 0.5)


class PeeksLate(NoisyMeans):
    claim = ACTIONS
    seen = 0

    def published(self, feedback):
        self.seen += 1
        if self.seen > 9:
            return 100 * (feedback._values[0] - 0.5)
        return self.gate.release(self.laplace, feedback)


class ThroughAGlobal(NoisyMeans):
    claim = ACTIONS

    def __init__(self, structure, gate, *, epsilon, horizon):
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon)
        RUNS.append(1)

    def published(self, feedback):
        return self.gate.release(self.laplace, feedback) + 100.0 * (len(RUNS) % 2) * (self.played == 0)


RUNS = []


class CatchesErrorsOfMap(NoisyMeans):
    claim = ACTIONS

    def published(self, feedback):
        try:
            feedback.map(lambda value: value, into=Box(0, 0.5, self.structure.size))  # the leak
        except Exception:
            return np.ones(self.played.shape)
        return np.zeros(self.played.shape)


class BelievedStability(NoisyMeans):
    def published(self, feedback):
        wave = feedback.map(lambda value: value + 50 * np.sin(np.pi * value), stability=1.0)  # the leak
        return self.gate.release(
            Laplace(scale=4 / self.epsilon, sensitivity=Sensitivity(4.0, 4.0, 4.0)), wave
        )


class CountsInPlace(NoisyMeans):
    claim = ACTIONS

    def published(self, feedback):
        self.total[:, :4] += feedback  # the leak
        return 0.0


class InterruptsItself(NoisyMeans):
    def published(self, feedback):
        raise KeyboardInterrupt  # nobody has pressed Ctrl-C


class ExitsQuietly(NoisyMeans):
    def published(self, feedback):
        raise SystemExit(0)


class Prints(NoisyMeans):
    def published(self, feedback):
        print("noise on standard output")
        return self.gate.release(self.laplace, feedback)


class ActsBadly(NoisyMeans):
    def act(self):  # the leak
        self.played = np.full((self.gate.lanes, self.structure.size), 99)
        return self.played


class TakesAnything(Correct):
    def __init__(self, structure, gate, **keywords):
        super().__init__(structure, gate, epsilon=keywords["epsilon"], horizon=keywords["horizon"])


class CannotBeBuilt(NoisyMeans):
    def __init__(self, structure):
        self.structure = structure


class NeverEnds(Correct):
    """Plays some rounds, and then looks for an arm that does not exist."""

    def act(self):
        arm = 0
        while self.total.any() and arm < self.structure.arms:
            arm = -1  # never ends
        return super().act()
