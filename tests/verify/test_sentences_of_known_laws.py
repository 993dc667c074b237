"""No sentence of a report rests on counts and says more than counts say: on subjects of known laws, and in all reports.

The words alone do not show it, so that the basis is looked at, too: what a black box is said to be exactly is false of
one that does something else once in a million calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from mechanisms import Integers
from tests.browser import example_documents
from verify import PlainBandit, ReplaceOne, Verification, claimed, verify
from verify.document.elements import (
    Block,
    Bullets,
    Details,
    Document,
    Facts,
    Paragraph,
    Photo,
    Picture,
    TextTable,
)
from verify.findings.finding import FindingKind
from verify.findings.sentences import Basis, Sentence
from verify.verdict.verification_document import verification_document

_STRONG = re.compile(
    r"\b(no|never|always|whatever|every|without error|impossible|cannot|there is no)\b", re.IGNORECASE
)
_DATA = ReplaceOne(Integers(0, 1), records=1)


def sentences_in(blocks: Iterable[Block]) -> Iterator[Any]:
    """Yield what stands in blocks, in their tables and pictures too."""
    for block in blocks:
        match block:
            case Paragraph(text):
                yield text
            case Bullets(items):
                yield from items
            case Facts(pairs):
                yield from (words for _, words in pairs)
            case TextTable(_, rows):
                yield from (cell for row in rows for cell in row)
            case Picture(words=words) | Photo(words=words):
                yield words
            case Details(_, inner):
                yield from sentences_in(inner)


def sentences_of(document: Document) -> list[Sentence]:
    """Return all sentences of a document, those in its tables and pictures included."""
    found = list(sentences_in(document.summary.blocks))
    for section in document.sections:
        found += sentences_in(section.blocks + section.background)
    return [document.meaning, *(words for words in found if isinstance(words, Sentence))]


def check_words(document: Document) -> None:
    """Refuse strong words that rest on counts, and floors of what was not played."""
    for said in sentences_of(document):
        assert said.basis in (Basis.EXACT, Basis.METADATA) or not _STRONG.search(said.text), said
        assert "gone unseen" not in said.text
        if "too rare" in said.text:
            assert said.text.startswith("On the tested data sets"), said


def law(p: float, q: float) -> Callable[[Any, np.random.Generator], float]:
    """Return a function that says 1 with probability p on data of 0, and q on data of 1."""

    def answer(data: Any, rng: np.random.Generator) -> float:
        return float(rng.random() < (q if np.sum(data) else p))

    return answer


def seldom_noisy(data: Any, rng: np.random.Generator) -> float:
    """Noise is added once in ten thousand calls."""
    return float(np.sum(data)) + (float(rng.laplace()) if rng.random() < 1e-4 else 0.0)


def without_noise(data: Any, rng: np.random.Generator) -> float:
    return float(np.sum(data))


def verified(function: Any, epsilon: float = 1.0, samples: int = 3_000) -> Verification:
    return verify(claimed(data=_DATA)(function), epsilon=epsilon, effort="quick", samples=samples, seed=0)


NAMED = {
    "randomized response that lies once in ten million": law(1.0 - 1e-7, 1e-7),
    "a side that never happens": law(0.3, 0.0),
    "a side that always happens": law(1.0, 0.3),
    "one side seldom": law(1e-3, 0.0),
    "noise that is added seldom": seldom_noisy,
    "no noise": without_noise,
    "always the same": law(1.0, 1.0),
    "the same law": law(0.5, 0.5),
}
_RNG = np.random.default_rng(0)
_SHARES = np.array([0.0, 1e-7, 1e-4, 0.01, 0.3, 0.7, 0.99, 1.0 - 1e-4, 1.0 - 1e-7, 1.0])
DRAWN = {f"p = {p:g}, q = {q:g}": law(p, q) for p, q in _RNG.choice(_SHARES, (5, 2)).tolist()}


@pytest.mark.slow_cells("noise that is added seldom", "randomized response that lies once in ten million")
@pytest.mark.few(4)
@pytest.mark.parametrize("name", [*NAMED, *DRAWN])
def test_what_is_counted_of_a_black_box_is_never_said_as_exact(name: str) -> None:
    result = verified({**NAMED, **DRAWN}[name])
    document = verification_document(result)
    check_words(document)
    for section in document.sections:
        if section.title in ("Counterexample", "Most distinguishing event", "Largest difference"):
            said = [each for each in sentences_in(section.blocks) if isinstance(each, Sentence)]
            assert all(each.basis is not Basis.EXACT for each in said), said
    for reason in result.json()["reasons"]:
        assert reason["basis"] != "exact", reason
    for each in sentences_of(document):
        assert not re.search("no noise|no privacy|without error|identifies D|100 % .* 100 %", each.text)


@pytest.mark.slow
def test_counts_of_one_side_alone_are_followed_by_the_bounds_of_the_report() -> None:
    result = verified(NAMED["randomized response that lies once in ten million"])
    shown = " ".join(map(str, sentences_of(verification_document(result))))
    assert re.search(r"Seen in all ([0-9,]+) draws on D and in none of \1 on D′\.", shown)
    (bounds,) = re.findall(
        r"With 95 % confidence: δ ≥ ([0-9.]+) at ε = 1, and ε ≥ ([0-9.]+) at δ = 0\.", shown
    )
    assert result.lower is not None
    delta = float(result.details["black_box"]["delta_lower"])
    assert delta - 1e-5 < float(bounds[0]) <= delta
    assert result.lower.epsilon - 1e-4 < float(bounds[1]) <= result.lower.epsilon


def test_a_true_claim_of_a_nearly_deterministic_function_has_no_failed_check() -> None:
    """Its true ε is 16.118: no finding may stand in the way of a claim of 17 because the first calls were alike."""
    result = verified(NAMED["randomized response that lies once in ten million"], epsilon=17.0)
    assert result.verdict == "unproven"
    assert not any(finding.failing for finding in result.findings)
    assert str(result.decision.reasons[-1]) == "Upper bound: none (black box)."


@pytest.mark.slow
def test_that_calls_did_not_vary_is_withdrawn_when_later_draws_do() -> None:
    result = verified(seldom_noisy, samples=90_000)  # of which the first thousand are alike
    assert result.details["black_box"]["hits"] < result.details["black_box"]["trials"]
    assert not any(finding.kind is FindingKind.DETERMINISTIC for finding in result.findings)
    kept = verified(without_noise)
    (finding,) = (each for each in kept.findings if each.kind is FindingKind.DETERMINISTIC)
    assert (finding.sentence.basis, finding.sentence.draws) == (Basis.OBSERVED, 1000)


class LateLeak:
    """Plays by coins; in round 400 it plays the arm that earned more in round 1."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.round, self.first = rng, 0, 0

    def select_arm(self) -> int:
        self.round += 1
        return self.first if self.round == 400 else int(self.rng.integers(2))

    def update(self, arm: int, reward: float) -> None:
        if self.round == 1:
            self.first = arm if reward > 0.5 else 1 - arm


@pytest.mark.slow
def test_a_floor_speaks_of_the_rounds_that_were_played() -> None:
    """The leak shows itself in every run, in a round that a quick verification does not play."""
    bandit = PlainBandit(LateLeak, arms=2, rounds=400)
    result = verify(bandit, epsilon=1.0, effort="quick", samples=4_000, seed=0)
    document = verification_document(result)
    check_words(document)
    if result.verdict == "refuted":
        return  # it was played, and seen
    (floor,) = (each.text for each in sentences_of(document) if "too rare" in each.text)
    assert re.match(r"On the tested data sets, rounds 1 to \d+: an event", floor)
    assert "later rounds" in floor


@pytest.mark.parametrize("name", list(example_documents.verifications()))
def test_a_verification_of_each_kind_holds_sentences_that_fit_their_evidence(name: str) -> None:
    check_words(example_documents.verifications()[name])


@pytest.mark.slow_cells("audited", "certificate")
@pytest.mark.parametrize(
    "kind",
    [
        "regret",
        "certificate",
        "simulations",
        pytest.param("bets", marks=pytest.mark.slow),
        "audited",
        "ledger",
    ],
)
def test_a_report_of_each_kind_holds_sentences_that_fit_their_evidence(kind: str, tmp_path: Any) -> None:
    make = getattr(example_documents, kind)
    document = make(tmp_path) if kind in ("audited", "ledger") else make()
    assert len(sentences_of(document)) > 5
    check_words(document)


@pytest.mark.slow
def test_a_certified_learner_without_a_difference_shows_no_event() -> None:
    document = verification_document(
        verify("dp-bandit", epsilon=0.05, effort="quick", samples=4_000, horizon=32)
    )
    titles = [section.title for section in document.sections]
    assert "Largest difference" in titles
    assert not {"Most distinguishing event", "Counterexample"} & set(titles)
    check_words(document)
