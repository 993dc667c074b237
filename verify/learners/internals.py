"""Uses of the internals of private values in a learner's code, which its gate cannot see.

Names that start with an underscore lead past every operation of a private value, to raw data. Replays find a flow of
raw data there only if it has an effect in a run that is made: a streak of raw values that resets the learner may never
come up. So code that names them rests on an assumption: the methods that a run calls, and all code by the same author
that these name, also in a branch that no run takes. An object's own attribute, ``self._values``, is no private value's.
"""

from __future__ import annotations

import dis
import functools
import itertools
import operator
import re
import sys
import types
from collections.abc import Iterator
from contextlib import suppress
from importlib.abc import SourceLoader
from importlib.util import resolve_name
from typing import Any

from accountant import Place, Private, PrivateSums
from algorithms.code_fingerprint import find_module
from algorithms.learner import ExplainedLearner, ExplainedLists, PhasedLearner, WarmStartLearner
from algorithms.linear.phased_elimination import PhasedElimination
from dpwitness import LIBRARY, is_installed, is_of_a_user, is_of_library
from mechanisms import Assumption, AssumptionKind
from verify.learners.public_state import attributes, enclosed

_VARIABLE = re.compile(r"(LOAD|STORE|DELETE)_(NAME|GLOBAL|FROM_DICT_OR_GLOBALS)|IMPORT_(NAME|FROM)")
_ATTRIBUTE = frozenset(each for each in dis.hasname if not _VARIABLE.fullmatch(dis.opname[each]))
"""Instructions that name an attribute, those of ``super()`` in 3.12 included."""

_MOVES = frozenset({"COPY", "SWAP", "CACHE", "EXTENDED_ARG"})  # leave the object where it is
_IMPORT = dis.opmap["IMPORT_NAME"]
_CONSTANTS = (str, tuple, frozenset)
_BETWEEN = re.compile(r"[][.{}!:]")  # names in a text: a getter's, or a format's


def _internals(owner: type) -> set[str]:
    named = {*dir(owner), *owner.__init__.__code__.co_names}  # type: ignore[misc]
    return {name for name in named if name.startswith("_") and not name.startswith("__")}


INTERNALS = frozenset(_internals(Private) | _internals(PrivateSums) | {"_noise", "_tape"})
"""All names with an underscore of private values and sums, and those of a gate's noise and tape."""

_CALLED = frozenset({"after", *(name for name in dir(PhasedElimination) if not name.startswith("_"))}).union(
    *map(dir, (ExplainedLearner, ExplainedLists, PhasedLearner, WarmStartLearner))
)
"""Names of a learner that runs and verifiers call or read."""


def private_attribute_uses(learner: object) -> list[Assumption]:
    """Return an assumption for each internal name that a learner's code uses on another object than its own.

    All code that its methods name is searched: other methods, functions, classes and modules of the same author, to
    any depth, and the classes of the learner's attributes. Left out are this library, Python and installed packages
    (unless the learner's own classes come from one).
    """
    found: dict[tuple[str, str], Assumption] = {}
    for place, name in _uses(learner):
        message = (
            f"{name}, which your code names, is not a private value's or its gate's: what is done past their "
            "operations nobody checks"
        )
        found.setdefault((place.file, name), Assumption(AssumptionKind.INTERNALS, message, str(place)))
    return list(found.values())


def _uses(learner: object) -> Iterator[tuple[Place, str]]:
    """Yield place and name of each use in code that a run may reach: the names `_CALLED`, and those named in turn."""
    packages = {base.__module__.partition(".")[0] for base in type(learner).__mro__}
    waiting: list[Any] = [type(learner), *(held for _, held in attributes(learner))]
    names, classes, seen = set(_CALLED), list[type](), set[int]()
    while waiting:
        value = waiting.pop(0)
        if id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, operator.attrgetter):
                texts = _texts(value.__reduce__()[1])
                yield from ((Place("a getter of attributes", 0), name) for name in texts)
            elif type(value) in _CONSTANTS:  # of a module or a class, a default argument
                yield from ((Place("a text", 0), name) for name in _texts(value))
            elif isinstance(value, types.CodeType):  # of a module that no run has loaded: all of it
                yield from _uses_in_code(value)
            elif isinstance(value, type):
                classes.append(value)
            elif not isinstance(value, types.FunctionType):
                waiting += _functions(value)
                if type(value).__module__ not in ("builtins", "numpy"):
                    waiting.append(type(value))
            elif _is_by_author(value, packages):
                yield from _uses_in_code(value.__code__)
                waiting += _named_values(value)
                names.update(_names(value.__code__))
                waiting += _imported_values(value.__code__, value.__globals__)
        if not waiting:
            methods = [part for kind in classes for part in _methods(kind, names, packages)]
            waiting += [part for part in methods if id(part) not in seen]


def _methods(kind: type, names: set[str], packages: set[str]) -> Iterator[Any]:
    """Yield the attributes with some names, or with names of Python's, of the author's classes among the bases."""
    for base in kind.__mro__:
        if _is_by_author(base, packages):
            for name, held in vars(base).items():
                if name in names or (name.startswith("__") and name.endswith("__")):
                    yield from _functions(held)
                    if type(held) in _CONSTANTS and not name.startswith("__"):  # as ``__slots__`` are
                        yield held


def _functions(value: Any) -> Iterator[Any]:
    """Yield the functions, classes and getters that a value is, or that a decorator or partial call wraps in it."""
    if isinstance(value, types.FunctionType | type | operator.attrgetter):
        yield value
    elif isinstance(value, staticmethod | classmethod | types.MethodType):
        yield from _functions(value.__func__)
    elif isinstance(value, property):
        yield from (each for each in (value.fget, value.fset, value.fdel) if each is not None)
    elif isinstance(value, functools.cached_property):
        yield from _functions(value.func)
    elif isinstance(value, functools.partial | functools.partialmethod):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(wrapped := getattr(value, "__wrapped__", None), types.FunctionType):
        yield wrapped


def _named_values(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values of a function's names, closure and default arguments; of a module, the attributes it names."""
    names = set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if type(value) is types.ModuleType:
            yield from (vars(value)[part] for part in names & vars(value).keys())
        else:
            yield value
    yield from (content for _, content in enclosed(function))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def _imported_values(code: types.CodeType, scope: dict[str, Any]) -> Iterator[Any]:
    """Yield the attributes that code names of modules that it imports itself; the code of unloaded modules."""
    names = set(_names(code))
    for name in _imports(code, scope):
        if name in sys.modules:
            yield from (vars(sys.modules[name])[part] for part in names & vars(sys.modules[name]).keys())
        else:
            yield from _unloaded_code(name, set())


def _imports(code: types.CodeType, scope: dict[str, Any]) -> Iterator[str]:
    """Yield the names of the modules that some code imports, and of the parts it takes, which may be modules."""
    imports = _IMPORT in code.co_code[::2]  # else it is not disassembled, which takes long
    instructions = (
        [each for each in dis.get_instructions(code) if each.opname not in _MOVES] if imports else []
    )
    for place, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME":
            level, taken = (each.argval for each in instructions[place - 2 : place])
            name = "." * level + instruction.argval
            with suppress(ImportError):  # it would fail there, too
                module = resolve_name(name, str(scope.get("__package__") or ""))
                yield module
                yield from (f"{module}.{part}" for part in taken or () if part != "*")
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _imports(part, scope)


def _unloaded_code(name: str, seen: set[str]) -> Iterator[types.CodeType]:
    """Yield the code of a module of the author's that is not loaded, and of those that it imports in turn."""
    if name in seen or name in sys.modules:
        return
    seen.add(name)
    spec = find_module(name)
    source = spec.loader if spec is not None else None
    if spec is None or not isinstance(source, SourceLoader) or not is_of_a_user(spec.origin):
        return
    with suppress(ImportError, SyntaxError, OSError):  # it would fail there, too
        code = source.get_code(name)
        assert code is not None
        yield code
        package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
        for imported in _imports(code, {"__package__": package}):
            yield from _unloaded_code(imported, seen)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, types.CodeType):
            yield from _names(part)


def _uses_in_code(code: types.CodeType) -> Iterator[tuple[Place, str]]:
    """Yield place and name of each internal name that is another object's attribute, or part of a text."""
    before: dis.Instruction | None = None
    own: set[str] = set()  # names that were just read of the object itself, as ``self._values += 1`` does
    has_any = not INTERNALS.isdisjoint(code.co_names) or any(any(_texts(each)) for each in code.co_consts)
    all_of_it = dis.get_instructions(code) if has_any else ()
    instructions = [each for each in all_of_it if each.opname not in _MOVES]
    for instruction, after in itertools.zip_longest(instructions, instructions[1:]):
        name = instruction.argval
        if instruction.opcode in _ATTRIBUTE:
            if name in INTERNALS:
                if _is_self(before) and "SUPER" not in instruction.opname:
                    own.add(name)
                elif not (name in own and _is_in_place(before)):
                    yield _instruction_place(code, instruction), name
        elif instruction.opcode in dis.hasconst and not _is_pythons_own(after):
            assert instruction.arg is not None
            # Not `argval`, which is no constant for names of arguments in 3.11.
            found = _texts(code.co_consts[instruction.arg])
            yield from ((_instruction_place(code, instruction), text) for text in found)
        before = instruction
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _uses_in_code(part)


def _is_self(instruction: dis.Instruction | None) -> bool:
    if instruction is None or not instruction.opname.startswith(
        ("LOAD_FAST", "LOAD_DEREF", "STORE_FAST_LOAD")
    ):
        return False
    name = instruction.argval
    return (name[-1] if isinstance(name, tuple) else name) in ("self", "cls")


def _is_pythons_own(after: dis.Instruction | None) -> bool:
    """Return True if a constant is the tuple in which Python 3.13 lists the attributes that a class's methods set."""
    return after is not None and (after.opname, after.argval) == ("STORE_NAME", "__static_attributes__")


def _is_in_place(instruction: dis.Instruction | None) -> bool:
    return instruction is not None and instruction.opname == "BINARY_OP" and instruction.argrepr.endswith("=")


def _texts(value: Any) -> Iterator[str]:
    """Yield the internal names in texts, also in nested tuples and sets, between dots or in a format."""
    if type(value) is str:
        yield from (each for each in _BETWEEN.split(value) if each in INTERNALS)
    elif type(value) in _CONSTANTS:
        for part in value:
            yield from _texts(part)


def _instruction_place(code: types.CodeType, instruction: dis.Instruction) -> Place:
    line = None if instruction.positions is None else instruction.positions.lineno
    return Place(code.co_filename, line or code.co_firstlineno)


def _is_by_author(found: types.FunctionType | type, packages: set[str]) -> bool:
    """Return True of code by the learner's author: not of this library, Python or another installed package."""
    name = found.__module__ if isinstance(found, type) else found.__globals__.get("__name__")
    module, top = str(name), str(name).partition(".")[0]
    if is_of_library(found) or top == "builtins":
        return False
    if top in packages or top in LIBRARY:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    known = module not in sys.modules or file is not None  # else it is built in
    return known and not (file and is_installed(file))
