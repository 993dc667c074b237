"""The verdict rules, case by case."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.claim import Claim
from mechanisms import Neighbouring
from verify.findings.finding import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.findings.sentences import Basis, exact
from verify.sampling.evidence import Evidence
from verify.verdict.verdict import decide

CLAIM = Claim("local", 1.0, 1e-5, "one report", Neighbouring.REPLACE_ONE, "one user's message")
WITHIN = UpperBound(1.0, 1e-5, "per-record ledger")
ABOVE = UpperBound(2.0, 1e-5, "per-record ledger")
HARMLESS = LowerBound(0.98, 1e-5, 0.99, "black-box test", 1000)
DECISIVE = LowerBound(1.8, 1e-5, 0.99, "black-box test", 1000, decisive=True)
WITNESS = Witness(
    {"data": "0", "data_prime": "1"}, "the value is at most 0", 0.5, 0.07, reproduce="dpwitness verify x"
)
REMARK = Finding(FindingKind.WARNS, "", exact("Noise came from NumPy."), failing=False)
FAILURE = Finding(FindingKind.DOMAIN, "learner.py:7", exact("A reward was outside [0, 1]."))


def test_a_proof_without_contradiction_is_certified() -> None:
    decision = decide(CLAIM, Evidence(upper=WITHIN, lower=HARMLESS, witness=None, findings=[REMARK]))
    assert decision.verdict == "certified"
    assert "ε ≤ 1 at δ = 1e-05" in decision.reasons[0].text
    assert decide(CLAIM, Evidence(upper=WITHIN, lower=None, witness=None)).verdict == "certified"
    assert (
        decide(CLAIM, Evidence(upper=UpperBound(0.5, 0.0, "x"), lower=None, witness=None)).verdict
        == "certified"
    )


@pytest.mark.parametrize(
    ("changed", "first_reason"),
    [
        ({"upper": None}, "Upper bound: none; the accounting did not finish."),
        ({"declassified": ["learner.py:3"]}, "Raw data were used without noise (learner.py:3)"),
        ({"findings": [REMARK, FAILURE]}, "A reward was outside [0, 1] (learner.py:7)."),
        ({"contradictions": [exact("A coupled run lost 3.")]}, "A coupled run lost 3."),
        ({"upper": ABOVE}, "Upper bound ε ≤ 2 at δ = 1e-05 exceeds the claim, ε = 1, δ = 1e-05."),
        (  # 1.00001 was printed, as if it were measured
            {"upper": UpperBound(1.0000000000000002, 0.0, "x"), "lower": None},
            "Upper bound ε ≤ 1.0000000000000002 at δ = 0 exceeds the claim, ε = 1, δ = 1e-05.",
        ),
        (
            {"upper": UpperBound(0.5, 0.0, "some runs", every_run=False)},
            "is of these runs only: the claim was not enforced",
        ),
        ({"upper": UpperBound(math.inf, 1e-5, "x"), "lower": None}, "Upper bound: none (x)."),
        (
            {"upper": UpperBound(math.inf, 1e-5, "x")},
            "The tests did not contradict the claim; lower bound ε ≥ 0.98",
        ),
        ({"upper": UpperBound(math.inf, 1e-5, "x"), "findings": [FAILURE]}, "A reward was outside"),
        ({"upper": UpperBound(1.0, 1e-4, "x")}, "Upper bound ε ≤ 1 at δ = 0.0001"),
        ({"upper": UpperBound(np.nextafter(1.0, 2.0), 1e-5, "x")}, "exceeds the claim"),
        ({"lower": DECISIVE}, "without a counterexample"),
    ],
)
def test_whatever_stands_in_the_way_leaves_it_unproven(changed: dict[str, Any], first_reason: str) -> None:
    found: dict[str, Any] = {"upper": WITHIN, "lower": HARMLESS, "witness": None, **changed}
    decision = decide(CLAIM, Evidence(**found))
    assert decision.verdict == "unproven"
    assert first_reason in decision.reasons[0].text


def test_a_decisive_bound_in_the_view_with_a_witness_refutes() -> None:
    decision = decide(CLAIM, Evidence(upper=ABOVE, lower=DECISIVE, witness=WITNESS))
    assert decision.verdict == "refuted"
    assert "Lower bound ε ≥ 1.8" in decision.reasons[0].text
    assert decision.reasons[0].basis is Basis.CONFIDENT
    assert not any(
        "pper bound" in reason.text for reason in decision.reasons
    )  # that nothing is proved refutes nothing
    infinite = LowerBound(math.inf, 1e-5, 1.0, "enumeration", 0, decisive=True)
    assert decide(CLAIM, Evidence(upper=None, lower=infinite, witness=WITNESS)).verdict == "refuted"


def test_a_refutation_stands_against_a_ledger_that_says_otherwise() -> None:
    decision = decide(CLAIM, Evidence(upper=WITHIN, lower=DECISIVE, witness=WITNESS))
    assert decision.verdict == "refuted"
    assert "one of its declarations or samplers is wrong" in decision.reasons[1].text


@pytest.mark.parametrize(
    "weak",
    [
        replace(DECISIVE, decisive=False),
        replace(DECISIVE, in_view=False),
        replace(DECISIVE, epsilon=1.0),
        replace(DECISIVE, delta=0.0),
    ],
    ids=[
        "at the reported confidence only",
        "of more than the view",
        "equal to the claim",
        "at a smaller delta",
    ],
)
def test_a_bound_short_of_a_refutation_neither_refutes_nor_undoes_a_proof(weak: LowerBound) -> None:
    assert decide(CLAIM, Evidence(upper=WITHIN, lower=weak, witness=WITNESS)).verdict == "certified"
    assert decide(CLAIM, Evidence(upper=ABOVE, lower=weak, witness=WITNESS)).verdict == "unproven"


def test_a_bound_short_of_a_refutation_is_explained() -> None:
    for weak, words in (
        ({"decisive": False}, "stricter level"),
        ({"in_view": False}, "stronger adversary"),
    ):
        decision = decide(CLAIM, Evidence(upper=ABOVE, lower=replace(DECISIVE, **weak), witness=WITNESS))  # type: ignore[arg-type]
        assert words in decision.reasons[-1].text


bounds = st.floats(0.0, 5.0) | st.just(math.inf)


@given(bounds, bounds, st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_the_rules_hold_for_every_combination(
    high: float, low: float, decisive: bool, in_view: bool, seen: bool, failing: bool, declassified: bool
) -> None:
    lower = LowerBound(low, 1e-5, 0.99, "test", 10, in_view=in_view, decisive=decisive)
    decision = decide(
        CLAIM,
        Evidence(
            upper=UpperBound(high, 1e-5, "ledger"),
            lower=lower,
            witness=WITNESS if seen else None,
            findings=[FAILURE] if failing else [REMARK],
            declassified=["here"] if declassified else [],
        ),
    )
    assert (decision.verdict == "refuted") == (low > 1.0 and decisive and in_view and seen)
    if decision.verdict == "certified":
        assert high <= 1.0
        assert not failing
        assert not declassified
        assert not (low > 1.0 and decisive and in_view)
    assert decision.reasons
