"""Bounds for a person, as reports print them, against the best attack on mechanisms of known laws, by enumeration."""

from __future__ import annotations

import itertools
import math
import random
import re
from fractions import Fraction

import pytest

from mechanisms import RandomizedResponse
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.risk import attack_accuracy, true_positive_rate
from mechanisms.numerics.printed_numbers import percent_at_most
from verify.verdict.common_sections import _largest_true_positive_rate, correct_guesses, person_sentence

Law = list[Fraction]


def random_laws(draw: random.Random) -> tuple[Law, Law]:
    """Laws of up to six outputs, some of which only one of the two data sets has."""
    size = draw.randint(2, 6)
    found = []
    for _ in range(2):
        weights = [draw.choice([0, 1, 1, 2, 5, 40]) * draw.randint(1, 99) for _ in range(size)]
        total = sum(weights) or 1
        found.append(
            [Fraction(weight, total) for weight in weights] if sum(weights) else [Fraction(1, size)] * size
        )
    return found[0], found[1]


def best_accuracy(p: Law, q: Law) -> Fraction:
    """Of all events: guess D where the output is in it, and D′ elsewhere."""
    events = itertools.product((False, True), repeat=len(p))
    gains = (
        sum((a - b for a, b, seen in zip(p, q, event, strict=True) if seen), Fraction()) for event in events
    )
    return (1 + max(gains)) / 2


def best_true_positive_rate(p: Law, q: Law, rate: Fraction) -> Fraction:
    """By Neyman and Pearson: outputs from the likeliest ratio down, the last one by a coin."""
    reached, left = Fraction(), rate
    order = sorted(
        zip(p, q, strict=True), key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=True
    )
    for a, b in order:
        share = Fraction(1) if b <= left else left / b
        reached, left = reached + share * a, left - share * b
    return reached


def least_delta(p: Law, q: Law, epsilon: float) -> float:
    """δ at ε in either order, rounded up: e^ε as a float less 1e-12 of it is below e^ε."""
    below = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**12))
    return float(
        max(
            sum(max(a - below * b, Fraction()) for a, b in zip(*pair, strict=True))
            for pair in ((p, q), (q, p))
        )
    ) * (1.0 + 1e-15)


def printed(share: float) -> Fraction:
    """The share of a report's sentence."""
    text = person_sentence("Someone", "which", "the output", share).text
    return Fraction(re.search(r"at most (\S+) % of", text)[1]) / 100


@pytest.mark.slow
def test_no_attack_on_a_random_mechanism_reaches_more_than_is_printed() -> None:
    draw = random.Random(53)
    for _ in range(1000):
        p, q = random_laws(draw)
        epsilon = draw.choice([0.0, 0.1, 1.0, 3.0, draw.uniform(0.0, 8.0)])
        delta = min(1.0, least_delta(p, q, epsilon))
        assert printed(correct_guesses(epsilon, delta)) >= best_accuracy(p, q)
        rate = Fraction(draw.choice([1, 10, 100, 500]), 1000)
        share = percent_at_most(_largest_true_positive_rate(epsilon, delta, float(rate)))
        assert Fraction(share.removesuffix(" %")) / 100 >= best_true_positive_rate(p, q, rate)


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-5, 0.01, 0.3])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 30.0])
def test_they_are_attained(epsilon: float, delta: float) -> None:
    """By the mechanism that says which data set it has with probability δ, and else answers at random with e^ε to 1."""
    odds, d = Fraction(math.exp(epsilon)), Fraction(delta)
    answers = [(1 - d) * odds / (1 + odds), (1 - d) / (1 + odds)]
    p, q = [d, *answers, Fraction(0)], [Fraction(0), *reversed(answers), d]
    reached = best_accuracy(p, q)
    assert correct_guesses(epsilon, delta) == pytest.approx(float(reached), rel=1e-14)
    assert 0 <= printed(correct_guesses(epsilon, delta)) - reached <= reached / 1000
    for rate in (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 2)):
        most = _largest_true_positive_rate(epsilon, delta, float(rate))
        assert most == pytest.approx(float(best_true_positive_rate(p, q, rate)), rel=1e-12)


def test_a_composed_pair_is_bounded_exactly() -> None:
    """An audit's numbers: the best attack on several answers at random, over the product of their laws."""
    draw = random.Random(54)
    for _ in range(40):
        answers = [(draw.randint(2, 3), draw.uniform(0.05, 3.0)) for _ in range(draw.randint(1, 3))]
        p, q = [Fraction(1)], [Fraction(1)]
        for size, epsilon in answers:
            odds = Fraction(math.exp(epsilon))
            truth, lie = odds / (odds + size - 1), 1 / (odds + size - 1)
            first, second = [truth, *[lie] * (size - 1)], [lie, truth, *[lie] * (size - 2)]
            p, q = [a * b for a in p for b in first], [a * b for a in q for b in second]
        loss = compose([(RandomizedResponse(size=size, epsilon=e).profile(), 1) for size, e in answers])
        reached = (1 + sum(max(a - b, Fraction()) for a, b in zip(p, q, strict=True))) / 2
        accuracy = attack_accuracy(loss)
        assert float(reached) == pytest.approx(accuracy.upper, rel=1e-9)
        assert printed(accuracy.upper) >= reached * (1 - Fraction(1, 10**12))
        found = true_positive_rate(loss, 0.01)
        best = float(best_true_positive_rate(p, q, Fraction(0.01)))
        assert found.lower * (1 - 1e-9) <= best <= found.upper * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.57, 1 / 3, math.nextafter(0.7, 1.0), 1.0 - 2**-53, 5e-324])
def test_a_share_is_printed_on_the_safe_side(share: float) -> None:
    """A hundred times the float above a printable share was rounded to that share, which is too little."""
    text = percent_at_most(share).removesuffix(" %")
    assert Fraction(text) / 100 >= Fraction(repr(share))
