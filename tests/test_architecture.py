"""Names in docs/architecture.md and docs/security.md exist; their statements on packages and exit codes hold."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from verify.conduct import exit_codes

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text()
SECURITY = (ROOT / "docs" / "security.md").read_text()
NAMES = r"`((?:mechanisms|accountant|algorithms|verify)/[\w/]+(?:\.py)?)`"
NAMED = sorted(set(re.findall(NAMES, TEXT)))


def test_named_files_and_folders_are_there():
    named = sorted({*NAMED, *re.findall(NAMES, SECURITY)})
    files = [ROOT / (path if path.endswith(".py") else f"{path}/__init__.py") for path in named]
    assert len(files) > 90
    assert [file for file in files if not file.is_file()] == []


@pytest.mark.parametrize("package", ["accountant", "algorithms", "verify"])
def test_every_folder_of_a_package_is_named(package):
    folders = {f"{package}/{file.parent.name}" for file in (ROOT / package).glob("*/__init__.py")}
    assert folders <= set(NAMED)


def test_the_packages_stand_in_the_order_of_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if "containers" not in contract)
    assert " --> ".join(layers) in TEXT


def test_the_exit_codes_are_those_of_the_command():
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", SECURITY, re.MULTILINE)}
    assert documented == {value for name, value in vars(exit_codes).items() if name.isupper()}


PACKAGES = ("mechanisms", "accountant", "algorithms", "verify")


def own_files():
    """All files but those of algorithms as printed, which have the names of what is certified in their place."""
    every = (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")))
    return [file for file in every if file.name != "__init__.py" and file.parent.name != "published"]


def repeated(names):
    return {name for name, count in Counter(names).items() if count > 1}


def test_no_two_files_share_a_name():
    assert not repeated(file.name for file in own_files())


TYPE = re.compile(r"^(?:class ([A-Z]\w*)|([A-Z]\w*) = (?![\w.]+\())", re.MULTILINE)
"""A public class, or what is assigned and named like one: a type alias, unless a call makes it (a type variable)."""


def public_types(file):
    """Yield a file's public classes and type aliases; a constant is none."""
    for kind, alias in TYPE.findall(file.read_text()):
        if kind or not alias.isupper():
            yield kind or alias


def test_no_two_public_types_share_a_name():
    assert not repeated(name for file in own_files() for name in public_types(file))
