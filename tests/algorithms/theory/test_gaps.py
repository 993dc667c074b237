import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from algorithms.problems import (
    Cascade,
    DisjointPaths,
    GraphicMatroid,
    MaximumCoverage,
    SemiBandit,
    ShortestPath,
    TopK,
    build_problem,
)
from algorithms.theory import gaps as gaps_module
from algorithms.theory.gaps import (
    GapsUnavailable,
    _enumerated_gaps,
    _exchange_gaps,
    _oracle_gaps,
    problem_gaps,
)
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance

levels = st.sampled_from([0.1, 0.2, 0.4, 0.7, 0.8])


@st.composite
def instances(draw):
    kind = draw(st.sampled_from(["top-k", "graph", "cascade"]))
    if kind == "graph":
        vertices = 4
        pairs = st.tuples(st.integers(0, vertices - 1), st.integers(0, vertices - 1))
        edges = draw(st.lists(pairs, min_size=2, max_size=6).filter(lambda es: any(a != b for a, b in es)))
        return SemiBandit(GraphicMatroid(vertices, edges), [draw(levels) for _ in edges])
    arms = draw(st.integers(1, 5))
    size = draw(st.integers(1, arms))
    means = [draw(levels) for _ in range(arms)]
    return SemiBandit(TopK(arms, size), means) if kind == "top-k" else Cascade(arms, size, means)


def super_arms(problem):
    structure = problem.structure
    if hasattr(structure, "bases"):
        return list(structure.bases())
    return list(combinations(range(structure.arms), structure.size))


@given(instances())
def test_gaps_against_enumeration(problem):
    sets = super_arms(problem)
    reward = {chosen: float(problem.expected_reward(np.array([chosen]))[0]) for chosen in sets}
    top = max(reward.values())
    gaps = _exchange_gaps(problem)
    assert gaps.largest_regret == pytest.approx(top - min(reward.values()))
    best = set(problem.structure.solve(problem.means[None])[0].tolist())
    assert reward[tuple(sorted(best))] == pytest.approx(top)
    playable = {arm for chosen in sets for arm in chosen}
    expected = []
    for arm in sorted(playable - best):
        above = sorted(
            problem.means[a] - problem.means[arm] for a in best if problem.means[a] > problem.means[arm]
        )
        if above:
            expected.append((above[0], above[-1], len(above)))
    assert [(gap.least, gap.largest, gap.count) for gap in gaps.suboptimal] == expected
    optimal = []
    for arm in sorted(best):
        below = [problem.means[arm] - problem.means[e] for e in playable - best]
        below = [gap for gap in below if gap > 0]
        if below:
            optimal.append((min(below), max(below), len(below)))
    assert sorted((gap.least, gap.largest, gap.count) for gap in gaps.optimal) == sorted(optimal)


@given(instances().filter(lambda problem: not isinstance(problem, Cascade)))
@example(SemiBandit(TopK(5, 3), [0.9, 0.5, 0.5, 0.5, 0.4]))  # arm 3 costs 0.4 alone, but 0.1 beside arm 4
def test_no_bad_super_arm_is_better_than_the_gaps_of_its_members(problem):
    sets = super_arms(problem)
    regret = {s: problem.optimum - float(problem.expected_reward(np.array([s]))[0]) for s in sets}
    playable = sorted({arm for chosen in sets for arm in chosen})
    gaps = _exchange_gaps(problem)
    least = []
    for arm in playable:
        bad = [r for chosen, r in regret.items() if arm in chosen and r > 1e-9]
        least.append(min(bad, default=np.inf))
    finite = sorted(value for value in least if np.isfinite(value))
    assert len(finite) <= len(gaps.members)
    # Sorted, because `members` says no ids: each arm's bound has a place below its true gap.
    assert (np.sort(gaps.members)[: len(finite)] <= np.array(finite) + 1e-9).all()


def test_members_are_exact_for_top_k_without_ties():
    problem = SemiBandit(TopK(5, 2), [0.9, 0.3, 0.7, 0.5, 0.1])
    # Outside: 0.7 - 0.3, 0.7 - 0.5, 0.7 - 0.1; arm 0 beside the exchange 0.7 - 0.5, arm 2 beside 0.9 - 0.5.
    assert sorted(_exchange_gaps(problem).members) == pytest.approx([0.2, 0.2, 0.4, 0.4, 0.6])
    assert sorted(enumerated(problem)) == pytest.approx([0.2, 0.2, 0.4, 0.4, 0.6])


def test_with_one_arm_at_a_time_no_bad_super_arm_holds_the_best_arm():
    assert _exchange_gaps(SemiBandit(TopK(3, 1), [0.9, 0.5, 0.9])).members == pytest.approx([0.4])


def test_table_2():
    """e7 is a loop and counts nowhere; e4 .20, e5 .30, e6 .40 against .80, .75, .60."""
    gaps = _exchange_gaps(build_problem("linear-matroid"))
    assert [gap.count for gap in gaps.suboptimal] == [3, 3, 3]
    assert [gap.least for gap in gaps.suboptimal] == pytest.approx([0.4, 0.3, 0.2])
    assert [gap.largest for gap in gaps.suboptimal] == pytest.approx([0.6, 0.5, 0.4])
    assert [gap.least for gap in gaps.optimal] == pytest.approx([0.4, 0.35, 0.2])
    assert [gap.largest for gap in gaps.optimal] == pytest.approx([0.6, 0.55, 0.4])
    assert len(gaps.members) == 6


def enumerated(problem):
    """Return each arm's least regret of a bad super arm, where there is one."""
    regret = {
        s: problem.structure.alpha * problem.optimum - float(problem.expected_reward(np.array([s]))[0])
        for s in super_arms(problem)
    }
    least = (
        min((r for s, r in regret.items() if arm in s and r > 1e-9), default=np.inf)
        for arm in range(problem.structure.arms)
    )
    return [gap for gap in least if np.isfinite(gap)]


def test_paths_are_enumerated():
    problem = SemiBandit(ShortestPath([("s", "a"), ("a", "t"), ("s", "t")], "s", "t"), [0.9, 0.8, 0.3])
    gaps = problem_gaps(problem)  # delays .1 + .2 against .7
    assert gaps.method == "enumeration"
    assert gaps.members == pytest.approx([0.4])
    assert gaps.largest_regret == pytest.approx(0.4)


def test_coverage_counts_from_alpha_times_the_optimum():
    problem = SemiBandit(
        MaximumCoverage(3, 1, 1), [1.0, 0.6, 0.8]
    )  # alpha = .632: the second arm alone is bad
    assert problem_gaps(problem).members == pytest.approx([problem.structure.alpha - 0.6])


def test_what_lists_no_super_arms_has_no_gaps():
    class Unknown:
        arms, size, alpha, beta, smoothness_l1, smoothness_linf = 2, 1, 1.0, 1.0, 1.0, 1.0
        power = 2  # no sum of means

        def solve(self, weights):
            return weights.argmax(axis=1)[:, None]

        def reward(self, super_arm, means):
            return means[super_arm].max(axis=1) ** self.power

        def optimum(self, means):
            return float(means.max()) ** self.power

    with pytest.raises(GapsUnavailable, match="super_arms"):
        problem_gaps(SemiBandit(Unknown(), [0.5, 0.6]))
    Unknown.power = 1
    gaps = problem_gaps(SemiBandit(Unknown(), [0.5, 0.6]))
    assert gaps.method == "oracle"
    assert gaps.members == pytest.approx([0.1])


@pytest.mark.parametrize("seed", range(12))
def test_the_oracle_gives_the_gaps_of_enumeration(seed):
    """On small graphs with few levels of means, so that many paths are optimal; and on disjoint paths."""
    rng = np.random.default_rng(seed)
    edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (0, 4), (3, 5), (4, 5)]
    for structure in (ShortestPath(edges, 0, 5), ShortestPath.grid(3, 3), DisjointPaths(4, 3)):
        problem = SemiBandit(structure, rng.choice([0.25, 0.5, 0.75], structure.arms))
        known, found = _enumerated_gaps(problem), _oracle_gaps(problem)
        assert found.members == pytest.approx(known.members)
        assert found.largest_regret == pytest.approx(known.largest_regret)
        assert found.method == "oracle"


def test_graphs_with_too_many_paths_have_gaps_all_the_same(monkeypatch):
    monkeypatch.setattr(gaps_module, "_MOST_SUPER_ARMS", 100)
    problem = build_problem("shortest-path", {"rows": "6", "columns": "6"})
    assert problem_gaps(problem).method == "oracle"
    instance = Instance(problem, 1.0, 10**9)
    assert BOUNDS["cucb-batch"].bound_for(instance).evaluate(instance) < math.inf


def test_where_an_oracle_does_not_help(monkeypatch):
    coverage = SemiBandit(MaximumCoverage(4, 3, 2), np.full(12, 0.3))
    with pytest.raises(GapsUnavailable, match="the reward no sum of means"):
        _oracle_gaps(coverage)
    monkeypatch.setattr(gaps_module, "_MOST_QUESTIONS", 100)
    with pytest.raises(GapsUnavailable, match="too many super arms are optimal"):
        _oracle_gaps(SemiBandit(ShortestPath.grid(5, 5), np.full(40, 0.5)))


def test_gaps_are_found_once_of_a_problem(monkeypatch):
    calls = []

    def counted(problem):
        calls.append(problem)
        return _enumerated_gaps(problem)

    monkeypatch.setattr(gaps_module, "_enumerated_gaps", counted)
    problem = SemiBandit(ShortestPath.grid(2, 2), np.full(4, 0.5))
    assert problem_gaps(problem) is problem_gaps(problem)
    assert len(calls) == 1
    object.__setattr__(problem, "means", np.array([0.5, 0.5, 0.5, 0.2]))
    assert problem_gaps(problem).members == pytest.approx([0.3, 0.3])
    assert len(calls) == 2
