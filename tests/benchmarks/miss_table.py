"""Verify what an earlier auditor missed, seed by seed, and print a Markdown table of verdicts, bounds and CPU seconds.

Run ``python tests/benchmarks/miss_table.py`` (names pick rows, ``--seeds 20``). Every subject breaks its claim, at the
default effort, and the target is: refuted at every seed, in at most 15 CPU seconds. All runs are in this process, one
after the other; the first row pays for what is imported late. The last lines say whether the target is kept.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import itertools
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from zoo_table import line

from mechanisms import Box, Categories, Integers, Interval
from mechanisms.arrays import FloatArray
from verify import Listed, PlainBandit, ReplaceOne, Within, verify
from verify.neighbouring.within import AnyTwo
from verify.zoo import specimens
from verify.zoo.plain_bandits import DPUCB
from verify.zoo.rappor import ONE_TIME_EPSILON, bloom_filter

TARGET = 15.0
UNIT = AnyTwo(Interval(0, 1))
CALLS = itertools.count()


@dataclass(frozen=True)
class Miss:
    """What was missed: a subject, the pairs it is tested on, its claim and the true epsilon ("" if not known)."""

    subject: Any
    neighbours: Any = None
    epsilon: float = 1.0
    true: str = "∞"


class ReusedRewards(DPUCB):
    """An arm's rewards stay in the sum after it was released."""

    def end_episode(self, arm: int) -> None:
        """Release the sum of all episodes, each time with the noise for one."""
        total = self.sums[arm] + self.noise(arm)
        self.seen[arm] += self.length[arm]
        self.set_index(arm, total, self.seen[arm])

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.seen = [0, 0]


class LocalUCB:
    """UCB on rewards with Laplace noise of half the scale that ε = 1 needs, sent one by one."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.sums, self.counts = rng, np.zeros(2), np.zeros(2)

    def select_arm(self) -> int:
        if not self.counts.all():
            return int(np.argmin(self.counts))
        return int(
            np.argmax(self.sums / self.counts + np.sqrt(2 * math.log(self.counts.sum()) / self.counts))
        )

    def update(self, arm: int, reward: float) -> None:
        self.counts[arm] += 1
        self.sums[arm] += self.send(reward)

    def send(self, reward: float) -> float:
        return reward + self.rng.laplace(scale=0.5)


class RawOnce(LocalUCB):
    """Right but for user 20, whose reward is sent as it is."""

    def send(self, reward: float) -> float:
        return reward if self.counts.sum() == 20 else reward + self.rng.laplace()


def beside(what: Callable[[], Any], scale: float) -> Callable[[float, np.random.Generator], list[Any]]:
    """The datum with noise, beside something that is new in every call."""
    return lambda data, rng: [what(), data + (rng.laplace(scale=scale) if scale else 0.0)]


def chosen_remainder(modulus: int) -> Callable[[float, np.random.Generator], int]:
    """A large number whose remainder is the datum."""
    return lambda data, rng: int(rng.integers(2 * 10**9 // modulus)) * modulus + int(data)


def check_digit(data: float, rng: np.random.Generator) -> int:
    """A large number whose sum of digits ends in the datum."""
    number = int(rng.integers(10**8))
    return 10 * number + (int(data) - sum(map(int, str(number)))) % 10


def tree(bits: Any, rng: np.random.Generator, levels: int) -> list[float]:
    """All running sums of bits, from a binary tree whose nodes have Lap(levels)."""
    exact, noisy, shown = [0.0] * 20, [0.0] * 20, []
    for t, bit in enumerate(np.ravel(bits).tolist(), start=1):
        level = (t & -t).bit_length() - 1
        exact[level] = sum(exact[:level]) + bit
        noisy[level] = exact[level] + rng.laplace(scale=levels)
        exact[:level] = noisy[:level] = [0.0] * level
        shown.append(sum(noisy[j] for j in range(t.bit_length()) if t >> j & 1))
    return shown


def half_noise_tree(bits: Any, rng: np.random.Generator) -> list[float]:
    """Half of the noise that the levels need."""
    return tree(bits, rng, (int(math.log2(np.size(bits))) + 1) // 2)


def every_prefix(bits: Any, rng: np.random.Generator) -> list[float]:
    """Noise for one sum on every running sum."""
    total, shown = 0.0, []
    for bit in np.ravel(bits).tolist():
        total += bit
        shown.append(total + rng.laplace())
    return shown


def hybrid(bits: Any, rng: np.random.Generator) -> list[float]:
    """Chan, Shi and Song's hybrid counter without halving ε: a bit is in a tree, and again in the total after it."""
    total, block, shown, inner = 0.0, 0.0, [], [0.0]
    for t, bit in enumerate(np.ravel(bits).tolist(), start=1):
        block += bit
        if t & (t - 1) == 0:
            total += block + rng.laplace()
            block, start = 0.0, t
            shown.append(total)
            continue
        if t == start + 1:
            inner = tree(
                np.zeros(start - 1), rng, start.bit_length() - 1
            )  # the noise of all its running sums
        shown.append(total + block + inner[t - start - 1])
    return shown


def near(scale: float) -> Callable[[float, np.random.Generator], float]:
    """Laplace noise that is a little too small, call by call."""
    return lambda data, rng: data + rng.laplace(scale=scale)


def near_in_lanes(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """The same, many at once."""
    return data + rng.laplace(scale=1.0 / 1.006, size=lanes)


def one_time_rappor(data: Any, rng: np.random.Generator, lanes: int) -> Any:
    """RAPPOR's permanent response alone, to a number's words, at three quarters of what it costs."""
    coin = rng.random((lanes, 20))
    return np.where(coin < 0.95, coin < 0.95 / 2, bloom_filter(round(float(np.ravel(data)[0]))))


def of_one_user(neighbours: Any) -> Miss:
    return Miss(one_time_rappor, neighbours, round(0.75 * ONE_TIME_EPSILON, 4), "0.8007")


def counters(rounds: int) -> dict[str, Miss]:
    bits, levels = ReplaceOne(Integers(0, 1), rounds), int(math.log2(rounds)) + 1
    return {
        f"tree, half the noise, T = {rounds}": Miss(
            half_noise_tree, bits, true=f"{levels / (levels // 2):.3g}"
        ),
        f"every prefix, T = {rounds}": Miss(every_prefix, bits, true=str(rounds)),
        f"hybrid, twice under noise for once, T = {rounds}": Miss(hybrid, bits, true="2"),
    }


NUMBERS = [[float(i)] for i in range(-10, 11)]
MISSES: dict[str, Miss] = {
    "parity": Miss(chosen_remainder(2), AnyTwo(Categories(2))),
    "remainder by 7": Miss(chosen_remainder(7), AnyTwo(Categories(7))),
    "remainder by 97": Miss(chosen_remainder(97), AnyTwo(Categories(97))),
    "check digit": Miss(check_digit, AnyTwo(Categories(10))),
    "1e14 + data + Laplace(.3)": Miss(
        lambda data, rng: 1e14 + data + rng.laplace(scale=0.3), UNIT, true="3.33"
    ),
    "beside repr(object())": Miss(beside(lambda: repr(object()), 0.3), UNIT, true="3.33"),
    "beside a counter": Miss(beside(lambda: next(CALLS), 0.3), UNIT, true="3.33"),
    "beside a time stamp": Miss(beside(time.perf_counter, 0.3), UNIT, true="3.33"),
    "raw beside a counter": Miss(beside(lambda: next(CALLS), 0.0), UNIT),
    "near the claim, single calls": Miss(near(1 / 1.04), UNIT, true="1.04"),
    "near the claim, lanes": Miss(near_in_lanes, UNIT, true="1.006"),
    "RAPPOR, Within(Box, linf=20)": of_one_user(Within(Box(-10, 10, 1), linf=20)),
    "RAPPOR, Box": of_one_user(AnyTwo(Box(-10, 10, 1))),
    "RAPPOR, Interval": of_one_user(AnyTwo(Interval(-10, 10))),
    "RAPPOR, Listed": of_one_user(Listed(list(itertools.combinations(NUMBERS, 2)))),
    "re-used rewards, T = 32": Miss(PlainBandit(ReusedRewards, 2, 32), true="≥ 2.6"),
    "re-used rewards, T = 64": Miss(PlainBandit(ReusedRewards, 2, 64), true="≥ 2.6"),
    "re-used rewards, gated": Miss(
        specimens["bandit-reused-rewards"].subject,
        true=f"{specimens['bandit-reused-rewards'].true_epsilon:g}",
    ),
    "message, half the noise": Miss(PlainBandit(LocalUCB, 2, 64, message="send"), true="2"),
    "message, one raw": Miss(PlainBandit(RawOnce, 2, 64, message="send")),
    **counters(16),
    **counters(32),
    **counters(64),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="of rows; all by default")
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    unknown = set(arguments.names) - MISSES.keys()
    if unknown:
        parser.error(f"no such rows: {', '.join(sorted(unknown))}; there are {', '.join(MISSES)}")
    headings = (
        "missed",
        "claim",
        "true ε",
        "seeds",
        "refuted",
        "bounds: least, median, most",
        "CPU s: median, most",
    )
    print(line(headings))
    print(line(["---"] * len(headings)), flush=True)
    short = []
    for name in arguments.names or MISSES:
        miss, bounds, seconds, refuted = MISSES[name], [], [], 0
        for seed in range(arguments.seeds):
            start = time.process_time()
            found = verify(miss.subject, epsilon=miss.epsilon, neighbours=miss.neighbours, seed=seed)
            seconds.append(time.process_time() - start)
            bounds.append(found.lower.epsilon if found.lower is not None else 0.0)
            refuted += found.verdict == "refuted"
        if refuted < arguments.seeds or max(seconds) > TARGET:
            short.append(name)
        spread = f"{min(bounds):.3g}, {statistics.median(bounds):.3g}, {max(bounds):.3g}"
        cost = f"{statistics.median(seconds):.1f}, {max(seconds):.1f}"
        cells = (name, f"{miss.epsilon:g}", miss.true, str(arguments.seeds), str(refuted), spread, cost)
        print(line(cells), flush=True)
    print(f"\n- short of the target: {'; '.join(short) or 'none'}")
    sys.exit(bool(short))


if __name__ == "__main__":
    main()
