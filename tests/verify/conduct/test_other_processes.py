"""Draws that are repeated as in other processes: one coin of sixteen is seen, chance is not taken for one."""

import numpy as np
import pytest

from verify.conduct.other_processes import PROCESSES, Again, differs_in_other_processes

DRAWS = 20_000 // PROCESSES
HERE = round(0.45 * 20_000), 20_000


def counts(chances: list[float]) -> list[list[int]]:
    rng = np.random.default_rng(5)
    return [[int(rng.binomial(DRAWS, chance))] for chance in chances]


def nothing(draws: int) -> list[np.ndarray]:
    raise AssertionError(draws)


@pytest.mark.parametrize("tails", [1, 2, 8, 15])
def test_a_coin_that_falls_otherwise_in_some_processes_is_seen(tails: int) -> None:
    """The event of `answers`, one in five or 45 of 100 draws, was missed with 64 draws unless the coin fell evenly."""
    heads = PROCESSES - tails
    assert Again.from_events(nothing, 64, DRAWS, [HERE]).differ(counts([0.45] * heads + [0.2] * tails))


def test_chance_is_no_coin() -> None:
    """False alarms at the level 1e-6 for each event."""
    assert not Again.from_events(nothing, 64, DRAWS, [HERE]).differ(counts([0.45] * PROCESSES))


@pytest.mark.parametrize("here", [(20_000, 20_000), (40, 20_000)])
def test_counts_that_no_other_process_has_are_seen(here: tuple[int, int]) -> None:
    """Noise that is drawn once: all others agree that the event never comes."""
    assert Again.from_events(nothing, 64, DRAWS, [here]).differ(counts([0.0] * PROCESSES))


def test_without_a_user_s_module_nothing_is_repeated() -> None:
    assert not differs_in_other_processes(Again.from_events(nothing, 64, DRAWS, [HERE]), [], 10.0)
