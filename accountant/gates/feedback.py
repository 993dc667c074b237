"""Checks of a user's data before a learner uses them: that they are private, and in the learner's domain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from accountant.gates.private import Private
from accountant.place import calling_place
from accountant.refusals import ForeignValue
from mechanisms import Box, Domain, DomainError, Integers, Interval, OneHot
from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    from accountant.gates.gate import Gate


def check_feedback(
    gate: Gate,
    value: Private,
    domain: Domain,
    *,
    name: str = "feedback",
    rounds: Any = None,
) -> None:
    """Refuse data that a learner is not made for; nothing is charged, added or drawn.

    The check compares the domain that a value was let in with, or mapped into, and never reads the value itself. A
    private value without one (the result of another operation) is refused, but for sums of values of the same domain.

    Parameters
    ----------
    gate
        The learner's.
    value
        The user's data.
    domain
        The domain of the value in each lane.
    name
        The name of the data in messages.
    rounds
        The number of rounds of a total, per lane; None for a single round, which is one value and no sum.

    Raises
    ------
    ForeignValue
        If the value is not private, or belongs to another gate.
    DomainError
        If its domain does not lie in `domain`, or it has another shape.
    ParameterError
        If it is the sum of another number of values than `rounds`.
    """
    if not isinstance(value, Private):
        raise ForeignValue(
            f"{name} of type {type(value).__name__}: must be private, from private(values, {domain!r}, record) of the "
            "learner's gate",
            calling_place(),
        )
    if value._gate is not gate:
        raise ForeignValue(f"{name} belongs to another gate than the learner's", calling_place())
    given = value._domain
    if given is not domain and not _lies_in(given, domain):
        whence = (
            "a domain without a name (it was computed from other values)" if given is None else repr(given)
        )
        raise DomainError(
            f"{name} comes from {whence}: must come from {domain!r}, named to private(values, domain, record) or "
            "map(function, into=domain)"
        )
    shape = (gate.lanes, domain.shape[0] if domain.shape else 1)
    if value.shape != shape:
        raise DomainError(f"{name} of shape {value.shape}: must be of shape {shape}")
    if value._parts != 1 and (rounds is None or value._parts != int(np.sum(rounds))):
        asked = "one round" if rounds is None else f"rounds={np.asarray(rounds).tolist()}"
        raise ParameterError(
            f"{name} is the sum of {value._parts} values: must be the sum of the feedback of {asked}"
        )


def _lies_in(given: Domain | None, domain: Domain) -> bool:
    """Return True if every value of one domain is known to lie in another, coordinate by coordinate."""
    if given is None:
        return False
    if given == domain:
        return True
    if isinstance(domain, OneHot):
        return isinstance(given, OneHot) and given.size == domain.size and domain.allow_none
    bounds, within = _bounds(given), _bounds(domain)
    if bounds is None or within is None or (isinstance(domain, Integers) and not isinstance(given, Integers)):
        return False
    return bounds[2] == within[2] and within[0] <= bounds[0] and bounds[1] <= within[1]


def _bounds(domain: Domain) -> tuple[float, float, int] | None:
    """Return the bounds of each coordinate and their number; None if the domain has no such bounds."""
    if isinstance(domain, OneHot):
        return 0.0, 1.0, domain.size
    if isinstance(domain, Interval | Box | Integers):
        return domain.lower, domain.upper, math.prod(domain.shape)
    return None
