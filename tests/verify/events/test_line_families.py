"""Events of one line: the tails of one world, where it has a few draws left."""

import numpy as np

from verify.events.families import Sorted
from verify.events.line_families import tails_family
from verify.events.readings import Value
from verify.events.search import search_events
from verify.events.view_sample import Column, ViewSample


def test_tails_of_one_world_are_cut_where_it_has_a_few_draws_left_at_either_end():
    rng = np.random.default_rng(3)
    column = (Column("output", "the output", "real"),)
    wide, narrow = rng.laplace(scale=3.0, size=(2, 40_000)), rng.laplace(size=(2, 40_000))
    fit, choose = (
        (ViewSample(wide[i][:, None], column), ViewSample(narrow[i][:, None], column)) for i in (0, 1)
    )
    (family,) = tails_family(Sorted.of(Value(0, column[0]), fit, choose))
    outside = []
    for at in range(family.hits.size):
        event = family.build(at)
        counted = [int(event.holds(world).sum()) for world in choose]
        assert counted == [family.hits[at], family.hits_prime[at]]
        split = int((event.holds(choose[0]) != event.holds(choose[1])).sum())
        assert family.split[at] * 40_000 >= split + 1
        outside.append([int(event.holds(world).sum()) for world in fit])
    of_narrow = [second for _, second in outside[len(outside) // 2 :]]
    assert of_narrow[:5] == [0, 2, 4, 8, 16]
    found = search_events(fit, choose, final_samples=10**6, delta=0.0, error=0.05, shortlist=True).shortlist
    assert any(
        event.event.holds(choose[0]).sum() > 1_000 > 200 * event.event.holds(choose[1]).sum()
        for event in found
    )
