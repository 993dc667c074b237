"""The words of a verification's bounds."""

import pytest

from verify.findings import LowerBound, UpperBound
from verify.verdict.words import lower_words

UPPER = UpperBound(1.0, 1e-6, "ledger")


@pytest.mark.parametrize(
    ("lower", "above"),
    [
        (LowerBound(1.007, 1e-6, 0.95, "test", 1_000), True),
        (LowerBound(0.99, 1e-6, 0.95, "test", 1_000), False),
        (LowerBound(1.007, 0.0, 0.95, "test", 1_000), False),  # at a smaller delta
        (LowerBound(1.007, 1e-6, 1.0, "coupled runs", 0), False),  # no chance in it
        (LowerBound(1.5, 1e-6, 0.999999, "test", 1_000, decisive=True), False),  # it refutes
    ],
)
def test_a_lower_bound_that_chance_put_above_a_proved_one_is_said_to_be_so(
    lower: LowerBound, above: bool
) -> None:
    assert ("as chance may have it" in lower_words(lower, UPPER)) is above
    assert "chance" not in lower_words(lower)
