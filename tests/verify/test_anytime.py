"""`verify` with bets: every kind of subject, stopped at any time, evidence kept over runs."""

import json
import math
import os
import signal
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from algorithms import ClaimForm, View
from mechanisms import Box, Interval, Laplace
from verify import PlainBandit, claimed, verify
from verify.betting.anytime_test import SCHEDULE
from verify.betting.wealth_file import WealthError
from verify.commands.command_group import cli
from verify.neighbouring.listed import Listed
from verify.neighbouring.replace_one import ReplaceOne
from verify.transcripts.adversary import ChallengeOnPlay
from verify.zoo.bandits import EpisodicUCB
from verify.zoo.plain_bandits import DPUCB


@claimed(data=Interval(0, 1))
def half_the_noise(data, rng, lanes):
    return data + rng.laplace(scale=0.5, size=lanes)


@claimed(data=Interval(0, 1))
def a_little_less_noise(data, rng, lanes):
    return data + rng.laplace(scale=1 / 1.5, size=lanes)


@claimed(data=Box(0, 1, 2))
def correct(data, rng):
    return data[0] + rng.laplace(scale=1.0)


def kinds(result):
    return {finding.kind for finding in result.findings}


@pytest.mark.slow
def test_functions_and_mechanisms_stop_early():
    result = verify(half_the_noise, epsilon=1.0, anytime=True, effort="quick")
    assert result.verdict == "refuted"
    assert result.lower.samples < 40_000
    assert result.details["anytime"]["p_value"] <= 1e-4
    assert "anytime=True" in result.witness.reproduce
    assert verify(Laplace(scale=0.5), epsilon=1.0, anytime=True).verdict == "refuted"
    right = verify(Laplace(scale=1.0), epsilon=1.0, anytime=True, samples=20_000)
    assert right.verdict == "certified"
    assert "threshold 1e+04" in right.details["anytime"]["said"]["text"]


@pytest.mark.few(1)
@pytest.mark.usefixtures("small_searches")
@pytest.mark.parametrize(
    ("name", "verdict", "most"),
    [
        ("zoo/bandit-raw-first", "refuted", 128),
        ("zoo/bandit-ucb", "certified", 8_000),
        pytest.param("zoo/plain-bandit-shared-noise", "refuted", 256, marks=pytest.mark.slow),
        pytest.param("cucb-ldp1", "certified", 8_000, marks=pytest.mark.slow),
    ],
)
def test_learners_and_bandits_are_bet_on(name, verdict, most):
    own = {} if name.startswith("zoo") else {"epsilon": 1.0}
    few = {"samples": 8_000} if verdict == "certified" else {}
    result = verify(name, effort="quick", anytime=True, **own, **few)
    bets = result.details["anytime"]
    assert result.verdict == verdict
    assert bets["refuted"] == (verdict == "refuted")
    looks = SCHEDULE.independence if verdict == "refuted" else 0  # at the event that won, for dependence
    assert 2 * (bets["draws"] - looks) <= most
    assert bets["samples"] >= bets["search_samples"]
    if verdict == "refuted":
        assert result.lower.method == "betting, valid at any time"
        assert result.witness.trials <= bets["draws"]


@pytest.mark.slow
def test_where_nothing_is_sampled_the_report_says_that_there_are_no_bets(tmp_path):
    """All bounds are exact, of pairs that were played: it was silent, and the file was not there."""
    file = tmp_path / "wealth.json"
    result = verify("dp-dpe-local", epsilon=1.0, delta=1e-6, effort="quick", anytime=file)
    assert result.verdict == "certified"
    assert "anytime" not in result.details
    assert f"nothing was sampled to bet on, and {file} is as it was" in result.details["tested_view"]
    assert not file.exists()


@pytest.mark.slow  # functions are searched by bets in the default tier, and learners without bets
def test_a_search_for_telling_transcripts_is_made_where_early_records_show_nothing():
    result = verify("zoo/bandit-reused-rewards", effort="quick", anytime=True)
    assert result.verdict == "refuted"
    assert result.details["anytime"]["search_samples"] > 0
    assert result.details["anytime"]["label"].startswith("telling transcript")


@pytest.mark.slow
@pytest.mark.usefixtures("small_searches")
def test_an_adversary_is_bet_on():
    class FirstReward(DPUCB):
        def noise(self, arm):
            return 0.0 if self.length[arm] == 1 else super().noise(arm)

    plain = verify(
        PlainBandit(FirstReward, arms=2, rounds=8), epsilon=1.0, effort="quick", anytime=True,
        adversary=ChallengeOnPlay(0, 0, others=0.5),
    )  # fmt: skip
    assert plain.verdict == "refuted"
    assert "adversary" in plain.witness.neighbours["data"]
    learner = verify(
        EpisodicUCB,
        epsilon=1.0,
        effort="quick",
        anytime=True,
        adversary=ChallengeOnPlay(0, 1),
        samples=8_000,
    )
    assert learner.verdict == "certified"


@pytest.mark.slow
def test_a_command_is_bet_on(tmp_path):
    program = tmp_path / "mechanism.py"
    program.write_text(
        "import json, random, sys\nasked = json.loads(sys.stdin.readline())\n"
        "rng = random.Random(asked['seed'])\n"
        "for _ in range(asked['lanes']): print(asked['data'] + rng.expovariate(5) - rng.expovariate(5))\n"
    )
    arguments = ["verify", "--command", f"{sys.executable} {program}", "--data", "interval(0, 1)", "--json"]
    arguments += [
        "--epsilon",
        "1",
        "--anytime",
        str(tmp_path / "w.json"),
        "--effort",
        "quick",
        "--samples",
        "20000",
    ]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1, result.output
    assert json.loads(result.stdout)["anytime"]["refuted"]
    program.write_text(program.read_text() + "# changed\n")
    changed = CliRunner().invoke(cli, arguments)
    assert isinstance(changed.exception, WealthError)
    assert "its source code was before" in str(changed.exception)


LISTED = Listed([(0.0, 1.0 + i / 100) for i in range(13)] + [(0.0, 50.0)])


@claimed(data=LISTED)
def leaks_on_one_pair(data, rng, lanes):
    return rng.laplace(scale=1.0, size=lanes) * (0.2 if data == 50.0 else 1.0)


def test_neighbours_are_searched_for_where_the_known_ones_show_nothing(tmp_path):
    file = tmp_path / "wealth.json"
    result = verify(leaks_on_one_pair, epsilon=1.5, anytime=file, samples=400_000)
    assert result.verdict == "refuted"
    assert 24_000 <= result.details["anytime"]["search_samples"] <= 120_000
    assert result.lower.samples == result.details["anytime"]["samples"] <= 400_000
    saved = json.loads(file.read_text())
    assert saved["pairs"] == [
        {"data": {"type": "<f8", "values": 0.0}, "data_prime": {"type": "<f8", "values": 50.0}}
    ]
    again = verify(leaks_on_one_pair, epsilon=1.5, anytime=file, samples=20_000)
    assert again.details["anytime"]["candidate"] == 0  # the next run begins with it
    assert again.details["anytime"]["bets"][0]["start"] == 0
    saved["pairs"][0]["data_prime"]["values"] = 60.0
    file.write_text(json.dumps(saved))
    with pytest.raises(WealthError, match="holds a pair that is none"):
        verify(leaks_on_one_pair, epsilon=1.5, anytime=file, samples=20_000)


# --- stopped --------------------------------------------------------------------------------------


class Interrupting:
    """Correct, and interrupted after so many calls."""

    def __init__(self, calls):
        self.calls = calls

    def __call__(self, data, rng, lanes):
        self.calls -= 1
        if self.calls == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return data + rng.laplace(scale=1.0, size=lanes)


@pytest.mark.slow
def test_ctrl_c_leaves_the_wealth_and_the_bound(tmp_path):
    file = tmp_path / "wealth.json"
    subject = claimed(data=Interval(0, 1))(Interrupting(260))
    result = verify(subject, epsilon=1.0, anytime=file)
    bets = result.details["anytime"]
    assert result.verdict == "unproven"
    assert result.json()["interrupted"]
    assert "interrupted" in kinds(result)
    assert bets["stopped"] == "interrupt"
    assert 0.0 < result.lower.epsilon < 1.0
    assert "threshold" in bets["said"]["text"]
    saved = json.loads(file.read_text())
    assert [run["seed"] for run in saved["runs"]] == [0]  # a losing run that is stopped counts, too
    assert saved["log_wealth"] == bets["log_wealth"]


def test_ctrl_c_before_any_bet_says_so():
    result = verify(claimed(data=Interval(0, 1))(Interrupting(1)), epsilon=1.0, anytime=True)
    assert (result.verdict, result.lower) == ("unproven", None)
    assert "interrupted" in kinds(result)


@pytest.mark.parametrize(
    ("kind", "turns"), [("function", 30), ("learner", 24), pytest.param("bandit", 24, marks=pytest.mark.slow)]
)
def test_a_time_limit_leaves_the_wealth_and_the_bound(kind, turns):
    """The timer of the limit goes off after some turns, however busy the machine is."""
    told = []

    def progress(share, doing):
        told.append(doing.startswith("betting"))
        if sum(told) > turns:
            signal.setitimer(signal.ITIMER_REAL, 1e-3)
            time.sleep(60.0)

    subject = {"function": correct, "learner": EpisodicUCB, "bandit": PlainBandit(DPUCB, arms=2, rounds=4)}[
        kind
    ]
    result = verify(subject, epsilon=1.0, effort="quick", anytime=True, progress=progress)
    assert result.verdict != "refuted"
    assert result.details["anytime"]["stopped"] == "time-limit"
    assert result.lower.epsilon >= 0.0


@pytest.mark.slow
def test_a_function_that_raises_among_many_lanes_is_bet_on_with_a_reserve():
    calls = []

    @claimed(data=Interval(0, 1))
    def raises(data, rng, lanes):
        calls.append(lanes)
        value = data + rng.laplace(scale=0.7, size=lanes)
        if lanes > 1 and len(calls) > 40:
            raise RuntimeError("too many")
        return value

    result = verify(raises, epsilon=1.0, anytime=True)
    assert result.verdict == "refuted"
    gains = sum(bet["gain"] for bet in result.details["anytime"]["bets"])
    assert gains > math.log(1e4 / 1e-3)  # it began with a thousandth


# --- the wealth file --------------------------------------------------------------------------------


@pytest.mark.slow
def test_evidence_accumulates_over_runs_until_it_refutes(tmp_path):
    file = tmp_path / "wealth.json"
    bounds = []
    for _ in range(12):
        result = verify(a_little_less_noise, epsilon=1.0, anytime=file, samples=6_000)
        bounds.append(result.lower.epsilon)
        if result.verdict == "refuted":
            break
    saved = json.loads(file.read_text())
    seeds = [run["seed"] for run in saved["runs"]]
    assert seeds == list(range(len(seeds)))
    assert len(seeds) > 1
    assert result.verdict == "refuted"
    assert bounds == sorted(bounds)
    assert result.details["wealth"]["runs"] == len(seeds)
    assert saved["log_peak"] >= math.log(1e4)
    again = verify(a_little_less_noise, epsilon=1.0, anytime=file, samples=6_000)
    assert again.verdict == "refuted"
    assert os.listdir(tmp_path) == ["wealth.json"]


def test_a_wealth_file_of_something_else_is_refused(tmp_path):
    file = tmp_path / "wealth.json"
    verify(correct, epsilon=1.0, anytime=file, samples=2_000, seed=7)
    before = file.read_text()
    with pytest.raises(WealthError, match="seed = 7: the wealth file has a run of it"):
        verify(correct, epsilon=1.0, anytime=file, samples=2_000, seed=7)
    with pytest.raises(WealthError, match=r"claim epsilon = 1.0, not on epsilon = 1.1"):
        verify(correct, epsilon=1.1, anytime=file, samples=2_000)
    with pytest.raises(WealthError, match="the claim neighbours = "):
        verify(correct, epsilon=1.0, anytime=file, samples=2_000, neighbours=ReplaceOne(Interval(0, 1), 2))
    with pytest.raises(WealthError, match="the subject correct, not on half_the_noise"):
        verify(half_the_noise, epsilon=1.0, anytime=file, samples=2_000)
    saved = json.loads(before)
    file.write_text(json.dumps({**saved, "source": "0"}))
    with pytest.raises(WealthError, match="its source code was before: it has changed"):
        verify(correct, epsilon=1.0, anytime=file, samples=2_000)
    file.write_text(json.dumps({**saved, "format": "dpwitness wealth, version 1"}))
    with pytest.raises(WealthError, match="must be in the format"):
        verify(correct, epsilon=1.0, anytime=file, samples=2_000)
    for broken in ("", "[]", "{}", "null", json.dumps({**saved, "log_wealth": 99.0})):
        file.write_text(broken)
        with pytest.raises(WealthError, match="anytime = "):
            verify(correct, epsilon=1.0, anytime=file, samples=2_000)
        assert file.read_text() == broken
    with pytest.raises(WealthError, match="folder does not exist"):
        verify(correct, epsilon=1.0, anytime=tmp_path / "no" / "wealth.json")
    os.mkfifo(pipe := tmp_path / "pipe")  # a terminal, or a pipe, may wait for ever
    for where in (tmp_path, pipe):
        with pytest.raises(WealthError, match="must be a file"):
            verify(correct, epsilon=1.0, anytime=where)


@pytest.mark.slow
@pytest.mark.usefixtures("small_searches")
def test_a_learners_settings_are_part_of_what_its_wealth_is_about(tmp_path):
    file = tmp_path / "wealth.json"
    few = {"epsilon": 1.0, "anytime": file, "effort": "quick", "samples": 4_000}
    first = verify("cucb-ldp1", **few)
    assert first.seed == 0
    second = verify("cucb-ldp1", **few)
    assert second.seed == 1
    pairs = [{bet["label"] for bet in run.details["anytime"]["bets"]} for run in (first, second)]
    assert pairs[0] & pairs[1]  # both look at the same data, and the second goes on with the first's events
    assert min(bet["start"] for bet in second.details["anytime"]["bets"]) == 0
    for changed, words in (
        ({"horizon": 50}, "setting horizon = 200, not on horizon = 50"),
        ({"settings": {"k": 2}}, "setting k = none, not on k = 2"),
        ({"effort": "default"}, "setting horizon = 200, not on horizon = 1000"),
    ):
        with pytest.raises(WealthError, match=words):
            verify("cucb-ldp1", **{**few, **changed})


@pytest.mark.usefixtures("small_searches")
def test_a_plain_bandits_parameters_are_part_of_what_its_wealth_is_about(tmp_path):
    file = tmp_path / "wealth.json"
    few = {"epsilon": 1.0, "anytime": file, "effort": "quick", "samples": 2_000}
    verify(PlainBandit(DPUCB, arms=2, rounds=4), **few)
    with pytest.raises(WealthError, match="source code was before"):
        verify(PlainBandit(DPUCB, arms=2, rounds=5), **few)
    with pytest.raises(WealthError, match="source code was before"):
        verify(PlainBandit(DPUCB, arms=2, rounds=4), adversary=ChallengeOnPlay(0, 0), **few)


@pytest.mark.slow
def test_a_run_that_another_one_overtook_is_not_kept(tmp_path):
    file = tmp_path / "wealth.json"

    @claimed(data=Interval(0, 1))
    def overtaken(data, rng, lanes):
        if not file.exists():
            file.write_text("")  # so that the other run does not come here
            file.unlink()
        return data + rng.laplace(scale=1.0, size=lanes)

    verify(overtaken, epsilon=1.0, anytime=file, samples=2_000)
    saved = json.loads(file.read_text())

    def meanwhile(share, doing):
        file.write_text(json.dumps({**saved, "runs": [{"seed": 5, "samples": 1, "log_wealth": 0.0}]}))

    result = verify(overtaken, epsilon=1.0, anytime=file, samples=2_000, progress=meanwhile)
    assert "wealth" in kinds(result)
    assert [run["seed"] for run in json.loads(file.read_text())["runs"]] == [5]


# --- the command line --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_line_bets_too(tmp_path):
    file = tmp_path / "subject.py"
    file.write_text(
        "from mechanisms import Interval\nfrom verify import claimed\n\n\n"
        "@claimed(data=Interval(0, 1))\ndef half(data, rng, lanes):\n"
        "    return data + rng.laplace(scale=0.5, size=lanes)\n"
    )
    arguments = ["verify", f"{file}:half", "--epsilon", "1", "--anytime", str(tmp_path / "w.json")]
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["anytime"]["refuted"]
    assert "--anytime" in json.loads(result.stdout)["witness"]["reproduce"]
    said = CliRunner().invoke(cli, [*arguments, "--samples", "4000"])
    assert "Sequential test of" in " ".join(said.stdout.split())
    refused = CliRunner().invoke(cli, [*arguments, "--floating-point"])
    assert "real arithmetic" in str(refused.exception)


# --- at the boundary -----------------------------------------------------------------------------------


class TightMessages:
    """One user's reward with Lap(1 / epsilon): no more and no less than epsilon."""

    claim = ClaimForm(model="local", view=View.MESSAGE, unit="one report", source="a test")
    family = "semi-bandit"

    def __init__(self, structure, gate, *, epsilon, horizon):
        self.structure, self.gate = structure, gate
        self.feedback_domain = Box(0, 1, structure.size)
        self.laplace = Laplace.for_epsilon(epsilon, sensitivity=self.feedback_domain.sensitivity)
        self.total = np.zeros((gate.lanes, structure.arms))

    def act(self):
        self.played = self.structure.solve(self.total)
        return self.played

    def observe(self, feedback):
        self.gate.release(self.laplace, feedback)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [TightMessages, "zoo/bandit-ucb"])
def test_a_true_claim_of_a_learner_is_refuted_at_most_at_the_stated_rate(learner):
    """At 0.2 more than 26 of 60 refutations have probability below 1e-4."""
    refuted = 0
    for seed in range(60):
        result = verify(
            learner,
            epsilon=1.0,
            effort="quick",
            anytime=True,
            seed=seed,
            samples=20_000,
            confidence=0.6,
            significance=0.2,
        )
        refuted += result.details["anytime"]["refuted"]
    assert refuted <= 26
