"""Rules on the values of options, at their bounds."""

import math

import pytest

from mechanisms.parameters import ParameterError
from verify.conduct.rules import integer, one_of, real_number, satisfies


@pytest.mark.parametrize(
    ("rule", "taken", "refused"),
    [
        (integer(1), [1, 2**63 - 1], [0, 2**63, 1.5, True, "1"]),
        (integer(0, bits=8), [0, 255], [-1, 256]),
        (real_number(lambda value: value > 0, "be above 0"), [1e-9, 3, math.inf], [0.0, -1.0, math.nan, "1"]),
        (one_of(("quick", "default")), ["quick"], ["Quick", "", None, 1]),
        (satisfies(callable, "a function"), [len], [1]),
    ],
)
def test_a_rule_holds_up_to_its_bounds(rule, taken, refused):
    for value in taken:
        rule("option", value)
    for value in refused:
        with pytest.raises(ParameterError, match=r"^option = "):
            rule("option", value)
