"""Formulas of what clients send, beside what they did send."""

import numpy as np
import pytest

from algorithms.catalogue.linear_entries import linear_builder, linear_learners
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import LinearBandit
from algorithms.theory.communication import COMMUNICATION, most_reals
from algorithms.theory.regret_bound import Instance

ANGLES = 2 * np.pi * np.arange(7) / 7
ACTIONS = np.stack([np.cos(ANGLES), np.sin(ANGLES), 0.5 * np.ones(7)], axis=1) / 2
PROBLEM = LinearBandit(ACTIONS, ACTIONS[2] / 2, 0.0, 4000, "signs")


@pytest.mark.parametrize("name", COMMUNICATION)
def test_no_more_is_sent_than_the_formula_says(name):
    build = linear_builder(linear_learners[name].make, PROBLEM, epsilon=1.0, delta=0.1, horizon=600)
    (sent,) = simulate_phases(build, PROBLEM, runs=1, seed=0).communication
    most = most_reals(name, Instance(PROBLEM, 1.0, 600))
    assert 0 < sent.reals <= most
    assert sent.bits == 0


def test_plain_numbers():
    def most(name, **settings):
        return most_reals(name, Instance(PROBLEM, 1.0, 600, settings=settings))

    clients = sum(int(np.ceil(2 ** (0.5 * phase))) for phase in range(1, 9))  # 2 + 4 + ... + 256 <= 600
    assert most("dp-dpe-central", alpha="0.5") == 17 * clients
    assert most("dp-pe-local") == 600
    assert most("dp-dpe-shuffle") is None
    assert most("dpe", fixed_clients=9) is None
