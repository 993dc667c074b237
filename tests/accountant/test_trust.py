"""Under shuffle trust values leave as shuffled messages of single records, through every exit, or not at all."""

import numpy as np
import pytest
from reopened import reopened

from accountant import Accountant, Budget, Trust, TrustViolation
from mechanisms import Binomial, Box, Clip, Integers, Laplace, PostProcessed, ShuffledMean

BIT = Integers(0, 1, 1)
THREE = Binomial(trials=300, shift=1, delta=1e-3, clients=3)
AT = np.zeros((1, 1), dtype=int)


def gate():
    return Accountant(Budget.unlimited(), trust=Trust.SHUFFLE, noise=np.random.default_rng(1))


def sums_of(accountant, *records):
    sums = accountant.sums(1)
    for record in records:
        sums.add(accountant.private([1], BIT, record), at=AT)
    return sums


def refused(accountant, call, words):
    with pytest.raises(TrustViolation, match=words):
        call()
    assert not accountant.ledger.entries


def test_the_number_of_ones_of_all_clients_leaves():
    accountant = gate()
    ones = accountant.release(THREE, sums_of(accountant, 1, 2, 3))
    assert 3 <= ones <= 303
    quote = accountant.price(THREE, sums_of(accountant, 4, 5, 6))
    assert 3 <= accountant.reserve(quote).release() <= 303
    assert [sorted(entry.records) for entry in accountant.ledger.entries] == [[1, 2, 3], [4, 5, 6]]


NOT_A_SHUFFLER = [
    Laplace(scale=9.0),
    Binomial(trials=300, shift=1, delta=1e-3),
    PostProcessed(THREE, np.abs),
]


@pytest.mark.parametrize("mechanism", NOT_A_SHUFFLER, ids=repr)
def test_nothing_leaves_without_a_shuffler(mechanism):
    accountant = gate()
    sums = sums_of(accountant, 1, 2, 3)
    refused(accountant, lambda: accountant.release(mechanism, sums), "through a shuffler only")
    refused(accountant, lambda: accountant.price(mechanism, sums), "through a shuffler only")


def test_nothing_is_declassified():
    accountant = gate()
    for private in (sums_of(accountant, 1, 2, 3), accountant.private([1], BIT, 4)):
        refused(accountant, lambda p=private: accountant.declassify(p, "why"), "through no noise")


@pytest.mark.parametrize("records", [(), (1,), (1, 2), (1, 2, 3, 4), (1, 2, 2), (1, 1, 2, 3)], ids=str)
def test_each_of_the_clients_sends_one_message(records):
    """The noise is the bits of those who send: of absent clients there is none, and nobody sends twice."""
    accountant = gate()
    sums = sums_of(accountant, *records)
    refused(accountant, lambda: accountant.release(THREE, sums), "the bits of 3 clients")


def test_every_released_coordinate_is_of_all_clients():
    accountant = gate()
    sums = accountant.sums(2)
    for record in (1, 2, 3):
        sums.add(accountant.private([1], BIT, record), at=AT)
    sums.add(accountant.private([1], BIT, 4), at=AT + 1)
    refused(accountant, lambda: accountant.release(THREE, sums), "adds up 1 messages of 1 records")
    assert accountant.release(THREE, sums, where=np.array([[True, False]]))[0, 0] >= 3


def test_a_function_of_several_records_is_no_message():
    """Of "their sum, at most 0.5" no client could send a part."""
    accountant = gate()
    box = Box(0, 1, 1)
    both = accountant.private([0.2], box, 1) + accountant.private([0.4], box, 2)
    sums = accountant.sums(1)
    refused(accountant, lambda: sums.add(both, at=AT), "holds 2 records")
    refused(accountant, lambda: accountant.release(THREE, both.map(Clip(0.0, 0.5))), "no sum of messages")
    assert sums._values.sum() == 0


def test_a_value_outside_sums_is_no_shuffled_message():
    accountant = gate()
    one = Binomial(trials=300, shift=1, delta=1e-3, clients=1)
    refused(
        accountant, lambda: accountant.release(one, accountant.private([1], BIT, 1)), "no sum of messages"
    )


def test_the_protocols_of_shuffled_means_say_whose_bits_they_are():
    protocol = ShuffledMean.calibrated(1.0, 1e-3, clients=20, size=3, bound=1.0)
    assert protocol.mechanism.clients == 20
    with pytest.raises(ValueError, match="must be a multiple"):
        Binomial(trials=301, shift=1, clients=3)


def test_a_saved_accountant_keeps_its_trust(tmp_path):
    accountant = gate()
    assert reopened(accountant, tmp_path).trust is Trust.SHUFFLE
