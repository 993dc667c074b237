"""Modules that a user's file imports and that are not here, and that what is verified does not need.

Other people's files import what draws their plots or reports their progress. On request such a module is replaced by
one of which every name is a `unittest.mock.MagicMock`; one that is installed is imported as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock


class _Stub(ModuleType):
    """A module in which every public name is a mock."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        mock = MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, mock)
        return mock


class _StubLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return an empty stub; its parts are stubs, too."""
        stub = _Stub(spec.name)
        stub.__path__ = []
        return stub

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stub has no code."""


class _StubFinder(MetaPathFinder):
    """Finds stubs of some modules and of all within them."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = frozenset(names)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a stub's specification if the module is to be replaced."""
        parts = fullname.split(".")
        wanted = any(".".join(parts[:depth]) in self.names for depth in range(1, len(parts) + 1))
        return ModuleSpec(fullname, _StubLoader(), is_package=True) if wanted else None


@contextmanager
def stub_modules(names: Collection[str]) -> Iterator[None]:
    """Replace modules of these names where they are imported in the block and are not installed.

    What was replaced stays so for those who imported it, and is forgotten for all others.
    """
    finder = _StubFinder(names)
    sys.meta_path.append(finder)  # the last: whatever is installed is found before
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _Stub)]:
            del sys.modules[name]
