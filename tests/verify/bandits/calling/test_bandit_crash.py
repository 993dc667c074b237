"""Where a bandit of others failed, and whether it was the bandit."""

import random

import pytest

from verify import PlainBandit, verify
from verify.bandits import bandit_candidates
from verify.bandits.calling.bandit_crash import place_in_bandit


class OfNoArms:
    def select_arm(self):
        return random.choice([])

    def update(self, arm, reward):
        pass


class LateOnReward(OfNoArms):
    def select_arm(self):
        return random.randrange(2)

    def update(self, arm, reward):
        if reward > 0.5 and random.random() < 1e-3:
            raise KeyError(arm)


def crash_of(bandit, **settings):
    (finding,) = verify(bandit, epsilon=1.0, effort="quick", **settings).findings
    assert finding.kind == "crash"
    return finding


def test_the_place_is_the_bandits_own_line_and_not_the_standard_librarys():
    finding = crash_of(PlainBandit(OfNoArms, arms=2, rounds=4))
    assert "test_bandit_crash.py:" in finding.where


def test_what_is_called_wrongly_has_no_line_of_its_own():
    finding = crash_of(PlainBandit(LateOnReward, arms=2, rounds=4, update=lambda bandit, arm: None))
    assert finding.where == ""
    assert "takes 2 positional arguments" in finding.message


def test_another_process_says_the_line_too():
    error = KeyError(0)
    error.__cause__ = RuntimeError(f'\n"""\nTraceback\n  File "{__file__}", line 21, in update\n"""')
    assert place_in_bandit(error).endswith("test_bandit_crash.py:21")


def test_an_error_of_the_verifier_is_not_blamed_on_the_bandit(monkeypatch):
    def fails(*given):
        [][0]

    fails.__code__ = fails.__code__.replace(co_filename=bandit_candidates.__file__)
    monkeypatch.setattr(bandit_candidates, "telling_tables", fails)
    with pytest.raises(IndexError):
        verify(PlainBandit(LateOnReward, arms=2, rounds=4), epsilon=1.0, effort="quick")
