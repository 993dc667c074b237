"""Functions that misbehave, one way each; what is said of them is in test_misbehaving.py."""

import os
import random
import signal
import time
import warnings

import numpy as np

from mechanisms import Box, Categories, Integers, Interval
from verify import AddOrRemoveOne, Within, claimed

UNIT = Interval(0, 1)
CALLS = [0]
OUTPUTS = {}


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


OWN = np.random.default_rng(7)


@claimed(data=UNIT)
def own_generator_of_the_module(data, rng, lanes):
    return data + OWN.laplace(scale=1.0, size=lanes)


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
        time.sleep(0.01)
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


@claimed(data=UNIT)
def fixed_seed(data, rng, lanes):
    return data + np.random.default_rng(7).laplace(size=lanes)


@claimed(data=UNIT)
def fixed_seed_of_rare_events(data, rng, lanes):
    return np.random.default_rng(7).random(lanes) < (0.01 if data > 0.5 else 0.001)


@claimed(data=UNIT)
def sets_back_its_generator(data, rng, lanes):
    rng.bit_generator.state = np.random.default_rng(1).bit_generator.state
    return data + rng.laplace(size=lanes)


@claimed(data=UNIT)
def one_of_ten_seeds(data, rng, lanes):
    return data + np.random.default_rng(rng.integers(10)).laplace(size=lanes)


@claimed(data=UNIT)
def every_other_call(data, rng):
    CALLS[0] += 1
    return data + rng.laplace() if CALLS[0] % 2 else rng.laplace()


@claimed(data=UNIT)
def remembers_its_outputs(data, rng):
    if data not in OUTPUTS:
        OUTPUTS[data] = data + rng.laplace()
    return OUTPUTS[data]


@claimed(data=UNIT)
def huge_whole_numbers(data, rng):
    return 10**400 + int(rng.integers(3))


@claimed(data=UNIT)
def huge_whole_numbers_tell(data, rng):
    return 10**30 + int(data)


@claimed(data=UNIT)
def int64_tell(data, rng, lanes):
    return np.full(lanes, 2**62) + int(data) + 2 * rng.integers(2, size=lanes)


@claimed(data=UNIT)
def uint64_noise(data, rng, lanes):
    return np.full(lanes, 2**63, dtype=np.uint64) + rng.integers(3, size=lanes).astype(np.uint64)


@claimed(data=UNIT)
def lowest_bit_of_63(data, rng, lanes):
    return (rng.integers(2**63, size=lanes, dtype=np.int64) & ~np.int64(1)) + int(data > 0.5)


@claimed(data=UNIT)
def deeply_nested(data, rng):
    nested = rng.random()
    for _ in range(3000):
        nested = [nested]
    return nested


@claimed(data=UNIT)
def a_dictionary_for_lanes(data, rng, lanes):
    return {"noisy": data + rng.laplace(size=lanes), "of": np.arange(3)}


@claimed(data=UNIT)
def nothing_for_lanes(data, rng, lanes):
    return None


@claimed(data=UNIT)
def one_number_for_lanes(data, rng, lanes):
    return data + rng.laplace()


@claimed(data=UNIT)
def warns(data, rng, lanes):
    warnings.warn("be careful", stacklevel=1)
    return data + rng.laplace(size=lanes)


@claimed(data=UNIT)
def hidden_entries_tell(data, rng, lanes):
    return np.ma.masked_array(np.full(lanes, 5.0), mask=rng.random(lanes) < (0.9 if data > 0.5 else 0.1))


@claimed(data=UNIT)
def very_long(data, rng):
    return (data + rng.laplace(scale=10.0, size=3_000)).tolist()


@claimed(data=UNIT)
def one_of_many_tells(data, rng, lanes):
    noise = rng.laplace(size=(lanes, 300))
    noise[:, 217] += 3.0 * data
    return noise


@claimed(data=UNIT)
def ends_the_process(data, rng):
    os._exit(7)


@claimed(data=UNIT)
def never_returns_from_c(data, rng):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(1_000)


@claimed(data=UNIT)
def long(data, rng):
    return (data + rng.laplace(scale=4.0, size=300)).tolist()
