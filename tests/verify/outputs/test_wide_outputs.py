"""Of very many entries a few are columns, and sums of all."""

import numpy as np

from verify.outputs.output_layout import layout_of
from verify.outputs.read_lanes import read_lanes
from verify.outputs.read_outputs import read_outputs


def test_of_very_many_entries_those_that_differ_are_columns():
    rng = np.random.default_rng(5)
    first, second = (rng.normal(size=(40, 1000)) for _ in range(2))
    second[:, [3, 500, 999]] += 5.0
    layout = layout_of([read_lanes(first, 40), read_lanes(second, 40)])
    names = [column.name for column in layout.columns]
    assert {"output[4]", "output[501]", "output[1000]"} <= set(names)
    assert len(names) == 128 + 64
    sums = layout.sample(read_lanes(second, 40)).values[:, 128:]
    np.testing.assert_allclose(sums.sum(axis=1), second.sum(axis=1))
    short = layout.sample(read_outputs([[1.0, 2.0]])).values[0]
    assert short[128] == 3.0
    assert np.isnan(short[129:]).all()
