"""Learners run under a gate that keeps its noise, so that pseudocode can be replayed on the same draws."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from accountant import Simulation
from algorithms.play import start_warm
from mechanisms import Gaussian, Transformed

LANES = 64


@dataclass
class Release:
    """One release: the round, the noise (the reported symbols for randomized response), the mask."""

    round: Any
    mechanism: Any
    noise: np.ndarray
    where: np.ndarray


class KeptDraws:
    def __init__(self, rng):
        self.rng, self.draws = rng, []

    def standard_normal(self, size):
        self.draws.append(self.rng.standard_normal(size))
        return self.draws[-1]

    def random(self, size):
        self.draws.append(self.rng.random(size))
        return self.draws[-1]


class NoiseKeepingGate(Simulation):
    def __init__(self, seed, lanes=LANES):
        super().__init__(seed, lanes)
        self.rng = np.random.default_rng(seed)
        self.releases, self.normals = [], KeptDraws(self.rng)

    @property
    def random(self):
        return self.normals

    def release(self, mechanism, private, where=None):
        while isinstance(mechanism, Transformed):
            private, mechanism = private.map(mechanism.transformation), mechanism.mechanism
        values = private._values[0]
        where = np.ones(values.shape, bool) if where is None else where
        if private._categories:
            kept = outputs = mechanism.release(values, self.rng)
        else:
            gaussian = isinstance(mechanism, Gaussian)
            kept = (
                self.rng.normal(scale=mechanism.sigma, size=values.shape)
                if gaussian
                else self.rng.laplace(scale=mechanism.scale, size=values.shape)
            )
            outputs = values + kept
        self.releases.append(Release(self._record, mechanism, kept, where))
        return np.where(where, outputs, 0)


@dataclass
class Run:
    """A learner, its actions (rounds, lanes, size), the records (rounds + 1, lanes, arms) and the noise."""

    learner: Any
    actions: np.ndarray
    records: np.ndarray
    releases: list[Release]
    normals: list[np.ndarray]

    def noise(self, lane):
        """Return ``{(round, coordinate): noise}`` of what was released in one lane."""
        return {
            (release.round, int(k)): release.noise[lane, k]
            for release in self.releases
            for k in np.flatnonzero(release.where[lane])
        }


def play(learner, problem, gate, records):
    if hasattr(learner, "observe_initial"):
        start_warm(learner, gate, problem, records[0])
    actions = []
    for t in range(1, len(records)):
        action = learner.act()
        feedback = problem.feedback(records[t], action)
        learner.observe(gate.private(feedback, learner.feedback_domain, t))
        actions.append(action.copy())
    return np.array(actions)


@pytest.fixture
def recorded_run():
    """Return a function that runs ``make(structure, gate)`` on drawn records and keeps everything."""

    def run(make, problem, rounds, seed):
        gate = NoiseKeepingGate(seed)
        rng = np.random.default_rng([seed, 1])
        shape = (rounds + 1, LANES, problem.structure.arms)
        records = (rng.random(shape) < problem.means).astype(float)
        learner = make(problem.structure, gate)
        actions = play(learner, problem, gate, records)
        return Run(learner, actions, records, gate.releases, gate.normals.draws)

    return run


@pytest.fixture
def greedy_basis():
    """Return a literal greedy algorithm: by decreasing weight, ties by id, whatever stays independent."""

    @functools.cache
    def bases_of(structure):
        return [frozenset(basis) for basis in structure.bases()]

    def greedy(structure, weights):
        bases = bases_of(structure)
        chosen = set()
        for element in sorted(range(structure.arms), key=lambda e: (-weights[e], e)):
            if any(chosen | {element} <= basis for basis in bases):
                chosen.add(element)
        return sorted(chosen)

    return greedy
