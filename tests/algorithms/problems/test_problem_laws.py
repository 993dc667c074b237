"""Every problem of the catalogue: its law, its optimum and the independence of its lanes."""

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from algorithms.problems import Arms, Cascade, Experts, Matroid, ProblemError, SemiBandit, TopK, problems
from mechanisms import LaneStreams

SMALL = {
    "arms": {"arms": 3},
    "top-k": {"arms": 4, "size": 2, "good": 0.7, "other": 0.4},
    "shortest-path": {"edges": "s-t,s-a,a-t,a-b,b-t"},
    "coverage": {"left": 3, "right": 2, "size": 2},
    "failing-top-k": {"arms": 4, "size": 2},
    "uniform-matroid": {"elements": 4, "rank": 2},
    "partition-matroid": {"sizes": "2,3", "capacities": "1,2"},
    "graphic-matroid": {"vertices": 4},
    "linear-matroid": {},
    "experts": {"experts": 3},
    "cascade": {"items": 4, "positions": 3, "good": 0.5, "other": 0.3},
    "open-bandit": {"items": 9, "size": 2},
    "open-bandit-cascade": {"items": 9, "positions": 3},
}
LANES = 40_000
# Each law test is one of 20 chi-square tests: a false alarm of any has probability below 2e-5.
ALPHA = 1e-6


def test_every_problem_has_a_small_instance():
    dependent = {
        "identical-paths",
        "public-arms",
        "movielens",
        "synthetic-movies",
    }  # outcomes are not independent: tests of their own
    assert SMALL.keys() | dependent == problems.keys()


@pytest.fixture(params=sorted(SMALL))
def problem(request):
    return problems[request.param].build(**SMALL[request.param])


def outcome_law(means):
    """Yield every vector of independent Bernoulli outcomes with its probability."""
    for outcomes in product((0.0, 1.0), repeat=len(means)):
        yield outcomes, np.prod([m if x else 1.0 - m for x, m in zip(outcomes, means, strict=True)])


def feedback_law(problem, super_arm):
    """Return every possible feedback on one super arm with its probability, from the definition."""
    law: dict[tuple[float, ...], float] = {}
    for outcomes, probability in outcome_law(np.append(problem.means, 0.0)[super_arm]):
        seen = list(outcomes)
        if isinstance(problem, Cascade) and 1.0 in seen:
            first = seen.index(1.0)
            seen = [float(k == first) for k in range(len(seen))]
        law[tuple(seen)] = law.get(tuple(seen), 0.0) + probability
    return {seen: probability for seen, probability in law.items() if probability > 0.0}


@pytest.mark.few(10)
@pytest.mark.parametrize("source", ["records", "direct"])
def test_feedback_has_the_law_of_the_definition(problem, source):
    randomness = np.random.default_rng(20240)
    super_arm = problem.structure.solve(np.tile(problem.means[::-1], (LANES, 1)))
    if source == "records":
        feedback = problem.feedback(problem.draw_records(randomness, LANES), super_arm)
    else:
        feedback = problem.draw_feedback(super_arm, randomness)
    assert feedback.shape == super_arm.shape
    problem.feedback_domain.check(feedback)
    seen, counts = np.unique(feedback, axis=0, return_counts=True)
    observed = {tuple(row): count for row, count in zip(seen.tolist(), counts, strict=True)}
    law = feedback_law(problem, super_arm[0])
    assert observed.keys() <= law.keys()
    # Rare outcomes are pooled, as the chi-square law needs about five expected counts in each cell.
    common = [outcome for outcome in law if law[outcome] * LANES >= 5]
    expected = [law[outcome] * LANES for outcome in common]
    found = [observed.get(outcome, 0) for outcome in common]
    rest = LANES - sum(expected)
    if rest >= 5:
        expected.append(rest)
        found.append(LANES - sum(found))
        assert chisquare(found, expected).pvalue > ALPHA
    elif len(common) > 1:
        scale = sum(found) / sum(expected)
        assert chisquare(found, [e * scale for e in expected]).pvalue > ALPHA


def super_arms(problem):
    """Every super arm of a small problem, from the definition of its structure."""
    structure = problem.structure
    if isinstance(structure, Matroid):
        return list(structure.bases())
    choose = permutations if isinstance(problem, Cascade) or isinstance(structure, Experts) else combinations
    return list(choose(range(structure.arms), structure.size))


@pytest.mark.parametrize("name", sorted(SMALL.keys() - {"coverage", "shortest-path"}))
def test_the_optimum_is_the_best_expected_reward(name):
    """Of coverage and paths this is tested beside the structure."""
    problem = problems[name].build(**SMALL[name])
    rewards = problem.expected_reward(np.array(super_arms(problem)))
    assert problem.optimum == pytest.approx(rewards.max(), abs=1e-12)
    assert problem.benchmark == (0.9 if name == "failing-top-k" else 1.0) * problem.optimum


def test_the_benchmark_allows_for_the_oracle():
    problem = problems["coverage"].build(**SMALL["coverage"])
    assert problem.benchmark == pytest.approx((1 - np.exp(-1)) * problem.optimum, rel=1e-15)


def test_expected_reward_is_the_mean_of_the_reward_of_records(problem):
    structure = problem.structure
    super_arm = structure.solve(problem.means[np.newaxis])
    expected = sum(
        p * structure.reward(super_arm, np.array(record))[0] for record, p in outcome_law(problem.means)
    )
    assert problem.expected_reward(super_arm)[0] == pytest.approx(expected, rel=1e-12)


def test_records_are_drawn_from_their_domain_at_the_means(problem):
    """Hoeffding, 40,000 records: a mean strays by 0.02 with probability below 3e-14."""
    records = problem.draw_records(np.random.default_rng(5), LANES)
    problem.record_domain.check(records)
    assert set(np.unique(records)) == {0.0, 1.0}
    np.testing.assert_allclose(records.mean(axis=0), problem.means, atol=0.02)


@pytest.mark.few(3)
def test_a_lane_does_not_depend_on_the_others(problem):
    rng = np.random.default_rng(6)
    weights = rng.random((130, problem.structure.arms)).round(1)
    together = problem.structure.solve(weights)
    rewards = problem.expected_reward(together)
    records = problem.draw_records(rng, 130)
    feedback = problem.feedback(records, together)
    for lane in range(130):
        alone = slice(lane, lane + 1)
        answer = problem.structure.solve(weights[alone])
        np.testing.assert_array_equal(answer, together[alone])
        np.testing.assert_array_equal(problem.expected_reward(answer), rewards[alone])
        np.testing.assert_array_equal(problem.feedback(records[alone], answer), feedback[alone])


def test_feedback_takes_many_records_for_one_action(problem):
    rng = np.random.default_rng(7)
    records = np.stack([problem.draw_records(rng, 5) for _ in range(3)])
    super_arm = problem.structure.solve(rng.random((5, problem.structure.arms)))
    together = problem.feedback(records, super_arm)
    for each, feedback in zip(records, together, strict=True):
        np.testing.assert_array_equal(problem.feedback(each, super_arm), feedback)


def test_rewards_are_monotone_and_as_smooth_as_stated(problem):
    rng = np.random.default_rng(8)
    structure = problem.structure
    for _ in range(50):
        super_arm = structure.solve(rng.random((1, structure.arms)))
        low = rng.random(structure.arms)
        high = low + rng.random(structure.arms) * (1.0 - low)
        moved = (high - low)[super_arm[super_arm >= 0]]
        difference = (structure.reward(super_arm, high) - structure.reward(super_arm, low))[0]
        assert -1e-12 <= difference <= structure.smoothness_l1 * moved.sum() + 1e-12
        assert difference <= structure.smoothness_linf * moved.max() + 1e-12


def test_padding_is_neither_drawn_nor_rewarded():
    problem = problems["shortest-path"].build(edges="s-t,s-a,a-t", means="1,1,1")
    super_arm = np.array([[0, -1], [1, 2]])
    assert problem.draw_feedback(super_arm, np.random.default_rng(0)).tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert problem.feedback(np.ones((2, 3)), super_arm).tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert problem.expected_reward(super_arm).tolist() == [0.0, 0.0]


def test_a_cascade_stops_at_the_first_attractive_item():
    cascade = Cascade(4, 3, [0.5] * 4)
    records = np.array([[1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    shown = np.array([[1, 2, 0], [0, 2, 3], [3, 2, 1]])
    assert cascade.feedback(records, shown).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert cascade.expected_reward(shown).tolist() == [0.875] * 3


@pytest.mark.parametrize("build", [lambda m: SemiBandit(TopK(2, 1), m), lambda m: Cascade(2, 1, m)])
@pytest.mark.parametrize(
    ("means", "message"),
    [
        ([0.5, 1.5], r"means\[1\] = 1.5: every mean must be in \[0, 1\]"),
        ([-0.1, 0.5], r"means\[0\] = -0.1"),
        ([0.5, np.nan], r"means\[1\] = nan"),
        ([0.5], "one for each of the 2 arms"),
        ([[0.5, 0.5]], "one for each of the 2 arms"),
    ],
)
def test_means_that_are_no_probabilities_are_refused(build, means, message):
    with pytest.raises(ProblemError, match=message):
        build(np.array(means))


def test_means_are_a_copy_that_cannot_be_written():
    means = np.array([0.2, 0.4])
    problem = SemiBandit(TopK(2, 1), means)
    means[0] = 0.9
    assert problem.means.tolist() == [0.2, 0.4]
    with pytest.raises(ValueError, match="read-only"):
        problem.means[0] = 0.9


@pytest.mark.parametrize("rounds", [0, 1, 7, 1000, 10**9])
@pytest.mark.few(3)
@pytest.mark.parametrize(
    "problem",
    [
        SemiBandit(Arms(4), [0.2, 0.9, 0.5, 0.4]),
        SemiBandit(TopK(5, 3), [0.2, 0.9, 0.5, 0.4, 0.7]),
        Cascade(5, 2, [0.2, 0.7, 0.1, 0.5, 0.3]),
    ],
    ids=["arms", "top-k", "cascade"],
)
def test_totals_have_the_moments_of_sums_of_rounds(problem, rounds):
    """Means and second moments of totals and of single rounds: 5 s.e. at no more than 10 numbers a case."""
    lanes = 64 * 200
    rng = LaneStreams(7, lanes)
    shown = np.tile(problem.structure.solve(np.full((1, problem.structure.arms), 0.5))[0], (lanes, 1))
    totals = problem.draw_totals(shown, np.full(lanes, rounds), rng)
    single = problem.draw_feedback(shown, rng)
    assert totals.shape == single.shape
    if rounds == 0:
        assert not totals.any()
        return
    expected = problem.means[shown[0]] * (shown[0] >= 0)
    if isinstance(problem, Cascade):
        expected = expected * np.concatenate([[1], np.cumprod(1 - expected)[:-1]])
        covariance = np.diag(expected) - np.outer(expected, expected)
    else:
        covariance = np.diag(expected * (1 - expected))
    centred = (totals - rounds * expected) / math.sqrt(rounds)
    single_centred = single - expected
    for sample in (centred, single_centred):
        deviation = np.sqrt(np.diag(covariance))
        assert (np.abs(sample.mean(axis=0)) <= 5 * deviation / math.sqrt(lanes) + 1e-12).all()
        products = sample[:, :, None] * sample[:, None, :]
        error = 5 * products.std(axis=0) / math.sqrt(lanes) + 1e-12
        assert (np.abs(products.mean(axis=0) - covariance) <= error).all()
    assert (totals >= 0).all()
    assert (totals.sum(axis=1) <= rounds * (1 if isinstance(problem, Cascade) else totals.shape[1])).all()
