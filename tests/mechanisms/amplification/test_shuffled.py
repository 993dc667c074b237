"""Shuffled messages against sums over all that can happen, and against protocols whose exact curve is known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from accountant import compose
from mechanisms import (
    Gaussian,
    Laplace,
    Neighbouring,
    ParameterError,
    PerfectPrivacy,
    PrivacyProfile,
    RandomizedResponse,
    Sensitivity,
    shuffled,
)
from mechanisms.amplification.shuffled import BOUND
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.related_profile import RelatedProfile

UNIT = Sensitivity(1.0, 1.0, 1.0)


def response(epsilon: float, size: int = 2) -> PrivacyProfile:
    return RandomizedResponse(size=size, epsilon=epsilon).profile()


def delta_among_clones(local: float, clients: int, epsilon: float) -> float:
    """Return the theorem's δ, term by term."""
    p, total = 1.0 / (1.0 + math.exp(-local)), 0.0
    for c in range(clients):
        a = np.arange(c + 2)
        without, with_one = binom.pmf(a, c, 0.5), binom.pmf(a - 1, c, 0.5)
        of_p, of_q = p * with_one + (1 - p) * without, (1 - p) * with_one + p * without
        excess = np.maximum(of_p - math.exp(epsilon) * of_q, 0.0)
        total += float(binom.pmf(c, clients - 1, math.exp(-local)) * excess.sum())
    return total


@pytest.mark.parametrize("local", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("clients", [2, 3, 8, 40, pytest.param(700, marks=pytest.mark.slow)])
def test_the_curve_is_the_theorems_from_above(local: float, clients: int) -> None:
    profile = shuffled(response(local), clients)
    for epsilon in (0.0, 0.01, 0.1, 0.3 * local, 0.5 * local, 0.99 * local):
        upper = float(profile.bounds(np.array(epsilon))[1])
        assert delta_among_clones(local, clients, epsilon) * (1 - 1e-11) <= upper
        assert upper <= 1.01 * delta_among_clones(local, clients, 0.99 * epsilon) + 1e-12
    assert profile.pure_epsilon is not None
    assert local <= profile.pure_epsilon <= local * (1 + 1 / 4096)


@pytest.mark.parametrize("clients", [5, 30, 1000])
@pytest.mark.parametrize("local", [0.5, 2.0])
def test_shuffled_bits_lose_no_more(local: float, clients: int) -> None:
    """Everybody's bit is flipped with one probability: the number of ones is all there is to see."""
    p, counts = 1.0 / (1.0 + math.exp(-local)), np.arange(clients + 1)
    profile = shuffled(response(local), clients)
    for ones in (0, (clients - 1) // 2, clients - 1):  # of the others' records
        others = np.convolve(
            binom.pmf(np.arange(ones + 1), ones, p),
            binom.pmf(np.arange(clients - ones), clients - 1 - ones, 1 - p),
        )
        one, zero = (np.convolve(others, [1 - q, q]) for q in (p, 1 - p))
        assert one.size == counts.size
        for x, y in ((one, zero), (zero, one)):
            for epsilon in (0.0, 0.02, 0.2, 0.6 * local):
                exact = float(np.maximum(x - math.exp(epsilon) * y, 0.0).sum())
                assert exact <= float(profile.bounds(np.array(epsilon))[1]) * (1 + 1e-9)


def test_shuffled_answers_of_three_kinds_lose_no_more() -> None:
    clients, local = 5, 1.5
    keep, other = math.exp(local) / (math.exp(local) + 2), 1 / (math.exp(local) + 2)

    def law(records: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        seen: dict[tuple[int, ...], float] = {}
        for answers in itertools.product(range(3), repeat=clients):
            chance = math.prod(keep if a == r else other for a, r in zip(answers, records, strict=True))
            key = tuple(answers.count(kind) for kind in range(3))
            seen[key] = seen.get(key, 0.0) + chance
        return seen

    profile = shuffled(response(local, 3), clients)
    for others in itertools.combinations_with_replacement(range(3), clients - 1):
        first, second = law((0, *others)), law((1, *others))
        for epsilon in (0.0, 0.3, 0.8, 1.4):
            exact = sum(max(0.0, p - math.exp(epsilon) * second[key]) for key, p in first.items())
            assert exact <= float(profile.bounds(np.array(epsilon))[1]) * (1 + 1e-9)


@pytest.mark.parametrize(("local", "clients"), [(0.5, 10_000), (1.0, 100_000), (3.0, 10**6)])
def test_it_is_below_the_closed_bound(local: float, clients: int) -> None:
    """Feldman, McMillan & Talwar 2021, Theorem 3.1."""
    delta, grown = 1e-6, math.exp(local)
    assert local <= math.log(clients / (16 * math.log(2 / delta)))
    root = 8 * math.sqrt(grown * math.log(4 / delta)) / math.sqrt(clients) + 8 * grown / clients
    closed = math.log1p((grown - 1) / (grown + 1) * root)
    assert 0.1 * closed < shuffled(response(local), clients).epsilon(delta) < 0.5 * closed


@pytest.mark.slow
def test_more_clients_hide_better_and_a_few_billions_count_as_one() -> None:
    found = [shuffled(response(2.0), n).epsilon(1e-8) for n in (1, 10, 1000, 10**5, 10**7)]
    assert found == sorted(found, reverse=True)
    assert shuffled(response(2.0), 1) == response(2.0)
    assert shuffled(response(4.0), 10**12) == shuffled(response(4.0), 10**9)


def test_without_losses_there_is_nothing_to_hide() -> None:
    assert shuffled(PerfectPrivacy(), 100) == PerfectPrivacy()


@pytest.mark.slow
def test_shuffled_rounds_compose() -> None:
    one = shuffled(Laplace(scale=1.0, sensitivity=UNIT).profile(), 500)
    assert isinstance(one, AtomicProfile)
    assert (one.bound, one.attained()) == (BOUND, ())
    two = one.convolved(one)
    assert two is not None
    interval = compose([(one, 2)]).product_epsilon(1e-5)
    assert interval.lower * (1 - 1e-9) <= two.epsilon(1e-5) <= interval.upper * (1 + 1e-9)
    assert 1.2 * one.epsilon(1e-5) < interval.upper < 2.0 * one.epsilon(1e-5)


@pytest.mark.parametrize(
    ("profile", "clients", "words"),
    [
        (Gaussian(sigma=1.0, sensitivity=UNIT).profile(), 10, "no finite pure epsilon"),
        (RelatedProfile(response(1.0), Neighbouring.ADD_OR_REMOVE), 10, "'add or remove one'"),
        (response(1.0), 0, "clients = 0"),
        (response(1.0), 2.5, "clients = 2.5"),
    ],
)
def test_what_the_theorem_is_not_for(profile: PrivacyProfile, clients: int, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        shuffled(profile, clients)


@pytest.mark.parametrize("local", [700.0, 744.9, 745.0, 746.0, 2000.0, 1e5])
def test_where_no_coin_is_seen_next_to_the_local_guarantee_is_left(local: float) -> None:
    """Of e^{-ε₀}, below the smallest floats: an upper end of 0 below ε₀, and a math domain error."""
    for gap in (1e-7, 1e-3, 2.0):
        epsilon = local - gap
        true = -math.expm1(epsilon - local)
        upper = float(shuffled(response(local), 5).bounds(np.array(epsilon))[1])
        assert true * (1 - 1e-12) <= upper <= -math.expm1(epsilon - local * (1 + 1 / 4096)) * (1 + 1e-9)


@pytest.mark.parametrize("local", [1e-15, 1e-16, 1e-17, 1e-200])
def test_tiny_losses_are_told_apart(local: float) -> None:
    """Coins are certain: δ(0) is tanh(ε₀/2) times the mean size of 2x - 1, x of n coins."""
    for clients in (2, 5, 120):
        a = np.arange(clients + 1)
        true = 0.5 * local * float(binom.pmf(a, clients, 0.5) @ np.abs(2.0 * a / clients - 1.0))
        upper = float(shuffled(response(local), clients).bounds(np.array(0.0))[1])
        assert true * (1 - 1e-9) <= upper <= 1.001 * true
