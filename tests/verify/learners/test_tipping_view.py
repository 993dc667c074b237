"""The view of a linear learner's actions: drawn as the learner plays, on pairs that tip an elimination."""

import copy
import math

import numpy as np
import pytest
from scipy.special import ndtr

from accountant import Simulation
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.problems import LinearBandit, linear_problems
from verify.learners.tipping_view import _open_phases, decisive_pairs

AXES = linear_problems["linear"].build(layout="axes", actions=2, dimension=2)


def pairs(problem: LinearBandit, name: str = "published/dp-dpe-central", horizon: int = 1000):
    build = linear_learners[name].build(problem, epsilon=10.0, delta=0.25, horizon=horizon)
    seed = np.random.SeedSequence(1)
    return build, decisive_pairs(build, epsilon=10.0, delta=0.25, samples=10**6, seed=seed)


def test_on_two_unit_vectors_the_action_shows_all_that_the_release_shows() -> None:
    """The elimination is a half space across the client's movement: Phi(m) against Phi(m - mu), mu = 5.574."""
    _, found = pairs(AXES)
    pair = found[0]
    distance = np.linalg.norm(pair.sums - pair.sums_prime) / pair.at.sigma
    assert distance == pytest.approx(5.573755, rel=1e-6)
    candidate = pair.worlds(10**6)
    n = 40_000
    p, q = (
        np.mean(candidate.draw(other, n, np.random.SeedSequence(3)).values == 0.0) for other in (False, True)
    )
    gap = pair.at.slopes[:, 0] - pair.at.slopes[:, 1]
    away = abs(float(gap @ pair.sums)) - float(pair.at.widths.sum())
    m = away / (pair.at.sigma * np.linalg.norm(gap))
    assert p == pytest.approx(float(ndtr(m)), abs=5 * 0.5 / n**0.5)
    assert q < 1e-3


def test_where_the_leader_is_played_next_one_client_decides_who_leads() -> None:
    """No action is eliminated within 100 rounds; the counts of draws show most of what was predicted."""
    _, found = pairs(linear_problems["linear"].build(), "dp-pe-central", 100)
    pair, n = found[0], 20_000
    assert pair.at.learner.continuation(np.ones(pair.at.learner.active.size, dtype=bool)).exploration is None
    assert np.abs(pair.reports).max() <= 1
    assert "these shares of the bound: " in pair.describe_data(False)
    on, off = (
        np.mean(pair.worlds(10**6).draw(other, n, np.random.SeedSequence(3)).values == 0.0)
        for other in (False, True)
    )
    shown = math.log(
        (on - 0.25) / (off + 5 * math.sqrt(off / n) + 14 / n)
    )  # none of n: below 14 / n but for 1e-6
    assert 3.0 < shown <= 10.0


@pytest.mark.parametrize(
    ("name", "actions", "horizon"),
    [
        ("published/dp-dpe-central", 2, 1000),
        ("dp-pe-central", 20, 1000),
        ("dp-pe-central", 20, 100),
        ("dp-pe-local", 2, 400),
    ],
)
def test_pairs_and_their_plays_are_as_recorded(
    name: str, actions: int, horizon: int, snapshot: object
) -> None:
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    lines = []
    for pair in pairs(AXES if actions == 2 else linear_problems["linear"].build(), name, horizon)[1]:
        lines.append(
            f"action {pair.action}, epsilon {pair.predicted:.5g}, phases drawn {len(pair.drawn_history(10**6))}"
        )
        worlds = pair.worlds(10**6)
        for other in (False, True):
            drawn = worlds.draw(other, 1000, np.random.SeedSequence(3)).values
            plays, counts = np.unique(drawn, return_counts=True)
            shown = ", ".join(f"{n} times {play:g}" for play, n in zip(plays, counts, strict=True))
            lines.append(f"    {pair.describe_data(other)}: {shown}")
    assert "\n".join(lines) == snapshot


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "horizon"),
    [
        ("published/dp-dpe-central", 1000),
        ("dp-dpe-central", 1000),
        ("dp-pe-central", 1000),
        ("dp-pe-central", 100),
    ],
)
def test_drawn_views_are_those_of_the_learner(name: str, horizon: int) -> None:
    """120 runs of the open phase by the learner itself on both data sets; 5 s.e."""
    pair = pairs(linear_problems["linear"].build(), name, horizon)[1][0]
    expected = [
        np.mean(pair.worlds(10**4).draw(other, 8192, np.random.SeedSequence(5)).values == 0.0)
        for other in (False, True)
    ]
    runs = 120
    at, phase = pair.at, pair.at.phase
    for sums, share in zip((pair.sums, pair.sums_prime), expected, strict=True):
        hits = 0
        for run in range(runs):
            learner = copy.copy(at.learner)
            gate = Simulation(100 + run, 1)
            learner.gate = gate
            if name == "dp-pe-central":
                learner._open(phase)
                learner._phase, learner._reports = phase, 0
                learner._received = np.zeros_like(phase.counts)
                means = np.repeat(sums / phase.counts, phase.counts)
                reports = [np.array([[mean]]) for mean in means]
            else:
                learner._mean = learner._private_mean(phase)
                reports = [np.tile(sums / phase.clients, (1, 1))] * phase.clients
            for client, report in enumerate(reports):
                learner.observe(gate.private(report, phase.domain, client))
            following = learner.act()
            hits += int(following.counts[following.support == pair.action].sum() == 0)
        assert abs(hits / runs - share) < 5 * math.sqrt((share * (1 - share) + 1 / runs) / runs)


def test_a_history_that_could_differ_is_drawn() -> None:
    build, found = pairs(linear_problems["linear"].build())
    history = list(_open_phases(build, np.random.SeedSequence(1)))
    assert [at.phase.number for at in history] == list(range(1, 9))
    assert sum(at.chance_of_elimination() for at in history) < 1e-30  # the printed width is that wide
    assert found[0].drawn_history(10**7) == ()
    build, found = pairs(linear_problems["linear"].build(), "dp-pe-central")
    late = [pair for pair in found if pair.history]
    assert late
    for pair in late:
        drawn = sum(at.chance_of_elimination() for at in pair.history) * 10**9 > 1e-6
        assert bool(pair.drawn_history(10**9)) == drawn
