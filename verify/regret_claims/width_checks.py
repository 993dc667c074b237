"""Checks of the assumptions of the regret proof for optimism on released moments, on a running learner.

The checker draws contexts and rewards, so it knows the sums G and u of the moments that a release is of; the rest of it
is its noise (`algorithms.theory.confidence_theorem.WidthTheorem` has the symbols).

- *bookkeeping*: something is released in the rounds that the theorem states, and in no others; V and theta are those of
  all that was released, and of nothing else;
- *radius*: the width is the theorem's;
- *oracle*: the action played has the largest estimate and radius of those offered;
- *noise*: its law;
- *good event*: ``|theta - theta*|_V <= width`` at all times, but in as many runs as the proof allows;
- *gap lemma*: on it, no estimate of an action that is offered is off by more than its radius, and a round costs twice
  the radius of the action played at most;
- *path*: on it, a run's regret is at most the sum of these, or of the largest regret of a round where that is less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from accountant import Simulation
from accountant.gates.random_streams import RandomStream
from accountant.gates.simulation import lane_randomness
from algorithms.linear.contextual_learner import LinearUCB
from algorithms.linear.contextual_play import BuildContextual, ContextualRound, play_contexts
from algorithms.problems import LinearContexts
from algorithms.theory.confidence_theorem import WidthTheorem
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms import RegressionMoments
from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError
from verify.regret_claims.noise_tests import AdditiveNoise
from verify.regret_claims.proof_run import TOLERANCE, ProofRun, good_event_failure, theorem_of
from verify.regret_claims.regret_report import ProofCheck

_GRID = 1e-6  # moments are rounded to a grid of 2^-25 where they enter
_SOLVED = 1e-6  # relative: the rounding of an inverse


class WidthRun(ProofRun):
    """The checked state of a learner on moments.

    Attributes
    ----------
    spans
        The number of rounds in each release, by the round in which it is due.

    Raises
    ------
    ParameterError
        If the theorem is none of widths, or the problem has no contexts.
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int, *, laws: bool = True) -> None:
        theorem, problem = theorem_of(bound, WidthTheorem, "widths"), instance.problem
        if not isinstance(problem, LinearContexts):
            raise ParameterError(f"problem = {problem!r}: must be a contextual linear bandit")
        super().__init__(bound, instance, lanes, good_event_failure(theorem.failure, bound, instance))
        self.theorem, self.problem, self.laws = theorem, problem, laws
        self.domain = RegressionMoments(problem.features, theorem.weight)
        self.scale = bound.value_of(theorem.scale, instance)
        self.noise = AdditiveNoise("Gaussian", 1.0)
        self._set_level()
        first = int(np.ceil(bound.value_of(theorem.first, self._level)))
        self.spans = theorem.spans(instance.horizon, first)
        nothing = np.zeros((lanes, *self.domain.shape))
        self._told = [nothing]  # after each round: the sum of all moments
        self._total = {0: nothing}  # after releases: their sum
        self._noises = {0: 0}  # and how many they are
        self._last = 0  # the round of the last release
        self._waited = 0  # the longest release that was due since
        self._policy: LinearUCB | None = None
        self._allowed: FloatArray = np.zeros(lanes)

    def play(self, build: BuildContextual, *, seed: int, data: Callable[..., Any] | None) -> None:
        """Play a learner; contexts and rewards are drawn from the problem."""
        lanes = len(self.failed)
        gate = Simulation(seed, lanes, transcript=True)
        environment = lane_randomness(seed, lanes, 0, RandomStream.ENVIRONMENT)
        assert gate.published is not None
        learner = build(gate)
        self._check_policy(learner.policy)
        for played in play_contexts(learner, self.problem, gate, environment, self.instance.horizon):
            self._check_round(played)
            if self.epoch_ends:
                self._set_level()
            self._check_releases([sent for _, sent in gate.published], learner.policy)
            gate.published.clear()
        self.check_end()

    def _set_level(self) -> None:
        """Set the horizon that widths are for, and the theorem's width there."""
        self._level = self.level_instance
        self._width = self.theorem.width_on(self.bound.values(self._level))

    def checks(self, error: float) -> tuple[ProofCheck, ...]:
        """Return the checks once all rounds are played."""
        exact = (1.0, f"none in {len(self.spans)} releases of each run")
        noise = (self.noise.p, self.noise.description) if self.scale > 0 else exact
        return self.all_checks(error, noise, None)

    def _check_policy(self, policy: LinearUCB) -> None:
        """Check a new policy against the releases so far."""
        d, after = self.problem.features, self._last
        numbers = {"n": float(after), "j": float(self._noises[after])}
        shift, least, cap = (
            self.bound.value_of(each, self._level, **numbers)
            for each in (self.theorem.shift, self.theorem.least, self.theorem.volume)
        )
        matrix, vector = self.domain.parts(self._total[after])
        values, axes = np.linalg.eigh(matrix + shift * np.eye(d))
        values = np.maximum(values, least)
        inverse = (axes / values[:, np.newaxis, :]) @ np.swapaxes(axes, 1, 2)
        estimate = np.einsum("lde,le->ld", inverse, vector)
        for name, shown, expected in (
            ("V^-1", policy.covariance, inverse),
            ("theta", policy.estimate, estimate),
        ):
            off = np.abs(shown - expected).reshape(len(expected), -1).max(axis=1)
            most = _SOLVED * np.abs(expected).reshape(len(expected), -1).max(axis=1)
            self.refuse(
                "bookkeeping",
                ~(off <= most + TOLERANCE),
                lambda lane, name=name, off=off: (  # type: ignore[misc]
                    f"{name} is off by {off[lane]:.6g} from that of the {self._noises[after]} releases so far"
                ),
            )
        volume = np.minimum(np.log(values / least).sum(axis=1), cap)
        width = self._width(numbers["n"], numbers["j"], volume)
        off = policy.width - width

        def describe(lane: int, arm: int = 0) -> str:
            return f"the width is {policy.width[lane]:.6g}, and the theorem's is {width[lane]:.6g}"

        self.refuse("radius", ~(off >= -_SOLVED * width), describe)
        self.note_difference("radius", (off > _SOLVED * width)[:, np.newaxis], describe)
        along = np.einsum("ld,lde->le", policy.estimate - self.problem.parameter, axes)
        self.failed |= np.sqrt((values * along**2).sum(axis=1)) > policy.width * (1 + TOLERANCE)
        self._policy = policy

    def _check_round(self, played: ContextualRound) -> None:
        """Check a round against the policy that it was played by."""
        self.round += 1
        self.single += 1
        lane, policy, contexts = np.arange(len(self.failed)), played.policy, played.contexts
        self.refuse(
            "bookkeeping",
            np.full(len(lane), policy is not self._policy),
            lambda lane: "the policy is another one, and nothing was released",
        )
        spread = np.einsum("lad,lde,lae->la", contexts, policy.covariance, contexts)
        radii = policy.width[:, np.newaxis] * np.sqrt(np.maximum(spread, 0.0))
        means = np.einsum("lad,ld->la", contexts, policy.estimate)
        upper = means + radii
        self.refuse(
            "oracle",
            upper[lane, played.chosen] < upper.max(axis=1) - TOLERANCE * (1 + np.abs(upper).max(axis=1)),
            lambda lane: (
                f"the action of index {upper[lane, played.chosen[lane]]:.6g} is played where the largest is "
                f"{upper[lane].max():.6g}"
            ),
        )
        off = np.abs(means - self.problem.means(contexts))
        at = (off - radii).argmax(axis=1)
        self.refuse(
            "gap lemma",
            ~self.failed & (off[lane, at] > radii[lane, at] * (1 + TOLERANCE) + TOLERANCE),
            lambda lane: (
                f"an estimate is off by {off[lane, at[lane]]:.6g}, and its radius is {radii[lane, at[lane]]:.6g}"
            ),
        )
        allowed = 2 * radii[lane, played.chosen]
        self.refuse(
            "gap lemma",
            ~self.failed & (played.regret > allowed * (1 + TOLERANCE) + TOLERANCE),
            lambda lane: f"the round costs {played.regret[lane]:.6g}, and radii allow {allowed[lane]:.6g}",
        )
        self.regret += played.regret
        self._allowed += np.minimum(allowed, self.problem.largest_regret)
        self._told.append(self._told[-1] + played.moments)

    def _check_releases(self, sent: list[FloatArray], policy: LinearUCB) -> None:
        """Check the releases of a round, and take their noise; then check the new policy."""
        span = self.spans.get(self.round, 0)
        if self.theorem.counting == "growing batches":
            span = self._own_span(span, bool(sent))
        self.refuse(
            "bookkeeping",
            np.full(len(self.failed), len(sent) != (span > 0)),
            lambda lane: f"there are {len(sent)} releases where {int(span > 0)} should be",
        )
        if not span:
            if self.epoch_ends:
                self._check_policy(policy)
            return
        before = self.round - span
        self._total[self.round] = self._total[before] + sent[0]
        self._noises[self.round] = self._noises[before] + 1
        self._last, self._waited = self.round, 0
        noise = sent[0] - (self._told[self.round] - self._told[before])
        if self.scale > 0:
            self.noise.add(noise / self.scale)
        else:
            self.refuse(
                "noise",
                np.abs(noise).max(axis=1) > _GRID * span,
                lambda lane: f"a sum is off by {np.abs(noise[lane]).max():.6g}, and there should be no noise",
            )
        self._check_policy(policy)

    def _own_span(self, due: int, sent: bool) -> int:
        """Return of how many rounds a release is, 0 if there is none, on the learner's own schedule."""
        waits = self.round - self._last
        self._waited = max(self._waited, due) if waits > due else due
        self.refuse(
            "bookkeeping",
            np.full(len(self.failed), not sent and 0 < self._waited < waits and waits > self._last / 2 + 8),
            lambda lane: (
                f"{waits} rounds wait beside {self._last} that were released: nothing is learned any more"
            ),
        )
        self.note_difference(
            "bookkeeping",
            np.array([[sent != (due > 0) or (sent and waits != due)]]),
            lambda lane, arm: (
                f"{waits} rounds wait and are {'' if sent else 'not '}released, where {due} are due"
            ),
        )
        return waits if sent else 0

    def check_end(self) -> None:
        """Check that no run on the good event has lost more than its radii allow."""
        self.refuse(
            "path",
            ~self.failed & (self.regret > self._allowed * (1 + TOLERANCE) + TOLERANCE),
            lambda lane: (
                f"a run on the good event lost {self.regret[lane]:.6g}, and its radii allow {self._allowed[lane]:.6g}"
            ),
        )
