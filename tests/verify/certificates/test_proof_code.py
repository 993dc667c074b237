"""A certificate survives every edit that its proof does not reach, and none that it does."""

from __future__ import annotations

import functools
import inspect
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from accountant.provenance import LIBRARY
from algorithms import code_fingerprint
from mechanisms import Gaussian, Interval, Laplace, Sensitivity
from verify import Certificate, certify
from verify.verification import run_verification

pytestmark = pytest.mark.usefixtures("small_searches")
ROOT = Path(__file__).resolve().parents[3]
SMALL: dict[str, Any] = {"horizon": 4, "settings": {"arms": 4, "size": 2, "good": 1}}
QUICK: dict[str, Any] = {"effort": "quick", "samples": 5_000}


@functools.cache
def certificates() -> dict[str, Certificate]:
    noise = Gaussian(sigma=4.0, sensitivity=Sensitivity(1.0, 1.0, 1.0))
    return {
        "learner": certify("cucb-ldp2", epsilon=1.0, **SMALL, **QUICK),
        "mechanism": certify(noise, epsilon=1.0, delta=1e-3, **QUICK),
    }


@pytest.fixture
def edited(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The texts that modules have in place of their own."""
    texts: dict[str, str] = {}
    real = inspect.getsource

    def source(value: Any) -> str:
        return texts.get(getattr(value, "__name__", "")) or real(value)

    monkeypatch.setattr("algorithms.code_fingerprint.inspect.getsource", source)
    code_fingerprint.forget_sources()
    yield texts
    code_fingerprint.forget_sources()


def edit(texts: dict[str, str], module: str, old: str, new: str) -> None:
    source = inspect.getsource(import_module(module))
    assert old in source, (module, old)
    texts[module] = source.replace(old, new, 1)
    code_fingerprint.forget_sources()


REACHED = {
    "a mechanism's scale": (
        "mechanisms.laplace",
        "-math.log(2.0 * self.scale)",
        "-math.log(3.0 * self.scale)",
    ),
    "rounding": ("mechanisms.rounding", "def up(", "def up_(value): return value\n\n\ndef up("),
    "the accountant": ("accountant.accountant", "lanes = 1\n", "lanes = 1 + 0\n"),
    "the ledger": ("accountant.ledger.ledger", "from __future__ import annotations", "BUDGETS = 2"),
    "a gate": ("accountant.gates.private", "from __future__ import annotations", "EXTRA = 1"),
    "the learner": ("algorithms.semi_bandits.cucb_ldp", "from __future__ import annotations", "EXTRA = 1"),
    "accounting runs": ("verify.learners.accounting_run", "from __future__ import annotations", "EXTRA = 1"),
    "replays": ("verify.learners.replay_run", "from __future__ import annotations", "EXTRA = 1"),
    "coupled runs": ("verify.learners.coupled_run", "from __future__ import annotations", "EXTRA = 1"),
    "the decision": (
        "verify.verdict.verdict",
        "def decide(",
        "def decide_otherwise(): pass\n\n\ndef decide(",
    ),
    "what asks": ("verify.verification", "from __future__ import annotations", "EXTRA = 1"),
}


@pytest.mark.slow_cells("a mechanism's scale")
@pytest.mark.parametrize("module", REACHED.values(), ids=REACHED.keys())
def test_code_that_the_proof_reaches_may_not_change(
    module: tuple[str, str, str], edited: dict[str, str]
) -> None:
    certificate = certificates()["learner"]
    edit(edited, *module)
    checked = certificate.check()
    assert checked.verdict == "unproven"
    assert checked.reasons[0].text.startswith(
        f"other code: the digest of {module[0].replace('.', '/')}.py is"
    )
    assert certificate.repeat in checked.reasons[-1].text


UNREACHED = [
    ("verify.document.markdown_text", "from __future__ import annotations", "EXTRA = 1"),
    ("verify.commands.shown_results", "from __future__ import annotations", "EXTRA = 1"),
    ("verify.regret_claims.scaling", "from __future__ import annotations", "EXTRA = 1"),
    ("verify.experiments.experiment", "from __future__ import annotations", "EXTRA = 1"),
    ("verify.zoo.specimen", "from __future__ import annotations", "EXTRA = 1"),
    ("accountant.service.app", "from __future__ import annotations", "EXTRA = 1"),
    ("accountant.audit.releases", "from __future__ import annotations", "EXTRA = 1"),
    ("algorithms.catalogue.structured_entries", "from __future__ import annotations", "EXTRA = 1"),
    ("algorithms", '"""', '"""New learners too. '),
    ("algorithms.published.dp_dpe", "from __future__ import annotations", "EXTRA = 1"),
    ("algorithms.theory.plans", "from __future__ import annotations", "EXTRA = 1"),
    # Within the proof's reach: comments, docstrings and layout.
    ("mechanisms.laplace", '"""', '"""Said otherwise. '),
    ("accountant.accountant", "lanes = 1\n", "lanes = 1  # one\n\n"),
    ("verify.verdict.verdict", "def decide(", "# It decides.\ndef decide("),
    ("algorithms.semi_bandits.cucb_ldp", "from __future__ import", "# Ours.\nfrom __future__ import"),
]


@pytest.mark.slow
def test_code_that_the_proof_does_not_reach_may_change(edited: dict[str, str]) -> None:
    for module in UNREACHED:
        edit(edited, *module)
    for certificate in certificates().values():
        checked = certificate.check()
        assert checked.verdict == "valid", checked.reasons


def test_a_mechanism_is_not_proved_by_learners() -> None:
    reached = certificates()["mechanism"].provenance.digests
    assert "mechanisms/gaussian.py" in reached
    assert not any(name.startswith(("verify/learners/", "algorithms/problems/")) for name in reached)


@pytest.mark.slow
def test_a_mechanism_reaches_what_it_is_made_of() -> None:
    made = certify(Laplace.for_epsilon(1.0, sensitivity=Interval(0, 1).sensitivity), epsilon=1.0, **QUICK)
    assert {"mechanisms/laplace.py", "mechanisms/sensitivity.py"} <= made.provenance.digests.keys()


FINDS_AND_TELLS = (
    "accountant/provenance.py",
    "algorithms/blocks/",
    "algorithms/catalogue/",
    "algorithms/problems/named_problems.py",
    "algorithms/problems/problem_settings.py",
    "algorithms/theory/plans.py",
    "verify/certificates/certificate.py",
    "verify/conduct/interrupts.py",
    "verify/conduct/rules.py",
    "verify/learners/learner_subject.py",
    "verify/learners/learner_on_problem.py",
    "verify/options.py",
    "verify/subjects/reproduction.py",
    "verify/subjects/",
    "verify/verdict/answer.py",
)
"""What finds a subject by its name and says what was found: whatever it does, the proof is that of its subject."""


@pytest.mark.parametrize("name", ["learner", "mechanism"])
def test_all_code_that_runs_in_a_proof_is_reached(name: str) -> None:
    certificate = certificates()[name]
    subject = certificate.subject
    if name == "mechanism":
        subject = Gaussian(sigma=4.0, sensitivity=Sensitivity(1.0, 1.0, 1.0))  # type: ignore[assignment]
    ran: set[str] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            ran.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run_verification(subject, certificate.requested_options, tests=False)
    finally:
        sys.setprofile(before)
    ours = {str(Path(file).relative_to(ROOT)) for file in ran if Path(file).is_relative_to(ROOT)}
    ours = {file for file in ours if file.partition("/")[0] in LIBRARY}
    assert ours
    left = {
        file for file in ours - certificate.provenance.digests.keys() if not file.startswith(FINDS_AND_TELLS)
    }
    assert left == set()


@pytest.mark.slow
def test_a_copy_of_the_library_with_edits_elsewhere_finds_it_valid(tmp_path: Path) -> None:
    """Also: a process that loads nothing else reaches the same files."""
    copy = tmp_path / "copy"
    for package in LIBRARY:
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for source in copy.rglob("*.py"):
        source.write_text(f"# A comment in each file.\n{source.read_text()}")
    with (copy / "verify/document/markdown_text.py").open("a") as file:
        file.write("\nMORE = 1\n")
    (copy / "algorithms/semi_bandits/newest.py").write_text(
        "from algorithms import CUCB\n\nclass New(CUCB): pass\n"
    )
    (copy / "README.md").write_text("new")
    saved = tmp_path / "certificate.json"

    def run(library: Path, *words: str | Path) -> tuple[int, str]:
        program = (
            f"import sys; sys.path.insert(0, {str(library)!r}); from verify.command_line import main; main()"
        )
        ran = subprocess.run(
            [sys.executable, "-P", "-c", program, *words], capture_output=True, text=True, check=False
        )
        return ran.returncode, " ".join((ran.stdout + ran.stderr).split())

    def check() -> tuple[int, str]:
        return run(copy, "check", saved)

    code, said = run(
        ROOT,
        "verify",
        "cucb-ldp2",
        "--epsilon",
        "1",
        "--horizon",
        "20",
        "--effort",
        "quick",
        "--certificate",
        saved,
    )
    assert code == 0, said
    code, said = check()
    assert code == 0, said
    assert said.startswith("VALID")
    decides = copy / "verify/verdict/verdict.py"
    decides.write_text(decides.read_text().replace("def decide(", "def decides_not(): pass\n\n\ndef decide("))
    code, said = check()
    assert code == 3, said
    assert "verify/verdict/verdict.py" in said
