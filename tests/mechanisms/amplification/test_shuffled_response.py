"""Shuffled randomized responses: between data that are played and the blanket, by sums over all that can happen."""

import itertools
import math
from collections import Counter

import pytest

from accountant import compose
from accountant.audit.release_tables import from_tables
from mechanisms import ParameterError
from mechanisms.amplification.shuffled_response import most_clients, shuffled_response
from mechanisms.composition.enclosure import Bound, Enclosure


def multisets(size: int, epsilon: float, words: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """Return the law of the numbers of each word among messages of clients that hold these words."""
    r = 1.0 / (math.exp(epsilon) + size - 1)
    law = Counter({(0,) * size: 1.0})
    for own in words:
        after: Counter[tuple[int, ...]] = Counter()
        for counts, mass in law.items():
            for sent in range(size):
                longer = tuple(n + (i == sent) for i, n in enumerate(counts))
                after[longer] += mass * r * (math.exp(epsilon) if sent == own else 1.0)
        law = after
    return law


def delta_of(size: int, epsilon: float, others: tuple[int, ...], at: float) -> float:
    of_p, of_q = (multisets(size, epsilon, (own, *others)) for own in (0, 1))
    return sum(max(0.0, p - math.exp(at) * of_q[counts]) for counts, p in of_p.items())


@pytest.mark.parametrize(
    ("size", "epsilon", "clients"), [(3, 1.0, 5), (3, 0.4, 4), (4, 2.0, 4), (2, 1.0, 6), (2, 3.0, 3)]
)
def test_all_data_of_few_clients_lie_below_and_some_attain_the_lower_end(
    size: int, epsilon: float, clients: int
) -> None:
    profile = shuffled_response(size, epsilon, clients)
    for at in (0.0, 0.1 * epsilon, 0.5 * epsilon, 0.9 * epsilon):
        found = compose([(profile, 1)]).delta(at)
        worst = max(
            delta_of(size, epsilon, others, at)
            for others in itertools.combinations_with_replacement(range(size), clients - 1)
        )
        assert worst <= found.upper * (1.0 + 1e-9)
        if size > 2:
            third = delta_of(size, epsilon, (2,) * (clients - 1), at)
            assert isinstance(found, Enclosure)
            assert found.lower <= third * (1.0 + 1e-9)
            if size == 3:  # of more words all but two are taken for one
                assert found.lower >= 0.97 * third - 1e-9
        else:
            assert isinstance(found, Bound)


def test_one_of_a_thousand_clients() -> None:
    """The theorem that knows ε alone says .1827."""
    found = compose([(shuffled_response(4, 1.0, 1000), 1)]).epsilon(1e-6)
    assert isinstance(found, Enclosure)
    assert 0.117686 - 1e-6 <= found.lower <= 0.1176862
    assert 0.1178241 <= found.upper <= 0.11795


@pytest.mark.slow
def test_the_golden_protocol() -> None:
    found = compose([(shuffled_response(16, 3.0, 100_000), 1)]).epsilon(1e-6)
    assert isinstance(found, Enclosure)
    assert 0.0499 <= found.lower <= 0.04990425
    assert 0.0499064 <= found.upper <= 0.04992


def test_release_files_know_the_randomizer() -> None:
    table = {"mechanism": "randomized-response", "size": 4, "epsilon": 1.0, "shuffled": 1000}
    releases = from_tables("file", {"release": [table]})
    found = compose(releases.profile_counts(releases.groups[0])).epsilon(1e-6)
    assert found.upper < 0.118
    pure = from_tables("file", {"release": [{"mechanism": "pure", "epsilon": 1.0, "shuffled": 1000}]})
    assert compose(pure.profile_counts(pure.groups[0])).epsilon(1e-6).upper > 0.18


@pytest.mark.slow
def test_more_clients_than_are_told_apart_hide_as_many_and_attain_nothing() -> None:
    most = most_clients(3, 0.5)
    assert shuffled_response(3, 0.5, most).attained()
    assert not shuffled_response(3, 0.5, most + 1).attained()


@pytest.mark.parametrize(
    ("size", "epsilon", "clients", "named"),
    [
        (1, 1.0, 10, "size = 1"),
        (3, 9.0, 10, "epsilon = 9.0"),
        (3, 1.0, 1, "clients = 1"),
        (3, -1.0, 5, "epsilon"),
    ],
)
def test_bad_protocols_are_refused(size: int, epsilon: float, clients: int, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        shuffled_response(size, epsilon, clients)
