"""``dpwitness report``: one file of many results, or an error that names the file and the rule."""

from __future__ import annotations

import base64
import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accountant import Accountant, Budget
from accountant.audit import AuditQuestion, audit, from_mechanisms
from algorithms.claim import ClaimForm, View
from mechanisms import Interval, Laplace
from verify.commands.command_group import cli
from verify.document.markdown_text import markdown
from verify.experiments.configuration import Configuration
from verify.experiments.experiment import Seen
from verify.experiments.lines import is_private
from verify.experiments.reproduce import Reproduced
from verify.experiments.simulation_result import SimulationResult
from verify.findings.finding import UpperBound
from verify.findings.sentences import exact
from verify.regret_claims.regret_document import regret_document
from verify.regret_claims.regret_report import Checkpoint, RegretReport, TheoremValue
from verify.verdict.result import Verification
from verify.verdict.subject_kind import SubjectKind
from verify.verdict.verdict import Decision
from verify.verification.resolve import every_learner

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
    ClaimForm("central", View.OUTPUT, "one report", "its parameters").with_parameters(1.0),
    Decision("certified", (exact("proved"),)),
    UpperBound(1.0, 0.0, "its profile"),
    None,
    None,
    (),
    0,
)
SMALL_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
REGRET = RegretReport(
    learner="mine",
    problem="two arms",
    epsilon=1.0,
    delta=0.001,
    neighbours="replace one",
    claims_privacy=True,
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
    audited = audit(from_mechanisms([(Laplace(scale=4.0), 2)]), AuditQuestion(delta=0.0), 1.0)
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
    done = report(folder, *files, "-o", "report.html")
    assert (done.exit_code, done.output) == (0, "")
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert re.findall(r'href="(#result-.)"', text) == [f"#result-{i}" for i in range(1, 6)]
    for words in ("CERTIFIED", "regret of mine", "Assumptions", "<svg"):
        assert words in text
    assert text.count("SHA-256: input file") == 2
    assert all(f"SHA-256 of {name}" in text for name in ("verified.json", "regret.json", "audit.json"))
    assert "laplace scale=20" in text
    assert "`" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script" not in text


def test_all_results_of_a_command_are_in_its_report(folder: Path) -> None:
    audited = json.loads((folder / "audit.json").read_text())
    two_audits = {"files": [{"file": "a.toml", **audited}, {"file": "b.toml", **audited}]}
    (folder / "several.json").write_text(json.dumps(two_audits))
    done = report(folder, "several.json")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("# Privacy report on 2 results\n")


def test_simulations_of_one_file_are_compared(folder: Path) -> None:
    asked = Configuration("mine", 100, 5, epsilon=0.5)
    curves = ((10, 50, 100), (3.0, 7.0, 9.0), (0.1, 0.2, 0.3), (0.5, 0.6, 0.7))
    mine = SimulationResult("mine", "arms", "replace one", asked, *curves, 0.1, 10.0)
    worse = SimulationResult("mine", "arms", "replace one", replace(asked, epsilon=0.25), curves[0], (4.0, 8.0, 20.0),
                       (math.nan,) * 3, curves[3], 0.1, 10.0)  # fmt: skip
    (folder / "runs.json").write_text(json.dumps({"simulations": [mine.json(), worse.json()]}))
    shown = report(folder, "runs.json").output
    assert shown.startswith(
        "# SIMULATED: regret of mine on arms\n\n**In 5 simulated runs mine, ε = 0.5 lost least reward, compared with "
        "the best choice: 9 on average in 100 rounds.**"
    )
    assert "Lowest of 2: mine, ε = 0.5. Mean regret " in shown
    assert "| mine, ε = 0.25 | 20 | \\- | 0.7 |" in shown
    assert "--epsilon 0.25 " in shown
    assert (
        "*Mean cumulative regret on arms (ε: 0.5; 0.25, δ: 0.001, rounds: 100, runs: 5 from seed 0).*"
        in shown
    )
    both = [mine.json(), replace(worse, regret_sem=curves[2]).json()]
    (folder / "runs.json").write_text(json.dumps({"simulations": both}))
    assert report(folder, "runs.json", "-o", "runs.html").exit_code == 0
    page = (folder / "runs.html").read_text(encoding="utf-8")
    assert re.findall(r'<polygon class="(.*?)"', page) == ["area of-proved", "area of-shown"]
    assert page.count('<rect class="area"') == 0
    (folder / "runs.json").write_text(json.dumps(mine.json()))
    assert report(folder, "runs.json", "-o", "runs.html").exit_code == 0
    page = (folder / "runs.html").read_text(encoding="utf-8")
    assert "after 100 rounds (5 runs)." in page
    assert "one standard error" in page


def test_a_reproduction_has_its_picture_if_it_is_there(folder: Path) -> None:
    picture = folder / "fig.png"
    picture.write_bytes(SMALL_PNG)
    seen = (Seen(True, "3 of 3", says="regret grows"), Seen(None, "", says="by log T"))
    found = Reproduced(
        "cascade/fig1a", picture, folder / "fig.csv", folder / "fig.md", seen, "again, please", seconds=2.0
    )
    (folder / "made.json").write_text(json.dumps({"experiments": [found.json()]}))
    assert report(folder, "made.json", "-o", "made.html").exit_code == 0
    page = (folder / "made.html").read_text(encoding="utf-8")
    assert 'src="data:image/png;base64,' in page
    assert "INCONCLUSIVE" in page
    assert "1 of 2 statements of the paper agree with these runs." in page
    assert "<span>again,</span> <span>please</span>" in page
    picture.write_bytes(b"a secret of somebody's")
    report(folder, "made.json", "-o", "made.html")
    assert "Picture missing or not a PNG" in (folder / "made.html").read_text(encoding="utf-8")
    assert "<img" not in (folder / "made.html").read_text(encoding="utf-8")
    (folder / "made.json").write_text(json.dumps(replace(found, picture=Path("/dev/zero")).json()))
    assert "Picture missing or not a PNG" in report(folder, "made.json").output
    picture.unlink()
    (folder / "made.json").write_text(json.dumps(found.json()))
    assert "Picture missing or not a PNG" in report(folder, "made.json").output


@pytest.mark.slow
def test_markdown_by_default_and_by_name(folder: Path) -> None:
    shown = report(folder, "releases.toml")
    assert shown.exit_code == 0
    assert shown.output.startswith("# AUDITED: releases.toml\n")
    assert "releases.toml --delta 1e-06" in shown.output
    assert "| title | A quarter |\n| date | 2026-03-31 |\n| notes | first line |" in shown.output
    assert report(folder, "releases.toml", "-o", "same.md").exit_code == 0
    assert (folder / "same.md").read_text().splitlines()[:3] == shown.output.splitlines()[:3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"verdict": "certified"}', "has no format; a result of this version has"),
        ('{"theorems": {}}', "has no format; a result of this version has"),
        ('{"files": []}', "files must be a list of at least one result, and stand alone"),
        ('{"files": [{"format": 3}]}', "format of one of files must be one of"),
        ('{"files": [{}], "other": 1}', "files must be a list of at least one result, and stand alone"),
        ('{"simulations": [{"format": "x"}]}', "format of one of simulations must be one of"),
        ('{"files": [{"format": []}]}', "format of one of files must be one of"),
        ('{"format": "dpwitness verification, version 9"}', "format must be one of"),
        ('{"format": "dpwitness verification, version 1"}', "the result has no subject"),
        ("[]", "must hold `release` tables (the file is no stored result)"),
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_refused_of_which_the_second_reading_would_wait_for_ever(folder: Path) -> None:
    os.mkfifo(folder / "pipe.json")
    refused = report(folder, "verified.json", "pipe.json")
    assert refused.exit_code == 2
    assert "pipe.json must be a stored file, no pipe and no device" in refused.output


def test_a_report_of_stored_results_imports_no_more_than_their_documents_need(folder: Path) -> None:
    source = f"""if True:
        import sys
        import dpwitness
        sys.argv = ["dpwitness", "report", {str(folder / "verified.json")!r}, {str(folder / "regret.json")!r}]
        try:
            dpwitness.main()
        finally:
            heavy = {{"numpy", "scipy", "sympy", "rich"}}.intersection(sys.modules)
            learners = [name for name in sys.modules if name.startswith(("algorithms.semi", "verify.learners"))]
            print(*heavy, *learners, "were imported", sep="\\n")"""
    shown = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("# Privacy report on 2 results")
    assert shown.splitlines()[-1] == "were imported"
    assert shown.splitlines()[-2].startswith("Written ")


@pytest.mark.parametrize("name", ["never.docx", "never.pdf", "never.PDF", "never"])
def test_a_kind_of_file_that_cannot_be_written_is_refused_before_anything_is_read(
    name: str, folder: Path
) -> None:
    output = folder / name
    refused = CliRunner().invoke(cli, ["report", str(folder / "no result.json"), "-o", str(output)])
    assert isinstance(refused.exception, ValueError)
    said = str(refused.exception)
    assert said == f"--output {output}: must end in .html or .md"
    assert not output.exists()


def test_the_date_of_a_report_may_be_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("one.html", "same.html"):
        done = report(folder, "verified.json", "regret.json", "-o", name)
        assert (done.exit_code, done.output) == (0, "")
    written = (folder / "one.html").read_bytes()
    assert written == (folder / "same.html").read_bytes()
    assert b"Written 2023-11-14 22:13:20 UTC" in written
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    refused = report(folder, "verified.json", "-o", "never.html")
    assert "SOURCE_DATE_EPOCH 'yesterday': must be seconds" in str(refused.exception)


def test_a_regret_report_says_all_that_a_stranger_asks(folder: Path) -> None:
    shown = report(folder, "regret.json").output
    assert shown.startswith("# CONSISTENT: regret of mine, ε = 1, T = 100")
    for words in (
        "- Expected regret ≤ 12 (99.99 % confidence), bound 20, trivial bound 90.",
        "neighbours: replace one",
        "| Source | Theorem 3 |",
        "| 100 | 8 | 6 | 12 | 20 | 90 | consistent |",
        "False-positive rate at most 0.0001 over all intervals and lemmas",
        "**Kept: on average the learner lost no more than its theorem allows (99.99 % confidence, 8 runs).**",
        "at most 20 after 100 rounds",
        "to 12 (99.99 % confidence)",
        "dpwitness regret mine",
    ):
        assert words in shown
    assert "<svg" in REGRET._repr_html_()


def test_a_bound_without_a_proof_is_not_good_news() -> None:
    corrected = replace(REGRET, theorem=replace(REGRET.theorem, correction="8 for 4"))
    unproved = replace(REGRET, theorem=replace(corrected.theorem, unproved="a tail"))
    assert regret_document(REGRET).tone == regret_document(corrected).tone == "good"
    assert "no more than its theorem as corrected allows" in regret_document(corrected).meaning.text
    assert "(the printed one is not tested)" in regret_document(corrected).summary.claimed.text
    assert regret_document(unproved).tone == "open"
    assert "not fully proved" in regret_document(unproved).meaning.text
    assert regret_document(unproved).verdict == "CONSISTENT"


@pytest.mark.parametrize("claims", [True, False])
def test_a_regret_report_speaks_of_a_privacy_claim_only_where_one_is_made(claims: bool) -> None:
    said = markdown([regret_document(replace(REGRET, claims_privacy=claims))], "")
    assert ("If its privacy claim holds" in said) is claims
    assert ("makes no claim about privacy" in said) is not claims


def test_learners_without_a_claim_say_so() -> None:
    named = {name for name, entry in every_learner.items() if entry.claim.is_none}
    assert named == {name for name in every_learner if not is_private(name)}
