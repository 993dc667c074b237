"""Regret of every learner by family and trust: certified, published at the same honest epsilon, and not private at all.

Run with ``python tests/benchmarks/compare_learners.py --store FOLDER``: it prints Markdown tables, and the same
command goes on after any stop. tests/benchmarks/results has what it printed. With ``--movielens FOLDER`` (the unpacked
ml-1m archive, which its licence forbids to pass on) the setting of the matroid bandits paper's section 5.2 is one of
them.

Settings are the papers' where they state one: ranked lists (cascading bandits paper, section 7: L = 20, K = 4; its
means are not stated, 4 x 0.2 and 16 x 0.05 are used), sets of 4 of 20 arms with the same numbers, Table 2 of the
matroid bandits paper, arms that are close, spread or rarely good, and the catalogue's paths, linear actions and
contexts. The best arms are the last ones: whoever breaks ties by the lowest one would else play the optimum from the
start.

Every catalogue learner that plays the setting has a row. Rows that end in "=" run a published algorithm at the claim
for which its noise is epsilon-private: nothing that is private at all has more of it. "not private" after a name
means that what it claims is false at every epsilon: it is run as printed, and counts for nothing. Learners with "(δ)"
have delta = 1e-3. Rounds to play are 10^4, 10^5 and 10^6; the longer ones for learners that had at most twice the
least regret in a tenth of the rounds. Every lane is a run with its own seed; errors are standard errors of the mean.

A cell is **bold** where `suggest` recommends its learner. Below the tables stands every cell in which another
certified learner has less regret than the recommended one, or a published one less than its certified form, by more
than two standard errors of the difference; the exit code is then 1.

``--untuned FOLDER`` plays problems instead that no learner was tuned on, one learner of each family: mean ± standard
error and the largest of 24 runs at T = 10^5, kept in the folder and, with ``--before FOLDER``, beside what another
version of this library lost there.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import json
import math
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from scipy.optimize import brentq

from accountant import Simulation
from algorithms.blocks import BlockStore
from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.catalogue.learner_entry import _check_family
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.catalogue.suggestion import suggest
from algorithms.learner import Family
from algorithms.linear.contextual_play import simulate_contexts
from algorithms.linear.dp_pe import StandardElimination
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import (
    Arms,
    Cascade,
    LinearBandit,
    LinearContexts,
    LinearMatroid,
    Problem,
    ProblemError,
    SemiBandit,
    TopK,
    build_problem,
    contextual_problems,
    linear_problems,
    movielens,
)
from algorithms.simulate import simulate
from mechanisms import BinaryTree, Box, Gaussian, Laplace, OneHot, Sensitivity

DELTA = 1e-3
AS_PRINTED = ("cucb-ldp1", "cucb-ldp2")
"""Printed algorithms that are certified as they are: they are compared as published ones."""
APART = ("dp-best-arm",)
"""Learners that are not for regret."""
SEPARATE = {"initial_records": "separate"}
ENTRIES: dict[str, Any] = {**learners, **linear_learners, **contextual_learners}
Playable = Problem | LinearBandit | LinearContexts


@dataclass(frozen=True)
class Row:
    """A learner and its settings."""

    name: str
    settings: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def entry(self) -> Any:
        """The learner in the catalogue."""
        return ENTRIES[self.name]

    @property
    def published(self) -> bool:
        """Whether it is exactly as a paper prints it."""
        return self.name.startswith("published/") or self.name in AS_PRINTED

    @property
    def claims(self) -> bool:
        """Whether it claims to be private."""
        return bool(self.entry.certified_form)

    @property
    def private(self) -> bool:
        """Whether its privacy is proved: all that it shows goes through its noise."""
        false = self.entry.as_printed.startswith("FALSE") and "large epsilon" not in self.entry.as_printed
        return self.claims and (bool(self.settings) or not false)

    @property
    def approximate(self) -> bool:
        """Whether it needs a delta."""
        return "delta" in inspect.signature(self.entry.make).parameters or "gaussian" in self.name

    @property
    def matched(self) -> bool:
        """Whether its noise is that of another claim than its own."""
        return self.name.startswith("published/") and self.private and self.entry.family != "bandit"

    @property
    def label(self) -> str:
        """The name, and in short what it is."""
        changed = "".join(f", {key} {value}" for key, value in self.settings.items())
        marks = " =" * self.matched + " (δ)" * self.approximate
        return f"{self.name}{changed}{marks}{' not private' if self.claims and not self.private else ''}"


@dataclass(frozen=True)
class Outcome:
    """One row's result."""

    row: Row
    regret: float
    error: float

    @property
    def words(self) -> str:
        """The regret, and its error to two digits."""
        error = float(f"{self.error:.2g}") if self.error > 1e-9 * self.regret else 0.0
        return f"{self.regret:,.0f} ± {error:,g}"

    def above(self, other: Outcome) -> bool:
        """Say whether it has more regret than another, by more than two standard errors of the difference."""
        return self.regret - other.regret > 2 * math.hypot(self.error, other.error)


def arms(*means: float) -> Problem:
    """Return Bernoulli arms."""
    return SemiBandit(Arms(len(means)), means)


def last_are_best(name: str) -> Problem:
    """Return a problem of the catalogue with its best arms last."""
    means = build_problem(name).means[::-1]
    return build_problem(name, {"means": ",".join(map(str, means))})


def reversed_table_2() -> Problem:
    """Return Table 2 with its last element first."""
    printed = build_problem("linear-matroid")
    structure = printed.structure
    assert isinstance(structure, LinearMatroid)
    return SemiBandit(LinearMatroid(structure.vectors[::-1]), printed.means[::-1])


SETTINGS: dict[str, Callable[[], Playable]] = {
    "arms: one of .7 x 4, .75": partial(arms, *[0.7] * 4, 0.75),
    "arms: one of .25, .375, .5, .625, .75": partial(arms, 0.25, 0.375, 0.5, 0.625, 0.75),
    "arms: one of .02 x 9, .1": partial(arms, *[0.02] * 9, 0.1),
    "sets: 4 of .05 x 16, .2 x 4": partial(last_are_best, "top-k"),
    "matroid: Table 2, reversed": reversed_table_2,
    "paths: 3 x 4 grid": partial(build_problem, "shortest-path"),
    "lists: 4 of .05 x 16, .2 x 4": partial(last_are_best, "cascade"),
    "linear: d = 3, 20 actions, clients report averages": linear_problems["linear"].build,
    "linear: d = 3, 20 actions, a client a round": partial(linear_problems["linear"].build, sigma=0.0),
    "contexts: d = 3, 10 actions": contextual_problems["contexts"].build,
}


def sets(size: int, *means: float) -> Problem:
    """Return top-K sets of Bernoulli arms."""
    return SemiBandit(TopK(len(means), size), np.asarray(means))


def lists(size: int, *means: float) -> Problem:
    """Return ranked lists of K of some items."""
    return Cascade(len(means), size, means)


def larger_grid(seed: int) -> Problem:
    """Return the paths through a 3 x 4 grid with means drawn anew, and reversed."""
    problem = build_problem("shortest-path")
    means = np.random.default_rng(seed).uniform(0.1, 0.9, problem.structure.arms)
    return SemiBandit(problem.structure, means)


_SPREAD = np.linspace(0.1, 0.9, 30).tolist()

UNTUNED: dict[str, dict[str, Callable[[], Problem]]] = {
    "cucb-batch": {
        "top-4 of 20 (.2/.05)": partial(sets, 4, *[0.05] * 16, *[0.2] * 4),
        "top-8 of 40 (.6/.5)": partial(sets, 8, *[0.5] * 32, *[0.6] * 8),
        "top-10 of 30 (.1 to .9)": partial(sets, 10, *_SPREAD),
        "top-5 of 100 (.5/.3)": partial(sets, 5, *[0.3] * 95, *[0.5] * 5),
        "top-3 of 12 (.98/.9)": partial(sets, 3, *[0.9] * 9, *[0.98] * 3),
        "top-3 of 10 (.5/.49)": partial(sets, 3, *[0.49] * 7, *[0.5] * 3),
        "top-3 of 8, ties": partial(sets, 3, *[0.4] * 3, *[0.6] * 5),
        "top-4 of 16 (.02/.005)": partial(sets, 4, *[0.005] * 12, *[0.02] * 4),
        "top-10 of 12 (.1 to .9)": partial(sets, 10, *np.linspace(0.1, 0.9, 12).tolist()),
        "top-4 of 20 (.52/.5)": partial(sets, 4, *[0.5] * 16, 0.52, 0.7, 0.7, 0.7),
        "linear matroid": reversed_table_2,
        "partition matroid": partial(build_problem, "partition-matroid"),
        "spanning tree": partial(build_problem, "graphic-matroid"),
    },
    "cucb-batch on paths": {
        "grid": partial(build_problem, "shortest-path"),
        **{f"grid, means of seed {seed}": partial(larger_grid, seed) for seed in range(5)},
    },
    "cascade-ucb-batch": {
        "4 of 20 (.2/.05)": partial(lists, 4, *[0.05] * 16, *[0.2] * 4),
        "4 of 30 (.05/.01)": partial(lists, 4, *[0.01] * 26, *[0.05] * 4),
        "2 of 50 (.3/.05)": partial(lists, 2, *[0.05] * 48, *[0.3] * 2),
        "4 of 20 (.2/.15)": partial(lists, 4, *[0.15] * 16, *[0.2] * 4),
        "3 of 8 (.95/.8)": partial(lists, 3, *[0.8] * 5, *[0.95] * 3),
        "5 of 15 (.02 to .6)": partial(lists, 5, *np.linspace(0.02, 0.6, 15).tolist()),
        "3 of 10 (.01/.002)": partial(lists, 3, *[0.002] * 7, *[0.01] * 3),
        "5 of 100 (.2/.05)": partial(lists, 5, *[0.05] * 95, *[0.2] * 5),
        "4 of 10 (.3/.1)": partial(lists, 4, *[0.1] * 6, *[0.3] * 4),
        "8 of 20 (.2/.05)": partial(lists, 8, *[0.05] * 12, *[0.2] * 8),
        "4 of 12, ties": partial(lists, 4, *[0.1] * 6, *[0.3] * 6),
        "1 of 6 (.5/.3)": partial(lists, 1, *[0.3] * 5, 0.5),
    },
    "dp-bandit": {
        ".7 x 4, .75": partial(arms, *[0.7] * 4, 0.75),
        ".25 to .75": partial(arms, 0.25, 0.375, 0.5, 0.625, 0.75),
        ".02 x 9, .1": partial(arms, *[0.02] * 9, 0.1),
        "ties": partial(arms, *[0.4] * 5, *[0.6] * 5),
        "near ties": partial(arms, 0.5, 0.78, 0.79, 0.8),
        "rare": partial(arms, *[0.001] * 4, 0.02),
        ".1, .9": partial(arms, 0.1, 0.9),
        ".5, .51": partial(arms, 0.5, 0.51),
        "near 1": partial(arms, *[0.95] * 5, 0.99),
        "100 arms": partial(arms, *[0.4] * 99, 0.6),
    },
    "cucb-ldp-bit": {
        "top-4 of 20 (.2/.05)": partial(sets, 4, *[0.05] * 16, *[0.2] * 4),
        "top-3 of 12 (.98/.9)": partial(sets, 3, *[0.9] * 9, *[0.98] * 3),
        "top-3 of 8, ties": partial(sets, 3, *[0.4] * 3, *[0.6] * 5),
        "linear matroid": reversed_table_2,
        "grid": partial(build_problem, "shortest-path"),
    },
}
"""By learner, problems that nobody tuned it on; the best arms last, as far as that is possible."""
EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
HORIZONS = (10_000, 100_000, 1_000_000)


def kind(problem: Playable) -> Family | None:
    """Return "linear" or "contextual", or None for a problem on a structure."""
    if isinstance(problem, LinearBandit):
        return "linear"
    return "contextual" if isinstance(problem, LinearContexts) else None


def rows_for(problem: Playable, trust: str) -> Iterator[Row]:
    """Yield every learner that plays a problem under a trust model; trust "none": those that claim no privacy."""
    for name, entry in ENTRIES.items():
        row = Row(name)
        if name in APART or (entry.claim.model if row.claims else "none") != trust:
            continue
        if (kind(problem) or entry.family) != entry.family:
            continue
        if isinstance(problem, LinearBandit) and issubclass(entry.make, StandardElimination) != (
            problem.sigma == 0
        ):
            continue  # one of them asks a new client in every round: two learners of two problems
        if kind(problem) is None:
            if name in linear_learners or name in contextual_learners:
                continue
            try:
                _check_family(entry.make, problem)
            except ProblemError:
                continue
        yield row
        if name in ("published/dpucb-mat", "published/dpts-mat"):
            yield Row(name, SEPARATE)


def noise_epsilon(row: Row, problem: Playable, claim: float, horizon: int) -> float:
    """Return the epsilon of the noise alone, at delta = 1e-3 where it is Gaussian."""
    if row.entry.family == "linear":
        if not row.name.startswith("published/") or row.name.endswith("shuffle"):
            return claim
        two = Sensitivity(2.0, 2.0, 2.0)
        return Gaussian.classical(claim, DELTA, sensitivity=two).profile().epsilon(DELTA)
    built = row.entry.build(
        problem, epsilon=claim, delta=DELTA, horizon=horizon, settings=dict(row.settings)
    )(Simulation(0, 64))
    if isinstance(tree := getattr(built, "tree", None), BinaryTree):
        return tree.profile().epsilon(DELTA if isinstance(tree.mechanism, Gaussian) else 0.0)
    size = cast(Problem, problem).structure.size
    moved: Sensitivity | None = OneHot(size).sensitivity if row.entry.family == "cascade" else None
    mechanism = getattr(built, "mechanism", None) or getattr(built, "randomizer", None)
    if mechanism is None and isinstance(laplace := getattr(built, "laplace", None), Laplace):
        # As printed, w_0 is one record of L values: its noise is for all of them.
        return laplace.profile(Box(0, 1, size).sensitivity if row.settings else None).epsilon(0.0)
    if mechanism is None:
        return claim if row.private else math.inf
    if isinstance(mechanism, Laplace | Gaussian):
        return mechanism.profile(moved).epsilon(DELTA if isinstance(mechanism, Gaussian) else 0.0)
    return float(mechanism.epsilon)


def matched_claim(row: Row, problem: Playable, epsilon: float, horizon: int) -> float:
    """Return the claim at which the noise alone is epsilon-private."""

    def excess(claim: float) -> float:
        return noise_epsilon(row, problem, claim, horizon) - epsilon

    if abs(excess(epsilon)) < 1e-9 * epsilon:
        return epsilon
    return float(brentq(excess, epsilon / 100, epsilon * 100))


@dataclass(frozen=True)
class Bench:
    """How rows are simulated."""

    runs: int
    seed: int
    workers: int
    store: BlockStore | None

    def measure(self, row: Row, problem: Playable, epsilon: float, horizon: int) -> Outcome:
        """Simulate a row."""
        claim = matched_claim(row, problem, epsilon, horizon) if row.matched else epsilon
        build = row.entry.build(
            problem, epsilon=claim, delta=DELTA, horizon=horizon, settings=dict(row.settings)
        )
        given: dict[str, Any] = {
            "runs": self.runs,
            "seed": self.seed,
            "workers": self.workers,
            "store": self.store,
        }
        if isinstance(problem, LinearBandit):
            regret = simulate_phases(build, problem, **given).regret
        else:
            play: Any = simulate_contexts if isinstance(problem, LinearContexts) else simulate
            regret = play(build, problem, horizon=horizon, checkpoints=2, **given).regret[-1]
        return Outcome(row, float(regret.mean()), float(regret.std(ddof=1)) / math.sqrt(self.runs))


def recommended(problem: Playable, trust: Any, epsilon: float, horizon: int, delta: float) -> str:
    """Return the learner that `suggest` names; empty if there is none."""
    try:
        name = suggest(problem, trust=trust, epsilon=epsilon, horizon=horizon, delta=delta).name
    except ValueError:
        return ""
    alone = isinstance(problem, LinearBandit) and problem.sigma == 0
    return name.replace("dpe", "pe") if alone else name  # as its words say


def contradictions(outcomes: Iterable[Outcome], pure: str, approximate: str) -> Iterator[str]:
    """Yield what speaks against the recommended learners, without and with a delta, and against repairs."""
    private = {outcome.row.label: outcome for outcome in outcomes if outcome.row.private}
    certified = [each for each in private.values() if not each.row.published]
    for name, among in (
        (pure, [each for each in certified if not each.row.approximate]),
        (approximate, certified),
    ):
        chosen = next((each for each in among if each.row.name == name), None)
        for other in among:
            if chosen is not None and chosen.above(other):
                yield (
                    f"{other.row.label} ({other.regret:.0f} ± {other.error:.1f}) is better than the recommended "
                    f"{chosen.row.label} ({chosen.regret:.0f} ± {chosen.error:.1f})"
                )
    for printed in private.values():
        form = next((each for each in certified if each.row.name == printed.row.entry.certified_form), None)
        if printed.row.published and form is not None and form.above(printed):
            yield (
                f"{printed.row.label} ({printed.regret:.0f} ± {printed.error:.1f}) is better than its certified form "
                f"{form.row.label} ({form.regret:.0f} ± {form.error:.1f})"
            )


class Comparison:
    """The tables of one setting."""

    def __init__(self, name: str, problem: Playable, bench: Bench) -> None:
        self.name, self.problem, self.bench = name, problem, bench
        self.against: list[str] = []
        self.left: dict[tuple[str, float], list[Row]] = {}  # who is not hopeless so far

    @cached_property
    def trusts(self) -> list[str]:
        """The trust models that have a learner."""
        return [t for t in ("none", "central", "local", "shuffle") if list(rows_for(self.problem, t))]

    def table(self, trust: str, horizon: int, epsilons: tuple[float, ...], before: int | None) -> None:
        """Print what is measured under one trust model, for learners not hopeless at the horizon before."""
        epsilons = (math.inf,) if trust == "none" else epsilons
        columns: list[dict[str, Outcome]] = []
        for epsilon in epsilons:
            rows = self.left.get((trust, epsilon)) or list(rows_for(self.problem, trust))
            if before is not None and trust != "none":
                shorter = [self._measure(row, epsilon, before) for row in rows]
                least = min(each.regret for each in shorter if each.row.private)
                rows = [each.row for each in shorter if each.regret <= 2 * least]
            self.left[trust, epsilon] = rows
            columns.append({row.label: self._measure(row, epsilon, horizon) for row in rows})
        labels = [row.label for row in rows_for(self.problem, trust) if any(row.label in c for c in columns)]
        named = [
            [recommended(self.problem, trust, 1.0 if math.isinf(e) else e, horizon, d) for d in (0.0, DELTA)]
            for e in epsilons
        ]
        heads = ["no privacy"] if trust == "none" else [f"ε = {epsilon:g}" for epsilon in epsilons]
        print(f"\n{self.name}, {trust}, T = {horizon:,}\n")
        print("| learner | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
        for label in labels:
            cells = []
            for outcomes, names in zip(columns, named, strict=True):
                outcome = outcomes.get(label)
                text = "" if outcome is None else outcome.words
                cells.append(f"**{text}**" if outcome is not None and outcome.row.name in names else text)
            print(f"| {label} | " + " | ".join(cells) + " |", flush=True)
        for epsilon, outcomes, names in zip(epsilons, columns, named, strict=True):
            self.against += [
                f"{self.name}, {trust}, T = {horizon:,}, ε = {epsilon:g}: {said}"
                for said in contradictions(outcomes.values(), *names)
            ]

    def _measure(self, row: Row, epsilon: float, horizon: int) -> Outcome:
        return self.bench.measure(row, self.problem, 1.0 if math.isinf(epsilon) else epsilon, horizon)


def untuned(given: argparse.Namespace) -> None:
    """Print what learners lose where they were not tuned, and keep it; beside an earlier version's if there is one."""
    given.untuned.mkdir(parents=True, exist_ok=True)
    for learner, problems in UNTUNED.items():
        if not any(learner.startswith(word) for word in given.learners):
            continue
        print(f"\n{learner}, T = {given.horizons[0]:,}\n\n| problem | ε | before | regret | ratio |")
        print("|---|---|---|---|---|")
        kept, ratios = given.untuned / f"{learner}.json", []
        earlier = given.before and given.before / f"{learner}.json"
        before = json.loads(earlier.read_text()) if earlier and earlier.exists() else {}
        found = json.loads(kept.read_text()) if kept.exists() else {}
        for (name, build), epsilon in itertools.product(problems.items(), given.epsilons):
            cell = f"{name} | {epsilon:g}"
            if cell not in found:
                problem, entry = build(), ENTRIES[learner.split()[0]]
                made = entry.build(problem, epsilon=epsilon, delta=DELTA, horizon=given.horizons[0])
                trace = simulate(
                    made, problem, horizon=given.horizons[0], runs=given.runs, seed=given.seed, checkpoints=1
                )
                lost = trace.regret[-1]
                found[cell] = [lost.mean(), lost.std(ddof=1) / math.sqrt(given.runs), lost.max()]
                kept.write_text(json.dumps(found))
            words = [
                "{:,.0f} ± {:,.2g} ({:,.0f})".format(*each[cell]) if cell in each else ""
                for each in (before, found)
            ]
            if cell in before:
                ratios.append(before[cell][0] / max(found[cell][0], 1e-9))
                words.append(f"{ratios[-1]:.2f}")
            print(f"| {cell} | {' | '.join(words)} |", flush=True)
        if ratios:
            middle, least, most = statistics.median(ratios), min(ratios), max(ratios)
            print(f"\nbefore / regret: {middle:.2f} in the median, least {least:.2f}, most {most:.2f}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--setting", nargs="+", default=list(SETTINGS), help="those that begin with these words"
    )
    parser.add_argument("--trust", nargs="+", default=["none", "central", "local", "shuffle"])
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    parser.add_argument("--horizons", type=int, nargs="+", default=list(HORIZONS))
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", help="learners to leave out")
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--store", type=Path, help="a folder of what was simulated already")
    parser.add_argument("--movielens", type=Path, help="the folder of the unpacked ml-1m archive")
    parser.add_argument(
        "--untuned", type=Path, metavar="FOLDER", help="play untuned problems, and keep what is lost"
    )
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="such a folder of an earlier version")
    parser.add_argument(
        "--learners", nargs="+", default=[""], help="those of --untuned that begin with these words"
    )
    given = parser.parse_args()
    if given.untuned:
        untuned(given)
        return
    for name in given.without:
        del ENTRIES[name]
    bench = Bench(given.runs, given.seed, given.workers, given.store and BlockStore(given.store))
    settings = {
        name: build
        for name, build in SETTINGS.items()
        if any(name.startswith(word) for word in given.setting)
    }
    if given.movielens:
        settings["matroid: movielens"] = partial(movielens, given.movielens)
    against: list[str] = []
    for name, build in settings.items():
        comparison = Comparison(name, build(), bench)
        print(f"\n## {name}")
        for trust in (trust for trust in comparison.trusts if trust in given.trust):
            for before, horizon in zip([None, *given.horizons], given.horizons, strict=False):
                comparison.table(trust, horizon, tuple(given.epsilons), before)
        against += comparison.against
    print("\n## Against what is recommended\n")
    print("\n".join(f"- {each}" for each in against) or "Nothing.")
    sys.exit(1 if against else 0)


if __name__ == "__main__":
    main()
