"""The commands ``audit`` and ``calibrate``: what they print, their JSON and their errors."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from release_files import GROUPS, TABLE

from accountant import Accountant, Budget
from accountant.audit import AuditQuestion, audit
from accountant.audit.release_tables import from_tables
from mechanisms import Interval, Laplace
from verify.commands import audit_command, written_proof
from verify.findings.proof_checker import CheckedProof
from verify.verdict.audit_document import audit_document


def test_without_privacy_the_answer_is_infinite(run, tmp_path):
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    accountant.release(Laplace(scale=4.0), accountant.private([0.5], Interval(0, 1), "a"))
    accountant.declassify(accountant.private([0.5], Interval(0, 1), "b"), "a test")
    accountant.export(tmp_path / "ledger.json")
    code, out, err = run("audit", tmp_path / "ledger.json", "--json", "--budget", 1)
    assert (code, err) == (1, "")
    result = json.loads(out)
    assert result["epsilon"]["upper"] == "inf"
    assert result["worst"]["group"] == "b"
    assert result["remaining"]["epsilon"] == 0
    assert result["remaining"]["within"] is False


def test_a_saved_ledger_is_audited_record_by_record(run, tmp_path):
    accountant = Accountant(Budget(10.0), noise=np.random.default_rng(0))
    for i in range(12):
        accountant.release(Laplace(scale=4.0), accountant.private([0.5], Interval(0, 1), f"user-{i % 5}"))
    accountant.export(tmp_path / "ledger.json")
    code, out, _ = run("audit", tmp_path / "ledger.json", "--delta", 0, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["epsilon"]["upper"] == 0.75 == float(accountant.worst()[1].epsilon)
    assert result["worst"] == {"group": "user-0", "alike": 2, "groups": 2}
    assert result["chosen_under"] == {"theorem": "basic composition", "epsilon": 10.0, "delta": 0.0}
    code, out, _ = run("audit", tmp_path / "ledger.json", "--delta", 0)
    said = " ".join(out.split())
    limit = "the accountant's limit, ε = 10, δ = 0 (basic composition)"
    assert f"if the releases were fixed in advance; in any case {limit}" in said


@pytest.mark.parametrize(
    ("budget", "code", "words"),
    [
        ("1.5", 0, ("WITHIN BUDGET", "Remaining: ε = 0.5, for releases with δ = 0.")),
        ("1", 0, ("WITHIN BUDGET", "Remaining: ε = 0, for releases with δ = 0.")),
        ("0.9", 1, ("OVER BUDGET", "Remaining: ε = 0, for releases with δ = 0.")),
    ],
)
def test_a_budget_that_is_exceeded_is_an_exit_code(run, file, budget, code, words):
    path = file('[[release]]\nmechanism = "laplace"\nscale = 1.0\nsensitivity = 1.0\n')
    left, out, err = run("audit", path, "--delta", "0", "--budget", budget)
    assert (left, err) == (code, "")
    assert all(each in out for each in words)


def test_an_infinite_upper_end_is_no_bound_unless_data_attain_it():
    """Of random allocation it read 2.367753605 ≤ ε ≤ ∞, with both ends proved."""
    allocated = {"sampling": "random-allocation", "sampling_rate": 0.01, "neighbours": "add-or-remove-one"}
    for keys, found, sure in (
        (allocated, "ε ≥ 2.36775", "only the lower bound is proved."),
        (allocated | {"selected": 2}, "no bound on ε at δ = 0.", "nothing is proved."),
        ({}, "ε = ∞ at δ = 0.", "both ends are proved."),
    ):
        table = {"mechanism": "gaussian", "sigma": 1.0, **keys}
        audited = audit(from_tables("a file", {"release": [table]}), AuditQuestion(delta=0.0))
        first = audit_document(audited).summary
        assert first.found.text.startswith(found)
        assert first.sure.text.endswith(sure)


def test_audit_json_has_the_stable_keys(run, file):
    code, out, err = run("audit", file(GROUPS), "--delta", "1e-5", "--budget", "10", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert set(result) == {
        *("neighbours", "delta", "epsilon", "theorems", "best", "worst", "chosen_under", "remaining", "risk"),
        *("complete", "group_size", "title", "date", "notes", "first", "last"),
        *("format", "name", "released", "repeat", "made"),
    }
    assert result["chosen_under"] is None
    assert result["neighbours"] == "add or remove one"
    assert result["delta"] == 1e-5
    assert set(result["epsilon"]) == {"lower", "upper", "method", "lower_by", "upper_by"}
    assert all(set(found) == set(result["epsilon"]) for found in result["theorems"].values())
    assert set(result["remaining"]) == {"budget", "within", "epsilon", "more"}
    inverse = json.loads(run("audit", file(GROUPS), "--epsilon", "3", "--json")[1])
    assert inverse["epsilon"] == 3
    assert set(inverse["delta"]) == {"lower", "upper", "method", "lower_by", "upper_by"}
    assert inverse["remaining"] is None


PLANS = """
title = "Photos [2026]"
date = 2026-11-23
notes = "as submitted"
neighbours = "add or remove one"

[[release]]
mechanism = "gaussian"
sigma = 20.0
count = 10
date = 2026-01-05

[[release]]
mechanism = "laplace"
scale = {scale}
date = "2026-03-01"
"""


def test_a_file_is_shown_with_its_title_and_dates(run, file):
    path = file(PLANS.format(scale=1))
    code, out, err = run("audit", path)
    assert (code, err) == (0, "")
    lines = [line.rstrip() for line in out.splitlines()]
    start = lines.index("File metadata")
    assert lines[start + 1 : start + 5] == [
        "  title     Photos [2026]",
        "  date      2026-11-23",
        "  released  2026-01-05 to 2026-03-01",
        "  notes     as submitted",
    ]
    result = json.loads(run("audit", path, "--json")[1])
    assert [result[key] for key in ("title", "date", "first", "last")] == [
        "Photos [2026]",
        "2026-11-23",
        "2026-01-05",
        "2026-03-01",
    ]


def test_files_side_by_side(run, file, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    one, other = file(PLANS.format(scale=1), "a[b].toml"), file(PLANS.format(scale=2), "b.toml")
    code, out, err = run("audit", one.name, other.name, "--delta", "0.01")
    assert (code, err) == (0, "")
    for words in ("a[b].toml", "b.toml", "add or remove one", "laplace scale=1", "advantage of an attack"):
        assert words in out
    assert "do not compare" not in out
    counts = {
        name: cells
        for name, *cells in (line.rsplit(maxsplit=2) for line in out.splitlines() if " scale=" in line)
    }
    assert counts["laplace scale=1"] == ["1", "-"]
    assert counts["laplace scale=2"] == ["-", "1"]
    result = json.loads(run("audit", one, other, "--json", "--budget", "1.5")[1])
    assert [entry["file"] for entry in result["files"]] == [str(one), str(other)]
    assert [entry["remaining"]["within"] for entry in result["files"]] == [False, True]
    alone = json.loads(run("audit", one, "--json", "--budget", "1.5")[1])
    alone["made"]["date"] = result["files"][0]["made"]["date"]  # another second
    assert result["files"][0] == {"file": str(one), **alone}
    assert run("audit", other, one, "--budget", "1.5")[0] == 1
    code, out, _ = run("audit", one, file(TABLE))
    assert "Different neighbouring relations" in out
    code, _, err = run("audit", one, other, "-o", "x.png")
    assert code == 2
    assert "--output x.png: must be of one file" in err


def test_the_relation_may_be_said_beside_the_file(run, file):
    silent = file(TABLE)
    assert json.loads(run("audit", silent, "--json")[1])["neighbours"] == "replace one"
    said = json.loads(run("audit", silent, "--json", "--neighbors", "zero-out")[1])
    assert said["neighbours"] == "zero out"
    code, _, err = run("audit", file(PLANS.format(scale=1)), "--neighbors", "replace-one")
    assert code == 2
    assert "neighbours = 'replace one': the file is for 'add or remove one'" in err
    code, _, err = run("audit", silent, "--neighbors", "both")
    assert code == 2
    assert "'--neighbors': 'both' is not one of 'replace-one'" in err


def test_a_time_limit_is_kept_and_said(run, file, monkeypatch):
    path = file(GROUPS)
    assert json.loads(run("audit", path, "--json")[1])["complete"]
    monkeypatch.setattr(audit_command, "DEFAULT_SECONDS", 1e-9)
    code, out, err = run("audit", path)
    assert (code, err) == (0, "")
    assert "Stopped at a time limit" in out
    short = json.loads(run("audit", path, "--json")[1])
    assert not short["complete"]
    code, _, err = run("calibrate", path, "--epsilon", "1")
    assert code == 2
    assert "no noise was proved to give epsilon=1 at delta=1e-06 within the time limit" in err


def test_audit_prints_a_table_and_draws(run, file, tmp_path):
    code, out, err = run("audit", file(TABLE), "--budget", "10", "-o", tmp_path / "curve.png")
    assert (code, err) == (0, "")
    for words in ("8.20444", "basic composition", "Remaining budget", "laplace scale=20"):
        assert words in out
    assert max(len(line) for line in out.splitlines() if not line.startswith("  dpwitness ")) <= 80
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_calibrate_prints_and_says_json(run, file):
    code, out, _ = run("calibrate", file(TABLE), "--epsilon", "1")
    assert code == 0
    assert "multiply all noise by" in out
    result = json.loads(run("calibrate", file(TABLE), "--epsilon", "1", "--json")[1])
    assert set(result) == {"neighbours", "group_size", "factor", "complete", "epsilon", "delta", "parameters"}
    assert result["parameters"]["1: laplace scale=20"]["scale"] == pytest.approx(20 * result["factor"])


@pytest.mark.few(1)
@pytest.mark.parametrize("neighbours", ["replace one", "add or remove one", "zero out"])
def test_what_is_said_first_names_the_relation(run, file, neighbours):
    path = file(f'neighbours = "{neighbours}"\n{TABLE}')
    first = run("audit", path, "--budget", 10)[1].partition("Privacy loss\n")[0]
    assert f"Neighbours: {neighbours}." in " ".join(first.split())
    (then,) = (
        line for line in run("calibrate", path, "--epsilon", 1)[1].splitlines() if line.startswith("then")
    )
    assert neighbours in then


BAD = [
    (["audit", "FILE", "--delta", "1"], "'--delta': 1.0 is not in the range 0 or 1e-290<=x<1"),
    (["audit", "FILE", "--delta", "1e-300"], "'--delta': 1e-300 is not in the range 0 or 1e-290<=x<1"),
    (["audit", "FILE", "--delta", "-1"], "'--delta': -1.0"),
    (["audit", "FILE", "--delta", "nan"], "'--delta': nan is not in the range"),
    (["audit", "FILE", "--epsilon", "-1"], "'--epsilon': -1.0"),
    (["audit", "FILE", "--epsilon", "inf"], "'--epsilon': inf is not in the range 0<=x<inf"),
    (["audit", "FILE", "--epsilon", "1", "--delta", "0.1"], "--epsilon 1.0, delta = 0.1: exactly one"),
    (["audit", "FILE", "--budget", "-1"], "'--budget': -1.0"),
    (["audit", "FILE", "--epsilon", "1", "--budget", "1"], "goes with a given delta"),
    (["audit", "FILE", "-o", "curve.pdf"], ".png"),
    (["audit", "nowhere.toml"], "nowhere.toml"),
    (["audit"], "FILE"),
    (["calibrate", "FILE"], "--epsilon"),
    (["calibrate", "FILE", "--epsilon", "0", "--delta", "0"], "--epsilon 0.0: must be above 0 at delta=0"),
    (["calibrate", "FILE", "--epsilon", "1", "--delta", "1"], "'--delta': 1.0 is not in the range"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=lambda value: " ".join(value) if value else "")
def test_bad_options_are_one_line_and_exit_code_2(run, file, arguments, words):
    given = [str(file(TABLE)) if argument == "FILE" else argument for argument in arguments]
    code, out, err = run(*given)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("dpwitness: ")
    assert err.count("\n") == 1


def test_bad_files_name_their_line(run, file):
    code, out, err = run("audit", file(TABLE + "scael = 3\n"))
    assert (code, out) == (2, "")
    assert "line 6" in err
    assert "scael" in err


@pytest.mark.slow  # a process of its own; the README's commands run the same script
def test_the_installed_script_audits(file):
    script = Path(sys.executable).with_name("dpwitness")
    done = subprocess.run(
        [script, "audit", file(TABLE), "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["epsilon"]["upper"] == pytest.approx(8.2044403439)


def test_audit_says_what_it_means_for_a_person(run, file):
    path = file('[[release]]\nmechanism = "gaussian"\nsigma = 1.0\n')
    code, out, _ = run("audit", path, "--json")
    risk = json.loads(out)["risk"]
    assert code == 0
    assert risk["advantage"]["upper"] == pytest.approx(0.3829249225, abs=1e-9)
    assert [row["false_positive_rate"] for row in risk["true_positive_rates"]] == [0.1, 0.01, 1e-3, 1e-5]
    assert risk["true_positive_rates"][2]["upper"] == pytest.approx(0.018299, abs=1e-6)
    code, out, _ = run("audit", path)
    assert "0.382925" in out
    assert "Membership advantage (TPR − FPR)" in out


def test_calibrate_to_what_attacks_may_reach(run, file):
    path = file('[[release]]\nmechanism = "gaussian"\nsigma = 1.0\n')
    code, out, _ = run("calibrate", path, "--advantage", "0.1", "--json")
    assert code == 0
    assert json.loads(out)["factor"] == pytest.approx(3.9789, rel=1e-4)
    code, out, _ = run("calibrate", path, "--rates", "0.001", "0.02", "--json")
    assert json.loads(out)["factor"] == pytest.approx(0.96484, rel=1e-3)
    for arguments, said in (
        ((), "give one target"),
        (("--rates", "0.1"), "'--rates' requires 2 arguments"),
        (("--epsilon", "1", "--advantage", "0.1"), "give one target"),
        (("--advantage", "2"), "'--advantage': 2.0 is not in the range"),
        (("--rates", "0.02", "0.001"), "--rates 0.001: must be above the false positive rate"),
    ):
        code, _, err = run("calibrate", path, *arguments)
        assert code == 2
        assert said in err


def test_groups_of_people(run, tmp_path):
    file = tmp_path / "releases.toml"
    file.write_text('[[release]]\nmechanism = "laplace"\nscale = 4\n')
    code, out, _ = run("audit", file, "--delta", 0, "--group-size", 3, "--json")
    result = json.loads(out)
    assert (code, result["group_size"], result["epsilon"]["upper"]) == (0, 3, 0.75)
    assert "--group-size 3" in result["repeat"]
    code, out, _ = run("audit", file, "--delta", 0, "--group-size", 3)
    assert "Neighbours: replace one, groups of 3." in " ".join(out.split())
    code, out, _ = run("calibrate", file, "--delta", 0, "--epsilon", 0.25, "--group-size", 3, "--json")
    result = json.loads(out)
    assert (result["group_size"], result["factor"]) == (3, pytest.approx(3.0))
    assert run("audit", file, "--group-size", 0)[0] == 2


def test_an_audit_loads_of_verify_its_command_and_its_report_alone():
    code = "import sys, verify.commands.audit_command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    rooms = {name.split(".")[1] for name in loaded if name.startswith("verify.")}
    assert rooms <= {"commands", "conduct", "document", "findings", "proof_checker"}
    assert not loaded & {"scipy.stats", "sympy", "opendp"}


def test_a_row_has_the_same_lower_end_in_the_text_and_in_the_data(run, tmp_path):
    """A lower end of 0 was left out in the text; what has none at all has "-" there, and null in the data."""
    file = tmp_path / "releases.toml"
    file.write_text('[[release]]\nmechanism = "laplace"\nscale = 1\n')
    _, text, _ = run("audit", file, "--epsilon", 2)
    _, data, _ = run("audit", file, "--epsilon", 2, "--json")
    rows = {name: row["lower"] for name, row in json.loads(data)["theorems"].items()}
    assert 0.0 in rows.values()
    assert "-0.0" not in data
    assert "δ = 0 at ε = 2" in text
    for name, lower in rows.items():
        line = next(line for line in text.splitlines() if line.strip().startswith(name[:20]))
        assert line.split()[-2] == ("-" if lower is None else f"{lower:g}"), line


def test_the_sentences_of_a_group_are_about_the_group(run, tmp_path):
    """The loss of three records together, and the attack on them, were printed as those of one record."""
    file = tmp_path / "year.toml"
    file.write_text('[[release]]\nmechanism = "gaussian"\nsigma = 100.0\n')
    code, out, _ = run("audit", file, "--group-size", 3)
    said = " ".join(out.split())
    assert code == 0
    assert "Total privacy loss ε of 3 records like the worst-case one" in said
    assert "Best attack on 3 records, knowing all others (which of two values 3 records have)" in said
    assert "one record has" not in said


def test_a_delta_just_below_1_is_not_1(run, tmp_path):
    file = tmp_path / "year.toml"
    file.write_text('[[release]]\nmechanism = "randomized response"\nepsilon = 30.0\nk = 3\n')
    _, out, _ = run("audit", file, "--epsilon", 0)
    assert "0.9999999999 ≤ δ ≤ 1 at ε = 0" in out


def test_which_record_loses_most_is_said_where_it_is_known(run, tmp_path):
    """A mere bound was called the worst case beside a proved lower end of another record."""
    file = tmp_path / "year.json"
    rows = [{"mechanism": "zcdp", "rho": 0.02, "records": ["a"]}, {"mechanism": "laplace", "scale": 2}]
    rows[1]["records"] = ["b"]
    file.write_text(json.dumps({"release": rows}))
    assert "Largest upper bound a;" in " ".join(run("audit", file)[1].split())
    rows[0] = {"mechanism": "gaussian", "sigma": 1.0, "records": ["a"]}
    file.write_text(json.dumps({"release": rows}))
    assert "Worst-case record a;" in " ".join(run("audit", file)[1].split())


def test_no_file_is_written_over_what_is_audited_or_written(run, tmp_path):
    file, link, new = tmp_path / "year.json", tmp_path / "link.json", tmp_path / "new.json"
    file.write_text('{"release": [{"mechanism": "laplace", "scale": 3}]}')
    link.symlink_to(file)
    before = file.read_text()
    for arguments in (("--proof", file), ("--proof", link), ("-o", file), ("-o", new, "--proof", new)):
        flag = "--proof" if "--proof" in arguments else "--output"
        code, _, said = run("audit", file, *arguments)
        assert code == 2
        assert f"{flag} {arguments[-1]}: must be another file than " in said
        assert file.read_text() == before
    assert not new.exists()
    bad = tmp_path / "p.txt"
    assert f"--proof {bad}: must end in .json" in run("audit", file, "--proof", bad)[2]


def test_a_proof_of_costs_that_were_stated_says_so(run, tmp_path):
    file, proof = tmp_path / "stated.toml", tmp_path / "proof.json"
    for mechanism, words in (
        ("pure", "and costs of releases without a mechanism, are"),
        ("laplace", "sensitivities are"),
    ):
        size = "epsilon = 0.1" if mechanism == "pure" else "scale = 10"
        file.write_text(f'[[release]]\nmechanism = "{mechanism}"\n{size}\n')
        code, said, _ = run("audit", file, "--delta", "0", "--proof", proof)
        assert code == 0
        assert f"{words} as stated in the release file." in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("claim: is not shown", "its rules for these releases together are weaker"),
        ("claim: a number is too large", "it says: claim: a number is too large"),
    ],
)
def test_a_figure_that_the_checker_does_not_reach_is_refused_with_the_reason(
    run, tmp_path, monkeypatch, words, why
):
    file, proof = tmp_path / "one.toml", tmp_path / "proof.json"
    file.write_text('[[release]]\nmechanism = "laplace"\nscale = 10\n')
    monkeypatch.setattr(written_proof, "check_proof", lambda proof: CheckedProof(False, words))
    code, _, said = run("audit", file, "--delta", "0", "--proof", proof)
    assert (code, proof.read_text() if proof.exists() else "") == (2, "")
    assert f"accepts no figure within 1 % of the answer: {why}" in said


@pytest.mark.slow
def test_where_the_checkers_rules_are_weaker_it_is_asked_three_times(run, tmp_path, monkeypatch):
    file, proof, asked = tmp_path / "mixed.toml", tmp_path / "proof.json", []
    kinds = ("zcdp", "rho", 0.01), ("gaussian", "sigma", 10.0), ("laplace", "scale", 20.0)
    file.write_text(
        "".join(f'[[release]]\nmechanism = "{kind}"\n{name} = {size}\n' for kind, name, size in kinds)
    )
    checked = written_proof.check_proof
    monkeypatch.setattr(written_proof, "check_proof", lambda proof: (asked.append(proof), checked(proof))[1])
    code, _, said = run("audit", file, "--delta", "1e-6", "--proof", proof)
    assert (code, len(asked), proof.exists()) == (2, 3, False)
    assert "accepts no figure within 1 % of the answer" in said
