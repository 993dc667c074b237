"""Defaults of public functions and classes, as recorded: users rely on them."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
from collections.abc import Iterator

import pytest
from syrupy.assertion import SnapshotAssertion


def signatures(value: object, name: str) -> Iterator[tuple[str, inspect.Signature]]:
    """The signature of a function, or of a class and the public methods that it defines; none of an enumeration."""
    own = [(name, value)]
    if inspect.isclass(value):
        own += [
            (f"{name}.{method}", getattr(value, method))
            for method in vars(value)
            if not method.startswith("_")
        ]
    for place, function in own:
        if callable(function) and not isinstance(function, enum.EnumType):
            try:
                yield place, inspect.signature(function)
            except ValueError:  # of a class with none of its own
                continue


@pytest.mark.parametrize("home", ["mechanisms", "accountant", "accountant.audit"])
def test_defaults_are_as_recorded(home: str, snapshot: SnapshotAssertion) -> None:
    """A change that is meant is recorded with ``--snapshot-update``; the changelog tells users of it."""
    package = importlib.import_module(home)
    lines = [
        f"{place}: {parameter.name} = {re.sub(r' at 0x[0-9a-f]+', '', repr(parameter.default))}"
        for name in sorted(package.__all__)
        for place, signature in signatures(getattr(package, name), name)
        for parameter in signature.parameters.values()
        if parameter.default is not inspect.Parameter.empty
    ]
    lines += [
        f"{name}: two are equal whatever their {own.name}"
        for name in sorted(package.__all__)
        if dataclasses.is_dataclass(value := getattr(package, name))
        for own in dataclasses.fields(value)
        if not own.compare
    ]
    assert "\n".join(lines) == snapshot
