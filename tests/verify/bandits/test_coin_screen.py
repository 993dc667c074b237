"""The screen proposes the round on whose reward later actions depend; the test then refutes on that pair."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.verify.bandits.late_rounds import HONEST, LEAKS, late_leak
from verify import PlainBandit, verify
from verify.bandits.coin_screen import _SIZE, CoinScreen, screen_rounds
from verify.bandits.paired_runs import PairedPlayer
from verify.conduct.effort import EFFORTS

PLACES = {32: 20, 64: 40, 120: 101}  # rounds, and the round that leaks: none of 2^k, 3 * 2^k
MATRIX = [
    (kind, arms, rounds)
    for arms in (2, 4, 10)
    for rounds, at in PLACES.items()
    for kind in (*HONEST, *LEAKS)
    if kind != "counts" or at + 20 <= rounds  # it counts rounds 20 later
]


def screen(bandit: PlainBandit, effort: str = "default") -> CoinScreen:
    claim = bandit.form.with_parameters(1.0)
    seeds = np.random.SeedSequence(0).spawn(2)
    return screen_rounds(bandit, PairedPlayer(bandit, claim, EFFORTS[effort], seeds[0]), seeds[1])


@pytest.mark.slow_cells("stays")
@pytest.mark.few(3)
@pytest.mark.parametrize("kind", [kind for kind in LEAKS if kind != "counts"])
def test_the_leaking_round_is_proposed(kind: str) -> None:
    found = screen(late_leak(kind, 2, 32, 20))
    best = found.pairs[0]
    assert best.record == 20 or (kind in ("both", "parity") and best.record == 19)
    assert best.predicted > 1.3
    assert best.rounds <= 25  # no more than it takes


@pytest.mark.parametrize("kind", ["raw", "both"])
def test_proposals_are_as_recorded(kind: str, snapshot: object) -> None:
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    found = screen(late_leak(kind, 2, 32, 20), "quick")
    lines = [
        f"round {pair.record} of {pair.rounds}, predicted {pair.predicted:.5g}: {pair.others}"
        for pair in found.pairs
    ]
    assert "\n".join([found.finding([pair.record for pair in found.pairs], 32).message, *lines]) == snapshot


@pytest.mark.slow
def test_play_counts_long_after_the_round_are_compared() -> None:
    found = screen(late_leak("counts", 4, 64, 40))
    assert found.pairs[0].record == 40
    assert found.pairs[0].rounds >= 60


@pytest.mark.slow_cells("honest own generator")
@pytest.mark.slow
@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_one_promises_no_more_than_its_epsilon(kind: str) -> None:
    assert all(pair.predicted < 1.3 for pair in screen(late_leak(kind, 2, 32, 20)).pairs)


def test_the_report_names_the_rounds_changed_and_played() -> None:
    result = verify(late_leak("raw", 2, 32, 20), epsilon=1.0, effort="quick", seed=0)
    assert result.verdict == "refuted"
    (said,) = (finding.message for finding in result.findings if finding.kind == "rounds")
    assert "rewards of rounds 1 to 32 changed at random, each round in about 64 of 512 runs" in said
    assert "were tested (rounds 1 to 21)" in said
    # 2 of 32 changed runs on each pair of rows
    assert "by any factor on actions of probability below 6.25 %" in said


def test_the_least_factor_is_that_of_two_estimates_of_one_half() -> None:
    """From 16 changed and 112 other runs on each of 4 pairs of rows; ln of an estimate of 1/2 has variance 1/n."""
    said = CoinScreen([], 32, 512, 4).finding([20], 32).message
    factor = math.exp(_SIZE.near_caution * math.sqrt(1 / 16 + 1 / 112))
    assert f"{factor:.2g}" in said
    assert "12.5 %" in said  # 2 of 16


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "arms", "rounds"), [("both", 2, 32), ("raw", 10, 32)])
def test_a_few_late_leaks_are_refuted_at_quick_effort(kind: str, arms: int, rounds: int) -> None:
    bandit = late_leak(kind, arms, rounds, PLACES[rounds])
    assert verify(bandit, epsilon=1.0, effort="quick", seed=0).verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "arms", "rounds"), MATRIX)
def test_late_leaks_are_refuted_and_honest_ones_are_not(kind: str, arms: int, rounds: int) -> None:
    """An honest one is refuted with probability at most 1e-4 for each seed."""
    for seed in range(20):
        result = verify(late_leak(kind, arms, rounds, PLACES[rounds]), epsilon=1.0, seed=seed)
        assert (result.verdict == "refuted") == (kind in LEAKS), seed
