"""What docs/architecture.md names is there, and what it says of the packages is the import contract."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:mechanisms|accountant|algorithms|verify)/[\w/]+(?:\.py)?)`", TEXT)))


@pytest.mark.parametrize("path", NAMED)
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
