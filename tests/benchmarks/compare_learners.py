"""Regret of certified learners beside published ones, at the same honest epsilon, on the papers' own settings.

Run with ``python tests/benchmarks/compare_learners.py``; it prints Markdown tables. With ``--movielens FOLDER`` (the
unpacked ml-1m archive, which its licence forbids to pass on) the setting of the matroid bandits paper's section 5.2 is
one of them.

* ranked lists (cascading bandits paper, section 7): L = 20, K = 4, delta = 1e-3, T = 100,000. Its item means are not
  stated; 4 x 0.2 and 16 x 0.05 are used, as in the problem catalogue.
* semi-bandit with the same numbers: the best 4 of 20 arms, sum of outcomes.
* matroid: Table 2 of the matroid bandits paper, T = 10,000, epsilon = 2 and two values of its figure 5b. Its elements
  are taken in reversed order: as printed, whoever breaks ties by the lowest element plays the optimum from the start.
* movielens: 100 movies, T = 20,000, epsilon = 2.

Rows that end in "=" run a published algorithm at the claim for which its noise is epsilon-private: nothing that is
private at all has more of it. "true" is the epsilon that is proved of what the algorithm shows, at the claim's delta.
Where that is infinite, "noise" has the epsilon that the noise would give if nothing else leaked (all positions sent, no
raw start): the published cascades are private at no epsilon, and at their noise's only in a version that nobody
published. Every lane is a run with its own seed; the error is the standard error of the mean.

The last table sets every published algorithm that is private against the certified learners of the same trust model
at the same true epsilon. The exit code is 1 if a published one has less regret than its certified form or the best
certified learner by more than three standard errors of the difference.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from dataclasses import dataclass, field
from functools import partial

from scipy.optimize import brentq

from accountant import Simulation
from algorithms.catalogue.structured_entries import LearnerEntry, learners
from algorithms.problems import Arms, LinearMatroid, Problem, SemiBandit, build_problem, movielens
from algorithms.simulate import simulate
from mechanisms import BinaryTree, Box, Gaussian, Laplace, OneHot, Sensitivity

DELTA = 1e-3
AS_PRINTED = ("cucb-ldp1", "cucb-ldp2")
"""Printed algorithms that are certified as they are: they are compared as published ones."""


@dataclass(frozen=True)
class Row:
    """A learner and its settings."""

    name: str
    settings: Mapping[str, float | str] = field(default_factory=dict)
    matched: bool = False

    @property
    def entry(self) -> LearnerEntry:
        """The learner in the catalogue."""
        return learners[self.name]

    @property
    def label(self) -> str:
        """The name, the settings, and "=" if its noise is matched."""
        changed = "".join(f", {key} {value}" for key, value in self.settings.items())
        return f"{self.name}{changed}{' =' if self.matched else ''}"

    @property
    def published(self) -> bool:
        """Whether it is exactly as a paper prints it."""
        return self.name.startswith("published/") or self.name in AS_PRINTED

    @property
    def claims(self) -> bool:
        """Whether it claims to be private."""
        return self.entry.certified_form != ""

    @property
    def private(self) -> bool:
        """Whether its privacy is proved: all that it shows goes through its noise."""
        separate = self.settings.get("initial_records") == "separate"
        return self.claims and (separate or not self.entry.as_printed.startswith("FALSE"))


@dataclass(frozen=True)
class Setting:
    """A problem, and which learners run on it."""

    problem: Callable[[], Problem]
    horizon: int
    epsilons: tuple[float, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Outcome:
    """One row's result."""

    row: Row
    claim: float
    noise: float
    regret: float
    error: float


SCALED = {"noise_multiplier": 0.01}
SEPARATE = {"initial_records": "separate"}
MATROID_ROWS = (
    Row("omm"),
    Row("cts"),
    Row("published/dpucb-mat"),
    Row("published/dpucb-mat", SEPARATE),
    Row("published/dpts-mat"),
    Row("published/dpts-mat", SEPARATE),
    Row("dpucb-mat"),
    Row("dpts-mat"),
    Row("cucb-batch-all"),
    Row("cucb-batch-least"),
    Row("cucb-batch"),
)


PUBLISHED_ARMS = (
    Row("published/dp-se"),
    Row("published/adap-klucb"),
    Row("published/lazy-dp-ts"),
    Row("published/dp-imed"),
    Row("published/dp-imed", {"growth": 0.5}),
)
ARMS_ROWS = (*PUBLISHED_ARMS, Row("cucb-batch-least"), Row("dp-bandit"))


def arms(*means: float) -> Problem:
    """Return Bernoulli arms."""
    return SemiBandit(Arms(len(means)), means)


def reversed_table_2() -> Problem:
    """Return Table 2 with its last element first."""
    printed = build_problem("linear-matroid")
    structure = printed.structure
    assert isinstance(structure, LinearMatroid)
    return SemiBandit(LinearMatroid(structure.vectors[::-1]), printed.means[::-1])


SETTINGS: dict[str, Setting] = {
    "ranked lists": Setting(
        partial(build_problem, "cascade"),
        100_000,
        (0.2, 0.5, 1.0, 2.0),
        (
            Row("cascade-ucb1"),
            Row("published/cascade-ucb-ldp-laplace"),
            Row("published/cascade-ucb-ldp-gaussian"),
            Row("published/cascade-ucb-ldp-composition"),
            Row("published/cascade-ucb-hybrid"),
            Row("published/cascade-ucb-ldp-laplace", matched=True),
            Row("published/cascade-ucb-ldp-gaussian", matched=True),
            Row("published/cascade-ucb-ldp-composition", matched=True),
            Row("published/cascade-ucb-ldp-laplace", SCALED),
            Row("published/cascade-ucb-ldp-gaussian", SCALED),
            Row("cascade-ucb-rr"),
            Row("cascade-ucb-ldp-laplace"),
            Row("cascade-ucb-ldp-gaussian"),
            Row("cascade-ucb-batch"),
        ),
    ),
    "semi-bandit": Setting(
        partial(build_problem, "top-k"),
        100_000,
        (0.2, 0.5, 1.0, 2.0),
        (
            Row("cucb"),
            Row("published/cucb-ldp-gaussian"),
            Row("published/cucb-ldp-gaussian", matched=True),
            Row("published/cucb-ldp-gaussian", SCALED),
            Row("published/cucb-dp", matched=True),
            Row("published/cucb-dp-least", matched=True),
            Row("cucb-ldp1"),
            Row("cucb-ldp2"),
            Row("cucb-ldp-laplace-all"),
            Row("cucb-ldp-gaussian"),
            Row("cucb-ldp-laplace-one"),
            Row("cucb-ldp-bit"),
            Row("cucb-dp"),
            Row("cucb-dp-least"),
            Row("cucb-batch-all"),
            Row("cucb-batch-least"),
            Row("cucb-batch"),
            Row("cucb-batch-gaussian"),
        ),
    ),
    "arms": Setting(
        partial(build_problem, "arms"),
        100_000,
        (0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
        (
            Row("cucb"),
            Row("cucb-ldp-bit"),
            Row("dp-bandit-ldp"),
            Row("cucb-batch-least"),
            Row("cucb-batch"),
            Row("dp-bandit"),
            Row("dp-bandit-gaussian"),
            *PUBLISHED_ARMS,
        ),
    ),
    "arms, close": Setting(partial(arms, 0.75, 0.7, 0.7, 0.7, 0.7), 100_000, (0.1, 1.0, 4.0), ARMS_ROWS),
    "arms, spread": Setting(
        partial(arms, 0.75, 0.625, 0.5, 0.375, 0.25), 100_000, (0.1, 0.5, 4.0), ARMS_ROWS
    ),
    "arms, rare": Setting(partial(arms, 0.1, *[0.02] * 9), 100_000, (0.1, 0.5, 4.0), ARMS_ROWS),
    "matroid": Setting(reversed_table_2, 10_000, (0.5, 2.0, 8.0), MATROID_ROWS),
}


def noise_epsilon(row: Row, problem: Problem, claim: float, horizon: int) -> float:
    """Return the epsilon of the noise alone, at delta = 1e-3 where it is Gaussian."""
    built = row.entry.build(
        problem, epsilon=claim, delta=DELTA, horizon=horizon, settings=dict(row.settings)
    )(Simulation(0, 64))
    if isinstance(tree := getattr(built, "tree", None), BinaryTree):
        return tree.profile().epsilon(0.0)
    size = problem.structure.size
    moved: Sensitivity | None = OneHot(size).sensitivity if row.entry.family == "cascade" else None
    mechanism = getattr(built, "mechanism", None) or getattr(built, "randomizer", None)
    if mechanism is None and isinstance(laplace := getattr(built, "laplace", None), Laplace):
        # As printed, w_0 is one record of L values: its noise is for all of them.
        separate = row.settings.get("initial_records") == "separate"
        return laplace.profile(Box(0, 1, size).sensitivity if separate else None).epsilon(0.0)
    if mechanism is None:
        return claim if row.private else math.inf
    if isinstance(mechanism, Laplace | Gaussian):
        return mechanism.profile(moved).epsilon(DELTA if isinstance(mechanism, Gaussian) else 0.0)
    return float(mechanism.epsilon)


def matched_claim(row: Row, problem: Problem, epsilon: float, horizon: int) -> float:
    """Return the claim at which the noise alone is epsilon-private."""

    def excess(claim: float) -> float:
        return noise_epsilon(row, problem, claim, horizon) - epsilon

    return float(brentq(excess, epsilon / 100, epsilon * 100))


def measure(row: Row, problem: Problem, epsilon: float, given: argparse.Namespace, horizon: int) -> Outcome:
    """Simulate a row."""
    claim = matched_claim(row, problem, epsilon, horizon) if row.matched else epsilon
    trace = simulate(
        row.entry.build(problem, epsilon=claim, delta=DELTA, horizon=horizon, settings=dict(row.settings)),
        problem,
        horizon=horizon,
        runs=given.runs,
        seed=given.seed,
        checkpoints=2,
        workers=given.workers,
    )
    noise = noise_epsilon(row, problem, claim, horizon) if row.claims else math.inf
    return Outcome(row, claim, noise, float(trace.regret_mean[-1]), float(trace.regret_sem[-1]))


def table(outcomes: list[Outcome], epsilon: float) -> None:
    """Print what was measured at one epsilon."""
    print("\n| learner | model | claim | true | noise | regret | s.e. |\n|---|---|---|---|---|---|---|")
    for outcome in outcomes:
        row = outcome.row
        claim = f"{outcome.claim:.3g}" if row.claims else "none"
        true = f"{outcome.noise:.3g}" if row.private else "inf"
        model = row.entry.claim.model if row.claims else "-"
        print(
            f"| {row.label} | {model} | {claim} | {true} | {outcome.noise:.3g} | {outcome.regret:.0f} "
            f"| {outcome.error:.1f} |",
            flush=True,
        )


def compare(name: str, outcomes: list[Outcome], epsilon: float) -> list[tuple[str, bool]]:
    """Set each published algorithm that is private at `epsilon` against certified learners of its trust model."""
    lines = []
    honest = [o for o in outcomes if o.row.private and math.isclose(o.noise, epsilon, rel_tol=1e-6)]
    for printed in (o for o in honest if o.row.published):
        entry = printed.row.entry
        rivals = [o for o in honest if not o.row.published and o.row.entry.claim.model == entry.claim.model]
        form = next((o for o in rivals if o.row.name == entry.certified_form), None)
        best = min(rivals, key=lambda o: o.regret)
        fine = all(
            rival.regret <= printed.regret + 3 * math.hypot(rival.error, printed.error)
            for rival in (form, best)
            if rival is not None
        )
        ratio = printed.regret / best.regret if best.regret > 0 else math.inf
        its_form = f"{form.row.name}: {form.regret:.0f}" if form else "itself"
        lines.append(
            (
                f"| {name} | {epsilon:g} | {printed.row.label} (claims {printed.claim:.3g}) | {printed.regret:.0f} "
                f"± {printed.error:.1f} | {its_form} | {best.row.name}: {best.regret:.0f} ± {best.error:.1f} "
                f"| {ratio:.3g} | {'yes' if fine else '**no**'} |",
                fine,
            )
        )
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilons", type=float, nargs="+", help="default: the setting's own")
    parser.add_argument("--horizon", type=int, help="default: the setting's own")
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--setting", choices=sorted(SETTINGS), nargs="+", default=list(SETTINGS))
    parser.add_argument("--movielens", type=Path, help="the folder of the unpacked ml-1m archive")
    given = parser.parse_args()
    settings = {name: SETTINGS[name] for name in given.setting}
    if given.movielens:
        settings["movielens"] = Setting(partial(movielens, given.movielens), 20_000, (2.0,), MATROID_ROWS)
    comparisons: list[tuple[str, bool]] = []
    for name, setting in settings.items():
        problem = setting.problem()
        horizon = given.horizon or setting.horizon
        for epsilon in given.epsilons or setting.epsilons:
            print(
                f"\n## {name}: epsilon = {epsilon:g}, T = {horizon:,}, {given.runs} runs, seed {given.seed}"
            )
            outcomes = [measure(row, problem, epsilon, given, horizon) for row in setting.rows]
            table(outcomes, epsilon)
            comparisons += compare(name, outcomes, epsilon)
    print("\n## published and private, against certified at the same true epsilon\n")
    print("| setting | epsilon | published | regret | certified form | best certified | ratio | never more |")
    print("|---|---|---|---|---|---|---|---|")
    for line, _ in comparisons:
        print(line)
    sys.exit(0 if all(fine for _, fine in comparisons) else 1)


if __name__ == "__main__":
    main()
