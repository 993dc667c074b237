"""Data from a subject's process are checked, and proofs are made by the process that was asked."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from mechanisms import Laplace
from verify import SubjectError, Verification, verify
from verify.findings.finding import UpperBound
from verify.verdict.answer import Answer, SubjectKind
from verify.verification import verification

FOLDER = Path(__file__).parent / "subjects"
MECHANISMS = FOLDER / "mechanisms_of_a_user.py"


def apart(subject: str, says: Any = lambda answer: answer, **options: Any) -> Verification:
    """Verify a file's subject whose process says something else than what was found."""
    found = verification._answer

    def said(subject, options, tell, tests, witness, known):
        def noted(answer: Answer) -> None:
            known(says(answer))

        return says(found(subject, options, tell, tests, witness, noted))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "_answer", said)
        return verify(subject, epsilon=1.0, effort="quick", samples=20_000, isolated=True, **options)


def with_upper(epsilon: float) -> Any:
    def says(answer: Answer) -> Answer:
        upper = UpperBound(epsilon, 0.0, "so it says")
        return dataclasses.replace(answer, evidence=dataclasses.replace(answer.evidence, upper=upper))

    return says


@pytest.mark.slow
@pytest.mark.slow_cells("LAPLACE")
@pytest.mark.parametrize("name", ["LAPLACE", "COMPOSED"])
def test_a_mechanism_of_this_library_is_certified_by_the_process_that_was_asked(name: str) -> None:
    result = apart(f"{MECHANISMS}:{name}", with_upper(0.25))
    assert result.verdict == "certified"
    assert result.upper is not None
    assert math.isclose(result.upper.epsilon, 1.0)


@pytest.mark.slow
def test_a_bound_on_another_mechanism_is_not_believed() -> None:
    def half(answer: Answer) -> Answer:
        return with_upper(0.5)(dataclasses.replace(answer, mechanism=Laplace(scale=0.5).to_dict()))

    result = apart(f"{MECHANISMS}:LAPLACE", half)
    assert result.verdict != "certified"
    assert result.upper is not None
    assert math.isclose(result.upper.epsilon, 2.0)


@pytest.mark.slow
def test_a_mechanism_that_cannot_be_made_here_rests_on_what_its_process_says() -> None:
    def forgets(answer: Answer) -> Answer:
        evidence = dataclasses.replace(answer.evidence, assumptions=[])
        return dataclasses.replace(with_upper(0.5)(answer), evidence=evidence, mechanism=None)

    result = apart(f"{MECHANISMS}:OWN", forgets)
    assert result.verdict == "unproven"
    assert "the description of your mechanism by the process that made it" in str(result.assumptions)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("subject", "says", "words"),
    [
        ("functions.py:laplace", with_upper(0.5), "an upper bound on a function"),
        ("functions.py:laplace", lambda answer: dataclasses.replace(answer, seed=1), "another seed"),
        (
            "functions.py:laplace",
            lambda answer: dataclasses.replace(answer, claim=dataclasses.replace(answer.claim, epsilon=2.0)),
            "another claim",
        ),
    ],
)  # fmt: skip
def test_what_a_process_cannot_know_is_refused(subject: str, says: Any, words: str) -> None:
    with pytest.raises(SubjectError, match=words):
        apart(f"{FOLDER}/{subject}", says)


@pytest.mark.slow
def test_a_subject_cannot_turn_into_another() -> None:
    first: list[bool] = []

    def turns(answer: Answer) -> Answer:
        first.append(True)
        return dataclasses.replace(answer, kind=SubjectKind.LEARNER if len(first) > 1 else answer.kind)

    result = apart(f"{FOLDER}/functions.py:laplace", turns)
    assert result.verdict == "unproven"
    assert "another subject than before" in str(result.findings)


@pytest.mark.slow
def test_what_a_file_changes_in_the_verifier_is_said() -> None:
    result = apart(f"{FOLDER}/patches_the_verifier.py:LAPLACE")
    assert result.verdict == "unproven"
    assert (
        "the replacement of verify.verification.verify_mechanism.likeliest_event"
        in result.decision.reasons[0].text
    )
