"""The declaration of a function's privacy claim and of its neighbouring data sets, by a decorator."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from algorithms.claim import ClaimForm, Model, View
from algorithms.unit import ONE_REPORT
from mechanisms import Domain
from mechanisms.parameters import ParameterError
from verify.neighbouring.adjacency import Adjacency, relation_of
from verify.neighbouring.registry import as_adjacency

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Declared:
    """The declaration that `claimed` attaches to a function; `guessed` is True if its data are a guess."""

    neighbours: Adjacency
    form: ClaimForm
    guessed: bool = False


def claimed(
    *, data: Domain | Adjacency, model: Model = "central", comment: str = "", guessed: bool = False
) -> Callable[[_Function], _Function]:
    """Declare that a function is private, and its data; the command line supplies the numbers.

    Parameters
    ----------
    data
        The neighbouring data sets: an adjacency (`verify.neighbouring.adjacency`), such as
        ``ReplaceOne(Interval(0, 1), 10)``, or the domain of the function's first argument, any two points of which are
        neighbours then.
    model
        The trust model, for the report.
    comment
        The meaning of a record, for the report; the difference between neighbours is protected.
    guessed
        True if `data` is a guess. Data on which the function raises an error are left out then: they show that the
        guess was wrong, and nothing about the claim. Of data that are stated an error is an output like others.

    Raises
    ------
    ParameterError
        If `data` is neither a domain nor an adjacency, or `guessed` neither True nor False.

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
    if not isinstance(guessed, bool):
        raise ParameterError(f"guessed = {guessed!r}: must be True or False")
    neighbours = as_adjacency(data)
    source = "guessed, and declared with @claimed" if guessed else "declared with @claimed"
    form = claim_form(model, comment, source, neighbours)

    def mark(function: _Function) -> _Function:
        marked: Any = function
        if inspect.ismethod(function):  # bound to its object: it takes no attributes of its own

            @functools.wraps(function)
            def marked(*args: Any, **kwargs: Any) -> Any:
                return function(*args, **kwargs)

        marked.dpwitness_claim = Declared(neighbours, form, guessed)
        return cast(_Function, marked)

    return mark


def claim_form(model: Model, comment: str, source: str, neighbours: Adjacency) -> ClaimForm:
    """Return the form of a claim about a function's output; it protects the difference between neighbours."""
    relation = relation_of(neighbours)
    return ClaimForm(
        model, View.OUTPUT, ONE_REPORT, source, relation, neighbours.description, comment=comment
    )
