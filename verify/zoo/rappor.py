"""RAPPOR: a Bloom filter of a string, with randomly flipped bits."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mechanisms import Categories
from mechanisms.parameters import ParameterError
from verify.functions.claimed import claimed
from verify.neighbouring.within import AnyTwo
from verify.zoo.specimen import specimen

_SOURCE = "Erlingsson, Pihur, Korolova 2014, RAPPOR"

BITS = 20
HASHES = 4
VALUES = 11
F, P, Q = 0.75, 0.45, 0.55
ONE_TIME_F = 0.95
VALUE = AnyTwo(Categories(VALUES))
_RECORD = "one user's value, one of the strings 0, 1, ..., 10"


def murmur3(key: bytes, seed: int) -> int:
    """MurmurHash3 x86_32 (Appleby) of a key of at most three bytes, as the signed number that DP-Sniper reduces."""
    if len(key) > 3:
        raise ParameterError(f"key = {key!r}: must be at most three bytes")
    word = int.from_bytes(key, "little") * 0xCC9E2D51 & 0xFFFFFFFF
    word = (word << 15 | word >> 17) & 0xFFFFFFFF
    state = seed ^ (word * 0x1B873593 & 0xFFFFFFFF) ^ len(key)
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def bloom_filter(value: int) -> npt.NDArray[np.bool_]:
    """The bits that the four hashes of a value's string set, shape (20,)."""
    bits = np.zeros(BITS, dtype=bool)
    bits[[murmur3(str(value).encode(), seed) % BITS for seed in range(HASHES)]] = True
    return bits


def report_rates(f: float, p: float, q: float) -> tuple[float, float]:
    """P(a bit is reported 1 | it is 1) and P(... | it is 0): f/2 (p + q) + (1 - f) q, and with p for the last q."""
    return f / 2 * (p + q) + (1 - f) * q, f / 2 * (p + q) + (1 - f) * p


_Q, _P = report_rates(F, P, Q)
EPSILON = HASHES * math.log(_Q * (1 - _P) / (_P * (1 - _Q)))
ONE_TIME_EPSILON = 2 * HASHES * math.log((1 - ONE_TIME_F / 2) / (ONE_TIME_F / 2))


def _permanent(data: int, f: float, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.bool_]:
    """Permanent randomized response: a bit is replaced by a fair coin with probability f."""
    coin = rng.random((lanes, BITS))
    return np.where(coin < f, coin < f / 2, bloom_filter(data))


@specimen(
    "rappor",
    epsilon=EPSILON,
    source=f"{_SOURCE}, steps 1-3, parameters of DP-Sniper",
    why="8 bits differ between values that share no bit, each worth half of ln(q*(1 - p*) / (p*(1 - q*)))",
)
@claimed(data=VALUE, model="local", comment=_RECORD)
def _rappor(data: int, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.bool_]:
    """One RAPPOR report: permanent randomized response (f = .75), then instantaneous (p = .45, q = .55). Correct.

    ε = h ln(q*(1 - p*) / (p*(1 - q*))), h = 4 hashes: reached by values whose filters differ in all 8 bits.
    """
    permanent = _permanent(data, F, rng, lanes)
    return rng.random((lanes, BITS)) < np.where(permanent, Q, P)


@specimen(
    "one-time-rappor",
    epsilon=ONE_TIME_EPSILON,
    source=f"{_SOURCE}, steps 1-2, parameters of DP-Sniper",
    why="8 bits differ between values that share no bit, each worth ln((1 - f/2) / (f/2))",
)
@claimed(data=VALUE, model="local", comment=_RECORD)
def _one_time_rappor(data: int, rng: np.random.Generator, lanes: int) -> npt.NDArray[np.bool_]:
    """One-time RAPPOR: the permanent response alone, f = .95. Correct at ε = 2h ln((1 - f/2) / (f/2))."""
    return _permanent(data, ONE_TIME_F, rng, lanes)
