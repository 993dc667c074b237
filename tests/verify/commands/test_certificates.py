"""Certificates: ``dpwitness verify --certificate``, and ``dpwitness check`` of them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from verify.certificates.certification import NotCertified
from verify.commands import verify_command
from verify.commands.command_group import cli
from verify.commands.shown_results import write_outputs
from verify.findings.proof_checker import check_proof_file
from verify.verdict.result import Verification

FEW = ("--effort", "quick", "--samples", "5000")


@pytest.fixture
def noise(tmp_path: Path) -> str:
    file = tmp_path / "noise.py"
    file.write_text("from mechanisms import Laplace\n\nnoise = Laplace(scale=1.0)\n")
    return f"{file}:noise"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def test_a_certificate_is_written_checked_shown_and_found_out(tmp_path: Path, noise: str) -> None:
    file = tmp_path / "certificate.json"
    done = run("verify", noise, "--epsilon", "1", *FEW, "--certificate", file)
    assert (done.exit_code, "CERTIFIED" in done.output) == (0, True)
    checked = run("check", file)
    assert checked.exit_code == 0
    first, stated, *_ = checked.output.splitlines()
    assert first == "VALID  ε = 1, δ = 0, neighbours: replace one"
    assert stated == f"  - the file states that this is of {noise}; the proof does not show it"
    page = run("report", file).output
    for words in (
        "# CERTIFICATE: ",
        "laplace scale=1",
        "By the file: no unchecked assumption.",
        f"dpwitness check {file.name}",
        "The check needs nothing but the file.",
        "SHA-256: input file",
    ):
        assert words in page

    file.write_text(file.read_text().replace('"scale": 1', '"scale": "1/2"'))
    assert run("check", file).output.startswith("INVALID")
    checked = run("check", file, "--json")
    assert (checked.exit_code, json.loads(checked.stdout)["verdict"]) == (1, "invalid")


def test_what_is_refuted_gets_none_and_no_file(tmp_path: Path, noise: str) -> None:
    file = tmp_path / "certificate.json"
    refused = run("verify", noise, "--epsilon", "0.5", *FEW, "--certificate", file)
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"dpwitness: no certificate of {noise}: refuted. Lower bound ε ≥ ")
    assert not file.exists()


def test_a_file_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    refused = run("verify", "cucb-ldp2", "--epsilon", "1", "--certificate", tmp_path / "no" / "c.json")
    assert str(refused.exception).endswith("c.json: its folder does not exist")
    refused = run("verify", "zoo/laplace", "--anytime", "--certificate", tmp_path / "c.json")
    assert "a certificate is about a proof" in str(refused.exception)


def test_the_command_and_the_checker_alone_say_the_same_of_a_file(tmp_path: Path, noise: str) -> None:
    file = tmp_path / "certificate.json"
    run("verify", noise, "--epsilon", "1", *FEW, "--certificate", file)
    whole = json.loads(file.read_text())
    for text in (json.dumps(whole), json.dumps({**whole, "note": 1}), "\ufeff" + json.dumps(whole)):
        file.write_text(text, encoding="utf-8")
        assert (run("check", file).exit_code == 0) == check_proof_file(file).follows


def test_a_damaged_certificate_is_an_input_error_that_names_the_file(tmp_path: Path, noise: str) -> None:
    file = tmp_path / "certificate.json"
    run("verify", noise, "--epsilon", "1", *FEW, "--certificate", file)
    whole = json.loads(file.read_text())
    for part in ("theorem", "releases", "records", "claim"):
        file.write_text(json.dumps({**whole, part: {} if part in ("theorem", "claim") else None}))
        for command in ("check", "report"):
            refused = run(command, file)
            assert isinstance(refused.exception, ValueError)
            assert str(refused.exception).startswith(f"{file}: ")
            assert part in str(refused.exception)


@pytest.mark.parametrize(
    "text", ["{}", "[]", "3", '{"format": "dpwitness proof, version 1"}', '{"format": "other"}', "{", "null"]
)
def test_what_is_nothing_that_can_be_checked_is_an_input_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text(text)
    refused = run("check", file)
    assert isinstance(refused.exception, ValueError)
    assert str(refused.exception).startswith(f"{file}: is no ")


def test_no_certificate_is_written_over_what_is_read_or_written(tmp_path: Path, noise: str) -> None:
    code = noise.rpartition(":")[0]
    before = Path(code).read_text()
    refused = run("verify", noise, "--epsilon", "1", *FEW, "--certificate", code)
    assert str(refused.exception) == (
        f"--certificate {code}: must be another file than {code}, which would be lost"
    )
    assert Path(code).read_text() == before
    file = tmp_path / "result.json"
    refused = run("verify", noise, "--epsilon", "1", *FEW, "--certificate", file, "-o", file)
    assert f"must be another file than {file}" in str(refused.exception)
    assert not file.exists()


def test_without_the_certificate_that_was_asked_for_the_exit_code_is_not_0(
    tmp_path: Path, noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(
        found: Verification, *_: object
    ) -> None:  # as of a run that was stopped, or code without a source
        raise NotCertified(found, "stopped before all tests were done")

    monkeypatch.setattr(verify_command, "certified", refuse)
    done = run("verify", noise, "--epsilon", "1", *FEW, "--certificate", tmp_path / "c.json")
    assert (done.exit_code, "stopped before all tests" in done.stderr) == (3, True)
    assert not (tmp_path / "c.json").exists()


def test_outputs_are_complete_or_as_they_were(tmp_path: Path) -> None:
    file, link = tmp_path / "result.png", tmp_path / "link.png"
    file.write_bytes(b"before")
    file.chmod(0o640)
    link.symlink_to(file)

    def half(path: Path) -> None:
        path.write_bytes(b"half of it")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_outputs([link], png=half)
    assert file.read_bytes() == b"before"
    write_outputs([link], png=lambda path: None)
    assert file.read_bytes() == b"before"
    write_outputs([link], png=lambda path: path.write_bytes(b"whole"))
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"whole", 0o640)
    assert link.is_symlink()
    assert {each.name for each in tmp_path.iterdir()} == {"result.png", "link.png"}
