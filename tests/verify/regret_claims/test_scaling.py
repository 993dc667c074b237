"""Exponents of regret beside those of the bound."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from algorithms import CUCBBatch, CUCBLDPBit, DPBandit
from algorithms.estimates.randomized_bits import bit_gain
from algorithms.problems import ProblemError, SettingError
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from verify.commands.command_group import cli
from verify.regret_claims.growth import GrowthReport
from verify.regret_claims.plain_problem import plain_problem
from verify.regret_claims.scaling import fit_scaling
from verify.regret_claims.simulated_regret import RegretOptions


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("variable", "values", "epsilon", "least", "most"),
    [
        ("epsilon", (0.01, 0.02, 0.04), 1.0, -1.1, -0.5),  # central: 1 / epsilon, and a part without it
        ("gap", (0.1, 0.2, 0.4), 50.0, -2.4, -0.4),
        ("arms", (3, 5, 9), 0.1, 1.0, 1.5),
        ("size", (1, 2, 4), 0.1, -0.3, 0.4),  # the bound grows with it, and regret hardly
    ],
)
def test_exponents_of_a_central_learner(variable, values, epsilon, least, most):
    report = fit_scaling(
        CUCBBatch,
        variable,
        values,
        RegretOptions(epsilon=epsilon, runs=64),
        bound=BOUNDS["cucb-batch"].evaluate,
    )
    low, high = report.interval
    assert least <= low <= report.exponent <= high <= most
    assert all(report.learnt)
    assert report.means < report.bounds
    slope = np.polyfit(np.log(values), np.log(report.bounds), 1)[0]
    assert report.bound_exponent == pytest.approx(slope)


def bound_exponent(name, grid, horizon):
    """Return the slope of the log of a theorem's bound on two arms of means 0.2 and 0.8 over that of epsilon."""
    problem = plain_problem("semi-bandit", np.array([0.2, 0.8]), 1)
    bounds = [BOUNDS[name].evaluate(Instance(problem, epsilon, horizon)) for epsilon in grid]
    return np.polyfit(np.log(grid), np.log(bounds), 1)[0]


@pytest.mark.slow
def test_local_privacy_costs_the_square():
    """The bound's parts without epsilon hide it at first: it nears what the gain of a bit, squared, has."""
    name, grid = "cucb-ldp-bit", (0.25, 0.5, 1.0)
    report = fit_scaling(CUCBLDPBit, "epsilon", grid, RegretOptions(), bound=BOUNDS[name].evaluate)
    assert -2.1 <= report.exponent <= -1.4
    assert report.bound_exponent == pytest.approx(bound_exponent(name, grid, report.horizon))
    exponents = [bound_exponent(name, grid, 1 << power) for power in (15, 20, 30, 50)]
    assert exponents == sorted(exponents, reverse=True)
    square = 2 * np.polyfit(np.log(grid), np.log([bit_gain(epsilon) for epsilon in grid]), 1)[0]
    assert square < exponents[-1] < 0.8 * square


@pytest.mark.parametrize(("make", "rounds"), [(CUCBLDPBit, 32_768), (CUCBBatch, 1 << 30)])
def test_without_a_bound_all_is_played_that_can_be(make, rounds, monkeypatch):
    """A learner that holds its actions is played far longer."""

    def played(make, instance, options, **_):
        raise ProblemError(f"{instance.horizon} rounds")

    monkeypatch.setattr("verify.regret_claims.scaling.simulated_regret", played)
    with pytest.raises(ProblemError, match=rf"^{rounds} rounds"):
        fit_scaling(make, "epsilon", (0.25, 0.5, 1.0), RegretOptions())


def test_learners_of_single_arms_have_a_size_of_one():
    with pytest.raises(ProblemError, match="one arm at a time"):
        fit_scaling(DPBandit, "size", (1, 2, 3), RegretOptions(runs=8))
    report = fit_scaling(DPBandit, "epsilon", (0.01, 0.02, 0.04), RegretOptions(horizon=1 << 20, runs=64))
    assert -1.1 < report.exponent < -0.6  # 1 / epsilon, and a part without it


def test_cells_in_which_nothing_is_learnt_are_left_out():
    with pytest.raises(ProblemError, match="is learnt within 64 rounds at 0 of these"):
        fit_scaling(CUCBBatch, "epsilon", (0.01, 0.02, 0.04), RegretOptions(horizon=64, runs=8))


@pytest.mark.parametrize(
    ("variable", "values", "match"),
    [
        ("delta", (1, 2, 3), "delta"),
        ("epsilon", (1.0, 2.0), "at least 3"),
        ("gap", (0.1, 0.5, 1.5), "gap = 1.5"),
        ("size", (1, 2, 2.5), "size = 2.5"),
        ("size", (1, 2, math.inf), "size = inf: must be a whole number from 1 to 10000"),
        ("arms", (2, 3, math.nan), "arms = nan"),
        ("arms", (2, 3, 1e9), "arms = 1000000000.0: must be a whole number from 2 to 10000"),
        ("epsilon", (0.1, 0.2, 1e300), r"epsilon = 1e\+300: must be a number from 1e-07 to 1e\+09"),
    ],
)
def test_wrong_grids(variable, values, match):
    with pytest.raises(SettingError, match=match):
        fit_scaling(CUCBBatch, variable, values, RegretOptions())


@pytest.mark.slow
def test_the_command():
    runner = CliRunner()
    asked = [
        "regret",
        "cucb-batch",
        "--test",
        "exponent",
        "--set",
        "epsilon=0.01,0.02,0.04",
        "--runs",
        "8",
    ]
    said = runner.invoke(cli, asked)
    assert said.exit_code == 0
    assert "the exponent in epsilon is -" in said.stdout
    data = json.loads(runner.invoke(cli, [*asked, "--json"]).stdout)
    theorem = bound_exponent("cucb-batch", data["values"], data["horizon"])
    assert data["bound_exponent"] == pytest.approx(theorem)
    assert -1 < theorem < -0.5
    growth = ["regret", "cucb-batch", "--test", "growth", "--runs", "64"]
    said = runner.invoke(cli, growth)
    assert said.exit_code == 0
    assert "NOT SEEN" in said.stdout
    for wrong in (
        ["--test", "growth", "--set", "gap=1"],
        ["--test", "exponent"],
        ["--test", "exponent", "--set", "gap=x"],
        ["--test", "exponent", "--set", "gap=0.1,0.2,0.4", "--set", "arms=2,3,4"],
        ["--test", "exponent", "--set", "horizon=1,2,3"],
        ["--test", "lower-bound"],
        ["--test", "growth", "--problem", "top-k"],
        ["--test", "growth", "-o", "x.png"],
    ):
        assert isinstance(runner.invoke(cli, ["regret", "cucb", *wrong]).exception, SettingError)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"runs": 0}, "runs = 0: "),
        ({"seed": -1}, "seed = -1: "),
        ({"epsilon": math.nan}, "epsilon = nan: "),
        ({"horizon": 0}, "horizon = 0: "),
    ],
)
def test_numbers_that_are_out_of_range_are_refused(wrong, rule):
    with pytest.raises(SettingError, match=rule):
        RegretOptions(**wrong)


@pytest.mark.parametrize("error", [0, 2.0, math.nan])
def test_a_false_alarm_has_a_probability(error):
    with pytest.raises(SettingError, match=rf"error = {error}: must (lie in \(0, 1\)|be a number)"):
        RegretOptions(error=error)


class Knows(CUCBBatch):
    """Plays the best arm from the beginning."""

    def choose(self, available=None):
        return np.full((self.gate.lanes, 1), self.structure.arms - 1)


def test_without_regret_there_is_no_exponent():
    with pytest.raises(
        ProblemError, match=r"gap = 0.1,0.2,0.4: no regret within 100 rounds in 8 runs; .* must be above 0"
    ):
        fit_scaling(Knows, "gap", (0.1, 0.2, 0.4), RegretOptions(horizon=100, runs=8))


@pytest.mark.few(1)
@pytest.mark.parametrize("bound", [None, lambda instance: 0.0, lambda instance: math.inf])
def test_a_bound_that_is_no_number_above_0_has_no_exponent(bound):
    report = fit_scaling(
        CUCBBatch, "epsilon", (0.01, 0.02, 0.04), RegretOptions(horizon=1 << 20, runs=8), bound=bound
    )
    assert math.isnan(report.bound_exponent)
    assert report.exponent < 0


def test_the_command_fits_an_own_learner_without_a_bound(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("from algorithms import CUCBBatch\nclass Mine(CUCBBatch):\n    regret_bound = None\n")
    asked = [
        "--test",
        "exponent",
        "--set",
        "epsilon=0.01,0.02,0.04",
        "--runs",
        "8",
        "--horizon",
        str(1 << 20),
    ]
    runner = CliRunner()
    said = runner.invoke(cli, ["regret", f"{file}:Mine", *asked])
    assert said.exit_code == 0, said.exception
    assert "the bound's" not in said.stdout
    data = json.loads(runner.invoke(cli, ["regret", f"{file}:Mine", *asked, "--json"]).stdout)
    assert data["bounds"] == ["inf"] * 3
    assert data["bound_exponent"] is None


@pytest.mark.parametrize(("excess", "code"), [(-3.0, 0), (7.5, 1)])
def test_the_command_says_how_sure_its_words_on_growth_are(monkeypatch, excess, code):
    """On made-up runs: the confidence is what the error leaves, and the ratio is of the increments."""
    report = GrowthReport("cucb-batch", 1.0, 64, 0, (128, 2048, 32768), (10.0, 30.0, 80.0), excess, 0.25)
    monkeypatch.setattr("verify.commands.regret_command.measure_growth", lambda *_, **__: report)
    told = CliRunner().invoke(cli, ["regret", "cucb-batch", "--test", "growth"])
    assert told.exit_code == code
    said = " ".join(told.stdout.split())
    assert ("NOT SEEN" in said) == (code == 0)
    assert "second increment, 50, is 2.5 times the first, 20:" in said
    assert f"exceeds twice the first by at least {excess:g}" in said.replace("−", "-")
    assert "(75% confidence" in said.replace(" %", "%")
