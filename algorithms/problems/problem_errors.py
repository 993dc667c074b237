"""Errors and checks of a problem's parameters, raised before anything is played."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mechanisms.parameters import DPWitnessError, ParameterError, quoted, whole_number

if TYPE_CHECKING:
    import numpy.typing as npt

    from mechanisms.arrays import FloatArray


class ProblemError(DPWitnessError, ValueError):
    """A structure or problem that cannot be built: names the parameter, its value and the broken rule."""


class SettingError(ProblemError):
    """A setting given by name (``--set key=value``) that is unknown, malformed or out of range."""


def checked_size(name: str, value: int, limit: int, of: str) -> int:
    """Return a size (a number of arms, positions ...) from 1 to `limit`, the number of `of`, as an int.

    Raises
    ------
    ProblemError
        If it is no whole number from 1 to `limit`.
    """
    size = checked_count(name, value)
    if size > limit:
        raise ProblemError(f"{name} = {value!r}: must be at most the number of {of}, {limit}")
    return size


def checked_count(name: str, value: int) -> int:
    """Return a count of at least 1 as an int.

    Raises
    ------
    ProblemError
        If it is no whole number from 1 to 2^24 - 1: learners keep numbers of each.
    """
    try:
        return whole_number(name, value, least=1, bits=24)
    except ParameterError as error:
        raise ProblemError(str(error)) from None


def require_structure(structure: object) -> None:
    """Check that it is a structure.

    Raises
    ------
    ProblemError
        If it has no ``arms``, ``size`` or ``solve``, or is a class.
    """
    if isinstance(structure, type) or not all(hasattr(structure, name) for name in ("arms", "size", "solve")):
        of = "; pass the problem's structure" if hasattr(structure, "structure") else ""
        raise ProblemError(
            f"structure = {quoted(structure)}: must be a structure, such as TopK or RankedLists{of}"
        )


def whole_rows(
    name: str, rows: Iterable[Iterable[int]], length: int | None = None, *, least: int = 0
) -> tuple[Any, ...]:
    """Return rows of whole numbers, of any length or of one, as tuples of tuples of ints.

    Raises
    ------
    ProblemError
        If they are no rows of whole numbers of at least `least` (of an array, too), or a row has another length.
    """
    try:
        found = tuple(tuple(whole_number(name, entry, least=least) for entry in row) for row in rows)
    except TypeError:
        raise ProblemError(f"{name} = {quoted(rows)}: must be rows of whole numbers") from None
    except ParameterError as error:
        raise ProblemError(f"every entry of {error}") from None
    for number, row in enumerate(found):
        if length is not None and len(row) != length:
            raise ProblemError(f"{name}[{number}] = {quoted(row)}: must have {length} entries")
    return found


def real_array(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return a copy of an array of numbers.

    Raises
    ------
    ProblemError
        If it is none.
    """
    import numpy as np  # commands that read no array do without

    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(f"{name} = {quoted(values)}: must be numbers") from None
