"""The independent checker of proofs, run in a process of its own.

The checker is one file that imports nothing of this library and is imported by nothing of it. An accepted claim follows
from the data alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accountant.proofs.proof_document import claim_data, exact_number
from algorithms.claim import Claim
from algorithms.unit import ONE_REPORT, OnePerson

CHECKER = Path(__file__).parents[1] / "certificates" / "independent_check.py"
"""The checker, which anybody may run without this library: ``python -I independent_check.py FILE``."""
SECONDS = 300.0
"""Time limit of a check; a proof that takes longer is not accepted."""


@dataclass(frozen=True, slots=True)
class CheckedProof:
    """The answer of the checker to a file.

    Attributes
    ----------
    follows
        Whether the claim follows.
    words
        Its own words: the claim that follows, or the reason why none does.
    is_proof
        False if the file holds no proof at all.
    """

    follows: bool
    words: str
    is_proof: bool = True


def check_proof_file(path: Path) -> CheckedProof:
    """Return the checker's answer to a file."""
    command = [sys.executable, "-I", str(CHECKER), str(path)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return CheckedProof(False, f"not checked within {SECONDS:g} s")
    _, said, words = done.stdout.strip().partition("FOLLOW")
    if not said:
        return CheckedProof(False, f"the checker ended with code {done.returncode}")
    return CheckedProof(
        done.returncode == 0, words.removeprefix("S").removeprefix(": "), done.returncode != 2
    )


def check_proof(document: Mapping[str, Any]) -> CheckedProof:
    """Return the checker's answer to a proof as data."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "proof.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        return check_proof_file(file)


def claim_as_data(claim: Claim) -> dict[str, Any]:
    """Return a claim as data of a proof; of a person a limit on rounds is left out."""
    unit = OnePerson() if isinstance(claim.unit, OnePerson) else ONE_REPORT
    limits = {"epsilon": exact_number(claim.epsilon), "delta": exact_number(claim.delta)}
    return claim_data(claim.neighbours, unit, **limits)


def why_unproved(proof: object, claim: Claim) -> str:
    """Return why a proof, as data or the reason why there is none, does not prove a claim; "" if it does."""
    if not isinstance(proof, Mapping):
        return str(proof)
    if proof.get("claim") != claim_as_data(claim):
        return "it is about another claim"
    checked = check_proof(proof)
    return "" if checked.follows else checked.words
