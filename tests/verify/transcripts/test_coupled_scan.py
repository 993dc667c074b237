"""A scan on coupled runs ranks pairs by what they would tell."""

from itertools import pairwise

import numpy as np

from algorithms.catalogue import learner_builder
from algorithms.problems import SemiBandit, TopK
from verify.transcripts.coupled_scan import scan_transcripts
from verify.transcripts.neighbours import backgrounds
from verify.transcripts.predicted_bounds import PlannedTest
from verify.zoo.bandits import EpisodicUCB

PROBLEM = SemiBandit(TopK(2, 1), np.array([0.5, 0.5]))
BUILD = learner_builder(EpisodicUCB, PROBLEM, epsilon=1.0, horizon=64)


def test_a_scan_finds_a_telling_pair_and_names_its_rounds():
    rng = np.random.default_rng(0)
    around = backgrounds(PROBLEM.draw_records(rng, 17), PROBLEM.record_domain, 2)
    planned = PlannedTest(delta=0.0, hidden=False, units=3_000_000, most_draws=500_000)
    pairs = scan_transcripts(BUILD, PROBLEM, around, planned, lanes=1024, seed=np.random.SeedSequence(2))
    assert pairs[0].predicted > 0.6
    assert all(first.predicted >= second.predicted for first, second in pairwise(pairs))
    for pair in pairs:
        assert 1 <= pair.record <= pair.rounds <= 16
        assert (pair.data != pair.data_prime).any(axis=1).nonzero()[0].tolist() == [pair.record]
        assert all(feature.last_round <= pair.rounds for feature in pair.features)
