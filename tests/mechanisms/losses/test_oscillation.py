"""The exponential-sum bound on products of transforms, against the products themselves."""

import math
from fractions import Fraction

import numpy as np
import pytest

from mechanisms.losses.atomic_loss import AtomicLoss
from mechanisms.losses.laplace_loss import LaplaceLoss
from mechanisms.losses.oscillation import Oscillations
from mechanisms.losses.privacy_loss import PrivacyLoss, add_losses


def response(epsilon: float) -> AtomicLoss:
    e = Fraction(epsilon)
    p = 1.0 / (1.0 + math.exp(-epsilon))
    return AtomicLoss((e, -e), (p, 1.0 - p))


def product(rng: np.random.Generator) -> tuple[PrivacyLoss, list[tuple[str, float, int]]]:
    """Return a random sum of Laplace and randomized response losses, and what it is made of."""
    parts = [
        (
            ("laplace", "response")[int(rng.integers(2))],
            float(rng.uniform(0.02, 1.0)),
            int(rng.integers(1, 4)),
        )
        for _ in range(int(rng.integers(4, 60)))
    ]
    losses = [LaplaceLoss((Fraction(e),)) if kind == "laplace" else response(e) for kind, e, _ in parts]
    return add_losses(losses, [n for _, _, n in parts]), parts


def log_modulus(parts: list[tuple[str, float, int]], s: float, t: np.ndarray) -> np.ndarray:
    """Return Σ n ln |M(s+it)| from the formulas in y = z + 1/2."""
    y = s + 0.5 + 1j * t
    total = np.zeros(t.shape)
    for kind, e, n in parts:
        if kind == "laplace":
            m = math.exp(-e / 2) * (np.cosh(e * y) + np.sinh(e * y) / (2 * y))
        else:
            m = np.cosh(e * y) / math.cosh(e / 2)
        total += n * np.log(np.abs(m))
    return total


@pytest.mark.parametrize("seed", range(8))
def test_no_product_exceeds_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    loss, parts = product(rng)
    s, end = float(rng.uniform(0.3, 6.0)), 400.0
    own = loss.oscillations(s)
    assert own is not None
    table = own.up_to(end)
    assert table is not None
    t = np.sort(rng.uniform(0.5, end, 4000))
    true = log_modulus(parts, s, t)
    from_here_on = np.maximum.accumulate(true[::-1])[::-1]
    bound = table.log_envelope(t, end)
    assert (from_here_on <= bound).all()


def test_the_bound_of_many_different_scales_is_worth_having() -> None:
    loss = LaplaceLoss(tuple(Fraction(float(e)) for e in np.geomspace(0.002, 0.04, 1000)), (1,) * 1000)
    own = loss.oscillations(11.0)
    assert own is not None
    table = own.up_to(1e5)
    assert table is not None
    fall = float(table.log_envelope(np.array([200.0]), 1e5)[0]) - loss.log_top(11.0)
    assert fall < -100.0


def test_equal_losses_align_again() -> None:
    """c returns to A at t = πj/e, so nothing is gained, and the bound must not say otherwise."""
    loss = LaplaceLoss((Fraction(1, 4),), (50,))
    own = loss.oscillations(2.0)
    assert own is not None
    table = own.up_to(100.0)
    assert table is not None
    peak = log_modulus([("laplace", 0.25, 50)], 2.0, np.array([4.0 * math.pi * 7]))
    assert table.log_envelope(np.array([60.0]), 100.0)[0] >= peak[0]


def test_counts_and_sizes_of_other_parts() -> None:
    one = Oscillations(2.0, 0.5, np.array([1.0]), np.array([0.3]), np.array([0.1]), np.array([2.0]))
    thrice = one.repeated(3.0)
    assert (thrice.count, thrice.log_caps) == (6.0, 1.5)
    assert thrice.amplitudes[0] == pytest.approx(0.9)
    assert Oscillations.concatenate([one, thrice]).count == 8.0
    assert one.multiply_by(0.25).log_caps == 0.75


def test_displaced_values_have_no_bound() -> None:
    displaced = AtomicLoss((Fraction(1), Fraction(-1)), (0.6, 0.4), 0.0, 0.0, 1e-9)
    assert displaced.oscillations(1.0) is None
    assert add_losses([displaced, response(0.5)], [2, 1]).oscillations(1.0) is None


def test_a_tail_that_takes_too_many_points_is_left() -> None:
    own = response(1.0).oscillations(1.0)
    assert own is not None
    assert own.up_to(1e9) is None


def test_no_cell_of_the_table_hides_a_larger_sum() -> None:
    rng = np.random.default_rng(5)
    frequencies, amplitudes = rng.uniform(0.1, 1.0, 3), rng.uniform(0.5, 1.0, 3)
    own = Oscillations(3.0, 0.0, frequencies, amplitudes, np.zeros(0), np.zeros(0))
    table = own.up_to(300.0)
    assert table is not None
    places = np.linspace(0.0, 1.0, 21)
    for q in range(table.values.size - 1):
        t = (q + places) * table.step
        assert (np.cos(np.outer(t, frequencies)) @ amplitudes <= table.values[q]).all()


@pytest.mark.parametrize(("many", "displaced", "on_one"), [(9, 0.0, True), (8, 1e-9, True), (9, 1e-9, False)])
def test_only_many_displaced_values_are_on_no_lattice(many: int, displaced: float, on_one: bool) -> None:
    losses = tuple(Fraction(k) for k in range(many))
    loss = AtomicLoss(losses, (1.0 / many,) * many, 0.0, 0.0, displaced)
    assert loss.lattice == (((losses, 1),) if on_one else None)
