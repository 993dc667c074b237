"""Verdicts on contextual learners, with faults and without; and what the commands say of them."""

import json

import numpy as np
import pytest
from faults.planted_subject import plant
from faults.verified_mutants import verified_mutants

from algorithms import DPLinUCB
from algorithms.claim import View
from algorithms.linear.contextual_learner import LinearUCB
from verify import verify
from verify.findings.finding import FindingKind

FEW = {"epsilon": 4.0, "delta": 1e-3, "effort": "quick", "samples": 5_000, "horizon": 20}


@pytest.mark.slow
def test_the_private_one_is_certified_for_joint_privacy():
    result = verify("dp-linucb", **FEW)
    assert result.verdict == "certified"
    assert result.claim.view == View.OTHER_ACTIONS.value == result.details["tested_view"]
    assert result.upper.epsilon == pytest.approx(4.0, rel=1e-9)
    assert result.upper.every_run
    assert result.lower.in_view
    assert 0.5 < result.lower.epsilon < 4.0  # 95 % confidence, seed fixed
    assert result.findings == ()


@pytest.mark.slow
def test_the_printed_one_is_certified_far_below_its_claim():
    result = verify("published/tree-linucb-gaussian", **FEW)
    assert result.verdict == "certified"
    assert result.claim.view == View.OTHER_ACTIONS.value == result.details["tested_view"]
    assert 0.0 < result.upper.epsilon < 0.4
    assert result.findings == ()


def test_the_raw_one_is_refuted_by_another_users_action():
    result = verify("linucb", **FEW)
    assert result.verdict == "refuted"
    assert "is taken in round 2" in result.witness.event
    assert [finding.kind.value for finding in result.findings] == ["declassified"]


@pytest.mark.usefixtures("faults_as_library")
@pytest.mark.slow_cells("raw-value-verdicts2", "never-cleared-verdicts1")
@pytest.mark.parametrize(
    ("fault", "verdicts"),
    [
        ("half-noise-asked-for", {"unproven", "refuted"}),  # noise that is too small
        ("never-cleared", {"unproven", "refuted"}),  # a stale batch, used again
        ("raw-value", {"refuted"}),  # in the policy
    ],
)
def test_faults_are_not_certified(fault, verdicts):
    result = verify(plant("dp-linucb", fault), **FEW)
    assert result.verdict in verdicts
    assert result.upper.epsilon > 4.0 or any(finding.failing for finding in result.findings)


@pytest.mark.slow
@pytest.mark.usefixtures("faults_as_library")
def test_all_faults_are_caught():
    honest, mutants = verified_mutants("dp-linucb", epsilon=2.0, delta=1e-3, effort="quick", samples=20_000)
    assert honest.verdict == "certified"
    exceeding = [each.result.verdict for each in mutants if each.exceeds]
    assert len(exceeding) >= 20
    assert "certified" not in exceeding


def test_where_nothing_is_released_the_report_says_so():
    result = verify("dp-linucb", **(FEW | {"horizon": 3}))
    assert result.details["tested_view"] == "nothing is released"


class Mine(DPLinUCB):
    """A learner of one's own, whose noise is as its claim asks."""


class Thrice(DPLinUCB):
    """A learner whose noise is for three times the epsilon that it is given."""

    def __init__(self, features, gate, *, epsilon, delta, horizon):
        super().__init__(features, gate, epsilon=3 * epsilon, delta=delta, horizon=horizon)


@pytest.mark.slow  # the two below are of one's own, too
def test_learners_of_ones_own_are_subjects_too():
    assert verify(Mine, **FEW).verdict == "certified"
    assert verify(Thrice, **FEW).verdict != "certified"


class Remembers(DPLinUCB):
    """Each policy tells of the user before by the action of the next one; no attribute of it holds that."""

    def _policy(self, operator, vector):
        last = [0.0]

        class Policy(LinearUCB):
            def choose(self, contexts):
                chosen = LinearUCB.choose(self, contexts)
                before, last[0] = last[0], float(np.ravel(contexts)[0])
                return np.where(before > 0, (chosen + 1) % np.shape(contexts)[1], chosen)

        policy = super()._policy(operator, vector)
        return Policy(policy.estimate, policy.covariance, policy.width)


@pytest.mark.usefixtures("small_searches")
def test_a_policy_that_remembers_whom_it_was_shown_is_found():
    """It was certified: replays compared the policies' numbers, not what was chosen for users who stayed the same."""
    result = verify(Remembers, **FEW)
    assert result.verdict == "unproven"
    assert [finding.kind for finding in result.findings] == [FindingKind.RAW_FLOW]
    assert "the action of round" in result.findings[0].message


class Overwrites(DPLinUCB):
    """Keeps one policy, and writes each next one's numbers into it."""

    def _policy(self, operator, vector):
        new, own = super()._policy(operator, vector), getattr(self, "policy", None)
        if own is None:
            return new
        for name in ("estimate", "covariance", "width"):
            getattr(own, name)[...] = getattr(new, name)
        return own


@pytest.mark.slow
def test_a_policy_that_is_overwritten_is_certified_and_tested():
    result = verify(Overwrites, **FEW)
    assert result.verdict == "certified"
    assert result.details["tested_view"] == View.OTHER_ACTIONS.value


def test_commands_know_the_learner_and_its_problem(command):
    found = json.loads(command("list", "contextual", "--json"))
    assert [entry["name"] for entry in found["learners"]] == [
        "dp-linucb",
        "published/tree-linucb-gaussian",
        "linucb",
    ]
    assert [entry["name"] for entry in found["problems"]] == ["contexts"]
    told = json.loads(
        command("simulate", "dp-linucb", "--horizon", "30", "--runs", "2", "--set", "actions=3", "--json")
    )
    assert (told["rounds"][-1], told["problem"]) == (30, "contexts")
    assert "dp-linucb" in command("list", "--for", "contexts")
    assert "plays contextual problems, not top-k" in command("simulate", "dp-linucb", "--problem", "top-k")


@pytest.fixture
def command(run):
    """Run the command line; return what it prints."""

    def call(*words: str) -> str:
        _, out, err = run(*words)
        return out or err

    return call
