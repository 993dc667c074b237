"""Correct mechanisms whose draws depend on each other: each alone has the claimed law, but counts spread too much.

A test that takes the draws for independent would refute them.
"""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out

from mechanisms import Categories, Interval
from mechanisms.arrays import FloatArray
from verify import AnyTwo

BIT = AnyTwo(Categories(2))
HONEST = math.e / (math.e + 1)
WARNER = "Warner 1965, randomized response"


def respond(bit: int, u: FloatArray | float) -> FloatArray:
    """The bit where u < e/(e + 1), else the other."""
    return np.where(np.asarray(u) < HONEST, int(bit), 1 - int(bit))


@held_out(
    data=BIT,
    epsilon=1.0,
    true_epsilon=1.0,
    source=f"{WARNER}, with uniforms resampled from a pool, a usual trick to save random numbers",
)
def coins_from_pool(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct in each lane: all lanes of a call choose among the same thousand uniforms."""
    return respond(data, rng.choice(rng.random(1000), lanes))


@held_out(
    data=BIT,
    epsilon=1.0,
    true_epsilon=1.0,
    source=f"{WARNER}, with numpy.repeat where numpy.tile or fresh draws were meant",
)
def coins_repeated(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct in each lane: every uniform serves a hundred lanes in a row."""
    return respond(data, np.repeat(rng.random(lanes // 100 + 1), 100)[:lanes])


@held_out(
    data=AnyTwo(Interval(0, 1)),
    epsilon=1.0,
    true_epsilon=1.0,
    source="antithetic variates (Hammersley and Morton 1956) in a Laplace sampler",
)
def antithetic_noise(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct in each lane: half of the lanes get the negative noise of the others."""
    noise = rng.laplace(size=lanes // 2 + 1)
    return data + np.concatenate([noise, -noise])[:lanes]


class CoinWithTimeLimit:
    """A coin that is kept for about twenty calls."""

    u: float | None = None

    def toss(self, rng: np.random.Generator) -> float:
        if self.u is None or rng.random() < 0.05:
            self.u = float(rng.random())
        return self.u


COIN = CoinWithTimeLimit()


@held_out(
    data=BIT,
    epsilon=1.0,
    true_epsilon=1.0,
    source=f"{WARNER}, with a cache of noise that expires",
)
def coin_kept_for_a_while(data: int, rng: np.random.Generator) -> int:
    """Correct in each call, if calls for different data share nothing else: the coin is drawn anew now and then."""
    return int(respond(data, COIN.toss(rng)))


HELD_OUT = (coins_from_pool, coins_repeated, antithetic_noise, coin_kept_for_a_while)
