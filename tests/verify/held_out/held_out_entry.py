"""Entries of held-out mechanisms: their known facts, and a decorator that makes one of a function.

A held-out file is read by `verify.verification.resolve.load_object`, so every mechanism can also be verified by hand:
``dpwitness verify tests/verify/held_out/selection.py:top_two --epsilon 1``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mechanisms import Domain
from verify import PlainBandit, claimed
from verify.neighbouring.adjacency import Adjacency
from verify.zoo import Specimen

if TYPE_CHECKING:
    from oracle import Masses, Oracle

sys.path.append(
    str(Path(__file__).parents[1] / "zoo")
)  # where the oracle and the exact laws stand, for the files

BATCHED, SINGLE, COMMAND = 2_250_112, 60_000, 200_000
"""Final draws a side at the default effort: of functions of many lanes, of one lane, of commands."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class HeldOut(Specimen):
    """A mechanism that the verifier is not developed on.

    Attributes
    ----------
    exact
        Whether `true_epsilon` is exact; otherwise it is an upper bound where the claim is true, and a lower bound
        where it is false.
    draws
        Final draws a side for which `limit` is.
    oracle
        The pair and the events by which a test that knew the law would tell the neighbours apart; None where the law
        is not known in closed form.
    limit
        The oracle's limit at `draws` (95 %) as another program computed it, from a law derived a second time
        (for the bandits: not known).
    """

    exact: bool = True
    draws: int = BATCHED
    oracle: Oracle | None = None
    limit: float | None = None


def held_out(
    *,
    data: Domain | Adjacency,
    epsilon: float,
    true_epsilon: float,
    source: str,
    delta: float = 0.0,
    exact: bool = True,
    oracle: Oracle | None = None,
    limit: float | None = None,
    hidden: bool = False,
) -> Callable[[_Function], _Function]:
    """Mark a function with its claim, and attach what is known of it as ``function.held_out``.

    Its name is the function's, and what is right or wrong in it is the first paragraph of its docstring.
    """

    def mark(function: _Function) -> _Function:
        marked = claimed(data=data)(function)
        why = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        marked.held_out = HeldOut(  # type: ignore[attr-defined]
            name=function.__name__.replace("_", "-"),
            subject=marked,
            epsilon=epsilon,
            true_epsilon=true_epsilon,
            source=source,
            why=why,
            oracle=oracle,
            delta=delta,
            hidden=hidden,
            exact=exact,
            draws=BATCHED if "lanes" in inspect.signature(function).parameters else SINGLE,
            limit=limit,
        )
        return marked

    return mark


def impossible(p: float) -> Callable[[], Masses]:
    """An event of probability p under the data and of none under the other: the loss is infinite."""
    return lambda: (np.array([p]), np.array([0.0]))


def held_out_bandit(
    name: str,
    bandit: PlainBandit,
    *,
    true_epsilon: float,
    source: str,
    why: str,
    epsilon: float = 1.0,
    delta: float = 0.0,
    exact: bool = False,
    hidden: bool = False,
) -> HeldOut:
    """What is known of a bandit; the oracle's limit is not."""
    return HeldOut(
        name, bandit, epsilon, true_epsilon, source, why, delta=delta, hidden=hidden, exact=exact
    )  # fmt: skip
