"""Repeated noise in calls for several lanes: then outputs are no independent draws.

A function ``f(data, rng, lanes)`` that makes a generator with a seed of its own, or resets the state of the one it
gets, looks random within a call and repeats itself from call to call. Counts of its outputs are then counts of one
call, many times over, and prove nothing. Calls on one data set, with different generators, are compared in three ways:

- *Lane by lane*: how often two calls agree on the same lane, against how often they agree on different lanes. For
  independent draws both are equally likely.
- *Exceptions*: on how many lanes both calls have another output than the commonest one.
- *Anywhere*: how many outputs both calls have, where neither has one twice. Independent draws that never repeat
  within a call hardly do between two.

All tests are exact: a function whose lanes are independent fails with a probability of at most 1e-10.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy

from mechanisms.arrays import BoolArray
from verify.conduct.spawn_keys import SpawnKey
from verify.outputs.output_readings import Readings
from verify.sampling.counted_event import CountedEvent

REPEATS_ERROR = 1e-10
"""Largest probability with which independent outputs count as repeated, all comparisons of one look together."""

_LANES = 1 << 17  # of the calls in which an event is looked for
_VALUES = 1 << 22  # entries of all their outputs
_MOST_PLACES = 32  # compared by themselves: noise of one entry may repeat while that of another does not

_Call = Sequence[Hashable]


class _Agreements(NamedTuple):
    """Numbers of agreements of two calls on the same lanes and on different ones; `lanes` were compared for each."""

    same: int
    different: int
    lanes: int


def repeated_share(calls: Sequence[Readings]) -> float | None:
    """Return the largest share of lanes on which two calls agree though they should not; None if there is none.

    Parameters
    ----------
    calls
        Outputs of several calls on one data set, each for the same number of lanes, with generators of their own.
    """
    if len(calls) < 2:
        return None
    every = list(combinations(range(len(calls)), 2))
    apart = [(i, i + 1) for i in range(0, len(calls) - 1, 2)]  # pairs of calls that have none in common
    tests = [([call.rows for call in calls], every)]
    places = min(call.values.shape[1] for call in calls)
    if places > 1:
        columns = range(min(_MOST_PLACES, places))
        tests += [([call.values[:, place].tolist() for call in calls], apart) for place in columns]
    number = sum(3 * len(pairs) + 1 for _, pairs in tests)
    found = [
        share
        for rows, pairs in tests
        for share in _shares(rows, pairs, apart, REPEATS_ERROR / number)
        if share > 0.0
    ]
    return max(found, default=None)


def repeats_an_event(result: CountedEvent, width: int, seed: int) -> bool:
    """Return whether two calls with different generators put a tested event on the same lanes.

    This finds repeats of events that are too rare for a first look. The calls are on the data set on which the event is
    more likely. Given the numbers of lanes on which it occurs in either of two calls of n lanes, the number of lanes on
    which it occurs in both is hypergeometric for independent draws. `width` is the number of entries of an output.
    """
    lanes = min(_LANES, _VALUES // width, result.trials)
    ours, theirs = (
        result.event.holds(result.worlds.draw(result.swapped, lanes, SpawnKey.REPEATS.sequence(seed, call)))
        for call in range(2)
    )
    return _coincide(ours, theirs, REPEATS_ERROR)


def _shares(
    rows: Sequence[_Call], pairs: Sequence[tuple[int, int]], apart: Sequence[tuple[int, int]], level: float
) -> Iterator[float]:
    """Yield the shares of agreeing lanes that chance does not explain: for pairs of calls, and for all together."""
    compared = {pair: _compared(rows[pair[0]], rows[pair[1]]) for pair in pairs}
    for first, second in pairs:
        yield _lane_by_lane(compared[first, second], level)
        yield _exceptions(rows[first], rows[second], level)
        yield _anywhere(rows[first], rows[second], level)
    together = _Agreements(*map(sum, zip(*(compared[pair] for pair in apart), strict=True)))
    yield _lane_by_lane(together, level)


def _compared(first: _Call, second: _Call) -> _Agreements:
    """Compare the even lanes with themselves, and the odd ones each with the next.

    If all draws are independent and of one law, both counts are binomial with one probability, and independent of each
    other: no draw takes part in two comparisons.
    """
    half = len(first) // 2
    same = sum(first[i] == second[i] for i in range(0, 2 * half, 2))
    different = sum(first[i] == second[(i + 2) % (2 * half)] for i in range(1, 2 * half, 2))
    return _Agreements(same, different, half)


def _lane_by_lane(compared: _Agreements, level: float) -> float:
    """Return the share of lanes on which calls agree if it is too large for chance, else 0 (Fisher's exact test)."""
    agreed = compared.same + compared.different
    chance = scipy.stats.hypergeom.sf(compared.same - 1, 2 * compared.lanes, agreed, compared.lanes)
    return compared.same / compared.lanes if chance < level else 0.0


def _exceptions(first: _Call, second: _Call, level: float) -> float:
    """Return the share of lanes on which two calls agree if their exceptions coincide too often for chance, else 0.

    Given the outputs of each call, all orders of its lanes are equally likely for independent draws: the number of
    lanes on which both calls have an exception is hypergeometric.
    """
    counts = Counter([*first, *second])
    most = max(counts.values())
    if most == 1:  # each output is an exception
        return 0.0
    commonest = max((output for output, count in counts.items() if count == most), key=repr)
    ours, theirs = (np.array([output != commonest for output in call]) for call in (first, second))
    if not _coincide(ours, theirs, level):
        return 0.0
    return sum(one == other for one, other in zip(first, second, strict=True)) / len(first)


def _coincide(ours: BoolArray, theirs: BoolArray, level: float) -> bool:
    """Return whether two calls mark the same lanes more often than by chance, but not neighbouring lanes.

    Lanes that are sorted by their outputs agree with their neighbours, too: counts of outputs remain right.
    """
    same, shifted = (
        scipy.stats.hypergeom.sf(
            np.count_nonzero(ours & others) - 1, ours.size, np.count_nonzero(ours), np.count_nonzero(others)
        )
        for others in (theirs, np.roll(theirs, 1))
    )
    return bool(same < level < math.sqrt(level) < shifted)


def _anywhere(first: _Call, second: _Call, level: float) -> float:
    """Return the share of outputs that two calls have in common if it is too large for chance, else 0.

    Let the n outputs of each call all be different, and s of them be in both calls. For independent draws, all C(2n, n)
    ways to divide the 2n draws between the calls are equally likely; 2^s C(2n-2s, n-s) of them divide all s pairs.
    """
    n, ours, theirs = len(first), set(first), set(second)
    if len(ours) < n or len(theirs) < n:
        return 0.0
    shared = len(ours & theirs)
    chance = shared * math.log(2.0) + _log_choose(2 * (n - shared), n - shared) - _log_choose(2 * n, n)
    return shared / n if chance < math.log(level) else 0.0


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
