"""Functions, methods and classes of a checkout that look like mechanisms or bandits, found in its source."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from verify.bandits.calling.bandit_calls import role_of
from verify.bandits.calling.bandit_methods import SELECTS, STEPS, UPDATES
from verify.subject_error import SubjectError
from verify.subjects.notebook_cells import notebook_code

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_MOST_BYTES = 4_000_000  # of a file that is read
_PASSED_OVER = frozenset(
    {"test", "tests", "docs", "doc", "build", "dist", "node_modules", "site-packages", "venv", "env"}
)
_PRIVACY = re.compile(
    r"(^|_)(eps|epsilon|epsilons|budget|sensitivity|dp|ldp|private|privacy|priv|privatize|sanitize|rappor)(_|\d|$)"
)
_PRIVACY_OF_BANDITS = re.compile(
    r"(^|_)(sensitivity|dp|dp[a-z]+|ldp|private|privacy|privatize|laplace|rappor|budget)(_|\d|$)"
)
_NOISE = frozenset({
    "laplace", "normal", "gauss", "normalvariate", "standard_normal", "randn", "exponential", "expovariate",
    "geometric", "gumbel", "gamma", "rvs", "discrete_laplace", "skellam", "binomial", "poisson", "choice", "choices",
    "random", "rand", "uniform", "randint", "integers", "random_sample", "bernoulli", "gauss_noise", "laplace_noise",
    "lap", "randbelow",
})  # fmt: skip
_OF_OTHERS = frozenset(
    {"sample", "predict", "draw", "play", "act"}
)  # names that not only bandits' methods have
# Methods with which mechanisms of other libraries are used.
_RELEASES = re.compile(
    r"^(randomi[sz]e|release|privati[sz]e|perturb|saniti[sz]e|add_noise|noisy_?\w*|obfuscate|mechanism|__call__|apply)$"
)


@dataclass(frozen=True, eq=False)
class FoundCallable:
    """Something that looks like a mechanism or a bandit.

    Attributes
    ----------
    file
        Where it is.
    kind
        What it looks like.
    node
        The function, or the class.
    method
        Of a class that is a mechanism, the method that releases.
    private
        Whether its names speak of privacy.
    module
        All of its file.
    """

    file: Path
    kind: Literal["mechanism", "bandit"]
    node: FunctionNode | ast.ClassDef
    method: FunctionNode | None
    private: bool
    module: ast.Module

    @property
    def name(self) -> str:
        """Its name, with that of its method."""
        return self.node.name if self.method is None else f"{self.node.name}.{self.method.name}"

    @property
    def line(self) -> int:
        """Where it begins."""
        return (self.method or self.node).lineno

    @property
    def constructor(self) -> FunctionNode | None:
        """The ``__init__`` of a class, or of the first of its bases in the same file that has one."""
        assert isinstance(self.node, ast.ClassDef)
        return next(iter(_methods(self.node, self.module, "__init__")), None)


def python_files(root: Path) -> Iterator[Path]:
    """Yield Python files and notebooks of a checkout, without tests, documentation and what was installed or built."""
    for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
        inside = path.relative_to(root).parts if root.is_dir() else ()
        if path.suffix not in (".py", ".ipynb") or not path.is_file() or path.is_symlink():
            continue
        if any(part.startswith(".") or part.lower() in _PASSED_OVER for part in inside[:-1]):
            continue
        if not path.name.startswith(("test_", "conftest", "setup.")) and path.stat().st_size <= _MOST_BYTES:
            yield path


def found_in(path: Path) -> list[FoundCallable]:
    """Return what a file has.

    Raises
    ------
    SubjectError
        If it cannot be read as Python.
    """
    try:
        source: str | bytes = notebook_code(path).source if path.suffix == ".ipynb" else path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of their escapes in texts
            module = ast.parse(source, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError) as error:
        raise SubjectError(
            f"{path}: cannot be read as Python: {str(error) or type(error).__name__}"
        ) from None
    found = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and _is_mechanism(node):
            found.append(FoundCallable(path, "mechanism", node, None, True, module))
        elif isinstance(node, ast.ClassDef):
            found += _of_class(path, node, module)
    return found


def _of_class(path: Path, node: ast.ClassDef, module: ast.Module) -> Iterator[FoundCallable]:
    """Yield a bandit, or a mechanism with each of its methods that release."""
    names = {each.name for each in _methods(node, module)}
    every = [node, *_bases(node, module)]
    private = any(_speaks_of_privacy(each) for each in every)
    if _is_bandit(node, module, names):
        # An epsilon of a bandit may be how often it explores.
        private = any(_speaks_of_privacy(each, _PRIVACY_OF_BANDITS) for each in every)
        yield FoundCallable(path, "bandit", node, None, private, module)
        return
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and _RELEASES.match(method.name) and private:
            arguments = [each.arg for each in method.args.args if each.arg not in ("self", "cls")]
            if arguments and any(_draws(each) for each in every) and not _is_abstract(method):
                yield FoundCallable(path, "mechanism", node, method, True, module)


def _is_bandit(node: ast.ClassDef, module: ast.Module, names: set[str]) -> bool:
    """Whether a class selects arms and is told rewards: by two methods, or by one that is told the last of both."""
    selects = names & set(SELECTS)
    if names & set(UPDATES) and selects:
        named = any(re.search(r"(^|_)arms?(_|$)", _in_words(name)) for name in _names(node))
        return bool(selects - _OF_OTHERS) or named
    return any(
        method.name in STEPS
        and {"arm", "reward"} <= {role_of(each.arg) for each in method.args.args}
        and not _is_abstract(method)
        for method in _methods(node, module)
    )


def _is_mechanism(node: ast.FunctionDef) -> bool:
    """Whether a function draws noise, speaks of privacy, and returns something of an argument."""
    return (
        bool(node.args.args)
        and not node.name.startswith(("test", "plot", "main"))
        and _draws(node)
        and _speaks_of_privacy(node)
        and any(isinstance(each, ast.Return) and each.value is not None for each in ast.walk(node))
    )


def _is_abstract(node: FunctionNode) -> bool:
    body = [each for each in node.body if not isinstance(each, ast.Expr | ast.Pass)]
    return not body or isinstance(body[0], ast.Raise)


def _draws(node: ast.AST) -> bool:
    """Whether something of a usual name that draws is called."""
    return any(isinstance(each, ast.Call) and called_name(each).lower() in _NOISE for each in ast.walk(node))


def called_name(call: ast.Call) -> str:
    """Return the name of the function or method that is called, "" if it has none."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _speaks_of_privacy(node: ast.AST, words: re.Pattern[str] = _PRIVACY) -> bool:
    return any(words.search(_in_words(name)) for name in _names(node))


def _in_words(name: str) -> str:
    """Return a name in lower case, with underscores between its words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name


def _bases(node: ast.ClassDef, module: ast.Module) -> list[ast.ClassDef]:
    """Return the bases of a class that are in its file, the nearest first."""
    known = {each.name: each for each in module.body if isinstance(each, ast.ClassDef)}
    found: list[ast.ClassDef] = []
    ahead = [base.id for base in node.bases if isinstance(base, ast.Name)]
    while ahead:
        base = known.get(ahead.pop(0))
        if base is not None and base is not node and base not in found:
            found.append(base)
            ahead += [each.id for each in base.bases if isinstance(each, ast.Name)]
    return found


def _methods(node: ast.ClassDef, module: ast.Module, name: str = "") -> Iterable[FunctionNode]:
    """Yield the methods of a class and its bases, all or those of a name."""
    for each in (node, *_bases(node, module)):
        for method in each.body:
            if isinstance(method, ast.FunctionDef) and name in ("", method.name):
                yield method
