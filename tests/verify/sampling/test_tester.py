"""A single look tests what its source thinks best, at the errors that are left to it, and says what the search took."""

from dataclasses import replace

import numpy as np
import pytest

from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.tester import Candidates, CandidateSource, SingleLook

CONDUCT = Conduct(EFFORTS["quick"], 1, "again")


def draw(other, n, seed):
    bits = np.random.default_rng(seed).random(n) < (0.3 if other else 0.6)
    return ViewSample(bits[:, np.newaxis].astype(np.float64), (Column("x", "x", "category"),))


WORLDS = NeighbouringWorlds(("the first", "the second"), draw)
CANDIDATES = Candidates([WORLDS], 20_000, searched=500)


def look(source):
    return SingleLook().test(source, CONDUCT, epsilon=0.1, delta=0.0)


def test_a_label_has_both_worlds_and_the_name_of_the_pair():
    assert WORLDS.pair_label == "the first / the second"
    assert replace(WORLDS, name="pair 2").pair_label == "pair 2: the first / the second"


def test_the_result_says_both_worlds_the_likelier_first_and_what_the_search_took():
    result = look(CANDIDATES)
    assert result.refuted
    assert result.worlds is WORLDS
    assert result.witness("again").neighbours == dict(
        zip(("data", "data_prime"), result.likelier_first, strict=True)
    )
    assert set(result.likelier_first) == set(WORLDS.words)
    assert result.search_samples == 500
    assert result.lower_bound().samples == result.samples + 500


@pytest.mark.parametrize(
    ("change", "confidence", "significance"),
    [
        ({}, 0.95, 1e-4),
        ({"share_of_error": 0.5}, 0.975, 1e-4),
        ({"share_of_false_alarm": 0.25}, 0.95, 2.5e-5),
        ({"negligible": 1e-5}, 0.95, 9e-5),
    ],
)
def test_it_spends_the_errors_that_are_left_to_it(change, confidence, significance):
    result = look(replace(CANDIDATES, **change))
    assert (result.confidence, result.significance) == pytest.approx((confidence, significance))


def test_a_source_is_asked_for_what_is_best():
    class Source(CandidateSource):
        def best_candidates(self):
            return CANDIDATES

        def known_candidates(self, earlier):
            raise AssertionError("only bets begin with what is known")

    assert look(Source()).worlds is WORLDS
    with pytest.raises(NotImplementedError, match="Source has nothing to search for"):
        Source().further_candidates(1)
