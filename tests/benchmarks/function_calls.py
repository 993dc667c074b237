"""A pytest plugin: which functions of the four packages each test calls, and the CPU time it takes.

``-p function_calls`` with the variable ``FUNCTION_CALLS`` set to a file writes the map there. The functions are
counted by a call that is put at the head of each when its module is imported: the sources stay as they are.
Forked processes are counted, too; commands that a test starts are not. The map names the libraries that the tests
have imported, too.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import json
import mmap
import os
import resource
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

PACKAGES = ("mechanisms", "accountant", "algorithms", "verify")
MOST_FUNCTIONS = 1 << 16
ROOT = Path(__file__).resolve().parents[2]


class FunctionNames(ast.NodeVisitor):
    """The functions of a module with their qualified names: ``(name, node)``, in the order of the source."""

    def __init__(self) -> None:
        self.found: list[tuple[str, ast.FunctionDef]] = []
        self.inside: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.inside.append(node.name)
        self.found.append((".".join(self.inside), node))
        self.generic_visit(node)
        self.inside.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.inside.append(node.name)
        self.generic_visit(node)
        self.inside.pop()


def functions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    """Every function of ``tree`` with its qualified name."""
    visitor = FunctionNames()
    visitor.visit(tree)
    return visitor.found


class CallCounter(importlib.abc.MetaPathFinder):
    """Imports the packages with a mark at the head of each function; the marks are shared with forks."""

    def __init__(self) -> None:
        self.marks = mmap.mmap(-1, MOST_FUNCTIONS)
        self.names: list[str] = []

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name.partition(".")[0] not in PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Marking(spec.loader.name, spec.loader.path, self)
        return spec

    def mark(self, tree: ast.Module, file: str) -> None:
        """Put ``__marks__[i] = 1`` at the head of every function of ``tree``."""
        for name, node in functions(tree):
            first = 1 if ast.get_docstring(node, clean=False) is not None else 0
            line = ast.parse(f"__marks__[{len(self.names)}] = 1").body[0]
            for inner in ast.walk(line):
                ast.copy_location(inner, node.body[0])
            node.body.insert(first, line)
            self.names.append(f"{file}:{name}")

    def taken(self) -> list[int]:
        """The functions called since the last time."""
        data = self.marks[: len(self.names)]
        self.marks[: len(self.names)] = bytes(len(self.names))
        return [i for i, byte in enumerate(data) if byte]


class _Marking(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, counter: CallCounter) -> None:
        super().__init__(name, path)
        self.counter = counter

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(Path(self.path).read_text())
        self.counter.mark(tree, os.path.relpath(self.path, ROOT))  # not from where a test works
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__marks__"] = self.counter.marks
        super().exec_module(module)


def cpu_seconds() -> float:
    """CPU time of this process and of the children that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class CallMap:
    """The calls and the CPU seconds of each test, written when the session ends."""

    def __init__(self, file: str, counter: CallCounter) -> None:
        self.file, self.counter = file, counter
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.counter.taken()
        before = cpu_seconds()
        result = yield
        self.tests[item.nodeid] = {
            "seconds": round(cpu_seconds() - before, 4),
            "calls": self.counter.taken(),
        }
        return result

    def pytest_sessionfinish(self) -> None:
        file = Path(self.file)
        file = file.with_stem(file.stem + os.environ.get("PYTEST_XDIST_WORKER", ""))
        ours = str(ROOT)
        libraries = [
            name
            for name, module in list(sys.modules.items())
            if not (getattr(module, "__file__", None) or ours).startswith(ours)
        ]
        held = {"names": self.counter.names, "tests": self.tests, "libraries": libraries}
        file.write_text(json.dumps(held))


def pytest_configure(config: pytest.Config) -> None:
    if COUNTER is not None:
        config.pluginmanager.register(CallMap(os.environ["FUNCTION_CALLS"], COUNTER))


COUNTER = None
if os.environ.get("FUNCTION_CALLS") and not any(name in sys.modules for name in PACKAGES):
    COUNTER = CallCounter()
    sys.meta_path.insert(0, COUNTER)
