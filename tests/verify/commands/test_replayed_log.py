"""``dpwitness simulate --log``: both formats, several learners, a user's own, and refusals before any play."""

import functools
import json

import numpy as np
import pytest

OWN = """
import numpy as np
from algorithms import ClaimForm, View
from mechanisms import Box


class Second:
    claim = ClaimForm("central", View.ACTIONS, "one report", "it learns nothing")
    family = "bandit"
    feedback_domain = Box(0, 1, 1)

    def __init__(self, structure, gate, **_):
        self.structure = structure

    def act(self):
        return np.array([[1]])

    def observe(self, feedback):
        pass
"""


@pytest.fixture
def run(run):
    """Run ``dpwitness simulate``."""
    return functools.partial(run, "simulate")


@pytest.fixture
def log(tmp_path):
    """A made-up log in the format of the Open Bandit Dataset: three items, at positions 1 and 2."""
    rng = np.random.default_rng(2)
    items = rng.integers(0, 3, 900)
    clicks = rng.random(900) < np.array([0.1, 0.6, 0.2])[items]
    lines = ["timestamp,item_id,position,click,propensity_score"]
    for number, (item, click) in enumerate(zip(items, clicks, strict=True)):
        lines.append(
            f"2019-11-24 00:{number // 60:02}:{number % 60:02},{item},{number % 2 + 1},{int(click)},0.3333"
        )
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    return str(tmp_path / "log.csv")


@pytest.mark.slow
def test_learners_and_values_on_one_log(run, log):
    code, out, err = run("dp-bandit", "cucb", "--set", "epsilon=1,4", "--log", log, "--json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    told = data["log"]
    assert (told["events"], told["actions"], told["least_propensity"]) == (900, 3, 0.3333)
    found = data["evaluations"]
    assert [(each["learner"], each["epsilon"]) for each in found] == [
        ("dp-bandit", 1.0), ("dp-bandit", 4.0), ("cucb", 1.0),
    ]  # fmt: skip
    assert all(each["horizon"] == 299 and 250 < each["played"][0] <= 299 for each in found)
    assert [each["estimator"] for each in found[0]["estimates"]] == ["replay", "ips", "snips"]
    assert found[2]["estimates"][0]["value"] > told["mean_reward"]
    code, out, _ = run("dp-bandit", "cucb", "--log", log, "--runs", "2", "--delay", "3")
    assert code == 0
    assert "900 events, 3 actions" in " ".join(out.split())
    assert "no privacy" in out
    assert "not private" in out


def test_a_learner_of_the_users(run, log, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    code, out, err = run(f"{tmp_path / 'own.py'}:Second", "--log", log, "--json")
    assert (code, err) == (0, "")
    low, high = json.loads(out)["evaluations"][0]["estimates"][0]["interval"]
    assert low < 0.6 < high


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dp-linucb"], "plays contextual problems; a log's actions are K arms"),
        (["cucb", "cascade-ucb1"], "plays cascade problems"),
        (["cucb", "--set", "norm=2"], "unknown parameter 'norm'"),
        (["cucb", "--problem", "top-k"], "--problem top-k: not with --log"),
        (["cucb", "--cache", "c"], "--cache c: not with --log"),
        (["cucb", "-o", "x.png"], "--output x.png: must end in .json"),
        (["cucb", "--runs", "0"], "'--runs': 0 is not"),
        (["dp-bandit", "--epsilon", "0"], "'--epsilon': 0.0 is not in the range 0<x<inf"),
        (["zoo/svt5"], "only learners can be evaluated on a log"),
        (["nobody"], "unknown learner 'nobody'"),
    ],
)
def test_refusals(run, log, arguments, words):
    code, out, err = run(*arguments, "--log", log)
    assert (code, out) == (2, "")
    assert words in err


def test_a_log_without_propensities_is_refused(run, tmp_path):
    (tmp_path / "log.csv").write_text("action,reward\n1,1\n")
    code, _, err = run("cucb", "--log", str(tmp_path / "log.csv"))
    assert code == 2
    assert "no column propensity" in err
