"""Python files that bring what was found in a checkout into a form that can be verified; every guess is said.

A wrapper's text is written for people: they check the guesses, and fill in what cannot be guessed.
"""

from __future__ import annotations

import ast
import importlib.util
import keyword
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from verify.bandits.calling.bandit_calls import plain_name
from verify.bandits.calling.bandit_construction import drawn_role, known_role
from verify.printable import printable
from verify.repository.callables import FoundCallable, FunctionNode, called_name
from verify.subjects.needed_statements import needed_statements

ARMS, ROUNDS = 2, 64
_EPSILON = frozenset({"eps", "epsilon", "budget", "privacybudget", "epsilonbudget", "priveps", "dpepsilon"})
_DELTA = frozenset({"delta", "dpdelta"})
_ONE = frozenset(
    {"sensitivity", "sens", "l1sensitivity", "l2sensitivity", "globalsensitivity", "gs", "deltaf", "clip"}
)
_LOWER = frozenset({"lower", "low", "lowerbound", "minimum", "minvalue", "a"})
_UPPER = frozenset({"upper", "high", "upperbound", "maximum", "maxvalue", "b"})
_RECORDS = frozenset(
    {"data", "dataset", "values", "records", "samples", "rows", "ages", "entries", "database", "db", "users"}
)
_BITS = frozenset({"bit", "truth", "bits", "response", "answer", "secret"})
_SUMMED = frozenset({"sum", "mean", "average", "median", "histogram", "bincount", "var", "std"})
_DRAWN = {
    "generator": "rng",
    "random state": "np.random.RandomState(int(rng.integers(2**32)))",
    "seed": "int(rng.integers(2**32))",
}
_NOT_NEEDED = frozenset({
    "matplotlib", "seaborn", "plotly", "tqdm", "wandb", "tensorboard", "IPython", "altair", "bokeh", "rich",
})  # fmt: skip


@dataclass(frozen=True)
class Wrapper:
    """The text that wraps one callable.

    Attributes
    ----------
    name
        Of the wrapper.
    text
        Its Python code.
    guesses
        What was guessed, in words.
    missing
        Names of arguments that are to be filled in first.
    delta
        Whether it is given a delta.
    """

    name: str
    text: str
    guesses: tuple[str, ...]
    missing: tuple[str, ...]
    delta: bool


@dataclass(frozen=True)
class WrapperFile:
    """The wrappers of one file of the checkout.

    Attributes
    ----------
    source
        The file.
    text
        The wrappers' Python code.
    wrappers
        The wrappers, in the order of `found`.
    stubs, needs
        Modules that the file imports and that are not here: such as it can do without, and others.
    """

    source: Path
    text: str
    wrappers: tuple[Wrapper, ...]
    stubs: tuple[str, ...]
    needs: tuple[str, ...]


def wrap(found: Sequence[FoundCallable], root: Path) -> WrapperFile:
    """Return the wrappers of what was found in one file of a checkout."""
    first = found[0]
    wrappers = tuple(_bandit(each) if each.kind == "bandit" else _mechanism(each) for each in found)
    names = list(dict.fromkeys(each.node.name for each in found))
    path, root = first.file.resolve(), _import_root(root.resolve())
    imports, imported = _imports(first, names, root)
    lines = [
        # What a file is called may hold line breaks and quotes: it stands in comments, and there in one line.
        f"# Wrappers of {printable(path.name)}, written by dpwitness audit-repo.",
        "# Guesses are marked. A verdict is about what stands here: check the guesses before you believe it, and take",
        "# guessed=True away where they are right: until then, data on which a function raises an error are left out.",
        "",
        "import sys",
        "",
        "import numpy as np",
        "",
        "from mechanisms import Box, Categories, Interval",
        "from verify import PlainBandit, ReplaceOne, Within, claimed",
        "from verify.subjects.resolve import load_object",
        "",
        f"sys.path[:0] = {list(dict.fromkeys([str(root), str(path.parent)]))!r}",
        *imports,
        "",
        "EPSILON, DELTA = 1.0, 1e-5  # what is claimed: the command says the same numbers",
    ]
    stubs, needs = _absent(imported, root)
    text = "\n".join(lines) + "\n" + "".join(f"\n\n{each.text}" for each in wrappers)
    return WrapperFile(first.file, text, wrappers, stubs, needs)


def _import_root(folder: Path) -> Path:
    """Return the folder from which the packages that a folder lies in are imported."""
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def _imports(first: FoundCallable, names: Sequence[str], root: Path) -> tuple[list[str], list[ast.stmt]]:
    """Return lines that import names of a file, and the statements of the file that are run then."""
    path, module = first.file.resolve(), first.module
    relative = any(isinstance(each, ast.ImportFrom) and each.level > 0 for each in ast.walk(module))
    if relative and path.suffix == ".py":
        folder = _import_root(path.parent)
        folder = root if folder == path.parent else folder
        parts = path.relative_to(folder).with_suffix("").parts
        if all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
            line = f"from {'.'.join(parts)} import {', '.join(names)}"
            return [f"sys.path.insert(0, {str(folder)!r})", line], module.body
    if path.suffix == ".py" and not _has_main_part(module):
        return [f"{name} = load_object({f'{path}:{name}'!r})" for name in names], module.body
    colon = "::" if path.suffix == ".py" else ":"
    lines = [f"{name} = load_object({f'{path}{colon}{name}'!r})" for name in names]
    words = "# Of the file, whose main part stands at top level, only what each needs is run."
    return [words, *lines], [each for name in names for each in needed_statements(module, name).kept]


def _has_main_part(module: ast.Module) -> bool:
    """Whether a module does something beside definitions when it is imported."""
    return any(
        isinstance(each, ast.For | ast.While | ast.With)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
        for each in module.body
    )


def _absent(imported: Sequence[ast.stmt], root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modules that statements import and that are not here: plots and the like, and others."""
    names = set()
    for each in imported:
        if isinstance(each, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in each.names}
        elif isinstance(each, ast.ImportFrom) and each.level == 0 and each.module:
            names.add(each.module.partition(".")[0])
    absent = sorted(
        name
        for name in names - sys.stdlib_module_names
        if name not in sys.modules
        and importlib.util.find_spec(name) is None
        and next(root.rglob(f"{name}.py"), None) is None
        and not any(each.is_dir() for each in root.rglob(name))
    )
    stubs = tuple(name for name in absent if name in _NOT_NEEDED)
    return stubs, tuple(name for name in absent if name not in _NOT_NEEDED)


class _Arguments:
    """What a function is called with, guess by guess."""

    def __init__(self) -> None:
        self.guesses: list[str] = []
        self.missing: list[str] = []
        self.delta = False
        self.data: ast.arg | None = None

    def of(self, function: FunctionNode | None, *, takes_data: bool, method: bool) -> list[str]:
        """Return the arguments of a call of a function, as texts; none if there is none."""
        if function is None:
            return []
        every = [*function.args.posonlyargs, *function.args.args]
        required = every[: len(every) - len(function.args.defaults)]
        optional = [*every[len(required) :], *function.args.kwonlyargs]
        with_defaults = function.args.kw_defaults
        required += [
            arg
            for arg, default in zip(function.args.kwonlyargs, with_defaults, strict=True)
            if default is None
        ]
        if method and required and not _is_static(function):
            required = required[1:]
        given = []
        for arg in required:
            value = self._value(arg, takes_data=takes_data)
            if takes_data and self.data is None and value is None:
                self.data, value = arg, "data"
            if value is None:
                self.missing.append(arg.arg)
                value = "..."
            positional = arg in function.args.posonlyargs
            given.append(value if positional else f"{arg.arg}={value}")
        for arg in optional:  # whose defaults must not decide what is claimed, or what is drawn
            plain = plain_name(arg.arg)
            if drawn_role(arg.arg) is not None or plain in _EPSILON:
                value = self._value(arg, takes_data=False)
                if f"{arg.arg}={value}" not in given:
                    given.append(f"{arg.arg}={value}")
        return given

    def _value(self, arg: ast.arg, *, takes_data: bool) -> str | None:
        plain = plain_name(arg.arg)
        if (role := drawn_role(arg.arg)) is not None:
            return _DRAWN[role]
        if plain in _EPSILON:
            return "EPSILON"
        if plain in _DELTA:
            self.delta = True
            return "DELTA"
        for names, value in ((_ONE, "1.0"), (_LOWER, "0.0"), (_UPPER, "1.0")):
            if plain in names and (not takes_data or self.data is not None or names is _ONE):
                self.guesses.append(f"{arg.arg} = {value}")
                return value
        return None


def _is_static(function: FunctionNode) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in function.decorator_list)


def _mechanism(found: FoundCallable) -> Wrapper:
    """Return the wrapper of a function, or of a class and its method."""
    arguments = _Arguments()
    if found.method is None:
        assert isinstance(found.node, ast.FunctionDef)
        called: FunctionNode = found.node
        body = found.node.name
    else:
        made = ", ".join(arguments.of(found.constructor, takes_data=False, method=True))
        called = found.method
        body = f"{found.node.name}({made})"
        body = body if called.name == "__call__" else f"{body}.{called.name}"
    given = ", ".join(arguments.of(called, takes_data=True, method=found.method is not None))
    name = found.name.replace(".", "_").replace("___", "_").strip("_")
    name = name if name != body else f"{name}_of"
    if arguments.data is None:
        data, words = "Interval(0, 1)", "which argument the data is (none is plain)"
        arguments.missing.append("the data")
    else:
        data, words = _neighbours(arguments.data, called)
    guesses = [words, *arguments.guesses]
    text = (
        f"# {printable(found.file.name)}:{found.line}. Guesses: {'; '.join(guesses)}.\n"
        f"{_to_fill_in(arguments)}"
        f"@claimed(data={data}, guessed=True)\n"
        f"def {name}(data, rng):\n"
        f"    return {body}({given})\n"
    )
    return Wrapper(name, text, tuple(guesses), tuple(arguments.missing), arguments.delta)


def _bandit(found: FoundCallable) -> Wrapper:
    """Return the wrapper of a bandit class."""
    arguments = _Arguments()
    constructor = found.constructor
    given = arguments.of(constructor, takes_data=False, method=True)
    known = [each for each in arguments.missing if known_role(each) is not None]
    given = [
        f"{(name := each.partition('=')[0])}={name}" if each.partition("=")[0] in known else each
        for each in given
    ]
    arguments.missing = [each for each in arguments.missing if each not in known]
    name = f"{found.node.name}_bandit"
    guesses = [f"{ARMS} arms", f"{ROUNDS} rounds", "rewards 0 and 1", *arguments.guesses]
    text = (
        f"# {printable(found.file.name)}:{found.line}. Guesses: {'; '.join(guesses)}.\n"
        f"{_to_fill_in(arguments)}"
        f"def made_{found.node.name}({', '.join(['rng', *known])}):\n"
        f"    return {found.node.name}({', '.join(given)})\n\n\n"
        f"{name} = PlainBandit(made_{found.node.name}, arms={ARMS}, rounds={ROUNDS})\n"
    )
    return Wrapper(name, text, tuple(guesses), tuple(arguments.missing), arguments.delta)


def _to_fill_in(arguments: _Arguments) -> str:
    return f"# To be filled in: {', '.join(arguments.missing)}.\n" if arguments.missing else ""


def _neighbours(data: ast.arg, function: FunctionNode) -> tuple[str, str]:
    """Return a guess which data sets are neighbours: as code, and in words."""
    name = data.arg
    annotation = "" if data.annotation is None else ast.unparse(data.annotation).lower()
    listed = bool(re.search(r"list|array|sequence|series|frame|iterable|tuple", annotation))
    summed = False
    for each in ast.walk(function):
        match each:
            case ast.Call(func=called, args=given):
                among = [*given, called.value] if isinstance(called, ast.Attribute) else given
                if any(_is_name(one, name) for one in among):
                    summed |= called_name(each) in _SUMMED
                    listed |= called_name(each) == "len"
            case ast.Subscript(value=used) | ast.For(iter=used) | ast.comprehension(iter=used):
                listed |= _is_name(used, name)
    plain = plain_name(name)
    if summed or (listed and plain in _RECORDS):
        return (
            "ReplaceOne(Interval(0, 1), records=10)",
            f"{name} holds 10 numbers of [0, 1], of which one is replaced",
        )
    if listed:
        return (
            "Within(Box(0, 10, 5), linf=1)",
            f"{name} holds 5 numbers of [0, 10], each of which moves by at most 1",
        )
    if plain in _BITS or "bool" in annotation:
        return "Categories(2)", f"{name} is 0 or 1"
    return "Interval(0, 1)", f"{name} is a number of [0, 1]"


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
