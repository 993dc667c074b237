"""Functions that users might hand to the verifier, right and wrong ones."""

import numpy as np

from mechanisms import Box, Interval, Laplace, RandomizedResponse, Sensitivity
from verify import claimed

UNIT = Sensitivity(1.0, 1.0, 1.0)


@claimed(data=Interval(0, 1))
def laplace(data, rng):
    return data + rng.laplace(scale=1.0)


@claimed(data=Interval(0, 1))
def half_the_noise(data, rng):
    return data + rng.laplace(scale=0.5)


@claimed(data=Interval(0, 1))
def half_the_noise_in_lanes(data, rng, lanes):
    return data + rng.laplace(scale=0.5, size=lanes)


@claimed(data=Box(0, 1, 3))
def one_draw_for_all(data, rng):
    return data + rng.laplace(scale=3.0)


@claimed(data=Interval(0, 1))
def through_the_gate(data, gate):
    return gate.release(Laplace(scale=1.0), data)


@claimed(data=Interval(0, 1))
def raw_on_the_side(data, gate):
    noisy = gate.release(Laplace(scale=1.0), data)
    return [noisy, data > 0.5]


@claimed(data=Interval(0, 1))
def as_many_calls_as_data(data, gate):
    total = gate.release(Laplace(scale=1.0), data)
    if data > 0.5:
        total += gate.release(Laplace(scale=1.0), 0.0)
    return total


@claimed(data=Interval(0, 2))
def moves_by_two(data, gate):
    return gate.release(Laplace(scale=1.0, sensitivity=UNIT), data)


@claimed(data=Interval(0, 1))
def own_randomness(data, gate):
    return gate.release(Laplace(scale=1.0), data) + np.random.default_rng().normal()


def without_claim(data, rng):
    return data


CALLS = [0]


@claimed(data=Interval(0, 1))
def drifts(data, rng):
    CALLS[0] += 1
    return data + rng.laplace() + 1e-5 * CALLS[0]


@claimed(data=Interval(0, 1))
def raises(data, rng):
    return [1.0][int(data) + 1]


@claimed(data=Interval(0, 1))
def returns_text(data, rng):
    return "secret"


def takes_one_argument(data):
    return data


takes_one_argument.dpwitness_claim = laplace.dpwitness_claim

NOT_A_SUBJECT = 17
MECHANISM = RandomizedResponse(size=3, epsilon=1.0)
