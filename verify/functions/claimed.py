"""What a function says of itself: that it is private, and which data sets are neighbours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from algorithms.claim import ClaimForm, Model, View
from mechanisms import Domain
from verify.neighbouring.adjacency import Adjacency, relation_of
from verify.neighbouring.registry import as_adjacency
from verify.neighbouring.within import Within

_WHOLE = "the whole input of the function"
_DIFFERENCE = "what the two data sets differ in (what that stands for is not declared)"

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Declared:
    """What `claimed` says of a function."""

    neighbours: Adjacency
    form: ClaimForm


def claimed(
    *, data: Domain | Adjacency, model: Model = "central", unit: str | None = None
) -> Callable[[_Function], _Function]:
    """Declare that a function is private, and what its data are; the command line supplies the numbers.

    Parameters
    ----------
    data
        Which data sets are neighbours: an adjacency (`verify.neighbouring.adjacency`), such as
        ``ReplaceOne(Interval(0, 1), 10)``, or the domain of the function's first argument, any two points of which are
        neighbours then.
    model
        The trust model, for the report.
    unit
        What one record is, for the report; by default what neighbours differ in.

    Raises
    ------
    ParameterError
        If `data` is neither a domain nor an adjacency.

    Notes
    -----
    A method that is bound to its object can be claimed, too: ``claimed(data=...)(object.method)`` is a function that
    calls it.

    Examples
    --------
    >>> import numpy as np
    >>> from mechanisms import Interval
    >>> @claimed(data=Interval(0, 1))
    ... def noisy(data: float, rng: np.random.Generator) -> float:
    ...     return data + rng.laplace(scale=1.0)
    """
    neighbours = as_adjacency(data)
    form = claim_form(model, unit, "declared with @claimed", neighbours)

    def mark(function: _Function) -> _Function:
        marked: Any = function
        if inspect.ismethod(function):  # bound to its object: it takes no attributes of its own

            @functools.wraps(function)
            def marked(*args: Any, **kwargs: Any) -> Any:
                return function(*args, **kwargs)

        marked.dpwitness_claim = Declared(neighbours, form)
        return cast(_Function, marked)

    return mark


def claim_form(model: Model, unit: str | None, source: str, neighbours: Adjacency) -> ClaimForm:
    """Return a claim about a function's output; one record is what neighbours differ in, if nobody says what it is."""
    said = unit or (_WHOLE if isinstance(neighbours, Within) else _DIFFERENCE)
    return ClaimForm(model, View.OUTPUT, said, source, relation_of(neighbours), neighbours.words)
