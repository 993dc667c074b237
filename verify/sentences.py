"""Numbers in sentences."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """A number for a sentence: six significant digits, ∞ for infinity."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.6g}"


def digits(value: float) -> str:
    """A number that was computed exactly, as reports of audits write it: ten significant digits."""
    return "∞" if math.isinf(value) else f"{value:.10g}"


def both_numbers(epsilon: float, delta: float) -> str:
    """Both numbers of a bound or of a claim, for a sentence."""
    return f"ε={number(epsilon)} at δ={number(delta)}"
