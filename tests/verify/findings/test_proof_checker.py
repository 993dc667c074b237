"""The independent checker as a process, and that nothing is certified that it does not accept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from algorithms.claim import Claim
from algorithms.unit import OnePerson
from mechanisms import CategoryToOneHot, Choose, Laplace, Repeated
from verify import verify
from verify.commands.command_group import cli
from verify.findings.proof_checker import check_proof, check_proof_file, claim_as_data, why_unproved
from verify.verification.options import Options
from verify.verification.verification import run_verification

pytestmark = pytest.mark.usefixtures("small_searches")


def laplace_proof(epsilon: float = 1.0) -> tuple[dict[str, Any], Claim]:
    found = run_verification(Laplace(scale=1.0), Options(epsilon=epsilon), tests=False)
    return found.details["proof"], found.claim


def test_a_proof_follows_or_does_not() -> None:
    proof, claim = laplace_proof()
    checked = check_proof(proof)
    assert checked.follows
    assert checked.words.startswith("epsilon = 1, delta = 0")
    assert why_unproved(proof, claim) == ""
    loud = {**proof, "claim": {**proof["claim"], "epsilon": "99/100"}}
    assert not check_proof(loud).follows
    assert why_unproved(loud, claim) == "it is about another claim"
    assert why_unproved("no rule", claim) == "no rule"
    assert why_unproved(None, claim) != ""


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, '{"format": 1, "format": 1}', "\x00", '{"epsilon": NaN}']
)
def test_what_is_no_proof_follows_from_nothing(text: str, tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    file.write_text(text)
    assert not check_proof_file(file).follows


def test_a_person_is_one_however_often(tmp_path: Path) -> None:
    _, claim = laplace_proof()
    assert claim_as_data(replace(claim, unit=OnePerson(8)))["unit"] == "one person"


def test_two_rows_of_an_index_are_not_certified() -> None:
    """It lost 2 and was certified at 1, where the view was not tested."""
    twice = CategoryToOneHot(2) >> Choose([[0], [1]]) >> Laplace(scale=1.0)
    found = run_verification(twice, Options(epsilon=1.0), tests=False)
    assert found.verdict == "unproven"
    assert "there is no rule" in found.decision.reasons[0].text


def test_what_several_releases_lose_together_is_proved_nearly_tightly() -> None:
    both = Repeated(Laplace(scale=10.0), 10)
    tight = both.profile().epsilon(1e-5)
    assert (
        run_verification(both, Options(epsilon=tight * 1.0001, delta=1e-5), tests=False).verdict
        == "certified"
    )
    assert (
        run_verification(both, Options(epsilon=tight * 0.9999, delta=1e-5), tests=False).verdict
        != "certified"
    )


def test_a_result_with_another_proof_is_still_read() -> None:
    found = verify(Laplace(scale=1.0), epsilon=1.0, effort="quick", samples=5_000)
    data = json.loads(json.dumps(found.json()))
    assert data["proof"]["claim"] == {
        "relation": "replace one",
        "unit": "one report",
        "epsilon": 1,
        "delta": 0,
    }


def test_an_audit_writes_a_proof_of_its_figure(tmp_path: Path) -> None:
    file, proof = tmp_path / "releases.toml", tmp_path / "proof.json"
    file.write_text('[[release]]\nmechanism = "gaussian"\nsigma = 5.0\ncount = 10\n')
    audited = CliRunner().invoke(cli, ["audit", str(file), "--delta", "1e-6", "--proof", str(proof)])
    assert audited.exit_code == 0
    assert "The independent checker derives epsilon at most 2.92161 at delta = 1e-06" in audited.output
    checked = CliRunner().invoke(cli, ["check", str(proof)])
    assert (checked.exit_code, checked.output[:5]) == (0, "VALID")
    data = json.loads(proof.read_text())
    data["releases"]["release 1"]["mechanism"]["variance"] = 24
    proof.write_text(json.dumps(data))
    checked = CliRunner().invoke(cli, ["check", str(proof), "--json"])
    assert (checked.exit_code, json.loads(checked.output)["verdict"]) == (1, "invalid")
    file.write_text(
        '[[release]]\nmechanism = "propose-test-release"\ntest_scale = 1\nepsilon = 1\ndelta = 1e-7\n'
    )
    refused = CliRunner().invoke(cli, ["audit", str(file), "--proof", str(tmp_path / "no.json")])
    assert "there is no rule for propose-test-release" in str(refused.exception)
    assert not (tmp_path / "no.json").exists()
