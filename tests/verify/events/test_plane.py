"""Disks, diagonal bands and products are found where no half-plane tells, and survive being written down."""

import json
import math

import numpy as np
import pytest

from verify.events.event import HalfLine, Interval, event_from_dict
from verify.events.joint_readings import Distance, Product
from verify.events.plane import FEW_COLUMNS, plane_families, telling_point
from verify.events.readings import reading_from_dict
from verify.events.search import search_events
from verify.events.tried_families import all_families
from verify.events.view_sample import Column, ViewSample

NAN, INF = math.nan, math.inf
COLUMNS = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(1, 5))
ROWS = np.array([[0.0, 1.0], [3.0, 5.0], [NAN, 1.0], [INF, 0.0], [-2.0, 1e200]])


def sample(values):
    return ViewSample(values, COLUMNS[: values.shape[1]])


def test_distances_and_products_are_what_they_say():
    distance = Distance((0, 1), COLUMNS[:2], (0.0, 1.0), (1.0, 2.0))
    np.testing.assert_allclose(distance.of(sample(ROWS)), [0.0, math.sqrt(13.0), NAN, INF, INF])
    assert distance.words == "the distance of output 1 and output 2 from (0, 1) in units of 1, 2"
    plain = Distance((0, 1), COLUMNS[:2], (0.5, 1.0), (1.0, 1.0))
    assert plain.words == "the distance of output 1 and output 2 from (0.5, 1)"
    product = Product(0, COLUMNS[0], 1, COLUMNS[1])
    np.testing.assert_allclose(product.of(sample(ROWS)), [0.0, 15.0, NAN, NAN, -2e200])
    assert product.words == "the product of output 1 and output 2"


@pytest.mark.parametrize(
    "reading",
    [
        Distance((0, 2), (COLUMNS[0], COLUMNS[2]), (0.1, -3.0), (1.0, 0.25)),
        Product(1, COLUMNS[1], 3, COLUMNS[3]),
    ],
)
def test_they_survive_being_written_down(reading):
    assert reading_from_dict(json.loads(json.dumps(reading.to_dict(), allow_nan=False)), COLUMNS) == reading
    event = HalfLine(reading, 0.125, False)
    assert event_from_dict(json.loads(json.dumps(event.to_dict(), allow_nan=False)), COLUMNS) == event


def worlds(draw, n=40_000):
    """Two samples of each of two worlds, with generators of their own."""
    return [
        tuple(sample(draw(np.random.default_rng([seed, world]), world, n)) for world in (0, 1))
        for seed in (0, 1)
    ]


def pole(rng, world, n):
    """Distance Exp(1) from (1, 0) or from (-1, 0) in a uniform direction: the density has a pole there."""
    angle, radius = rng.uniform(0.0, 2.0 * math.pi, n), rng.exponential(size=n)
    return np.stack([(1.0, -1.0)[world] + radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def test_the_middle_of_a_spot_is_found_among_the_draws():
    first, second = (pole(np.random.default_rng(3), world, 100_000) for world in (0, 1))
    for here, there, at in ((first, second, 1.0), (second, first, -1.0)):
        assert math.dist(telling_point(here, there), (at, 0.0)) < 2e-3
    assert telling_point(first[:100], second[:100]) is None
    assert telling_point(np.ones((1000, 2)), np.zeros((1000, 2))).tolist() == [1.0, 1.0]


def best(draw):
    fit, choose = worlds(draw)
    found = search_events(fit, choose, final_samples=1_000_000, delta=0.0, error=0.05)
    return max(found.best, key=lambda event: event.predicted)


def test_a_disk_tells_more_than_anything_else_of_a_pole():
    """Within r of the pole p is about r and q about r^2 e^-2 / 4: ln p/q of 4.6 at p = 0.3."""
    chosen = best(pole)
    assert isinstance(chosen.event.reading, Distance)
    assert chosen.predicted > 3.5


def test_a_band_along_the_diagonal_is_found():
    """Two shares, each uniform; their difference is 0 or 1/2, to noise of 0.05, modulo 1."""

    def shares(rng, world, n):
        first = rng.random(n)
        return np.stack([first, (first + world / 2.0 + rng.normal(0.0, 0.05, n)) % 1.0], axis=1)

    assert best(shares).predicted > 9.0
    fit, choose = worlds(shares, 2_000)
    read = [family.build(0) for family in all_families(tuple(fit), tuple(choose))]
    bands = {
        event.reading.to_dict().get("reading", {}).get("kind")
        for event in read
        if isinstance(event, Interval)
    }
    assert {"difference", "summary"} <= bands


def test_a_product_tells_of_a_hidden_sign():
    def signs(rng, world, n):
        values = rng.normal(size=(n, 2))
        flips = rng.random(n) < (0.5, 0.9)[world]
        values[:, 1] = np.where(flips, np.abs(values[:, 1]) * np.sign(values[:, 0]), values[:, 1])
        return values

    # P(product > 0) is .75 and .95, of at most 0 it is .25 and .05: a ratio of 5.
    assert best(signs).predicted > math.log(5.0) - 0.2


def test_views_of_many_columns_are_left_alone():
    (first, second), fresh = worlds(lambda rng, world, n: rng.normal(size=(n, 4)), 2_000)
    assert not list(plane_families((first, second), fresh, range(FEW_COLUMNS + 1)))
    assert not list(plane_families((first, second), fresh, [0]))
    assert len(list(plane_families((first, second), fresh, [0, 1]))) == 5


def test_only_fresh_draws_count_where_the_worlds_were_told_apart():
    """The middle of a disk is chosen on draws whose world is known; the same draws may not be counted."""
    fit, choose = worlds(lambda rng, world, n: rng.normal(size=(n, 2)), 5_000)
    families = list(plane_families(tuple(fit), tuple(choose), [0, 1]))
    assert [family.trials[0] for family in families[-2:]] == [5_000, 5_000]
