"""The independent checker in this process, for what many small documents are given to."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accountant.plans.symbolic import SymbolicPlan
from accountant.proofs.plan_document import plan_document
from accountant.proofs.proof_document import NoProof

FILE = Path(__file__).parents[2] / "verify" / "certificates" / "independent_check.py"


@pytest.fixture(scope="session")
def checker() -> Any:
    spec = importlib.util.spec_from_file_location("independent_check", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def is_proved(checker: Any) -> Callable[[SymbolicPlan, Any], bool]:
    """Tell whether the checker accepts that a plan costs at most a claim, for all values."""

    def asked(plan: SymbolicPlan, claim: Any) -> bool:
        try:
            document = plan_document(plan, claim, "one report", {})
            checker.check(checker.load(json.dumps(document).encode()))
        except (NoProof, checker.Wrong):
            return False
        return True

    return asked
