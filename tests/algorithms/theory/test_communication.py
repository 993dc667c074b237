"""Formulas of what clients send, beside what they did send."""

import numpy as np
import pytest

from algorithms.catalogue import learner_builder
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import LinearBandit
from algorithms.theory.communication import BITS, REALS, formula, most_sent
from algorithms.theory.regret_bound import Instance
from mechanisms import ShuffledMean

ANGLES = 2 * np.pi * np.arange(7) / 7
ACTIONS = np.stack([np.cos(ANGLES), np.sin(ANGLES), 0.5 * np.ones(7)], axis=1) / 2
PROBLEM = LinearBandit(ACTIONS, ACTIONS[2] / 2, 0.0, 4000, "signs")


@pytest.mark.parametrize("name", REALS)
def test_no_more_is_sent_than_the_formula_says(name):
    build = learner_builder(linear_learners[name].make, PROBLEM, epsilon=1.0, delta=0.1, horizon=600)
    (sent,) = simulate_phases(build, PROBLEM, runs=1, seed=0).communication
    most = most_sent(name, Instance(PROBLEM, 1.0, 600))
    assert 0 < sent.reals <= most["reals"]
    assert sent.bits == 0


@pytest.mark.slow_cells("0.2-0.001-dp-dpe-shuffle")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "published/dp-dpe-shuffle" else name
        for name in BITS
    ],
)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-3), (2.0, 0.1)])
def test_no_more_bits_are_sent_than_the_formula_says(name, epsilon, delta):
    build = learner_builder(linear_learners[name].make, PROBLEM, epsilon=epsilon, delta=delta, horizon=600)
    (sent,) = simulate_phases(build, PROBLEM, runs=1, seed=0).communication
    most = most_sent(name, Instance(PROBLEM, epsilon, 600, delta=delta))
    assert 0 < sent.bits <= most["bits"]  # designs have far fewer actions than S; how tight it is: below
    assert sent.reals == 0


def bits(protocol, clients):
    return clients * protocol.communication.bits


@pytest.mark.slow_cells("0.2-0.001-dp-dpe-shuffle")
@pytest.mark.parametrize("name", [name for name in BITS if "dpe" in name])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-3), (2.0, 0.1)])
def test_bits_of_the_largest_supports_are_within_the_formula(name, epsilon, delta):
    """Of S = 17 actions in each phase, whose protocols are made here: no design has more."""
    make = ShuffledMean.vector_as_printed if "published" in name else ShuffledMean.calibrated
    for support in (1, 5, 17):
        sent = 0
        for phase in range(1, 8):
            clients = int(np.ceil(2 ** (0.8 * phase)))
            sent += bits(make(epsilon, delta, clients=clients, size=support, bound=1.0), clients)
        most = most_sent(name, Instance(PROBLEM, epsilon, 254, delta=delta))["bits"]
        assert sent <= most
    assert most < 3 * sent


@pytest.mark.parametrize("name", [name for name in BITS if "pe" in name and "dpe" not in name])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-3), (2.0, 0.1)])
@pytest.mark.parametrize("plays", [(1,) * 17 + (583,), (300, 300), (35,) * 17 + (5,)])
def test_bits_of_any_batches_are_within_the_formula(name, epsilon, delta, plays):
    printed = "published" in name
    sent = sum(
        bits(
            ShuffledMean.scalar_as_printed(epsilon, delta, clients=count, bound=1.0)
            if printed
            else ShuffledMean.calibrated(epsilon, delta, clients=count, size=1, bound=1.0),
            count,
        )
        for count in plays
    )
    assert sent <= most_sent(name, Instance(PROBLEM, epsilon, 600, delta=delta))["bits"]


def test_formulas_are_told():
    assert "mu" in formula("dp-dpe-shuffle")
    assert formula("cucb") == ""


def test_plain_numbers():
    def most(name, epsilon=1.0, **settings):
        return most_sent(name, Instance(PROBLEM, epsilon, 600, settings=settings)).get("reals")

    clients = sum(int(np.ceil(2 ** (0.5 * phase))) for phase in range(1, 9))  # 2 + 4 + ... + 256 <= 600
    assert most("dp-dpe-central", alpha="0.5") == 17 * clients
    assert most("dp-pe-local") == 600
    assert (
        most_sent("dp-dpe-shuffle", Instance(PROBLEM, 1e3, 600)) == {}
    )  # its noise is not near the central one's
    assert most("dpe", fixed_clients=9) is None
