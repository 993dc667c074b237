"""All named problems as recorded: their means, the constants of their structure, gaps and first draws.

A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code.
"""

import re

import numpy as np
import pytest

from algorithms.problems import linear_problems, problems
from algorithms.theory.gaps import GapsUnavailable, problem_gaps

NAMED = [
    *((name, {}) for name in problems if not name.startswith("movielens")),  # which read a folder
    ("arms", {"arms": 4, "good": 0.8, "other": 0.1}),
    ("top-k", {"arms": 5, "size": 3, "means": "0.1,0.2,0.9,0.4,0.4"}),
    ("shortest-path", {"edges": "a-b,b-c,a-c,c-d,b-d", "source": "a", "sink": "d"}),
    ("partition-matroid", {"sizes": "2,3", "capacities": "1,2"}),
    ("graphic-matroid", {"vertices": 3, "edges": "0-1,1-2,0-2,0-1"}),
    ("linear-matroid", {"vectors": "1,0;0,1;1,1;2,2"}),
    ("identical-paths", {"paths": 3, "length": 2, "gap": 0.3}),
    ("public-arms", {"arms": 6, "size": 2, "gap": 0.25}),
]
CONSTANTS = ("arms", "size", "alpha", "beta", "smoothness_l1", "smoothness_linf")


def rounded(values):
    return " ".join(f"{value:.5g}" for value in np.ravel(np.asarray(values, dtype=float))[:40])


@pytest.mark.parametrize(("name", "settings"), NAMED)
def test_a_problem_is_as_recorded(name, settings, snapshot):
    problem, rng = problems[name].build(**settings), np.random.default_rng(7)
    structure = problem.structure
    best = structure.solve(problem.means[np.newaxis])
    lines = [
        f"{structure!r:.200}",
        " ".join(f"{each}={getattr(structure, each):.6g}" for each in CONSTANTS if hasattr(structure, each)),
        f"means {rounded(problem.means)}",
        f"best {best[0].tolist()}, earns {rounded(problem.expected_reward(best))}",
        f"optimum {problem.optimum:.6g}, benchmark {problem.benchmark:.6g}",
    ]
    try:
        found = re.sub(
            r"\d+\.\d+(e-\d+)?", lambda number: f"{float(number[0]):.5g}", repr(problem_gaps(problem))
        )
        lines.append(f"gaps {found:.600}")
    except GapsUnavailable as error:
        lines.append(f"no gaps: {error}")
    worst = structure.solve(-problem.means[np.newaxis])
    lines += [
        f"records {rounded(problem.draw_records(rng, 2))}",
        f"feedback {rounded(problem.draw_feedback(np.repeat(worst, 2, axis=0), rng))}",
        f"totals {rounded(problem.draw_totals(np.repeat(worst, 2, axis=0), np.array([3, 50]), rng))}",
    ]
    assert "\n".join(lines) == snapshot


@pytest.mark.parametrize("name", linear_problems)
def test_a_linear_problem_is_as_recorded(name, snapshot):
    problem, rng = linear_problems[name].build(), np.random.default_rng(7)
    lines = [
        f"actions {rounded(problem.actions)}",
        f"theta {rounded(problem.theta)}",
        f"sigma {problem.sigma:.6g}, population {problem.population}, rewards {problem.rewards}",
        f"gaps {rounded(problem.gaps)}",
        f"averages {rounded(problem.draw_averages(np.array([0, 1]), np.array([3, 5]), 2, rng))}",
    ]
    assert "\n".join(lines) == snapshot
