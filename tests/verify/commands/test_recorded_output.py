"""Commands with a seed print the recorded output: no change of a search, a theorem or a page is silent.

Numbers are compared as numbers, to six digits: other processors and libraries end floats with other digits. What is
drawn from a seed is the same in every version of NumPy until it changes a generator's stream (NEP 19); a test says so.

Nothing here says that what was recorded is right: other tests do. One that fails shows what a change does, to the
digit; if that is meant, ``pytest tests/verify/commands/test_recorded_output.py --snapshot-update`` records it anew, and
the difference is read like code.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from syrupy.extensions.amber import AmberSnapshotExtension

from verify.commands.command_group import cli

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
CHECKPOINTS = 30  # a list of so many is of a simulation
TOLERANCE = 1e-5  # six digits are recorded: of two floats that differ in their last digits alone, the sixth may differ


LIBRARIES = "python|dpwitness|numpy|scipy|hypothesis|opendp|sympy"
FILES = {
    "releases.toml": """
neighbours = "add or remove one"
[[release]]
mechanism = "gaussian"
sigma = 4
sampling_rate = 0.01
sampling = "poisson"
count = 500
[[release]]
mechanism = "laplace"
scale = 20
count = 10
records = ["a", "b"]
[[release]]
mechanism = "exponential-mechanism"
scale = 20
count = 3
""",
    "plain.toml": """
[[release]]
mechanism = "gaussian"
sigma = 20
count = 50
[[release]]
mechanism = "laplace"
scale = 20
count = 10
records = ["a", "b"]
""",
    "mine.py": """
import numpy as np

from algorithms.problems import SemiBandit, TopK
from mechanisms import Laplace
from verify import PlainBandit

problem = SemiBandit(TopK(4, 2), [0.2, 0.4, 0.5, 0.9])
laplace = Laplace(scale=2.0)


class Ucb:
    def __init__(self, rng):
        self.sums, self.counts, self.rng = np.zeros(3), np.full(3, 0.1), rng

    def select_arm(self):
        return int(np.argmax(self.sums / self.counts + 2 / np.sqrt(self.counts)))

    def update(self, arm, reward):
        self.sums[arm] += reward + self.rng.laplace(scale=0.5)
        self.counts[arm] += 1


ucb = PlainBandit(Ucb, arms=3, rounds=8)
""",
    "log.csv": "\n".join(
        ["action,reward,propensity", *["0,1,0.5", "1,0,0.3", "0,0,0.5", "2,1,0.2", "1,1,0.3"] * 60]
    ),
}
# None whose pair is found by Hypothesis alone: its next version may generate other examples. They search as little as
# all tests of the default suite do (`small_searches`): users see more.
SEARCHES = [
    "zoo/svt6 --samples 10000",
    "zoo/noisy-hist-2 --samples 10000",
    "zoo/gaussian-wrong-sensitivity --samples 10000",
    "zoo/mean-secret-count --samples 10000",
    "zoo/rappor --samples 10000",
    "zoo/float-laplace --floating-point --samples 20000",
    "zoo/laplace-half-noise --anytime",
    "zoo/plain-bandit-stops --samples 10000",
    "zoo/bandit-raw-first --samples 10000",
    "mine.py:ucb --epsilon 1 --samples 4000",
    "dp-linucb --epsilon 1 --delta 1e-3 --set horizon=20",
]
PLAYED = [
    "dp-bandit dp-bandit-gaussian dp-bandit-ldp dp-bandit-shuffle published/dp-se published/adap-klucb "
    "published/dp-imed published/lazy-dp-ts",
    "cucb-ldp1 cucb-ldp2 cucb-ldp-bit cucb-ldp-gaussian cucb-batch cucb-batch-gaussian",
    "cts omm published/dpucb-mat published/dpts-mat --problem linear-matroid",
    "cascade-ucb1 cascade-ucb-rr cascade-ucb-batch cascade-ucb-batch-gaussian cascade-ucb-batch-shuffle",
    "dpe dp-dpe-central dp-dpe-local dp-dpe-shuffle",
    "pe dp-pe-central dp-pe-local dp-pe-shuffle",
    "linucb dp-linucb published/tree-linucb-gaussian",
]
COMMANDS = [
    *(f"verify {search} --effort quick -o page.md" for search in SEARCHES),
    *(f"simulate {learners} --horizon 100 --runs 2 --json" for learners in PLAYED),
    "regret dp-linucb --horizon 300 --runs 8 --json",
    "audit plain.toml --budget 3",
    "calibrate releases.toml --epsilon 1",
    "simulate cucb-batch cucb-ldp2 --problem mine.py:problem --horizon 100 --runs 3",
    "simulate mine.py:ucb --horizon 100 --runs 3",
    "simulate dp-bandit dp-bandit-ldp --log log.csv --set epsilon=0.5,2",
    "simulate dp-bandit --log log.csv --delay 3 --runs 2 --json",
    "list --for arms --trust local --epsilon 0.5",
]


def ran(line: str) -> str:
    """Run one command in this process; return its exit code and what it printed."""
    result = CliRunner().invoke(cli, shlex.split(line))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    shown = result.output
    if "--json" in line:
        shown = json.dumps(json.loads(result.output), indent=1)
    elif "-o page.md" in line:  # which holds what the terminal has, and what is for specialists
        shown = Path("page.md").read_text()
    return f"exit code {result.exit_code}\n{shown}"


def _six_digits(found: re.Match[str]) -> str:
    """Return a number to six digits; 0 for what rounding leaves of it."""
    value = float(found[0])
    return f"{value:.6g}" if value > 1e-12 else "0"


def steady(text: str) -> str:
    """Return what does not change with the day, the machine or the versions."""
    text = re.sub(r"seed (\d+); python(?s:.*?)(?=\n\n|\n\Z)", r"seed \1; versions", text)
    text = re.sub(rf"\b({LIBRARIES})( |\": \")\d+\.[\d.]+\w*", r"\1\2VERSION", text)
    text = re.sub(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\+00:00| UTC)", r"2026-01-01\g<1>00:00:00\2", text)
    text = re.sub(r"^[\d.]+ s(, [\d,]+ lane-rounds per second)?$", "0 s", text, flags=re.MULTILINE)
    text = re.sub(r'"(\w*seconds?)": [\d.e-]+', r'"\1": 1.0', text)
    return re.sub(r"(?<![.\w])[0-9a-f]{16,64}\b", "DIGEST", text)


def lasting(text: str) -> str:
    """Return what does not change with the seventh digit, either."""
    return re.sub(r"\d+\.\d{6,}(e[+-]?\d+)?", _six_digits, steady(text))


def is_the_same(printed: str, recorded: str) -> bool:
    """Compare two pages: all words, and numbers as numbers; the layout, too, where all numbers are spelt the same."""
    numbers, before = NUMBER.findall(printed), NUMBER.findall(recorded)
    if numbers == before:
        return printed == recorded
    words, words_before = (NUMBER.sub("0", re.sub(r"[\s─-╿]+", " ", page)) for page in (printed, recorded))
    return words == words_before and all(map(_is_the_same_number, numbers, before))


def _is_the_same_number(printed: str, recorded: str) -> bool:
    if printed == recorded:
        return True
    if not set(".e") & set(printed + recorded):  # counts
        return False
    return math.isclose(float(printed.replace(",", "")), float(recorded.replace(",", "")), rel_tol=TOLERANCE)


class Pages(AmberSnapshotExtension):
    """Recorded pages, in which numbers are compared as numbers."""

    def matches(self, *, serialized_data, snapshot_data):
        return is_the_same(str(serialized_data), str(snapshot_data))


@pytest.fixture
def snapshot(snapshot):
    return snapshot.use_extension(Pages)


@pytest.mark.parametrize(
    ("printed", "recorded", "same"),
    [
        ("scale  0.300001\nand more", "scale  0.3\nand more", True),  # one column more, in the sixth digit
        ("scale = 0.3 and\nmore", "scale = 0.300001\nand more", True),  # another line is broken
        ("scale = 0.30001", "scale = 0.3", False),
        ("scale = 1.234e-12", "scale = 1.23401e-12", True),
        ("12,345 draws", "12,344 draws", False),
        ("1.5 of 7 draws", "1.500001 of 8 draws", False),
        ("a scale of  0.3", "a scale of 0.3", False),  # the layout
        ("the scale 0.3", "a scale 0.300001", False),
        ("0.3 0.4", "0.3", False),
    ],
)
def test_pages_are_the_same_up_to_last_digits_of_floats(printed, recorded, same):
    assert is_the_same(printed, recorded) is same


def test_numbers_are_drawn_as_when_pages_were_recorded(snapshot):
    """If this fails, NumPy has changed a generator's stream: that is why pages differ, and all are recorded anew."""
    rng = np.random.default_rng(0)
    drawn = {
        "random": rng.random(2),
        "integers": rng.integers(1000, size=3),
        "normal": rng.normal(size=2),
        "laplace": rng.laplace(size=2),
        "exponential": rng.exponential(size=2),
        "gumbel": rng.gumbel(size=2),
        "gamma": rng.gamma(2.5, size=2),
        "beta": rng.beta(2.0, 3.0, size=2),
        "binomial": rng.binomial(1000, 0.3, size=3),
        "geometric": rng.geometric(0.2, size=3),
        "poisson": rng.poisson(30.0, size=3),
        "multinomial": rng.multinomial(100, [0.2, 0.3, 0.5]),
        "permutation": rng.permutation(6),
        "choice": rng.choice(100, size=3, replace=False),
        "spawned": np.random.default_rng(np.random.SeedSequence(0).spawn(2)[1]).random(2),
    }
    shown = "\n".join(f"{name} {' '.join(map(repr, values.tolist()))}" for name, values in drawn.items())
    assert lasting(shown) == snapshot


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the files, to work in; a terminal of 80 columns; and the first second of 2026."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    for name, text in FILES.items():
        Path(name).write_text(text)


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line[:60])
def test_a_command_prints_what_was_recorded(line, snapshot, folder):
    shown = ran(line)
    if line.startswith("simulate") and "--json" in line:
        code, _, data = shown.partition("\n")
        shown = f"{code}\n{json.dumps(_thinned(json.loads(data)), indent=1)}"
    assert lasting(shown) == snapshot


def _thinned(data: Any) -> Any:
    """Return a simulation with three of its checkpoints, the last among them."""
    if isinstance(data, dict):
        return {key: _thinned(value) for key, value in data.items()}
    if isinstance(data, list):
        every = 1 if len(data) < CHECKPOINTS else len(data) // 3
        return (
            [_thinned(value) for value in data[::-1][::every][:3][::-1]]
            if every > 1
            else [*map(_thinned, data)]
        )
    return data


REPORTED = [
    "verify zoo/geometric-linear --effort quick --samples 20000 --json",
    "verify cascade-ucb-rr --epsilon 1 --effort quick --set horizon=10 --json",
    "verify mine.py:laplace --epsilon 0.5 --effort quick --samples 20000 --json",
    "regret omm --horizon 300 --runs 8 --json",
    "simulate dp-bandit --horizon 300 --runs 3 --json",
    "audit plain.toml --budget 3 --json",
]


@pytest.mark.parametrize("line", REPORTED)
def test_a_report_is_what_was_recorded(line, snapshot, folder):
    Path("result.json").write_text(steady(ran(line).partition("\n")[2]))
    ran("report result.json -o report.html")
    assert lasting(ran("report result.json")) == snapshot(name="Markdown")
    assert lasting(Path("report.html").read_text()) == snapshot(name="HTML")
