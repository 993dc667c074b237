"""The summary that people read."""

import numpy as np
import pytest

from accountant import Accountant, Budget, ZeroConcentratedComposition
from mechanisms import Box, Laplace, Sensitivity


def test_who_paid_what_for_which_release_and_what_is_left():
    gate = Accountant(Budget(2.0, 1e-6), noise=np.random.default_rng(0))
    wide = Laplace(scale=4.0, sensitivity=Sensitivity.of_box([1.0] * 2))
    for record, share in (("ann", 0.25), ("ann", 0.25), ("bob", 1.0)):
        gate.release(wide, gate.private([0.5, 0.5], Box(0, 1, 2), record) * share)
    gate.release(Laplace(scale=1.0), gate.private([0.5], Box(0, 1, 1), "ann"))
    summary = gate.summary()
    assert [(line.releases, line.records, line.charge.epsilon, line.noise) for line in summary.lines] == [
        (3, 3, 0.5, "numpy:PCG64"),
        (1, 1, 1, "numpy:PCG64"),
    ]
    assert (summary.records, summary.worst_record, summary.worst_cost.epsilon) == (2, "ann", 1.25)
    text = str(summary)
    for words in (
        "epsilon = 2, delta = 1e-06 (central trust, basic composition), neighbours: replace one",
        "'ann' lost epsilon = 1.25; left: epsilon = 0.75, delta = 1e-06",
        "test_summary.py:",
        "Laplace(scale=4.0",
        "numpy:PCG64",
    ):
        assert words in text


def test_declassifications_stand_out():
    gate = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    gate.declassify(gate.private([0.5], Box(0, 1, 1), 1), "the printed algorithm does")
    text = str(gate.summary())
    assert "declassified: the printed algorithm does" in text
    assert "1 lost epsilon = ∞; left: no limit" in text


def test_an_empty_ledger_has_a_summary():
    summary = Accountant(Budget(1.0), noise=np.random.default_rng(0)).summary()
    assert summary.worst_record is None
    assert summary.left.epsilon == 1
    assert "records charged         0" in str(summary)


@pytest.mark.parametrize(
    ("failures", "said"), [(0.25, "zCDP filter, failures = 0.25 of delta"), (0.0, "zCDP filter)")]
)
def test_the_share_of_delta_for_failures_is_said_where_there_is_one(failures, said):
    theorem = ZeroConcentratedComposition(failures=failures)
    gate = Accountant(Budget(1.0, 1e-6), composition=theorem, noise=np.random.default_rng(0))
    assert gate.summary().failures == failures
    assert said in str(gate.summary())
