"""The whole result: its JSON form and its exit code."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.provenance import Provenance
from algorithms.claim import ClaimForm, View
from mechanisms import Assumption, AssumptionKind
from verify.findings.finding import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.findings.sentences import exact, remark
from verify.verdict.result import Verification
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import Decision

CLAIM = ClaimForm("local", View.MESSAGE, "one report", "the docstring").with_parameters(1.0, 1e-5)
WITNESS = Witness(
    {"data": "0", "data_prime": "1"}, "the value is at most 0", 0.5, 0.07, reproduce="dpwitness verify x"
)
DECISIVE = LowerBound(1.8, 1e-5, 0.99, "black-box test", 1000, decisive=True)
REMARK = Finding(FindingKind.WARNS, "", exact("Noise came from NumPy."), failing=False)
BECAUSE = exact("because")
FAILURE = Finding(FindingKind.DOMAIN, "learner.py:7", exact("A reward was outside [0, 1]."))


def verification(decision: Decision, **changed: Any) -> Verification:
    fields: dict[str, Any] = {
        "subject": "cucb-ldp2",
        "kind": SubjectKind.LEARNER,
        "claim": CLAIM,
        "decision": decision,
        "upper": UpperBound(math.inf, 1.0, "declassified"),
        "lower": LowerBound(math.inf, 1e-5, 1.0, "enumeration", 0, decisive=True),
        "witness": WITNESS,
        "findings": (FAILURE,),
        "seed": 7,
        "provenance": Provenance("2026-11-23T18:00:00+00:00", {"dpwitness": "0.1.0"}, {"subject": "ab12"}),
        **changed,
    }
    return Verification(**fields)


def test_json_has_the_stable_keys_and_no_infinity() -> None:
    result = verification(
        Decision("refuted", (BECAUSE,)),
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
    assert data["upper"] == {"epsilon": "inf", "delta": 1.0, "method": "declassified", "every_run": True}
    assert data["lower"].keys() >= {"epsilon", "delta", "confidence", "method", "samples"}
    assert data["findings"][0].keys() >= {"kind", "where", "sentence", "failing"}
    assert data["findings"][0]["sentence"] == {
        "text": "A reward was outside [0, 1].", "basis": "exact", "confidence": None, "draws": None, "quoted": []
    }  # fmt: skip
    assert data["claim"]["relation"] == "replace one"
    assert data["witness"]["neighbours"] == {"data": "0", "data_prime": "1"}
    assert data["coupled"] == {"largest_loss": "inf"}
    assert (data["rounds"], data["scale"]) == ([0, 1], "-inf")


def test_json_of_nothing_is_null() -> None:
    data = verification(Decision("unproven", (BECAUSE,)), upper=None, lower=None, witness=None).json()
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


CERTIFIED = verification(
    Decision("certified", (BECAUSE,)),
    upper=UpperBound(1.0, 0.0, "basic composition"),
    lower=LowerBound(0.5, 1e-5, 0.95, "black-box test", 1000),
    witness=None,
    findings=(REMARK,),
)
BAND: dict[str, Any] = {
    "said": {"text": "the curve", "basis": "metadata", "confidence": None, "draws": None, "quoted": []},
    "confidence": 0.95,
    "epsilon": [0.0, 0.5],
    "delta_lower": [0.25, 0.1],
    "delta_upper": [0.5, 0.3],
    "delta_upper_by": "the profile",
    "trade_off": {"alpha": [0.0, 1.0], "beta_upper": [1.0, 0.0]},
}
SHOWN = {
    "band": BAND,
    "coupled": {"largest_loss": math.inf},
    "tested_view": "all",
    "anytime": {"said": {**BAND["said"], "text": "bets"}},
}
REFUTED = verification(Decision("refuted", (BECAUSE,)), details={**SHOWN, "more": [math.inf, None]})
UNPROVEN = verification(Decision("unproven", (BECAUSE,)), upper=None, lower=None, witness=None, findings=())


@pytest.mark.parametrize("result", [CERTIFIED, REFUTED, UNPROVEN], ids=lambda result: result.verdict)
def test_a_result_loads_back_exactly(result: Verification, tmp_path: Path) -> None:
    written = json.dumps(result.json(), allow_nan=False)
    (tmp_path / "result.json").write_text(written)
    loaded = Verification.load(tmp_path / "result.json")
    assert json.dumps(loaded.json()) == written
    assert replace(loaded, details={}) == replace(result, details={})
    assert str(loaded) == str(result)


@given(
    st.floats(0, allow_nan=False),
    st.floats(0, 1),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.integers(0),
)
def test_every_number_and_text_comes_back(epsilon: float, delta: float, text: str, count: int) -> None:
    result = verification(
        Decision("unproven", (remark("{text}", text=text),)),
        subject=text,
        upper=UpperBound(epsilon, delta, text),
        lower=LowerBound(epsilon, delta, 1.0, text, count, in_view=False),
        witness=Witness(
            {"data": text, "data_prime": text, text: text},
            text,
            delta,
            delta,
            reproduce=text,
            details={text: text},
            hits=count,
        ),
        assumptions=(Assumption(AssumptionKind.CLAIM, text, text),),
        details={f"my {text}": [count, epsilon, None, True]},
    )
    assert Verification.loads(json.dumps(result.json())).json() == result.json()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"verdict": "certified"}, "verdict is 'certified', and what stands beside it makes it 'refuted'"),
        (
            {"verdict": "sure"},
            "verdict of the result must be one of 'certified', 'refuted', 'unproven', got 'sure'",
        ),
        ({"verdict": "unproven"}, "makes it 'refuted'"),
        ({"witness": None}, "witness of the result must follow"),
        ({"seed": -1}, "seed of the result is negative"),
        ({"seed": 1.5}, "seed of the result is of type float"),
        ({"upper": {"epsilon": "much", "delta": 0, "method": ""}}, "epsilon of upper is no number"),
        (
            {"upper": {"epsilon": -1, "delta": 0, "method": "", "every_run": True}},
            "upper: epsilon must be at least 0, got -1",
        ),
        ({"reasons": "because"}, "reasons of the result is of type str"),
        ({"format": "version 0"}, "format of the result must be one of 'dpwitness verification, version 1'"),
        ({"claim": {}}, "claim has no model"),
        ({"findings": [{"kind": "new"}]}, "one of findings"),
        ({"band": {**BAND, "epsilon": [0.0]}}, "curves of band must be of one length each"),
        ({"band": {**BAND, "delta_upper_by": None}}, "delta_upper of band is of type list"),
        ({"band": {**BAND, "epsilon": [0.0, "x"]}}, "epsilon of band is no number"),
        ({"band": {**BAND, "epsilon": [0.0, "inf"]}}, "epsilon of band must be numbers from 0 to 1e+300"),
        ({"anytime": {}}, "anytime has no said"),
        ({"coupled": {"largest_loss": None}}, "largest_loss of coupled is of type NoneType"),
        ({"tested_view": 3}, "tested_view is no text"),
    ],
)
def test_a_bad_file_is_refused_by_its_name_the_field_and_the_rule(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({**REFUTED.json(), **changed}))
    with pytest.raises(ValueError, match=r"mine\.json: .*" + re.escape(message)):
        Verification.load(file)


def test_words_that_do_not_go_with_the_relation_are_refused() -> None:
    data = REFUTED.json()
    data["claim"]["neighbours"] = "nothing at all"
    with pytest.raises(ValueError, match="neighbours of claim must follow"):
        Verification.from_json(data)


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b"{", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 10**5]
)
def test_what_is_no_result_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"mine\.json: "):
        Verification.load(file)


@pytest.mark.parametrize("key", [key for key in REFUTED.json() if key not in (*SHOWN, "more")])
def test_no_key_can_be_left_out(key: str) -> None:
    with pytest.raises(ValueError, match=f"the result has no {key}"):
        Verification.from_json({name: value for name, value in REFUTED.json().items() if name != key})
