"""Bounds and witnesses that cannot be are refused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from verify.findings import LowerBound, UpperBound, Witness

WITNESS = Witness({"data": "0", "data_prime": "1"}, "the value is at most 0", 0.5, 0.07, "dpwitness verify x")


def test_impossible_bounds_and_witnesses_are_refused() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        UpperBound(math.nan, 0.0, "x")
    with pytest.raises(ValueError, match="delta"):
        LowerBound(1.0, 1.5, 0.99, "x", 1)
    with pytest.raises(ValueError, match="confidence"):
        LowerBound(1.0, 0.0, 0.0, "x", 1)
    with pytest.raises(ValueError, match="probability_prime"):
        replace(WITNESS, probability_prime=math.nan)
    with pytest.raises(ValueError, match="neighbours"):
        replace(WITNESS, neighbours={"data": "0"})
