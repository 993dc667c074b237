"""What docs/architecture.md and docs/security.md name is there, and what they say of packages and exit codes is so."""

import re
import tomllib
from pathlib import Path

import pytest

from verify.conduct import exit_codes

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text()
SECURITY = (ROOT / "docs" / "security.md").read_text()
NAMES = r"`((?:mechanisms|accountant|algorithms|verify)/[\w/]+(?:\.py)?)`"
NAMED = sorted(set(re.findall(NAMES, TEXT)))


@pytest.mark.parametrize("path", sorted({*NAMED, *re.findall(NAMES, SECURITY)}))
def test_a_named_file_or_folder_is_there(path):
    assert (ROOT / path).is_file() if path.endswith(".py") else (ROOT / path / "__init__.py").is_file()


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
