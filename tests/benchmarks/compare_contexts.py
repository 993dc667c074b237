"""Regret of contextual linear bandits under joint privacy: growing batches beside counters of running sums.

Every row plays LinUCB on noisy moments with valid widths; they differ in how noise gets on the moments, and in what is
counted. Rows beside these two learners draw the noise of their counters on raw numbers.

* ``DPLinUCB``: a batch's sum is released once, batches grow by a half.
* ``as printed``: `algorithms.published.TreeLinUCBGaussian` (Shariff & Sheffet 2018), a leaf for every round.
* ``square root``: running sums every B rounds, `SquareRootCounter`.
* ``tree``: running sums every B rounds, `BinaryTree`, noise of the nodes that a sum has.
* ``tree, usual accounting``: a leaf for every round, widths for all levels at every release, and the sensitivity of the
  ball that holds the moments (2 sqrt 2): how such learners are mostly written, with the exact Gaussian mechanism.
* ``none``: no noise, every B rounds.

Run: ``python tests/benchmarks/compare_contexts.py [--rounds 20000] [--epsilons 1 10] [--features 4] [--actions 10]``
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

from accountant import Simulation
from algorithms import DPLinUCB
from algorithms.linear.contextual_learner import LinearUCB
from algorithms.linear.contextual_play import play_contexts
from algorithms.problems import LinearContexts
from algorithms.published import TreeLinUCBGaussian
from algorithms.theory.regret_bound import unit_mu
from mechanisms import LaneStreams, RegressionMoments, Sensitivity, SquareRootCounter
from mechanisms.arrays import FloatArray

LANES = 64


def deviations(
    kind: str, releases: int, rounds: int, epsilon: float, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Return the standard deviation of each release's noise, and the one that its widths are for."""
    moved = RegressionMoments(1).sensitivity.l2
    if kind == "none":
        return np.zeros(releases), np.zeros(releases)
    if kind == "square root":
        counter = SquareRootCounter.for_epsilon_delta(
            epsilon, delta, horizon=releases, sensitivity=Sensitivity(moved, moved, moved)
        )
        exact = np.sqrt(counter.variance(np.arange(1, releases + 1)))
        return exact, exact
    nodes = np.array([each.bit_count() for each in range(1, releases + 1)], dtype=np.float64)
    if kind == "tree":
        exact = moved * math.sqrt(releases.bit_length()) / unit_mu(epsilon, delta) * np.sqrt(nodes)
        return exact, exact
    levels = 1 + math.ceil(math.log2(rounds))
    sigma = 2.0 * math.sqrt(2.0) * math.sqrt(levels) / unit_mu(epsilon, delta)
    return sigma * np.sqrt(nodes), np.full(releases, sigma * math.sqrt(levels))


def play_learner(
    make: type[Any], problem: LinearContexts, epsilon: float, delta: float, rounds: int, seed: int
) -> Iterator[FloatArray]:
    """Play a learner; yield each round's regret, (lanes,)."""
    gate = Simulation(seed, LANES)
    learner = make(problem.features, gate, epsilon=epsilon, delta=delta, horizon=rounds)
    for played in play_contexts(learner, problem, gate, LaneStreams(seed, LANES), rounds):
        yield played.regret


def play_counter(
    kind: str, batch: int, problem: LinearContexts, epsilon: float, delta: float, rounds: int, seed: int
) -> Iterator[FloatArray]:
    """Play LinUCB on a counter's running sums; yield each round's regret, (lanes,).

    Noise is drawn anew at every release: regret in expectation depends little on how releases' noises are correlated.
    """
    d, releases = problem.features, (rounds - 1) // batch
    domain, environment, noise = RegressionMoments(d), LaneStreams(seed, LANES), np.random.default_rng(seed)
    drawn, known = deviations(kind, releases, rounds, epsilon, delta)
    far = math.sqrt(2 * math.log(3 * releases * rounds))
    operator = float(known.max(initial=0.0)) * (math.sqrt(2 * d) + far)
    vector = float(known.max(initial=0.0)) * (math.sqrt(d) + far)
    least = max(1.0, operator)
    total = np.zeros((LANES, domain.shape[0]))
    lane = np.arange(LANES)

    def policy(noisy: FloatArray, seen: int) -> LinearUCB:
        matrix, sums = domain.parts(noisy)
        values, axes = np.linalg.eigh(matrix + (operator + least) * np.eye(d))
        values = np.maximum(values, least)
        inverse = (axes / values[:, None, :]) @ np.swapaxes(axes, 1, 2)
        grown = np.minimum(np.log(values / least).sum(axis=1), d * math.log1p(seen / (d * least)))
        width = (
            np.sqrt(2 * math.log(rounds) + grown)
            + math.sqrt(2 * operator + least)
            + vector / math.sqrt(least)
        )
        return LinearUCB(np.einsum("lde,le->ld", inverse, sums), inverse, width)

    current = policy(total, 0)
    for t in range(1, rounds + 1):
        contexts = problem.draw_contexts(environment, LANES)
        chosen = current.choose(contexts)
        played = contexts[lane, chosen]
        total += domain.moments(played, problem.draw_rewards(played, environment))
        yield problem.regrets(contexts)[lane, chosen]
        if t % batch == 0 and t < rounds:
            scale = drawn[t // batch - 1]
            current = policy(total + scale * noise.standard_normal(total.shape), t)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--features", type=int, default=4)
    parser.add_argument("--actions", type=int, default=10)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    direction = np.random.default_rng(given.seed).standard_normal(given.features)
    problem = LinearContexts(direction / np.linalg.norm(direction), given.actions)
    print("| epsilon | noise | regret | s.e. |\n|---|---|---|---|")
    for epsilon in given.epsilons:
        rows = {
            name: play_learner(make, problem, epsilon, given.delta, given.rounds, given.seed)
            for name, make in (
                ("DPLinUCB", DPLinUCB),
                ("as printed", TreeLinUCBGaussian),
            )
        }
        for kind in ("square root", "tree", "tree, usual accounting", "none"):
            rows[kind] = play_counter(
                kind, given.batch, problem, epsilon, given.delta, given.rounds, given.seed
            )
        for kind, regrets in rows.items():
            regret = sum(regrets, np.zeros(LANES))
            print(f"| {epsilon:g} | {kind} | {regret.mean():.0f} | {regret.std() / 8:.1f} |", flush=True)


if __name__ == "__main__":
    main()
