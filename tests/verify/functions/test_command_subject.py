"""Commands as subjects: what they read and print, and what is said of those that do something else."""

import sys
from pathlib import Path

import numpy as np
import pytest

from mechanisms import Interval
from verify import AnyTwo, Listed, SubjectError, verify
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.functions.command_subject import Command, command_subject, subject_from_file
from verify.outputs.raised import Raised

SCRIPT = Path(__file__).parents[1] / "subjects" / "command.py"


ONE_PAIR = Listed([(0.0, 1.0)])  # every further pair starts the command again


def checked(how, neighbours=ONE_PAIR, **options):
    subject = command_subject([sys.executable, str(SCRIPT), how], neighbours)
    result = verify(subject, epsilon=1.0, effort="quick", samples=8_000, **options)
    return result, {finding.kind: finding for finding in result.findings}


@pytest.mark.slow
def test_a_command_with_half_the_noise_is_refuted():
    result, findings = checked("half-noise")
    assert result.verdict == "refuted"
    assert 1.7 < result.lower.epsilon < 2.1
    assert "foreign-randomness" not in findings
    assert "ignores-generator" not in findings


@pytest.mark.slow
def test_words_truth_values_and_nothing_are_outputs():
    result, _ = checked("mixed")
    assert result.verdict == "refuted"
    assert "foreign" not in str(result.findings)


def test_vectors_are_read_and_printed():
    result, _ = checked("histogram", Listed([([0.0, 5.0], [1.0, 5.0])]))
    assert result.verdict == "unproven"
    assert result.lower.epsilon > 0.5
    assert len(result.witness.neighbours["data"].split(",")) == 2


@pytest.mark.slow
def test_a_command_that_takes_no_seed_cannot_be_repeated():
    _, findings = checked("own-seed")
    assert "results are not reproducible" in findings["foreign-randomness"].message


@pytest.mark.slow
def test_that_a_command_fails_is_part_of_its_output():
    result, findings = checked("fails-on-one")
    assert (
        "failed with exit status 1: no such bin in 64 of 64 calls on data = 1.0" in findings["raises"].message
    )
    assert result.verdict == "refuted"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("one-line", "printed 1 line where 64 outputs were asked for: print one JSON value a line"),
        ("no-json", "printed 'noisy value: .*', which is no JSON value"),
        ("fails-sometimes", "failed with exit status 3 in some runs on data = 0.0 and not in others"),
    ],
)
def test_what_a_command_must_not_do(how, words):
    with pytest.raises(SubjectError, match=words):
        checked(how)


def test_a_command_that_never_ends_is_ended():
    _, findings = checked("never-ends", time_limit=4.0)
    assert "one call for 64 lanes on data = 0.0 exceeded 2 s" in findings["time-limit"].message


def test_a_command_that_does_not_exist():
    missing = command_subject("./no-such-program --flag", AnyTwo(Interval(0, 1)))
    with pytest.raises(SubjectError, match=r"\./no-such-program --flag: cannot be started: No such file"):
        verify(missing, epsilon=1.0)


def test_no_shell_takes_part():
    assert Command(("echo", "$HOME; ls")).arguments[1] == "$HOME; ls"
    with pytest.raises(SubjectError, match="No closing quotation"):
        command_subject("echo 'a", AnyTwo(Interval(0, 1)))
    with pytest.raises(SubjectError, match="must be a program"):
        command_subject("", AnyTwo(Interval(0, 1)))


@pytest.mark.slow
def test_a_subject_file(tmp_path):
    file = tmp_path / "mechanism.toml"
    file.write_text(
        f'command = ["{sys.executable}", "{SCRIPT}", "half-noise"]\ndata = "interval(0, 1)"\n'
        'epsilon = 1.0\nmodel = "local"\ncomment = "one user\'s value"\n'
    )
    found = subject_from_file(str(file))
    assert (found.claimed_epsilon, found.form.model, found.form.comment) == (1.0, "local", "one user's value")
    result = verify(str(file), effort="quick", samples=5_000)
    assert result.verdict == "refuted"
    assert result.witness.reproduce.startswith(f"dpwitness verify {file} --epsilon 1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("command = [", "mechanism.toml"),
        ('command = "x"', "one of data"),
        ('data = "interval(0, 1)"', "needs command"),
        ('command = "x"\ndata = "interval(0, 1)"\nspeed = 3', "unknown key 'speed'"),
        ('command = "x"\ndata = "interval(1, 0)"', "lower must not exceed upper"),
        (
            'command = "x"\ndata = "interval(0, 1)"\nepsilon = "one"',
            "epsilon = 'one': must be one real number",
        ),
        ('command = "x"\ndata = 3', "data or neighbours = 3: must be text"),
        ('command = 3\ndata = "interval(0, 1)"', "command = 3"),
        ('command = "x"\ndata = "interval(0, 1)"\nmodel = "shuffled"', "must be central, local or shuffle"),
    ],
)
def test_a_wrong_subject_file(tmp_path, text, words):
    file = tmp_path / "mechanism.toml"
    file.write_text(text)
    with pytest.raises(SubjectError, match=words):
        subject_from_file(str(file))


def test_a_missing_subject_file():
    with pytest.raises(SubjectError, match="no such file"):
        verify("missing.toml", epsilon=1.0)


def test_lists_too_deep_within_lists_are_refused():
    command = Command((sys.executable, "-c", "print('[' * 100_000 + ']' * 100_000)"))
    with pytest.raises(SubjectError, match="too deep within lists"):
        command(0.0, np.random.default_rng(0), 1)


def test_what_a_command_that_waits_was_sent_and_printed_is_told() -> None:
    """A program that waits for another form of input shows what it waits for."""
    command = Command(("/bin/sh", "-c", "read question; echo columns?; exec sleep 60"))
    with pytest.raises(TimeLimitReached) as caught, time_limit(2.0):
        command([0, 1], np.random.default_rng(0), 3)
    (note,) = caught.value.__notes__
    assert note.startswith('it was sent {"data": [0, 1], "lanes": 3, "seed": ')
    assert note.endswith("and printed 'columns?\\n'")


def test_a_command_that_always_fails_is_tried_once_a_batch():
    """A first failure on a data set is made sure of; a later success there, and elsewhere a failure, is refused."""
    asked = []

    class Fails(Command):
        def _run(self, data, seed, lanes):
            asked.append(lanes)
            failed = Raised("exit status 3", "", "exit status 3", str(self), "failed with")
            return ([], failed) if data == self.bad else ([0.0] * lanes, None)

        bad = 1.0

    command, rng = Fails(("mechanism",)), np.random.default_rng(0)
    assert [raised.error for raised in command(1.0, rng, 2)] == ["exit status 3"] * 2
    assert len(asked) == 5
    command(1.0, rng, 64)
    command(0.0, rng, 64)
    assert asked[5:] == [64, 64]
    Fails.bad = 0.0
    for data in (1.0, 0.0):
        with pytest.raises(SubjectError, match="failed with exit status 3 in some runs on data = "):
            command(data, rng, 8)
