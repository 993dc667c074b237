"""A stranger who reads the document alone can say what was claimed, what was found, how sure it is, and repeat it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant.provenance import Provenance
from algorithms.claim import ClaimForm, View
from mechanisms import Assumption, AssumptionKind
from verify.document.html_page import page
from verify.document.markdown_text import markdown
from verify.findings import Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.verdict.answer import SubjectKind
from verify.verdict.result import Verification
from verify.verdict.verdict import decide
from verify.verdict.verification_document import verification_document

CLAIM = ClaimForm("local", View.MESSAGE, "one report", "Theorem 7").at(1.0, 1e-5)
WITNESS = Witness(
    {"data": "all 0", "data_prime": "all 1"},
    "it is at most 0",
    0.5,
    0.07,
    "dpwitness verify x",
    {},
    500,
    70,
    1000,
)
BAND = {
    "words": "the whole curve: δ is at least 0.25",
    "confidence": 0.95,
    "epsilon": [0.0, 0.5],
    "delta_lower": [0.25, 0.0],
    "delta_upper": [0.5, 0.3],
    "delta_upper_by": "the profile",
    "trade_off": {"alpha": [0.0, 1.0], "beta_upper": [1.0, 0.0]},
}  # fmt: skip


def verification(
    kind: SubjectKind, upper: UpperBound | None, lower: LowerBound | None, **more: Any
) -> Verification:
    given = {"findings": (), "assumptions": (), "witness": WITNESS, **more}
    found = {key: given[key] for key in ("findings", "assumptions", "witness")}
    decision = decide(CLAIM, upper=upper, lower=lower, **found)
    made = Provenance(
        "2026-11-23T18:00:00+00:00", {"dpwitness": "0.1.0"}, {"dpwitness": "ab12", "subject": "cd34"}
    )
    details = {
        "detection_floor": "With few draws a rare leak goes unseen.",
        "band": BAND,
        **more.get("details", {}),
    }
    return Verification(
        "mine", kind, CLAIM, decision, upper, lower, seed=7, provenance=made, details=details, **found
    )


CERTIFIED = verification(
    SubjectKind.LEARNER, UpperBound(1.0, 0.0, "basic composition"), LowerBound(0.5, 1e-5, 0.95, "test", 1000)
)
REFUTED = verification(
    SubjectKind.FUNCTION,
    None,
    LowerBound(1.8, 1e-5, 0.9999, "black-box test", 1000, decisive=True),
    details={"black_box": {"false_alarm": 1e-4}},
)
PASSED = verification(
    SubjectKind.FUNCTION,
    UpperBound(math.inf, 1.0, "none: unknown"),
    LowerBound(0.4, 1e-5, 0.95, "test", 1000),
)
UNPROVEN = verification(
    SubjectKind.LEARNER,
    None,
    None,
    witness=None,
    findings=(Finding(FindingKind.CRASH, "mine.py:3", "the learner raised"),),
    assumptions=(Assumption(AssumptionKind.CLAIM, "your class is quiet", "mine.py:1"),),
)


def said(result: Verification) -> str:
    return markdown([verification_document(result)], "made now")


@pytest.mark.parametrize("result", [CERTIFIED, REFUTED, PASSED, UNPROVEN])
def test_it_answers_what_a_stranger_asks(result: Verification) -> None:
    text = said(result)
    assert text.startswith(f"# {result.verdict.upper()}: mine, ε = 1, δ = 1e-05")
    for words in (
        "mine claims ε = 1, δ = 1e-05 differential privacy in the local model.",
        "differ by a factor of at most e^ε = 2.71828, but for a probability of δ = 1e-05. Whoever is k records at once",
        "| what is protected (the unit) | one report |",
        "| neighbours | one record replaced by any other (replace one) |",
        "| claimed in | Theorem 7 |",
        "## How sure this is, and its limits",
        "| found on | 2026-11-23 18:00:00 UTC |",
        "| versions | dpwitness 0.1.0 |",
        "ab12",
        "cd34",
        "The seed is 7",
        "Another seed makes an independent check.",
        "| arithmetic | real numbers",
        "- dpwitness itself (its digest is below), Python, and the libraries below",
        "<details><summary>The whole privacy curve, for specialists</summary>",
        "claim 1",
    ):
        assert words in text
    assert ("dpwitness verify x" in text) == (result.witness is not None)
    order = [
        "## The claim",
        "## Why",
        "## Privacy loss",
        "## What it rests on",
        "## How sure",
        "## See it again",
    ]
    places = [text.index(title) for title in order]
    assert places == sorted(places)


def test_each_verdict_says_what_it_is_worth() -> None:
    assert "it holds for all data and all attacks in the claimed view" in said(CERTIFIED)
    assert "With few draws a rare leak goes unseen." in said(CERTIFIED)
    assert "Basic composition: C. Dwork" in said(CERTIFIED)
    refuted = said(REFUTED)
    assert "## Witness" in refuted
    assert "the probability that such a verification refutes a true claim is at most 0.0001." in refuted
    assert "The tests by themselves, without the proof: With few draws" in said(CERTIFIED)
    assert "accountant, which refuses, before anything is drawn" in said(CERTIFIED)
    assert "goes unseen" not in refuted
    assert "**Nothing was found against the claim." in said(PASSED)
    assert "never that it is true" in said(PASSED)
    unproven = said(UNPROVEN)
    assert "- your class is quiet, mine.py:1" in unproven
    assert "| crash | the learner raised | no certificate | mine.py:3 |" in unproven
    assert "neither proved nor refuted" in unproven


def test_a_black_box_with_a_failing_check_did_not_pass() -> None:
    failing = verification(PASSED.kind, PASSED.upper, PASSED.lower, findings=UNPROVEN.findings)
    assert "Nothing was found" not in said(failing)
    assert "| arithmetic | real numbers" in said(failing)


def test_what_the_last_bits_tell_is_said_first() -> None:
    """A claim about real numbers that stands, of a program that leaks all the same."""
    leak = Finding(
        FindingKind.FLOATING_POINT, "", "in floating-point arithmetic epsilon is at least 4", False
    )
    found = verification(PASSED.kind, PASSED.upper, PASSED.lower, findings=(leak,))
    told = replace(found, details={**found.details, "floating_point": {"epsilon_lower": 4.0}})
    assert "**Nothing was found against the claim about real numbers. As it is executed" in said(told)
    assert "ε is at least 4: see Findings.**" in said(told)
    assert "| arithmetic | real numbers: what only the last bits" in said(told)
    assert (
        "| floating-point | in floating-point arithmetic epsilon is at least 4 | does not count here |"
        in said(told)
    )
    counted = verification(PASSED.kind, PASSED.upper, PASSED.lower, findings=(replace(leak, failing=True),))
    assert "| arithmetic | as the machine rounds it (--floating-point) |" in said(counted)


def test_only_a_proof_is_drawn_as_the_place_of_the_true_one() -> None:
    def caption(result: Verification) -> bool:
        return "the true one lies in the bar" in page([verification_document(result)], "made now")

    assert caption(CERTIFIED)
    assert not any(map(caption, (REFUTED, PASSED, UNPROVEN)))
    assert caption(verification(SubjectKind.MECHANISM, UpperBound(2.0, 0.0, "its profile"), CERTIFIED.lower))


def test_a_paper_is_named_with_its_authors() -> None:
    claim = replace(CLAIM, source="matroid bandits paper, Algorithm 2, Theorem 1")
    assert "K. Chandak, B. Hu, N. Hegde" in said(replace(CERTIFIED, claim=claim))


def test_exact_bounds_involve_no_chance() -> None:
    exact = LowerBound(math.inf, 1e-5, 1.0, "exact losses", 0, decisive=True)
    assert "no chance is involved" in said(verification(SubjectKind.LEARNER, None, exact))


def test_an_event_of_probability_0_gives_nothing_away() -> None:
    nowhere = replace(WITNESS, probability=0.0, probability_prime=0.0, hits=None, trials=None)
    text = said(verification(SubjectKind.MECHANISM, CERTIFIED.upper, CERTIFIED.lower, witness=nowhere))
    assert "The event is seen on neither" in text
    assert "gives D away" not in text


def _places(data: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place, *(found for key, value in inner for found in _places(value, (*place, key)))]


@settings(max_examples=30)
@given(
    st.sampled_from(_places(REFUTED.json())[1:]),
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(max_size=3),
        st.just("inf"),
        st.just([]),
    ),
)
def test_whatever_loads_can_be_shown(place: tuple[Any, ...], value: Any) -> None:
    data = inside = REFUTED.json()
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    try:
        loaded = Verification.from_json(data)
    except ValueError:
        return
    assert said(loaded)
    assert page([verification_document(loaded)], "made")
    assert str(loaded)


def test_a_result_shows_itself_in_a_notebook_as_on_the_page() -> None:
    shown = CERTIFIED._repr_html_()
    assert "✓ CERTIFIED" in shown
    assert "<svg" in shown
    assert "<html" not in shown
    assert Verification.from_json(CERTIFIED.json())._repr_html_() == shown
