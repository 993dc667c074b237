"""Bets begin with what is known, take up what earlier runs found, and save what was kept."""

from dataclasses import replace

import numpy as np
import pytest

from verify.betting.bets import Bets
from verify.betting.wealth_file import WealthError, open_account
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.evidence import Evidence
from verify.sampling.tester import Candidates, CandidateSource
from verify.zoo.bandits import EpisodicUCB

CONDUCT = Conduct(EFFORTS["quick"], 1, "again")
SURER = replace(CONDUCT, effort=replace(CONDUCT.effort, confidence=1.0 - 1e-5))
CLAIM = EpisodicUCB.claim.with_parameters(1.0, 0.0)


def draw(other, n, seed):
    values = np.random.default_rng(seed).laplace(scale=0.2, size=(n, 1)) + other
    return ViewSample(values, (Column("x", "x", "real"),))


FOUND = {"data": 0, "data_prime": 1}


class Source(CandidateSource):
    """Knows one pair; those of earlier runs must be `FOUND`."""

    def best_candidates(self):
        raise AssertionError("only a single look asks for all at once")

    def known_candidates(self, earlier):
        if any(pair != FOUND for pair in earlier):
            raise ValueError("they differ in two records")
        return Candidates([NeighbouringWorlds(("zero", "one"), draw, found=FOUND)], 10_000, searched=7)


def bet(bets, source):
    return bets.test(source, CONDUCT, epsilon=1.0, delta=0.0)


def test_a_run_is_saved_with_the_pairs_that_were_found_and_the_next_begins_with_them(tmp_path):
    file = tmp_path / "wealth.json"
    evidence, first = Evidence(), Bets(3, open_account(file, "it", "", CLAIM, {}), file)
    result = bet(first, Source())
    assert result.refuted
    assert result.search_samples == 7
    evidence.keep(result, "again")
    first.save(evidence)
    assert evidence.details["wealth"]["runs"] == 1
    account = open_account(file, "it", "", CLAIM, {})
    assert account.opening.pairs == (FOUND,)
    assert account.opening.log_wealth == result.log_wealth
    assert bet(Bets(4, account, file), Source()).refuted


def test_what_was_not_kept_is_not_saved(tmp_path):
    file = tmp_path / "wealth.json"
    Bets(3, open_account(file, "it", "", CLAIM, {}), file).save(Evidence())
    assert not file.exists()


def test_pairs_in_the_file_that_are_none_are_named(tmp_path):
    class Other(Source):
        def known_candidates(self, earlier):
            return super().known_candidates([{"data": 2}] if earlier else earlier)

    file = tmp_path / "wealth.json"
    evidence, first = Evidence(), Bets(3, open_account(file, "it", "", CLAIM, {}), file)
    evidence.keep(bet(first, Source()), "again")
    first.save(evidence)
    second = Bets(4, open_account(file, "it", "", CLAIM, {}), file)
    with pytest.raises(WealthError, match=r"wealth\.json: holds a pair that is none: they differ"):
        bet(second, Other())


@pytest.mark.parametrize("share", [1.0, 0.05])
def test_a_bound_that_is_surer_than_refutations_makes_these_as_sure(share):
    """It was an error about a significance that nobody had given, of a slow function on a busy machine."""
    result = Bets(3, share_of_error=share).test(Source(), SURER, epsilon=1.0, delta=0.0)
    assert result.refuted
    assert result.significance == pytest.approx(share * 0.5e-5)
    assert result.confidence == pytest.approx(1.0 - share * 1e-5, abs=1e-15)
