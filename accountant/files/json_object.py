"""Objects of JSON data of unknown authors: every key taken once, of a known type, within its range."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from accountant.files.data_files import from_json
from mechanisms.parameters import DPWitnessError

_LONGEST = 10**6  # characters of one text
_MOST_ENTRIES = 10**5  # of one list

_Read = TypeVar("_Read")


class JsonError(DPWitnessError, ValueError):
    """JSON data break a rule; the message names the field and the rule."""


def load_text_file(path: str | Path, read: Callable[[str], _Read]) -> _Read:
    """Read a text file in UTF-8 and return the result of `read` on its content.

    Raises
    ------
    JsonError
        If it is no text in UTF-8, or `read` raises a `ValueError`; the message begins with its name.
    OSError
        If it cannot be read at all.
    """
    try:
        return read(Path(path).read_bytes().decode("utf-8"))
    except UnicodeDecodeError:
        raise JsonError(f"{path}: must be text in UTF-8") from None
    except ValueError as error:
        raise JsonError(f"{path}: {error}") from None


class FromJson(ABC):
    """Base class of objects that are loaded from the JSON that they were written to."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def from_json(cls, data: Any) -> Self:
        """Return the object that was written as these JSON data; `ValueError` if none was."""

    @classmethod
    def loads(cls, text: str) -> Self:
        """Return the object in a JSON text.

        Raises
        ------
        ValueError
            If it holds none; the message names the field and the rule.
        """
        return cls.from_json(from_json(text))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the object in a file that the command line's ``--json`` or `json` wrote.

        Raises
        ------
        JsonError
            If it holds none; the message names the file, the field and the rule.
        OSError
            If it cannot be read.
        """
        return load_text_file(path, cls.loads)


class JsonObject:
    """An object of JSON data; its keys are taken one by one, each once and with its type."""

    def __init__(self, data: Any, what: str) -> None:
        if type(data) is not dict:
            raise JsonError(f"{what} is no object")
        self._left = dict(data)
        self.what = what

    def pop(self, key: str, *types: type) -> Any:
        """Take a value of one of these types exactly; of any if none is named."""
        if key not in self._left:
            raise JsonError(f"{self.what} has no {key}")
        value = self._left.pop(key)
        if types and type(value) not in types:
            raise JsonError(f"{key} of {self.what} is of type {type(value).__name__}")
        return value

    def pop_remaining(self) -> dict[str, Any]:
        """Take all remaining keys with their values, unchecked."""
        found, self._left = self._left, {}
        return found

    def text_mapping(self, key: str) -> dict[str, str]:
        """Take an object of texts."""
        return {
            checked_text(name, key): checked_text(value, key) for name, value in self.mapping(key).items()
        }

    def number_mapping(self, key: str) -> dict[str, float]:
        """Take an object of numbers; infinity is the string "inf"."""
        numbers = JsonObject(self.pop(key), key)
        return {checked_text(name, key): numbers.real_number(name) for name in list(numbers._left)}

    def end(self) -> None:
        """Refuse remaining keys: they are unknown."""
        if self._left:
            raise JsonError(f"{self.what} has keys that are unknown: {', '.join(sorted(self._left))[:60]}")

    def text(self, key: str) -> str:
        """Take a text."""
        return checked_text(self.pop(key), key)

    def flag(self, key: str) -> bool:
        """Take true or false."""
        return bool(self.pop(key, bool))

    def one_of(self, key: str, known: Sequence[str]) -> str:
        """Take one of some words."""
        found = self.text(key)
        if found not in known:
            raise JsonError(
                f"{key} of {self.what} must be one of {', '.join(map(repr, known))}, got {found[:60]!r}"
            )
        return found

    def integer(self, key: str) -> int:
        """Take a whole number of at least 0."""
        return self._nonnegative_integer(key, self.pop(key, int))

    def optional_integer(self, key: str) -> int | None:
        """Take a whole number of at least 0, or null."""
        found = self.pop(key, int, type(None))
        return None if found is None else self._nonnegative_integer(key, found)

    def _nonnegative_integer(self, key: str, found: int) -> int:
        if found < 0:
            raise JsonError(f"{key} of {self.what} is negative")
        return found

    def real_number(self, key: str) -> float:
        """Take a number; infinity is the string "inf"."""
        return self._parse_number(key, self.pop(key, int, float, str))

    def real_numbers(self, key: str) -> list[float]:
        """Take a list of numbers."""
        return [self._parse_number(key, each) for each in self._list(key)]

    def labelled_number(self, key: str) -> tuple[str, float]:
        """Take a list of a text and a number."""
        found = self._list(key)
        if len(found) != 2:
            raise JsonError(f"{key} of {self.what} must be a text and a number")
        return checked_text(found[0], key), self._parse_number(key, found[1])

    def _parse_number(self, key: str, found: Any) -> float:
        if found == "inf":
            return math.inf
        if type(found) not in (int, float):
            raise JsonError(f"{key} of {self.what} is no number")
        try:
            return float(found)
        except OverflowError:
            raise JsonError(f"{key} of {self.what} is larger than every float") from None

    def mapping(self, key: str) -> dict[str, Any]:
        """Take an object, its content unchecked."""
        return dict(self.pop(key, dict))

    def texts(self, key: str) -> list[str]:
        """Take a list of texts."""
        return [checked_text(each, key) for each in self._list(key)]

    def object(self, key: str, read: Callable[[JsonObject], _Read]) -> _Read:
        """Take an object and return the result of `read` on it."""
        return _read_object(self.pop(key), key, read)

    def optional(self, key: str, read: Callable[[JsonObject], _Read]) -> _Read | None:
        """Take an object or null; return the result of `read` on it, None for null."""
        found = self.pop(key, dict, type(None))
        return None if found is None else _read_object(found, key, read)

    def entries(self, key: str, read: Callable[[JsonObject], _Read]) -> list[_Read]:
        """Take a list of objects and return the results of `read` on them."""
        return [_read_object(each, f"one of {key}", read) for each in self._list(key)]

    def _list(self, key: str) -> list[Any]:
        found: list[Any] = self.pop(key, list)
        if len(found) > _MOST_ENTRIES:
            raise JsonError(f"{key} of {self.what} has {len(found):,} entries")
        return found


def _read_object(data: Any, what: str, read: Callable[[JsonObject], _Read]) -> _Read:
    found = JsonObject(data, what)
    try:
        value = read(found)
    except JsonError:
        raise
    except ValueError as error:  # the value's own rules
        raise JsonError(f"{what}: {error}") from None
    found.end()
    return value


def checked_text(value: Any, what: str) -> str:
    """Return a value that is a text, and not too long."""
    if type(value) is not str or len(value) > _LONGEST:
        raise JsonError(f"{what} is no text, or too long")
    return value
