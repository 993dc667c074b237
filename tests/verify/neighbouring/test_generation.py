"""Generating and shrinking end where the draws or the tries end, keep what they have, and repeat themselves."""

import pytest

from mechanisms import Box
from verify import Within
from verify.events.predicted_bound import ComingTest
from verify.neighbouring.generation import _TRIES, PairScorer, _Spent, climb, shrink
from verify.neighbouring.pair_draws import PairDraws

SPACE = Within(Box(0, 64, 3), linf=1)


class Looks(PairScorer):
    """Scores without draws: how near 20 the first number is; so many pairs may be looked at."""

    def __init__(self, budget):
        super().__init__(PairDraws(lambda *given: pytest.fail("drawn"), 0), ComingTest(0.0, 1e-4, 1_000), 64)
        self.budget, self.asked, self.spent = budget, [], 0

    def score(self, pair):
        if self.spent:
            self.spent += 1
        self.asked.append(pair)
        if pair.key not in self.known:
            if len(self.known) >= self.budget:
                self.spent += 1
                raise _Spent
            self.known[pair.key] = 20.0 - abs(float(pair.data[0]) - 20.0)
        return self.known[pair.key]


def test_the_shrinker_ends_with_the_draws_and_keeps_what_it_has(capfd):
    scores = Looks(40)
    found = shrink(SPACE, scores, 16.0, 200, 0)
    assert scores.spent == 1, "nothing is asked after the draws were spent"
    assert len(scores.known) == 40
    assert scores.known[found.key] >= 16.0
    SPACE.check(found)
    assert capfd.readouterr() == ("", ""), "Hypothesis reports nothing"
    again = Looks(40)
    assert shrink(SPACE, again, 16.0, 200, 0).key == found.key
    assert [pair.key for pair in again.asked] == [pair.key for pair in scores.asked]


def test_nothing_is_found_where_the_draws_end_before_a_telling_pair():
    assert shrink(SPACE, Looks(3), 1e9, 200, 0) is None


def test_a_climb_ends_with_the_draws_and_ranks_what_it_saw():
    scores = Looks(25)
    ranked = climb(SPACE, scores, 100, 0)
    assert scores.spent == 1
    assert {pair.key for _, pair in ranked} == set(scores.known)
    assert [score for score, _ in ranked] == sorted(scores.known.values(), reverse=True)


@pytest.mark.slow
def test_a_climb_among_pairs_that_are_none_ends():
    """Where nearly all that is generated is rejected, Hypothesis tries again and again."""
    tries = []

    class Sparse:
        def pairs(self):
            return SPACE.pairs().filter(lambda pair: tries.append(pair) or float(pair.data.sum()) % 7 == 0)

    climb(Sparse(), Looks(10_000), 40, 0)
    assert len(tries) <= 3 * _TRIES * 40  # a filter tries three times


def test_with_draws_enough_a_pair_is_shrunk_to_the_least_that_tells():
    found = shrink(SPACE, Looks(100_000), 16.0, 200, 1)
    assert found.data.tolist() == [16.0, 16.0, 16.0]  # one number for all three is plainer than others
