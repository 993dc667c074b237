"""Coupled runs: losses against closed forms, their law against exact profiles, and what they catch."""

import math

import numpy as np
import pytest

from accountant import Coupled, Place, RawRead
from mechanisms import (
    Box,
    Categories,
    Composed,
    DiscreteLaplace,
    DomainError,
    Gaussian,
    Laplace,
    OneHot,
    RandomizedResponse,
    Repeated,
    Sensitivity,
)
from mechanisms.composition.composed_profile import composed_profile

LANES = 128
WIDE = Sensitivity(9.0, 9.0, 9.0)


def side_by_side(*rows, lanes=LANES):
    """Return each row's values in every lane, shape (worlds, lanes, n)."""
    return np.repeat(np.array(rows, dtype=float)[:, None, :], lanes, axis=1)


def laplace_loss(outputs, value, other, scale):
    return (np.abs(outputs - np.array(other)) - np.abs(outputs - np.array(value))) / scale


def test_one_laplace_release():
    gate = Coupled(5, LANES, 2)
    private = gate.private(side_by_side([0.25], [0.875], [0.25]), Box(0, 1, 1), 1)
    outputs = gate.release(Laplace(scale=0.5), private)
    np.testing.assert_allclose(gate.loss[0], laplace_loss(outputs, [0.25], [0.875], 0.5)[:, 0], atol=1e-13)
    assert gate.loss[0].max() == pytest.approx(1.25)
    assert not gate.loss[1].any()
    assert gate.divergences == []


def test_losses_add_over_coordinates_and_releases():
    gate = Coupled(5, LANES, 1)
    rows = ([0.25, 0.375, 0.625], [1.0, 0.0, 0.625])
    private = gate.private(side_by_side(*rows), Box(0, 1, 3), 1)
    expected = np.zeros(LANES)
    for scale in (1.0, 2.0, 7.0):
        outputs = gate.release(Laplace(scale=scale, sensitivity=WIDE), private)
        expected += laplace_loss(outputs, *rows, scale).sum(axis=-1)
    np.testing.assert_allclose(gate.loss[0], expected, atol=1e-12)


def test_masked_coordinates_only_are_lost():
    gate = Coupled(5, LANES, 1)
    rows = ([0.25, 0.375, 0.625], [1.0, 0.0, 0.5])
    private = gate.private(side_by_side(*rows), Box(0, 1, 3), 1)
    where = np.random.default_rng(0).random((LANES, 3)) < 0.5
    outputs = gate.release(Laplace(scale=2.0, sensitivity=WIDE), private, where)
    losses = np.where(where, laplace_loss(outputs, *rows, 2.0), 0.0).sum(axis=-1)
    np.testing.assert_allclose(gate.loss[0], losses, atol=1e-13)
    assert (gate.loss[0][~where.any(axis=1)] == 0).all()


def emptied(output):
    published = output - 1.0
    output[:] = 0.0
    return published


def test_functions_of_a_release_hide_nothing_of_its_loss():
    """Not even those that work in place; they are called in their order, on what was drawn."""
    gates = [Coupled(5, LANES, 1) for _ in range(2)]
    quiet = Laplace(scale=0.5, sensitivity=WIDE)
    plain, published = (
        gate.release(mechanism, gate.private(side_by_side([0.25, 0.0], [0.875, 0.5]), Box(0, 1, 2), 1))
        for gate, mechanism in zip(gates, (quiet, quiet >> emptied >> np.abs), strict=True)
    )
    np.testing.assert_array_equal(published, np.abs(plain - 1.0))
    np.testing.assert_array_equal(gates[1].loss, gates[0].loss)
    assert gates[0].loss.any()
    assert [gate.more_than_seen for gate in gates] == [False, True]


@pytest.mark.parametrize("masked", [False, True])
def test_repeated_releases_of_one_mechanism(masked):
    gate = Coupled(5, LANES, 1)
    rows = ([0.25, 0.375], [1.0, 0.0])
    laplace = Laplace(scale=2.0, sensitivity=WIDE)
    private = gate.private(side_by_side(*rows), Box(0, 1, 2), 1)
    where = np.random.default_rng(0).random((LANES, 2)) < 0.5 if masked else None
    outputs = gate.release(Repeated(laplace, 3) if masked else Composed((laplace,) * 3), private, where)
    assert outputs.shape == (3, LANES, 2)
    losses = laplace_loss(outputs, *rows, 2.0).sum(axis=0)
    np.testing.assert_allclose(
        gate.loss[0], np.where(True if where is None else where, losses, 0).sum(-1), atol=1e-12
    )


def test_randomized_response():
    gate = Coupled(5, LANES, 2)
    values = np.repeat(np.array([[2], [0], [2]]), LANES, axis=1)
    outputs = gate.release(RandomizedResponse(size=4, epsilon=1.5), gate.private(values, Categories(4), 1))[
        :, 0
    ]
    np.testing.assert_allclose(gate.loss[0], np.select([outputs == 2, outputs == 0], [1.5, -1.5]), atol=1e-13)
    assert not gate.loss[1].any()
    assert gate.divergences == []


def test_operations_follow_every_world():
    gate = Coupled(5, LANES, 1)
    rows = ([0.0, 1.0, 0.0], [0.0, 0.0, 0.0])
    private = gate.private(side_by_side(*rows), OneHot(3), 1)
    fixed = gate.private(side_by_side([0.5]), Box(0, 1, 1), 2)
    index = np.tile([[1]], (LANES, 1))
    sums = gate.sums(2)
    sums.add(
        (private.take(index) * 2.0 + fixed).map(lambda v: v * v, stability=9.0), at=np.ones((LANES, 1), int)
    )
    outputs = gate.release(Laplace(scale=3.0, sensitivity=WIDE), sums)
    np.testing.assert_allclose(
        gate.loss[0], laplace_loss(outputs, [0, 6.25], [0, 0.25], 3.0).sum(-1), atol=1e-12
    )


# --- what it catches, with the line --------------------------------------------------------------


def line_of(function):
    return Place(__file__, function.__code__.co_firstlineno + 1)


def test_a_movement_beyond_the_calibration_is_found():
    gate = Coupled(5, LANES, 2)

    def leak(private):
        return gate.release(Laplace(scale=1.0), private)

    leak(gate.private(side_by_side([0.0], [1.0], [3.0]), Box(0, 3, 1), 1))
    leak(gate.private(side_by_side([0.0], [1.0], [3.0]), Box(0, 3, 1), 1))
    (found,) = gate.divergences
    assert (found.kind, found.where, found.neighbour, found.share) == ("sensitivity", line_of(leak), 1, 1.0)
    assert "by 3 in L1 norm, more than the 1 that its Laplace is calibrated for" in found.message
    assert gate.loss[1].max() == pytest.approx(6.0)


def test_category_names_are_one_apart():
    gate = Coupled(5, LANES, 1)
    values = np.repeat(np.array([[9], [0]]), LANES, axis=1)
    gate.release(RandomizedResponse(size=10, epsilon=1.0), gate.private(values, Categories(10), 1))
    assert gate.divergences == []


def test_a_wrong_stability_is_found():
    gate = Coupled(5, LANES, 1)
    private = gate.private(side_by_side([0.0, 0.0], [0.5, 0.0]), Box(0, 1, 2), 1)

    def honest():
        return private.map(lambda v: v * 3.0, stability=3.0)

    def leak():
        return private.map(lambda v: v * 3.0, stability=2.0)

    honest()
    assert gate.divergences == []
    leak()
    (found,) = gate.divergences
    assert (found.kind, found.where) == ("stability", line_of(leak))


@pytest.mark.parametrize("shown", [True, False])
def test_a_declassified_difference_is_certain(shown):
    gate = Coupled(5, LANES, 2)
    values = side_by_side([0.25], [0.25], [0.25])
    values[2, :32] = 0.5

    def leak():
        return gate.declassify(gate.private(values, Box(0, 1, 1), 1), "line 7", shown=shown)

    assert leak().tolist() == [[0.25]] * LANES
    (found,) = gate.divergences
    assert (found.kind, found.where, found.neighbour, found.share) == ("declassified", line_of(leak), 1, 0.25)
    assert found.message.startswith("line 7")
    assert np.isinf(gate.loss).tolist() == [[False] * LANES, [True] * 32 + [False] * (LANES - 32)]
    assert (gate.hidden == (np.isinf(gate.loss) & (not shown))).all()
    gate.release(Laplace(scale=1.0), gate.private(side_by_side([0.5]), Box(0, 1, 1), 2))
    assert np.isinf(gate.loss).sum() == 32


def test_what_is_declassified_counts_as_shown_unless_the_caller_says_otherwise():
    gate = Coupled(5, LANES, 1)
    gate.declassify(gate.private(side_by_side([0.25], [0.5]), Box(0, 1, 1), 1), "line 7")
    assert np.isinf(gate.loss).all()
    assert not gate.hidden.any()


def test_whole_numbers_take_discrete_noise():
    gate = Coupled(5, LANES, 1)
    values = side_by_side([1.0], [0.0])
    whole = gate.private(values, Box(0, 1, 1), 1).map(lambda v: v.astype(int), stability=1.0)
    gate.release(DiscreteLaplace(scale=1.0), whole)
    assert set(np.round(gate.loss[0], 9)) == {-1.0, 1.0}


def test_reads_end_the_run():
    with pytest.raises(RawRead, match="branched on"):
        bool(Coupled(5, LANES, 1).private(side_by_side([0.5], [0.2]), Box(0, 1, 1), 1))


@pytest.mark.parametrize("shape", [(2, LANES, 1), (3, LANES + 1, 1), (LANES, 1), (1, 3, LANES, 1)])
def test_data_must_fit_worlds_and_lanes(shape):
    with pytest.raises(ValueError, match=r"must be \(3, 128, 1\) or \(1, 128, 1\)"):
        Coupled(5, LANES, 2).private(np.zeros(shape), Box(0, 1, 1), 1)


def test_every_world_must_be_in_the_domain():
    with pytest.raises(DomainError):
        Coupled(5, LANES, 1).private(side_by_side([0.5], [1.5]), Box(0, 1, 1), 1)


def test_neighbours_do_not_change_what_is_drawn():
    outputs = []
    for worlds in ([[0.5]], [[0.5], [0.1]], [[0.5], [0.1], [0.9]]):
        gate = Coupled(5, LANES, len(worlds) - 1)
        outputs.append(gate.release(Laplace(scale=1.0), gate.private(side_by_side(*worlds), Box(0, 1, 1), 1)))
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_array_equal(outputs[0], outputs[2])


# --- losses are samples of the exact privacy-loss distribution -----------------------------------

SAMPLES = 64 * 1500
UNIT = Sensitivity(1.0, 1.0, 1.0)
CASES = {
    "laplace": (Laplace(scale=0.7), 1, [-0.5, 0.0, 0.4, 1.0, 1.4]),
    "gaussian": (Gaussian(sigma=1.2, sensitivity=UNIT), 1, [-0.5, 0.0, 0.5, 1.0, 2.0]),
    "three gaussians": (Gaussian(sigma=2.0, sensitivity=UNIT), 3, [-0.5, 0.0, 0.5, 1.0, 2.0]),
    "randomized response": (RandomizedResponse(size=4, epsilon=1.1), 1, [-0.5, 0.0, 0.6, 1.0, 1.2]),
    "three responses": (RandomizedResponse(size=3, epsilon=0.5), 3, [-0.5, 0.0, 0.6, 1.0, 1.4]),
    "three laplace": (Laplace(scale=2.0), 3, [-0.5, 0.0, 0.5, 1.0, 1.6]),
}


@pytest.mark.few(2)
@pytest.mark.parametrize(("mechanism", "releases", "epsilons"), CASES.values(), ids=CASES)
def test_losses_follow_the_exact_profile(mechanism, releases, epsilons):
    """E[(1 - e^(epsilon - L))+] = delta(epsilon): 30 comparisons at 5 standard errors, false alarm below 2e-5."""
    gate = Coupled(11, SAMPLES, 1)
    if isinstance(mechanism, RandomizedResponse):
        private = gate.private(np.repeat(np.array([[1], [2]]), SAMPLES, axis=1), Categories(3), 1)
    else:
        private = gate.private(side_by_side([1.0], [0.0], lanes=SAMPLES), Box(0, 1, 1), 1)
    for _ in range(releases):
        gate.release(mechanism, private)
    profile = composed_profile([(mechanism.profile(UNIT), releases)])
    for epsilon in epsilons:
        shortfall = np.maximum(-np.expm1(epsilon - gate.loss[0]), 0.0)
        allowed = 5 * shortfall.std() / math.sqrt(SAMPLES) + 1e-12
        difference = shortfall.mean() - profile.delta(epsilon)
        assert difference <= allowed
        # Three Laplace losses have a certified bound only.
        assert difference >= -allowed or not profile.attained()


@pytest.mark.parametrize("lanes", [1, LANES])
def test_losses_before_the_codes_own_draws_stand_by_themselves(lanes):
    """Who does not see a draw sees less of what follows it, and all of what came before."""
    gate = Coupled(5, lanes, 1)
    private = gate.private(side_by_side([1.0], [0.0], lanes=lanes), Box(0, 1, 1), 1)
    gate.release(Laplace(scale=1.0), private)
    before = gate.loss.copy()
    assert not gate.drew
    np.testing.assert_array_equal(gate.loss_before_draws, before)
    gate.random.random((lanes, 1))
    gate.release(Laplace(scale=1.0), private)
    gate.declassify(private, "as it is")
    assert gate.drew
    np.testing.assert_array_equal(gate.loss_before_draws, before)
    assert np.isinf(gate.loss).all()
