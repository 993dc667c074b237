import math

import numpy as np
import pytest

from algorithms import CUCB
from algorithms.problems import SemiBandit, ShortestPath, TopK

PATHS = ShortestPath([("a", "t"), ("s", "b"), ("b", "t"), ("s", "a"), ("s", "t")], "s", "t")
PROBLEMS = {
    "top-k": SemiBandit(TopK(6, 2), [0.2, 0.9, 0.5, 0.5, 0.7, 0.1]),
    "paths of different length": SemiBandit(PATHS, [0.9, 0.8, 0.7, 0.9, 0.3]),
}


def printed_cucb(structure, records, rounds):
    observed = [[] for _ in range(structure.arms)]
    for t in range(1, rounds + 1):
        index = [
            min(sum(x) / len(x) + math.sqrt(3 * math.log(t) / (2 * len(x))), 1.0) if x else 1.0
            for x in observed
        ]
        played = [int(i) for i in structure.solve(np.array([index]))[0] if i >= 0]
        yield played
        for i in played:
            observed[i].append(records[t, i])


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_plays_as_the_pseudocode(name, recorded_run):
    problem = PROBLEMS[name]
    run = recorded_run(CUCB, problem, 300, 1)
    assert not run.releases
    for lane in (0, 17, 63):
        for t, played in enumerate(printed_cucb(problem.structure, run.records[:, lane], 300)):
            assert [i for i in run.actions[t, lane] if i >= 0] == played
