"""The commands ``dpwitness serve`` and ``dpwitness keys``."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from accountant import Accountant, Budget
from accountant.service.keys import KeyFile
from verify import command_line

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["dpwitness", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            command_line.main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return call


def test_keys_are_made_listed_and_removed(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "ledger.db"
    code, out, _ = run("keys", "add", "ann", "--scope", "spend", "--scope", "read", "--store", store)
    assert code == 0
    found = KeyFile(tmp_path / "ledger.db.keys").find(out.strip())
    assert found is not None
    assert found.name == "ann"
    code, out, _ = run("keys", "list", "--keys", f"{store}.keys", "--json")
    assert json.loads(out) == {"keys": {"ann": ["read", "spend"]}}
    assert "ann" in run("keys", "list", "--store", store)[1]
    assert run("keys", "remove", "ann", "--store", store)[0] == 0
    code, _, err = run("keys", "remove", "ann", "--store", store)
    assert (code, "there is no key of this name" in err) == (2, True)
    assert "no keys" in run("keys", "list", "--store", store)[1]


def test_a_database_elsewhere_needs_a_file_of_keys(run: Run) -> None:
    code, _, err = run("keys", "list", "--store", "postgresql+psycopg://host/ledger")
    assert (code, "--keys FILE must be given" in err) == (2, True)


def test_it_does_not_serve_without_a_key(run: Run, tmp_path: Path) -> None:
    Accountant(Budget(1.0), store=tmp_path / "ledger.db").ledger.close()  # type: ignore[attr-defined]
    code, out, err = run("serve", "--store", tmp_path / "ledger.db")
    assert (code, out) == (2, "")
    assert "there is no key; make one with `dpwitness keys add" in err
