"""Drawing outputs at a mask."""

import numpy as np
import pytest

from accountant import Accountant, Budget, Coupled, ForeignValue, SensitivityExceeded, Simulation, Trust
from accountant.gates.release import sample
from mechanisms import (
    Binomial,
    Box,
    Categories,
    Clip,
    Composed,
    DiscreteLaplace,
    DomainError,
    Integers,
    Interval,
    LaneStreams,
    Laplace,
    NumpyNoise,
    OneHot,
    ParameterError,
    RandomizedResponse,
    Repeated,
    Sensitivity,
    from_opendp,
)

WIDE = Laplace(scale=1.0, sensitivity=Sensitivity(9, 9, 9))
GATE = Simulation(0, 1)


def noise():
    return NumpyNoise(np.random.default_rng(4))


def test_a_mask_draws_for_its_coordinates_only():
    values = np.arange(12.0).reshape(3, 4)
    where = values % 3 == 0
    outputs = sample(GATE, WIDE, values, where, noise())
    assert ((outputs != 0) == where).all()
    np.testing.assert_array_equal(outputs[where], WIDE.release(values[where], noise()))
    np.testing.assert_array_equal(sample(GATE, WIDE, values, None, noise()), WIDE.release(values, noise()))


def test_repeated_releases_keep_the_values_shape_at_the_end():
    values, where = np.zeros((2, 3)), np.array([[True, False, True], [False, False, True]])
    outputs = sample(GATE, Composed((WIDE, WIDE)), values, where, noise())
    assert outputs.shape == (2, 2, 3)
    assert ((outputs != 0) == where).all()


def test_integers_stay_integers():
    outputs = sample(
        GATE,
        RandomizedResponse(size=3, epsilon=9.0),
        np.ones((1, 2), int),
        np.array([[True, False]]),
        noise(),
    )
    assert outputs.dtype.kind == "i"
    assert outputs[0, 1] == 0


def test_a_function_that_changes_the_shape_needs_no_mask():
    total = WIDE >> np.sum
    assert sample(GATE, total, np.zeros((1, 2)), None, noise()).shape == ()
    with pytest.raises(
        ValueError, match=r"PostProcessed turned 1 released coordinates .* cannot be used with a mask"
    ):
        sample(GATE, total, np.zeros((1, 2)), np.array([[True, False]]), noise())


@pytest.mark.parametrize("gate", [Accountant(Budget(9.0)), Simulation(0, 1), Coupled(0, 1, 1)])
def test_a_mechanism_that_changes_the_shape_is_named(gate):
    class Half(Laplace):
        def release(self, value, noise):
            return super().release(value, noise)[..., :1]

    domain = Box(0, 1, 2)
    values = gate.private(np.zeros((2, 1, 2) if isinstance(gate, Coupled) else (1, 2)), domain, 1)
    half = Half(scale=1.0, sensitivity=domain.sensitivity)
    with pytest.raises(ValueError, match="Half turned 2 released coordinates into shape"):
        gate.release(half, values, np.ones((1, 2), dtype=bool))


def test_each_lane_draws_from_its_own_block():
    values, where = np.zeros((128, 3)), np.random.default_rng(0).random((128, 3)) < 0.4
    streams, second = LaneStreams(9, 128), LaneStreams(9, 64, first_block=1)
    both = sample(GATE, WIDE, values, where, NumpyNoise(streams), streams)
    alone = sample(GATE, WIDE, values[64:], where[64:], NumpyNoise(second), second)
    np.testing.assert_array_equal(both[64:], alone)


@pytest.mark.parametrize("kind", ["accountant", "simulation", "coupled"])
def test_every_gate_makes_the_same_checks(kind):
    def make():
        if kind == "accountant":
            return Accountant(Budget(9.0), noise=np.random.default_rng(0)), (1,)
        return (Simulation(0, 64), (64,)) if kind == "simulation" else (Coupled(0, 64, 0), (1, 64))

    gate, leading = make()
    number = gate.private(np.full((*leading, 1), 0.5), Box(0, 1, 1), 1)
    name = gate.private(np.full(leading, 2), Categories(3), 2)
    foreign = make()[0].private(np.full((*leading, 1), 0.5), Box(0, 1, 1), 1)
    response = RandomizedResponse(size=3, epsilon=0.5)
    with pytest.raises(ForeignValue, match="another gate"):
        gate.release(WIDE, foreign)
    with pytest.raises(ForeignValue, match="another gate"):
        gate.declassify(foreign, "why")
    with pytest.raises(ForeignValue, match="got a ndarray"):
        gate.release(WIDE, np.ones((1, 1)))
    with pytest.raises(SensitivityExceeded, match="are category names"):
        gate.release(WIDE, name)
    with pytest.raises(SensitivityExceeded, match="are numbers"):
        gate.release(response, number)
    with pytest.raises(SensitivityExceeded, match="one of 3 categories, but this RandomizedResponse knows 2"):
        gate.release(RandomizedResponse(size=2, epsilon=0.5), name)
    with pytest.raises(ValueError, match="a boolean mask"):
        gate.release(WIDE, number, np.zeros(number.shape, int))
    assert gate.release(response, name).shape == name.shape
    assert gate.release(WIDE, number, np.ones(number.shape, bool)).shape == number.shape


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=1.0), Repeated(DiscreteLaplace(scale=1.0), 2)])
def test_noise_for_whole_numbers_is_refused_on_real_ones_before_anything_is_charged(mechanism):
    accountant = Accountant(Budget(5.0), noise=np.random.default_rng(0))
    real = accountant.private([1.0], Interval(0, 1), record=1)
    with pytest.raises(SensitivityExceeded, match="Integers"):
        accountant.release(mechanism, real)
    assert len(accountant.ledger) == 0
    count = accountant.private([1], Integers(0, 1), record=1)
    assert accountant.release(mechanism, count).dtype == np.int64
    assert accountant.spent(1).epsilon > 0


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("noise", "trust"),
    [
        (Binomial(trials=100, shift=1, delta=1e-3), Trust.CENTRAL),
        (Repeated(Binomial(trials=100, shift=1, delta=1e-3), 2), Trust.CENTRAL),
        (Composed((Binomial(trials=100, shift=1, delta=1e-3), WIDE)), Trust.CENTRAL),
        (Binomial(trials=100, shift=1, delta=1e-3) >> abs, Trust.CENTRAL),
        (Binomial(trials=100, shift=1, delta=1e-3, clients=2), Trust.SHUFFLE),
    ],
)
def test_real_numbers_never_reach_noise_for_whole_ones(noise, trust):
    """Halves move by less than 1, so nothing was charged for them, and whether the noise failed told their sum."""
    accountant = Accountant(Budget.unlimited(), trust=trust, noise=np.random.default_rng(0))
    at, share, count = np.zeros((1, 1), int), accountant.sums(1), accountant.sums(1)
    half, twice = accountant.sums(1), accountant.sums(1)
    for person in ("ann", "bob"):
        given = accountant.private([1.0], Interval(0, 1), record=person)
        share.add(given, at)
        half.add(given * 0.5, at)
        given = accountant.private([1], Integers(0, 1), record=person)
        count.add(given, at)
        twice.add(given * 2.0, at)
    for sums in (share, half):
        with pytest.raises(SensitivityExceeded, match="Integers"):
            accountant.release(noise, sums)
    with pytest.raises(SensitivityExceeded, match="can move the value by"):
        accountant.release(noise, twice)  # whole, but they move by 2
    assert len(accountant.ledger) == 0
    accountant.release(noise, count)
    assert accountant.spent("ann").epsilon > 0


def test_whether_sums_are_whole_is_known_for_each_coordinate():
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    noise, sums = Binomial(trials=100, shift=1, delta=1e-3), accountant.sums(2)
    sums.add(accountant.private([1.0], Interval(0, 1), record=1), np.array([[0]]))
    sums.add(accountant.private([1], Integers(0, 1), record=2), np.array([[1]]))
    accountant.release(noise, sums, np.array([[False, True]]))
    with pytest.raises(SensitivityExceeded, match="Integers"):
        accountant.release(noise, sums, np.array([[True, False]]))
    assert [each.records for each in accountant.ledger.entries] == [(2,)]


def test_real_numbers_are_refused_before_they_wait_for_noise_for_whole_numbers():
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    noise = Binomial(trials=100, shift=1, delta=1e-3)
    with pytest.raises(SensitivityExceeded, match="Integers"):
        accountant.sums(1).add(
            accountant.private([1.0], Interval(0, 1), record=1), np.zeros((1, 1), int), release=noise
        )


def test_a_scalar_opendp_measurement_releases_one_number_at_a_time():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_randomized_response([0, 1, 2], prob=0.7)
    mechanism = from_opendp(measurement, 1)
    accountant = Accountant(Budget(5.0), noise=np.random.default_rng(0))
    numbers = accountant.private([[0.0, 1.0]], Box(0, 1, 2), record=1)
    with pytest.raises(SensitivityExceeded, match="numbers"):
        accountant.release(mechanism, numbers)
    category = accountant.private([2], Categories(3), record=2)
    assert accountant.release(mechanism, category).item() in (0, 1, 2)
    with pytest.raises(DomainError, match="one number at a time"):
        mechanism.release(np.array([[0, 1]]), np.random.default_rng(0))


BITS = Binomial(trials=300, shift=1, dimension=3, delta=1e-3)


@pytest.mark.parametrize(
    "mechanism",
    [BITS, Composed((BITS, WIDE)), Repeated(BITS, 2), BITS >> np.ravel, Clip(0, 1) >> BITS],
    ids=["itself", "composed", "repeated", "followed", "behind a transformation"],
)
@pytest.mark.parametrize("value", [0.0, 0.5])
def test_noise_for_whole_numbers_is_refused_before_it_could_fail_for_others(mechanism, value):
    """It failed for one of these values and not for the other, and charged nothing: neither moves by a whole 1."""
    gate = Accountant(Budget(1.0, delta=0.1), noise=np.random.default_rng(0))
    kept = gate.private([value], Interval(0, 0.9), "ann")
    half = gate.private([1], Integers(0, 1), "bob") * 0.5
    for private in (kept, half):
        with pytest.raises(SensitivityExceeded, match="known to be whole"):
            gate.release(mechanism, private)
    sums = gate.sums(2)
    sums.add(kept, np.array([[1]]))
    with pytest.raises(SensitivityExceeded, match="known to be whole"):
        gate.release(BITS, sums)
    gate.release(BITS, sums, np.array([[True, False]]))  # a coordinate that holds nothing is whole
    assert len(gate.ledger) == 0


def test_whole_numbers_are_known_to_be_whole():
    gate = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    one = gate.private([1, 0, 1], Integers(0, 1, 3), "ann")
    hot = gate.private([0, 1, 0], OneHot(3), "bob")
    sums = gate.sums(3)
    sums.add(one, np.array([[0, 1, 2]]))
    sums.add(hot * 1.0, np.array([[0, 1, 2]]))
    for private in (one, hot.take(np.array([[1, -1]])) + 7, sums):
        assert gate.release(BITS, private).dtype == np.int64


def test_noise_that_a_secure_source_cannot_draw_is_refused_before_it_is_charged():
    accountant = Accountant(Budget(100.0, 1e-3))
    coins = Binomial(trials=1_000, shift=1, probability=0.3, delta=1e-4)
    count = accountant.private([1], Integers(0, 1), record="ann")
    for ask in (accountant.price, accountant.release):
        with pytest.raises(ParameterError, match="Binomial has no secure sampler with these parameters"):
            ask(coins, count)
    assert len(accountant.ledger) == 0
