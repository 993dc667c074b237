"""Counters: variances against simulation and dense matrices, losses, published numbers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from mechanisms import (
    BandedCounter,
    BinaryTree,
    BufferedCounter,
    ContinualSum,
    DiscreteLaplace,
    Gaussian,
    GaussianProfile,
    HorizonExceeded,
    Hybrid,
    LaneStreams,
    NoPrivacy,
    NumpyNoise,
    OpenDPNoise,
    ParameterError,
    PureProfile,
    Sensitivity,
    SignedTree,
    SquareRootCounter,
)
from mechanisms.arrays import FloatArray
from mechanisms.counters.buffered_counter import _BUFFERS
from mechanisms.counters.signed_tree import _total_weight, best_branching, levels_for
from mechanisms.counters.toeplitz_counter import ToeplitzCounter

STEPS = 60
COUNTERS: dict[str, ContinualSum] = {
    "binary": BinaryTree.for_epsilon(1.0, horizon=STEPS),
    "binary gaussian": BinaryTree.for_rho(0.5, horizon=STEPS),
    "binary published": BinaryTree.as_published(1.0, horizon=STEPS),
    "hybrid": Hybrid(epsilon=1.0),
    "signed 3": SignedTree.for_epsilon(1.0, horizon=STEPS, branching=3),
    "signed 5": SignedTree.for_epsilon(1.0, horizon=STEPS, branching=5),
    "signed best": SignedTree.for_epsilon(1.0, horizon=STEPS),
    "signed gaussian": SignedTree.for_rho(0.5, horizon=STEPS),
    "signed discrete": SignedTree.for_epsilon(1.0, horizon=STEPS, discrete=True),
    "square root": SquareRootCounter.for_rho(0.5, horizon=STEPS),
    "buffered": BufferedCounter.for_rho(0.5, horizon=STEPS),
    "banded": BandedCounter.for_rho(0.5, horizon=STEPS, bandwidth=9),
}
every = pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS.keys())
ALPHA = 1e-6


@every
def test_factors_multiply_to_running_sums(counter: ContinualSum) -> None:
    assert isinstance(counter, ContinualSum)
    for steps in (1, 2, 37, STEPS):
        dense = counter.materialize(steps)
        np.testing.assert_allclose(dense.left @ dense.right, np.tril(np.ones((steps, steps))), atol=1e-12)


@every
def test_variance_is_that_of_the_dense_matrices(counter: ContinualSum) -> None:
    dense = counter.materialize(STEPS)
    np.testing.assert_allclose(
        counter.variance(np.arange(1, STEPS + 1)), np.diag(dense.covariance), rtol=1e-12
    )
    assert counter.variance(7).shape == ()


@every
def test_streams_have_the_dense_covariance(counter: ContinualSum) -> None:
    """All pairs of steps, 8,000 streams of whole numbers; false alarm below 1e-6 in all (64 x 64 entries)."""
    lanes = 8_000
    rng = np.random.default_rng(4)
    stream = counter.start((lanes,), rng)
    increments = rng.integers(0, 5, STEPS)
    outputs = np.array([stream.step(np.full(lanes, x)) for x in increments])
    assert stream.steps == STEPS
    error = outputs - np.cumsum(increments)[:, None]
    wanted = counter.materialize(STEPS).covariance
    deviation = np.sqrt(np.diag(wanted))
    z = stats.norm.isf(ALPHA / 1e4)
    assert np.abs(error.mean(axis=1) / deviation).max() < z / math.sqrt(lanes)
    # An entry's variance is at most (kurtosis + 1) v² / lanes, and sums of Laplace draws have kurtosis <= 6.
    assert np.abs((np.cov(error) - wanted) / np.outer(deviation, deviation)).max() < z * math.sqrt(7 / lanes)


@every
def test_one_record_pays_for_its_column(counter: ContinualSum) -> None:
    """The profile covers every column of R, each node at its own scale; some column attains it."""
    dense = counter.materialize(STEPS)
    profile = counter.profile()
    if isinstance(profile, GaussianProfile):
        mus = np.sqrt(((dense.right.T / dense.deviation) ** 2).sum(axis=1))
        assert profile.mu == pytest.approx(mus.max(), rel=2e-9)
        assert profile.mu >= mus.max()
    else:
        mechanism = getattr(counter, "mechanism", None)
        discrete = isinstance(mechanism, DiscreteLaplace)
        scales = mechanism.scale if discrete else dense.deviation / math.sqrt(2.0)  # type: ignore[union-attr]
        losses = np.abs(dense.right.T / scales).sum(axis=1)
        assert float(profile.pure_epsilon) == pytest.approx(losses.max(), rel=1e-9)  # type: ignore[arg-type]
        assert profile.epsilon(0.0) >= losses.max() * (1 - 1e-12)


@pytest.mark.parametrize("make", [BinaryTree, SignedTree])
def test_increments_without_a_bound_have_no_privacy(make: type[BinaryTree] | type[SignedTree]) -> None:
    boundless = Sensitivity(math.inf, math.inf, math.inf)
    assert make.for_epsilon(1.0, horizon=9).profile(boundless) == NoPrivacy()
    assert make.for_rho(1.0, horizon=9).profile(boundless) == NoPrivacy()


def test_claims_are_met_exactly() -> None:
    four = Sensitivity.of_box([1.0] * 4)
    for counter in (
        BinaryTree.for_epsilon(0.7, horizon=10**5, sensitivity=four),
        SignedTree.for_epsilon(0.7, horizon=10**5, sensitivity=four),
        Hybrid(epsilon=0.7, sensitivity=four),
    ):
        assert counter.profile().pure_epsilon <= Fraction(0.7)
        assert counter.profile().epsilon(0.0) == pytest.approx(0.7, rel=1e-15)
        half = counter.profile(Sensitivity.of_box([1.0] * 2))
        assert half.epsilon(0.0) == pytest.approx(0.35, rel=1e-14)
    for gaussian in (
        BinaryTree.for_rho(0.1, horizon=10**5, sensitivity=four),
        SignedTree.for_rho(0.1, horizon=10**5, sensitivity=four),
        SquareRootCounter.for_rho(0.1, horizon=10**5, sensitivity=four),
        BufferedCounter.for_rho(0.1, horizon=10**5, sensitivity=four),
    ):
        assert gaussian.profile().rho == pytest.approx(0.1, rel=1e-8)
        assert gaussian.profile().rho <= 0.1 * (1 + 1e-15)
    analytic = BufferedCounter.for_epsilon_delta(1.0, 1e-6, horizon=5000, sensitivity=four)
    assert analytic.profile().epsilon(1e-6) == pytest.approx(1.0, rel=1e-9)
    assert SquareRootCounter.for_epsilon_delta(1.0, 1e-6, horizon=50).profile().delta(1.0) <= 1e-6


def test_the_published_tree_scale() -> None:
    """Known facts: 0.738 ε with factor 2, 1.477 ε with factor 1 (Lemma 1, false) at T = 10⁵; T = 4, T = 2."""
    for factor, horizon, truth in [
        (2.0, 10**5, 0.738),
        (1.0, 10**5, 1.477),
        (2.0, 2, 1.443),
        (2.0, 4, 1.082),
    ]:
        tree = BinaryTree.as_published(1.0, horizon=horizon, factor=factor)
        assert tree.profile().epsilon(0.0) == pytest.approx(truth, abs=6e-4)
    with pytest.raises(ParameterError, match="horizon = 1"):
        BinaryTree.as_published(1.0, horizon=1)


@pytest.mark.parametrize(
    ("horizon", "binary", "signed", "branching", "hybrid", "gaussian", "root", "buffered"),
    [
        (10**3, (988, 1_800), (170, 324), 13, (2_238, 5_264), (49.4, 90), (9.62, 10.66), 10.67),
        (10**4, (2_533, 5_096), (369, 720), 29, (5_949, 13_928), (90.5, 182), (14.7, 16.0), 16.0),
        (10**6, (7_908, 15_200), (1_143, 2_200), 19, (23_446, 52_144), (198, 380), (28.1, 29.9), 30.2),
    ],
)
def test_who_wins_where(
    horizon: int,
    binary: tuple[float, float],
    signed: tuple[float, float],
    branching: int,
    hybrid: tuple[float, float],
    gaussian: tuple[float, float],
    root: tuple[float, float],
    buffered: float,
) -> None:
    """Known facts: mean and largest variance over t, in units of 1/ε² and 1/2ρ."""
    t = np.arange(1, horizon + 1)
    counters = [
        (BinaryTree.for_epsilon(1.0, horizon=horizon), binary),
        (SignedTree.for_epsilon(1.0, horizon=horizon), signed),
        (Hybrid(epsilon=1.0), hybrid),
        (BinaryTree.for_rho(0.5, horizon=horizon), gaussian),
        (SquareRootCounter.for_rho(0.5, horizon=horizon), root),
    ]
    for counter, (mean, largest) in counters:
        variance = counter.variance(t)
        assert variance.mean() == pytest.approx(mean, rel=6e-3)
        assert variance.max() == pytest.approx(largest, rel=6e-3)
    assert counters[1][0].branching == branching  # type: ignore[attr-defined]
    assert BufferedCounter.for_rho(0.5, horizon=horizon).variance(horizon) <= buffered


def test_best_branching_is_the_best() -> None:
    for horizon in (1, 7, 500, 3000):
        t = np.arange(1, horizon + 1)
        means = {
            k: SignedTree.for_epsilon(1.0, horizon=horizon, branching=k).variance(t).mean()
            for k in range(3, 202, 2)
        }
        assert means[best_branching(horizon)] == pytest.approx(min(means.values()))
        for k in (3, 5, 13):
            tree = SignedTree.for_epsilon(1.0, horizon=horizon, branching=k)
            assert _total_weight(horizon, k) == tree.weight(t).sum()
            assert (k ** levels_for(horizon, k) - 1) // 2 >= horizon


@pytest.mark.parametrize("horizon", [10, 100, 777, 10**4, 3 * 10**7])
def test_buffered_column_norm_by_doubling(horizon: int) -> None:
    counter = BufferedCounter.for_rho(0.5, horizon=horizon)
    if horizon <= 10**4:
        direct = math.sqrt(math.fsum(counter.right_column(horizon) ** 2))
        assert direct <= counter.column_norm <= direct * (1 + 2e-9)
    else:  # beyond the table: still calibrated, only less than optimal
        assert counter.variance(horizon) < 1.3 * (math.log(horizon) / math.pi + 1.07) ** 2


@every
def test_lanes_do_not_depend_on_their_number(counter: ContinualSum) -> None:
    few, many = (counter.start((lanes, 2), NumpyNoise(LaneStreams(9, lanes))) for lanes in (64, 128))
    for _ in range(9):
        a = few.step(np.ones((64, 2), dtype=int))
        b = many.step(np.ones((128, 2), dtype=int))
        np.testing.assert_array_equal(a, b[:64])


def test_secure_noise_only_where_its_guarantee_holds() -> None:
    for name in ("binary", "hybrid", "signed discrete", "square root", "buffered", "banded"):
        stream = COUNTERS[name].start((2,), OpenDPNoise())
        assert stream.step(np.array([1, 0])).shape == (2,)
    with pytest.raises(ParameterError, match="floating-point guarantee"):
        COUNTERS["signed 5"].start((2,), OpenDPNoise())


@every
def test_refusals(counter: ContinualSum) -> None:
    stream = counter.start((3,), np.random.default_rng(0))
    with pytest.raises(ParameterError, match=r"increment of shape \(2,\)"):
        stream.step(np.zeros(2, dtype=int))
    for wrong in ([0], [1, -5]):
        with pytest.raises(HorizonExceeded):
            counter.variance(wrong)
    if counter.horizon is not None:
        with pytest.raises(HorizonExceeded):
            counter.variance(STEPS + 1)
        for _ in range(STEPS):
            stream.step(np.zeros(3, dtype=int))
        with pytest.raises(HorizonExceeded, match="horizon is 60"):
            stream.step(np.zeros(3, dtype=int))


MANY: list[type[ToeplitzCounter]] = [SquareRootCounter, BufferedCounter, BandedCounter]


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", MANY)
@pytest.mark.parametrize(
    ("steps", "most", "apart"),
    [(9, 2, 1), (9, 3, 2), (10, 9, 1), (11, 4, 3), (12, 3, 5), (12, 12, 11), (7, 2, 7)],
)
def test_a_record_in_several_increments(
    kind: type[ToeplitzCounter], steps: int, most: int, apart: int
) -> None:
    """Its movement is the largest of all ways to take part, each position's increments anything in [-1, 1]."""
    own = {"bandwidth": 3} if kind is BandedCounter else {}
    counter = kind.for_rho(0.5, horizon=steps, participations=most, separation=apart, **own)
    right = counter.materialize(steps).right
    worst = max(
        float(np.linalg.norm(right[:, list(positions)] @ np.array(signs)))
        for k in range(1, most + 1)
        for positions in itertools.combinations(range(steps), k)
        if min(np.diff(positions), default=apart) >= apart
        for signs in (itertools.product((1.0, -1.0), repeat=k) if k <= 3 else [(1.0,) * k])
    )
    assert worst <= counter.record_norm == pytest.approx(worst, rel=1e-6)
    profile = counter.profile()
    assert isinstance(profile, GaussianProfile)
    assert profile.mu == pytest.approx(1.0, rel=1e-8)  # rho = 1/2


class Oscillating(SquareRootCounter):
    """Right columns of both signs that grow: the theorem's positions are not the worst ones."""

    def right_column(self, steps: int) -> FloatArray:
        return np.resize([0.5, -1.0, 0.8, -0.1], steps)


@pytest.mark.parametrize(("most", "apart"), [(2, 1), (3, 2), (2, 5)])
def test_columns_that_do_not_fall_are_bounded(most: int, apart: int) -> None:
    steps = 8
    counter = Oscillating.for_rho(0.5, horizon=steps, participations=most, separation=apart)
    right = counter.materialize(steps).right
    worst = max(
        float(np.linalg.norm(right[:, list(positions)] @ np.array(signs)))
        for positions in itertools.combinations(range(steps), most)
        if min(np.diff(positions)) >= apart
        for signs in itertools.product((1.0, -1.0), repeat=most)
    )
    assert worst <= counter.record_norm <= most * 8


def test_bands_cost_the_root_of_how_often_they_are_entered() -> None:
    once = BandedCounter.for_rho(0.5, horizon=1000, bandwidth=100)
    often = BandedCounter.for_rho(0.5, horizon=1000, bandwidth=100, participations=7, separation=100)
    assert often.record_norm == pytest.approx(math.sqrt(7) * once.record_norm, rel=1e-8)
    assert often.mechanism.sigma == pytest.approx(math.sqrt(7) * once.mechanism.sigma, rel=1e-8)
    all_epochs = BandedCounter.for_rho(0.5, horizon=1000, bandwidth=100, participations=50, separation=100)
    assert all_epochs.record_norm == pytest.approx(math.sqrt(10) * once.record_norm, rel=1e-8)


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="participations = 0"):
        SquareRootCounter.for_rho(0.5, horizon=9, participations=0)
    with pytest.raises(ParameterError, match=r"separation = 1.5"):
        BufferedCounter.for_rho(0.5, horizon=9, participations=2, separation=1.5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="bandwidth = 10: must be at most the horizon, 9"):
        BandedCounter.for_rho(0.5, horizon=9, bandwidth=10)
    with pytest.raises(ParameterError, match="branching = 4"):
        SignedTree.for_epsilon(1.0, horizon=9, branching=4)
    with pytest.raises(ParameterError, match="horizon"):
        BinaryTree.for_epsilon(1.0, horizon=0)
    with pytest.raises(ParameterError, match="epsilon"):
        Hybrid(epsilon=-1.0)
    with pytest.raises(ParameterError, match="whole numbers"):
        COUNTERS["signed discrete"].start((1,), np.random.default_rng(0)).step([0.5])


def test_a_signed_tree_states_its_largest_loss_only() -> None:
    """Its noise is used before a node is complete, so the curve of fixed shifts is not claimed."""
    assert isinstance(COUNTERS["signed 5"].profile(), PureProfile)
    gaussian = COUNTERS["signed gaussian"]
    assert isinstance(gaussian.mechanism, Gaussian)  # type: ignore[attr-defined]
    assert isinstance(gaussian.profile(), GaussianProfile)


def test_one_step() -> None:
    rng = np.random.default_rng(0)
    for counter in (
        BinaryTree.for_epsilon(1.0, horizon=1),
        SignedTree.for_epsilon(1.0, horizon=1),
        SquareRootCounter.for_rho(0.5, horizon=1),
        BufferedCounter.for_rho(0.5, horizon=1),
    ):
        assert counter.variance(1) == pytest.approx(2.0 if counter.profile().pure_epsilon else 1.0)
        assert counter.start((), rng).step(3.0).shape == ()


@pytest.mark.parametrize("kind", [BinaryTree, SquareRootCounter])
@pytest.mark.parametrize("mechanism", ["abc", None, Gaussian])
def test_noise_of_nodes_is_an_instance_of_what_counters_draw(kind, mechanism) -> None:
    with pytest.raises(ParameterError, match=r"mechanism = .*: must be an instance of"):
        kind(horizon=8, mechanism=mechanism)


@pytest.mark.parametrize("horizon", sorted(_BUFFERS))
def test_no_buffer_near_those_of_the_table_has_less_error(
    horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps, weights = _BUFFERS[horizon]
    best = float(BufferedCounter.for_rho(0.5, horizon=horizon).variance(horizon))
    for place in range(2 * len(gaps)):
        for factor in (0.997, 1.003):
            other = [*gaps, *weights]
            other[place] *= factor
            monkeypatch.setitem(_BUFFERS, horizon, (tuple(other[: len(gaps)]), tuple(other[len(gaps) :])))
            assert BufferedCounter.for_rho(0.5, horizon=horizon).variance(horizon) > best
