"""The scope of releases, their purpose and tenant, set once around the code that makes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from accountant.record_name import canonical_name
from mechanisms.parameters import ParameterError, quoted


@dataclass(frozen=True, slots=True)
class Scope:
    """The purpose and the tenant of charges.

    Attributes
    ----------
    purpose
        The use of the outputs; None if none was given.
    tenant
        The receiver of the outputs; None if none was given.
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
        raise ParameterError(f"{name} = {quoted(word)}: must be a text of 1 to 200 characters, or None")
    if word != (form := str(canonical_name(word, name))):
        raise ParameterError(f"{name} = {word!r}: must be in Unicode's normal form NFC, as {form!r} is")


ANY = Scope()
"""No purpose and no tenant."""

CURRENT_SCOPE: ContextVar[Scope] = ContextVar("scope", default=ANY)
"""The purpose and tenant of charges in this context, which `spending_on` sets."""


@contextmanager
def spending_on(purpose: str | None = None, *, tenant: str | None = None) -> Iterator[None]:
    """Let every charge in this block be for a purpose and a tenant.

    A purpose or tenant of an outer block holds where this one gives none. Threads that are started in the block begin
    without either.

    Parameters
    ----------
    purpose
        The use of the outputs, as the rules of the accountant name it.
    tenant
        The receiver of the outputs.

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
