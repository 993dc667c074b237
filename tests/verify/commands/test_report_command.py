"""``dpwitness report``: one file of many results, or an error that names the file and the rule."""

from __future__ import annotations

import json
import re
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pypdf import PdfReader

from accountant import Accountant, Budget
from accountant.audit import Question, audit, from_mechanisms
from algorithms.claim import ClaimForm, View
from mechanisms import Interval, Laplace
from verify.commands.command_group import cli
from verify.findings import UpperBound
from verify.regret_claims.outcome import Checkpoint
from verify.regret_claims.regret_report import RegretReport, TheoremValue
from verify.verdict.answer import SubjectKind
from verify.verdict.result import Verification
from verify.verdict.verdict import Decision

RELEASES = r"""
title = "A quarter"
date = 2026-03-31
notes = "first line\nsecond line"
neighbours = "replace one"
[[release]]
mechanism = "laplace"
scale = 20
count = 10
name = "<script>alert(1)</script>"
"""
VERIFIED = Verification(
    "noise",
    SubjectKind.MECHANISM,
    ClaimForm("central", View.OUTPUT, "one number", "its parameters").at(1.0),
    Decision("certified", ("proved",)),
    UpperBound(1.0, 0.0, "its profile"),
    None,
    None,
    (),
    0,
)
REGRET = RegretReport(
    learner="mine",
    problem="two arms",
    epsilon=1.0,
    delta=0.001,
    neighbours="replace one",
    horizon=100,
    lanes=8,
    seed=0,
    error=1e-4,
    theorem=TheoremValue("Theorem 3", "every T", True, 20.0, 90.0, dominant=("x/2", 10.0)),
    proof=(),
    outcome=(Checkpoint(10, 5.0, 4.0, 6.0, 20.0, 9.0), Checkpoint(100, 8.0, 6.0, 12.0, 20.0, 90.0)),
    reproduce="dpwitness regret mine",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    (folder / "verified.json").write_text(json.dumps(VERIFIED.json()))
    (folder / "regret.json").write_text(json.dumps(REGRET.json()))
    (folder / "releases.toml").write_text(RELEASES)
    audited = audit(from_mechanisms([(Laplace(scale=4.0), 2)]), Question(delta=0.0), 1.0)
    (folder / "audit.json").write_text(json.dumps(audited.json()))
    accountant = Accountant(Budget(1.0))
    accountant.release(Laplace(scale=4.0), accountant.private([0.5], Interval(0, 1), record="ann"))
    accountant.export(folder / "ledger.json")
    return folder


def report(folder: Path, *arguments: str) -> Any:
    return CliRunner().invoke(
        cli,
        ["report", *(str(folder / one) if one[-1].isalpha() and "." in one else one for one in arguments)],
    )


def test_every_kind_of_result_in_one_page(folder: Path) -> None:
    files = ("verified.json", "regret.json", "releases.toml", "ledger.json", "audit.json")
    done = report(folder, *files, "-o", "report.html", "--budget", "2")
    assert (done.exit_code, done.output) == (0, "")
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert re.findall(r'href="(#result-.)"', text) == [f"#result-{i}" for i in range(1, 6)]
    for words in ("CERTIFIED", "regret of mine", "WITHIN THE BUDGET", "What it rests on", "<svg"):
        assert words in text
    assert text.count("SHA-256 of the file it is about") == 2
    assert all(f"SHA-256 of {name}" in text for name in ("verified.json", "regret.json", "audit.json"))
    assert "laplace scale=20" in text
    assert "`" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script" not in text


def test_markdown_by_default_and_by_name(folder: Path) -> None:
    shown = report(folder, "releases.toml", "--delta", "0", "--budget", "0.4")
    assert shown.exit_code == 0
    assert shown.output.startswith("# OVER THE BUDGET: releases.toml\n\n**ε at δ = 0 is at most 0.5")
    assert "releases.toml --delta 0 --budget 0.4 --risk" in shown.output
    assert "| title | A quarter |\n| date | 2026-03-31 |\n| notes | first line |" in shown.output
    assert report(folder, "releases.toml", "--delta", "0", "--budget", "0.4", "-o", "same.md").exit_code == 0
    assert (folder / "same.md").read_text().splitlines()[:3] == shown.output.splitlines()[:3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"verdict": "certified"}', "has no format; a result of this version has"),
        ('{"theorems": {}}', "has no format; a result of this version has"),
        ('{"files": []}', "holds the audits of several files"),
        ('{"format": "dpwitness verification, version 9"}', "format must be one of"),
        ('{"format": "dpwitness verification, version 1"}', "the result has no verdict"),
        ("[]", "must hold `release` tables"),
        ("{", "not valid JSON"),
    ],
)
def test_what_is_no_result_is_refused_by_name(content: str, message: str, folder: Path) -> None:
    (folder / "bad.json").write_text(content)
    refused = report(folder, "verified.json", "bad.json", "-o", "never.html")
    assert isinstance(refused.exception, ValueError)
    assert message in str(refused.exception)
    assert "bad.json" in str(refused.exception)
    assert not (folder / "never.html").exists()


def test_a_kind_of_file_that_cannot_be_written_is_refused(folder: Path) -> None:
    refused = report(folder, "verified.json", "-o", "report.docx")
    assert "must end in .html, .pdf or .md" in str(refused.exception)


def test_a_pdf_of_equal_results_is_equal_if_its_date_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("one.pdf", "same.pdf"):
        done = report(folder, "verified.json", "regret.json", "-o", name)
        assert (done.exit_code, done.output) == (0, "")
    written = (folder / "one.pdf").read_bytes()
    assert written == (folder / "same.pdf").read_bytes()
    assert PdfReader(BytesIO(written)).metadata["/CreationDate"] == "D:20231114221320+00'00'"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    refused = report(folder, "verified.json", "-o", "never.pdf")
    assert "SOURCE_DATE_EPOCH 'yesterday': must be seconds" in str(refused.exception)


def test_without_the_extra_a_pdf_is_refused_before_anything_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "verify.document.pdf_file", None)
    refused = report(folder, "releases.toml", "-o", "never.pdf")
    assert "pip install 'dpwitness[pdf]'" in str(refused.exception)
    assert not (folder / "never.pdf").exists()


def test_a_regret_report_says_all_that_a_stranger_asks(folder: Path) -> None:
    shown = report(folder, "regret.json").output
    assert shown.startswith("# CONSISTENT: regret of mine, ε = 1, T = 100")
    for words in (
        "- expected regret is at most 12, and the bound is 20 of 90",
        "| neighbours | replace one |",
        "| source | Theorem 3 |",
        "| 100 | 8 | 6 | 12 | 20 | 90 | consistent |",
        "except with probability 0.0001",
        "dpwitness regret mine",
    ):
        assert words in shown
    assert "<svg" in REGRET._repr_html_()
