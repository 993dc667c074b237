"""Regret of certified learners beside published ones, at the same claimed epsilon, on the papers' own settings.

Run with ``python tests/benchmarks/compare_learners.py``; it prints three tables.

* Ranked lists (cascading bandits paper, section 7): L = 20, K = 4, delta = 1e-3, T = 100,000. Its item means are
  not stated; 4 x 0.2 and 16 x 0.05 are used, as in the problem catalogue.
* Semi-bandit with the same numbers: the best 4 of 20 arms, sum of outcomes.
* The matroid of the matroid bandits paper's Table 2 (there T = 10,000 and epsilon = 2).

Rows that end in "=" run a published algorithm at the claim for which its noise alone is epsilon-private: nothing
that is private at all has more of it.

"Private" is the epsilon that is proved for what is sent, at the claim's delta. Where that is "none", the column
"noise" has the epsilon that the noise alone would give if nothing else leaked (all positions sent, no raw
start): the published cascades are private at no epsilon, and at their noise's own epsilon only in a version that
nobody published. Every lane is a run with its own seed; the error is the standard error of the mean.
"""

from __future__ import annotations

import argparse
import math
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from dataclasses import dataclass

from scipy.optimize import brentq

from accountant import Simulation
from algorithms.catalogue import learners
from algorithms.problems import Problem, problems
from algorithms.simulate import simulate
from mechanisms import Gaussian, Laplace, OneHot, Sensitivity

DELTA = 1e-3
ITEMS, SIZE = 20, 4


@dataclass(frozen=True)
class Row:
    """A learner and its settings."""

    name: str
    multiplier: float | None = None
    matched: bool = False

    @property
    def label(self) -> str:
        """The name, with the noise multiplier of the paper's experiments, or "=" if its noise is matched."""
        multiplied = f" x{self.multiplier:g}" if self.multiplier is not None else ""
        return self.name + multiplied + (" =" if self.matched else "")

    @property
    def settings(self) -> dict[str, float]:
        """Settings for the catalogue."""
        return {} if self.multiplier is None else {"noise_multiplier": self.multiplier}


TABLES: dict[str, tuple[str, list[Row]]] = {
    "ranked lists": (
        "cascade",
        [
            Row("cascade-ucb1"),
            Row("published/cascade-ucb-ldp-laplace"),
            Row("published/cascade-ucb-ldp-gaussian"),
            Row("published/cascade-ucb-ldp-composition"),
            Row("published/cascade-ucb-ldp-laplace", matched=True),
            Row("published/cascade-ucb-ldp-gaussian", matched=True),
            Row("published/cascade-ucb-ldp-composition", matched=True),
            Row("published/cascade-ucb-ldp-laplace", 0.01),
            Row("published/cascade-ucb-ldp-gaussian", 0.01),
            Row("cascade-ucb-rr"),
            Row("cascade-ucb-ldp-laplace"),
            Row("cascade-ucb-ldp-gaussian"),
            Row("cascade-ucb-batch"),
        ],
    ),
    "semi-bandit": (
        "top-k",
        [
            Row("cucb"),
            Row("published/cucb-ldp-gaussian"),
            Row("published/cucb-ldp-gaussian", matched=True),
            Row("published/cucb-ldp-gaussian", 0.01),
            Row("cucb-ldp1"),
            Row("cucb-ldp2"),
            Row("cucb-ldp-laplace-all"),
            Row("cucb-ldp-gaussian"),
            Row("cucb-ldp-laplace-one"),
            Row("cucb-ldp-bit"),
            Row("cucb-batch-all"),
            Row("cucb-batch-least"),
            Row("cucb-batch-gaussian"),
        ],
    ),
    "matroid": (
        "linear-matroid",
        [
            Row("omm"),
            Row("published/dpucb-mat"),
            Row("dpucb-mat"),
            Row("cucb-batch-all"),
            Row("cucb-batch-least"),
        ],
    ),
}


def noise_epsilon(row: Row, problem: Problem, epsilon: float) -> float:
    """Return the epsilon of the noise alone, at delta = 1e-3 where it is Gaussian."""
    built = learners[row.name].build(
        problem, epsilon=epsilon, delta=DELTA, horizon=1, settings=dict(row.settings)
    )(Simulation(0, 64))
    cascade = learners[row.name].family == "cascade"
    moved: Sensitivity | None = OneHot(SIZE).sensitivity if cascade else None
    mechanism = getattr(built, "mechanism", None) or getattr(built, "randomizer", None)
    if mechanism is None and learners[row.name].claim.source.startswith("matroid bandits"):
        # As printed, w_0 is one record of L values: its noise is for all of them.
        return float(built.laplace.epsilon) if hasattr(built, "laplace") else epsilon
    if isinstance(mechanism, Laplace | Gaussian):
        return mechanism.profile(moved).epsilon(DELTA if isinstance(mechanism, Gaussian) else 0.0)
    return float(mechanism.epsilon) if mechanism is not None else math.inf


def matched_claim(row: Row, problem: Problem, epsilon: float) -> float:
    """Return the claim at which the noise alone is epsilon-private."""
    return float(
        brentq(lambda claim: noise_epsilon(row, problem, claim) - epsilon, epsilon / 100, epsilon * 100)
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.2, 0.5, 1.0, 2.0])
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--table", choices=sorted(TABLES), nargs="+", default=list(TABLES))
    given = parser.parse_args()
    for table in given.table:
        problem_name, rows = TABLES[table]
        problem = problems[problem_name].build()
        print(
            f"{table}: {problem_name}, T = {given.horizon:,}, {given.runs} runs, seed {given.seed}, delta = {DELTA:g}"
        )
        print(f"  {'learner':42s} {'claim':>6s} {'private':>8s} {'noise':>7s} {'regret':>9s} {'s.e.':>6s}")
        for epsilon in given.epsilons:
            for row in rows:
                entry = learners[row.name]
                claim = matched_claim(row, problem, epsilon) if row.matched else epsilon
                build = entry.build(
                    problem, epsilon=claim, delta=DELTA, horizon=given.horizon, settings=dict(row.settings)
                )
                trace = simulate(
                    build,
                    problem,
                    horizon=given.horizon,
                    runs=given.runs,
                    seed=given.seed,
                    checkpoints=2,
                    workers=given.workers,
                )
                claims = "no privacy" not in entry.as_printed
                holds = claims and "FALSE" not in entry.as_printed
                noise = noise_epsilon(row, problem, claim)
                print(
                    f"  {row.label:42s} {claim if claims else math.inf:6.3g} {f'{epsilon:g}' if holds else 'none':>8s} "
                    f"{noise:7.4g} {trace.regret_mean[-1]:9.0f} {trace.regret_sem[-1]:6.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
