"""What commands print with a seed is what they printed before: no change of a search, a theorem or a page is silent.

Nothing here says that what was recorded is right: other tests do. One that fails shows what a change does, to the
digit; if that is meant, ``pytest tests/verify/commands/test_recorded_output.py --snapshot-update`` records it anew, and
the difference is read like code.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import scipy
from click.testing import CliRunner
from pypdf import PdfReader

from verify.commands.command_group import cli

RECORDED_WITH = {np: "2.4", scipy: "1.17"}  # other versions may draw other numbers from a seed (NEP 19)
pytestmark = pytest.mark.skipif(
    any(not library.__version__.startswith(f"{version}.") for library, version in RECORDED_WITH.items()),
    reason="recorded with other versions of NumPy and SciPy",
)

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


def mean(data, epsilon=0.1, seed=None):
    return np.mean(data) + np.random.RandomState(seed).laplace(scale=1 / (epsilon * len(data)))
""",
    "log.csv": "\n".join(
        ["action,reward,propensity", *["0,1,0.5", "1,0,0.3", "0,0,0.5", "2,1,0.2", "1,1,0.3"] * 60]
    ),
}
SEARCHES = [
    "zoo/svt6 --samples 10000",
    "zoo/noisy-hist-2 --samples 10000",
    "zoo/gaussian-wrong-sensitivity --samples 10000",
    "zoo/mean-secret-count --samples 10000",
    "zoo/stable-hist-low-threshold --samples 20000",
    "zoo/rappor --samples 10000",
    "zoo/float-laplace --floating-point --samples 20000",
    "zoo/laplace-half-noise --anytime",
    "zoo/plain-bandit-stops",
    "zoo/bandit-raw-first",
    "mine.py:ucb --epsilon 1 --samples 20000",
    "dp-linucb --epsilon 1 --delta 1e-3 --horizon 100",
]
PLAYED = [
    "dp-bandit dp-bandit-gaussian dp-bandit-ldp dp-bandit-shuffle published/dp-se published/adap-klucb "
    "published/dp-imed published/lazy-dp-ts",
    "cucb-ldp1 cucb-ldp2 cucb-ldp-bit cucb-ldp-laplace-all cucb-batch cucb-batch-least cucb-batch-gaussian cucb-dp",
    "dpucb-mat dpts-mat cts omm published/dpucb-mat published/dpts-mat --problem linear-matroid",
    "cascade-ucb1 cascade-ucb-rr cascade-ucb-ldp-laplace cascade-ucb-batch cascade-ucb-batch-gaussian "
    "cascade-ucb-batch-shuffle",
    "dpe dp-dpe-central dp-dpe-local dp-dpe-shuffle",
    "pe dp-pe-central dp-pe-local dp-pe-shuffle",
    "linucb dp-linucb published/tree-linucb-gaussian",
]
COMMANDS = [
    *(f"verify {search} --effort quick --verbose" for search in SEARCHES),
    *(f"simulate {learners} --horizon 300 --runs 3 --json --checkpoints 3" for learners in PLAYED),
    "regret dp-linucb --horizon 300 --runs 8 --json",
    "audit releases.toml --budget 3 --risk",
    "calibrate releases.toml --epsilon 1",
    "report releases.toml",
    "simulate cucb-batch cucb-ldp2 --problem mine.py:problem --horizon 100 --runs 3",
    "simulate mine.py:ucb --horizon 100 --runs 3",
    "evaluate dp-bandit dp-bandit-ldp --log log.csv --epsilon 0.5,2",
    "evaluate dp-bandit --log log.csv --delay 3 --runs 2 --json",
    "audit-repo .",
    "audit-repo . --json",
    "list --for arms --trust local --epsilon 0.5 --horizon 10000",
]


def ran(line: str) -> str:
    """Run one command in this process; return its exit code and what it printed."""
    result = CliRunner().invoke(cli, shlex.split(line))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    shown = json.dumps(json.loads(result.output), indent=1) if "--json" in line else result.output
    return f"exit code {result.exit_code}\n{shown}"


def _six_digits(found: re.Match[str]) -> str:
    """Return a number to six digits; 0 for what rounding leaves of it."""
    value = float(found[0])
    return f"{value:.6g}" if value > 1e-12 else "0"


def lasting(text: str) -> str:
    """Return what does not change with the day, the machine, the versions or the seventh digit."""
    text = re.sub(r"seed (\d+); python(?s:.*?)(?=\n\n|\n\Z)", r"seed \1; versions", text)
    text = re.sub(rf"\b({LIBRARIES})( |\": \")\d+\.[\d.]+\w*", r"\1\2VERSION", text)
    text = re.sub(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\+00:00| UTC)", r"2026-01-01\g<1>00:00:00\2", text)
    text = re.sub(r"^[\d.]+ s(, [\d,]+ lane-rounds per second)?$", "0 s", text, flags=re.MULTILINE)
    text = re.sub(r'"(\w*seconds?)": [\d.e-]+', r'"\1": 1.0', text)
    text = re.sub(r"\d+\.\d{6,}(e[+-]?\d+)?", _six_digits, text)
    return re.sub(r"\b[0-9a-f]{16,64}\b", "DIGEST", text)


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
    assert lasting(ran(line)) == snapshot


REPORTED = [
    "verify zoo/geometric-linear --effort quick --samples 20000 --json",
    "verify cascade-ucb-rr --epsilon 1 --effort quick --horizon 30 --json",
    "verify mine.py:laplace --epsilon 0.5 --effort quick --samples 20000 --json",
    "regret dpts-mat --horizon 2000 --runs 8 --json",
    "simulate dp-bandit --horizon 300 --runs 3 --json --checkpoints 3",
    "audit releases.toml --budget 3 --json",
]


@pytest.mark.parametrize("line", REPORTED)
def test_a_report_is_what_was_recorded(line, snapshot, folder):
    Path("result.json").write_text(lasting(ran(line).partition("\n")[2]))
    ran("report result.json -o report.html")
    ran("report result.json -o report.pdf")
    words = "\f".join(page.extract_text(extraction_mode="layout") for page in PdfReader("report.pdf").pages)
    assert lasting(ran("report result.json")) == snapshot(name="Markdown")
    assert lasting(Path("report.html").read_text()) == snapshot(name="HTML")
    assert lasting(words) == snapshot(name="PDF")
