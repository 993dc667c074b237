"""``dpwitness check`` of a refutation; other files of tests have certificates and ledgers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from accountant import Accountant, Budget
from accountant.proofs.proof_document import FORMAT as PROOF
from accountant.stores.opening import open_store
from algorithms.problems import SettingError
from verify.commands.command_group import cli

FUNCTION = """\
from mechanisms import Interval
from verify import claimed

@claimed(data=Interval(0, 1))
def half(data, rng):
    return float(data) + rng.laplace(scale=0.5)
"""
NOISE = "from mechanisms import Laplace\n\nnoise = Laplace(scale={})\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


@pytest.fixture
def refuted(tmp_path: Path) -> Path:
    """Return the result of a verification that refutes ``noise.py:noise``."""
    (tmp_path / "noise.py").write_text(NOISE.format(0.5))
    result = tmp_path / "result.json"
    asked = ("--epsilon", "1", "--effort", "quick", "--samples", "5000")
    assert run("verify", f"{tmp_path}/noise.py:noise", *asked, "-o", result).exit_code == 1
    return result


def test_a_refutation_is_made_again(refuted: Path) -> None:
    checked = run("check", refuted)
    assert (checked.exit_code, checked.output.partition(" ")[0]) == (0, "VALID")
    data = json.loads(run("check", refuted, "--json").stdout)
    assert (data["verdict"], data["verification"]["verdict"]) == ("valid", "refuted")


def test_one_of_other_code_is_found_out(refuted: Path) -> None:
    (refuted.parent / "noise.py").write_text(NOISE.format(2.0))
    checked = run("check", refuted)
    assert (checked.exit_code, checked.output.partition(" ")[0]) == (1, "INVALID")


def test_a_moved_subject_is_named_by_an_option(refuted: Path) -> None:
    moved = refuted.parent / "moved.py"
    (refuted.parent / "noise.py").rename(moved)
    assert run("check", refuted).exit_code != 0
    assert run("check", refuted, "--subject", f"{moved}:noise").exit_code == 0


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (
            {"reproduce": "verify(noise, epsilon=1)"},
            "made in Python: repeat it there, by verify(noise, epsilon=1)",
        ),
        ({"reproduce": "dpwitness verify --command 'rm x' --epsilon 1"}, "it starts a program: look at it"),
        ({"reproduce": "dpwitness audit x.toml"}, "made in Python"),
    ],
)
def test_no_file_starts_a_program(refuted: Path, change: dict[str, str], refused: str) -> None:
    data = json.loads(refuted.read_text())
    for name in ("witness", "best_event"):
        data[name] |= change
    refuted.write_text(json.dumps(data))
    assert refused in str(run("check", refuted).exception)


def test_what_is_not_refuted_has_no_witness(refuted: Path) -> None:
    asked = ("--epsilon", "3", "--effort", "quick", "--samples", "5000")
    assert run("verify", f"{refuted.parent}/noise.py:noise", *asked, "-o", refuted).exit_code == 0
    assert str(run("check", refuted).exception) == (
        f"{refuted}: is certified; must be a refutation, or a certificate"
    )


def test_options_of_other_files_are_refused(refuted: Path) -> None:
    assert str(run("check", refuted, "--anchor", "a").exception) == (
        f"--anchor a: is a store's, and {refuted} holds a witness"
    )


def test_other_results_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "simulated.json"
    run("simulate", "cucb", "--horizon", "10", "--runs", "1", "-o", file)
    assert "is no certificate, refutation or ledger" in str(run("check", file).exception)


def test_what_a_ledger_was_compared_with_is_said(tmp_path: Path) -> None:
    path, anchor = tmp_path / "ledger.db", tmp_path / "anchor"
    open_store(path, Accountant(Budget(1.0)).terms(), anchor=anchor).database.close()
    alone = run("check", path)
    assert "not compared with its anchor" in alone.stdout.replace("\n", " ")
    compared = run("check", path, "--anchor", anchor)
    assert "it holds the entry that" in compared.stdout
    assert "not compared" not in compared.stdout
    for said, arguments in ((False, ()), (True, ("--anchor", anchor))):
        data = json.loads(run("check", path, "--json", *arguments).stdout)
        assert (data["anchored"], data["compared_with_anchor"]) == (True, said)
    wrong = run("check", path, "--anchor", tmp_path / "achnor")
    assert "must be the file of an anchor, and there is none" in str(wrong.exception)


def test_an_event_is_drawn_again_on_the_data_of_its_file(tmp_path: Path) -> None:
    """The draws are fresh: no two checks count the same, and another event in the file is what is counted."""
    (tmp_path / "mine.py").write_text(FUNCTION)
    result = tmp_path / "result.json"
    asked = ("--epsilon", "1", "--effort", "quick", "--samples", "20000")
    assert run("verify", f"{tmp_path}/mine.py:half", *asked, "-o", result).exit_code == 1
    data = json.loads(result.read_text())
    details = data["witness"]["details"]
    assert details["data"] in (
        {"data": {"type": "<f8", "values": a}, "data_prime": {"type": "<f8", "values": b}}
        for a, b in ((0.0, 1.0), (1.0, 0.0))
    )
    checks = [json.loads(run("check", result, "--json").stdout) for _ in range(2)]
    assert [checked["verdict"] for checked in checks] == ["valid", "valid"]
    counts = [checked["verification"]["drawn_again"] for checked in checks]
    assert counts[0]["trials"] == counts[1]["trials"] >= 2 * details["trials"]
    assert counts[0]["seed"] != counts[1]["seed"]
    assert "fresh draws a side: refuted" in checks[0]["reasons"][0]
    for each in (data["witness"]["details"], data["best_event"]["details"]):
        each["event"]["threshold"] += 1e9 if each["event"]["above"] else -1e9
    result.write_text(json.dumps(data))
    assert json.loads(run("check", result, "--json").stdout)["verdict"] == "unproven"
    for each in (data["witness"]["details"], data["best_event"]["details"]):
        each["data"]["data_prime"]["values"] = 7.0
    result.write_text(json.dumps(data))
    assert "no neighbours: other holds 7.0" in str(run("check", result).exception)


def test_a_proof_with_a_byte_order_mark_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"format": PROOF, "tested": {"subject": "noise"}}).encode())
    assert isinstance(error := run("check", file).exception, SettingError)
    assert "begins with a byte order mark" in str(error)
