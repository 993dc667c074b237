"""Ingredients of odd but correct functions: answers about a number from [0, 1], each with a budget of one."""

import math

KEEP = math.e / (1.0 + math.e)
"""Of the truth in a randomized response."""


def response(data, rng):
    """Return a bit of the data by randomized response."""
    return bool(data > 0.5) == bool(rng.random() < KEEP)


def noisy(data, rng, scale=1.0):
    """Return the data with Laplace noise."""
    return data + rng.laplace(scale=scale)


def geometric(data, rng, epsilon=1.0):
    """Return the nearest whole number with two-sided geometric noise."""
    p = 1.0 - math.exp(-epsilon)
    return round(data) + int(rng.geometric(p)) - int(rng.geometric(p))
