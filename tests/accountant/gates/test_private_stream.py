"""Streams: what a record moves and pays, who may enter when, and the law of the sums."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from accountant import (
    LONGEST_STREAM,
    Accountant,
    BasicComposition,
    Budget,
    Coupled,
    ForeignValue,
    GaussianComposition,
    ParticipationExceeded,
    PrivateStream,
    RawRead,
    RoundingExceeded,
    Rule,
    Simulation,
    TheoremMissing,
    Trust,
    TrustViolation,
    ZeroConcentratedComposition,
)
from mechanisms import (
    Ball,
    BandedCounter,
    Box,
    BufferedCounter,
    HorizonExceeded,
    Interval,
    OpenDPNoise,
    ParameterError,
    SquareRootCounter,
)
from mechanisms.domains.float_bounds import grid_of

STEPS, SIZE = 60, 3
Counter = BandedCounter | BufferedCounter
BALL = Ball(1.0, SIZE)


def counter_of(kind: str, *, horizon: int = STEPS, **participation: int) -> Counter:
    """Return a counter that is (1, 1e-6)-DP for points of the ball."""
    claim: dict[str, Any] = {"horizon": horizon, "sensitivity": BALL.sensitivity, **participation}
    if kind == "banded":
        return BandedCounter.for_epsilon_delta(1.0, 1e-6, bandwidth=5, **claim)
    return BufferedCounter.for_epsilon_delta(1.0, 1e-6, **claim)


class RecordingRows(Coupled):
    """A coupled gate that keeps the rows of both data sets."""

    def __init__(self) -> None:
        super().__init__(0, 1, 1)
        self.rows: list[np.ndarray] = []

    def release(self, mechanism: Any, private: Any, where: Any = None) -> Any:
        self.rows.append(np.broadcast_to(private._values[:, 0], (2, SIZE)).copy())
        return super().release(mechanism, private, where)


def movement(counter: Counter, steps: tuple[int, ...]) -> float:
    """Return how far all rows move if points at distance 1 enter in these steps."""
    gate = RecordingRows()
    stream = PrivateStream(gate, counter, SIZE)
    rng = np.random.default_rng(7)
    for step in range(counter.horizon):
        other = np.floor(rng.uniform(-0.5, 0.5, SIZE) * 1024) / 1024
        both = np.array([[[0.5, 0.0, 0.0]], [[-0.5, 0.0, 0.0]]]) if step in steps else np.array([[other]])
        stream.step(gate.private(both, BALL, record=step))
    rows = np.array(gate.rows)
    return float(np.linalg.norm(rows[:, 0] - rows[:, 1]))


@pytest.mark.slow_cells("buffered-1.53890764494462-4.593225262493493-together1-spread1")
@pytest.mark.parametrize(
    ("kind", "one", "several", "together", "spread"),
    [
        ("banded", 1.2502197072539891, 2.5004394145079782, (0, 6, 12, 18), (2, 9, 15)),
        ("buffered", 1.53890764494462, 4.593225262493493, (0, 6, 12, 18), (2, 9, 15)),
    ],
)
def test_rows_move_as_far_as_is_paid(
    kind: str, one: float, several: float, together: tuple[int, ...], spread: tuple[int, ...]
) -> None:
    """The golden norms are of dense matrices, by other code."""
    once = counter_of(kind)
    assert movement(once, (0,)) == pytest.approx(one, rel=1e-8)
    assert all(movement(once, (s,)) <= one * (1 + 1e-9) for s in range(1, STEPS, 7))
    often = counter_of(kind, participations=4, separation=6)
    assert often.record_norm == pytest.approx(several, rel=2e-9)
    assert movement(often, together) == pytest.approx(several, rel=1e-8)
    three = counter_of(kind, participations=3, separation=6)
    apart = movement(often, spread)
    assert apart <= three.record_norm
    assert apart == pytest.approx(
        {"banded": 2.1654440535877972, "buffered": 3.617964006147575}[kind], rel=1e-8
    )


@pytest.mark.parametrize("kind", ["banded", "buffered"])
@given(most=st.integers(1, 6), apart=st.integers(1, 20))
def test_charges_lead_and_end_at_the_calibrated_norm(kind: str, most: int, apart: int) -> None:
    counter = counter_of(kind, participations=most, separation=apart)
    squares = np.cumsum([counter.entry_norm(entry) ** 2 for entry in range(1, most + 1)])
    right = counter.materialize(STEPS).right
    for entry, square in enumerate(squares, 1):
        columns = right[:, [i * apart for i in range(entry) if i * apart < STEPS]].sum(axis=1)
        assert square >= float(columns @ columns)
    assert squares[-1] <= counter.record_norm**2 * (1 + 1e-15)


def accountant_of(composition: Any) -> Accountant:
    return Accountant(Budget(1.0, 1e-6), composition=composition, noise=np.random.default_rng(3))


THEOREMS: dict[str, Callable[[], Any]] = {
    "basic": BasicComposition,
    "gaussian": GaussianComposition,
}


@pytest.mark.parametrize("kind", ["banded", "buffered"])
@pytest.mark.parametrize("theorem", THEOREMS)
def test_every_record_pays_once(kind: str, theorem: str) -> None:
    counter = counter_of(kind)
    gate = accountant_of(THEOREMS[theorem]())
    stream = PrivateStream(gate, counter, SIZE)
    for step in range(STEPS):
        total = stream.step(gate.private([0.6, 0.0, 0.8], BALL, record=f"user {step}"))
    assert total.shape == (1, SIZE)
    for step in (0, 7, STEPS - 1):
        assert float(gate.spent(f"user {step}").epsilon) == pytest.approx(1.0, abs=1e-8)
    with pytest.raises(HorizonExceeded):
        stream.step(gate.private([0.0, 0.0, 0.0], BALL, record="late"))
    assert gate.spent("late").epsilon == 0


@pytest.mark.slow_cells("composition0-banded", "composition1-buffered")
@pytest.mark.parametrize("kind", ["banded", "buffered"])
@pytest.mark.parametrize("composition", [GaussianComposition(), ZeroConcentratedComposition()])
def test_four_entries_a_hundred_rounds_apart(kind: str, composition: Any) -> None:
    """Four are paid for; the fifth, and one that comes a step too soon, are refused and change nothing."""
    claim: dict[str, Any] = {"horizon": 600, "sensitivity": BALL.sensitivity}
    claim |= {"participations": 4, "separation": 100} | ({"bandwidth": 50} if kind == "banded" else {})
    make = BandedCounter if kind == "banded" else BufferedCounter
    rho = isinstance(composition, ZeroConcentratedComposition)
    budget = Budget(1.0, 1e-6)
    counter = make.for_rho(0.01, delta=1e-6, **claim) if rho else make.for_epsilon_delta(1.0, 1e-6, **claim)
    gate = Accountant(budget, composition=composition, noise=np.random.default_rng(3))
    stream = PrivateStream(gate, counter, SIZE)
    for step in range(500):
        if step in (1, 199, 250, 450):
            before = gate.to_dict()
            with pytest.raises(ParticipationExceeded, match="'ann'"):
                stream.step(gate.private([1.0, 0.0, 0.0], BALL, record="ann"))
            assert gate.to_dict() == before
            assert stream.steps == step
        name = "ann" if step in (0, 100, 200, 300) else f"user {step}"
        stream.step(gate.private([0.0, 1.0, 0.0], BALL, record=name))
    if not rho:
        assert float(gate.spent("ann").epsilon) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("kind", ["banded", "buffered"])
@pytest.mark.parametrize("widths", [(1.0, 0.5, 0.25), (0.3, 0.3, 0.3)])
def test_movements_that_fall_are_paid_at_the_largest(kind: str, widths: tuple[float, ...]) -> None:
    """The loss of entries in steps 0, 1 and 2, exactly: the last ones share noise with the first."""
    claim: dict[str, Any] = {"horizon": 30, "sensitivity": 1.0, "participations": 3}
    counter = (
        BandedCounter.for_rho(0.5, bandwidth=30, **claim)
        if kind == "banded"
        else BufferedCounter.for_rho(0.5, **claim)
    )
    gate = Accountant(Budget(9.0, 1e-6), composition=GaussianComposition(), noise=np.random.default_rng(3))
    stream = PrivateStream(gate, counter, 1)
    for width in widths:
        stream.step(gate.private([0.0], Interval(-width / 2, width / 2), record="ann"))
    rows = counter.materialize(30).right[:, :3] @ np.array(widths)
    paid = float(gate.ledger.spent("ann").values[0])  # mu squared
    assert paid >= float(rows @ rows) / counter.mechanism.sigma**2
    if len(set(widths)) == 1:
        assert paid == pytest.approx(float(rows @ rows) / counter.mechanism.sigma**2, rel=1e-6)


@pytest.mark.parametrize(
    "rule",
    [
        Rule(Budget(1.0, 1e-6), days=1),
        Rule(Budget(1.0, 1e-6), tenant="shop"),
        Rule(Budget(1.0, 1e-6), purpose="ads"),
    ],
)
def test_rules_that_count_when_and_for_whom_are_refused(rule: Rule) -> None:
    """Later rows show the record at other times, and to others."""
    gate = Accountant(
        Budget(2.0, 1e-6), composition=GaussianComposition(), rules=[rule], noise=np.random.default_rng(3)
    )
    with pytest.raises(TheoremMissing, match="in later steps, too"):
        PrivateStream(gate, counter_of("banded"), SIZE)


def test_values_that_are_rounded_more_than_was_paid_for_are_refused() -> None:
    counter = BandedCounter.for_rho(0.5, horizon=2, bandwidth=2, sensitivity=1000.0)
    gate = Accountant(Budget(9.0, 1e-6), composition=GaussianComposition(), noise=np.random.default_rng(3))
    stream = PrivateStream(gate, counter, 1)
    stream.step(gate.private([1.0], Interval(0, 1), record="ann") + 63.5)
    with pytest.raises(RoundingExceeded, match="larger, or finer"):
        stream.step(gate.private([0.0], Interval(0, 1), record="bob") + 2.0**58)


def test_a_million_steps_are_exact_enough() -> None:
    """Rounding in all rows is below the millionth that the gate allows, up to 1,000 coordinates."""
    for horizon, size in ((10**6, 1_000), (LONGEST_STREAM, 1)):
        counter = BufferedCounter.for_rho(0.5, horizon=horizon)
        gate = Accountant(
            Budget(9.0, 1e-6), composition=GaussianComposition(), noise=np.random.default_rng(3)
        )
        values = gate.private(np.zeros(size), Box(0, 1, size), record="ann") * 2.0**-5
        PrivateStream(gate, counter, size).step(values)
    with pytest.raises(ParameterError, match="horizon = 67,108,865"):
        PrivateStream(gate, BufferedCounter.for_rho(0.5, horizon=LONGEST_STREAM + 1), 1)


def test_shared_noise_needs_a_theorem_that_covers_it() -> None:
    overlapping = counter_of("buffered", participations=2, separation=10)
    with pytest.raises(TheoremMissing, match="share noise"):
        PrivateStream(accountant_of(BasicComposition()), overlapping, SIZE)
    apart = counter_of("banded", participations=2, separation=5)
    PrivateStream(accountant_of(BasicComposition()), apart, SIZE)
    PrivateStream(Simulation(0, 64), overlapping, SIZE)


@pytest.mark.parametrize("kind", ["banded", "buffered"])
def test_the_law_of_sums_and_losses(kind: str) -> None:
    """Four standard errors at 4 variances, 1 mean, 1 deviation: false alarm below 1e-3 (seeded: never at random)."""
    counter, lanes = counter_of(kind, horizon=100), 1024
    gate = Coupled(5, lanes, 1)
    stream = PrivateStream(gate, counter, SIZE)
    exact = 0.0
    for step in range(1, 101):
        sides = (1.0, -1.0) if step == 1 else (0.5, 0.5)
        values = np.zeros((2, lanes, SIZE))
        values[:, :, 0] = np.array(sides)[:, np.newaxis]
        exact += sides[0]
        total = stream.step(gate.private(values, BALL, record=step))
        if step in (1, 10, 50, 100):
            error = total - np.array([exact, 0.0, 0.0])
            wanted = float(counter.variance(step))
            assert error.var() == pytest.approx(wanted, rel=4 * math.sqrt(2 / error.size))
    mu = 2 * counter.column_norm / counter.mechanism.sigma
    assert gate.loss[0].mean() == pytest.approx(mu**2 / 2, abs=4 * mu / math.sqrt(lanes))
    assert gate.loss[0].std() == pytest.approx(mu, rel=4 / math.sqrt(2 * lanes))
    assert stats.kstest(gate.loss[0], stats.norm(mu**2 / 2, mu).cdf).pvalue > 1e-5


@pytest.mark.parametrize("kind", ["banded", "buffered"])
def test_lanes_do_not_depend_on_their_number(kind: str) -> None:
    counter, results = counter_of(kind), []
    for lanes in (64, 128):
        gate = Simulation(9, lanes)
        stream = PrivateStream(gate, counter, SIZE)
        for step in range(9):
            total = stream.step(gate.private(np.full((lanes, SIZE), 0.25), BALL, record=step))
        results.append(total[:64])
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("horizon", [100, 1_000, 10_000])
def test_rows_of_buffers_are_rounded_as_bounded(horizon: int) -> None:
    """Against the same recursion in exact arithmetic of the rounded inputs (fractions are too long: 200 bits)."""
    mp = pytest.importorskip("mpmath")
    counter = BufferedCounter.for_rho(0.5, horizon=horizon)
    factors, steps = counter.factors, min(horizon, 300)
    rng = np.random.default_rng(0)
    theta, omega = ([mp.mpf(float(x)) for x in each] for each in counter.buffers)
    kept, s, total, worst = np.zeros((factors.memory, 1)), [mp.mpf(0)] * len(theta), mp.mpf(0), mp.mpf(0)
    with mp.workprec(200):
        for x in np.floor(rng.random(steps) * 2**26) / 2**26:
            row, kept = factors.row(kept, np.array([x]))
            total += mp.mpf(float(x))
            y = total - sum(w * each for w, each in zip(omega, s, strict=True))
            s = [t * each + y for t, each in zip(theta, s, strict=True)]
            worst = max(worst, abs(mp.mpf(float(row[0])) - y))
    assert float(worst) <= factors.bounds(grid_of(Interval(0, 1)).bounds, steps).error
    column = counter.right_column(horizon)
    assert column[0] == 1.0
    assert (np.diff(column, append=0.0) <= 0).all()


def test_what_is_inside_cannot_be_read() -> None:
    gate = Accountant(Budget(1.0, 1e-6), noise=np.random.default_rng(0))
    stream = PrivateStream(gate, counter_of("banded"), SIZE)
    with pytest.raises(RawRead):
        float(stream._inside)
    with pytest.raises(RawRead, match="pickled"):
        stream.__reduce__()
    assert repr(stream) == "<private stream of shape (1, 3)>"


def test_secure_noise() -> None:
    gate = Accountant(Budget(1.0, 1e-6), noise=OpenDPNoise())
    stream = PrivateStream(gate, counter_of("banded"), SIZE)
    assert np.isfinite(stream.step(gate.private([0.1, 0.2, 0.3], BALL, record="ann"))).all()


def test_wrong_use_is_refused() -> None:
    counter = counter_of("banded")
    gate = Accountant(Budget(1.0, 1e-6), noise=np.random.default_rng(0))
    with pytest.raises(ParameterError, match="BandedCounter or a BufferedCounter"):
        PrivateStream(gate, SquareRootCounter.for_rho(0.5, horizon=9), SIZE)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="size = 0"):
        PrivateStream(gate, counter, 0)
    with pytest.raises(ParameterError, match="must be a gate"):
        PrivateStream(object(), counter, SIZE)  # type: ignore[arg-type]
    local = Accountant(Budget(1.0, 1e-6), trust=Trust.LOCAL, noise=np.random.default_rng(0))
    with pytest.raises(TrustViolation):
        PrivateStream(local, counter, SIZE)
    stream = PrivateStream(gate, counter, SIZE)
    with pytest.raises(ForeignValue):
        stream.step(np.zeros((1, SIZE)))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="shape"):
        stream.step(gate.private([0.1, 0.2], Box(0, 1, 2), record="ann"))
    other = Accountant(Budget(1.0, 1e-6), noise=np.random.default_rng(0))
    with pytest.raises(ForeignValue):
        stream.step(other.private([0.0, 0.0, 0.0], BALL, record="ann"))
    assert stream.steps == 0
    assert gate.spent("ann").epsilon == 0
