import math

import pytest

from algorithms import CTS
from algorithms.problems import GraphicMatroid, SemiBandit, build_problem

PROBLEMS = {
    "table 2": build_problem("linear-matroid"),
    "parallel edges and a self-loop": SemiBandit(
        GraphicMatroid(3, [(0, 1), (0, 1), (1, 2), (1, 1), (0, 2)]), [0.3, 0.8, 0.6, 0.9, 0.5]
    ),
    "rank 1": build_problem("uniform-matroid", {"elements": 4}),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_plays_as_the_pseudocode(name, recorded_run, greedy_basis):
    problem = PROBLEMS[name]
    run = recorded_run(CTS, problem, 250, 1)
    for lane in (0, 17, 63):
        observed = [[] for _ in range(problem.structure.arms)]
        for t in range(1, 251):
            sample = [
                # Posterior of N(0, 1) prior and unit-variance likelihood: N(sum / (n + 1), 1 / (n + 1)).
                sum(w) / (len(w) + 1) + run.normals[t - 1][lane, e] * math.sqrt(1 / (len(w) + 1))
                for e, w in enumerate(observed)
            ]
            basis = greedy_basis(problem.structure, sample)
            assert run.actions[t - 1, lane].tolist() == basis
            for e in basis:
                observed[e].append(run.records[t, lane, e])
