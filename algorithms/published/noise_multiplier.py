"""The factor that published experiments put on their noise."""

from __future__ import annotations

import math

from algorithms.learner import as_number
from algorithms.problems import Parameter
from mechanisms.parameters import ParameterError

NOISE_MULTIPLIER = Parameter(
    "noise_multiplier",
    "float",
    1.0,
    low=1e-9,
    meaning="what the noise is multiplied by (the paper's experiments: 0.01)",
)


def check_noise_multiplier(noise_multiplier: float) -> float:
    """Return a noise multiplier after checking it.

    Raises
    ------
    ParameterError
        Unless it is a finite number above 0.
    """
    number = as_number(noise_multiplier)
    if not 0 < number < math.inf:
        raise ParameterError(f"noise_multiplier={noise_multiplier!r}: must be a finite number above 0")
    return number
