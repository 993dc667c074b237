"""A subject's own state of the process is for its calls alone: the verifier and the caller never see it."""

import locale
import os
import random
import sys
import warnings

import numpy as np
import pytest
import scipy.special

from algorithms import CUCBBatch
from mechanisms import Categories, Interval, Laplace
from verify import PlainBandit, claimed, verify
from verify.conduct.process_state import ignore_float_errors, own_steps, subjects_own

CHANGES = {
    "errors of NumPy": lambda: np.seterr(all="raise"),
    "errors of SciPy": lambda: scipy.special.seterr(all="raise"),
    "what NumPy prints": lambda: np.set_printoptions(precision=1, threshold=2),
    "warnings": lambda: warnings.simplefilter("error"),
    "how warnings are shown": lambda: setattr(warnings, "showwarning", None),
    "standard streams": lambda: [setattr(sys, name, None) for name in ("stdin", "stdout", "stderr")],
    "folder": lambda: os.chdir("/"),
    "locale": lambda: locale.setlocale(locale.LC_ALL, _other_locale()),
    "recursion": lambda: sys.setrecursionlimit(750),
    "digits": lambda: sys.set_int_max_str_digits(640),
    "NumPy's global generator": lambda: np.random.seed(0),  # noqa: NPY002
    "Python's global generator": lambda: random.seed(0),
}


def _other_locale():
    return "C" if locale.setlocale(locale.LC_ALL) != "C" else "C.UTF-8"


def _all_state():
    return {
        "errors": (np.geterr(), scipy.special.geterr()),
        "printed": np.get_printoptions(),
        "warnings": (warnings.showwarning, list(warnings.filters)),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "folder": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL),
        "limits": (sys.getrecursionlimit(), sys.get_int_max_str_digits()),
        "generators": (np.random.get_state()[1].tolist(), random.getstate()),  # noqa: NPY002
    }


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_a_subject_changes_is_for_its_calls_alone(change):
    before = _all_state()
    with ignore_float_errors():
        judges = _all_state()
        with subjects_own():
            change()
            subjects = _all_state()
        judges |= {"generators": subjects["generators"]}  # they are the caller's alone
        assert _all_state() == judges
        with subjects_own():
            assert _all_state() == subjects
    assert _all_state() == before
    assert subjects != before


def test_steps_are_done_in_the_subjects_own_state():
    def steps():
        yield np.geterr()["over"]
        np.seterr(over="raise")
        yield np.geterr()["over"]
        yield np.geterr()["over"]

    with ignore_float_errors():
        seen = [(theirs, np.geterr()["over"]) for theirs in own_steps(steps())]
    assert seen == [("warn", "ignore"), ("raise", "ignore"), ("raise", "ignore")]


def test_a_folder_that_was_removed_is_left(tmp_path, monkeypatch):
    def remove():
        (tmp_path / "gone").mkdir()
        os.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()

    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with subjects_own():
            remove()
        assert os.getcwd() == str(tmp_path)


def _change_all():
    for name, change in CHANGES.items():
        if name not in ("standard streams", "how warnings are shown"):
            change()


class Learner(CUCBBatch):
    pass


class ChangingLearner(Learner):
    def act(self):
        _change_all()
        return super().act()


class Ucb:
    def __init__(self, rng):
        self.sums, self.counts, self.rng = np.zeros(2), np.full(2, 0.1), rng

    def select_arm(self):
        return int(np.argmax(self.sums / self.counts + 1 / np.sqrt(self.counts)))

    def update(self, arm, reward):
        self.sums[arm] += reward + self.rng.laplace(scale=0.4)
        self.counts[arm] += 1


class Changing(Ucb):
    def select_arm(self):
        _change_all()
        return super().select_arm()


class Mine(Laplace):
    def release(self, value, noise):
        return super().release(value, noise)


class MineChanging(Mine):
    def release(self, value, noise):
        _change_all()
        return super().release(value, noise)


@claimed(data=Interval(0, 1))
def released(data, gate):
    return gate.release(Laplace(scale=1.0), data)


@claimed(data=Interval(0, 1))
def released_changing(data, gate):
    _change_all()
    return gate.release(Laplace(scale=1.0), data)


@pytest.mark.slow_cells("mechanism")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("honest", "changing", "options"),
    [
        (Mine(scale=1.0), MineChanging(scale=1.0), {"epsilon": 0.5, "samples": 4000}),
        (
            PlainBandit(Ucb, arms=2, rounds=3),
            PlainBandit(Changing, arms=2, rounds=3),
            {"epsilon": 1.0, "samples": 4000},
        ),
        (Learner, ChangingLearner, {"epsilon": 1.0, "horizon": 20, "samples": 4000}),
        (released, released_changing, {"epsilon": 1.0, "samples": 4000}),
    ],
    ids=["mechanism", "bandit", "learner", "function"],
)
def test_a_subject_that_changes_the_process_gets_the_verdict_of_one_that_does_not(
    honest, changing, options, small_searches
):
    before = _all_state()
    results = [verify(each, effort="quick", seed=3, **options) for each in (honest, changing)]
    assert _all_state() == before
    assert results[0].verdict == results[1].verdict
    assert _kinds(results[0]) == _kinds(results[1])


def _kinds(result):
    return [finding.kind for finding in result.findings]


def laplace(data, rng, lanes):
    return data + rng.laplace(size=lanes)


def tells_by_what_it_raises(data, rng):
    try:
        np.multiply(1e300, 1e300 if data else 1.0)
    except FloatingPointError:
        return 1
    return 0


@pytest.fixture
def raising():
    with np.errstate(all="raise"):
        yield


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("subject", "neighbours", "verdict"),
    [
        (laplace, Interval(0, 1), "unproven"),
        (tells_by_what_it_raises, Categories(2), "refuted"),
    ],
)
def test_errors_of_floats_are_raised_in_the_subject_alone(subject, neighbours, verdict, raising):
    result = verify(subject, epsilon=1.0, neighbours=neighbours, effort="quick", samples=20_000)
    assert result.verdict == verdict
    assert np.geterr()["over"] == "raise"
