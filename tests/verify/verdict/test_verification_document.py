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
from verify.document.elements import Bullets
from verify.document.html_page import render_html
from verify.document.markdown_text import markdown
from verify.findings.finding import BETTING, Finding, FindingKind, LowerBound, UpperBound, Witness
from verify.findings.sentences import Basis, confident, exact
from verify.sampling.evidence import Evidence
from verify.verdict.result import Verification
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import decide
from verify.verdict.verification_document import verification_document

CLAIM = ClaimForm("local", View.MESSAGE, "one report", "Theorem 7").with_parameters(1.0, 1e-5)
WITNESS = Witness(
    {"data": "all 0", "data_prime": "all 1"},
    "it is at most 0",
    0.5,
    0.07,
    reproduce="dpwitness verify x",
    hits=500,
    hits_prime=70,
    trials=1000,
)
FLOOR = exact("An event of probability below 0.1 is too rare.")
BAND = {
    "said": confident("δ(0) ≥ 0.25 ({confidence} simultaneous confidence).", 0.95).to_dict(),
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
    decision = decide(CLAIM, Evidence(upper=upper, lower=lower, **found))
    made = Provenance(
        "2026-11-23T18:00:00+00:00", {"dpwitness": "0.1.0"}, {"dpwitness": "ab12", "subject": "cd34"}
    )
    details = {
        "detection_floor": FLOOR.to_dict(),
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
    details={"black_box": {"significance": 1e-4}},
)
PASSED = verification(
    SubjectKind.FUNCTION,
    UpperBound(math.inf, 1.0, "unknown"),
    LowerBound(0.4, 1e-5, 0.95, "test", 1000),
)
UNPROVEN = verification(
    SubjectKind.LEARNER,
    None,
    None,
    witness=None,
    findings=(Finding(FindingKind.CRASH, "mine.py:3", exact("raised")),),
    assumptions=(Assumption(AssumptionKind.CLAIM, "your class is quiet", "mine.py:1"),),
)


def said(result: Verification) -> str:
    return markdown([verification_document(result)], "made now")


@pytest.mark.parametrize("result", [CERTIFIED, REFUTED, PASSED, UNPROVEN])
def test_it_answers_what_a_stranger_asks(result: Verification) -> None:
    text = said(result)
    assert text.startswith(f"# {result.verdict.upper()}: mine, ε = 1, δ = 1e-05")
    for words in (
        "and is right half of the time before seeing one user's message, is right at most 73.11 % of the time after",
        "mine is (1, 1e-05)-differentially private (local model). Unit of privacy: one report, which enters "
        "once.",
        "probabilities within a factor e^ε = 2.71829, up to δ = 1e-05.",
        "A person with k records has k·ε and δ·(e^{kε} − 1)/(e^ε − 1).",
        "| Unit of privacy | one report |",
        "| Neighbouring relation | one record replaced by any other (replace one) |",
        "| Source of the claim | Theorem 7 |",
        "| Date | 2026-11-23 18:00:00 UTC |",
        "| Versions | dpwitness 0.1.0 |",
        "ab12",
        "cd34",
        "Seed 7;",
        "Another seed is an independent check.",
        "| Arithmetic | real numbers",
        "- dpwitness (digest below), Python and the libraries listed below",
        "<details><summary>Privacy profile δ(ε)</summary>",
        "claim 1",
    ):
        assert words in text
    assert ("dpwitness verify x" in text) == (result.witness is not None)
    order = [
        "Claimed |",
        "Found |",
        "How sure |",
        "Assumed |",
        "## The claim",
        "## Privacy loss",
        "## Why",
        "## Assumptions",
        "## Reproduce",
    ]
    places = [text.index(title) for title in order]
    assert places == sorted(places)


def test_each_verdict_says_what_it_is_worth() -> None:
    assert (
        "**Proved: someone who guesses which of two values one report has, and is right half of the time"
        in said(CERTIFIED)
    )
    assert "The upper bound is a proof for all data and all attacks on the claimed output." in said(CERTIFIED)
    assert "Basic composition: C. Dwork" in said(CERTIFIED)
    refuted = said(REFUTED)
    assert "## Counterexample" in refuted
    assert (
        "**The promise is broken: more can be learned about one report from one user's message than claimed"
        in refuted
    )
    assert "(at 99.99 % confidence: at most 0.0001 of such verifications reject a true claim)" in refuted
    assert "a true claim is rejected with probability at most 0.0001." in refuted
    assert f"Without the proof, the tests alone:\n\n{FLOOR}" in said(CERTIFIED)
    assert "accountant, which blocks any release that would exceed the claim" in said(CERTIFIED)
    assert "too rare" not in refuted
    assert "**Tested, not proved: 1,000 draws did not contradict the claim" in said(PASSED)
    assert "A violation that they did not search for may remain." in said(PASSED)
    unproven = said(UNPROVEN)
    assert "- your class is quiet, mine.py:1" in unproven
    assert "| crash | raised | blocking | mine.py:3 |" in unproven
    assert "**Open: neither proved nor disproved" in unproven


def test_a_black_box_with_a_failing_check_did_not_pass() -> None:
    failing = verification(PASSED.kind, PASSED.upper, PASSED.lower, findings=UNPROVEN.findings)
    assert "Tested, not proved" not in said(failing)
    assert "| Arithmetic | real numbers" in said(failing)


def test_what_the_last_bits_tell_is_said_first() -> None:
    """A claim about real numbers that stands, of a program that leaks all the same."""
    shown = confident("floating point: ε ≥ 4 ({confidence} confidence)", 0.95)
    leak = Finding(FindingKind.FLOATING_POINT, "", shown, False)
    found = verification(PASSED.kind, PASSED.upper, PASSED.lower, findings=(leak,))
    told = replace(
        found, details={**found.details, "floating_point": {"epsilon_lower": 4.0, "confidence": 0.95}}
    )
    assert "in real arithmetic; in floating-point arithmetic ε ≥ 4 (95 % confidence).**" in said(told)
    assert "| Arithmetic | real numbers; leaks through rounding are reported but not counted" in said(told)
    assert f"| floating-point | {shown} | not counted |" in said(told)
    counted = verification(PASSED.kind, PASSED.upper, PASSED.lower, findings=(replace(leak, failing=True),))
    assert "| Arithmetic | floating point, as executed |" in said(counted)


def test_only_a_proof_is_drawn_as_the_place_of_the_true_one() -> None:
    def caption(result: Verification) -> bool:
        return "the true ε lies in the bar" in render_html([verification_document(result)], "made now")

    assert caption(CERTIFIED)
    assert not any(map(caption, (REFUTED, PASSED, UNPROVEN)))
    assert caption(verification(SubjectKind.MECHANISM, UpperBound(2.0, 0.0, "its profile"), CERTIFIED.lower))


def test_a_paper_is_named_with_its_authors() -> None:
    claim = replace(CLAIM, source="matroid bandits paper, Algorithm 2, Theorem 1")
    assert "K. Chandak, B. Hu, N. Hegde" in said(replace(CERTIFIED, claim=claim))


def test_exact_bounds_involve_no_chance() -> None:
    bound = LowerBound(math.inf, 1e-5, 1.0, "exact losses", 0, decisive=True)
    assert "The lower bound is exact." in said(verification(SubjectKind.LEARNER, None, bound))


def test_where_the_tests_saw_no_difference_one_sentence_says_so_and_no_event_is_shown() -> None:
    both = replace(WITNESS, probability=1.0, probability_prime=1.0, hits=1000, hits_prime=1000)
    lower = LowerBound(0.0, 1e-5, 0.95, "black-box test", 2000)
    text = said(verification(SubjectKind.LEARNER, CERTIFIED.upper, lower, witness=both))
    said_of_delta = "a difference of more than δ = 1e-05 in the probability of an event is not significant"
    assert f"{said_of_delta} at 95 % confidence in 2,000 draws." in text
    assert "## Most distinguishing event" not in text
    assert "1,000 of 1,000" not in text


EVENT = replace(WITNESS, probability=1.0, probability_prime=0.0, hits=1000, hits_prime=0)


@pytest.mark.parametrize(
    ("witness", "bases", "words"),
    [
        (
            EVENT,
            {Basis.OBSERVED, Basis.CONFIDENT},
            "Seen in all 1,000 draws on D and in none of 1,000 on D′.",
        ),
        (
            replace(EVENT, hits=900, probability=0.9),
            {Basis.OBSERVED, Basis.CONFIDENT},
            "Not seen in 1,000 draws on D′.",
        ),
        (WITNESS, {Basis.OBSERVED}, "(estimated from 1,000 draws a side)"),
        (replace(EVENT, trials=None), {Basis.EXACT}, "identifies D with certainty: δ = 1 at every ε."),
        (replace(EVENT, trials=None, probability=0.5), {Basis.EXACT}, "The event is impossible on D′"),
    ],
)
def test_counts_say_what_counts_say_and_exact_probabilities_more(
    witness: Witness, bases: set[Basis], words: str
) -> None:
    sure = {"confidence": 1.0, "samples": 0} if witness.trials is None else {}
    lower = replace(REFUTED.lower, **sure)  # type: ignore[type-var]
    document = verification_document(verification(SubjectKind.FUNCTION, None, lower, witness=witness))
    (section,) = (each for each in document.sections if each.title == "Counterexample")
    (meaning,) = (block for block in section.blocks if isinstance(block, Bullets))
    assert {each.basis for each in meaning.items} == bases
    assert words in " ".join(map(str, meaning.items))


def test_both_bounds_of_an_event_that_was_seen_on_one_side_alone_are_those_of_the_report() -> None:
    event = replace(EVENT, details={"delta_lower": 0.98765432})
    text = said(verification(SubjectKind.FUNCTION, None, REFUTED.lower, witness=event))
    assert "With 99.99 % confidence: δ ≥ 0.987654 at ε = 1, and ε ≥ 1.8 at δ = 1e-05." in text


@pytest.mark.parametrize("event", [EVENT, WITNESS])
def test_the_bound_of_all_bets_is_not_said_of_the_likelihood_ratio_of_one_event(event: Witness) -> None:
    lower = replace(REFUTED.lower, method=BETTING)  # type: ignore[type-var]
    text = said(verification(SubjectKind.FUNCTION, None, lower, witness=event))
    assert "All bets together: ε ≥ 1.8 at δ = 1e-05 (99.99 % confidence)." in text
    assert "≥ 6.04964 with" not in text
    assert "With 99.99 % confidence" not in text
    of_the_event = said(verification(SubjectKind.FUNCTION, None, REFUTED.lower, witness=event))
    assert "≥ 6.04964 with 99.99 % confidence" in of_the_event


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
    assert render_html([verification_document(loaded)], "made")
    assert str(loaded)


def test_a_result_shows_itself_in_a_notebook_as_on_the_page() -> None:
    shown = CERTIFIED._repr_html_()
    assert "✓ CERTIFIED" in shown
    assert "<svg" in shown
    assert "<html" not in shown
    assert Verification.from_json(CERTIFIED.json())._repr_html_() == shown
