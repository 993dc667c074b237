"""JSON and TOML of unknown authors: read strictly, and refused in one sentence."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from mechanisms.parameters import DPWitnessError

_DEEPEST = 200
"""Levels of lists and objects; for each, a recursive reader takes a few of Python's 1,000 stack frames."""


class DataFileError(DPWitnessError, ValueError):
    """A text is not valid JSON or TOML, or has content that plain data must not have; the message is one line."""


def text_of(path: Path) -> str:
    """Return the content of a text file in UTF-8 without a byte order mark, which spreadsheets and editors write.

    Raises
    ------
    DataFileError
        If it is not in UTF-8; the message has the position.
    OSError
        If the file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataFileError(f"not a text file ({error.reason} at byte {error.start})") from None


def from_json(text: str, made: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Return the content of a JSON text.

    Parameters
    ----------
    text
        The text.
    made
        Function that replaces each object as soon as it is read, so that little of a large file is kept; by default
        objects stay.

    Raises
    ------
    DataFileError
        If it is not JSON, holds NaN, an infinity, a number beyond floats or too small for them, one key twice in an
        object, whole numbers of thousands of digits, or lists and objects nested too deep.
    """
    try:
        found = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=float_of,
            object_pairs_hook=without_repetition
            if made is None
            else lambda pairs: made(without_repetition(pairs)),
        )
    except json.JSONDecodeError as error:
        raise DataFileError(f"line {error.lineno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise DataFileError("not valid JSON: nested too deep") from None
    except DataFileError:
        raise
    except ValueError as error:  # a whole number of more digits than Python converts
        raise DataFileError(f"not valid JSON: {error}") from None
    _check_nesting(found)
    return found


def from_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text.

    Raises
    ------
    DataFileError
        If it is not TOML, holds a number beyond floats or too small for them, or is nested too deep.
    """
    try:
        found = tomllib.loads(text, parse_float=float_of)
    except RecursionError:
        raise DataFileError("not valid TOML: nested too deep") from None
    except ValueError as error:  # also a whole number of more digits than Python converts
        raise DataFileError(f"not valid TOML: {error}") from None
    _check_nesting(found)
    return found


def _check_nesting(found: Any) -> None:
    """Refuse nesting that is too deep for recursive readers on Python's stack."""
    level = [found]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise DataFileError(f"nested too deep: at most {_DEEPEST} levels of lists and objects are read")


def _refuse_constant(constant: str) -> NoReturn:
    raise DataFileError(f"not valid JSON: {constant} is no JSON number")


def float_of(digits: str) -> float:
    """Return the float that a text denotes.

    Raises
    ------
    DataFileError
        If floats round the number to 0 or to an infinity, and it is neither: a cost of 0 would be free, and an infinite
        limit none.
    ValueError
        If it is no number.
    """
    number = float(digits)
    if number == 0.0 and any(digit in "123456789" for digit in digits.lower().partition("e")[0]):
        raise DataFileError(f"{digits[:30]} is smaller than every float above 0")
    if math.isinf(number) and any(digit.isdigit() for digit in digits):
        raise DataFileError(f"{digits[:30]} is larger than every float")
    return number


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the dictionary of key-value pairs.

    Raises
    ------
    DataFileError
        If a key occurs twice: one of its values would be lost.
    """
    read: dict[str, Any] = {}
    for key, value in pairs:
        if key in read:
            raise DataFileError(f"the key {key!r} occurs twice in one object")
        read[key] = value
    return read
