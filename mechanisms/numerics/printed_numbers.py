"""Numbers as reports, refusals and messages print them, on the safe side of the proved bound.

A lower end is rounded down and an upper end up: printed to the nearest digit, "at least" could be more than is
proved. A number is the float that its text reads back as: 0.98 is printed as it is, and not by its binary digits.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

_DIGITS = 6


def at_least(value: float, digits: int = _DIGITS) -> str:
    """Return a lower end as a text: rounded down to `digits` significant digits, ∞ for infinity.

    Examples
    --------
    >>> at_least(2 / 3), at_most(2 / 3), nearest(2 / 3), at_least(1e-7)
    ('0.666666', '0.666667', '0.666667', '1e-07')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def at_most(value: float, digits: int = _DIGITS) -> str:
    """Return an upper end as a text: rounded up to `digits` significant digits, ∞ for infinity."""
    return _rounded(value, digits, ROUND_CEILING)


def nearest(value: float, digits: int = _DIGITS) -> str:
    """Return an estimate, or a value that bounds nothing, as a text: rounded to the nearest digit, ∞ for infinity."""
    return _rounded(value, digits, ROUND_HALF_EVEN)


def as_given(value: float) -> str:
    """Format a number that a user chose, of a claim or a budget, so that the text parses to the same number.

    Examples
    --------
    >>> as_given(1.0), as_given(1e-5), as_given(0.1234567891)
    ('1', '1e-05', '0.1234567891')
    """
    if math.isinf(value):
        return nearest(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def counted_noun(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s unless there is one.

    Examples
    --------
    >>> counted_noun(1, "rule"), counted_noun(2_000, "further record"), counted_noun(0, "entry")
    ('1 rule', '2,000 further records', '0 entries')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


_PLURAL = re.compile(r"^( (?:[a-z]+ )?)(call|charge|client|draw|outcome|phase|round|run|value)s\b")


def words_after(number: str, words: str) -> str:
    """Return the words that follow a number in a sentence, their first noun without an s after a 1.

    Examples
    --------
    >>> words_after("1", " simulated runs: the mean"), words_after("11", " rounds")
    (' simulated run: the mean', ' rounds')
    """
    return _PLURAL.sub(r"\1\2", words) if number == "1" else words


def percent_at_most(share: float, digits: int = 4) -> str:
    """Return a share in percent, rounded up; 100 % only of 1, or of a share that is 1 to 16 digits.

    Examples
    --------
    >>> percent_at_most(0.73105857), percent_at_most(1e-9), percent_at_most(1 - 1e-9)
    ('73.11 %', '1e-07 %', '99.9999999 %')
    """
    hundredths = Decimal(repr(float(share))).scaleb(2)  # exactly: a float's product may be rounded down
    texts = (_rounded(hundredths, enough, ROUND_CEILING) for enough in range(digits, 17))
    return f"{next((text for text in texts if text != '100' or share >= 1.0), '100')} %"


def percent(share: float, digits: int = 3) -> str:
    """Return a share that was counted or chosen in percent, to the nearest digit; all and none are exact.

    Examples
    --------
    >>> percent(0.5724), percent(0.95), percent(292_533 / 292_544), percent(1.0)
    ('57.2 %', '95 %', '99.9962 %', '100 %')
    """
    value = 100.0 * share
    for enough in range(digits if value <= 99.0 else digits + 3, 16):
        text = f"{value:.{enough}g}"
        if float(text) != 100.0 or share == 1.0:
            return f"{text} %"
    return f"{value!r} %"


def _rounded(value: float | Decimal, digits: int, rounding: str) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0.0:
        return "0"
    found = (
        Context(prec=digits, rounding=rounding)
        .plus(value if isinstance(value, Decimal) else Decimal(repr(float(value))))
        .normalize()
    )
    if -5 < found.adjusted() < digits:
        return f"{found:f}"
    mantissa, exponent = f"{found:e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"
