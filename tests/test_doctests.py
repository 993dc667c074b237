"""Examples in docstrings run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("mechanisms", "accountant", "algorithms", "verify")
MODULES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text()
)
# They show whole verifications: what those return has tests of its own, how it is printed here can wait for the night.
DEAR = (
    "algorithms.full_information.hedge",
    "verify.verification.assertion",
    "verify.certificates.certification",
    "verify.regret_claims.local_privacy",
    "verify.regret_claims.scaling",
    "verify.regret_claims.verify_regret",
    "verify.verification.verification",
)


@pytest.mark.slow_cells(*DEAR)
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        runner.run(example, out=said.append)
    assert not runner.summarize(verbose=False).failed, "".join(said)
    assert runner.tries, f"{name}: '>>> ' stands in it, and no docstring has an example"
