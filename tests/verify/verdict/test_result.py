"""The whole result: its JSON form and its exit code."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from algorithms.claim import ClaimForm, View
from verify.findings import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.verdict.result import Verification
from verify.verdict.verdict import Decision

CLAIM = ClaimForm("local", View.MESSAGE, "the rewards of one round", "the docstring").at(1.0, 1e-5)
WITNESS = Witness({"data": "0", "data_prime": "1"}, "the value is at most 0", 0.5, 0.07, "dpwitness verify x")
DECISIVE = LowerBound(1.8, 1e-5, 0.99, "black-box test", 1000, decisive=True)
REMARK = Finding(FindingKind.WARNS, "", "Noise came from NumPy.", failing=False)
FAILURE = Finding(FindingKind.DOMAIN, "learner.py:7", "A reward was outside [0, 1].")


def verification(decision: Decision, **changed: Any) -> Verification:
    fields: dict[str, Any] = {
        "subject": "cucb-ldp2",
        "claim": CLAIM,
        "decision": decision,
        "upper": UpperBound(math.inf, 1.0, "declassified"),
        "lower": LowerBound(math.inf, 1e-5, 1.0, "enumeration", 0, decisive=True),
        "witness": WITNESS,
        "findings": (FAILURE,),
        "seed": 7,
        "versions": {"dpwitness": "0.1.0"},
        **changed,
    }
    return Verification(**fields)


def test_json_has_the_stable_keys_and_no_infinity() -> None:
    result = verification(
        Decision("refuted", ("because",)),
        details={
            "coupled": {"largest_loss": np.float64(math.inf)},
            "rounds": np.arange(2),
            "scale": -math.inf,
        },
    )
    data = json.loads(json.dumps(result.json(), allow_nan=False))
    assert list(data)[:11] == [
        "subject",
        "claim",
        "verdict",
        "reasons",
        "upper",
        "lower",
        "witness",
        "findings",
        "assumptions",
        "seed",
        "versions",
    ]
    assert data["claim"].keys() >= {"model", "epsilon", "delta", "unit", "view", "neighbours", "relation"}
    assert data["upper"] == {"epsilon": "inf", "delta": 1.0, "method": "declassified"}
    assert data["lower"].keys() >= {"epsilon", "delta", "confidence", "method", "samples"}
    assert data["findings"][0].keys() >= {"kind", "where", "message"}
    assert data["claim"]["relation"] == "replace one"
    assert data["witness"]["neighbours"] == {"data": "0", "data_prime": "1"}
    assert data["coupled"] == {"largest_loss": "inf"}
    assert (data["rounds"], data["scale"]) == ([0, 1], "-inf")


def test_json_of_nothing_is_null() -> None:
    data = verification(Decision("unproven", ("x",)), upper=None, lower=None, witness=None).json()
    assert (data["upper"], data["lower"], data["witness"]) == (None, None, None)


def test_exit_codes() -> None:
    codes = {
        verdict: verification(Decision(verdict, ())).exit_code
        for verdict in ("certified", "refuted", "unproven")
    }
    assert codes == {"certified": 0, "refuted": 1, "unproven": 3}


def test_details_must_not_repeat_the_results_own_keys() -> None:
    with pytest.raises(ValueError, match="verdict"):
        verification(Decision("unproven", ()), details={"verdict": "certified"}).json()
