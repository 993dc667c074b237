"""Results as JSON data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from verify.findings.sentences import Sentence


def json_able(value: Any) -> Any:
    """Plain JSON data: NumPy numbers and arrays become Python's, members of an `Enum` values, a `Sentence` its fields.

    Infinity becomes "inf" or "-inf".

    Raises
    ------
    ValueError
        If a number is NaN, or a value has no JSON form.
    """
    if isinstance(value, Sentence):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): json_able(entry) for key, entry in value.items()}
    if isinstance(value, Enum):
        return json_able(value.value)
    if isinstance(value, np.ndarray):
        return json_able(value.tolist())
    if isinstance(value, (list, tuple)):
        return [json_able(entry) for entry in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            raise ValueError("a result must not hold nan")
        return float(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    raise ValueError(f"a result must hold JSON data only, got {type(value).__name__}")
