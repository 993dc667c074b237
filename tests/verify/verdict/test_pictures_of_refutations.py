"""The picture of a counterexample alone: which side is likelier, by how much, with the numbers of the report."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from mechanisms import Categories, Gaussian, Interval, Laplace, RandomizedResponse, Sensitivity
from verify import claimed, verify
from verify.document.drawings import Laws
from verify.document.elements import Document, Picture
from verify.document.svg import svg
from verify.document.terminal_text import print_document
from verify.verdict.result import Verification
from verify.verdict.verification_document import verification_document


@claimed(data=Interval(0, 1))
def halved_noise(value: float, rng: Any) -> float:
    return value + rng.laplace(scale=0.5)


@claimed(data=Interval(0, 1))
def honest_coin(value: float, rng: Any) -> bool:
    return bool((value > 0.5) == (rng.random() < 0.9))


@claimed(data=Interval(0, 1))
def rare_word(value: float, rng: Any) -> str:
    return "found" if rng.random() < (0.02 if value > 0.5 else 1e-4) else "nothing"


@claimed(data=Interval(0, 1))
def two_numbers(value: float, rng: Any) -> tuple[float, float]:
    return value + rng.laplace(scale=0.6), value + rng.laplace(scale=0.6)


@claimed(data=Interval(0, 1))
def rounded(value: float, rng: Any) -> float:
    return round(value + rng.laplace(scale=0.4), 1)


@claimed(data=Interval(0, 1))
def noise_by_value(value: float, rng: Any) -> float:
    return rng.laplace(scale=1.0 + 3.0 * value)


@claimed(data=Interval(0, 1))
def often_silent(value: float, rng: Any) -> float | None:
    return None if rng.random() < 0.05 + 0.6 * value else 1.0


@claimed(data=Categories(4))
def honest_answer(value: int, rng: Any) -> int:
    return value if rng.random() < 0.9 else int(rng.integers(4))


FUNCTIONS = (
    halved_noise, honest_coin, rare_word, two_numbers, rounded, noise_by_value, often_silent, honest_answer,
)  # fmt: skip
ONE = Sensitivity(1.0, 1.0, 1.0)
CASES: dict[str, Callable[[], Verification]] = {
    **{
        one.__name__: lambda one=one: verify(one, epsilon=0.8, effort="quick", samples=40_000, seed=1)
        for one in FUNCTIONS
    },
    "Laplace": lambda: verify(Laplace(scale=0.5), epsilon=1.0, effort="quick", samples=20_000, seed=1),
    "Gaussian": lambda: verify(
        Gaussian(sigma=1.0, sensitivity=ONE), epsilon=1.0, delta=1e-5, effort="quick", seed=1
    ),
    "RandomizedResponse": lambda: verify(
        RandomizedResponse(size=3, epsilon=2.0), epsilon=1.0, effort="quick"
    ),
    "learner": lambda: verify("zoo/bandit-reused-rewards", effort="quick", seed=1),
    "bandit": lambda: verify("zoo/plain-bandit-stops", effort="quick", seed=1),
    "bets": lambda: verify(halved_noise, epsilon=0.8, anytime=True, effort="quick", seed=1),
}
QUICK = ("halved_noise", "Laplace")


def picture_of(document: Document) -> Picture:
    blocks = next(each for each in document.sections if each.title == "Counterexample").blocks
    return next(block for block in blocks if isinstance(block, Picture))


@cache
def refuted(name: str) -> Verification:
    return CASES[name]()


@pytest.mark.slow_cells("halved_noise")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_the_picture_alone_shows_which_side_is_likelier(name: str) -> None:
    found = refuted(name)
    assert found.verdict == "refuted"
    witness = found.witness
    assert witness is not None
    picture = picture_of(verification_document(found))
    root = ElementTree.fromstring(svg(picture.drawing, str(picture.words)))
    texts = [each.text for each in root.iter() if each.tag.endswith("text") and each.text]
    drawn = picture.drawing
    assert isinstance(drawn, Laws)
    for side, (_, words) in (("D", drawn.event), ("D′", drawn.event_prime)):
        assert any(text.startswith(f"P(event | {side}): {words[:20]}") for text in texts)
    bars = [each for each in root.iter() if each.get("height") == "14" and "law" in each.attrib["class"]]
    ours, theirs = (float(each.attrib["width"]) for each in bars)
    assert ours > theirs  # the longer bar is D's: that is its name
    if witness.probability_prime > 0.0:
        assert theirs / ours == pytest.approx(witness.probability_prime / witness.probability, abs=0.01)
    printed = io.StringIO()
    print_document(verification_document(found), Console(file=printed, width=80, color_system=None))
    lines = re.findall(r"P\(event \| (D′?)\) +\S+ % *(█*)\n", printed.getvalue())
    assert [side for side, _ in lines] == ["D", "D′"]
    assert len(lines[0][1]) > len(lines[1][1])
    laws = witness.laws
    if laws is None:
        assert name in ("two_numbers", "bets", "often_silent")
        return
    sides = {
        "data": (witness.probability, witness.hits),
        "data_prime": (witness.probability_prime, witness.hits_prime),
    }
    for side, (share, hits) in sides.items():
        inside = sum(getattr(each, side) for each in laws.bins if each.inside)
        every = sum(getattr(each, side) for each in laws.bins)
        assert every == pytest.approx(laws.draws or 1.0, rel=1e-6)
        if laws.draws and hits is not None:
            assert inside == hits
        elif side == "data":
            assert inside / (laws.draws or 1.0) == pytest.approx(share, rel=1e-6)
        else:
            assert inside / (laws.draws or 1.0) <= share * (1.0 + 1e-6)
    if name == "rare_word":
        assert laws.reading == "the output"  # and not the score of it, which decides the event
        assert {each.label for each in laws.bins} == {'"found"', '"nothing"'}
    assert Verification.from_json(found.json()).witness == witness


def test_laws_that_are_no_counts_are_refused() -> None:
    found = refuted("Laplace").json()
    found["best_event"]["laws"]["bins"][0]["data"] = 2.0
    found["witness"] = found["best_event"]
    with pytest.raises(ValueError, match="bins"):
        Verification.from_json(found)


def test_exact_laws_of_a_loss_are_those_of_its_noise() -> None:
    """Laplace noise of scale 1/2 under a claim of 1: the loss is 2 where the output is at most 0, and never more."""
    witness = refuted("Laplace").witness
    assert witness is not None
    assert witness.laws is not None
    bins = witness.laws.bins
    above = [np.array([each.data, each.data_prime]) for each in bins if each.inside]
    # At a loss of l >= 1, on D at most exp(-(2 - l)/2)/2 is missing of what is below.
    assert sum(above) == pytest.approx([1 - np.exp(-0.5) / 2, np.exp(-1.5) / 2], abs=2e-4)
    at_most_two = [each for each in bins if each.inside and float(each.label) > 2.0]
    assert sum(each.data for each in at_most_two) == pytest.approx(0.0, abs=1e-6)
