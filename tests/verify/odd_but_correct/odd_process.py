"""Correct answers of functions that keep or read what is the process's: caches, pools, generators, clocks, memory."""

import contextvars
import copy
import functools
import hashlib
import itertools
import math
import os
import random
import sys
import threading
import time

import numpy as np
from odd_ingredients import KEEP, geometric, noisy, response


def laplace_of(u):
    """Return the quantile of Laplace noise."""
    return math.copysign(math.log(1.0 - 2.0 * abs(u - 0.5) + 1e-300), 0.5 - u)


def pool(of):
    """Return a function that draws noise in blocks, and uses each once; `of` says which of those that are left."""
    left = []

    def answer(data, rng):
        if len(left) < 8:
            left.extend(rng.laplace(size=64).tolist())
        return data + left.pop(of(rng, len(left)))

    return answer


def own_generator(make, draw):
    """Return a function with a generator of its own."""
    own = make()
    return lambda data, rng: data + draw(own)


def by_number(answer):
    """Return a function of the number of the call, which is public."""
    count = itertools.count()
    return lambda data, rng: answer(next(count), data, rng)


def by_hash(number, data, rng):
    """Return the data with noise from a keyed hash of the call's number."""
    digest = hashlib.blake2b(number.to_bytes(8, "little"), key=b"secret", digest_size=8).digest()
    return data + laplace_of((int.from_bytes(digest, "little") + 0.5) / 2.0**64)


def xor_with_the_last():
    """Return a function that shows whether its response is that of the call before."""
    last = 0

    def answer(data, rng):
        nonlocal last
        before, last = last, int(response(data, rng))
        return before ^ last

    return answer


def from_a_thread(data, rng):
    """Return a response that another thread makes."""
    found = []
    thread = threading.Thread(target=lambda: found.append(response(data, rng)))
    thread.start()
    thread.join()
    return found[0]


def from_a_copy(data, rng):
    """Return the data with noise from a copy of the generator, which moves on by itself."""
    own = copy.deepcopy(rng)
    rng.random(3)
    return noisy(data, own)


@functools.lru_cache
def squares(n):
    """Return a public table."""
    return sum(i * i for i in range(n))


CONSTANT = int.from_bytes(os.urandom(4), "little")
SUBJECTS = {
    "pool": pool(lambda rng, left: 0),
    "pool-in-any-order": pool(lambda rng, left: int(rng.integers(left))),
    "generator-of-the-process": own_generator(
        lambda: np.random.default_rng(12345), lambda own: own.laplace()
    ),
    "python-s-generator": own_generator(
        lambda: random.Random(7), lambda own: own.expovariate(1.0) - own.expovariate(1.0)
    ),
    "the-system-s-generator": own_generator(random.SystemRandom, lambda own: laplace_of(own.random())),
    "bytes-of-the-system": lambda data, rng: (
        (data > 0.5) == (int.from_bytes(os.urandom(7), "little") < KEEP * 2**56)
    ),
    "seeded-by-number": by_number(lambda n, data, rng: data + np.random.default_rng([2024, n]).laplace()),
    "hash-of-the-number": by_number(by_hash),
    "warms-up": by_number(lambda n, data, rng: noisy(data, rng, 1.0 if n > 100 else 3.0)),
    "closed-every-fifth-time": by_number(lambda n, data, rng: noisy(data, rng) if n % 5 else "closed"),
    "two-mechanisms-in-turn": by_number(
        lambda n, data, rng: noisy(data, rng) if n % 2 else geometric(data, rng)
    ),
    "rarely-pauses": by_number(lambda n, data, rng: response(data, rng) if n % 1000 else "pause"),
    "scales-in-turn": by_number(lambda n, data, rng: noisy(data, rng, 1.0 + n % 7)),
    "slowly-longer": by_number(lambda n, data, rng: [response(data, rng)] + [0] * min(n // 1000, 20)),
    "xor-with-the-last": xor_with_the_last(),
    "with-a-constant": lambda data, rng: [CONSTANT, noisy(data, rng)],
    "masked-by-a-constant": lambda data, rng: int(response(data, rng)) ^ (CONSTANT & 1),
    "cached-table": lambda data, rng: [squares(int(rng.integers(1, 9))), noisy(data, rng)],
    "thread": from_a_thread,
    "context": lambda data, rng: contextvars.copy_context().run(response, data, rng),
    "copy-of-the-generator": from_a_copy,
    "child-of-the-generator": lambda data, rng: noisy(data, rng.spawn(1)[0]),
    "another-generator": lambda data, rng: noisy(
        data, np.random.Generator(np.random.Philox(int(rng.integers(2**60))))
    ),
    "raw-bits": lambda data, rng: (data > 0.5) == (int(rng.bit_generator.random_raw()) < KEEP * 2.0**64),
    "identity-of-an-object": lambda data, rng: [id(object()), noisy(data, rng)],
    "low-bits-of-an-identity": lambda data, rng: [id(object()) % 64, geometric(data, rng)],
    "hash-of-an-object": lambda data, rng: [hash(object()) & 0xFFFF, response(data, rng)],
    "memory": lambda data, rng: [sys.getallocatedblocks() // 10_000, geometric(data, rng)],
    "minutes": lambda data, rng: [int(time.monotonic() // 60), noisy(data, rng)],
    "parity-of-the-second": lambda data, rng: [int(time.time()) % 2, response(data, rng)],
    "time-of-day": lambda data, rng: [time.strftime("%H:%M"), response(data, rng)],
    "load": lambda data, rng: [os.getloadavg()[0], noisy(data, rng)],
    "scale-by-the-clock": lambda data, rng: noisy(data, rng, 1.0 + time.time() % 1.0),
    "digits-by-the-clock": lambda data, rng: round(noisy(data, rng), int(time.time()) % 3 + 1),
}
