"""Charges rounded up a little, so that the sum of any number of them is a short number.

A sum of fractions has the least common multiple of their denominators: with every other scale of noise it grows,
without end. So a charge whose denominator is none that all others share is rounded up to 128 binary digits.

That is sound for every filter. A filter that accepts while sums of predictable upper bounds of the releases' costs are
within its limits is valid whatever bounds they are; what is charged is one, at least the cost and a function of it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from accountant.budget import Amount
from accountant.filters.composition_theorem import Composition

_DIGITS = 128
"""Binary digits of a charge that is rounded: it is at most 1 + 2^-126 times what it was."""

_SHARED = 2**2_200 * math.lcm(*range(1, 1_001))
"""A common denominator of floats, their squares, and n-th parts of them for n up to 1,000, which are charged as they
are: n charges of exactly a budget's n-th part fit it n times, and no further one does."""


def shorten(charge: Amount, composition: Composition) -> Amount:
    """Return a charge, each number of it rounded up if its denominator would make sums long."""
    if all(value is None or not _SHARED % value.denominator for value in charge.values):
        return charge
    values = tuple(None if value is None else round_up(value) for value in charge.values)
    found: Amount = composition.amount(values)
    return found


def round_up(value: Fraction) -> Fraction:
    """Return a nonnegative number, or if its denominator is not shared the next one above of 128 binary digits."""
    if not _SHARED % value.denominator:
        return value
    above, below = value.numerator, value.denominator
    places = max(0, _DIGITS - above.bit_length() + below.bit_length())
    return Fraction(-(-(above << places) // below), 1 << places)
