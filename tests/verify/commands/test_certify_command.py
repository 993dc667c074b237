"""``dpwitness certify`` and ``dpwitness certificate check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from verify.commands.command_group import cli

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
    done = run("certify", noise, "--epsilon", "1", *FEW, "-o", file)
    assert (done.exit_code, done.output) == (0, "")
    checked = run("certificate", "check", file)
    assert checked.exit_code == 0
    assert checked.output.startswith(f"VALID  {noise}: ε = 1, δ = 0, neighbours: replace one\n")
    page = run("report", file).output
    for words in (
        "# CERTIFICATE: ",
        "| mechanism | Laplace scale=1.0 |",
        "By the file: no unchecked assumption.",
        f"dpwitness certificate check {file.name}",
        "Unchecked, it is as trustworthy as its sender.",
        "SHA-256: input file",
    ):
        assert words in page

    file.write_text(file.read_text().replace('"scale": 1.0', '"scale": 2.0'))
    checked = run("certificate", "check", file, "--json")
    assert (checked.exit_code, json.loads(checked.stdout)["verdict"]) == (1, "invalid")


@pytest.mark.slow
def test_without_a_file_it_is_printed_and_nothing_else(noise: str) -> None:
    done = run("certify", noise, "--epsilon", "1", *FEW)
    assert json.loads(done.stdout)["format"] == "dpwitness certificate, version 1"


def test_what_is_refuted_gets_none_and_no_file(tmp_path: Path, noise: str) -> None:
    file = tmp_path / "certificate.json"
    refused = run("certify", noise, "--epsilon", "0.5", *FEW, "-o", file)
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"dpwitness: no certificate of {noise}: refuted. Lower bound ε ≥ ")
    assert not file.exists()


def test_a_file_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    refused = run("certify", "cucb-ldp2", "--epsilon", "1", "-o", tmp_path / "none" / "certificate.json")
    assert "its folder does not exist" in str(refused.exception)
