"""The (epsilon, delta) budget that every record has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from mechanisms.domains.neighbouring import Neighbouring, common_neighbouring
from mechanisms.numerics.printed_numbers import at_least, at_most
from mechanisms.numerics.rounding import down, up
from mechanisms.parameters import ParameterError, real, whole_number
from mechanisms.profiles.bounding_profiles import ApproximateProfile
from mechanisms.relations.group_privacy import for_group


@dataclass(frozen=True, slots=True)
class Budget:
    """The largest total privacy loss of one record: (epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon
        At least 0, exactly a float; ``math.inf`` sets no limit.
    delta
        In [0, 1), exactly a float; 1 with an infinite epsilon only (`unlimited`), as (epsilon, 1) promises nothing.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, NaN or not exactly a float.
    """

    BESIDE: ClassVar = True  # in JSON

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            given = getattr(self, name)
            number = real(name, given)
            if number != given:
                raise ParameterError(f"{name} = {given!r}: a budget is a float, and this is none exactly")
            object.__setattr__(self, name, number)
        if not self.epsilon >= 0:
            raise ParameterError(f"epsilon = {self.epsilon!r}: a budget's epsilon must be at least 0")
        if not 0 <= self.delta <= 1:
            raise ParameterError(f"delta = {self.delta!r}: a budget's delta must be in [0, 1)")
        if self.delta == 1.0 and not math.isinf(self.epsilon):
            raise ParameterError(
                f"delta = {self.delta!r}: a budget's delta must be below 1, as everything is ({self.epsilon:g}, 1)-"
                "differentially private; a budget that limits nothing is Budget.unlimited()"
            )

    @classmethod
    def unlimited(cls) -> Budget:
        """Return the budget that never refuses: for measuring the cost of a run."""
        return cls(math.inf, 1.0)

    def for_group(self, size: int) -> Budget:
        """Return the budget of groups of up to ``size`` records together, if each record has this one.

        (kε, δ (e^{kε} - 1) / (e^ε - 1)), rounded up; see `mechanisms.for_group`.

        Raises
        ------
        ParameterError
            If the size is not a whole number of at least 1.
        """
        if math.isinf(self.epsilon):
            whole_number("group size", size, least=1)
            return self if size == 1 or self.delta == 0.0 else Budget.unlimited()
        found = for_group(ApproximateProfile(Fraction(self.epsilon), self.delta), size)
        if not isinstance(found, ApproximateProfile):
            return Budget.unlimited()
        return Budget(up(found.epsilon_bound), found.delta_bound)

    def to_list(self) -> list[str]:
        """Return both numbers as JSON-able data, exact to the last bit."""
        return [float(self.epsilon).hex(), float(self.delta).hex()]

    @classmethod
    def from_list(cls, saved: Sequence[str]) -> Budget:
        """Return the budget that `to_list` described."""
        return cls(*map(float.fromhex, saved))


class Amount(Protocol):
    """Exact numbers in the currency of a composition theorem: the spend of a record, or the cost of a release."""

    @property
    def values(self) -> tuple[Fraction | None, ...]:
        """The numbers; None where no finite one covers the loss."""

    def parts(self) -> Iterator[tuple[str, Fraction | None]]:
        """Return an iterator over (name, value)."""

    @property
    def description(self) -> str:
        """The numbers, rounded up, without their neighbouring relation, for a text that names it; ``str`` does, too."""

    @property
    def words_left(self) -> str:
        """The numbers, rounded down, as the rest of a budget."""


@dataclass(frozen=True, slots=True)
class Cost:
    """An exact (epsilon, delta) pair; ``epsilon`` is None where no finite one exists.

    It is for data sets that differ as `neighbouring` says: one record is replaced, for all accounts.

    Raises
    ------
    ParameterError
        If one of the two is negative: nothing that is released gives privacy back.
    """

    epsilon: Fraction | None
    delta: Fraction
    neighbouring: Neighbouring = Neighbouring.REPLACE_ONE

    def __post_init__(self) -> None:
        if (self.epsilon is not None and self.epsilon.numerator < 0) or self.delta.numerator < 0:
            raise ParameterError(
                f"(epsilon, delta) = ({self.epsilon}, {self.delta}): a cost must not be negative"
            )

    def __add__(self, other: Cost) -> Cost:
        relation = self.neighbouring
        if relation is not other.neighbouring:
            relation = common_neighbouring((self, other))
        delta = self.delta + other.delta if other.delta.numerator else self.delta
        if self.epsilon is None or other.epsilon is None:
            return Cost(None, delta, relation)
        return Cost(self.epsilon + other.epsilon, delta, relation)

    @property
    def values(self) -> tuple[Fraction | None, ...]:
        """Both numbers, as a theorem's currency has them."""
        return self.epsilon, self.delta

    def parts(self) -> Iterator[tuple[str, Fraction | None]]:
        """Return an iterator over (name, value)."""
        return iter((("epsilon", self.epsilon), ("delta", self.delta)))

    def within(self, budget: Budget) -> bool:
        """Return True if this cost is within `budget`, compared exactly."""
        if math.isinf(budget.epsilon):
            return budget.delta == 1.0 or _at_most(self.delta, budget.delta)
        return (
            self.epsilon is not None
            and _at_most(self.epsilon, budget.epsilon)
            and _at_most(self.delta, budget.delta)
        )

    @property
    def epsilon_up(self) -> float:
        """`epsilon` as the nearest float that is not below it; ``inf`` where none is finite."""
        return math.inf if self.epsilon is None else up(self.epsilon)

    @property
    def delta_up(self) -> float:
        """`delta` as the nearest float that is not below it, at most 1."""
        return min(1.0, up(self.delta))

    @property
    def description(self) -> str:
        """Both numbers, rounded up."""
        delta = f", delta = {at_most(self.delta_up)}" if self.delta else ""
        return f"epsilon = {at_most(self.epsilon_up)}{delta}"

    @property
    def words_left(self) -> str:
        """Both numbers, rounded down, as the rest of a budget."""
        delta = f", delta = {written_left(min(self.delta, Fraction(1)))}" if self.delta else ""
        return f"epsilon = {written_left(self.epsilon)}{delta}"

    def __str__(self) -> str:
        return f"{self.description}, neighbours: {self.neighbouring}"


def _at_most(value: Fraction, limit: float) -> bool:
    """Return True if a number is at most a float, compared exactly; in integers, ten times as fast as in fractions."""
    above, below = limit.as_integer_ratio()
    return value.numerator * below <= above * value.denominator


def _upwards(value: Fraction | None) -> float:
    return math.inf if value is None else up(value)


def _downwards(value: Fraction | None) -> float:
    return math.inf if value is None else down(value)


def written_left(value: Fraction | None) -> str:
    """Return one number of the rest of a budget as a text, rounded down; ∞ for None."""
    return at_least(_downwards(value))


def asked_and_left(asked: Amount, left: Amount) -> tuple[str, str]:
    """Return the request of a release, rounded up, and the rest, rounded down, so that a lack shows in the digits.

    Numbers that are not asked for are left out. Where one number suffices (a Rényi order), only the one that is nearest
    to being enough is named, or the first number, which must be enough beside it (delta), if it is not.
    """
    pairs = [
        (name, _upwards(needed), _downwards(available))
        for (name, needed), (_, available) in zip(asked.parts(), left.parts(), strict=True)
        if needed != 0
    ] or [(name, 0.0, 0.0) for name, _ in list(asked.parts())[:1]]
    if getattr(asked, "any_suffices", False):
        first = next(name for name, _ in asked.parts())
        beside = [pair for pair in pairs if pair[0] == first and pair[1] > pair[2]]
        others = [pair for pair in pairs if pair[0] != first] or pairs
        pairs = beside or [max(others, key=lambda pair: pair[2] / pair[1] if pair[1] < math.inf else 0.0)]
    return (
        ", ".join(f"{name} = {at_most(needed)}" for name, needed, _ in pairs),
        ", ".join(f"{name} = {at_least(available)}" for name, _, available in pairs),
    )
