"""`verify` on every privacy claim of the papers: the verdict and the true epsilon that hand calculation gives."""

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from mechanisms import Composed, Gaussian, Laplace, Repeated, Sensitivity
from verify import verify
from verify.sampling.mechanism_worlds import _drawer
from verify.verification.verify_mechanism import upper_bound

UNIT = Sensitivity(1.0, 1.0, 1.0)
TABLE = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "verdict_table.py"))
ROWS = TABLE["ROWS"]


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[f"{row.number} {row.form} {row.name}" for row in ROWS])
def test_verify_reaches_the_verdict(row):
    """Refutations have a false-alarm probability of 1e-4 each; certificates cannot fail by chance."""
    result, _ = row.run()
    assert result.verdict == row.verdict
    assert row.agrees(result)
    if row.form == "certified":
        assert result.upper.epsilon <= row.epsilon
        if not row.subject.endswith("shuffle"):  # whose bits are whole: one of 109 less would lose 1.0026
            assert result.upper.epsilon == pytest.approx(row.epsilon, rel=2e-9)


def test_the_rows_cover_the_claims():
    numbers = {row.number for row in ROWS}
    for paper, theorems in {"000": "P137v", "002": "134", "003": "13589x"}.items():
        assert {f"{paper}-{theorem}" for theorem in theorems} <= numbers
    for theorem in ("4.2", "4.4", "4.6", "C.1", "C.3", "C.6", "par"):
        assert f"004-{theorem}" in numbers
    assert "000-L1" in numbers
    for row in ROWS:
        assert row.form == "noise alone" or isinstance(row.subject, str)
        assert row.form != "certified" or 0.99 * row.epsilon <= row.true_epsilon <= row.epsilon


@pytest.mark.slow
def test_a_tree_of_four_rounds_is_unproven_in_the_view_of_actions():
    """All nodes lose 1.082 epsilon, but the fourth round's node is in no action."""
    result = verify("published/cucb-dp", epsilon=1.0, horizon=4, effort="quick", samples=20_000)
    assert result.verdict == "unproven"
    assert result.upper.epsilon == pytest.approx(3 / (2 * math.log(4)))


def test_the_upper_bound_of_several_releases_is_their_exact_composition():
    """003's Theorem 8 at (1, 1e-3), K = 4: 0.36453, which the profile says, too."""
    mechanism = Laplace(scale=math.sqrt(16 * math.log(math.e + 1000)))
    for together in (Repeated(mechanism, 4), Composed((mechanism,) * 4)):
        upper = upper_bound(together, 1e-3)
        assert upper.epsilon == pytest.approx(0.36453, abs=1e-5)
        assert upper.epsilon == together.profile().epsilon(1e-3)
        assert upper_bound(together, 0.0).epsilon == pytest.approx(4 / mechanism.scale)
    assert upper_bound(mechanism, 0.0).epsilon == pytest.approx(1 / mechanism.scale)


def test_all_releases_of_a_composed_mechanism_are_in_one_view():
    """Release i of coordinate k has noise of its own around the value: means within 6 s.e. of 4,000 draws."""
    mixed = Composed((Laplace(scale=1.0), Gaussian(sigma=0.5, sensitivity=UNIT), Laplace(scale=2.0)))
    start, end = np.zeros(2), np.array([5.0, 0.0])
    draw = _drawer(mixed, start, end)
    seed = np.random.SeedSequence(1)
    sample = draw(True, 4000, seed)
    assert [column.name for column in sample.columns] == [f"output[{i}]" for i in range(1, 7)]
    spread = np.array([math.sqrt(2.0)] * 2 + [0.5] * 2 + [math.sqrt(8.0)] * 2)
    assert (np.abs(sample.values.mean(axis=0) - [5, 0, 5, 0, 5, 0]) < 6 * spread / math.sqrt(4000)).all()
    np.testing.assert_allclose(sample.values.std(axis=0), spread, rtol=0.15)
    assert np.abs(np.corrcoef(sample.values.T) - np.eye(6)).max() < 6 / math.sqrt(4000)
    (column,) = _drawer(Laplace(scale=1.0), np.zeros(1), np.ones(1))(False, 10, seed).columns
    assert column.name == "output"
