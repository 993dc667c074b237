"""Checks of the assumptions of regret proofs for phased elimination, on running learners of linear bandits.

After each phase a learner shows what it has learned (`algorithms.linear.linear_phases.Learned`); the clients' rewards
are drawn here, and theta* is known. *Bookkeeping*: lengths, clients, estimates, and a design under which no action's
variance exceeds ``2 d / h``. *Radius*: variances and widths are the theorem's. *Oracle*: the actions kept are those
that the widths leave. *Noise*, *good event*, and *gap lemma*: on the event the best action is kept, and no survivor is
worse than its width and the best action's, twice; the action played to the end, of the largest estimate, no worse than
both widths once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from accountant import Gate, Simulation
from algorithms.linear.g_optimal import support_bound
from algorithms.linear.linear_phases import Learned, Phase
from algorithms.linear.linear_play import LinearLearner, play_linear
from algorithms.problems import LinearBandit
from algorithms.theory.confidence_theorem import PhaseTheorem
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import ParameterError
from verify.findings.sentences import exact
from verify.regret_claims.noise_tests import AdditiveNoise
from verify.regret_claims.proof_run import TOLERANCE, Contradiction, ProofRun, rounded, theorem_of
from verify.regret_claims.regret_report import ProofCheck

_GRID = 1e-6  # values are rounded to a grid where they enter


class AskedClients:
    """The clients of a problem, with their reports of each action in the open phase."""

    def __init__(self, problem: LinearBandit) -> None:
        self.problem = problem
        self.population, self.replacement = problem.population, problem.replacement
        self.means: dict[int, float] = {}

    def rewards(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return average rewards of the next clients."""
        return self.problem.draw_averages(support, counts, clients, rng)

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return average rewards of the next clients, and keep their mean."""
        averages = self.rewards(support, counts, clients, rng)
        if clients:
            self.means.update(zip(support.tolist(), averages.mean(axis=0).tolist(), strict=True))
        return averages


class PhaseRun(ProofRun):
    """The checked state of learners in phases, up to the current one; `round` counts the phases of a lane.

    Attributes
    ----------
    attained
        The largest gap of a survivor on the good event, as a share of the gap that widths allow.

    Raises
    ------
    ParameterError
        If the theorem is none of phases, or the problem is another.
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int, *, laws: bool = True) -> None:
        theorem, problem = theorem_of(bound, PhaseTheorem, "phases"), instance.problem
        if not isinstance(problem, LinearBandit) or (laws and problem.rewards != "signs"):
            raise ParameterError(
                f"problem = {problem!r}: must be a linear bandit with rewards that are signs"
            )
        super().__init__(bound, instance, lanes, bound.value_of(theorem.failure, instance))
        self.theorem, self.problem = theorem, problem
        self.exponent = bound.value_of(theorem.exponent, instance)
        self.best = int(problem.gaps.argmin())
        self.noise = AdditiveNoise("Gaussian", 1.0)
        self.lane, self.attained, self.laws = 0, 0.0, laws

    @property
    def extent(self) -> str:
        """The phases that were looked at."""
        return f"{counted_noun(self.round, 'phase')} of a run"

    def play(
        self, build: Callable[[Gate], LinearLearner], *, seed: int, data: Callable[..., Any] | None
    ) -> None:
        """Play a learner a lane; rewards are the problem's, or of the clients that `data` returns for a learner."""
        for lane, seeds in enumerate(np.random.SeedSequence(seed).spawn(len(self.failed))):
            own, drawn = seeds.spawn(2)
            gate = Simulation(own, 1)
            learner = build(gate)
            clients = AskedClients(self.problem) if data is None else data(learner)
            self.lane, self.round = lane, 0
            for phase in play_linear(learner, clients, gate, np.random.default_rng(drawn), together=True):
                self.phased(learner, phase, clients)
        self.check_end()

    def checks(self, error: float) -> tuple[ProofCheck, ...]:
        """Return the checks once all lanes are played."""
        law = self.theorem.law
        words = self.noise.description if law == "Gaussian" else f"its law is not tested: {law}"
        return self.all_checks(error, (self.noise.p, words), None)

    def phased(self, learner: LinearLearner, phase: Phase, clients: AskedClients) -> None:
        """Check a phase that has ended."""
        self.round += 1
        self.regret[self.lane] += float(self.problem.gaps[phase.support] @ phase.counts)
        drawn, clients.means = clients.means, {}
        learned = learner.learned
        if not phase.clients:
            if self.theorem.remainder is not None and learned is not None:
                self._check_commitment(phase, learned, learner.active)
            return
        self._say(
            "bookkeeping", learned is None or learned.phase is not phase, "nothing was learned of the phase"
        )
        assert learned is not None
        length = self._value(self.theorem.length)
        spanned = support_bound(self.problem.theta.size)
        asked = self._value(self.theorem.clients) or phase.rounds
        self._differs(
            "bookkeeping",
            phase.rounds > length + spanned or phase.support.size > spanned or phase.clients > asked,
            f"it lasts {counted_noun(phase.rounds, 'round')} on {phase.support.size} actions, with {phase.clients} "
            f"clients: at most {length + spanned:g} on {spanned} were expected, with {asked:g}",
        )
        self._say(
            "bookkeeping", phase.clients < asked, f"{phase.clients} clients report where {asked:g} should"
        )
        self._check_widths(phase, learned, length)
        self._check_kept(learned, learner.active)
        self._take(phase, learned, drawn)

    def _check_widths(self, phase: Phase, learned: Learned, length: float) -> None:
        """Check the design, the variances, the estimates and the widths."""
        points, candidates = self.problem.actions[phase.support], self.problem.actions[learned.active]
        plain = _variances(candidates, points, phase.counts.astype(np.float64))
        most = 2 * self.problem.theta.size / length
        self._say(
            "bookkeeping",
            bool((plain > most * (1 + TOLERANCE)).any()),
            f"an action has variance {plain.max():.6g} under its design, and the proof needs {most:.6g} at most",
        )
        reward, noise = self.variances(phase)
        expected = reward + noise
        slack = TOLERANCE * expected
        least = reward if self.theorem.law == "at most" else expected
        words = (
            f"averages have variances {rounded(learned.variances)}, and the theorem's are {rounded(expected)}"
        )
        self._say("radius", bool((learned.variances < least - slack).any()), words)
        self._differs("radius", bool((learned.variances > expected + slack).any()), words)
        weights, root = self._weighted(phase, learned.variances)
        values = (weights * learned.averages) @ points @ root @ (candidates @ root).T
        self._say(
            "bookkeeping",
            bool((np.abs(values - learned.values) > 1e-6 * (1 + np.abs(values))).any()),
            f"estimates are {rounded(learned.values)} where the averages make {rounded(values)}",
        )
        widths = self.widths(phase, learned.active, learned.variances)
        words = f"widths are {rounded(learned.widths)} where the theorem's are {rounded(widths)}"
        self._say("radius", bool((learned.widths < widths * (1 - 1e-6)).any()), words)
        self._differs("radius", bool((learned.widths > widths * (1 + 1e-6)).any()), words)

    def variances(self, phase: Phase) -> tuple[FloatArray, FloatArray]:
        """Return the theorem's variance proxies of a phase's averages: of their rewards, and of the privacy noise."""
        plays = phase.counts.tolist()
        reward = np.array([self._value(self.theorem.reward, phase, count) for count in plays])
        noise = np.array([self._value(self.theorem.noise, phase, count) for count in plays])
        return reward, noise

    def _weighted(self, phase: Phase, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights of a phase's averages, and R with R R' = V^+."""
        points = self.problem.actions[phase.support]
        weights = 1.0 / variances if self.theorem.width is None else phase.counts.astype(np.float64)
        root = np.linalg.pinv(np.sqrt(weights)[:, np.newaxis] * points, rcond=1e-8)
        return weights, np.asarray(root, dtype=np.float64)

    def widths(self, phase: Phase, active: IntArray, variances: FloatArray) -> FloatArray:
        """Return the theorem's widths of active actions, for averages of such variances."""
        candidates = self.problem.actions[active]
        if self.theorem.width is not None:
            noise = np.maximum(variances - self.variances(phase)[0], 0.0) * phase.counts**2
            return np.full(
                len(active), self._value(self.theorem.width, phase, tau=float(np.sqrt(noise.max())))
            )
        distributed = self._value(self.theorem.clients) > 0
        own = self.problem.sigma**2 / phase.clients if distributed else 0.0
        form = own * np.einsum("ij,ij->i", candidates, candidates)
        form = form + ((candidates @ self._weighted(phase, variances)[1]) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(2 * self.exponent * form))

    def _check_kept(self, learned: Learned, active: IntArray) -> None:
        """Check the elimination, and the gap lemma on the good event."""
        values, widths = learned.values, learned.widths
        largest = (values - widths).max()
        kept, far = learned.active[values + widths >= largest], values + 2 * widths < largest - widths.min()
        words = f"actions {sorted(active.tolist())} are kept where widths leave {sorted(kept.tolist())}"
        self._say(
            "oracle",
            not np.isin(kept, active).all() or bool(np.isin(learned.active[far], active).any()),
            words,
        )
        self._differs("oracle", not np.isin(active, kept).all(), words)
        off = np.abs(values - self.problem.means[learned.active]) > widths * (1 + TOLERANCE)
        self.failed[self.lane] |= bool(off.any())
        if self.failed[self.lane] or self.difference is not None or self.best not in learned.active:
            return
        self._say("gap lemma", self.best not in active, "the best action is eliminated on the good event")
        width = dict(zip(learned.active.tolist(), widths.tolist(), strict=True))
        for action in active.tolist():
            allowed = 2 * (width[action] + width[self.best])
            self.attained = max(self.attained, float(self.problem.gaps[action]) / allowed)
            self._say(
                "gap lemma",
                bool(self.problem.gaps[action] > allowed * (1 + TOLERANCE)),
                f"action {action} survives with gap {self.problem.gaps[action]:.6g}, and widths allow {allowed:.6g}",
            )

    def _check_commitment(self, phase: Phase, learned: Learned, active: IntArray) -> None:
        """Check that the leader is played to the end, and not before its width allows."""
        leader = int(learned.active[learned.values.argmax()])
        self._say(
            "oracle",
            phase.support.tolist() != [leader],
            f"actions {phase.support.tolist()} are played to the end where {leader} has the largest estimate",
        )
        width = dict(zip(learned.active.tolist(), learned.widths.tolist(), strict=True))
        if len(active) > 1:
            most, cost = (
                self._value(self.theorem.remainder, l=float(self.round - 1)),
                2 * phase.rounds * max(width.values()),
            )
            self._say(
                "bookkeeping",
                cost > most * (1 + TOLERANCE),
                f"{counted_noun(phase.rounds, 'round')} of the leader may cost {cost:.6g}, and exploring on {most:.6g}",
            )
        if self.failed[self.lane] or self.best not in width:
            return
        allowed = width[leader] + width[self.best]
        self._say(
            "gap lemma",
            bool(self.problem.gaps[leader] > allowed * (1 + TOLERANCE)),
            f"the leader {leader} has gap {self.problem.gaps[leader]:.6g}, and widths allow {allowed:.6g}",
        )

    def _take(self, phase: Phase, learned: Learned, drawn: dict[int, float]) -> None:
        """Hand the noise of the averages to its test, in its own deviations."""
        noise = learned.averages - np.array([drawn[action] for action in phase.support.tolist()])
        scale = np.sqrt([self._value(self.theorem.noise, phase, int(count)) for count in phase.counts])
        if self.theorem.law == "none":
            self._say("noise", bool((np.abs(noise) > _GRID).any()), f"averages are off by {rounded(noise)}")
        elif self.theorem.law == "Gaussian":
            self.noise.add(noise / scale)

    def _value(self, expression: object, phase: Phase | None = None, count: int = 1, **more: float) -> float:
        further = {"l": float(self.round if phase is None else phase.number), **more}
        if phase is not None:
            further |= {"U": float(phase.clients), "s": float(phase.support.size), "n": float(count)}
        return self.bound.value_of(expression, self.instance, **further)

    def _differs(self, name: str, other: bool, words: str) -> None:
        """Note that this is another learner than the theorem's."""
        if other and self.difference is None:
            said = exact("phase {phase}: {words}", phase=self.round, words=words)
            self.difference = ProofCheck(name, 1.0, 0.0, said, differs=True)

    def _say(self, name: str, wrong: bool, words: str) -> None:
        if wrong:
            raise Contradiction(name, f"phase {self.round}, run {self.lane}: {words}")


def _variances(candidates: FloatArray, points: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``a' V^+ a`` for every candidate; infinite outside the span of the points."""
    weighted = np.sqrt(weights)[:, np.newaxis] * points
    root = np.linalg.pinv(weighted, rcond=1e-8)
    inside = np.abs(candidates - candidates @ root @ weighted).max(axis=1) <= 1e-6
    found = ((candidates @ root) ** 2).sum(axis=1)
    return np.where(inside, found, math.inf)
