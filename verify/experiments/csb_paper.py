"""The table of Chen et al. 2020 on combinatorial semi-bandits, which has no experiments."""

from __future__ import annotations

import math

from algorithms.problems import build_problem
from algorithms.theory.lower_bounds import LOWER_BOUNDS
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Delta, Instance, instance_values
from verify.experiments.comparisons import all_of, below_bounds, has_falling_order, has_less_regret, in_words
from verify.experiments.experiment import (
    Experiment,
    FigureLine,
    PaperStatement,
    PaperTable,
    Results,
    Seen,
    Size,
    TableContent,
)
from verify.experiments.lines import over_rounds
from verify.experiments.simulated_runs import SimulatedRuns

_PAPER = "Chen et al. 2020"
_EPSILON = 1.0

# Of each line: the setting, the bound printed in the table, and the lower bound by its name in the library.
_ROWS = {
    "cucb": ("no privacy", "", ""),
    "cucb-ldp2": ("ε-LDP, B∞-smooth", "Θ(m B∞² ln T / (ε² Δ))", "semi-bandit local, B_inf"),
    "cucb-ldp-bit": ("ε-LDP, B∞-smooth", "(not in the paper)", "semi-bandit local, B_inf"),
    "cucb-ldp1": ("ε-LDP, B₁-smooth", "O(m K² B₁² ln T / (ε² Δ))", "semi-bandit local, B_1"),
    "published/cucb-dp-least": ("ε-DP, B∞-smooth", "Θ~(m B∞² ln T / (ε Δ))", ""),
    "published/cucb-dp": ("ε-DP, B₁-smooth", "Θ~(m K B₁² ln T / (ε Δ))", "semi-bandit central, B_1"),
    "cucb-batch": ("ε-DP, B₁-smooth", "(not in the paper)", "semi-bandit central, B_1"),
}


def _lines(size: Size) -> tuple[FigureLine, ...]:
    return tuple(
        over_rounds(learner, learner, learner, "top-k", size, epsilon=_EPSILON, colour=colour)
        for colour, learner in enumerate(_ROWS)
    )


def _instance(horizon: int) -> Instance:
    return Instance(build_problem("top-k"), _EPSILON, horizon)


def _content(results: Results, lines: tuple[FigureLine, ...]) -> TableContent:
    return TableContent.from_rows([_row(line, results[line.name][0][1]) for line in lines])


def _row(line: FigureLine, runs: SimulatedRuns) -> dict[str, str]:
    learner, instance = line.points[0][1].learner, _instance(line.points[0][1].horizon)
    setting, printed, lower = _ROWS[learner]
    return {
        "setting": setting,
        "learner": learner,
        "bound printed": printed,
        "upper bound with constants": f"{BOUNDS[learner].evaluate(instance):,.0f}",
        "measured regret": in_words(runs.final),
        "lower bound's rate x ln T": _lower_bound(lower, instance),
        "worst possible": f"{instance.trivial_regret:,.0f}",
    }


def _lower_bound(name: str, instance: Instance) -> str:
    """Return the lower bound on ``liminf Reg / ln T``, times ln T, at this instance's numbers."""
    if not name:
        return "-"
    per_log = LOWER_BOUNDS[name].per_log
    if per_log is None:
        return "its constant is not stated"
    values = instance_values(instance) | {Delta: instance.gaps.least_gap}
    return f"{float(per_log.subs(values)) * math.log(instance.horizon):,.0f}"


def _below_bounds(results: Results) -> Seen:
    runs = {learner: results[learner][0][1] for learner in _ROWS}
    return below_bounds(
        (learner, of.final, BOUNDS[learner], _instance(int(of.trace.rounds[-1])))
        for learner, of in runs.items()
    )


CSB: tuple[Experiment, ...] = (
    PaperTable(
        "csb/table1",
        "private combinatorial semi-bandits, upper and lower bounds",
        f"{_PAPER}, Table 1",
        "Regret bounds under ε-LDP and ε-DP for B∞- and B₁-smooth rewards; upper and lower ones match up to "
        "logarithms.",
        "The paper has no experiments. Here 4 of 20 Bernoulli arms, four with mean 0.2 and the others 0.05, B∞ = "
        "4, B₁ = 1, ε = 1. The lower bounds' instances are others: their rate is evaluated at the same m, K, Δ, B.",
        {"quick": Size(5_000, 64), "paper": Size(100_000, 64)},
        _lines,
        (
            PaperStatement("runs stay below their upper bounds", _below_bounds),
            PaperStatement(
                "sending the least-pulled arm's outcome alone is better than sending all K",
                has_falling_order("cucb-ldp1", "cucb-ldp2"),
                "Until the radius falls below the gaps, both explore alike and nothing is told apart.",
            ),
            PaperStatement(
                "central privacy costs less than local",
                all_of(
                    has_less_regret("published/cucb-dp", "cucb-ldp1"),
                    has_less_regret("published/cucb-dp-least", "cucb-ldp2"),
                ),
                "Algorithm 3's margin has 12 K ln³ T / (ε T_i), ten times what its own noise needs: its index is "
                "clipped to 1 for some 10⁵ plays of an arm, and it does not learn within these rounds.",
            ),
            PaperStatement(
                "(not in the paper) it does for learners on batches",
                all_of(
                    has_less_regret("cucb-batch", "cucb-ldp1"),
                    has_less_regret("cucb-batch", "cucb-ldp2"),
                ),
            ),
        ),
        content=_content,
    ),
)
"""The experiments of the paper."""
