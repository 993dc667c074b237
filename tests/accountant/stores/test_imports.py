"""What ledgers in JSON become as stores."""

import json
from pathlib import Path

from reopened import imported, saved_by_an_earlier_version

from accountant import Accountant, Budget, Place


def test_a_gate_that_was_shut_in_an_earlier_version_stays_shut(tmp_path: Path) -> None:
    accountant = Accountant(Budget(1.0))
    accountant.close("somebody looked", Place("study.py", 7))
    (tmp_path / "ledger.json").write_text(json.dumps(saved_by_an_earlier_version(accountant)))
    assert imported(tmp_path).closed == ("somebody looked", Place("study.py", 7))
