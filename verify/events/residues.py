"""Remainders and digit sums of whole numbers, in which a number that looks random may carry a bit of the data.

A parity, a check digit or a remainder is spread over so many values that none of them shows a difference, nor does any
half-line. Screening costs little; only residues that differ there are read in all draws. It shows the parity, the
remainder by 7 or 97 and the check digit of a uniform number, where no other family shows more than 0.0.
"""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mechanisms.arrays import FloatArray, IntArray
from verify.events.families import EventFamily, Sorted
from verify.events.readings import ColumnValue, Reading
from verify.events.table_families import value_families
from verify.events.view_sample import ViewSample, WorldSamples

_MODULI = (*range(2, 129), 256, 1_000, 1_024)
_DIGIT_SUMS = (10,)
_EXACT = 2.0**53  # whole numbers below are all floats


@dataclass(frozen=True, slots=True)
class Residue(Reading):
    """The remainder of a whole number, or of the sum of its decimal digits; absent where it is no whole number."""

    kind: ClassVar[str] = "residue"
    reading: Reading
    modulus: int
    of_digits: bool = False

    def values(self, sample: ViewSample) -> FloatArray:
        values = sample.read_values(self.reading)
        whole = np.isfinite(values) & (np.abs(values) < _EXACT) & (values == np.round(values))
        numbers = np.where(whole, values, 0.0).astype(np.int64)
        return np.where(whole, _residue(numbers, self.modulus, self.of_digits), np.nan)

    @property
    def description(self) -> str:
        if self.of_digits:
            return f"digit sum({self.reading.description}) mod {self.modulus}"
        return f"({self.reading.description} mod {self.modulus})"


@dataclass(frozen=True, kw_only=True)
class _Screen:
    """Settings of the screening of residues; chosen by hand.

    Attributes
    ----------
    rows
        Draws of each world.
    columns, kept
        Columns that are screened at most, and of which the best residue becomes a family.
    beyond, deviations
        A residue stands out if chi-squared exceeds its degrees of freedom by `beyond` and so many standard deviations.
    near
        The smallest modulus is taken with an excess of at least this share of the largest.
    """

    rows: int = 1 << 14
    columns: int = 16
    kept: int = 4
    beyond: float = 36.0
    deviations: float = 6.0
    near: float = 0.9


_SCREEN = _Screen()


def residue_families(
    fit: WorldSamples, choose: WorldSamples, values: Sequence[ColumnValue]
) -> Iterator[EventFamily]:
    """Yield the values of residues that differ most between the worlds, of the given columns of whole numbers."""
    found: list[tuple[float, Residue]] = []
    for value in values[: _SCREEN.columns]:
        first, second = (_whole_numbers(value.values(world)[: _SCREEN.rows]) for world in fit)
        if first is not None and second is not None:
            found += _best_residue(value, first, second)
    for _, residue in sorted(found, key=lambda each: -each[0])[: _SCREEN.kept]:
        yield from value_families(Sorted.from_reading(residue, fit, choose))


def _best_residue(value: ColumnValue, first: IntArray, second: IntArray) -> list[tuple[float, Residue]]:
    """Return the residue of a column with the largest excess, and that; nothing if there is no excess."""
    excess = [
        (_excess(first, second, modulus, of_digits), modulus, of_digits)
        for moduli, of_digits in ((_MODULI, False), (_DIGIT_SUMS, True))
        for modulus in moduli
    ]
    most = max(each for each, _, _ in excess)
    if most <= 0.0:
        return []
    best, modulus, of_digits = next(each for each in excess if each[0] >= _SCREEN.near * most)
    return [(best, Residue(value, modulus, of_digits))]


def _excess(first: IntArray, second: IntArray, modulus: int, of_digits: bool) -> float:
    """Return the excess of two samples' chi-squared over its mean; 0 unless it is beyond the deviations of chance."""
    ours, theirs = (
        np.bincount(_residue(each, modulus, of_digits), minlength=modulus) for each in (first, second)
    )
    seen = ours + theirs > 0
    ours, theirs = ours[seen], theirs[seen]
    # The two samples need not be of one size (Press et al., Numerical Recipes, section 14.3).
    scale = math.sqrt(theirs.sum() / ours.sum())
    statistic = float(((ours * scale - theirs / scale) ** 2 / (ours + theirs)).sum())
    freedom = ours.size - 1
    excess = statistic - freedom
    stands_out = excess > _SCREEN.beyond + _SCREEN.deviations * math.sqrt(2.0 * freedom)
    return excess if stands_out else 0.0


def _residue(numbers: IntArray, modulus: int, of_digits: bool) -> IntArray:
    if not of_digits:
        return np.asarray(numbers % modulus)
    left, total = np.abs(numbers), np.zeros_like(numbers)
    while left.any():
        left, digit = np.divmod(left, 10)
        total += digit
    return np.asarray(total % modulus)


def _whole_numbers(values: FloatArray) -> IntArray | None:
    """Return the present numbers, or None unless there are some, and all are whole and exact."""
    present = values[np.isfinite(values)]
    if not present.size or not ((np.abs(present) < _EXACT) & (present == np.round(present))).all():
        return None
    return present.astype(np.int64)
