"""Importing what production needs stays light."""

import json
import subprocess
import sys

import pytest

HEAVY = ["opendp", "sympy", "matplotlib", "rich", "click", "algorithms", "verify"]


@pytest.mark.parametrize("statement", ["import mechanisms, accountant", "import accountant"])
def test_no_heavy_package_is_imported(statement):
    code = f"import json, sys; {statement}; print(json.dumps(sorted({{n.partition('.')[0] for n in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(json.loads(done.stdout))
