import json

import pytest
from click.testing import CliRunner

from algorithms import CUCB, CUCBLDPBit
from algorithms.linear.dp_dpe import DPE
from algorithms.problems import ProblemError, SettingError
from verify.commands.command_group import cli
from verify.findings.subject_error import SubjectError
from verify.regret_claims.local_privacy import audit_local_privacy
from verify.regret_claims.simulated_regret import RegretOptions


@pytest.mark.slow
def test_a_learner_without_privacy_regrets_too_little():
    assert audit_local_privacy(CUCB, 0.1, RegretOptions(horizon=4000, runs=256)).impossible


@pytest.mark.slow
def test_a_true_claim_is_possible():
    assert not audit_local_privacy(
        CUCBLDPBit, 1.0, RegretOptions(epsilon=1.0, horizon=1000, runs=64)
    ).impossible


@pytest.mark.slow
def test_a_claim_that_is_ten_times_too_small():
    assert audit_local_privacy(CUCB, 0.2, RegretOptions()).impossible
    assert audit_local_privacy(CUCBLDPBit, 0.1, RegretOptions(epsilon=1.0)).impossible


def test_what_cannot_be_asked():
    with pytest.raises(ProblemError, match="arms, bases or lists"):
        audit_local_privacy(DPE, 0.1, RegretOptions())
    with pytest.raises(ValueError, match="gap"):
        audit_local_privacy(CUCB, 0.1, RegretOptions(), gap=0.5)


CLAIM = ("--test", "lower-bound", "--set")


def test_the_command():
    said = CliRunner().invoke(
        cli, ["regret", "cucb", *CLAIM, "claim=0.1", "--horizon", "4000", "--runs", "256", "--json"]
    )
    assert said.exit_code == 1
    assert json.loads(said.stdout)["impossible"]
    said = CliRunner().invoke(cli, ["regret", "cucb", *CLAIM, "claim=1", "--horizon", "100", "--runs", "4"])
    assert said.exit_code == 3
    assert said.stdout.startswith("POSSIBLE")


@pytest.mark.parametrize(
    ("test", "more", "option", "value"),
    [
        ("growth", [], "--horizon", "100"),
        ("growth", [], "--delta", "0.01"),
        ("exponent", ["--set", "epsilon=1,2,4"], "--significance", "0.01"),
        ("exponent", ["--set", "epsilon=1,2,4"], "--delta", "0.01"),
        ("lower-bound", ["--set", "claim=1"], "--delta", "0.01"),
    ],
)
def test_what_a_question_does_without_is_refused_not_passed_over(test, more, option, value):
    said = CliRunner().invoke(cli, ["regret", "cucb-batch", "--test", test, *more, option, value])
    assert isinstance(said.exception, SettingError)
    assert str(said.exception) == f"{option} {value}: --test {test} does without"


def test_an_error_of_a_users_learner_is_an_error_in_the_input(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from algorithms import CUCB\n"
        "class Raises(CUCB):\n"
        "    def learn(self, *given):\n"
        "        raise RuntimeError('no')\n"
    )
    said = CliRunner().invoke(cli, ["regret", f"{file}:Raises", *CLAIM, "claim=1", "--runs", "4"])
    assert isinstance(said.exception, SubjectError)
    assert "raised RuntimeError: no" in str(said.exception)
