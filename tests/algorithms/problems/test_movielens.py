"""The MovieLens loader on a tiny synthetic archive, and the law of problems with logged users."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from algorithms import CUCBBatch, CUCBLDPBit, simulate
from algorithms.problems import LoggedUsers, ProblemError, ShortestPath, TopK, movielens
from mechanisms import LaneStreams

MOVIES = """1::Toy Story (1995)::Animation|Children's|Comedy
2::Jumanji (1995)::Adventure|Children's
3::Amélie (2001)::Comedy
10::Heat (1995)::Action
20::Never Rated (1999)::Action|Adventure
30::Twice Action (1990)::Action
"""
# Ratings by movie: 10 has four, 1, 3 and 30 have three each, 2 has one; user 5 rates one movie only.
RATED = {1: (1, 2, 3), 2: (4,), 3: (1, 2, 4), 10: (1, 2, 3, 4), 30: (2, 3, 5)}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "movies.dat").write_text(MOVIES, encoding="latin-1")
    ratings = [
        f"{user}::{movie}::{1 + user % 5}::97830{movie}{user}" for movie in RATED for user in RATED[movie]
    ]
    (tmp_path / "ratings.dat").write_text("\n".join(ratings) + "\n", encoding="latin-1")
    return tmp_path


def test_the_setting_is_the_papers(folder):
    problem = movielens(folder, movies=4)
    np.testing.assert_allclose(problem.means, [3 / 5, 3 / 5, 4 / 5, 3 / 5])  # movies 1, 3, 10, 30; five users
    assert problem.names == (
        "Toy Story (1995): Animation, Children's, Comedy", "Amélie (2001): Comedy", "Heat (1995): Action",
        "Twice Action (1990): Action",
    )  # fmt: skip
    structure = problem.structure
    assert (structure.arms, structure.size) == (4, 3)
    # 10 and 30 have the same genre: parallel.
    assert {frozenset(basis) for basis in structure.bases()} == {frozenset({0, 1, 2}), frozenset({0, 1, 3})}
    assert problem.optimum == pytest.approx(2.0)
    users = {1: (1, 1, 1, 0), 2: (1, 1, 1, 1), 3: (1, 0, 1, 1), 4: (0, 1, 1, 0), 5: (0, 0, 0, 1)}
    assert [tuple(row) for row in problem.outcomes] == [users[user] for user in range(1, 6)]
    assert movielens(str(folder), movies=5).structure.size == 4
    np.testing.assert_allclose(movielens(folder, movies=2).means, [3 / 5, 4 / 5])  # of the ties, movie 1


@pytest.mark.slow
def test_learners_play_it_in_rounds_and_in_phases(folder):
    problem = movielens(folder, movies=4)
    for learner in (CUCBLDPBit, CUCBBatch):
        trace = simulate(
            lambda gate, learner=learner: learner(problem.structure, gate, epsilon=5.0, horizon=300),
            problem, horizon=300, runs=64, seed=1,
        )  # fmt: skip
        assert 0 <= trace.regret_mean[-1] < 0.2 * 300


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("ratings.dat", "1::1::5\n", "line 1: must have 4 fields"),
        ("ratings.dat", "1::1::5::9\n1::x::5::9\n", "line 2: 'x' must be a whole number"),
        ("ratings.dat", "²::1::5::9\n", "must be a whole number"),
        ("ratings.dat", "", "only 0 movies have a rating"),
        ("ratings.dat", "1::99::5::9\n", "movie 99 has ratings but no line"),
        ("movies.dat", "1::Toy Story\n", "movies.dat, line 1: must have 3 fields"),
    ],
)
def test_wrong_files_are_refused(folder, file, text, words):
    (folder / file).write_text(text, encoding="latin-1")
    with pytest.raises(ProblemError, match=words):
        movielens(folder, movies=1)


def test_missing_files_and_too_many_movies_are_refused(folder):
    with pytest.raises(ProblemError, match="movies = 6: only 5 movies have a rating"):
        movielens(folder, movies=6)
    with pytest.raises(ProblemError, match="movies"):
        movielens(folder, movies=0)
    with pytest.raises(ProblemError, match="cannot be read"):
        movielens(folder / "nowhere")


# --- logged users ----------------------------------------------------------------------------------------

LOG = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 0, 0]], dtype=float)


@pytest.mark.few(1)
@pytest.mark.parametrize("source", ["records", "direct", "totals"])
def test_one_round_has_the_law_of_the_log(source):
    """Chi-square over the joint outcomes of two arms, false alarm 1e-6 each."""
    problem = LoggedUsers(TopK(3, 2), LOG)
    np.testing.assert_allclose(problem.means, LOG.mean(axis=0))
    rng, lanes = np.random.default_rng(5), 10_000
    arms = np.tile([2, 0], (lanes, 1))
    if source == "records":
        drawn = problem.feedback(problem.draw_records(rng, lanes), arms)
    elif source == "direct":
        drawn = problem.draw_feedback(arms, rng)
    else:
        drawn = problem.draw_totals(arms, np.ones(lanes, dtype=np.int64), rng)
    seen = np.unique(drawn, axis=0, return_counts=True)[1]
    expected = {(0, 0): 1 / 5, (0, 1): 2 / 5, (1, 0): 1 / 5, (1, 1): 1 / 5}
    assert [tuple(row) for row in np.unique(drawn, axis=0)] == sorted(expected)
    assert chisquare(seen, lanes * np.array([expected[key] for key in sorted(expected)])).pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.slow_cells("more")
@pytest.mark.parametrize("rounds", [3, 6], ids=["fewer rounds than users", "more"])
def test_totals_are_multinomial(rounds):
    """Of every user's number of visits: the joint law, false alarm 1e-6."""
    users, lanes = 4, 24_000
    problem = LoggedUsers(
        TopK(users, users), np.eye(users)
    )  # all arms are played: a total is a number of visits
    arms = np.tile(np.arange(users), (lanes, 1))
    visits = problem.draw_totals(arms, np.full(lanes, rounds), np.random.default_rng(3))
    assert (visits.sum(axis=1) == rounds).all()
    assert (problem.draw_totals(arms, np.zeros(lanes, dtype=int), np.random.default_rng(3)) == 0).all()
    cells = [cell for cell in product(range(rounds + 1), repeat=users) if sum(cell) == rounds]
    factorial = np.cumprod([1, *range(1, rounds + 1)])
    law = np.array([factorial[rounds] / np.prod(factorial[list(cell)]) for cell in cells]) / users**rounds
    codes = visits @ (rounds + 1) ** np.arange(users)
    counts = np.array([(codes == np.dot(cell, (rounds + 1) ** np.arange(users))).sum() for cell in cells])
    assert counts.sum() == lanes
    assert (law * lanes >= 5).all()
    assert chisquare(counts, law * lanes).pvalue > 1e-6


def test_totals_add_up_over_the_arms_played_and_padding_is_zero():
    path = ShortestPath([("s", "t"), ("s", "a"), ("a", "t")], "s", "t")
    problem = LoggedUsers(path, LOG)
    arms = np.repeat([[0, -1], [1, 2]], 200, axis=0)
    rounds = np.full(400, 10**4)
    rng = np.random.default_rng(2)
    feedback, totals = problem.draw_feedback(arms, rng), problem.draw_totals(arms, rounds, rng)
    for values in (feedback, totals, problem.feedback(problem.draw_records(rng, 400), arms)):
        assert values.shape == (400, 2)
        assert (values[:200, 1] == 0).all()
        assert values[200:, 1].any()
    # 200 sums of 10^4 draws: 6 s.e. are at most 0.0022.
    np.testing.assert_allclose(totals[200:].mean(axis=0) / 10**4, problem.means[[1, 2]], atol=2.2e-3)


def test_a_lane_does_not_depend_on_how_many_there_are():
    problem = LoggedUsers(TopK(3, 2), LOG)
    arms, rounds = np.tile([2, 0], (128, 1)), np.arange(128)
    whole = problem.draw_totals(arms, rounds, LaneStreams(4, 128, key=(2,)))
    first = problem.draw_totals(arms[:64], rounds[:64], LaneStreams(4, 64, key=(2,)))
    np.testing.assert_array_equal(whole[:64], first)


@pytest.mark.parametrize(
    "outcomes",
    [np.zeros((0, 3)), np.zeros((4, 2)), np.zeros(3), np.full((2, 3), 0.5), np.full((2, 3), np.nan)],
)
def test_wrong_outcomes_are_refused(outcomes):
    with pytest.raises(ProblemError, match="outcomes"):
        LoggedUsers(TopK(3, 2), outcomes)
