"""Who learns what is released, and for what: said once around the code that releases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from accountant.record_name import canonical_name
from mechanisms.parameters import ParameterError


@dataclass(frozen=True, slots=True)
class Scope:
    """The purpose and the tenant of charges.

    Attributes
    ----------
    purpose
        What for; None if nobody said.
    tenant
        Who learns it; None if nobody said.
    """

    purpose: str | None = None
    tenant: str | None = None

    def __post_init__(self) -> None:
        for name in ("purpose", "tenant"):
            check_word(name, getattr(self, name))

    def __str__(self) -> str:
        given = (("purpose", self.purpose), ("tenant", self.tenant))
        return " and ".join(f"{name} {word!r}" for name, word in given if word is not None)


def check_word(name: str, word: object) -> None:
    """Raise `ParameterError` unless a purpose or tenant is none, or a text in the one form of its name."""
    if word is None:
        return
    if not (isinstance(word, str) and 0 < len(word) <= 200):
        raise ParameterError(f"{name}={word!r}: must be a text of 1 to 200 characters, or None")
    if word != (form := str(canonical_name(word, name))):
        raise ParameterError(f"{name}={word!r}: must be in Unicode's normal form NFC, as {form!r} is")


CURRENT_SCOPE: ContextVar[Scope] = ContextVar("scope", default=Scope())  # noqa: B039 (immutable)
"""The purpose and tenant of charges in this context, which `spending_on` sets."""


@contextmanager
def spending_on(purpose: str | None = None, *, tenant: str | None = None) -> Iterator[None]:
    """Let every charge in this block be for a purpose and a tenant.

    What a block around it said and this one leaves out still holds. Other threads that are started in the block say it
    for themselves: they begin without.

    Parameters
    ----------
    purpose
        What for, as the rules of the accountant name it.
    tenant
        Who learns it.

    Raises
    ------
    ParameterError
        If one of them is no text of 1 to 200 characters.

    Examples
    --------
    >>> from accountant import Accountant, Budget, Rule, spending_on
    >>> accountant = Accountant(Budget(epsilon=1.0), rules=[Rule(Budget(epsilon=0.25), purpose="ads", days=30)])
    >>> with spending_on("ads"):
    ...     pass  # releases in here are held to the rule for ads, and to the budget
    """
    around = CURRENT_SCOPE.get()
    inside = Scope(
        around.purpose if purpose is None else purpose, around.tenant if tenant is None else tenant
    )
    token = CURRENT_SCOPE.set(inside)
    try:
        yield
    finally:
        CURRENT_SCOPE.reset(token)
