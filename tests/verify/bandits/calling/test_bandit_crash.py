"""The line at which a foreign bandit failed, or the finding that the fault is not its own."""

import random

import numpy as np
import pytest

from verify import PlainBandit, verify
from verify.bandits import bandit_candidates
from verify.bandits.calling.bandit_crash import place_in_bandit
from verify.bandits.verify_bandit import _with_errors
from verify.sampling.evidence import Evidence
from verify.transcripts.adversary import ChallengeOnPlay


class OfNoArms:
    def select_arm(self):
        return random.choice([])

    def update(self, arm, reward):
        pass


class Sound(OfNoArms):
    def select_arm(self):
        return random.randrange(2)


class LateOnReward(Sound):
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
    with pytest.raises(IndexError):  # LateOnReward could fail first, by chance
        verify(PlainBandit(Sound, arms=2, rounds=4), epsilon=1.0, effort="quick")


class Telling(OfNoArms):
    """Ends in round 4 by an error that the last reward chooses: by its kind, its message, or whether there is one."""

    errors = (KeyError("a"), KeyError("b"))

    def __init__(self, rng):
        self.rng, self.played = rng, 0

    def select_arm(self):
        return int(self.rng.integers(2))

    def update(self, arm, reward):
        self.played += 1
        error = self.errors[int(reward > 0.5)]
        if self.played == 4 and error is not None:
            raise error


class TellingByKind(Telling):
    errors = (KeyError("a"), SystemExit(3))


class TellingBySilence(Telling):
    errors = (None, KeyError("a"))


class PlaysAlone(Telling):
    errors = (KeyError("a"), ValueError("b"))

    def __init__(self, rng, env):
        super().__init__(rng)
        self.env = env

    def run(self):
        while True:
            arm = self.select_arm()
            self.update(arm, self.env.pull(arm))


@pytest.mark.slow
@pytest.mark.parametrize(  # an error after the last round is seen, too
    ("make", "rounds"), [(Telling, 4), (TellingByKind, 8), (TellingBySilence, 4), (PlaysAlone, 8)]
)
def test_an_error_ends_a_play_and_is_seen(make, rounds):
    play = "run" if make is PlaysAlone else None
    bandit = PlainBandit(make, arms=2, rounds=rounds, rewards=(0.0, 1.0), play=play)
    result = verify(bandit, epsilon=1.0, effort="quick")
    assert result.verdict == "refuted"
    assert result.findings[0].kind == "raises"
    assert "test_bandit_crash.py:" in result.findings[0].where
    guessed = PlainBandit(make, arms=2, rounds=rounds, play=play)
    assert crash_of(guessed).message.endswith("state them with PlainBandit(rewards=...)")


@pytest.mark.parametrize(
    ("make", "errors"),
    [
        (Telling, ("KeyError: 'a'", "KeyError: 'b'", "another error")),
        (TellingByKind, ("KeyError: 'a'", "SystemExit: 3", "another error")),
    ],
)
def test_errors_of_a_few_runs_become_outputs(make, errors):
    evidence, bandit = Evidence(), PlainBandit(make, arms=2, rounds=8, rewards=(0.0, 1.0))
    with pytest.raises((KeyError, SystemExit)) as first:
        bandit.actions(np.ones((9, 2)), 1, np.random.SeedSequence(0))
    assert _with_errors(evidence, bandit, first.value, 0).errors == errors
    assert [finding.kind for finding in evidence.findings] == ["raises"]
    with pytest.raises((KeyError, SystemExit)):
        _with_errors(evidence, PlainBandit(make, arms=2, rounds=8), first.value, 0)


def test_errors_have_numbers_beyond_the_arms():
    bandit = PlainBandit(Telling, arms=2, rounds=6, rewards=(0.0, 1.0), errors=("KeyError: 'b'", "others"))
    table = np.ones((8, 2))
    for reward, code in ((1.0, 3), (0.0, 4)):
        (row,) = bandit.actions(reward * table, 1, np.random.SeedSequence(0))[:, :, 0].tolist()
        assert row[4:] == [code, 2, 2]
    against = bandit.against(ChallengeOnPlay(arm=1, number=1))
    assert against.actions_against(False, 1, np.random.SeedSequence(0))[0, 4:, 0].tolist() == [4, 2, 2]
    assert [words for _, words in bandit.action_space.labels] == [
        "no arm",
        "no arm (KeyError: 'b')",
        "no arm (others)",
    ]
