"""Exact amounts of privacy spend, in the parameters of a composition theorem."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from accountant.budget import Budget, written_left
from accountant.filters.composition_theorem import NumberLimits, is_within
from mechanisms import Neighbouring
from mechanisms.numerics.printed_numbers import at_most
from mechanisms.numerics.rounding import up
from mechanisms.parameters import ParameterError


@dataclass(frozen=True, slots=True)
class Spend:
    """The spend of a record, or the cost of a release: named exact numbers that add up one by one.

    The composition theorem gives the numbers their meaning: rho of zCDP, the square of a Gaussian mu, a Rényi
    divergence for each order, the number of uses of a planned mechanism.

    Parameters
    ----------
    names
        The names of the numbers in messages.
    values
        Nonnegative; None where no finite number covers the loss.
    any_suffices
        Whether one number after the first is enough within its limit (Rényi orders, after delta), and messages show
        the best only.
    neighbouring
        The relation of the data sets of the loss that the numbers bound: one record is replaced, for all accounts.

    Raises
    ------
    ParameterError
        If a value is negative: nothing that is released gives privacy back.
    """

    names: tuple[str, ...]
    values: tuple[Fraction | None, ...]
    any_suffices: bool = False
    neighbouring: Neighbouring = Neighbouring.REPLACE_ONE

    def __post_init__(self) -> None:
        if any(value is not None and value.numerator < 0 for value in self.values):
            raise ParameterError(f"{self.names} = {self.values}: a spend must not be negative")

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.names,
            tuple(
                None if mine is None or others is None else mine + others
                for mine, others in zip(self.values, other.values, strict=True)
            ),
            self.any_suffices,
        )

    def parts(self) -> Iterator[tuple[str, Fraction | None]]:
        """Iterate over (name, value)."""
        return zip(self.names, self.values, strict=True)

    @property
    def description(self) -> str:
        """The numbers, rounded up."""
        return self._join_parts(lambda value: at_most(math.inf if value is None else up(value)))

    @property
    def words_left(self) -> str:
        """The numbers, rounded down, as the rest of a budget."""
        return self._join_parts(written_left)

    def _join_parts(self, rounded: Callable[[Fraction | None], str]) -> str:
        shown = [(name, value) for name, value in self.parts() if value != 0] or list(self.parts())[:1]
        if self.any_suffices and len(shown) > 3:
            shown = [shown[0], shown[len(shown) // 2], shown[-1]]
        return ", ".join(f"{name} = {rounded(value)}" for name, value in shown)

    def __str__(self) -> str:
        return f"{self.description}, neighbours: {self.neighbouring}"


class NamedNumbers(abc.ABC):
    """Base class of the theorems with named numbers as their currency, which add up one by one."""

    name: ClassVar[str]
    _names: ClassVar[tuple[str, ...]]  # of the numbers
    _any_suffices: ClassVar[bool] = False  # as in `Spend`

    @abc.abstractmethod
    def _limits(self, budget: Budget) -> NumberLimits:
        """Return the limit of each number by itself."""

    @abc.abstractmethod
    def _rank(self, spent: Spend) -> Any:
        """Return the rank of a total: larger is worse."""

    def amount(self, values: tuple[Fraction | None, ...]) -> Spend:
        """Return numbers in this currency."""
        if len(values) != len(self._names):
            raise ParameterError(f"{len(values)} numbers: this theorem counts {len(self._names)}")
        return Spend(self._names, values, self._any_suffices)

    @property
    def zero_spend(self) -> Spend:
        """Nothing spent."""
        return self.amount((Fraction(0),) * len(self._names))

    @property
    def infinite_spend(self) -> Spend:
        """The spend of a declassification."""
        return self.amount(tuple(Fraction(0) if name == "delta" else None for name in self._names))

    def boxes(self, budget: Budget) -> Sequence[NumberLimits]:
        """Return the theorem's limits under a budget: by default those of all numbers together."""
        return (self._limits(budget),)

    def fits(self, spent: Spend, budget: Budget) -> bool:
        """Compare a total with the theorem's limits: True if it is within one of them."""
        return any(is_within(spent.values, box) for box in self.boxes(budget))

    def remaining_spend(self, spent: Spend, budget: Budget) -> Spend:
        """Return the rest of each number by itself, at least 0; None where there is no limit."""
        limits = zip(self._limits(budget), spent.values, strict=True)
        return self.amount(
            tuple(
                None if most is None else Fraction(0) if value is None else max(Fraction(0), most - value)
                for most, value in limits
            )
        )

    def exceeds(self, spent: Spend, other: Spend) -> bool:
        """Return True if one total is worse than another."""
        return bool(self._rank(spent) > self._rank(other))
