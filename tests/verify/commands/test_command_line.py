"""The command line: exit codes, JSON, pictures, and one clear line for every bad input."""

import io
import json
import shlex
import sys
from importlib import metadata
from pathlib import Path

import pytest

from verify.commands import command_line

FUNCTIONS = Path(__file__).parents[1] / "subjects" / "functions.py"
LEARNERS = FUNCTIONS.with_name("learners.py")


@pytest.mark.parametrize(
    ("arguments", "code", "verdict"),
    [
        (["cucb-ldp2", "--epsilon", "1", "--set", "horizon=30"], 0, "certified"),
        pytest.param(
            ["published/cascade-ucb-ldp-laplace", "--epsilon", "1"], 1, "refuted", marks=pytest.mark.slow
        ),
        ([f"{FUNCTIONS}:half_the_noise", "--epsilon", "1"], 1, "refuted"),
        pytest.param([f"{FUNCTIONS}:laplace", "--epsilon", "1"], 3, "unproven", marks=pytest.mark.slow),
    ],
)
def test_verify_exit_codes_and_json(run, arguments, code, verdict):
    left, out, err = run("verify", *arguments, "--effort", "quick", "--samples", "8000", "--json")
    assert left == code
    result = json.loads(out)
    assert result["verdict"] == verdict
    assert result["claim"]["epsilon"] == 1.0
    assert (result["witness"] is not None) == (verdict == "refuted")
    assert err == ""


@pytest.mark.slow
def test_verify_prints_a_report(run):
    code, out, _ = run(
        "verify",
        "cucb-ldp2",
        "--epsilon",
        "1",
        "--problem",
        "open-bandit",
        "--effort",
        "quick",
        "--samples",
        "4000",
    )
    assert code == 0
    assert "CERTIFIED" in out
    assert "local model" in out
    assert max(len(line) for line in out.splitlines() if not line.startswith("  dpwitness ")) <= 80


def test_what_a_subject_prints_does_not_reach_standard_output(run):
    few = ["--effort", "quick", "--set", "horizon=20", "--samples", "5000"]
    code, out, err = run("verify", f"{LEARNERS}:Prints", "--epsilon", "1", *few, "--json")
    assert code == 0
    assert json.loads(out)["verdict"] == "certified"
    assert "noise on standard output" in err


def test_a_terminal_without_unicode_gets_everything_else(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for arguments, spelled in (
        (["list"], b"?"),
        (["simulate", "omm", "--horizon", "20", "--runs", "2"], b"+- s.e."),
    ):
        terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", terminal)
        code, _, err = run(*arguments)
        assert (code, err) == (0, "")
        terminal.flush()
        assert spelled in terminal.buffer.getvalue()


def test_list_fits_on_a_page_a_line_each(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run("list")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) < 66
    assert max(map(len, lines)) <= 80
    for name in ("cucb-ldp1", "cucb-kl", "cascade-ucb-rr", "open-bandit", "dpwitness list zoo"):
        assert sum(line.split()[:1] == [name] or name in line[20:] for line in lines) == 1
    assert "published/" not in out
    code, out, _ = run("list", "zoo", "false", "svt")
    lines = [line for line in out.splitlines()[1:] if line.strip()]
    assert code == 0
    assert len(lines) > 2
    assert all(line.startswith("zoo/svt") or "svt" in line for line in lines)
    assert all(" false " in line for line in lines)
    assert run("list", "published")[1].count("\npublished/") == 23


def test_list_shows_everything(run):
    code, out, _ = run("list", "--json")
    assert code == 0
    catalogue = json.loads(out)
    assert {"name", "kind", "default", "low", "high", "meaning"} <= set(
        catalogue["problems"][0]["parameters"][0]
    )
    assert any(learner["as_printed"].startswith("FALSE") for learner in catalogue["learners"])
    zoo = {specimen["name"]: specimen for specimen in catalogue["zoo"]}
    assert (zoo["svt5"]["correct"], zoo["svt5"]["true_epsilon"]) == (False, "inf")
    assert zoo["noisy-max-3"]["true_epsilon"] == 0.25
    names = {learner["name"] for learner in catalogue["learners"]}
    for learner in catalogue["learners"]:
        assert {"family", "model", "source", "as_printed", "certified_form"} <= set(learner)
        form = learner["certified_form"]
        assert form in names or learner["as_printed"].startswith("makes no privacy")
        assert not form.startswith("published/")


def test_list_shows_what_words_describe(run):
    code, out, _ = run("list", "Local", "cascade", "--json")
    found = json.loads(out)
    assert code == 0
    assert "cascade-ucb-rr" in {learner["name"] for learner in found["learners"]}
    assert {learner["model"] for learner in found["learners"]} == {"local"}
    assert not found["zoo"]
    code, out, _ = run("list", "svt5")
    assert (code, "svt5" in out, "cucb" in out) == (0, True, False)
    code, out, _ = run("list", "synthetic-movies")
    assert (code, out.split()[:2]) == (0, ["problem", "synthetic-movies"])
    assert "\nmovies=100  number of movies; an integer in [17, 3883]" in out
    code, out, _ = run("list", "dp-dpe-central")  # others have the name in what is said of them
    assert (code, out.split()[:2]) == (0, ["learner", "dp-dpe-central"])
    assert "alpha=0.8" in out
    assert "\npublished/dp-dpe-central" in out
    code, out, err = run("list", "nonsense")
    assert (code, out) == (2, "")
    assert "nothing is described by 'nonsense'" in err


def test_simulate_json_has_the_stable_keys(run):
    code, out, err = run("simulate", "cucb-ldp2", "--horizon", "200", "--runs", "5", "--seed", "3", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert set(result) == {
        "format", "learner", "neighbours", "problem", "asked", "epsilon", "delta", "settings", "rounds", "regret_mean",
        "regret_sem", "return_mean", "runs", "seed", "seconds", "size", "lane_rounds_per_second", "date", "versions",
        "digests",
    }  # fmt: skip
    assert result["size"] == "K = 4, L = 20"
    assert result["rounds"][-1] == 200
    assert len(result["rounds"]) == len(result["regret_mean"]) == len(result["regret_sem"])
    again = json.loads(
        run("simulate", "cucb-ldp2", "--horizon", "200", "--runs", "5", "--seed", "3", "--json")[1]
    )
    assert again["regret_mean"] == result["regret_mean"]


def test_simulate_of_one_run_has_no_standard_error(run):
    result = json.loads(run("simulate", "omm", "--horizon", "50", "--runs", "1", "--json")[1])
    assert set(result["regret_sem"]) == {None}
    code, out, _ = run("simulate", "omm", "--horizon", "50", "--runs", "1")
    assert code == 0
    assert "linear-matroid" in out


@pytest.mark.slow
def test_simulate_draws_a_picture(run, tmp_path):
    picture = tmp_path / "regret.png"
    code, _, _ = run("simulate", "cascade-ucb-rr", "--horizon", "100", "--runs", "4", "-o", str(picture))
    assert code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


BAD = [
    (["verify", "cucb-ldp9", "--epsilon", "1"], "did you mean cucb-ldp"),
    (
        ["verify", "cucb-ldp2", "--epsilon", "0"],
        "'--epsilon': 0.0 is not in the range 0<x<inf",
    ),
    (["verify", "cucb-ldp2", "--epsilon", "-1"], "'--epsilon': -1.0 is not in the range"),
    (["verify", "cucb-ldp2", "--epsilon", "nan"], "'--epsilon': nan is not in the range 0<x<inf"),
    (["verify", "cucb-ldp2", "--epsilon", "one"], "'one'"),
    (["verify", "cucb-ldp2"], "--epsilon"),
    (
        ["verify", "cucb-ldp2", "--epsilon", "1", "--delta", "1"],
        "'--delta': 1.0 is not in the range 0<=x<1",
    ),
    (["verify", "cucb-ldp2", "--epsilon", "1", "--problem", "nothing"], "unknown problem"),
    (["verify", "cucb-ldp2", "--epsilon", "1", "--set", "size=21"], "size = 21"),
    (["verify", "cucb-ldp2", "--epsilon", "1", "--set", "size"], "'--set': 'size' must be NAME=VALUE"),
    (["verify", "cucb-ldp2", "--epsilon", "1", "--set", "sise=3"], "did you mean size"),
    (
        [
            "verify",
            "cucb-ldp2",
            "--epsilon",
            "1",
            "--set",
            "arms = 2",
            "--set",
            "size = 1",
            "--set",
            "means = 0.5,1.5",
        ],
        "1.5",
    ),
    (["verify", "omm", "--epsilon", "1", "--set", "vectors=0 0; 0 0"], "without a basis"),
    (["verify", "nothing.py:f", "--epsilon", "1"], "no such file"),
    (["verify", f"{FUNCTIONS}:without_claim", "--epsilon", "1"], "no claim"),
    (
        ["verify", "cucb-ldp2", "--epsilon", "1", "--effort", "huge"],
        "'--effort': 'huge' is not one of 'quick', 'default'",
    ),
    (["verify", "cucb-ldp2", "--epsilon", "1", "--seed", "-1"], "'--seed': -1 is not in the range"),
    (["simulate", "cucb-ldp2", "--horizon", "0"], "'--horizon': 0 is not in the range"),
    (["simulate", "cucb-ldp2", "--runs", "0"], "'--runs': 0 is not in the range"),
    (["simulate", "cucb-ldp2", "--epsilon", "inf"], "'--epsilon': inf is not in the range 0<x<inf"),
    (["simulate", "cucb-ldp2", "--workers", "0"], "'--workers': '0' must be a whole number"),
    (["simulate", "cucb-ldp2", "-o", "picture.jpg"], "--output picture.jpg: must end in .json or .html"),
    (["simulate", "cucb-ldp2", "-o", "nowhere/at/all.png"], "folder"),
    (["simulate", f"{FUNCTIONS}:laplace"], "only learners"),
    (["verify", "cucb-ldp2", "--epsilon", "1", "--set", "size=2", "--set", "size=3"], "more than once"),
    (
        ["verify", "cucb-ldp2", "--epsilon", "1", "--set", "horizon=1e3"],
        "horizon = 1e3: must be an integer of",
    ),
    (
        ["verify", "cucb-ldp2", "--epsilon", "1", "--horizon", "9"],
        "no such option --horizon; use --set horizon=N",
    ),
    (
        ["verify", f"{FUNCTIONS}:laplace", "--epsilon", "1", "--set", "horizon=9"],
        "takes no problem, settings, horizon",
    ),
    (["simulate", f"{LEARNERS}:Crashes"], "learners.py:"),
    (["simulate", f"{LEARNERS}:BranchesOnRaw"], "private value was compared"),
    (["verify", f"{LEARNERS}:CannotBeBuilt", "--epsilon", "1"], "could not be built: TypeError"),
    (["simulate", "cucb-ldp2", "-o", "/proc/picture.png"], "--output /proc/picture.png"),
    (["prove"], "prove"),
    (["verify", "--epsilon", "1"], "name what to verify"),
    (["verify", "cucb", "--command", "true", "--epsilon", "1"], "not both"),
    (["verify", "--command", "true", "--epsilon", "1"], "say which data sets are neighbours"),
    (["verify", "--command", "true", "--epsilon", "1", "--data", "intervall(0, 1)"], "did you mean interval"),
    (["verify", "--command", "true", "--data", "interval(0, 1)"], "claims no number of its own"),
    (
        ["verify", "--command", "./no-program", "--epsilon", "1", "--data", "interval(0, 1)"],
        "cannot be started",
    ),
    (["verify", "cucb", "--epsilon", "1", "--data", "interval(0, 1)"], "cucb is no function"),
    (["verify", "zoo/svt55"], "did you mean svt5"),
    (["verify", f"{FUNCTIONS}:laplace"], "--epsilon"),
    (
        ["verify", f"{FUNCTIONS}:laplace", "--epsilon", "1", "--samples", "7"],
        "'--samples': 7 is not in the range x>=1024",
    ),
    (
        ["verify", f"{FUNCTIONS}:laplace", "--epsilon", "1", "--time-limit", "0"],
        "'--time-limit': 0.0 is not in the range",
    ),
    (
        ["verify", f"{FUNCTIONS}:laplace", "--epsilon", "1", "--significance", "0"],
        "'--significance': 0.0 is not",
    ),
]


@pytest.mark.slow
def test_a_command_is_verified_and_the_command_line_that_repeats_it_is_said(run):
    script = Path(__file__).parents[1] / "subjects" / "command.py"
    command = f"{sys.executable} {script} half-noise"
    options = ["--effort", "quick", "--samples", "6000", "--significance", "0.001"]
    code, out, _ = run(
        "verify",
        "--command",
        command,
        "--data",
        "any_two(interval(0, 1))",
        "--epsilon",
        "1",
        *options,
        "--json",
    )
    result = json.loads(out)
    assert code == 1
    again = shlex.split(result["witness"]["reproduce"])
    assert again[:4] == ["dpwitness", "verify", "--command", command]
    _, same, _ = run(*again[1:], "--json")
    assert json.loads(same)["lower"] == result["lower"]


@pytest.mark.slow
def test_a_function_without_a_declaration_gets_its_neighbours_from_the_command_line(run):
    code, out, _ = run(
        "verify",
        f"{FUNCTIONS}:without_claim",
        "--data",
        "interval(0, 1)",
        "--epsilon",
        "1",
        "--samples",
        "20000",
        "--json",
    )
    assert code == 1
    assert "any two points" in json.loads(out)["claim"]["neighbours"]


@pytest.mark.slow
def test_a_specimen_of_the_zoo_has_its_own_claim(run):
    code, out, _ = run(
        "verify", "zoo/laplace-half-noise", "--effort", "quick", "--samples", "100000", "--json"
    )
    assert (code, json.loads(out)["claim"]["epsilon"]) == (1, 0.1)


@pytest.mark.few(27)
@pytest.mark.parametrize(
    ("arguments", "words"), BAD, ids=lambda value: " ".join(value)[-60:] if value else ""
)
def test_bad_input_is_one_line_and_exit_code_2(run, arguments, words):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert err.startswith("dpwitness: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_the_installed_script_runs_this_command_line(monkeypatch):
    (script,) = metadata.entry_points(group="console_scripts", name="dpwitness")
    runs = []
    monkeypatch.setattr(command_line, "main", lambda: runs.append(True))
    script.load()()
    assert runs == [True]


def test_help_explains_exit_codes(run):
    code, out, _ = run("verify", "--help")
    assert code == 0
    assert "0 certified, 1 refuted, 3 unproven" in out
