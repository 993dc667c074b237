"""The noise multiplier of published experiments, which scales their noise."""

from __future__ import annotations

from algorithms.problems import Parameter

NOISE_MULTIPLIER = Parameter(
    "noise_multiplier",
    "float",
    1.0,
    low=1e-9,
    meaning="the factor on the noise (the paper's experiments: 0.01)",
)
