"""Several learners and values in one call, own problems and plain bandits: table, picture, CSV and JSON."""

from __future__ import annotations

import csv
import functools
import json
import os
from pathlib import Path

import pytest

MINE = """
import numpy as np

from algorithms.problems import SemiBandit, TopK
from verify import PlainBandit

problem = SemiBandit(TopK(3, 1), [0.2, 0.5, 0.9])


def made():
    return problem


class Ucb:
    def __init__(self, rng):
        self.sums, self.counts, self.t = np.zeros(3), np.zeros(3), 0

    def select_arm(self):
        self.t += 1
        if self.counts.min() == 0:
            return int(self.counts.argmin())
        return int(np.argmax(self.sums / self.counts + np.sqrt(2 * np.log(self.t) / self.counts)))

    def update(self, arm, reward):
        self.sums[arm] += reward
        self.counts[arm] += 1


ucb = PlainBandit(Ucb, arms=3, rounds=10)
"""


@pytest.fixture
def run(run):
    """Run ``dpwitness simulate``."""
    return functools.partial(run, "simulate")


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    return str(tmp_path / "mine.py")


def test_learners_and_values_in_one_call(run, tmp_path):
    picture, table = tmp_path / "regret.png", tmp_path / "runs.csv"
    arguments = ("cucb", "cucb-ldp2", "--set", "epsilon=0.5,2", "--set", "arms=5,6", "--set", "size=2")
    sizes = ("--horizon", "60", "--runs", "3", "--seed", "4", "-o", str(picture), "-o", str(table))
    code, out, err = run(*arguments, *sizes, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["simulations"]
    # Without privacy nothing depends on epsilon.
    assert [(each["learner"], each["epsilon"], each["settings"]["arms"]) for each in found] == [
        ("cucb", 0.5, "5"), ("cucb", 0.5, "6"), ("cucb-ldp2", 0.5, "5"), ("cucb-ldp2", 0.5, "6"),
        ("cucb-ldp2", 2.0, "5"), ("cucb-ldp2", 2.0, "6"),
    ]  # fmt: skip
    assert picture.read_bytes().startswith(b"\x89PNG")
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len({row["line"] for row in rows}) == 6
    assert {row["run"] for row in rows} == {"0", "1", "2"}
    last = [
        float(row["regret"])
        for row in rows
        if (row["learner"], row["epsilon"], row["round"]) == ("cucb-ldp2", "2.0", "60")
        and "arms=6" in row["settings"]
    ]
    assert sum(last) / 3 == pytest.approx(found[-1]["regret_mean"][-1])
    single = run("cucb-ldp2", "--epsilon", "2", "--set", "arms=6", "--set", "size=2", *sizes[:6], "--json")[1]
    assert json.loads(single)["regret_mean"] == found[-1]["regret_mean"]  # alone it is the same
    code, out, _ = run(*arguments, *sizes[:6])
    assert code == 0
    assert "cucb-ldp2, ε = 2, arms = 6" in out


def test_a_setting_of_one_learner_is_not_given_to_the_others(run):
    code, out, err = run(
        "cascade-ucb1", "published/cascade-ucb-ldp-laplace", "--set", "noise_multiplier=1,0.01", "--set",
        "items=8", "--horizon", "20", "--runs", "2", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    settings = [each["settings"] for each in json.loads(out)["simulations"]]
    assert settings == [
        {"items": "8"},
        {"noise_multiplier": "1", "items": "8"},
        {"noise_multiplier": "0.01", "items": "8"},
    ]


@pytest.mark.parametrize("given", [("--delta", "0.5"), ("--set", "delta=0.5")])
def test_a_delta_that_no_learner_takes_is_refused(run, given):
    code, out, err = run("cucb-batch", "cucb", *given, "--horizon", "5", "--runs", "1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--delta 0.5: must not be given, as no learner here takes it: cucb-batch, cucb" in err


@pytest.mark.slow_cells("learners1-mine.py:ucb plays top-k and cucb top-k of another size")
@pytest.mark.parametrize(
    ("learners", "said"),
    [
        (["dp-bandit", "cucb"], "dp-bandit plays arms and cucb top-k: their regret cannot be compared"),
        (["mine.py:ucb", "cucb"], "mine.py:ucb plays top-k and cucb top-k of another size"),
    ],
)
def test_learners_of_different_problems_are_not_compared(run, mine, monkeypatch, learners, said):
    monkeypatch.chdir(Path(mine).parent)
    sizes = ("--horizon", "20", "--runs", "2")
    code, out, err = run(*learners, *sizes)
    assert (code, out) == (2, "")
    assert said in err
    assert run(*learners, *sizes, "--problem", "arms", "--set", "arms=3")[0] == 0


@pytest.mark.slow_cells("problem")
@pytest.mark.parametrize("name", ["problem", "made"])
def test_a_problem_of_the_users(run, mine, name):
    sizes = ("--horizon", "40", "--runs", "2", "--json")
    code, out, err = run("cucb-ldp2", "--problem", f"{mine}:{name}", *sizes)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["problem"] == f"{mine}:{name}"
    assert found["regret_mean"][-1] / 40 + found["return_mean"][-1] == pytest.approx(0.9)


@pytest.mark.slow
def test_a_plain_bandit_beside_a_learner(run, mine):
    sizes = ("--horizon", "400", "--runs", "8")
    code, out, err = run(f"{mine}:ucb", "cucb", "--problem", f"{mine}:problem", *sizes, "--json")
    assert (code, err) == (0, "")
    own, library = json.loads(out)["simulations"]
    assert own["rounds"] == library["rounds"]
    # Each arm is tried for some time, and then the best one: at random it would be 0.37 a round.
    assert 5 < own["regret_mean"][-1] < 0.2 * 400
    again = json.loads(run(f"{mine}:ucb", "--problem", f"{mine}:problem", *sizes, "--json")[1])
    assert again["regret_mean"] == own["regret_mean"]


def test_a_report_repeats_all_that_it_shows_and_names_only_the_privacy_that_is_asked_for(run):
    _, out, _ = run("cucb", "cucb-ldp2", "--set", "epsilon=1,2", "--horizon", "5", "--runs", "1")
    words = " ".join(out.split())
    assert words.count("dpwitness simulate") == 3
    assert "cucb, ε" not in words
    assert "δ" not in words
    _, out, _ = run("cucb-ldp-gaussian", "--horizon", "5", "--runs", "1")
    assert "δ 0.001" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cucb", "--set", "epsilon=1,x"), "--set epsilon=1,x: must be numbers separated by commas"),
        (("cucb-ldp2", "--set", "epsilon=1,-1"), "--epsilon -1.0: must"),
        (("cucb-ldp2", "--set", "epsilon=1", "--epsilon", "1"), "--epsilon 1: not with --set epsilon=1"),
        (("cucb", "--delay", "2"), "--delay 2: needs --log"),
        (("cucb", "-o", "a.txt"), "--output a.txt: must end in .json or .html or .md or .png or .csv"),
        (("cucb", "--set", "arms=5,x"), "arms = x: must be an integer"),
        (("cucb", "--set", "nothing=5"), "nothing"),
        (("{mine}:ucb", "--set", "size=2"), "plays one of 3 arms, not 2 of 3"),
        (("{mine}:ucb", "--problem", "cascade"), "plays one of 3 arms"),
        (("cucb", "--problem", "{mine}:Ucb"), "must be a problem"),
        (("cucb", "--problem", "{mine}:nothing"), "has no object 'nothing'"),
    ],
)
def test_what_is_refused(run, mine, arguments, words):
    code, out, err = run(*(part.format(mine=mine) for part in arguments), "--horizon", "5", "--runs", "1")
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_a_csv_file_that_cannot_be_written_is_refused_before_anything_runs(monkeypatch, tmp_path, run):
    monkeypatch.setattr("verify.commands.simulate_command.simulated", None)
    code, _, said = run("cucb", "-o", str(tmp_path / "none" / "runs.csv"))
    assert code == 2
    assert "runs.csv: its folder does not exist" in said


def test_a_ledger_is_not_overwritten(monkeypatch, tmp_path, run):
    monkeypatch.setattr("verify.commands.simulate_command._lines", None)
    file = tmp_path / "ledger.csv"
    file.write_bytes(b"SQLite format 3\0")
    code, _, said = run("cucb", "-o", str(file))
    assert code == 2
    assert "ledger.csv: must not be an SQLite database" in said
    assert file.read_bytes() == b"SQLite format 3\0"


def test_a_link_to_a_csv_file_that_is_not_there_yet_stays(tmp_path, run):
    link, file = tmp_path / "link.csv", tmp_path / "runs.csv"
    link.symlink_to(file)
    code, *_ = run("cucb", "--horizon", "10", "--runs", "1", "-o", str(link))
    assert code == 0
    assert link.is_symlink()
    assert file.read_text().startswith("line,")


def test_a_name_that_no_file_has_is_refused_by_its_option(tmp_path, run):
    code, _, said = run("cucb", "-o", str(tmp_path / ("runs" * 100 + ".csv")))
    assert code == 2
    assert "--output " in said
    assert "cannot be written (" in said


def test_a_users_code_runs_in_a_process_of_its_own(run, tmp_path):
    file, process = tmp_path / "mine.py", tmp_path / "process"
    note = f"import os; open({str(process)!r}, 'w').write(str(os.getpid()))"
    file.write_text(MINE.replace("self.t += 1", f"self.t += 1; {note}"))
    code, _, _ = run(f"{file}:ucb", "--horizon", "10", "--runs", "1", "--json")
    assert code == 0
    assert int(process.read_text()) != os.getpid()
