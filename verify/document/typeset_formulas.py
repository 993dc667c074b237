"""Formulas in Python's notation, as SymPy writes them, set in the field's."""

from __future__ import annotations

import re

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_LETTERS = {"epsilon": "ε", "delta": "δ", "theta": "θ", "alpha": "α", "beta": "β", "gamma": "γ", "lambda": "λ"} | {
    "Delta": "Δ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "zeta": "ζ", "sqrt": "√", "Max": "max", "Min": "min",
}  # fmt: skip
_NAME = re.compile(rf"(?<![A-Za-z_])({'|'.join(_LETTERS)})(?![A-Za-z])")


def typeset(formula: str) -> str:
    """Return a formula, or a sentence with formulas, in the field's notation.

    Examples
    --------
    >>> typeset("2*B_inf**2*log(T_0)/epsilon + sqrt(Delta_max)**(1/2) >= -K**-1")
    '2·B_inf²·log(T₀)/ε + √(Δ_max)^(1/2) ≥ -K⁻¹'
    """
    text = _NAME.sub(lambda each: _LETTERS[each[1]], formula)
    text = re.sub(r"\*\*(-?\d+)\b", lambda each: each[1].translate(_RAISED), text)
    text = re.sub(r"(?<=[^\W\d])_(\d)\b", lambda each: each[1].translate(_LOWERED), text)
    for ours, theirs in (("**", "^"), ("*", "·"), ("<=", "≤"), (">=", "≥")):
        text = text.replace(ours, theirs)
    return text
