"""The commands ``dpwitness ledger ...``."""

import json
import re
import shutil
import sqlite3
import sys
from contextlib import closing
from fractions import Fraction

import numpy as np
import pytest
from reopened import saved_by_an_earlier_version

from accountant import Accountant, Budget, BudgetExceeded, Trust, spending_on
from accountant.audit.release_file import read_releases
from accountant.stores.opening import verify_store
from mechanisms import Interval, Laplace, Sensitivity
from verify import command_line

HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpwitness", "ledger", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            command_line.main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return call


def value(accountant, record="ann"):
    return accountant.private([0.5], Interval(0, 1), record)


@pytest.fixture
def store(tmp_path):
    accountant = Accountant(Budget(1.0), store=tmp_path / "ledger.db")
    accountant.release(HALF, value(accountant))
    accountant.reserve(accountant.price(HALF, value(accountant)))
    accountant.ledger.close()
    return tmp_path / "ledger.db"


def test_a_store_that_fits(run, store):
    code, out, err = run("verify", store)
    assert (code, err) == (0, "")
    assert "5 entries, 1 accounts: all fit" in out
    assert "reserved, not drawn: 1" in out
    code, out, _ = run("verify", store, "--json")
    found = json.loads(out)
    assert (code, found["fits"], found["entries"], found["reserved"]) == (0, True, 5, [5])


def test_the_first_entry_that_does_not_fit_is_named(run, store):
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE entry SET body = replace(body, '2', '3') WHERE position = 2")
    code, out, _ = run("verify", store)
    assert code == 1
    assert "entry 2: its hash is not that of what it says" in out.replace("\n", " ")
    code, out, _ = run("verify", store, "--json")
    assert code == 1
    assert json.loads(out)["fits"] is False


def test_what_is_left_is_said_exactly_and_never_rounded_up(run, tmp_path):
    path = tmp_path / "ledger.db"
    accountant = Accountant(Budget(1.0, 1e-6), noise=np.random.default_rng(0), store=path)
    third = Laplace(scale=3.0, sensitivity=Sensitivity(1, 1, 1))
    for record in ("ann", "17", "17b", "17b"):
        accountant.release(third, value(accountant, record))
    exact = accountant.spent("ann").epsilon
    _, out, _ = run("left", path, "ann", "17", "17b", "bob", "--json")  # the store is in use
    found = json.loads(out)
    assert set(found) == {'"ann"', '"17b"', "17", '"bob"'}
    assert found['"ann"'] == found["17"]
    assert Fraction(found['"ann"']["spent"]["epsilon"]) == exact
    assert Fraction(found['"17b"']["left"]["epsilon"]) == 1 - 2 * exact
    assert found['"bob"']["spent"] == {"epsilon": "0", "delta": "0"}
    _, out, _ = run("left", path)
    assert '"17b"' in out
    assert "0.666667" in out
    assert "0.333333" in out
    shutil.copy(path, tmp_path / "copy.db")
    shutil.copy(f"{path}-wal", tmp_path / "copy.db-wal")
    assert run("left", tmp_path / "copy.db")[1] == out
    Accountant(Budget(1.0), store=tmp_path / "empty.db")
    assert "nobody has spent anything" in run("left", tmp_path / "empty.db")[1]
    assert run("left", tmp_path / "none.db")[0] == 2


def test_names_with_brackets_are_shown_as_they_are(run, tmp_path):
    path, names = tmp_path / "ledger.db", ["ann[/x]", "[red]bob"]
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path)
    for name in names:
        accountant.release(HALF, value(accountant, name))
    code, out, err = run("left", path, *names)
    assert (code, err) == (0, "")
    assert all(f'"{name}"' in out for name in names)


def test_a_reservation_is_listed_and_given_back(run, store):
    _, out, _ = run("reservations", store, "--json")
    ((position, holder),) = json.loads(out)["reservations"].items()
    assert holder.startswith("process ")
    assert holder in run("reservations", store)[1].replace("\n", "")
    assert run("give-back", store, position)[0] == 0
    assert "no open reservations" in run("reservations", store)[1]
    code, _, err = run("give-back", store, position)
    assert code == 2
    assert "was drawn or given back before" in err
    assert Accountant(Budget(1.0), store=store).spent("ann").epsilon == Fraction(1, 2)


@pytest.mark.parametrize("columns", [0, 1, 19])
def test_where_no_word_fits_results_are_as_wide_as_usual(run, store, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", "80")
    usual = run("left", store, "ann")
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run("left", store, "ann") == usual
    assert '"ann"   its budget  epsilon' in usual[1]


def test_a_copy_is_adopted(run, store, tmp_path):
    shutil.copy(store, tmp_path / "copy.db")
    code, _, err = run("reservations", tmp_path / "copy.db")
    assert code == 2
    assert "is a copy" in err
    code, out, _ = run("adopt", tmp_path / "copy.db", "--reason", "the disk is gone")
    assert (code, out) == (0, "epoch 1 begins after entry 5\n")
    assert run("reservations", tmp_path / "copy.db")[0] == 0


def test_who_reads_a_copy_that_goes_on_is_told_what_it_may_lack(run, store, tmp_path):
    copy, exported = tmp_path / "copy.db", tmp_path / "copy.json"
    shutil.copy(store, copy)
    words = "adopted {}, as a copy or a backup: what was charged elsewhere since, from the same budgets, is not in it"
    for times in ("1 time", "2 times"):
        assert run("adopt", copy, "--reason", "a test")[0] == 0
        assert words.format(times) in run("verify", copy)[1]
        assert json.loads(run("verify", copy, "--json")[1])["adopted"] == int(times[0])
    assert run("export", copy, exported)[0] == 0
    assert words.format("2 times") in run("verify", exported)[1]
    assert [read_releases(each).about.notes for each in (copy, exported, store)] == [
        words.format("2 times"),
        words.format("2 times"),
        "",
    ]
    assert json.loads(run("verify", store, "--json")[1])["adopted"] == 0


def test_an_export_is_verified_and_imported_once(run, store, tmp_path):
    file = tmp_path / "ledger.json"
    assert run("export", store, file)[0] == 0
    assert "5 entries, 1 accounts: all fit" in run("verify", file)[1]
    code, out, _ = run("import", file, "--store", tmp_path / "new.db")
    assert code == 0
    assert out.startswith("2 charges are in ")
    assert not file.exists()
    code, _, err = run("import", tmp_path / "ledger.json.imported", "--store", tmp_path / "new.db")
    assert code == 2
    assert "exists already" in err


def test_a_ledger_of_an_earlier_version_is_imported(run, tmp_path):
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    accountant.release(HALF, value(accountant))
    (tmp_path / "old.json").write_text(json.dumps(saved_by_an_earlier_version(accountant)))
    assert "dpwitness ledger import" in run("verify", tmp_path / "old.json")[1].replace("\n", " ")
    assert run("import", tmp_path / "old.json", "--store", tmp_path / "new.db")[0] == 0
    assert Accountant(Budget(1.0), store=tmp_path / "new.db").spent("ann").epsilon == Fraction(1, 2)


@pytest.mark.parametrize("command", ["verify", "reservations", "export"])
def test_what_is_not_there_is_an_input_error(run, tmp_path, command):
    more = [tmp_path / "out.json"] if command == "export" else []
    code, out, err = run(command, tmp_path / "none.db", *more)
    assert (code, out) == (2, "")
    assert "none.db" in err
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("composition", ["basic", "advanced", "zcdp", "renyi", "gaussian"])
def test_a_store_is_created_with_its_terms_once(run, tmp_path, composition):
    store = tmp_path / "ledger.db"
    asked = ("create", store, "--epsilon", "0.5", "--delta", "1e-6", "--composition", composition, "--strict")
    code, out, err = run(*asked)
    assert (code, err) == (0, "")
    assert "each record may lose" in out
    terms = verify_store(store).replay.terms
    assert (terms.budget, terms.strict, terms.trust) == (Budget(0.5, 1e-6), True, Trust.CENTRAL)
    code, _, err = run(*asked)
    assert (code, "holds a ledger already" in err) == (2, True)


def test_a_password_is_not_printed(run, url):
    secret = url.replace("postgres:@", "postgres:hidden@")
    assert secret != url
    for code in (0, 2):
        said = run("create", secret, "--epsilon", "1")
        assert (said[0], "hidden" in "".join(said[1:])) == (code, False), said


def test_a_store_is_not_created_with_terms_that_promise_nothing(run, tmp_path):
    store = tmp_path / "ledger.db"
    assert run("create", store, "--epsilon", "-1")[0] == 2
    assert run("create", store, "--epsilon", "1", "--composition", "zcdp")[0] == 2
    assert not store.exists()


def test_rules_are_set_changed_and_shown(run, tmp_path):
    store, file = tmp_path / "ledger.db", tmp_path / "rules.toml"
    file.write_text('[[rule]]\nepsilon = 0.5\npurpose = "ads"\ndays = 30\n')
    assert run("create", store, "--epsilon", "2", "--rules", file)[0] == 0
    accountant = Accountant(Budget(2.0), noise=np.random.default_rng(0), store=store)
    with spending_on("ads"):
        accountant.release(HALF, value(accountant))
        with pytest.raises(BudgetExceeded):
            accountant.release(HALF, value(accountant))
        file.write_text('[[rule]]\nepsilon = 1.0\npurpose = "ads"\ndays = 30\n')
        assert run("rules", store, "--set", file)[0] == 2  # nobody said who and why
        code, out, _ = run(
            "rules", store, "--set", file, "--by", "dora", "--reason", "a new policy", "--json"
        )
        assert code == 0
        found = json.loads(out)
        assert [each["budget"][0] for each in found["rules"]] == [(1.0).hex()]
        assert [each["by"] for each in found["changes"]] == ["whoever made it", "dora"]
        accountant.release(HALF, value(accountant))
    found = json.loads(run("left", store, "ann", "--json")[1])['"ann"']["rules"]
    assert [each["left"]["epsilon"] for each in found] == ["0"]
    assert "for purpose 'ads' in any 30 days" in " ".join(run("rules", store)[1].split())
    assert "charges go on from" in run("clock", store, "--by", "dora", "--reason", "a holiday")[1]
    for text, words in (
        ("[[rule]]\ndays = 3", "rule 1 has no epsilon"),
        ("[rule]\nepsilon = 3", "must have tables"),
        ("epsilon", "not valid TOML"),
        ("[[rule]]\nepsilon = 1\nday = 3", "rule 1: 'day' is none of epsilon, delta, purpose"),
        ("[[rule]]\nepsilon = 1e999", "1e999 is larger than every float"),
        ("a = " + 10_000 * "[", "nested too deep"),
    ):
        file.write_text(text)
        code, _, err = run("rules", store, "--set", file, "--by", "dora", "--reason", "none")
        assert code == 2
        assert re.search(words, " ".join(err.split()))


def test_old_entries_are_folded(run, store, tmp_path):
    run("export", store, tmp_path / "before.json")
    head = json.loads(run("verify", tmp_path / "before.json", "--json")[1])["head"]
    left = run("left", store, "ann", "--json")[1]
    code, out, err = run("fold", store, "--before", "2999-01-01", "--by", "ann", "--reason", "room")
    assert (code, err) == (0, "")
    assert "1 entries are gone; verification begins after entry 5" in out
    assert f"the head of an export made then: {head}" in out
    code, out, _ = run("verify", store)
    assert code == 0
    assert "folded: the entries up to 5, by ann: room" in out
    assert json.loads(run("verify", store, "--json")[1])["folded"] == 5
    assert run("left", store, "ann", "--json")[1] == left
    code, _, err = run("fold", store, "--before", "2000-01-01", "--by", "ann", "--reason", "room")
    assert code == 2
    assert "no entry that is so old" in err


def test_a_fold_is_verified_with_the_archive_of_what_it_removed(run, store, tmp_path):
    archive = tmp_path / "folded.json"
    said = ("--before", "2999-01-01", "--by", "ann", "--reason", "room")
    assert run("fold", store, *said, "--archive", archive)[0] == 0
    assert "those up to 5 are believed" in run("verify", store)[1]
    code, out, err = run("verify", store, "--archive", archive)
    assert (code, err) == (0, "")
    assert "the archives lead to what the folds say; what cannot be rebuilt is on trust in them, too" in out
    assert json.loads(run("verify", store, "--archive", archive, "--json")[1])["believed"] == 0
    archive.write_text(archive.read_text().replace('"at":', '"at":1', 1))
    code, out, _ = run("verify", store, "--archive", archive)
    assert code == 1
    assert "entry 1: its hash is not that of what it says" in out


class Own(Laplace):
    """A mechanism that no ledger can rebuild."""


def test_mechanisms_of_folded_entries_stay_on_trust_with_archives(run, store, tmp_path):
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0), store=store)
    accountant.release(Own(scale=8.0, sensitivity=Sensitivity(1, 1, 1)), value(accountant, "bob"))
    archives = tmp_path / "first.json", tmp_path / "second.json"
    said = ("--before", "2999-01-01", "--by", "ann", "--reason", "room")
    assert run("fold", store, *said, "--archive", archives[0])[0] == 0
    accountant.release(Own(scale=16.0, sensitivity=Sensitivity(1, 1, 1)), value(accountant, "bob"))
    accountant.ledger.close()
    assert run("fold", store, *said, "--archive", archives[1])[0] == 0
    last = ("--archive", archives[1])
    for given, folded in (((), True), (last, True), ((*last, "--archive", archives[0]), False)):
        code, out, _ = run("verify", store, *given)
        assert code == 0
        assert out.count("on trust: the charge of {") == out.count('"Own"') == 2
        assert ("on trust: the charge of entries that were folded" in out) == folded
        assert len(json.loads(run("verify", store, *given, "--json")[1])["on_trust"]) == 2 + folded


def test_names_are_hashed_looked_up_rotated_and_erased(run, tmp_path):
    path, key = tmp_path / "ledger.db", tmp_path / "names.key"
    assert run("key", key)[0] == 0
    assert run("create", path, "--epsilon", 1, "--names", key)[0] == 0
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path, names=key)
    for record in ("ann", 17):
        accountant.release(HALF, value(accountant, record))
    accountant.ledger.close()
    code, _, err = run("left", path, "ann")
    assert code == 2
    assert "key was not given" in err
    found = json.loads(run("left", path, "ann", "17", "--names", key, "--json")[1])
    assert {name: each["spent"]["epsilon"] for name, each in found.items()} == {
        '"ann"': "1/2",
        "17": "1/2",
    }
    (shown,) = json.loads(run("left", path, "--json")[1])
    assert shown.startswith('"hmac-sha256:')
    assert json.loads(run("left", path, shown.strip('"'), "--json")[1])[shown]["spent"]["epsilon"] == "1/2"

    words = ("--by", "ann", "--reason", "why")
    assert "none of these keys is new" in run("rotate", path, "--names", key, *words)[2]
    assert run("key", key)[0] == 2
    assert run("key", key, "--add")[0] == 0
    code, out, _ = run("rotate", path, "--names", key, *words)
    assert (code, out) == (0, "2 accounts are named by hashes under the newest key\n")
    assert json.loads(run("left", path, "ann", "--names", key, "--json")[1]) == {'"ann"': found['"ann"']}

    code, _, err = run("erase", path, "ann", *words, "--names", key)
    assert code == 2
    assert "whole budget" in err
    assert "key was not given" in run("erase", path, "ann", *words, "--begins-anew")[2]
    code, out, _ = run("erase", path, 17, *words, "--names", key, "--begins-anew")
    assert code == 0
    (erased,) = re.findall("erased:[0-9a-f]{32}", out)
    assert json.loads(run("left", path, erased, "--json")[1])[f'"{erased}"']["spent"]["epsilon"] == "1/2"
    found = json.loads(run("verify", path, "--json")[1])
    assert (found["hashed_names"], found["erased_names"]) == (True, 1)
    out = run("verify", path)[1]
    assert "records are named by hashes under a key" in out
    assert "1 names were erased; whoever came back began anew" in out

    assert run("export", path, tmp_path / "ledger.json")[0] == 0
    assert run("import", tmp_path / "ledger.json", "--store", tmp_path / "new.db", "--names", key)[0] == 0
    assert json.loads(run("left", tmp_path / "new.db", "ann", "--names", key, "--json")[1])['"ann"']["spent"]
