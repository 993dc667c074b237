"""Taping an accountant's run and telling it again on other data."""

import numpy as np

from accountant import Accountant, Budget, Recording, Retelling
from mechanisms import (
    Affine,
    Box,
    Categories,
    Composed,
    DiscreteLaplace,
    Integers,
    Laplace,
    PostProcessed,
    RandomizedResponse,
    Repeated,
)

DOMAIN = Box(0, 1, 2)
WIDE = Laplace(scale=2.0, sensitivity=DOMAIN.sensitivity)


def accountant(tape):
    gate = Accountant(Budget.unlimited(), noise=np.random.default_rng(3), seed=4)
    gate.on_tape(tape)
    return gate


def values(gate, number, record=1):
    return gate.private([[number, number]], DOMAIN, record)


def taped(code, number=0.0, altered=None):
    tape = Recording(altered)
    return tape, code(accountant(tape), number)


def retold(code, recording, number):
    tape = Retelling(recording)
    result = code(accountant(tape), number)
    tape.finish()
    return tape.difference, result


def compared(code, number=1.0):
    return retold(code, taped(code)[0], number)[0]


def clean(gate, number):
    first = gate.release(WIDE, values(gate, number))
    return first + gate.release(WIDE, values(gate, number), where=np.ones((1, 2), bool))


def test_clean_code_does_the_same_on_other_data():
    recording, result = taped(clean)
    difference, other = retold(clean, recording, 1.0)
    assert difference is None
    np.testing.assert_array_equal(result, other)


def test_every_kind_of_difference_is_found_with_its_line():
    def more(gate, number):
        clean(gate, number)
        if number:
            gate.release(WIDE, values(gate, number))

    def fewer(gate, number):
        clean(gate, number)
        if not number:
            gate.release(WIDE, values(gate, number))

    def mask(gate, number):
        gate.release(WIDE, values(gate, number), where=np.full((1, 2), bool(number)))

    def noise(gate, number):
        gate.release(Laplace(scale=2.0 + number, sensitivity=DOMAIN.sensitivity), values(gate, number))

    def place(gate, number):
        if number:
            gate.release(WIDE, values(gate, number))
        else:
            gate.release(WIDE, values(gate, number))

    def how(gate, number):
        if number:
            gate.declassify(values(gate, number), "a test")
        else:
            gate.release(WIDE, values(gate, number))

    def reserved(gate, number):
        noisy = Laplace(scale=2.0 + number, sensitivity=DOMAIN.sensitivity)
        quote = gate.price(noisy, values(gate, number))
        return gate.reserve(quote).release()

    kinds = {
        more: "more-calls",
        fewer: "fewer-calls",
        mask: "mask",
        noise: "mechanism",
        place: "place",
        how: "place",
        reserved: "mechanism",
    }
    for code, kind in kinds.items():
        difference = compared(code)
        assert difference.kind == kind
        first = code.__code__.co_firstlineno
        assert first < difference.where.line <= first + 6


def test_declassified_and_reserved_values_are_told_again_too():
    def code(gate, number):
        reserved = gate.reserve(gate.price(WIDE, values(gate, number))).release()
        return gate.declassify(values(gate, number), "a test") + reserved

    recording, result = taped(code)
    difference, other = retold(code, recording, 1.0)
    assert difference is None
    np.testing.assert_array_equal(result, other)


def test_what_is_released_of_others_is_the_same_bit_by_bit():
    """Record 1 changes; in record 2's release a millionth of it is left."""

    def mixes(gate, number):
        kept = []
        values(gate, number, 1).map(lambda raw: kept.append(raw.copy()) or raw, into=DOMAIN)
        gate.release(WIDE, values(gate, 0.5, 2).map(lambda raw: raw + 2**-20 * kept[0], into=DOMAIN))

    def sums(gate, number):
        total = gate.sums(2)
        for record, value in ((1, number), (2, 0.5)):
            total.add(values(gate, value, record), at=np.array([[0, 1]]))
        gate.release(WIDE, total)  # the record that changed is in it
        total.clear(np.ones((1, 2), bool))
        gate.release(WIDE, total)

    assert compared(sums) is None
    difference = compared(mixes)
    assert (difference.kind, difference.where.line) == ("raw-flow", mixes.__code__.co_firstlineno + 3)


def test_public_operands_depend_on_nothing_but_what_left():
    """Each of them is another one for the other data; what would be released is only of the record that changed."""
    every, first = np.array([[0, 1]]), np.array([[True, False]])

    def transformed(gate, number):
        return values(gate, number).map(Affine(0.5 + 0.1 * number))

    def scaled(gate, number):
        return values(gate, number) * (1.0 - 0.5 * number)

    def shifted(gate, number):
        return values(gate, number) + number

    def taken(gate, number):
        return values(gate, number).take(every if number else every[:, ::-1])

    def added(gate, number):
        total = gate.sums(2)
        total.add(values(gate, number), at=every if number else every[:, ::-1])
        return total

    def cleared(gate, number):
        total = added(gate, 0.0)
        values(gate, number)
        total.clear(first if number else ~first)
        return total

    def more(gate, number):
        value = values(gate, number)
        return value * 1.0 if number else value

    for code in (transformed, scaled, shifted, taken, added, cleared, more):
        difference = compared(lambda gate, number, code=code: gate.release(WIDE, code(gate, number)))
        line = code.__code__.co_firstlineno
        assert line < difference.where.line <= line + 5, code
        assert "the operation on a private value here depends on raw data" in difference.message


def test_values_of_others_are_the_same_before_they_are_added_up():
    """Record 1 changes; in the sum of both, a millionth of it is in what record 2 adds."""

    def in_sums(gate, number):
        total, own, other = gate.sums(2), values(gate, number, 1), values(gate, 0.5, 2)
        other._values += 2**-20 * own._values
        for value in (own, other):
            total.add(value, at=np.array([[0, 1]]))
        gate.release(WIDE, total)

    def in_a_value(gate, number):
        own, other = values(gate, number, 1), values(gate, 0.5, 2)
        other._values += 2**-20 * own._values
        gate.release(WIDE, own + other)

    for code in (in_sums, in_a_value):
        assert "though its records agree" in compared(code).message


def test_records_that_changed_move_a_value_as_far_as_they_are_charged_for():
    def alone(gate, number, factor=1.0):
        value = values(gate, number)
        value._values *= factor
        gate.release(WIDE, value)

    def together(gate, number, factor=1.0):
        total = gate.sums(2)
        for record in (1, 2):
            total.add(values(gate, number, record), at=np.array([[0, 1]]))
        total._values *= factor
        gate.release(WIDE, total)

    def category(gate, number):
        gate.release(RandomizedResponse(size=3, epsilon=1.0), gate.private(int(number), Categories(3), 1))

    for code in (alone, together):
        assert compared(code) is None
        difference = compared(lambda gate, number, code=code: code(gate, number, 1.0 + 2**-20))
        assert (difference.kind, difference.where.line) == (
            "raw-flow",
            code.__code__.co_firstlineno + (3 if code is alone else 5),
        )
        assert "in L1 norm, more than the" in difference.message
    assert compared(category, 2.0) is None


def test_another_record_under_the_same_name_is_seen():
    def names(gate, number):
        gate.release(WIDE, values(gate, 0.5, int(number)))

    assert compared(names).kind == "raw-flow"


def test_data_enter_where_they_may_only():
    def lets_in(gate, number):
        gate.release(WIDE, values(gate, number))

    recording, _ = taped(lets_in)
    for entrances, kind in ((None, None), ({__file__}, None), ({"other.py"}, "raw-flow")):
        tape = Retelling(recording, entrances)
        lets_in(accountant(tape), 1.0)
        assert getattr(tape.difference, "kind", None) == kind


def test_records_that_are_kept_enter_as_they_did():
    def code(gate, numbers):
        for record, number in enumerate(numbers):
            values(gate, number, record)

    recording, _ = taped(code, (0.0, 0.5, 1.0))
    for numbers, kept, first in (
        ((0.0, 0.5, 1.0), {0, 1, 2}, None),
        ((1.0, 0.25, 0.75), {1, 2}, 1),
        ((1.0, 0.5, 0.75), {0, 2}, 0),
        ((1.0, 0.25, 0.75), (), None),
    ):
        tape = Retelling(recording, kept=kept)
        code(accountant(tape), numbers)
        assert (tape.entered_otherwise, tape.difference) == (first, None)


def test_functions_that_follow_the_noise_are_run_again():
    def honest(gate, number):
        return gate.release(WIDE >> (lambda out: np.round(out, 1)), values(gate, number))

    def leaks(gate, number):
        return gate.release(WIDE >> (lambda out: out + 1e-9 * number), values(gate, number))

    def leaks_inside(gate, number):
        parts = (Repeated(WIDE >> (lambda out: out + 1e-9 * number), 2), Repeated(WIDE, 2))
        return gate.release(Composed(parts), values(gate, number))

    assert compared(honest) is None
    for code in (leaks, leaks_inside):
        difference = compared(code)
        assert (difference.kind, "follows the noise" in difference.message) == ("raw-flow", True)


def test_noise_is_altered_where_it_reaches_every_number():
    def code(gate, number):
        one = values(gate, number)
        twice = gate.release(Repeated(WIDE, 2), one)
        after = gate.release(PostProcessed(WIDE, lambda out: out + 7.0), one)
        return gate.release(WIDE, one), twice, after

    _, (plain, twice, after) = taped(code, altered=np.zeros_like)
    assert not plain.any()
    assert not twice.any()
    assert (after == 7.0).all()


def test_outputs_of_other_noise_stay_what_they_are():
    integers = Integers(0, 9, 1)

    def code(gate, number):
        answer = gate.release(RandomizedResponse(size=9, epsilon=9.0), gate.private(7, Categories(9), 1))
        laplace = DiscreteLaplace(scale=9.0, sensitivity=integers.sensitivity)
        return answer, gate.release(laplace, gate.private([5], integers, 1))

    _, (answer, whole) = taped(code, altered=lambda out: 30 * out)
    assert answer in (0, 8)
    assert whole % 30 == 0
