"""``dpwitness check`` of a refutation; other files of tests have certificates and ledgers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from accountant import Accountant, Budget
from accountant.proofs.proof_document import FORMAT as PROOF
from accountant.stores.opening import open_store
from algorithms.problems import SettingError
from mechanisms import ParameterError
from verify.commands.command_group import cli
from verify.sampling import event_again

FUNCTION = """\
from mechanisms import Interval
from verify import claimed

@claimed(data=Interval(0, 1))
def half(data, rng):
    return float(data) + rng.laplace(scale=0.5)
"""
KEPT = """\
from mechanisms import Interval
from verify import claimed

kept = []

@claimed(data=Interval(0, 1))
def half(data, rng):
    if not kept:
        kept.extend([rng.laplace(scale=0.5)] * 2)
    return float(data) + kept.pop()
"""
NOISE = "from mechanisms import Laplace\n\nnoise = Laplace(scale={})\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def verified_once(folder: Path, name: str, text: str, subject: str) -> Path:
    """Return the result of a verification, in ``folder``, that refutes a subject of a file."""
    (folder / name).write_text(text)
    result = folder / "result.json"
    asked = ("--epsilon", "1", "--effort", "quick", "--samples", "5000")
    assert run("verify", f"{folder}/{name}:{subject}", *asked, "-o", result).exit_code == 1
    return result


@pytest.fixture(scope="module")
def of_noise(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    result = verified_once(tmp_path_factory.mktemp("noise"), "noise.py", NOISE.format(0.5), "noise")
    return result, result.read_text()


@pytest.fixture(scope="module")
def of_function(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    result = verified_once(tmp_path_factory.mktemp("function"), "mine.py", FUNCTION, "half")
    return result, result.read_text()


@pytest.fixture
def refuted(of_noise: tuple[Path, str]) -> Path:
    """Return the result of a verification that refutes ``noise.py:noise``, both files as they were."""
    result, text = of_noise
    (result.parent / "noise.py").write_text(NOISE.format(0.5))
    result.write_text(text)
    return result


@pytest.fixture
def drawn(of_function: tuple[Path, str]) -> Path:
    """Return the result of a verification that refutes ``mine.py:half`` by an event that it counted, as it was."""
    result, text = of_function
    (result.parent / "mine.py").write_text(FUNCTION)
    result.write_text(text)
    return result


def edit(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a witness in a file, at both places where it stands."""
    data = json.loads(file.read_text())
    for name in ("witness", "best_event"):
        change(data[name])
    file.write_text(json.dumps(data))


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
    assert "is no certificate, refutation or ledger, but of format 'dpwit" in str(
        run("check", file).exception
    )
    file.write_text('{"a": 1}')
    assert str(run("check", file).exception).endswith("or ledger, as it states no format")
    assert str(run("check", tmp_path).exception) == f"{tmp_path}: a folder, which holds no run"


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


def test_an_event_is_drawn_again_on_the_data_of_its_file(drawn: Path) -> None:
    """The draws are fresh: no two checks count the same, and another event in the file is what is counted."""
    data = json.loads(drawn.read_text())
    details = data["witness"]["details"]
    assert details["data"] in (
        {"data": {"type": "<f8", "values": a}, "data_prime": {"type": "<f8", "values": b}}
        for a, b in ((0.0, 1.0), (1.0, 0.0))
    )
    checks = [json.loads(run("check", drawn, "--json").stdout) for _ in range(2)]
    assert [checked["verdict"] for checked in checks] == ["valid", "valid"]
    counts = [checked["verification"]["drawn_again"] for checked in checks]
    assert counts[0]["trials"] == counts[1]["trials"] >= 2 * details["trials"]
    assert counts[0]["seed"] != counts[1]["seed"]
    assert "fresh draws a side: refuted" in checks[0]["reasons"][0]

    threshold = 1e9 if details["event"]["above"] else -1e9
    words = f"the output {'≥' if details['event']['above'] else '≤'} {threshold:g}"

    def beyond_all(witness: dict[str, Any]) -> None:
        witness["event"] = witness["details"]["event_words"] = words
        witness["details"]["event"]["threshold"] = threshold

    edit(drawn, beyond_all)
    assert json.loads(run("check", drawn, "--json").stdout)["verdict"] == "unproven"
    edit(drawn, lambda witness: witness["details"]["data"]["data_prime"].update(values=7.0))
    assert "no neighbours: other holds 7.0" in str(run("check", drawn).exception)


@pytest.mark.slow
def test_evidence_is_of_the_subject_that_its_command_names(refuted: Path) -> None:
    (refuted.parent / "other.py").write_text(NOISE.format(0.5))
    data = json.loads(refuted.read_text())
    named, other = data["subject"], f"{refuted.parent}/other.py:noise"
    refuted.write_text(json.dumps(data | {"subject": other}))
    checked = run("check", refuted)
    assert (checked.exit_code, checked.output.partition(": refuted")[0]) == (1, f"INVALID  {named}")
    assert f"the command is about another subject: {named}" in checked.output
    checked = run("check", refuted, "--subject", named)
    assert (checked.exit_code, checked.output.partition(": refuted")[0]) == (0, f"VALID  {named}")


@pytest.mark.parametrize("deep", [False, True])
def test_floating_point_counts_where_it_is_asked_for(drawn: Path, deep: bool) -> None:
    def to_sign(witness: dict[str, Any]) -> None:
        event = witness["details"]["event"]
        reading = {"kind": "lattice", "aspect": "sign", "reading": event["reading"]}
        if deep:
            reading = {"kind": "where", "reading": event["reading"], "condition": reading, "value": 0.0}
        event["reading"] = reading

    edit(drawn, to_sign)
    assert "the claim is about real arithmetic" in str(run("check", drawn).exception)
    edit(drawn, lambda witness: witness.update(reproduce=f"{witness['reproduce']} --floating-point"))
    assert "must be: " in run("check", drawn).output  # drawn, and said in other words


def test_dependent_draws_prove_nothing(drawn: Path) -> None:
    (drawn.parent / "mine.py").write_text(KEPT)
    data = json.loads(run("check", drawn, "--json").stdout)
    again = data["verification"]["drawn_again"]
    assert (data["verdict"], again["refuted"]) == ("unproven", False)
    assert "too much" in again["dependent"] or "too often" in again["dependent"]


def secret_neighbours(witness: dict[str, Any]) -> None:
    witness["neighbours"]["data"] = "all secrets"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("drawn", lambda witness: witness.update(event="all secrets")),
        ("drawn", lambda witness: witness["details"].update(event_words="all secrets")),
        ("drawn", lambda witness: witness["details"].update(label="all secrets")),
        ("drawn", secret_neighbours),
        ("refuted", lambda witness: witness.update(event="all secrets")),
        ("refuted", secret_neighbours),
    ],
)
def test_words_are_those_of_the_event(
    file: str, change: Callable[[dict[str, Any]], object], request: pytest.FixtureRequest
) -> None:
    result: Path = request.getfixturevalue(file)
    edit(result, change)
    checked = run("check", result)
    first, why, *_ = checked.output.splitlines()
    assert (checked.exit_code, first.partition(" ")[0], "secrets" in first) == (1, "INVALID", False)
    assert "all secrets" in why


@pytest.mark.few(2)
@pytest.mark.parametrize("option", ["--help", "-h", "--version", "--debug", "--epsilon"])
def test_a_command_that_verifies_nothing_is_refused(refuted: Path, option: str) -> None:
    edit(refuted, lambda witness: witness.update(reproduce=f"dpwitness verify noise.py:noise {option}"))
    checked = run("check", refuted)
    assert (checked.exit_code, checked.output) == (1, "")  # the error is what `exit_code` makes 2 of
    assert isinstance(checked.exception, SettingError)
    assert "its command must verify a claim" in str(checked.exception)


@pytest.mark.parametrize("trials", [None, [1], "a", 1.5, True, 10**30, -1, 0])
def test_a_number_of_draws_is_whole(trials: object) -> None:
    with pytest.raises(ParameterError, match=r"trials = .*: must be a whole number from 1 to 1,000,000,000"):
        event_again.tester_of_witness({"swapped": False, "trials": trials}, seed=0, floating_point=False)


@pytest.mark.parametrize("swapped", [None, 0, "no", [True]])
def test_a_witness_says_which_world_is_first(swapped: object) -> None:
    with pytest.raises(ParameterError, match=r"swapped = .*: must be true or false"):
        event_again.tester_of_witness({"swapped": swapped, "trials": 64}, seed=0, floating_point=False)


def test_a_proof_with_a_byte_order_mark_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"format": PROOF, "tested": {"subject": "noise"}}).encode())
    assert isinstance(error := run("check", file).exception, SettingError)
    assert "begins with a byte order mark" in str(error)
