"""Plans: mechanisms and counts fixed in advance, with tighter bounds than fully adaptive composition has."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from typing import Any, ClassVar

from accountant.budget import Budget, Cost
from accountant.filters.composition_theorem import NumberLimits, UnsupportedCharge, is_within
from accountant.filters.spend import NamedNumbers, Spend
from accountant.recorded import describe
from mechanisms import Mechanism, Neighbouring, PrivacyProfile, Sensitivity, mechanism_from_dict
from mechanisms.composition.composed_loss import ComposedLoss, compose
from mechanisms.composition.enclosure import Bound, Enclosure
from mechanisms.domains.neighbouring import common_neighbouring
from mechanisms.noise.mechanism import checked_sensitivity
from mechanisms.numerics.printed_numbers import at_most
from mechanisms.parameters import ParameterError, quoted, whole_number


@dataclass(frozen=True)
class PlanStep:
    """One kind of release of a plan, and how many of it one record may be part of.

    Parameters
    ----------
    mechanism
        The mechanism of the releases.
    count
        At least 1.
    sensitivity
        The sensitivity of the value to one record in one of them; the mechanism's own by default.

    Raises
    ------
    ParameterError
        If the count is no whole number of at least 1, or the mechanism is not calibrated for the movement.
    """

    mechanism: Mechanism
    count: int = 1
    sensitivity: Sensitivity | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism):
            raise ParameterError(f"mechanism = {quoted(self.mechanism)}: must be a mechanism")
        object.__setattr__(self, "count", whole_number("count", self.count, least=1))
        own = self.mechanism.sensitivity
        moved = own if self.sensitivity is None else checked_sensitivity(self.sensitivity)
        object.__setattr__(self, "sensitivity", moved)
        if not own.covers(moved):
            raise ParameterError(
                f"sensitivity = {self.sensitivity}: {type(self.mechanism).__name__} is calibrated for "
                f"{self.mechanism.sensitivity}"
            )

    @property
    def effective_sensitivity(self) -> Sensitivity:
        """The sensitivity of the value: how far one record moves it, in each norm."""
        assert self.sensitivity is not None
        return self.sensitivity

    @functools.cached_property
    def profile(self) -> PrivacyProfile:
        """The profile of one such release."""
        return self.mechanism.profile(self.effective_sensitivity)

    def uses(self, moved: Sensitivity) -> int | None:
        """Return how many of these releases cover one that moves this far; None if no number does.

        One, if no norm is larger than planned. Noise of log-concave density that is independent for each
        coordinate covers more: if every coordinate moves by at most c and all together by at most nc in
        L1 norm, then δ is largest where n coordinates move by c each (δ is quasi-convex in the movement,
        as `LaplaceProfile` shows, and the extreme points of those movements move n coordinates by c). So
        the release costs no more than n releases of one coordinate.
        """
        if self.effective_sensitivity.covers(moved):
            return 1
        one = self.effective_sensitivity.linf
        independent = (
            getattr(self.mechanism, "log_concave", False) and self.effective_sensitivity.moves_one_coordinate
        )
        if not independent or moved.linf > one or math.isinf(moved.l1):
            return None
        return math.ceil(Fraction(moved.l1) / Fraction(one))


@dataclass(frozen=True)
class Plan:
    """The releases that every single record will take part in: a fixed collection of mechanisms with counts.

    The inputs of the mechanisms, their order, and whether all are used, may depend on everything that was
    released; the collection may not. That is enough for the tight theorems. Let D, D′ be neighbours,
    V_i = e^{-L_i} under the i-th dominating pair, and f_S(w) = E (1 - w Π_{i in S} V_i)^+, so that δ(ε) is
    f_S(e^ε) for the whole collection S. Claim: while the releases S may still be used, δ at a likelihood
    ratio w is at most f_S(w). By induction on S: using i first leaves at most E f_{S∖i}(w V_i) = f_S(w),
    whichever i was chosen, since f is convex and decreasing in V_i and the pair dominates the mechanism
    on any input; using none leaves (1 - w)^+ <= f_S(w) by Jensen's inequality. So the order does not
    matter, while mechanisms that are chosen from outside a fixed collection are not covered (there is no
    such filter in general).

    Parameters
    ----------
    steps
        Steps with the same mechanism are put together, at the larger of their movements.

    Raises
    ------
    ParameterError
        If there is no step.
    MixedNeighbours
        If the profiles of two steps are for different neighbouring relations.
    """

    steps: tuple[PlanStep, ...]

    def __post_init__(self) -> None:
        steps = tuple(self.steps) if isinstance(self.steps, Iterable) else (self.steps,)
        if not all(isinstance(step, PlanStep) for step in steps):
            raise ParameterError(f"steps = {quoted(self.steps)}: must be PlanSteps")
        merged: dict[Mechanism, PlanStep] = {}
        for step in steps:
            known = merged.get(step.mechanism)
            merged[step.mechanism] = step if known is None else _merge_steps(known, step)
        if not merged:
            raise ParameterError("steps = (): a plan holds at least one release")
        object.__setattr__(self, "steps", tuple(merged.values()))
        _ = self.neighbouring

    @functools.cached_property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation of every step's profile, hence of every number."""
        return common_neighbouring(step.profile for step in self.steps)

    def epsilon(self, delta: float) -> Enclosure | Bound:
        """Return the epsilon of the whole plan at `delta`, with a lower end if data sets attain one; computed once."""
        if delta not in self._epsilons:
            self._epsilons[delta] = self.loss.epsilon(delta)
        return self._epsilons[delta]

    def delta(self, epsilon: float) -> Enclosure | Bound:
        """Return the delta of the whole plan at `epsilon`, with a lower end if data sets attain one."""
        return self.loss.delta(epsilon)

    @functools.cached_property
    def _epsilons(self) -> dict[float, Enclosure | Bound]:
        return {}

    @functools.cached_property
    def loss(self) -> ComposedLoss:
        """The privacy loss of everything in the plan."""
        return compose((step.profile, step.count) for step in self.steps)

    def part(self, counts: Sequence[int]) -> Plan | None:
        """Return the plan with other counts of its steps; None if all are 0."""
        if [step.count for step in self.steps] == list(counts):
            return self
        steps = tuple(
            PlanStep(step.mechanism, count, step.sensitivity)
            for step, count in zip(self.steps, counts, strict=True)
            if count
        )
        return Plan(steps) if steps else None

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-able data, exact to the last bit."""
        return {
            "neighbours": self.neighbouring.value,
            "steps": [
                {
                    "mechanism": json.loads(describe(step.mechanism)),
                    "count": step.count,
                    "sensitivity": [norm.hex() for norm in astuple(step.effective_sensitivity)],
                }
                for step in self.steps
            ],
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Plan:
        """Rebuild a plan from `to_dict`'s result.

        Raises
        ------
        ParameterError
            If a mechanism is not of this library: a run cannot be held to an unknown one; or the relation is
            another.
        """
        steps = []
        for row in saved["steps"]:
            mechanism = mechanism_from_dict(row["mechanism"])
            sensitivity = Sensitivity(*map(float.fromhex, row["sensitivity"]))
            steps.append(PlanStep(mechanism, row["count"], sensitivity))
        plan = cls(tuple(steps))
        if plan.neighbouring is not Neighbouring.from_name(saved.get("neighbours", Neighbouring.REPLACE_ONE)):
            raise ParameterError(
                f"neighbours = {saved['neighbours']!r}: the plan's are {plan.neighbouring.value!r}"
            )
        return plan


def _merge_steps(step: PlanStep, other: PlanStep) -> PlanStep:
    mine, others = step.effective_sensitivity, other.effective_sensitivity
    larger = Sensitivity(max(mine.l1, others.l1), max(mine.l2, others.l2), max(mine.linf, others.linf))
    return PlanStep(step.mechanism, step.count + other.count, larger)


@dataclass(frozen=True)
class PlannedComposition(NamedNumbers):
    """The composition of a declared plan: a record's account counts which of its releases were made.

    A release that is not planned, or was already made as often as planned, is refused. The guarantee is
    that of the whole plan, by the best theorem there is; see `Plan` for why it holds.
    """

    plan: Plan
    name: ClassVar[str] = "declared plan"

    @functools.cached_property
    def _names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"releases through {step.mechanism!r}" for step in self.plan.steps)

    def settings(self) -> dict[str, Any]:
        """Return the plan as JSON-able data."""
        return {"plan": self.plan.to_dict()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> PlannedComposition:
        """Rebuild from `settings`."""
        return cls(Plan.from_dict(settings["plan"]))

    def check(self, budget: Budget) -> None:
        """Raise `ValueError` unless the plan is for replacing a record and all of it fits in the budget."""
        if self.plan.neighbouring is not Neighbouring.REPLACE_ONE:
            raise ParameterError(
                f"plan: is for neighbours {self.plan.neighbouring.value!r}; an accountant's are for 'replace one'"
            )
        if math.isinf(budget.epsilon):
            return
        if not self._pure_fits(budget) and self.plan.epsilon(budget.delta).upper > budget.epsilon:
            found = self.plan.epsilon(budget.delta)
            raise ParameterError(
                f"budget = {budget}: the plan alone comes to epsilon = {at_most(found.upper)} "
                f"({found.by}; neighbours: {self.plan.neighbouring})"
            )

    def _pure_fits(self, budget: Budget) -> bool:
        """Return True if the exact sum of the pure epsilons, before any rounding, is within the budget."""
        largest = [step.profile.pure_epsilon for step in self.plan.steps]
        if any(loss is None for loss in largest):
            return False
        total = sum(
            (loss * step.count for loss, step in zip(largest, self.plan.steps, strict=True) if loss),
            Fraction(0),
        )
        return total <= Fraction(budget.epsilon)

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Spend:
        """Return how many planned releases one release through this mechanism uses.

        Raises
        ------
        UnsupportedCharge
            If the plan has no such mechanism, or none for a record that moves the value so far.
        """
        counts = [Fraction(0)] * len(self.plan.steps)
        for i, step in enumerate(self.plan.steps):
            if step.mechanism == mechanism:
                used = step.uses(sensitivity)
                if used is None:
                    raise UnsupportedCharge(
                        f"in the plan {mechanism!r} is for records that move the value by "
                        f"{step.effective_sensitivity}, not {sensitivity}"
                    )
                counts[i] = Fraction(used)
                return self.amount(tuple(counts))
        raise UnsupportedCharge(
            f"{mechanism!r} is not in the plan; numbers for mechanisms chosen on the way need a filter theorem "
            "(ZeroConcentratedComposition, RenyiComposition, GaussianComposition, AdvancedComposition)"
        )

    def _limits(self, budget: Budget) -> NumberLimits:
        """Return how often each release is planned."""
        return tuple(Fraction(step.count) for step in self.plan.steps)

    boxes = NamedNumbers.boxes  # beside `fits`, which decides by it

    def fits(self, spent: Spend, budget: Budget) -> bool:
        """Return True if a record used no release more often than planned."""
        if None in spent.values:
            return math.isinf(budget.epsilon)
        return is_within(spent.values, *self.boxes(budget))

    def guarantee(self, spent: Spend, budget: Budget) -> Cost:
        """Return the (epsilon, delta) of a plan of exactly the releases that were used, at the budget's delta."""
        if None in spent.values:
            return Cost(None, Fraction(budget.delta))
        if budget.delta == 1.0:
            return Cost(Fraction(0), Fraction(1))
        used = self.plan.part([int(value or 0) for value in spent.values])
        upper = 0.0 if used is None else used.epsilon(budget.delta).upper
        return Cost(None if math.isinf(upper) else Fraction(upper), Fraction(budget.delta))

    def _rank(self, spent: Spend) -> Fraction | float:
        """Order totals by how much they use, each number by its share of the plan."""
        if None in spent.values:
            return math.inf
        return sum(
            (
                Fraction(used or 0) / step.count
                for used, step in zip(spent.values, self.plan.steps, strict=True)
            ),
            Fraction(0),
        )

    def odometer(self, spent: Spend, delta: float) -> Cost:
        """Return the epsilon of the whole plan: it covers every moment.

        The releases used so far were themselves chosen adaptively, so the smaller number of `guarantee` would hold
        only for a plan of just these releases.
        """
        upper = self.plan.epsilon(delta).upper
        return Cost(None if math.isinf(upper) or None in spent.values else Fraction(upper), Fraction(delta))

    def promise(self, budget: Budget, delta: float) -> Enclosure | Bound:
        """Return the epsilon of the whole plan, with a lower end if data sets attain one."""
        return self.plan.epsilon(delta)
