"""The state of a learner as JSON and arrays: exact to the last bit, without pickle and without code.

Every attribute is data: numbers, arrays, lists, values of this library, and private values that wait for their release.
Floats are written in hexadecimal; arrays keep their type. An object that is held in two places stays one. Values that
would not be restored exactly are refused by name: a subclass of a built-in type (named tuples, `defaultdict`, masked
arrays), arrays that share memory, classes that are not found by their names.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Accountant, Gate, Private, PrivateStream
from accountant.gates.lineage import TracedSums
from accountant.gates.private_sums import PrivateSums
from accountant.provenance import IMPORTED_AS
from accountant.stored_accountant import private_state, restore_private
from accountant.stores.waiting_sums import Notes
from algorithms.code_fingerprint import LIBRARY_OF_LEARNERS
from dpwitness import loaded_of_library
from mechanisms.parameters import DPWitnessError

StateArrays = dict[str, npt.NDArray[Any]]
_SHORT = 4096
"""Bits of a whole number that is written in decimal digits, of which Python reads 4,300 at most."""


_DEEPEST = 100
"""Levels of values in values: a few calls of Python's for each, which has room for 1,000 in all."""
_LONGEST = 200  # characters of a place in a message


class StateError(DPWitnessError, ValueError):
    """A learner's state cannot be written down, or belongs to another learner."""


class Encoder:
    """Turns attributes into JSON-able data and collects their arrays.

    Parameters
    ----------
    gate
        The gate that the learner runs on: not part of its state.
    modules
        The modules of the learner's own code (`own_modules`): objects of their packages' classes, and of this
        library's, can be saved.
    notes
        Take whose data wait in private sums; without them, the sums are described in full.

    Attributes
    ----------
    arrays
        The arrays met so far, by the keys that the JSON-able data name.
    modules
        The modules of the classes met so far.
    """

    def __init__(self, gate: Accountant, modules: Collection[str], notes: Notes | None = None) -> None:
        self._gate = gate
        self._notes = notes
        self.modules = set(modules)
        self._packages = packages_of(modules) | {"fractions"}
        self._memory: dict[int, list[tuple[npt.NDArray[Any], str]]] = {}  # arrays by memory owner
        self._numbers: dict[int, int] = {}
        self._open_tuples: set[int] = set()  # those whose entries are being written
        self._depth = 0
        self._kept: list[Any] = []  # so that no number of a dead object is given to another
        self.arrays: StateArrays = {}

    def attributes(self, holder: object) -> dict[str, Any]:
        """Return all attributes of an object."""
        name = type(holder).__name__
        _check_bases(type(holder), name)
        return {key: self.value(value, f"{name}.{key}") for key, value in attributes_of(holder)}

    def value(self, value: Any, where: str) -> Any:
        """Return one value; `where` names it in errors.

        Raises
        ------
        StateError
            If it is no plain data, or could not be restored exactly.
        """
        if type(value) is int and value.bit_length() > _SHORT:
            return {"int": hex(value)}
        if value is None or type(value) in (bool, int, str):
            return value
        if value is self._gate:
            return {"gate": "itself"}
        if value is self._gate.random:
            return {"gate": "random"}
        if type(value) is float:
            return {"float": value.hex()}
        if isinstance(value, type):
            return {"class": self._findable(value, where)}
        if isinstance(value, Enum):
            if value.name not in type(value).__members__:
                raise StateError(f"{where} is {value!r}: must be one of the members of its class to be saved")
            return {"class": self._findable(type(value), where), "member": value.name}
        if id(value) in self._numbers:
            if id(value) in self._open_tuples:
                raise StateError(f"{where} is a tuple that is in itself: must be a list there to be saved")
            return {"same": self._numbers[id(value)]}
        self._numbers[id(value)] = number = len(self._numbers)
        self._kept.append(value)
        if self._depth == _DEEPEST:
            raise StateError(
                f"{where[:_LONGEST]}...: must not be nested deeper than {_DEEPEST} levels to be saved"
            )
        self._depth += 1
        fresh = self._fresh(value, where, number)
        self._depth -= 1
        return {"number": number, **fresh}

    def _fresh(self, value: Any, where: str, number: int) -> dict[str, Any]:
        if type(value) is np.ndarray or isinstance(value, np.generic):
            if value.dtype.kind not in "biuf":
                raise StateError(f"{where} is an array of type {value.dtype}: must be numbers to be saved")
            if isinstance(value, np.ndarray):
                self._check_memory(value, where)
            key = f"array{number}"
            self.arrays[key] = np.array(value)
            return {"array": key, "scalar": isinstance(value, np.generic)}
        if isinstance(value, Private | PrivateSums):
            state, values = private_state(value, self._notes)
            key = f"private{number}"
            self.arrays[key] = np.array(values)
            domain = value._domain if isinstance(value, Private) else None
            known = {} if domain is None else {"domain": self.value(domain, f"{where}'s domain")}
            return {"private": state, "values": key, **known}
        if type(value) is list:
            return {"list": [self.value(entry, f"{where}[{i}]") for i, entry in enumerate(value)]}
        if type(value) is tuple:
            self._open_tuples.add(id(value))
            entries = [self.value(entry, f"{where}[{i}]") for i, entry in enumerate(value)]
            self._open_tuples.discard(id(value))
            return {"tuple": entries}
        if type(value) is dict:
            return {
                "dict": [
                    [self.value(key, where), self.value(entry, f"{where}[{key!r}]")]
                    for key, entry in list(value.items())
                ]
            }
        if isinstance(value, PrivateStream):
            raise StateError(
                f"{where} is a PrivateStream, which cannot be saved, as its records and its noise are known in memory "
                "only: a learner that holds one runs in one process, on an Accountant, and is no DurableRun"
            )
        _check_bases(type(value), where)
        if type(value).__module__.partition(".")[0] not in self._packages:
            raise StateError(
                f"{where} is a {type(value).__name__}: must be a number, an array, a plain list, tuple or dict of "
                "them, or an object of this library, of the learner's own package or of its structure's to be saved"
            )
        name = self._findable(type(value), where)
        self.modules.add(type(value).__module__)
        return {"object": name, "attributes": self.attributes(value)}

    def _findable(self, kind: type, where: str) -> str:
        """Return a class's name; refuse one that would not be found by it."""
        try:
            found = _find(_name(kind), self._packages)
        except StateError:
            found = None
        if found is not kind:
            raise StateError(
                f"{where} is of, or is, the class {_name(kind)}: must be at the top of a module of this library or of "
                "the learner's or its structure's own package to be saved"
            )
        return _name(kind)

    def _check_memory(self, array: npt.NDArray[Any], where: str) -> None:
        """Refuse an array that shares its numbers with one met before: each would come back with its own."""
        owner = array
        while type(owner.base) is np.ndarray:
            owner = owner.base
        met = self._memory.setdefault(id(owner), [])
        for other, place in met:
            if np.may_share_memory(array, other):
                raise StateError(
                    f"{where} shares memory with {place}: must be a copy, or be made anew when it is used, to be saved"
                )
        met.append((array, where))


class Decoder:
    """Puts encoded attributes back into a learner that has just been built.

    Parameters
    ----------
    gate
        The gate that the learner runs on.
    arrays
        The arrays of the `Encoder`.
    modules
        As for `Encoder`: objects of these classes are made anew where the fresh learner has none.
    sums
        The private sums that the history holds, by their numbers.
    """

    def __init__(
        self, gate: Accountant, arrays: StateArrays, modules: Collection[str], sums: Mapping[int, TracedSums]
    ) -> None:
        self._gate = gate
        self._sums = sums
        self._arrays = arrays
        self._packages = packages_of(modules) | {"fractions"}
        self._made: dict[int, Any] = {}

    def restore(self, holder: object, saved: dict[str, Any]) -> None:
        """Set all attributes of an object to the saved values, and remove attributes that were not saved."""
        current = dict(attributes_of(holder))
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
        if "int" in saved:
            return int(saved["int"], 16)
        if "class" in saved:
            found = _find(saved["class"], self._packages)
            return found[saved["member"]] if "member" in saved else found
        if "same" in saved:
            return self._made[saved["same"]]
        if "object" in saved:
            return self._object(saved, current)
        if "list" in saved:
            return self._list(saved)
        if "dict" in saved:
            return self._dict(saved)
        made = self._plain(saved)
        self._made[saved["number"]] = made
        return made

    def _list(self, saved: dict[str, Any]) -> list[Any]:
        made: list[Any] = []
        self._made[saved["number"]] = made  # first: it may be in itself
        made += [self._value(entry, None) for entry in saved["list"]]
        return made

    def _dict(self, saved: dict[str, Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        self._made[saved["number"]] = made
        for key, entry in saved["dict"]:
            made[self._value(key, None)] = self._value(entry, None)
        return made

    def _plain(self, saved: dict[str, Any]) -> Any:
        if "array" in saved:
            array = self._arrays[saved["array"]]
            return array[()] if saved["scalar"] else array
        if "private" in saved:
            domain = self._value(saved["domain"], None) if "domain" in saved else None
            values = self._arrays[saved["values"]]
            return restore_private(self._gate, saved["private"], values, self._sums, domain)
        return tuple(self._value(entry, None) for entry in saved["tuple"])

    def _object(self, saved: dict[str, Any], current: Any) -> Any:
        kind = _find(saved["object"], self._packages)
        made = current if type(current) is kind else kind.__new__(kind)
        self._made[saved["number"]] = made
        self.restore(made, saved["attributes"])
        return made


class PublicDecoder(Decoder):
    """Decoder of public attributes, for a learner on another gate: private values become None."""

    def __init__(self, gate: Gate, arrays: StateArrays, modules: Collection[str]) -> None:
        super().__init__(gate, arrays, modules, {})  # type: ignore[arg-type]

    def _plain(self, saved: dict[str, Any]) -> Any:
        return None if "private" in saved else super()._plain(saved)


def _find(name: str, packages: frozenset[str]) -> Any:
    """Find a class by its name, among the modules of these packages that are loaded anyway."""
    module, _, qualified = name.partition(":")
    names = (module, f"{IMPORTED_AS}{module}", *(["__main__"] if known_as("__main__") == module else []))
    loaded = [sys.modules.get(each) for each in names if each.partition(".")[0] in packages]
    for found in (*loaded, loaded_of_library(module)):  # a user's own package may have this library's name
        held: Any = found
        for part in qualified.split("."):
            held = getattr(held, part, None)
        if isinstance(held, type):
            return held
    raise StateError(f"{name}: no such class here")


_MADE_IN_PYTHON = 1 << 9  # CPython's Py_TPFLAGS_HEAPTYPE


def _check_bases(kind: type, where: str) -> None:
    """Refuse objects that hold more than attributes: a subclass of dict holds entries, too."""
    base = _built_in_base(kind)
    if base is not None:
        a_kind = "" if base == kind.__name__ else f", a kind of {base}"
        raise StateError(
            f"{where} is a {kind.__name__}{a_kind}: must be a number, an array, a plain list, tuple or dict of them, "
            "or an object that holds nothing but attributes, to be saved"
        )


@functools.lru_cache(maxsize=1024)
def _built_in_base(kind: type) -> str | None:
    bases = (base for base in kind.__mro__ if base is not object and not base.__flags__ & _MADE_IN_PYTHON)
    return next((base.__name__ for base in bases), None)


def attributes_of(holder: object) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object, whether it keeps them in a dictionary or in slots."""
    # A list: another thread may add to them.
    for name, value in list(getattr(holder, "__dict__", {}).items()):
        if not isinstance(getattr(type(holder), name, None), cached_property):  # follows from the others
            yield name, value
    for kind in type(holder).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            private = slot.startswith("__") and not slot.endswith("__")
            name = f"_{kind.__name__.lstrip('_')}{slot}" if private else slot  # as Python mangles it
            if name not in ("__dict__", "__weakref__") and hasattr(holder, name):
                yield name, getattr(holder, name)


def own_modules(learner: object) -> frozenset[str]:
    """Return the modules that a learner's code begins in: its class's, and that of the structure that it plays."""
    structure = getattr(learner, "structure", None)
    return frozenset(type(each).__module__ for each in (learner, structure) if each is not None)


def packages_of(modules: Collection[str]) -> frozenset[str]:
    """Return this library's packages, and those of a learner's modules."""
    return LIBRARY_OF_LEARNERS | {module.partition(".")[0] for module in modules}


def known_as(module: str) -> str:
    """Return the name of a module that is the same whether it was imported, run as a script, or read by a command."""
    if module == "__main__":
        main = sys.modules[module]
        spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
        return spec.name if spec is not None else Path(file).stem if file else module
    return module.removeprefix(IMPORTED_AS)


def _name(kind: type) -> str:
    return f"{known_as(kind.__module__)}:{kind.__qualname__}"
