"""Composition theorems by name: for saved ledgers, and for claims that name one by its first word."""

from __future__ import annotations

import unicodedata
from typing import Any

from accountant.filters.advanced import AdvancedComposition
from accountant.filters.composition_theorem import BasicComposition, Composition
from accountant.filters.gaussian_composition import GaussianComposition
from accountant.filters.renyi import RenyiComposition
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from accountant.plans.plan import PlannedComposition
from mechanisms.parameters import ParameterError

COMPOSITIONS: dict[str, type[Composition]] = {
    theorem.name: theorem
    for theorem in (
        BasicComposition,
        AdvancedComposition,
        ZeroConcentratedComposition,
        RenyiComposition,
        GaussianComposition,
        PlannedComposition,
    )
}


def compositions_by_word() -> dict[str, type[Composition]]:
    """Return the theorems by the first words of their names, without accents; a declared plan has no words."""
    return {
        _plain(name).split()[0]: theorem
        for name, theorem in COMPOSITIONS.items()
        if theorem is not PlannedComposition
    }


def composition_named(words: str) -> Composition:
    """Return a theorem by the first word of its name, with its settings: ``"zcdp"``, ``"renyi, failures=0.1"``.

    Case and accents do not matter. A declared plan has no name in words.

    Raises
    ------
    ParameterError
        If there is no such theorem, or a setting is none of its numbers.
    """
    known = compositions_by_word()
    if not isinstance(words, str):
        raise ParameterError(
            f"composition = {words!r}: must be text, such as 'zcdp' or 'renyi, failures=0.1'"
        )
    name, *given = (part.strip() for part in words.split(","))
    theorem: Any = known.get(_plain(name)) or (
        COMPOSITIONS.get(name) if name != PlannedComposition.name else None
    )
    if theorem is None:
        raise ParameterError(
            f"composition = {words!r}: must be one of {', '.join(known)}, settings after a comma"
        )
    settings: dict[str, Any] = {}
    for each in given:
        key, _, number = each.partition("=")
        try:
            settings[key.strip()] = float(number)
        except ValueError:
            raise ParameterError(
                f"composition = {words!r}: {each!r} must be name=number, such as failures=0.1"
            ) from None
    try:
        found: Composition = theorem(**settings)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"composition = {words!r}: {error}") from None
    return found


def _plain(name: str) -> str:
    """Return a name in small letters without accents."""
    decomposed = unicodedata.normalize("NFKD", name.strip().lower())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
