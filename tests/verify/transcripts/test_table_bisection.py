"""Bisection between reward tables ends where the actions change."""

import numpy as np
import pytest

from mechanisms import Box
from verify.transcripts.neighbours import Background
from verify.transcripts.table_bisection import _separating_events, anchor_tables, bisect_tables
from verify.transcripts.transcript import ActionSpace, Transcript

SPACE = ActionSpace(2, 1)


def threshold_actions(needed, decided, noise=0.0):
    """Play arm 0 up to a round; from then on arm 1 if arm 0's rewards until there reach a number."""

    def draw(data, draws, seed):
        rounds = len(data) - 1
        total = data[1 : decided + 1, 0].sum() + noise * np.random.default_rng(seed).laplace(size=draws)
        actions = np.zeros((draws, rounds, 1), dtype=np.int16)
        actions[:, decided:, 0] = (total >= needed)[:, np.newaxis]
        return actions

    return draw


@pytest.mark.parametrize(("needed", "decided"), [(1, 8), (5, 8), (8, 8), (100, 200)])
def test_every_bisection_ends_at_the_one_step_that_tells(needed, decided):
    draw = threshold_actions(needed, decided)
    tables = anchor_tables(Box(0, 1, 2), 2 * decided, np.random.default_rng(0))
    found = bisect_tables(draw, tables, SPACE, draws=4, seed=np.random.SeedSequence(1))
    assert found
    for background in found:
        (neighbour,) = background.neighbours
        other = neighbour.apply_to(background.data)
        assert (background.data != other).any(axis=1).sum() == 1
        sums = {int(table[1 : decided + 1, 0].sum()) for table in (background.data, other)}
        assert sums == {needed - 1, needed}


def test_a_noisy_step_is_found_near_the_threshold():
    draw = threshold_actions(20, 64, noise=0.5)
    tables = [Background(np.full((129, 2), value), (), f"{value:g}") for value in (0.0, 1.0)]
    (found,) = bisect_tables(draw, tables, SPACE, draws=200, seed=np.random.SeedSequence(2))
    # The law changes by 1 - e^-1 / 2 - 1/2 = 0.32 or less in a step, and by less than 1/50 beyond 2 from 20.
    assert abs(found.data[1:65, 0].sum() - 20) <= 3
    row = found.neighbours[0].record
    assert found.others == f"the users before round {row} have 1; those after it have 0"


def test_tables_on_which_the_actions_agree_lead_nowhere():
    draw = threshold_actions(1000, 8)
    tables = anchor_tables(Box(0, 1, 2), 16, np.random.default_rng(0))
    assert bisect_tables(draw, tables, SPACE, draws=4, seed=np.random.SeedSequence(1)) == []


def test_separating_events_hold_as_often_as_their_gap_says():
    rng = np.random.default_rng(3)
    played = [(rng.random((400, 6, 1)) < share).astype(np.int16) for share in (0.2, 0.5, 0.9)]
    events = _separating_events(played, SPACE)
    assert set(events) == {(0, 1), (0, 2), (1, 2)}
    for (first, second), event in events.items():
        shares = [event.share(Transcript(played[which])) for which in (first, second)]
        assert abs(shares[0] - shares[1]) == pytest.approx(event.gap)
