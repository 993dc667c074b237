"""A sentence's words are no stronger than its basis, and it states its confidence or its number of draws."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant.files.json_form import json_able
from accountant.files.json_object import JsonObject
from verify.findings.finding import Statement
from verify.findings.sentences import Basis, Sentence, confident, exact, observed, read_sentence, remark


@pytest.mark.parametrize(
    ("text", "basis", "more", "message"),
    [
        (
            "no privacy at all (δ = 1, whatever ε)",
            Basis.OBSERVED,
            {"draws": 9},
            "'no privacy' needs exact evidence",
        ),
        ("it never varied in 1,000 calls", Basis.OBSERVED, {"draws": 1000}, "'never' needs exact evidence"),
        ("There is no noise", Basis.METADATA, {}, "'There is no' needs exact evidence"),
        (
            "the event is impossible (95 % confidence)",
            Basis.CONFIDENT,
            {"confidence": 0.95},
            "'impossible' needs",
        ),
        ("ε ≥ 1", Basis.CONFIDENT, {"confidence": 0.95}, "must state its confidence"),
        ("ε ≥ 1 (95 % confidence)", Basis.CONFIDENT, {"confidence": 0.99}, "must state its confidence"),
        ("ε ≥ 1 (95 % confidence)", Basis.CONFIDENT, {}, "must state its confidence"),
        ("ε ≥ 1 (101 % confidence)", Basis.CONFIDENT, {"confidence": 1.01}, "must state its confidence"),
        ("seen once", Basis.OBSERVED, {"draws": 12}, "must state its number of draws"),
        ("seen in 12 draws", Basis.OBSERVED, {}, "must state its number of draws"),
    ],
)
def test_words_that_are_stronger_than_the_evidence_are_refused(text, basis, more, message):
    with pytest.raises(ValueError, match=message):
        Sentence(text, basis, **more)


def test_exact_evidence_may_say_it_in_absolute_words():
    assert exact("The event is impossible on D′.").basis is Basis.EXACT


def test_names_and_error_messages_are_somebody_elses_words():
    found = Statement.RAISED.finding("a.py:1", error=ValueError("cannot, never"))
    assert found.message == "raised ValueError: cannot, never"
    said = observed("{name}: {draws:,} runs printed {text!r}", 5, name="never.py", text="every\nday")
    assert str(said) == "never.py: 5 runs printed 'every\\nday'"
    with pytest.raises(ValueError, match="'never' needs"):
        observed("{name} never varied in {draws:,} runs", 5, name="never.py")


texts = st.text(max_size=20)


@given(st.sampled_from([exact, remark]), texts, texts)
def test_a_sentence_comes_back_from_json(make, first, second):
    said = make("{first} and {second}", first=first, second=second)
    assert read_sentence(JsonObject(json.loads(json.dumps(json_able(said))), "it")) == said


@given(st.floats(0.0, 1.0, exclude_min=True), st.integers(1, 10**9), texts)
def test_any_confidence_and_number_of_draws_can_be_stated(confidence, draws, text):
    for said in (
        confident("{text}: {confidence} confidence", confidence, draws, text=text),
        observed("{text}: {draws:,} draws", draws, text=text),
    ):
        assert read_sentence(JsonObject(json.loads(json.dumps(json_able(said))), "it")) == said
