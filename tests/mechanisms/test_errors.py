"""One base class of errors, which stay built-in ones."""

import ast
import importlib
from pathlib import Path

import pytest

from mechanisms import DPWitnessError, Gaussian, Laplace, ParameterError

NOT_ERRORS = {"HorizonPassed"}  # a warning


@pytest.mark.parametrize("package", ["mechanisms", "accountant", "algorithms", "verify"])
def test_every_public_error_has_the_base_class(package):
    module = importlib.import_module(package)
    errors = {
        name: value
        for name in module.__all__
        if isinstance(value := getattr(module, name), type) and issubclass(value, BaseException)
    }
    assert errors
    other = [name for name, error in errors.items() if not issubclass(error, DPWitnessError)]
    assert set(other) <= NOT_ERRORS


def test_what_is_refused_can_be_caught_by_it_and_as_before():
    for kind in (DPWitnessError, ParameterError, ValueError):
        with pytest.raises(kind, match="sensitivity = -1"):
            Laplace.for_epsilon(1.0, sensitivity=-1)
        with pytest.raises(kind, match="sigma = 0"):
            Gaussian(sigma=0, sensitivity=1)


@pytest.mark.parametrize("package", ["mechanisms", "accountant", "algorithms", "verify"])
def test_nothing_is_refused_by_a_bare_value_error(package):
    """But by the checker of proofs, which imports nothing of ours, and by what errors are built on."""
    folder = Path(importlib.import_module(package).__file__).parent
    bare = [
        f"{path.relative_to(folder)}:{node.lineno}"
        for path in folder.rglob("*.py")
        if path.name not in ("independent_check.py", "assumptions.py")
        if "ValueError(" in (source := path.read_text())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and isinstance(node.exc.func, ast.Name)
        and node.exc.func.id == "ValueError"
    ]
    assert not bare
