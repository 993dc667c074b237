"""Bandits whose loop is compiled pull arms through a C function; nothing passes through C but rewards."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from verify import PlainBandit, verify
from verify.bandits.calling.bandit_calls import WrongArm

TABLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
SEED = np.random.SeedSequence(3)

SOURCE = r"""
#include <stdlib.h>
#include <math.h>

static double laplace(unsigned short state[3]) {
    double u = erand48(state) - 0.5;
    return (u < 0 ? 1 : -1) * log(1 - 2 * fabs(u));
}

/* Follows the leader of sums with noise of this scale, added to every reward. */
void play(double (*pull)(long), long rounds, long seed, double scale) {
    unsigned short state[3] = {seed & 0xffff, (seed >> 16) & 0xffff, 7};
    double sums[2] = {0, 0}, counts[2] = {0, 0};
    for (long t = 0; t < rounds; t++) {
        long arm = t < 2 ? t : sums[0] / counts[0] < sums[1] / counts[1];
        sums[arm] += pull(arm) + scale * laplace(state);
        counts[arm] += 1;
    }
}
"""


class Compiled:
    """Stands for compiled code: it calls a C function, whatever happens, as often as it was told."""

    def __init__(self, env: Any, seed: int) -> None:
        self.env = env

    def run(self) -> int:
        self.paid = [self.env.pointer(t % self.arms) for t in range(self.env.horizon)]
        return 1

    arms = 2


def test_rewards_come_through_c_and_what_is_played_after_the_end_is_no_part() -> None:
    made: list[Compiled] = []

    def make(env: Any, seed: int) -> Compiled:
        made.append(Compiled(env, seed))
        return made[-1]

    bandit = PlainBandit(make, arms=2, rounds=5, play="run")
    assert bandit.actions(TABLE, 1, SEED)[0, :, 0].tolist() == [0, 1, 0]
    assert made[-1].paid == [1.0, 1.0, 1.0, 0.0, 0.0]
    stops = PlainBandit(make, arms=2, rounds=3, play="run", stops=True)
    assert stops.actions(TABLE, 1, SEED)[0, :, 0].tolist() == [0, 1, 0]


def test_what_is_no_arm_is_said_once_the_play_is_over() -> None:
    class Wrong(Compiled):
        arms = 3

    with pytest.raises(WrongArm, match="returned 2 in round 3"):
        PlainBandit(Wrong, arms=2, rounds=3, play="run").actions(TABLE, 1, SEED)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(("scale", "verdict"), [(0.3, "refuted"), (1.0, "unproven")])
def test_a_bandit_in_c_is_verified(scale: float, verdict: str, tmp_path: Path) -> None:
    (tmp_path / "bandit.c").write_text(SOURCE)
    library = tmp_path / "bandit.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, tmp_path / "bandit.c", "-lm"], check=True)
    play = ctypes.CDLL(str(library)).play
    play.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long, ctypes.c_double]

    class InC:
        def __init__(self, env: Any, seed: int) -> None:
            self.env, self.seed = env, seed

        def run(self) -> None:
            play(ctypes.cast(self.env.pointer, ctypes.c_void_p), self.env.horizon, self.seed, scale)

    result = verify(PlainBandit(InC, arms=2, rounds=16, play="run"), epsilon=1.0)
    assert result.verdict == verdict
