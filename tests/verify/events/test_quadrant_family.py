"""Quadrants of a length and a number are counted as they are built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.events.quadrant_family import quadrant_family
from verify.events.summaries import ColumnSummary
from verify.events.view_sample import Column, ViewSample

Sampler = Callable[[int, np.random.Generator], npt.NDArray[Any]]


def real(count: int) -> tuple[Column, ...]:
    return tuple(Column(f"x[{i}]", f"value {i + 1}", "real") for i in range(count))


def refused_then_answered(shift: float) -> Sampler:
    """Up to six noisy answers, each refused (0) until one exceeds a noisy threshold, which ends the sequence."""

    def draw(n: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        noisy = shift + rng.laplace(size=(n, 6))
        above = noisy >= 1.0 + rng.laplace(size=(n, 1))
        values = np.where(above, noisy, 0.0)
        values[np.cumsum(above, axis=1) - above >= 1] = np.nan
        return values

    return draw


def test_quadrants_are_counted_as_they_are_built() -> None:
    rng = np.random.default_rng(4)
    fit, choose = (
        tuple(ViewSample(refused_then_answered(shift)(500, rng), real(6)) for shift in (0.0, 1.0))
        for _ in range(2)
    )
    (family,) = quadrant_family(
        fit, choose, ColumnSummary("present", real(6)), ColumnSummary("last", real(6))
    )  # type: ignore[arg-type]
    for at in range(0, family.hits.size, 7):
        event = family.build(at)
        for hits, world in ((family.hits, 0), (family.hits_prime, 1)):
            counted = sum(np.count_nonzero(event.holds(sample[world])) for sample in (fit, choose))
            assert hits[at] == counted
