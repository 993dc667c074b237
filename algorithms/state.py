"""What a learner holds, as JSON and arrays: exact to the last bit, no pickle, no code.

Every attribute is data: numbers, arrays, lists, values of this library, and private values that wait for their
release. Floats are written in hexadecimal; arrays keep their type. An object that is held in two places stays one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Accountant, Private
from accountant.durable import private_state, restore_private
from accountant.history import History
from accountant.private_sums import PrivateSums
from accountant.provenance import TracedSums

Arrays = dict[str, npt.NDArray[Any]]

_PACKAGES = frozenset({"mechanisms", "accountant", "algorithms"})


class StateError(ValueError):
    """A learner's state cannot be written down, or belongs to another learner."""


class Encoder:
    """Turns attributes into JSON-able data and collects their arrays.

    Parameters
    ----------
    gate
        The gate that the learner runs on: not part of its state.
    module
        The learner's module: objects of its classes, and of this library's, can be saved.
    history
        Notes whose data wait in private sums; without one, they are described in full.

    Attributes
    ----------
    arrays
        The arrays met so far, by the keys that the JSON-able data name.
    modules
        The modules of the classes met so far.
    """

    def __init__(self, gate: Accountant, module: str, history: History | None = None) -> None:
        self._gate = gate
        self._history = history
        self.modules: set[str] = {module}
        self._packages = packages_of(module) | {"fractions"}
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no number of a dead object is given to another
        self.arrays: Arrays = {}

    def attributes(self, holder: object) -> dict[str, Any]:
        """Return all attributes of an object."""
        name = type(holder).__name__
        return {key: self.value(value, f"{name}.{key}") for key, value in _attributes(holder)}

    def value(self, value: Any, where: str) -> Any:
        """Return one value; `where` names it in errors.

        Raises
        ------
        StateError
            If it is no plain data.
        """
        if value is None or isinstance(value, bool | int | str):
            return value
        if value is self._gate:
            return {"gate": "itself"}
        if value is self._gate.random:
            return {"gate": "random"}
        if type(value) is float:
            return {"float": value.hex()}
        if isinstance(value, type):
            return {"class": _name(value)}
        if isinstance(value, Enum):
            return {"class": _name(type(value)), "member": value.name}
        if id(value) in self._numbers:
            return {"same": self._numbers[id(value)]}
        self._numbers[id(value)] = number = len(self._numbers)
        self._kept.append(value)
        return {"number": number, **self._fresh(value, where, number)}

    def _fresh(self, value: Any, where: str, number: int) -> dict[str, Any]:
        if isinstance(value, np.ndarray | np.generic):
            if value.dtype.kind not in "biuf":
                raise StateError(f"{where} is an array of type {value.dtype}: must be numbers to be saved")
            key = f"array{number}"
            self.arrays[key] = np.array(value)
            return {"array": key, "scalar": isinstance(value, np.generic)}
        if isinstance(value, Private | PrivateSums):
            state, values = private_state(value, self._history)
            key = f"private{number}"
            self.arrays[key] = np.array(values)
            return {"private": state, "values": key}
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.value(entry, f"{where}[{i}]") for i, entry in enumerate(value)]}
        if isinstance(value, dict):
            entries = [
                [self.value(key, where), self.value(entry, f"{where}[{key!r}]")]
                for key, entry in value.items()
            ]
            return {"dict": entries}
        if type(value).__module__.partition(".")[0] not in self._packages:
            raise StateError(
                f"{where} is a {type(value).__name__}: must be a number, an array, a list or dict of them, or an "
                "object of this library or of the learner's own module to be saved"
            )
        self.modules.add(type(value).__module__)
        return {"object": _name(type(value)), "attributes": self.attributes(value)}


class Decoder:
    """Puts encoded attributes back into a learner that has just been built.

    Parameters
    ----------
    gate
        The gate that the learner runs on.
    arrays
        What `Encoder.arrays` was.
    module
        The learner's module: objects of its classes, and of this library's, are made anew where the fresh learner
        has none.
    sums
        The private sums that the history holds, by their numbers.
    """

    def __init__(self, gate: Accountant, arrays: Arrays, module: str, sums: Mapping[int, TracedSums]) -> None:
        self._gate = gate
        self._sums = sums
        self._arrays = arrays
        self._packages = packages_of(module) | {"fractions"}
        self._made: dict[int, Any] = {}

    def restore(self, holder: object, saved: dict[str, Any]) -> None:
        """Set all attributes of an object to what was saved, and remove what it did not have."""
        current = dict(_attributes(holder))
        for name in current.keys() - saved.keys():
            object.__delattr__(holder, name)
        for name, value in saved.items():
            object.__setattr__(holder, name, self._value(value, current.get(name)))

    def _value(self, saved: Any, current: Any) -> Any:
        if not isinstance(saved, dict):
            return saved
        if "gate" in saved:
            return self._gate if saved["gate"] == "itself" else self._gate.random
        if "float" in saved:
            return float.fromhex(saved["float"])
        if "class" in saved:
            found = self._find(saved["class"])
            return found[saved["member"]] if "member" in saved else found
        if "same" in saved:
            return self._made[saved["same"]]
        if "object" in saved:
            return self._object(saved, current)
        made = self._plain(saved)
        self._made[saved["number"]] = made
        return made

    def _plain(self, saved: dict[str, Any]) -> Any:
        if "array" in saved:
            array = self._arrays[saved["array"]]
            return array[()] if saved["scalar"] else array
        if "private" in saved:
            return restore_private(self._gate, saved["private"], self._arrays[saved["values"]], self._sums)
        if "dict" in saved:
            return {self._value(key, None): self._value(entry, None) for key, entry in saved["dict"]}
        if "list" in saved:
            return [self._value(entry, None) for entry in saved["list"]]
        return tuple(self._value(entry, None) for entry in saved["tuple"])

    def _object(self, saved: dict[str, Any], current: Any) -> Any:
        kind = self._find(saved["object"])
        made = current if type(current) is kind else kind.__new__(kind)
        self._made[saved["number"]] = made
        self.restore(made, saved["attributes"])
        return made

    def _find(self, name: str) -> Any:
        """Find a class by its name, among the modules that are loaded anyway."""
        module, _, qualified = name.partition(":")
        found: Any = sys.modules.get(module) if module.partition(".")[0] in self._packages else None
        for part in qualified.split("."):
            found = getattr(found, part, None)
        if not isinstance(found, type):
            raise StateError(f"{name}: no such class here")
        return found


def _attributes(holder: object) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object, whether it keeps them in a dictionary or in slots."""
    for name, value in getattr(holder, "__dict__", {}).items():
        if not isinstance(getattr(type(holder), name, None), cached_property):  # follows from the others
            yield name, value
    for kind in type(holder).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(holder, name):
                yield name, getattr(holder, name)


def packages_of(module: str) -> frozenset[str]:
    """Return this library's packages, and that of a learner's module."""
    return _PACKAGES | {module.partition(".")[0]}


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"
