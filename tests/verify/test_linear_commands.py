"""Linear learners on the command line: list, simulate, verify, and what they refuse."""

import json
from pathlib import Path

import pytest

from algorithms.catalogue.linear_entries import linear_learners


def test_list_shows_linear_learners_and_their_problem(run):
    catalogue = json.loads(run("list", "--json")[1])
    linear = {entry["name"]: entry for entry in catalogue["learners"] if entry["family"] == "linear"}
    assert set(linear) == set(linear_learners)
    assert len(linear) == 17
    assert linear["published/dp-dpe-central"]["as_printed"].startswith("FALSE for large epsilon")
    assert linear["published/dp-dpe-central"]["certified_form"] == "dp-dpe-central"
    assert "Theorem 4.2" in linear["published/dp-dpe-central"]["source"]
    assert {parameter["name"] for parameter in linear["dp-dpe-local"]["parameters"]} == {
        "alpha",
        "anytime",
        "reward_bound",
    }
    problem = next(entry for entry in catalogue["problems"] if entry["name"] == "linear")
    assert {"dimension", "actions", "population", "replacement"} <= {p["name"] for p in problem["parameters"]}
    assert "published/dpe-fixed" in run("list", "published")[1]


def test_simulate_reports_regret_phases_and_communication(run, tmp_path):
    picture = tmp_path / "regret.png"
    arguments = ("simulate", "dp-dpe-central", "--epsilon", "10", "--delta", ".25", "--horizon", "300")
    code, out, err = run(*arguments, "--runs", "3", "--json", "--workers", "2", "-o", str(picture))
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["rounds"][-1] == 300
    assert len(result["regret_mean"]) == len(result["regret_sem"]) == len(result["rounds"])
    assert result["communication"]["reals"] > 0
    assert result["communication"]["bits"] == 0
    assert result["best_kept"] == 1.0
    assert result["phases"]["rounds"][-1] == 300
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = json.loads(run(*arguments, "--runs", "3", "--json")[1])
    assert again["regret_mean"] == result["regret_mean"]
    code, out, _ = run("simulate", "dp-dpe-shuffle", "--horizon", "60", "--runs", "1")
    assert code == 0
    assert "bits a run; best action kept in 100 % of runs" in out


@pytest.mark.slow
def test_verify_prints_a_report_and_repeats(run):
    arguments = ("verify", "published/dp-dpe-local", "--epsilon", "10", "--delta", "0.25")
    code, out, err = run(*arguments, "--effort", "quick", "--set", "horizon=60", "--set", "dimension=2")
    assert (code, err) == (1, "")
    assert "REFUTED" in out
    assert "84 % (exact)" in out
    assert max(len(line) for line in out.splitlines() if not line.startswith("  dpwitness ")) <= 80
    again = (
        "dpwitness verify published/dp-dpe-local --epsilon 10 --delta 0.25 --set dimension=2 --set horizon=60"
    )
    assert f"\n  {again}" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "dp-dpe-local", "--horizon", "10000000"], "22 phases within horizon 10000000 need"),
        (["simulate", "dpe", "--problem", "top-k"], "dpe plays linear problems, not top-k"),
        (["simulate", "cucb", "--problem", "linear"], "unknown problem 'linear'"),
        (["simulate", "dpe", "--set", "size=3"], "unknown parameter 'size'"),
        (["simulate", "dpe", "--runs", "0"], "'--runs': 0 is"),
        (["simulate", "dp-dpe", "--horizon", "10"], "did you mean"),
        (["verify", "dp-pe-local", "--epsilon", "1"], "--delta 0.0: must lie in (0, 1)"),
        (
            ["verify", "dp-dpe-local", "--epsilon", "1", "--delta", "1e-3", "--set", "horizon=0"],
            "horizon = 0",
        ),
    ],
)
def test_refusals_are_one_line(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_linear_learner_of_ones_own(run, tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from algorithms import DPDPELocal\n\n\nclass Mine(DPDPELocal):\n    def observe(self, report):\n"
        "        if report > 0.5:\n            pass\n"
    )
    code, out, _ = run(
        "verify", f"{file}:Mine", "--epsilon", "1", "--delta", "1e-3", "--effort", "quick", "--json"
    )
    assert code == 3
    assert json.loads(out)["findings"][0]["kind"] == "raw-read"
    assert json.loads(out)["findings"][0]["where"].endswith("mine.py:6")
