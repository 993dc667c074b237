"""The zoo's bandits: planted bugs are refuted, and the findings name the line."""

import functools
import inspect

import numpy as np
import pytest

from accountant import Simulation
from algorithms.catalogue import learner_builder
from algorithms.problems import SemiBandit, TopK
from algorithms.simulate import simulate
from verify import verify
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.zoo import specimens

LINES = {
    "bandit-reused-rewards": ("end_episode", "gate.release", "overspent"),
    "bandit-raw-phase": ("observe", "the bug", "raw-read"),
    "bandit-shared-noise": ("end_episode", "the bug", "declassified"),
    "bandit-raw-first": ("end_episode", "the bug", "declassified"),
    "bandit-tree-level": ("observe", "gate.release", "overspent"),
    "bandit-tree-raw-leaves": ("end_episode", "the bug", "declassified"),
    "bandit-variance": ("end_episode", "the bug", "overspent"),
}


def place(function, text):
    lines, first = inspect.getsourcelines(function)
    (at,) = (number for number, line in enumerate(lines) if text in line)
    return f"verify/zoo/bandits.py:{first + at}"


def assert_line_named(result, name):
    method, text, kind = LINES[name]
    where = place(getattr(specimens[name].subject, method), text)
    assert (kind, where) in {(finding.kind, finding.where) for finding in result.findings}


@functools.cache
def quick(name):
    return verify(f"zoo/{name}", effort="quick")


@pytest.mark.parametrize(
    "name",
    [
        "bandit-tree-level",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in sorted(LINES.keys() - {"bandit-variance", "bandit-tree-level"})
        ),
    ],
)
def test_a_planted_bug_is_refuted_and_its_line_is_named(name, request):
    if name != "bandit-reused-rewards":  # refuted where a search has found it
        request.getfixturevalue("small_searches")
    result = quick(name)
    assert result.verdict == "refuted"
    assert result.lower.epsilon > 1.0
    assert_line_named(result, name)


@pytest.mark.slow
@pytest.mark.usefixtures("small_searches")
def test_a_bug_that_the_quick_effort_does_not_refute_is_named():
    result = verify("zoo/bandit-variance", effort="quick")
    assert result.verdict == "unproven"
    assert_line_named(result, "bandit-variance")


@pytest.mark.slow
def test_the_default_effort_refutes_it():
    result = verify("zoo/bandit-variance")
    assert result.verdict == "refuted"
    assert result.lower.epsilon > 1.7


@pytest.mark.slow
@pytest.mark.usefixtures("small_searches")
@pytest.mark.parametrize("name", ["bandit-ucb", pytest.param("bandit-tree", marks=pytest.mark.slow)])
def test_a_private_bandit_is_certified(name):
    result = verify(f"zoo/{name}", effort="quick")
    assert result.verdict == "certified"
    assert result.lower.epsilon <= 1.0


def test_a_records_charges_are_counted():
    result = quick("bandit-tree-level")
    (finding,) = (finding for finding in result.findings if finding.kind == "overspent")
    assert "7 releases through Laplace" in finding.message
    assert result.upper.epsilon == pytest.approx(7 / 6)
    assert result.lower.epsilon == pytest.approx(7 / 6, abs=1e-6)


def test_shared_noise_is_one_number_for_all_arms():
    learner = learner_builder(
        specimens["bandit-shared-noise"].subject,
        SemiBandit(TopK(2, 1), np.full(2, 0.5)),
        epsilon=1.0,
        horizon=64,
    )(Simulation(1, 64))
    assert learner.noise.shape == (64, 1)
    assert np.unique(learner.noise).size == 64


def test_every_specimen_has_its_row():
    assert set(LINES) == {
        name for name, s in specimens.items() if name.startswith("bandit-") and not s.correct
    }


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in specimens
        if name.startswith(("bandit-", "plain-")) and name != "bandit-raw-phase"  # no simulation lets it read
    ],
)
def test_a_bandit_plays_as_recorded(name, snapshot):
    """A hundred rounds, or as many as it has.

    A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code.
    """
    subject, rng = specimens[name].subject, np.random.default_rng(7)
    if isinstance(subject, PlainBandit):
        bandit, played = subject.make(rng), []
        for _ in range(subject.rounds):
            played.append(bandit.select_arm())
            bandit.update(played[-1], float(rng.random() < (0.2, 0.8)[played[-1]]))
        assert "".join(map(str, played)) == snapshot
    else:
        problem = SemiBandit(TopK(2, 1), np.array([0.2, 0.8]))
        build = learner_builder(subject, problem, epsilon=1.0, horizon=100)
        found = simulate(build, problem, horizon=100, runs=4, seed=7, checkpoints=12)
        assert "\n".join(" ".join(f"{x:.6g}" for x in row) for row in found.regret) == snapshot
