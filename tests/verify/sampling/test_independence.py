"""Draws that share noise are recognised by where an event occurred; independent ones, and antithetic ones, are not."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import Categories
from verify import AnyTwo, claimed, verify
from verify.sampling.draws import batch_sizes
from verify.sampling.independence import dependence

SHARE = 0.73
COIN = AnyTwo(Categories(2))


def marks(draw, n=60_000, shares=(SHARE, 1.0 - SHARE)):
    """Marks of both worlds, drawn in turn: `draw(size)` returns uniform numbers."""
    found = [], []
    for size in batch_sizes(n, 32):
        for world, share in zip(found, shares, strict=True):
            world.append(draw(size) < share)
    return found


class Dealt:
    """Numbers from a table that is dealt in turn."""

    def __init__(self, table):
        self.table, self.at = table, 0

    def __call__(self, size):
        places = (self.at + np.arange(size)) % self.table.size
        self.at += size
        return self.table[places]


class Opposite:
    """Every other call has the numbers of the one before, from the other end."""

    def __init__(self, rng):
        self.rng, self.last = rng, None

    def __call__(self, size):
        if self.last is None:
            self.last = self.rng.random(size)
            return self.last
        last, self.last = self.last, None
        return 1.0 - last


@pytest.mark.parametrize("shares", [(0.5, 0.2), (0.02, 0.002), (0.999, 0.99), (0.0005, 0.0), (1.0, 1.0)])
def test_independent_draws_pass(shares):
    # Of 30 tests fewer than 0.003 fail by chance.
    rng = np.random.default_rng(1)
    assert [dependence(marks(rng.random, 20_000, shares)) for _ in range(6)] == [None] * 6


@pytest.mark.parametrize("shares", [(SHARE, 1.0 - SHARE), (0.05, 0.01)])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: lambda size: rng.choice(rng.random(200), size),
        lambda rng: lambda size: np.repeat(rng.random(size // 20 + 1), 20)[:size],
        lambda rng: Dealt(rng.random(10_000)),
    ],
    ids=["pool of a call", "repeated", "dealt"],
)
def test_shared_noise_shows(draw, shares):
    assert dependence(marks(draw(np.random.default_rng(2)), shares=shares)) is not None


def test_worlds_that_scatter_against_each_other_show():
    found = marks(Opposite(np.random.default_rng(3)), shares=(0.5, 0.5))
    assert "on the other" in str(dependence(found))


def test_draws_that_scatter_less_do_no_harm():
    rng = np.random.default_rng(4)

    def antithetic(size):
        numbers = rng.random((size + 1) // 2)
        return np.concatenate([numbers, 1.0 - numbers])[:size]

    assert dependence(marks(antithetic)) is None
    assert dependence(marks(lambda size: (rng.permutation(size) + rng.random(size)) / size)) is None


def test_nothing_drawn_is_not_dependent():
    assert dependence(([], [])) is None
    assert dependence(([np.ones(64, dtype=bool)], [np.zeros(64, dtype=bool)])) is None


@claimed(data=COIN)
def shared(data, rng, lanes):
    """Less than half the noise that is claimed, and three outputs share each of it."""
    numbers = np.repeat(rng.random(lanes // 3 + 1), 3)[:lanes]
    return np.where(numbers < 0.9, int(data), 1 - int(data))


@pytest.mark.slow
def test_no_bound_is_drawn_from_dependent_draws():
    reports = [verify(shared, epsilon=1.0, seed=0, samples=60_000, workers=workers) for workers in (1, 2)]
    for report in reports:
        assert report.verdict == "unproven"
        assert report.lower is None
        assert [finding.kind for finding in report.findings if finding.failing] == ["dependent-draws"]
    assert reports[0].details["black_box"] == reports[1].details["black_box"]


def test_no_bet_is_won_by_dependent_draws():
    report = verify(shared, epsilon=1.0, seed=0, samples=60_000, anytime=True)
    assert report.verdict == "unproven"
    assert [finding.kind for finding in report.findings if finding.failing] == ["dependent-draws"]
