"""Importing what production needs stays light."""

import json
import subprocess
import sys

HEAVY = ["opendp", "sympy", "matplotlib", "sqlalchemy", "rich", "click", "algorithms", "verify"]


def test_no_heavy_package_is_imported():
    code = "import json, sys, mechanisms, accountant; print(json.dumps([n.partition('.')[0] for n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(json.loads(done.stdout))
