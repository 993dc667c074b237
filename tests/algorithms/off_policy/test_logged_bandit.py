"""Logs: both formats read, and what is wrong with a log is said with its line before anything is played."""

import numpy as np
import pytest

from algorithms.off_policy.logged_bandit import LoggedBandit, read_log
from algorithms.problems import Arms, ProblemError

# Made up, in the columns and order of the Open Bandit Dataset.
OPEN_BANDIT = """\
,timestamp,item_id,position,click,propensity_score,user_feature_0
0,2019-11-24 00:00:00.1+00:00,10,1,1,0.25,ab
1,2019-11-24 00:00:00.2+00:00,2,2,0,0.25,ab
2,2019-11-24 00:00:00.3+00:00,9,1,0,0.25,cd
3,2019-11-24 00:00:00.4+00:00,7,1,0,0.25,cd
4,2019-11-24 00:00:00.5+00:00,2,1,1,0.25,ef
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "log.csv"
        file.write_text(text)
        return file

    return write


def test_the_open_bandit_format(written):
    log = read_log(written(OPEN_BANDIT))
    assert log.names == ("2", "7", "9", "10")  # by their numbers
    assert log.actions.tolist() == [3, 0, 2, 1, 0]
    assert log.rewards.tolist() == [1, 0, 0, 0, 1]
    assert (log.events, log.least_propensity, log.mean_reward) == (5, 0.25, 0.4)
    assert log.structure == Arms(4)
    first = read_log(written(OPEN_BANDIT), position=1)
    assert (first.actions.tolist(), first.rewards.tolist()) == ([3, 2, 1, 0], [1, 0, 0, 1])
    with pytest.raises(ProblemError, match="no events at position 4"):
        read_log(written(OPEN_BANDIT), position=4)


def test_a_plain_csv(written):
    log = read_log(written("\ufeffuser,propensity,reward,action\nx,0.5,0.25,tea\n\ny,0.5,1,coffee\n"))
    assert (log.names, log.actions.tolist(), log.rewards.tolist()) == (("coffee", "tea"), [1, 0], [0.25, 1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "columns are none; must be action, reward, propensity, or item_id"),
        ("action,reward\n1,0\n", "no column propensity: without the probability"),
        ("item_id,position,click\n1,1,0\n", "no column propensity_score: without the probability"),
        ("action,reward,propensity\n", "has no events"),
        ("action,reward,propensity,reward\na,0,1,1\n", "has 2 columns reward: must have one"),
        ("item_id,position,click,propensity_score,position\n1,1,0,1,2\n", "has 2 columns position"),
        ("action,reward,propensity\na,0,0.5\na,2,0.5\n", r"log.csv:3: reward = '2': must be a number in \[0, 1\]"),
        ("action,reward,propensity\na,nan,0.5\n", "log.csv:2: reward = 'nan'"),
        ("action,reward,propensity\na,1,0\n", "log.csv:2: propensity = '0': must be a number above 0"),
        ("action,reward,propensity\na,1,0.5\n ,1,0.5\n", "log.csv:3: action = '': must name the action"),
        ("action;reward;propensity\na;1;1\n", r"columns are action;reward.* separated by commas"),
        ("action,reward,propensity\na,1,often\n", "log.csv:2: propensity = 'often'"),
        ("action,reward,propensity,item_id,click,propensity_score\na,1,1,b,0,1\n", "which of them are meant"),
        ("action,reward,propensity\na,1\n", "log.csv:2: has 2 values, the first line 3 names"),
        ("action,reward,propensity\na,1,0.9\nb,1,0.9\n", "averages to 1.111 .* number of actions, 2"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(written, text, words):
    with pytest.raises(ProblemError, match=words):
        read_log(written(text))


@pytest.mark.parametrize("least", ["1e-300", "5e-324"])
def test_the_least_propensities_are_read_without_a_warning(written, least):
    assert read_log(written(f"action,reward,propensity\na,1,1\na,0,{least}\n")).least_propensity == float(
        least
    )


def test_no_text_file(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProblemError, match="is no CSV file in UTF-8"):
        read_log(tmp_path / "log.csv")


def test_a_position_is_a_number_however_it_is_written(written):
    rows = "item_id,click,propensity_score,position\n1,1,1,2.0\n1,0,1,3\n"
    assert read_log(written(rows), position=2).rewards.tolist() == [1]
    with pytest.raises(ProblemError, match=r"log.csv:4: position = 'top': must be a number"):
        read_log(written(f"{rows}1,1,1,top\n"), position=2)


def test_a_position_needs_its_column(written):
    with pytest.raises(ProblemError, match=r"position = 1: .* has no column position"):
        read_log(written("action,reward,propensity\na,1,1\n"), position=1)


def test_propensities_of_another_policy_are_refused():
    rng = np.random.default_rng(3)
    law = np.array([0.1, 0.3, 0.6])
    actions = rng.choice(3, 20000, p=law)
    rewards = np.zeros(20000)
    LoggedBandit(actions, rewards, law[actions], ("a", "b", "c"))
    LoggedBandit(actions, rewards, law[actions].round(1), ("a", "b", "c"))
    with pytest.raises(ProblemError, match="they are not the probabilities"):
        LoggedBandit(actions, rewards, law[::-1][actions], ("a", "b", "c"))


@pytest.mark.parametrize(
    ("actions", "rewards", "propensities", "words"),
    [
        ([], [], [], "at least one event"),
        ([0, 1], [1.0], [0.5, 0.5], "one of each for every event"),
        ([0, 2], [1.0, 0.0], [0.5, 0.5], "must be 0 to 1, each in at least one event"),
        ([0.5, 1.5], [1.0, 0.0], [0.5, 0.5], "actions of type float64: must be whole numbers"),
        (["a", "b"], [1.0, 0.0], [0.5, 0.5], "actions of type <U1: must be whole numbers"),
        ([0, 1], [1.0, 1.001], [0.5, 0.5], r"rewards\[1\] = 1.001"),
        ([0, 1], [1.0, 0.5], [0.0, 0.5], r"propensities\[0\] = 0.0"),
    ],
)
def test_arrays_are_checked(actions, rewards, propensities, words):
    with pytest.raises(ProblemError, match=words):
        LoggedBandit(np.array(actions), np.array(rewards), np.array(propensities), ("a", "b"))
