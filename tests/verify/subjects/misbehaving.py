"""Functions that misbehave, one way each; what is said of them is in test_misbehaving.py."""

import random
import time

import numpy as np

from mechanisms import Box, Categories, Integers, Interval
from verify import AddOrRemoveOne, Within, claimed

UNIT = Interval(0, 1)
CALLS = [0]


@claimed(data=UNIT)
def raises_on_one(data, rng):
    if data > 0.75:
        raise KeyError("no such bin")
    return data + rng.laplace(scale=1.0)


@claimed(data=UNIT)
def raises_in_lanes(data, rng, lanes):
    noisy = data + rng.laplace(scale=1.0, size=lanes)
    if (noisy > 2.0).any():
        raise OverflowError("too large")
    return noisy


@claimed(data=UNIT)
def nan_where_negative(data, rng):
    noisy = data + rng.laplace(scale=1.0)
    return noisy if noisy >= 0.0 else float("nan")


@claimed(data=UNIT)
def always_nan(data, rng):
    return float("nan")


@claimed(data=UNIT)
def as_long_as_the_data(data, rng):
    noise = rng.laplace(scale=1.0, size=2)
    return noise.tolist() if data > 0.5 else noise[:1].tolist()


@claimed(data=AddOrRemoveOne(Categories(4), 3))
def occupied_keys(data, rng):
    counts = {f"key{key}": (data == key).sum() + rng.laplace() for key in sorted(set(data.tolist()))}
    return {key: round(count, 3) for key, count in counts.items() if count > 1.0}


@claimed(data=UNIT)
def own_generator(data, rng):
    return data + np.random.default_rng().laplace(scale=1.0)


@claimed(data=UNIT)
def numpy_global(data, rng):
    return data + np.random.laplace(scale=1.0)  # noqa: NPY002


@claimed(data=UNIT)
def python_global(data, rng):
    return data + rng.laplace() + random.gauss(0.0, 0.01)


@claimed(data=UNIT)
def no_noise(data, rng):
    return data


@claimed(data=Within(Integers(0, 40, 3), l1=1))
def mode_far_from_a_tie(data, rng):
    first, second, _ = sorted(data.tolist(), reverse=True)
    return int(data.argmax()) if first - second > 5 else None


@claimed(data=UNIT)
def constant(data, rng):
    return 3.5


@claimed(data=UNIT)
def never_ends(data, rng):
    while True:
        time.sleep(0.01)


@claimed(data=UNIT)
def never_ends_on_one(data, rng):
    while data > 0.75:
        pass
    return rng.laplace()


@claimed(data=UNIT)
def swallows_everything(data, rng):
    while True:
        try:
            time.sleep(10.0)
        except Exception:
            continue


@claimed(data=UNIT)
def slow(data, rng):
    time.sleep(0.001)
    return data + rng.laplace()


@claimed(data=UNIT)
def prints(data, rng):
    print("noisy value of", data)
    return data + rng.laplace()


@claimed(data=Box(0, 1, 2))
def mutates(data, rng):
    data += rng.laplace(size=2)
    return data


@claimed(data=UNIT)
def remembers(data, rng):
    CALLS[0] += 1
    return data + rng.laplace() + 0.001 * CALLS[0]


@claimed(data=UNIT)
def lanes_share_a_draw(data, rng, lanes):
    return np.full(lanes, data + rng.laplace())


@claimed(data=UNIT)
def wrong_lanes(data, rng, lanes):
    return data + rng.laplace(size=3)


@claimed(data=UNIT)
def returns_an_object(data, rng):
    return rng
