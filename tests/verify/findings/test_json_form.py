"""JSON data: exact values are kept, and what cannot be said is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from verify.findings.json_form import json_able


def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(ValueError, match="nan"):
        json_able({"a": [math.nan]})
    with pytest.raises(ValueError, match="JSON data"):
        json_able({"a": object()})


def test_exact_values_are_kept() -> None:
    plain = json_able(
        {"a": (True, 3, 0.1, None, "x"), "b": np.bool_(False), "c": np.int64(4), "d": np.array([[0.5]])}
    )
    assert plain == {"a": [True, 3, 0.1, None, "x"], "b": False, "c": 4, "d": [[0.5]]}
    assert type(plain["b"]) is bool
    assert type(plain["c"]) is int
