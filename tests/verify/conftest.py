"""The command line in this process, and searches of tests that are not about searching."""

import json
import sys
from dataclasses import replace

import pytest
from forged_proofs import accepted_forgeries

from dpwitness import LIBRARY
from verify.bandits import paired_runs
from verify.commands import command_line
from verify.conduct.effort import EFFORTS
from verify.findings import proof_checker

_FORGED: set[str] = set()


@pytest.fixture(autouse=True)
def _forged_proofs(monkeypatch):
    """Forge every proof that the checker accepts in a test: of each, no forgery may be accepted.

    What certifies asks the checker, so these are all certificates that a test makes, and every proof of an audit.
    """
    check, accepted = proof_checker.check_proof_file, []

    def checked(path):
        answer = check(path)
        if answer.follows:
            proof = {**json.loads(path.read_bytes()), "tested": {}}
            if (text := json.dumps(proof, sort_keys=True)) not in _FORGED:
                _FORGED.add(text)
                accepted.append(proof)
        return answer

    monkeypatch.setattr(proof_checker, "check_proof_file", checked)
    yield
    if accepted:
        from verify.certificates import independent_check

        for proof in accepted:
            assert accepted_forgeries(independent_check, proof) == [], proof


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process; return exit code, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpwitness", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            command_line.main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def small_searches(monkeypatch):
    """Effort ``quick`` with a small part of its search: for what a verification shows without one."""
    quick = EFFORTS["quick"]
    small = replace(
        quick, scan_rounds=16, scan_lanes=64, lane_rounds=100_000, search_samples=20_000, replays=5
    )
    monkeypatch.setitem(EFFORTS, "quick", small)
    monkeypatch.setattr(paired_runs, "_FEWEST_LANE_ROUNDS", 100_000)


@pytest.fixture(autouse=True)
def _searches(request):
    """Search little in the default suite, unless a test says that it is about the search; as users do at night."""
    if not any(map(request.node.get_closest_marker, ("slow", "full_search"))):
        request.getfixturevalue("small_searches")


@pytest.fixture
def faults_as_library(monkeypatch):
    """Take the faults' code for the library's, so that a mutant is caught by what it does, not by whose code it is."""

    def is_of_library(found):
        name = found.__module__ if isinstance(found, type) else found.__globals__["__name__"]
        return name.partition(".")[0] in (*LIBRARY, "faults")

    for module in ("internals", "learner_randomness"):
        monkeypatch.setattr(f"verify.learners.{module}.is_of_library", is_of_library)
