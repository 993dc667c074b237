"""The suggested learner plays the given problem, whichever it is, in the required trust model."""

import json
import math

import pytest
from click.testing import CliRunner
from scipy.stats import norm

from accountant import Simulation
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.catalogue.suggestion import suggest
from algorithms.problems import contextual_problems, linear_problems, problems
from mechanisms.parameters import ParameterError
from verify.commands.command_group import cli

NAMES = [
    name for name in (*problems, *linear_problems) if not name.startswith("movielens")
]  # they read a folder


def built(name):
    return {**problems, **linear_problems, **contextual_problems}[name].build()


@pytest.mark.slow_cells("linear-none", "synthetic-movies-central", "synthetic-movies-none")
@pytest.mark.few(20)
@pytest.mark.parametrize("trust", ["central", "local", "none"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_suggested_plays_the_problem_under_its_trust(name, trust):
    problem = built(name)
    asked = {"epsilon": 1.0, "horizon": 1000, "delta": 1e-5 if name in {*linear_problems, "experts"} else 0.0}
    if (name, trust) == ("experts", "local"):
        with pytest.raises(ParameterError, match="trust = 'local'"):
            suggest(problem, trust=trust, **asked)
        return
    found = suggest(problem, trust=trust, **asked)
    entry = {**learners, **linear_learners}[found.name]
    assert not found.name.startswith("published/")
    if trust != "none":
        assert entry.claim.model == trust
    assert (found.bound is None) == (found.trivial is None)
    if name in problems:
        assert entry.build(problem, epsilon=1.0, horizon=1000)(Simulation(0, 64)).act().shape[0] == 64


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
        ("arms", {}, "dp-bandit"),
        ("arms", {"delta": 1e-2, "epsilon": 0.1}, "dp-bandit-gaussian"),
        ("arms", {"delta": 1e-9, "epsilon": 5.0}, "dp-bandit"),
        ("arms", {"delta": 1e-3, "epsilon": 0.2}, "dp-bandit"),
        ("arms", {"trust": "local"}, "dp-bandit-ldp"),
        ("graphic-matroid", {}, "cucb-batch"),
        ("shortest-path", {}, "cucb-batch"),
        ("cascade", {"delta": 0.5, "epsilon": 1.0}, "cascade-ucb-batch-gaussian"),
        ("cascade", {"delta": 1e-6}, "cascade-ucb-batch"),
        ("cascade", {"delta": 1e-3}, "cascade-ucb-batch-gaussian"),
        ("cascade", {"delta": 1e-3, "epsilon": 2.0}, "cascade-ucb-batch"),
        ("graphic-matroid", {"delta": 0.05, "epsilon": 0.2}, "cucb-batch-gaussian"),
        ("graphic-matroid", {"delta": 1e-6}, "cucb-batch"),
        ("graphic-matroid", {"delta": 0.05, "epsilon": 5.0}, "cucb-batch"),
        *(
            (name, {"trust": "none"}, "cucb-kl")
            for name in ("arms", "top-k", "graphic-matroid", "shortest-path")
        ),
        ("cascade", {"trust": "none"}, "cascade-ucb-kl"),
        ("linear", {"delta": 1e-6, "trust": "shuffle"}, "dp-dpe-shuffle"),
        ("arms", {"delta": 1e-6, "trust": "shuffle"}, "dp-bandit-shuffle"),
        ("cascade", {"delta": 1e-6, "trust": "shuffle"}, "cascade-ucb-batch-shuffle"),
    ],
)
def test_reasons(name, settings, expected):
    given = {"trust": "central", "epsilon": 1.0, "horizon": 100_000} | settings
    assert suggest(built(name), **given).name == expected


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("arms", {"trust": "nobody"}, "trust = 'nobody'"),
        ("arms", {"trust": "shuffle"}, "shuffled bits keep no pure epsilon"),
        ("top-k", {"trust": "shuffle", "delta": 1e-6}, "no learner of semi-bandit problems shuffles"),
        ("linear", {}, "need a delta above 0"),
        ("arms", {"epsilon": -1.0}, "epsilon = -1.0"),
        ("arms", {"horizon": 0}, "horizon = 0"),
        ("arms", {"horizon": 2**63}, r"horizon = .*: must be below 2\^63"),
        ("arms", {"delta": 2.0}, "delta = 2.0: must be 0, or at least 7.78e-62 and below 1"),
        ("arms", {"delta": None}, "delta = None: must be 0, or"),
    ],
)
def test_what_cannot_be_suggested_is_refused(name, settings, words):
    given = {"trust": "central", "epsilon": 1.0, "horizon": 100} | settings
    with pytest.raises(ValueError, match=words):
        suggest(built(name), **given)


@pytest.mark.few(7)
@pytest.mark.parametrize("name", ["arms", "top-k", "shortest-path", "linear-matroid", "cascade"])
@pytest.mark.parametrize("trust", ["central", "local", "none"])
def test_without_a_horizon_the_same_learners_are_suggested(name, trust):
    free = suggest(built(name), trust=trust, epsilon=1.0, horizon=None)
    told = suggest(built(name), trust=trust, epsilon=1.0, horizon=10**5)
    assert (free.name, free.bound, free.needs_horizon) == (told.name, None, told.needs_horizon)
    assert not free.needs_horizon


@pytest.mark.parametrize("name", ["linear", "contexts"])
def test_so_are_those_of_linear_bandits_and_contexts(name):
    free = suggest(built(name), trust="central", epsilon=1.0, horizon=None, delta=1e-5)
    told = suggest(built(name), trust="central", epsilon=1.0, horizon=10**5, delta=1e-5)
    assert (free.name, free.bound, free.needs_horizon) == (told.name, None, "")


@pytest.mark.parametrize("trust", ["central", "local"])
def test_where_a_theorem_says_nothing_the_reason_says_what_it_needs(trust):
    found = suggest(built("failing-top-k"), trust=trust, epsilon=1.0, horizon=1000)
    assert "its theorem does not hold here, where it needs: " in found.why
    assert "an oracle that never fails" in found.why
    assert found.bound is None
    assert "its theorem" not in suggest(built("top-k"), trust=trust, epsilon=1.0, horizon=1000).why


@pytest.mark.parametrize("option", ["--trust local", "--epsilon 2"])
def test_what_counts_for_one_problem_only_is_refused_without_it(option):
    refused = CliRunner().invoke(cli, ["list", *option.split()])
    assert f"{option.split()[0]} " in str(refused.exception)
    assert "must come with --for" in str(refused.exception)


def test_the_command():
    said = CliRunner().invoke(cli, ["list", "--for", "top-k", "--epsilon", "2"])
    assert said.exit_code == 0
    assert said.stdout.startswith("cucb-batch  from algorithms import CUCBBatch")
    assert "it need not know how many rounds there will be" in said.stdout
    assert "its theorem: regret at most" in said.stdout
    greedy = CliRunner().invoke(cli, ["list", "--for", "coverage"]).stdout
    assert "there is no regret" in greedy.replace("\n", " ")
    found = json.loads(
        CliRunner().invoke(cli, ["list", "--for", "arms", "--trust", "local", "--json"]).stdout
    )
    (learner,) = found["suggestions"]
    assert (learner["name"], learner["delta"]) == ("dp-bandit-ldp", 0.0)
    assert 0 < learner["bound"] < math.inf
    unknown = CliRunner().invoke(cli, ["list", "--for", "topk"])
    assert "did you mean top-k" in str(unknown.exception)


def test_a_problem_of_ones_own_is_taken_from_its_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from algorithms.problems import SemiBandit, TopK\nproblem = SemiBandit(TopK(9, 2), [0.1] * 7 + [0.5] * 2)\n"
    )
    said = CliRunner().invoke(cli, ["list", "--for", f"{file}:problem", "--trust", "local"])
    assert said.exit_code == 0, said.exception
    assert said.stdout.startswith("cucb-ldp-bit")
    missing = CliRunner().invoke(cli, ["list", "--for", f"{tmp_path / 'none.py'}:problem"])
    assert "no such file" in str(missing.exception)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        (
            "linear",
            {"delta": 0.1, "horizon": 10**9},
            "dp-dpe-central, which would be suggested, refuses: population = ",
        ),
        (
            "arms",
            {"trust": "shuffle", "epsilon": 1e-5, "delta": 1e-6},
            "dp-bandit-shuffle, .* must be larger",
        ),
        ("arms", {"trust": "shuffle", "epsilon": 1e9, "delta": 0.5}, "dp-bandit-shuffle, .* must be smaller"),
        ("linear", {"trust": "shuffle", "epsilon": 1e-6, "delta": 1e-6}, "dp-dpe-shuffle, .* must be larger"),
        (
            "linear",
            {"trust": "shuffle", "delta": 1e-40},
            "dp-dpe-shuffle, .* delta = 1e-40: must be at least",
        ),
        (
            "cascade",
            {"trust": "shuffle", "delta": 1e-31},
            "cascade-ucb-batch-shuffle, .* must be at least 2e-30",
        ),
        ("linear", {"delta": 5e-324}, "delta = 5e-324: must be 0, or at least 7.78e-62"),
    ],
)
@pytest.mark.parametrize("horizon", [100, None])
def test_what_refuses_to_be_made_is_not_suggested(name, settings, words, horizon):
    given = {"trust": "central", "epsilon": 1.0, "horizon": horizon} | settings
    with pytest.raises(ValueError, match=words):
        suggest(built(name), **given)


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.5, 1.0, 3.0])
@pytest.mark.parametrize(
    ("name", "share", "gaussian"), [("arms", 1.0, "dp-bandit"), ("graphic-matroid", 0.5, "cucb-batch")]
)
def test_gaussian_noise_is_suggested_from_where_it_is_less(name, share, gaussian, epsilon):
    """From the delta on at which sigma^2 is that share of 2 / epsilon^2, by the formula of delta."""
    sigma = math.sqrt(share * 2.0) / epsilon
    delta = norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * norm.cdf(
        -0.5 / sigma - epsilon * sigma
    )
    problem = built(name)
    for factor in (0.999, 1.001):
        found = suggest(problem, trust="central", epsilon=epsilon, horizon=1000, delta=factor * float(delta))
        assert found.name == gaussian + ("-gaussian" if factor > 1 else "")
