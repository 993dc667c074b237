"""A rare event that may say more than the leader is counted once more; nothing is spent where there is none."""

from dataclasses import replace

import numpy as np
import pytest

from verify.events.event import HalfLine
from verify.events.readings import ColumnValue
from verify.events.search import ChosenEvent, Found
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.sampling import confirmation
from verify.sampling.black_box import black_box_test
from verify.sampling.confirmation import RULE, Confirmation
from verify.sampling.draws import STOPPED_EARLY, ClaimTest, LookPlan, batch_sizes
from verify.sampling.event_choice import Searched

SAMPLES, ROWS, SPENT = 8_000_000, 512_000, 2_000_000
READING = ColumnValue(Column("output", "the output", "real"))
FREQUENT, RARE, RARER, LIKE_THE_FREQUENT = range(4)


class Counts:
    """Counts of events with given probabilities, without any luck: in the first round, and in the second."""

    def __init__(self, first, second):
        self.laws, self.tasks, self.split = (first, second), [], len(batch_sizes(ROWS, 1))

    def results(self, tasks):
        self.tasks += tasks
        for task in tasks:
            law = np.array(
                [self.laws[task.batch >= self.split][int(event.threshold)] for event in task.events]
            )
            p, q = law.T
            split = p + q - 2.0 * p * q
            yield np.rint(law.T * task.size).astype(int), np.rint(split * task.size).astype(int)


def searched(events):
    listed = tuple(ChosenEvent(HalfLine(READING, float(i), True), 0.1, False) for i in events)
    return Searched(Found((listed[0], listed[0]), (), listed), listed, np.zeros((2, 0)), 0, 0, 1)


def winner(counts, events=(FREQUENT, RARE), finalists=1, claim=0.5):
    plan = LookPlan(
        (),
        epsilon=claim,
        delta=0.0,
        samples=SAMPLES,
        confidence=1.0 - 0.05 / (1.0 - STOPPED_EARLY),
        significance=5e-5 / (1.0 - STOPPED_EARLY),
        seed=0,
    )
    tested = Confirmation(counts, plan, lambda share, doing: None)
    best, spent = tested.winner([(i, searched(events)) for i in range(finalists)], ROWS, SPENT)
    return best, spent - SPENT


LAW = [(0.3, 0.28), (4e-4, 2.8e-4), (2e-5, 2e-5), (0.3, 0.2801)]


def test_a_rare_event_that_stays_what_it_seemed_wins_and_its_counts_are_added_up():
    counts = Counts(LAW, LAW)
    best, spent = winner(counts)
    assert best.event.threshold == RARE
    more = spent - 2 * ROWS
    assert more == pytest.approx(RULE.again * SAMPLES, rel=1e-3)
    assert best.counted == ROWS + more // 2
    assert best.hits == pytest.approx((4e-4 * best.counted, 2.8e-4 * best.counted), abs=3)
    assert best.estimates == best.hits


def test_a_rare_event_that_was_lucky_loses_to_the_leader():
    lucky = [LAW[FREQUENT], (2.8e-4, 2.8e-4)]
    best, spent = winner(Counts(LAW, lucky))
    assert best.event.threshold == FREQUENT
    assert spent > 2 * ROWS


@pytest.mark.parametrize("events", [(FREQUENT,), (FREQUENT, LIKE_THE_FREQUENT), (FREQUENT, RARER)])
def test_nothing_is_spent_where_no_event_may_be_worth_more(events):
    """All is known well of events as frequent as the leader; one that seems to say nothing is worth nothing."""
    counts = Counts(LAW, LAW)
    best, spent = winner(counts, events)
    assert best.event.threshold == FREQUENT
    assert spent == 2 * ROWS
    assert len(counts.tasks) == len(batch_sizes(ROWS, 1))


def test_the_second_round_shares_its_draws_among_pairs_and_draws_no_batch_twice():
    """The leader is the first pair's, as both are alike; the second pair's leader and both rare events are rivals."""
    counts = Counts(LAW, LAW)
    best, spent = winner(counts, finalists=2)
    assert best.index == 0
    assert spent - 4 * ROWS == pytest.approx(RULE.again * SAMPLES, rel=1e-3)
    batches = [(task.index, task.batch) for task in counts.tasks]
    assert len(batches) == len(set(batches))
    again = [task for task in counts.tasks if task.batch >= counts.split]
    assert {(task.index, len(task.events)) for task in again} == {(0, 2), (1, 2)}


def leaks_rarely(other, n, seed):
    """Randomized response at epsilon 0.04, but a third output of probability 8e-4, three times as likely on D."""
    rng = np.random.default_rng(seed)
    u, v = rng.random((2, n))
    u, v = (1.0 - u, 1.0 - v) if other else (u, v)  # no help from common random numbers
    values = (u < (0.49 if other else 0.51)).astype(float)
    values[v < (8e-4 / 3.0 if other else 8e-4)] = 2.0
    return ViewSample(values[:, None], (Column("output", "the output", "category"),))


@pytest.mark.slow
def test_a_black_box_test_takes_the_rare_event(monkeypatch):
    """In the first round it is seen some 30 and 10 times; with little bad luck that is less than 0.04."""

    def bounds():
        results = [
            black_box_test(
                [NeighbouringWorlds(("0", "1"), leaks_rarely)],
                ClaimTest(epsilon=0.1, delta=0.0, samples=500_000, seed=seed),
            )
            for seed in range(4)
        ]
        assert all(result.samples <= 500_000 and result.looks == 1 for result in results)
        return [result.epsilon_lower for result in results]

    with_it = bounds()
    assert min(with_it) > 0.5
    monkeypatch.setattr(confirmation, "RULE", replace(RULE, contenders=0))
    without = bounds()
    assert min(without) < 0.1


def test_where_there_is_nothing_to_lose_a_handful_of_hits_is_taken():
    """The frequent event is safe for 0.03; a few hits against none may be luck, or refute."""
    few = [(0.3, 0.29), (9e-6, 0.0)]
    counts = Counts(few, few)
    assert winner(counts, (FREQUENT, RARE), claim=0.5)[0].event.threshold == RARE
    assert winner(counts, (FREQUENT, RARE), claim=0.1)[0].event.threshold == FREQUENT


def test_a_leader_that_may_have_been_lucky_is_counted_once_more():
    """Moved down, it promises more than the frequent event, which then turns out to be the better one."""
    rare_leads = [(0.3, 0.28), (9e-4, 7e-4)]
    alone, _ = winner(Counts(rare_leads, rare_leads))
    assert alone.event.threshold == RARE
    best, spent = winner(Counts(rare_leads, [rare_leads[FREQUENT], (8e-4, 8e-4)]))
    assert best.event.threshold == FREQUENT
    assert spent > 2 * ROWS


def test_an_event_that_refutes_goes_before_one_with_a_larger_bound():
    """At 5 % the rare event promises .11 and the frequent one .063; at 5e-5 it is .038 and .060."""
    rare_leads = [(0.3, 0.28), (9e-4, 7e-4)]
    for claim, best in ((0.05, FREQUENT), (0.08, RARE)):
        assert winner(Counts(rare_leads, rare_leads), claim=claim)[0].event.threshold == best


def test_an_event_that_is_sure_to_refute_goes_before_one_that_promises_to():
    """Three standard errors below what was counted, the frequent event refutes .09 and the rare one nothing."""
    few_hits = [(0.3, 0.27), (1.5e-4, 7e-5)]
    for claim, best in ((0.08, FREQUENT), (0.1, RARE)):
        assert winner(Counts(few_hits, few_hits), claim=claim)[0].event.threshold == best


def test_a_claim_in_reach_is_worth_a_second_round():
    """Two and a half standard errors below what was counted .09 is refuted, one above it .1."""
    alike = [(0.3, 0.27), (0.3, 0.2701)]
    for claim, again in ((0.09, False), (0.1, True), (0.12, False)):
        _, spent = winner(Counts(alike, alike), (0, 1), claim=claim)
        assert (spent > 2 * ROWS) == again
