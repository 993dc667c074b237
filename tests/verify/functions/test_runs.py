"""Calls of functions that remember earlier ones: what they remember has one law, whichever world is drawn."""

import numpy as np
import pytest

from mechanisms import Interval
from verify import AnyTwo
from verify.functions.claimed import claim_form
from verify.functions.function_subject import FunctionSubject
from verify.functions.runs import FunctionRuns
from verify.outputs.output_layout import layout_of

DATA = np.array(0.0), np.array(1.0)


class Remembers:
    """Returns the data of this call and of the two before."""

    def __init__(self):
        self.seen = [0.0, 0.0]

    def __call__(self, data, rng):
        self.seen.append(data)
        return self.seen[-3:]


def remembered(world, n, batches, beside=True):
    """Draw from one of two data sets, beside the other, in so many batches."""
    neighbours = AnyTwo(Interval(0, 1))
    form = claim_form("central", "", "", neighbours)
    runs = FunctionRuns(FunctionSubject("f", Remembers(), neighbours, form, False, False), together=False)
    layout = layout_of([runs.outputs(data, 8, np.random.SeedSequence(0)) for data in DATA])
    ours, other = DATA[:: -1 if world else 1]
    samples = [
        runs.sample(layout, ours, n, np.random.SeedSequence([1, batch]), other if beside else None)
        for batch in range(batches)
    ]
    return np.concatenate([sample.values for sample in samples])


@pytest.mark.slow_cells("1-1000-True", "1-1000-False")
@pytest.mark.parametrize("world", [False, True])
@pytest.mark.parametrize(("n", "batches"), [(4_000, 1), (1, 1_000)])
def test_the_call_before_was_on_either_data_set(world, n, batches):
    """Six standard errors; of batches of one draw, too, as bets on dear calls make them."""
    values = remembered(world, n, batches)
    assert (values[:, -1] == world).all()
    assert abs(values[:, -2].mean() - 0.5) < 6 * 0.5 / np.sqrt(n * batches)


def test_without_another_data_set_all_calls_are_on_one():
    assert (remembered(True, 100, 1, beside=False)[3:] == 1.0).all()


@pytest.mark.parametrize(
    "form",
    [
        lambda drawn: drawn,
        lambda drawn: drawn.tolist(),
        lambda drawn: (drawn[:, 0], drawn[:, 1]),
        lambda drawn: (drawn[:, 0].tolist(), drawn[:, 1]),
    ],
    ids=["array", "list", "tuple", "lists in a tuple"],
)
def test_one_lane_has_its_output_in_whatever_form_lanes_are(form):
    """A function of lanes that is asked for one at a time says what it would say of it alone."""
    neighbours = AnyTwo(Interval(0, 1))

    def of_lanes(data, rng, lanes):
        return form(rng.random((lanes, 2)))

    subject = FunctionSubject(
        "f", of_lanes, neighbours, claim_form("central", "", "", neighbours), False, True
    )
    found = FunctionRuns(subject, together=False).outputs(np.array(0.5), 3, np.random.SeedSequence(1))
    drawn = np.random.default_rng(np.random.SeedSequence(1)).random((3, 2))
    np.testing.assert_array_equal(found.values, drawn)
