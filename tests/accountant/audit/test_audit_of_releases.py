"""Audits and calibrations of composition files, and their commands."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from accountant import Accountant, Budget
from accountant.audit.audit_of_releases import Question, audit
from accountant.audit.noise_for_target import calibrate
from accountant.audit.plot_privacy import trade_off
from accountant.audit.release_file import read_releases
from mechanisms import GaussianProfile, Interval, Laplace
from verify import command_line

TABLE = """
[[release]]
mechanism = "laplace"
scale = 20
count = 1000
"""
GROUPS = """
[[release]]
mechanism = "gaussian"
sigma = 20.0
count = 1000
partition = ["north", "south"]

[[release]]
mechanism = "gaussian"
sigma = 20.0
count = 500
partition = "south"

[[release]]
mechanism = "laplace"
scale = 1.0
partition = "west"
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="releases.toml"):
        target = tmp_path / name
        target.write_text(text)
        return target

    return write


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process; return exit code, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpwitness", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            command_line.main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return call


def test_a_thousand_laplace_releases(file):
    """8.204440343933935814 at 1e-6 (residues with 1,300 digits); every theorem is above it."""
    result = audit(read_releases(file(TABLE)), Question(delta=1e-6))
    assert result.answer.lower <= 8.204440343933935814 <= result.answer.upper
    assert result.answer.width < 1e-7
    assert result.best == "privacy-loss distributions"
    assert len(result.theorems) >= 7
    assert all(found.upper >= result.answer.lower for found in result.theorems.values())
    assert result.theorems["basic composition"].upper == pytest.approx(50)


def test_delta_at_an_epsilon_is_the_inverse(file):
    releases = read_releases(file(TABLE))
    at = audit(releases, Question(epsilon=8.204440343933935814))
    assert at.answer.lower <= 1e-6 * (1 + 1e-9)
    assert at.answer.upper >= 1e-6 * (1 - 1e-9)
    assert at.answer.width < 1e-12


def test_approximate_releases_at_epsilon_zero(file):
    """Total variation of three (1, 1e-3) responses: all mass lost, or the majority of three coins tells."""
    text = '[[release]]\nmechanism = "approximate"\nepsilon = 1\ndelta = 1e-3\ncount = 3\n'
    result = audit(read_releases(file(text)), Question(epsilon=0.0))
    p = 1 / (1 + math.exp(-1))
    majority = p**3 + 3 * p**2 * (1 - p)
    expected = 1 - (1 - 1e-3) ** 3 * (1 - (2 * majority - 1))
    assert result.answer.lower <= expected <= result.answer.upper
    assert result.answer.width < 1e-9
    assert all(found.upper >= expected for found in result.theorems.values())


def test_groups_that_share_no_record_do_not_add_up(file):
    releases = read_releases(file(GROUPS))
    result = audit(releases, Question(delta=1e-6))
    assert (result.worst.name, result.groups) == ("south", 3)
    expected = GaussianProfile(math.sqrt(1500) / 20).epsilon(1e-6)
    assert result.answer.upper == pytest.approx(expected, rel=1e-8)


def test_what_is_left_and_what_still_fits(file):
    """Against the closed form: the largest n with √((1500 + n)/400)-GDP within 12."""
    result = audit(read_releases(file(GROUPS)), Question(delta=1e-6), budget=12.0)
    assert result.remaining.epsilon == pytest.approx(12.0 - result.answer.upper)
    more = result.remaining.more["1: gaussian sigma=20"]
    assert GaussianProfile(math.sqrt(1500 + more) / 20).epsilon(1e-6) <= 12.0
    assert GaussianProfile(math.sqrt(1501 + more) / 20).epsilon(1e-6) > 12.0
    none = audit(read_releases(file(GROUPS)), Question(delta=1e-6), budget=3.0)
    assert none.remaining.epsilon == 0.0
    assert set(none.remaining.more.values()) == {0}


def test_releases_that_cost_nothing_always_fit(file):
    text = TABLE + '\n[[release]]\nmechanism = "pure"\nepsilon = 0\nname = "free"\n'
    assert (
        audit(read_releases(file(text)), Question(delta=1e-6), budget=9.0).remaining.more["free"] == math.inf
    )


def test_without_privacy_the_answer_is_infinite(run, tmp_path):
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    accountant.release(Laplace(scale=4.0), accountant.private([0.5], Interval(0, 1), "a"))
    accountant.declassify(accountant.private([0.5], Interval(0, 1), "b"), "a test")
    accountant.save(tmp_path / "ledger.json")
    code, out, err = run("audit", tmp_path / "ledger.json", "--json", "--budget", 1)
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["epsilon"]["upper"] == "inf"
    assert result["worst"]["group"] == "b"
    assert result["remaining"]["epsilon"] == 0


def test_a_saved_ledger_is_audited_record_by_record(run, tmp_path):
    accountant = Accountant(Budget(10.0), noise=np.random.default_rng(0))
    for i in range(12):
        accountant.release(Laplace(scale=4.0), accountant.private([0.5], Interval(0, 1), f"user-{i % 5}"))
    accountant.save(tmp_path / "ledger.json")
    code, out, _ = run("audit", tmp_path / "ledger.json", "--delta", 0, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["epsilon"]["upper"] == 0.75 == float(accountant.worst()[1].epsilon)
    assert result["worst"] == {"group": "user-0", "alike": 2, "groups": 2}


# --- calibration ---------------------------------------------------------------------------------


def test_calibrating_gaussians_meets_the_closed_form(file):
    result = calibrate(
        read_releases(file('[[release]]\nmechanism = "gaussian"\nsigma = 3.0\ncount = 100\n')), 1.0, 1e-6
    )
    sigma = result.parameters["1: gaussian sigma=3"]["sigma"]
    assert GaussianProfile(10 / sigma).epsilon(1e-6) <= 1.0
    assert GaussianProfile(10 / (sigma * (1 - 1e-6))).epsilon(1e-6) > 1.0
    assert result.epsilon <= 1.0


def test_calibrating_up_and_down(file):
    for scale in (0.001, 1.0, 5e5):
        releases = read_releases(file(f'[[release]]\nmechanism = "laplace"\nscale = {scale}\ncount = 10\n'))
        for delta in (0.0, 1e-6):
            result = calibrate(releases, 2.0, delta)
            found = result.factor * scale
            assert found == pytest.approx(5.0, rel=1e-6 if delta == 0 else 1e-2)
            assert 2.0 * (1 - 1e-6) <= result.epsilon <= 2.0


def test_every_group_meets_the_target(file):
    releases = read_releases(file(GROUPS))
    result = calibrate(releases, 1.0, 1e-6)
    assert result.epsilon == pytest.approx(1.0, abs=1e-6)


def test_targets_out_of_reach(file):
    releases = read_releases(file('[[release]]\nmechanism = "approximate"\nepsilon = 1\ndelta = 1e-3\n'))
    with pytest.raises(ValueError, match="no amount of noise"):
        calibrate(releases, 1.0, 1e-6)


# --- the commands --------------------------------------------------------------------------------


def test_audit_json_has_the_stable_keys(run, file):
    code, out, err = run("audit", file(GROUPS), "--delta", "1e-5", "--budget", "10", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert set(result) == {"delta", "epsilon", "theorems", "best", "worst", "remaining"}
    assert result["delta"] == 1e-5
    assert set(result["epsilon"]) == {"lower", "upper", "method"}
    assert all(set(found) == {"lower", "upper"} for found in result["theorems"].values())
    assert set(result["remaining"]) == {"budget", "epsilon", "more"}
    inverse = json.loads(run("audit", file(GROUPS), "--epsilon", "3", "--json")[1])
    assert inverse["epsilon"] == 3
    assert set(inverse["delta"]) == {"lower", "upper", "method"}
    assert inverse["remaining"] is None


def test_audit_prints_a_table_and_draws(run, file, tmp_path):
    code, out, err = run("audit", file(TABLE), "--budget", "10", "--plot", tmp_path / "curve.png")
    assert (code, err) == (0, "")
    for words in ("8.20444", "basic composition", "left of the budget", "laplace scale=20"):
        assert words in out
    assert max(map(len, out.splitlines())) <= 80
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_calibrate_prints_and_says_json(run, file):
    code, out, _ = run("calibrate", file(TABLE), "--epsilon", "1")
    assert code == 0
    assert "multiply all noise by" in out
    result = json.loads(run("calibrate", file(TABLE), "--epsilon", "1", "--json")[1])
    assert set(result) == {"factor", "epsilon", "delta", "parameters"}
    assert result["parameters"]["1: laplace scale=20"]["scale"] == pytest.approx(20 * result["factor"])


BAD = [
    (["audit", "FILE", "--delta", "1"], "delta=1.0"),
    (["audit", "FILE", "--delta", "-1"], "delta=-1.0"),
    (["audit", "FILE", "--delta", "nan"], "delta=nan"),
    (["audit", "FILE", "--epsilon", "-1"], "epsilon=-1.0"),
    (["audit", "FILE", "--epsilon", "inf"], "epsilon=inf"),
    (["audit", "FILE", "--epsilon", "1", "--delta", "0.1"], "one of the two"),
    (["audit", "FILE", "--budget", "-1"], "budget=-1.0"),
    (["audit", "FILE", "--epsilon", "1", "--budget", "1"], "goes with a given delta"),
    (["audit", "FILE", "--plot", "curve.pdf"], ".png"),
    (["audit", "nowhere.toml"], "nowhere.toml"),
    (["audit"], "FILE"),
    (["calibrate", "FILE"], "--epsilon"),
    (["calibrate", "FILE", "--epsilon", "0"], "epsilon=0.0"),
    (["calibrate", "FILE", "--epsilon", "1", "--delta", "1"], "delta=1.0"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=lambda value: " ".join(value) if value else "")
def test_bad_options_are_one_line_and_exit_code_2(run, file, arguments, words):
    given = [str(file(TABLE)) if argument == "FILE" else argument for argument in arguments]
    code, out, err = run(*given)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("dpwitness: ")
    assert err.count("\n") == 1


def test_bad_files_name_their_line(run, file):
    code, out, err = run("audit", file(TABLE + "scael = 3\n"))
    assert (code, out) == (2, "")
    assert "line 6" in err
    assert "scael" in err


@pytest.mark.slow  # a process of its own; the README's commands run the same script
def test_the_installed_script_audits(file):
    script = Path(sys.executable).with_name("dpwitness")
    done = subprocess.run(
        [script, "audit", file(TABLE), "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["epsilon"]["upper"] == pytest.approx(8.2044403439)


def test_the_trade_off_curve_of_a_gaussian():
    """Φ(Φ⁻¹(1 - α) - μ), from the tangents that the profile gives on a fine grid."""
    from scipy.stats import norm

    grid = np.linspace(0, 8, 4000)
    alpha = np.array([1e-4, 0.01, 0.2, 0.5, 0.9])
    found = trade_off(grid, GaussianProfile(1.0).delta(grid), alpha)
    assert found == pytest.approx(norm.cdf(norm.ppf(1 - alpha) - 1.0), abs=1e-5)
