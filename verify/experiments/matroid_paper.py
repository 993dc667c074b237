"""Figures and tables of the matroid bandits paper (DPUCB-MAT, DPTS-MAT)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from algorithms.problems import LinearMatroid, LoggedUsers, build_problem
from algorithms.theory.regret import BOUNDS, WITHOUT_BOUND
from algorithms.theory.regret_bound import Instance
from verify.experiments.comparisons import (
    all_of,
    below_bounds,
    has_falling_order,
    has_less_regret,
    in_words,
    is_linear_in,
    levels,
    near_optimum,
    within,
)
from verify.experiments.experiment import (
    LOG_ROUNDS,
    REGRET_OVER_LOG,
    RETURN,
    Experiment,
    Figure,
    FigureAxis,
    FigureLine,
    PaperStatement,
    PaperTable,
    PlotAxes,
    Results,
    Scale,
    Seen,
    Size,
    TableContent,
)
from verify.experiments.lines import over_rounds, parameter_sweep
from verify.experiments.simulated_runs import SimulatedRuns

_PAPER = "matroid bandits paper"
_PROBLEM, _MOVIE_PROBLEM = "linear-matroid", "synthetic-movies"
_OPEN = "The number of repetitions is not stated; ours stands below."
_SYNTHETIC = (
    "Seven vectors of rank 3 and their means from the paper's Table 2 (one is a loop, one parallel to another), "
    f"Bernoulli rewards. {_OPEN} "
)
_MOVIES = (
    "The 100 movies with most ratings, sets of linearly independent genre vectors, a random user in every round; "
    f"ε = 2. {_OPEN}"
)
_LAZY = (
    "The published learner estimates a mean from its last full batch alone, and batches double, so that up to three "
    "quarters of the data are not used; and its radius has 3 ln(Kt) where OMM's has 2 ln t. That price does not depend "
    "on ε, so that the learner does not become OMM when ε grows."
)
_LAZY_SAMPLES = (
    "The published learner samples around the mean of its last full batch alone, and batches double, so that up to "
    "three quarters of the data are not used. That price does not depend on ε, so that the learner does not become CTS "
    "when ε grows."
)
_MARGIN = (
    "At small ε the margin 3 ln(Kt) / (ε₀ T_e), ε₀ = ε / K, orders the elements by how little they were played: "
    "until it falls below the gaps the learner explores alike."
)
_FALSE_START = (
    "As published, one round-0 record with a value of every element enters with noise Lap(K / ε) on each: its claim is "
    "false as printed (one record loses up to L ε / K); the certified learner has no such round, and uses all its data."
)


def _published(
    learner: str, size: Size, *, epsilon: float = 2.0, problem: str = _PROBLEM, name: str = "", **further: Any
) -> FigureLine:
    """Return a published learner's line."""
    label = learner.upper()
    return over_rounds(
        name or label, label, f"published/{learner}", problem, size, epsilon=epsilon, **further
    )


_ucb = partial(_published, "dpucb-mat")
_ts = partial(_published, "dpts-mat", colour=1)
_certified = partial(over_rounds, "CUCB certified", "CUCB on batches", "cucb-batch", epsilon=2.0, colour=2)
"""The line of the certified learner that replaces the paper's."""


def _baseline(learner: str, size: Size, **further: Any) -> FigureLine:
    return over_rounds(learner.upper(), learner.upper(), learner, size=size, **further)


_omm, _cts = partial(_baseline, "omm"), partial(_baseline, "cts")


def _lines(
    *lines: Callable[..., FigureLine], problem: str = _PROBLEM, **further: Any
) -> Callable[[Size], tuple[FigureLine, ...]]:
    return lambda size: tuple(line(size=size, problem=problem, **further) for line in lines)


# With the recommendations at the end, for Table 3: the runs are the same.
_figure_3 = _lines(_omm, _ucb, _certified, problem=_MOVIE_PROBLEM, epsilon=2.0, colour=0, recommends=True)


_EPSILONS = {"1e5": 1e5, "2": 2.0, "1e-4": 1e-4}


def _figure_2(size: Size, learner: str, baseline: str) -> tuple[FigureLine, ...]:
    lines = [_baseline(baseline, size, problem=_PROBLEM)]
    for colour, (words, epsilon) in enumerate(_EPSILONS.items()):
        lines += [
            _published(learner, size, epsilon=epsilon, colour=colour, name=f"ε={words}"),
            replace(_certified(_PROBLEM, size, epsilon=epsilon, colour=colour), name=f"ε={words} certified"),
        ]
    return tuple(lines)


def _figure_5b(size: Size) -> tuple[FigureLine, ...]:
    # The paper's; few of them would miss small epsilons.
    spaced = np.linspace if size.points >= 50 else np.geomspace
    epsilons = spaced(0.5, 50.0, size.points).tolist()
    return parameter_sweep(epsilons, lambda epsilon: _lines(_ucb, _ts, _certified, epsilon=epsilon)(size))


_PRINTED = {
    "omm": "O(L ln n / Δ)",
    "cts": "Õ(L ln n / Δ + L / Δ⁴)",
    "published/dpucb-mat": "O(L ln n / Δ + min(K, ln n) L K ln n / ε)",
    "published/dpts-mat": "O(L ln n / Δ + min(K, ln n) L K ln n / ε)",
}


def _bounds(results: Results, lines: tuple[FigureLine, ...]) -> TableContent:
    return TableContent.from_rows([_row(line, results[line.name][0][1]) for line in lines])


def _row(line: FigureLine, runs: SimulatedRuns) -> dict[str, str]:
    asked = line.points[0][1]
    instance = Instance(build_problem(_PROBLEM), asked.epsilon, asked.horizon, asked.delta)
    bound = BOUNDS.get(asked.learner)
    return {
        "algorithm": line.label,
        "learner": asked.learner,
        "bound printed": _PRINTED.get(asked.learner, "none: not in the paper"),
        "its value with constants, on Table 2": (
            WITHOUT_BOUND[asked.learner] if bound is None else f"{bound.evaluate(instance):,.0f}"
        ),
        "measured regret": in_words(runs.final),
        "worst possible": f"{instance.trivial_regret:,.0f}",
    }


def _bounds_hold(results: Results) -> Seen:
    instance_of = {"OMM": "omm", "DPUCB-MAT": "published/dpucb-mat"}
    runs = {line: results[line][0][1] for line in instance_of}
    problem = build_problem(_PROBLEM)
    return below_bounds(
        (line, of.final, BOUNDS[instance_of[line]], Instance(problem, 2.0, int(of.trace.rounds[-1])))
        for line, of in runs.items()
    )


def _elements(results: Results, lines: tuple[FigureLine, ...]) -> TableContent:
    problem = build_problem(_PROBLEM)
    matroid = problem.structure
    assert isinstance(matroid, LinearMatroid)
    best = matroid.solve(problem.means[np.newaxis])[0].tolist()
    return TableContent.from_rows(
        [
            {
                "base arm": str(vector),
                "mean reward": f"{mean:.2f}",
                "in A*": "yes" if element in best else "no",
                "": "a loop: in no basis" if element in matroid.loops else "",
            }
            for element, (vector, mean) in enumerate(zip(matroid.vectors, problem.means, strict=True))
        ]
    )


def _best_basis(results: Results) -> Seen:
    problem = build_problem(_PROBLEM)
    best = problem.structure.solve(problem.means[np.newaxis])[0].tolist()
    words = (
        f"the greedy basis is {{{', '.join(f'e{e + 1}' for e in best)}}} with return {problem.optimum:.2f}"
    )
    return Seen(best == [0, 1, 2] and abs(problem.optimum - 2.15) < 1e-9, words)


def _movies(results: Results, lines: tuple[FigureLine, ...]) -> TableContent:
    """Return the movies of the best basis, and how often each learner recommends them in the end."""
    configuration = lines[0].points[0][1]
    assert configuration.problem is not None
    problem = build_problem(configuration.problem, configuration.settings)
    assert isinstance(problem, LoggedUsers)
    best = problem.structure.solve(problem.means[np.newaxis])[0].tolist()
    rows = []
    for movie in sorted(best, key=lambda movie: -problem.means[movie]):
        title, _, genres = problem.names[movie].rpartition(": ")
        rows.append({"movie of A*": title, "mean": f"{problem.means[movie]:.3f}", "genres": genres})
        for line in lines:
            label = f"{line.label}{' (certified)' if line.role == 'certified' else ''}"
            rows[-1][f"in runs of {label}"] = f"{_share(results, line.name, movie):.0%}"
    return TableContent.from_rows(rows)


def _share(results: Results, line: str, movie: int) -> float:
    recommended = np.array(results[line][0][1].further["recommended"])
    return float((recommended == movie).any(axis=1).mean())


def _overlap(results: Results) -> Seen:
    words, shares = [], []
    for line, points in results.items():
        runs = points[0][1]
        best = np.array(runs.further["best"])
        overlap = np.isin(np.array(runs.further["recommended"]), best).sum(axis=1)
        words.append(f"{line} {in_words(overlap.astype(float))} of {best.size}")
        shares.append(overlap.mean() / best.size)
    return Seen(bool(shares[1] >= 8 / 17), ", ".join(words))


_CURVES: dict[Scale, Size] = {"quick": Size(5_000, 64), "paper": Size(10_000, 256)}
_FILMS: dict[Scale, Size] = {"quick": Size(600, 64), "paper": Size(20_000, 64)}

_RETURN = PlotAxes(y=RETURN, optimum=True)
_APPROACH = "the expected per-round return approaches the optimal return"


def _on_movies(
    number: str, learner: str, baseline: str, lines: Callable[[Size], tuple[FigureLine, ...]], lazy: str
) -> Figure:
    """Return the figure of a learner on movie recommendation."""
    comparable = PaperStatement(
        f"{learner} is comparable to {baseline}", within(learner, baseline, 2.0), f"{lazy}\n{_MARGIN}"
    )
    return Figure(
        f"matroid/fig{number}",
        f"{learner} on movie recommendation",
        f"{_PAPER}, Figure {number}",
        f"The return per round of {learner} (ε = 2) comes near that of {baseline} and of the optimal policy.",
        _MOVIES + " n = 20,000.",
        _FILMS,
        lines,
        (PaperStatement(_APPROACH, near_optimum(learner, 0.9), _MARGIN), comparable),
        takes_data=True,
        axes=_RETURN,
    )


MATROID: tuple[Experiment, ...] = (
    PaperTable(
        "matroid/table1",
        "regret bounds on matroids",
        f"{_PAPER}, Table 1",
        "Upper bounds: without privacy O(L ln n / Δ), with it an additive min(K, ln n) L K ln n / ε.",
        _SYNTHETIC + "ε = 2. Bounds are evaluated with the constants of their proofs.",
        _CURVES,
        _lines(_omm, _cts, _ucb, _ts, _certified),
        (PaperStatement("runs stay below the bounds", _bounds_hold),),
        content=_bounds,
    ),
    PaperTable(
        "matroid/table2",
        "the synthetic data set",
        f"{_PAPER}, Table 2",
        "Seven vectors with their mean rewards; A* = {e1, e2, e3}.",
        "Everything in it is given; nothing is simulated.",
        statements=(PaperStatement("A* = {e1, e2, e3}, with 0.80 + 0.75 + 0.60 = 2.15", _best_basis),),
        content=_elements,
    ),
    PaperTable(
        "matroid/table3",
        "movies of the best basis that are recommended after learning",
        f"{_PAPER}, Table 3",
        "Eight of the 17 movies of A* are among those that DPUCB-MAT recommends after 20,000 rounds.",
        _MOVIES,
        _FILMS,
        _figure_3,
        (
            PaperStatement(
                "after learning, 8 or more of the movies of A* are recommended",
                _overlap,
                "With ε₀ = 2/17 the margin 3 ln(Kt) / (ε₀ T_e) is above 1 until an element has been played several "
                "hundred times: before that, which movies are recommended says little of their ratings.",
            ),
        ),
        takes_data=True,
        content=_movies,
    ),
    Figure(
        "matroid/fig1",
        "DPUCB-MAT on the synthetic data",
        f"{_PAPER}, Figure 1",
        "The return per round of DPUCB-MAT (ε = 2), OMM and the optimal policy.",
        _SYNTHETIC + "ε = 2, n = 10,000.",
        _CURVES,
        _lines(_omm, _ucb, _certified),
        (
            PaperStatement(
                _APPROACH, all_of(near_optimum("OMM", 0.95), near_optimum("DPUCB-MAT", 0.9)), _MARGIN
            ),
            PaperStatement(
                "DPUCB-MAT grows like OMM", within("DPUCB-MAT", "OMM", 2.0), f"{_LAZY}\n{_MARGIN}"
            ),
            PaperStatement(
                "(not in the paper) the certified learner has no more regret",
                has_less_regret("CUCB certified", "DPUCB-MAT"),
                _FALSE_START,
            ),
        ),
        axes=_RETURN,
    ),
    *(
        Figure(
            f"matroid/fig2{letter}",
            f"{label} for three values of ε",
            f"{_PAPER}, Figure 2{letter}",
            "The return per round for ε = 10⁵, 2 and 10⁻⁴: less privacy, more return; at ε = 10⁵ that of the learner "
            "without privacy.",
            _SYNTHETIC + "n = 10,000.",
            _CURVES,
            partial(_figure_2, learner=learner, baseline=baseline),
            (
                PaperStatement(
                    "regret grows when ε falls", has_falling_order("ε=1e-4", "ε=2", "ε=1e5"), _MARGIN
                ),
                PaperStatement(
                    f"at ε = 10⁵ it comes near {baseline.upper()}",
                    within("ε=1e5", baseline.upper(), 1.5),
                    lazy,
                ),
            ),
            axes=_RETURN,
        )
        for letter, learner, label, baseline, lazy in (
            ("a", "dpucb-mat", "DPUCB-MAT", "omm", _LAZY),
            ("b", "dpts-mat", "DPTS-MAT", "cts", _LAZY_SAMPLES),
        )
    ),
    _on_movies("3", "DPUCB-MAT", "OMM", _figure_3, _LAZY),
    Figure(
        "matroid/fig4a",
        "DPTS-MAT on the synthetic data",
        f"{_PAPER}, Figure 4a",
        "The return per round of DPTS-MAT (ε = 2), CTS and the optimal policy.",
        _SYNTHETIC + "ε = 2, n = 10,000.",
        _CURVES,
        _lines(_cts, _ts, _certified),
        (
            PaperStatement(
                _APPROACH, all_of(near_optimum("CTS", 0.95), near_optimum("DPTS-MAT", 0.9)), _MARGIN
            ),
            PaperStatement(
                "DPTS-MAT is comparable to CTS", within("DPTS-MAT", "CTS", 2.0), f"{_LAZY_SAMPLES}\n{_MARGIN}"
            ),
        ),
        axes=_RETURN,
    ),
    _on_movies("4b", "DPTS-MAT", "CTS", _lines(_cts, _ts, _certified, problem=_MOVIE_PROBLEM), _LAZY_SAMPLES),
    Figure(
        "matroid/fig5a",
        "asymptotic regret rate",
        f"{_PAPER}, Figure 5a",
        "R_n / ln n up to n = 10⁶ for both learners: it converges, and that of DPTS-MAT is lower.",
        _SYNTHETIC + "ε = 2, n = 10⁶.",
        {"quick": Size(20_000, 64), "paper": Size(1_000_000, 64)},
        _lines(_ucb, _ts, _certified),
        (
            PaperStatement(
                "R_n / ln n converges for both",
                all_of(levels("DPUCB-MAT"), levels("DPTS-MAT")),
                "Where it still moves, ln n is not yet the dominating part: a batch of doubled size is needed before a "
                "learner notices anything, so that regret comes in steps.",
            ),
            PaperStatement("DPTS-MAT has less than DPUCB-MAT", has_falling_order("DPUCB-MAT", "DPTS-MAT")),
        ),
        axes=PlotAxes(LOG_ROUNDS, REGRET_OVER_LOG),
    ),
    Figure(
        "matroid/fig5b",
        "regret against 1/ε",
        f"{_PAPER}, Figure 5b",
        "Regret after 10,000 rounds for 50 values of ε from 0.5 to 50: linear in 1/ε, less for DPTS-MAT.",
        _SYNTHETIC + "n = 10,000.",
        {"quick": Size(3_000, 64, 6), "paper": Size(10_000, 64, 50)},
        _figure_5b,
        (
            PaperStatement(
                "regret is linear in 1/ε",
                all_of(
                    is_linear_in("DPUCB-MAT", lambda value: 1 / value),
                    is_linear_in("DPTS-MAT", lambda value: 1 / value),
                ),
                "Towards small ε regret is limited: no learner can lose more than the largest gap in every round.",
            ),
            PaperStatement("DPTS-MAT has less than DPUCB-MAT", has_less_regret("DPTS-MAT", "DPUCB-MAT")),
        ),
        axes=PlotAxes(FigureAxis("1/ε", of=lambda value: 1 / value)),
    ),
)
"""The experiments of the paper, in its order."""
