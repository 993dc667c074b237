"""Numbers in sentences."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """A number for a sentence: six significant digits, ∞ for infinity."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.6g}"


def both_numbers(epsilon: float, delta: float) -> str:
    """Both numbers of a bound or of a claim, for a sentence."""
    return f"ε={number(epsilon)} at δ={number(delta)}"
