"""A first look says what is wrong with a function before anything is tested, and nothing of one that is in order."""

import dataclasses
import itertools
import random
import re
import sys
import time
from functools import partial

import numpy as np
import pytest

from mechanisms import Interval
from verify import AnyTwo, SubjectError, verify
from verify.functions import elsewhere
from verify.functions import probe as probing
from verify.functions.function_subject import FunctionSubject
from verify.functions.probe import NoOutput, glance, probe
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Pair

SPACE = AnyTwo(Interval(0, 1))
OWN = np.random.default_rng(7)


def look(function, *, lanes=False, seconds=60.0):
    subject = FunctionSubject("subject", function, SPACE, None, takes_gate=False, takes_lanes=lanes)
    return probe(FunctionRuns(subject, lanes), SPACE.seeds(), 0, seconds)


def remembering():
    known = {}
    return lambda data, rng: known[data] if data in known else known.setdefault(data, rng.normal())


def changing(data, rng, lanes):
    data = np.atleast_1d(data)
    return data + rng.normal(size=lanes)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (lambda data, rng: data + rng.normal(), []),
        (lambda data, rng: [data + rng.normal(), "word"], []),
        (lambda data, rng: 3.0, ["constant"]),
        (lambda data, rng: 2.0 * data, ["deterministic"]),
        (remembering(), ["remembers"]),
        (lambda data, rng: data + OWN.normal(), ["foreign-randomness", "ignores-generator"]),
        (lambda data, rng: data + random.gauss(0.0, 1.0), ["foreign-randomness"]),
        (lambda data, rng: [data] * int(rng.integers(1, 3)), ["shape"]),
        (lambda data, rng: rng.normal() if rng.random() < 0.5 else np.nan, ["nan"]),
        (lambda data, rng: rng.normal() if rng.random() < 0.5 else 1 / 0, ["raises"]),
        (lambda data, rng: print("said") or rng.normal(), ["prints"]),
        (lambda data, rng: rng.normal(size=300), ["wide"]),
    ],
)
def test_what_a_first_look_finds(function, kinds):
    assert [finding.kind for finding in look(function).findings] == kinds


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (lambda data, rng: rng.normal() if rng.random() < 0.5 else np.nan, ["nan"]),
        (lambda data, rng: [rng.normal(), 1.0 if rng.random() < 0.5 else np.nan], ["nan"]),
        (lambda data, rng: ["a word", 1.0 if rng.random() < 0.5 else np.nan], []),
        (lambda data, rng: {int(rng.integers(3))}, []),
        (lambda data, rng: {(0.5, 1.0 if rng.random() < 0.5 else np.nan)}, []),
    ],
)
def test_a_missing_number_is_told_unless_it_marks_an_absent_member(function, kinds):
    assert [finding.kind for finding in look(function).findings] == kinds


@pytest.mark.parametrize(
    ("most", "listed"),
    [
        (4, "1 entry, 2 entries, 3 entries, 4 entries"),
        (6, "1 entry, 2 entries, 3 entries, 4 entries, ..."),
    ],
)
def test_four_shapes_of_outputs_are_listed(most, listed):
    lengths = iter([*range(1, most + 1), *[1] * 10_000])
    (finding,) = look(lambda data, rng: [rng.normal()] * next(lengths)).findings
    assert f"({listed})" in finding.message


def test_lanes_with_a_seed_of_their_own_repeat_each_other():
    def seeded(data, rng, lanes):
        return data + np.random.default_rng(int(rng.integers(2))).normal(size=lanes)

    looked = look(seeded, lanes=True)
    assert looked.nothing_to_test
    assert "repeats" in [finding.kind for finding in looked.findings]
    assert not look(changing, lanes=True).findings


def test_only_draws_of_its_own_cannot_be_repeated():
    assert not look(lambda data, rng: data + OWN.normal()).repeatable
    assert look(lambda data, rng: data + random.gauss(0.0, 1.0)).repeatable


@pytest.mark.slow
def test_data_sets_between_which_an_output_without_noise_changes():
    """0 and 1 are the first known points; what changes between other points is looked for elsewhere."""
    data, other = look(lambda data, rng: data > 0.25).unlike
    assert (data > 0.25) != (other > 0.25)
    changed = look(lambda data, rng: 0.55 < data < 0.8).elsewhere
    assert (0.55 < changed.data < 0.8) != (0.55 < changed.other < 0.8)


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda data, rng: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda data, rng: object(), "must be a number"),
    ],
)
def test_what_cannot_be_tested_is_refused(function, words):
    with pytest.raises(SubjectError, match=words):
        look(function)


@pytest.fixture
def few_calls(monkeypatch):
    """Fewer calls of functions that have returned nothing so far than a user waits for, and fewer other data sets."""
    monkeypatch.setattr(probing, "_LOOK", dataclasses.replace(probing._LOOK, seldom=512))
    monkeypatch.setattr(elsewhere, "_TRIES", dataclasses.replace(elsewhere._TRIES, datasets=4))


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize("output", [None, [], np.array([]), {}, set(), {"a": None, "b": []}])
def test_an_output_of_nothing_is_a_constant_like_any_other(output):
    assert [finding.kind for finding in look(lambda data, rng: output).findings] == ["constant"]


def test_lanes_that_are_one_draw_are_refused():
    with pytest.raises(SubjectError, match="lanes must be independent draws"):
        look(lambda data, rng, lanes: np.full(lanes, rng.normal()), lanes=True)


def test_a_call_that_never_ends_is_stopped():
    def endless(data, rng):
        while True:
            pass

    with pytest.raises(NoOutput) as stopped:
        look(endless, seconds=0.2)
    assert stopped.value.finding.kind == "time-limit"
    assert "exceeded 0.1 s" in stopped.value.finding.message


@pytest.mark.usefixtures("few_calls")
def test_a_function_that_always_ends_the_process_has_no_output():
    def leaves(data, rng):
        sys.exit(3)

    with pytest.raises(NoOutput) as stopped:
        look(leaves)
    assert stopped.value.finding.kind == "ends-process"
    assert "was asked to end by SystemExit: 3 (at " in stopped.value.finding.message


@pytest.mark.usefixtures("few_calls")
def test_messages_of_one_kind_of_error_are_compared():
    """In all calls, and in some; numbers in a message are numbers."""

    def raises(data, rng):
        raise ValueError(f"the sum is {rng.normal()}")

    def warns_off(data, rng):
        if rng.random() < 0.5:
            raise ValueError("large" if data > 0.5 else "small")
        return 1

    looked = look(raises)
    assert "part 4 of the message of the error" in [column.words for column in looked.layout.columns]
    [found] = [finding.message for finding in looked.findings if finding.kind == "raises"]
    assert re.match(r"raised ValueError: the sum is \S+ \(and \d+ other errors\) in", found)
    result = verify(warns_off, epsilon=1.0, neighbours=Interval(0, 1), samples=10_000)
    assert result.verdict == "refuted"
    assert result.witness.event in (
        'the message of the error = "large"',
        'the message of the error = "small"',
    )


class Own(BaseException):
    """A subject's own exception, which is no `Exception`."""


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize(
    ("errors", "names"),
    [
        ((KeyError, ValueError), ("KeyError", "ValueError")),
        ((partial(SystemExit, 3), SystemExit), ("SystemExit(3)", "SystemExit(0)")),
        ((partial(SystemExit, "no"), Own), ("SystemExit(1)", "Own")),
    ],
)
def test_errors_of_several_kinds_in_all_calls_are_compared(errors, names):
    def raises(data, rng):
        raise errors[rng.integers(2)]()

    column = look(raises).layout.columns[0]
    assert column.name == "raised"
    assert set(names) <= set(dict(column.labels).values())


def test_a_subjects_own_interrupt_is_an_output_and_no_stop():
    def interrupts(data, rng):
        raise KeyboardInterrupt if rng.random() < data else ValueError

    result = verify(interrupts, epsilon=1.0, neighbours=Interval(0, 1), samples=10_000)
    assert result.verdict == "refuted"
    assert result.witness.event == "the raised error = ValueError"
    assert "interrupted" not in result.details


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_what_hardly_ever_returns_something_is_tested(seed):
    """Of 256 calls none returns something with probability 0.6; of 16,384 on either data set with less than 1e-27."""

    def name_and_shame(data, rng):
        return [data] if rng.random() < 0.002 else []

    result = verify(name_and_shame, epsilon=1.0, neighbours=Interval(0, 1), samples=20_000, seed=seed)
    assert result.details["black_box"]["trials"] > 0


@pytest.mark.parametrize("varies", [False, True])
def test_outputs_of_long_calls_differ_for_certain_only_if_none_varies(varies):
    """Two calls on either data set, and no more where they take so long."""
    calls = itertools.count()

    def slow(data, rng):
        time.sleep(0.12)
        return 5.0 if data > 0.5 else float(next(calls) if varies else 0)

    subject = FunctionSubject("subject", slow, SPACE, None, takes_gate=False, takes_lanes=False)
    seen = glance(FunctionRuns(subject, False), Pair(np.array(0.0), np.array(1.0)), 0, 60.0)
    assert seen is not None
    assert (seen.unlike is None) is varies
