"""Taping a run and telling it again on other data."""

import numpy as np

from accountant import Retold, Taped
from mechanisms import Box, Laplace

DOMAIN = Box(0, 1, 2)
WIDE = Laplace(scale=2.0, sensitivity=DOMAIN.sensitivity)


def values(gate, number):
    return gate.private(np.full((64, 2), number), DOMAIN, 1)


def taped(code, number=0.0):
    gate = Taped(3, 64)
    return gate, code(gate, number)


def retold(code, tape, number):
    gate = Retold(3, 64, tape)
    result = code(gate, number)
    gate.finish()
    return gate, result


def clean(gate, number):
    first = gate.release(WIDE, values(gate, number))
    return first + gate.release(WIDE, values(gate, number), where=np.ones((64, 2), bool))


def test_clean_code_does_the_same_on_other_data():
    gate, result = taped(clean)
    again, other = retold(clean, gate.tape, 1.0)
    assert again.difference is None
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
        gate.release(WIDE, values(gate, number), where=np.full((64, 2), bool(number)))

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

    kinds = {
        more: "more-calls",
        fewer: "fewer-calls",
        mask: "mask",
        noise: "mechanism",
        place: "place",
        how: "place",
    }
    for code, kind in kinds.items():
        gate, _ = taped(code)
        again, _ = retold(code, gate.tape, 1.0)
        assert again.difference.kind == kind
        first = code.__code__.co_firstlineno
        assert first < again.difference.where.line <= first + 6


def test_declassified_values_are_told_again_too():
    def code(gate, number):
        return gate.declassify(values(gate, number), "a test")

    gate, result = taped(code)
    again, other = retold(code, gate.tape, 1.0)
    assert again.difference is None
    np.testing.assert_array_equal(result, other)
