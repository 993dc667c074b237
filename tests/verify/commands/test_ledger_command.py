"""The commands ``dpwitness ledger ...``, and ``dpwitness check`` of ledgers."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, Trust, spending_on
from accountant.audit.release_file import read_releases
from accountant.stores.folding import fold
from accountant.stores.opening import open_store, verify_store
from mechanisms import Interval, Laplace, Sensitivity

HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))


@pytest.fixture
def run(run):
    """Run a command of ``dpwitness ledger``, or ``dpwitness check``."""
    return lambda *arguments: run(*[] if arguments[0] == "check" else ["ledger"], *arguments)


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
    code, out, err = run("check", store)
    assert (code, err) == (0, "")
    assert "5 entries, 1 account: all fit" in out
    assert "reserved, not drawn: 1" in out
    code, out, _ = run("check", store, "--json")
    found = json.loads(out)
    assert (code, found["fits"], found["entries"], found["reserved"]) == (0, True, 5, [5])


def test_the_first_entry_that_does_not_fit_is_named(run, store):
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE entry SET body = replace(body, '2', '3') WHERE position = 2")
    code, out, _ = run("check", store)
    assert code == 1
    assert "entry 2: its hash is not that of its text" in out.replace("\n", " ")
    code, out, _ = run("check", store, "--json")
    assert code == 1
    assert json.loads(out)["fits"] is False


def test_what_is_left_is_said_exactly_and_never_rounded_up(run, tmp_path):
    path = tmp_path / "ledger.db"
    accountant = Accountant(Budget(1.0, 1e-6), noise=np.random.default_rng(0), store=path)
    third = Laplace(scale=3.0, sensitivity=Sensitivity(1, 1, 1))
    for record in ("ann", "17", "17b", "17b"):
        accountant.release(third, value(accountant, record))
    exact = accountant.spent("ann").epsilon
    _, out, _ = run("show", path, "ann", "17", "17b", "bob", "--json")  # the store is in use
    found = json.loads(out)["records"]
    assert set(found) == {'"ann"', '"17b"', "17", '"bob"'}
    assert found['"ann"'] == found["17"]
    assert Fraction(found['"ann"']["spent"]["epsilon"]) == exact
    assert Fraction(found['"17b"']["left"]["epsilon"]) == 1 - 2 * exact
    assert found['"bob"']["spent"] == {"epsilon": "0", "delta": "0"}
    _, out, _ = run("show", path)
    assert '"17b"' in out
    assert "0.666667" in out
    assert "0.333333" in out
    shutil.copy(path, tmp_path / "copy.db")
    shutil.copy(f"{path}-wal", tmp_path / "copy.db-wal")
    assert run("show", tmp_path / "copy.db")[1] == out
    Accountant(Budget(1.0), store=tmp_path / "empty.db")
    assert "nobody has spent anything" in run("show", tmp_path / "empty.db")[1]
    assert run("show", tmp_path / "none.db")[0] == 2


def test_names_with_brackets_are_shown_as_they_are(run, tmp_path):
    path, names = tmp_path / "ledger.db", ["ann[/x]", "[red]bob"]
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path)
    for name in names:
        accountant.release(HALF, value(accountant, name))
    code, out, err = run("show", path, *names)
    assert (code, err) == (0, "")
    assert all(f'"{name}"' in out for name in names)


def test_a_reservation_is_listed_and_given_back(run, store):
    _, out, _ = run("show", store, "--json")
    ((position, shown),) = json.loads(out)["reservations"].items()
    holder = shown["held_by"]
    assert holder.startswith("process ")
    assert shown["until"] is None
    assert holder in run("show", store)[1].replace("\n", "")
    assert run("amend", store, "--cancel", position)[:2] == (0, f"reservation {position} is given back\n")
    assert "no open reservations" in run("show", store)[1]
    code, _, err = run("amend", store, "--cancel", position)
    assert code == 2
    assert "was drawn or given back before" in err
    with_deadline = Accountant(Budget(1.0), store=store)
    assert with_deadline.spent("ann").epsilon == Fraction(1, 2)
    with_deadline.reserve(with_deadline.price(HALF, value(with_deadline, "ann")), seconds=1e6)
    ((_, shown),) = json.loads(run("show", store, "--json")[1])["reservations"].items()
    assert shown["until"] in run("show", store)[1]


def test_all_of_a_ledger_is_shown(run, store):
    found = json.loads(run("show", store, "--json")[1])
    assert set(found) == {"records", "rules", "changes", "reservations", "waiting"}
    assert (found["rules"], found["changes"], found["waiting"]) == ([], [], None)
    assert set(json.loads(run("show", store, "ann", "--json")[1])) == {"records"}


SAID = ("--author", "dora", "--reason", "a test")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (SAID, "exactly one must be given"),
        ((*SAID, "--accept-clock", "--promote"), "exactly one must be given"),
        (("--accept-clock", "--reason", "a test"), "--author '': must say"),
        (("--promote", "--author", "dora"), "--reason '': must say"),
        ((*SAID, "--cancel", "5"), "--author dora: not with --cancel"),
        ((*SAID, "--accept-clock", "--allow-return"), "--allow-return: only with --erase"),
        ((*SAID, "--erase", "ann"), "say --allow-return if that is meant"),
        (("--cancel", "five"), "'--cancel': 'five' is not a valid integer"),
        (("--expire", "1w"), "'--expire': '1w' must be a number with its unit"),
        (("--expire", "1d"), "holds no run"),
        (("--expire", "0s"), "holds no run"),
        (("--cancel", "0"), "reservation 0"),
        ((*SAID, "--rules", "none.toml"), "'--rules': File 'none.toml' does not exist"),
    ],
)
def test_what_is_no_change_is_refused_and_changes_nothing(run, store, arguments, words):
    before = run("check", store)[1]
    code, out, err = run("amend", store, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert run("check", store)[1] == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--epsilon: must be given"),
        (("--epsilon", "1", "--purpose", "ads"), "no such option --purpose; it is in [[run]] of the file of"),
        (("--from", "a.json", "--author", "ann"), "no such option --author; the ledger says your login name"),
        (("--epsilon", "1", "--problem", "top-k"), "--problem top-k: only with --learner"),
        (("--epsilon", "1", "--trust", "none"), "--trust none: must be central, local or shuffle"),
        (("--epsilon", "1", "--set", "failures=0.1"), "--set failures: is no parameter of the composition"),
        (("--epsilon", "1", "--learner", "dp-bandit", "--strict"), "--strict True: not with --learner"),
    ],
)
def test_what_a_new_ledger_does_without_is_refused(run, tmp_path, arguments, words):
    code, out, err = run("create", tmp_path / "ledger.db", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert not (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize("columns", [0, 1, 19])
def test_where_no_word_fits_results_are_as_wide_as_usual(run, store, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", "80")
    usual = run("show", store, "ann")
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run("show", store, "ann") == usual
    assert '"ann"   its budget  epsilon' in usual[1]


def test_a_lost_anchor_is_forgotten(run, store, tmp_path):
    open_store(store, anchor=tmp_path / "anchor").close()
    code, _, err = run("amend", store, "--cancel", "1")
    assert code == 2
    assert "is spent from with its anchor only" in err
    code, _, err = run("amend", store, "--anchor", "none", "--cancel", "1")
    assert (code, "exactly one must be given" in err) == (2, True)
    assert run("amend", store, "--anchor", "none")[0] == 2  # nobody said who and why
    code, out, _ = run("amend", store, "--anchor", "none", *SAID)
    assert code == 0
    assert out.startswith("it needs no anchor from entry ")
    Accountant(Budget(1.0), store=store).ledger.close()
    assert "has no anchor" in run("amend", store, "--anchor", "none", *SAID)[2]


def test_a_copy_is_adopted(run, store, tmp_path):
    shutil.copy(store, tmp_path / "copy.db")
    code, _, err = run("amend", tmp_path / "copy.db", "--cancel", 5)
    assert code == 2
    assert "is a copy" in err
    code, out, _ = run("amend", tmp_path / "copy.db", "--promote", *SAID)
    assert (code, out) == (0, "epoch 1 begins after entry 5\n")
    assert "a test (dora)" in (tmp_path / "copy.db").read_bytes().decode("latin-1")
    assert run("amend", tmp_path / "copy.db", "--cancel", 5)[0] == 0


def test_who_reads_a_copy_that_goes_on_is_told_what_it_may_lack(run, store, tmp_path):
    copy, exported = tmp_path / "copy.db", tmp_path / "copy.json"
    shutil.copy(store, copy)
    words = "adopted {}, as a copy or a backup: later charges elsewhere, on the same budgets, are not in it"
    for times in ("1 time", "2 times"):
        assert run("amend", copy, "--promote", *SAID)[0] == 0
        assert words.format(times) in run("check", copy)[1]
        assert json.loads(run("check", copy, "--json")[1])["adopted"] == int(times[0])
    assert run("show", copy, "-o", exported)[0] == 0
    assert words.format("2 times") in run("check", exported)[1]
    assert [read_releases(each).about.notes for each in (copy, exported, store)] == [
        words.format("2 times"),
        words.format("2 times"),
        "",
    ]
    assert json.loads(run("check", store, "--json")[1])["adopted"] == 0


def test_an_export_is_verified_and_imported_once(run, store, tmp_path, monkeypatch):
    file = tmp_path / "ledger.json"
    assert run("show", store, "-o", file)[0] == 0
    assert "5 entries, 1 account: all fit" in run("check", file)[1]
    head = json.loads(run("check", file, "--json")[1])["head"]
    monkeypatch.setenv("LOGNAME", "dora")
    code, out, _ = run("create", tmp_path / "new.db", "--from", file)
    assert code == 0
    assert out.startswith("2 charges imported into ")
    assert not file.exists()
    assert "`dpwitness audit` reads" in out
    assert read_releases(tmp_path / "ledger.json.imported").ledger is not None
    (said,) = json.loads(run("check", tmp_path / "new.db", "--json")[1])["imported"]
    why = f"imported from {file}"
    assert (said["position"], said["hash"], said["by"], said["reason"]) == (5, head, "dora", why)
    out = run("check", tmp_path / "new.db")[1]
    assert f"imported: ledger {said['store']}, up to its entry 5, by dora: {why}" in out
    words = (
        "imported 1 time, from another ledger: later charges elsewhere, on the same budgets, are not in it"
    )
    assert words in out
    assert read_releases(tmp_path / "new.db").about.notes == words
    code, _, err = run("create", tmp_path / "newer.db", "--from", tmp_path / "new.db")
    assert code == 2
    assert "is a store; export it: dpwitness ledger show" in err
    code, _, err = run("create", tmp_path / "new.db", "--from", tmp_path / "ledger.json.imported")
    assert code == 2
    assert "exists already" in err


@pytest.mark.parametrize(
    "arguments", [("check",), ("show",), ("show", "-o", "out.json"), ("amend", "--cancel", 1)]
)
def test_what_is_not_there_is_an_input_error(run, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments, "none.db")
    assert (code, out) == (2, "")
    assert "none.db" in err
    assert list(tmp_path.iterdir()) == []


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
        assert run("amend", store, "--rules", file)[0] == 2  # nobody said who and why
        code, out, _ = run("amend", store, "--rules", file, "--author", "dora", "--reason", "a new policy")
        assert (code, out) == (0, "1 rule in force; what was charged before counts, too\n")
        found = json.loads(run("show", store, "--json")[1])
        assert [each["budget"][0] for each in found["rules"]] == [(1.0).hex()]
        assert [each["by"] for each in found["changes"]] == ["whoever made it", "dora"]
        accountant.release(HALF, value(accountant))
    found = json.loads(run("show", store, "ann", "--json")[1])["records"]['"ann"']["rules"]
    assert [each["left"]["epsilon"] for each in found] == ["0"]
    assert "for purpose 'ads' in any 30 days" in " ".join(run("show", store)[1].split())
    assert "charges go on from" in run("amend", store, "--accept-clock", *SAID)[1]
    for text, words in (
        ("[[rule]]\ndays = 3", "rule 1 has no epsilon"),
        ("[rule]\nepsilon = 3", "must have tables"),
        ("epsilon", "not valid TOML"),
        ("[[rule]]\nepsilon = 1\nday = 3", "rule 1: 'day' is none of epsilon, delta, purpose"),
        ("[[rule]]\nepsilon = 1e999", "1e999 is larger than every float"),
        ("a = " + 10_000 * "[", "nested too deep"),
    ):
        file.write_text(text)
        code, _, err = run("amend", store, "--rules", file, *SAID)
        assert code == 2
        assert re.search(words, " ".join(err.split()))


def test_a_folded_ledger_is_checked_and_shown(run, store):
    left = run("show", store, "ann", "--json")[1]
    with closing(open_store(store)) as opened:
        fold(opened, 1 << 45, "ann", "room")
    code, out, _ = run("check", store)
    assert code == 0
    assert "folded: the entries up to 5, by ann: room" in out
    assert "what a fold says of the entries that it removed is believed" in out
    assert json.loads(run("check", store, "--json")[1])["folded"] == 5
    assert run("show", store, "ann", "--json")[1] == left


def test_names_are_hashed_looked_up_rotated_and_erased(run, tmp_path):
    path, key = tmp_path / "ledger.db", tmp_path / "names.key"
    code, out, _ = run("create", path, "--epsilon", 1, "--name-keys", key)
    assert (code, "names.key: a new key; keep a copy, not beside the ledger" in out) == (0, True)
    assert key.stat().st_mode & 0o777 == 0o600
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path, names=key)
    for record in ("ann", 17):
        accountant.release(HALF, value(accountant, record))
    accountant.ledger.close()
    code, _, err = run("show", path, "ann")
    assert code == 2
    assert "key was not given" in err
    found = json.loads(run("show", path, "ann", "17", "--name-keys", key, "--json")[1])["records"]
    assert {name: each["spent"]["epsilon"] for name, each in found.items()} == {
        '"ann"': "1/2",
        "17": "1/2",
    }
    (shown,) = json.loads(run("show", path, "--json")[1])["records"]
    assert shown.startswith('"hmac-sha256:')
    assert (
        json.loads(run("show", path, shown.strip('"'), "--json")[1])["records"][shown]["spent"]["epsilon"]
        == "1/2"
    )

    code, out, _ = run("amend", path, "--rotate-keys", key, *SAID)
    assert (code, out) == (0, "2 accounts named by hashes under the newest key\n")
    assert len(key.read_text().split()) == 2
    assert json.loads(run("show", path, "ann", "--name-keys", key, "--json")[1])["records"] == {
        '"ann"': found['"ann"']
    }

    code, _, err = run("amend", path, "--erase", "ann", *SAID, "--name-keys", key)
    assert code == 2
    assert "a full budget" in err
    assert "key was not given" in run("amend", path, "--erase", "ann", *SAID, "--allow-return")[2]
    code, out, _ = run("amend", path, "--erase", 17, *SAID, "--name-keys", key, "--allow-return")
    assert code == 0
    (erased,) = re.findall("erased:[0-9a-f]{32}", out)
    assert (
        json.loads(run("show", path, erased, "--json")[1])["records"][f'"{erased}"']["spent"]["epsilon"]
        == "1/2"
    )
    found = json.loads(run("check", path, "--json")[1])
    assert (found["hashed_names"], found["erased_names"]) == (True, 1)
    out = run("check", path)[1]
    assert "records are named by hashes under a key" in out
    assert "1 name erased; whoever came back began anew" in out

    assert run("show", path, "-o", tmp_path / "ledger.json")[0] == 0
    imported = ("create", tmp_path / "new.db", "--from", tmp_path / "ledger.json", "--name-keys", key)
    assert run(*imported)[0] == 0
    assert json.loads(run("check", tmp_path / "new.db", "--json")[1])["erased_names"] == 1
    assert json.loads(run("show", tmp_path / "new.db", "ann", "--name-keys", key, "--json")[1])["records"][
        '"ann"'
    ]["spent"]


def test_a_setting_of_a_theorem_that_takes_several_numbers_takes_one(run, tmp_path):
    code, out, _ = run(
        "create",
        tmp_path / "one.db",
        "--epsilon",
        1,
        "--delta",
        1e-6,
        "--composition",
        "renyi",
        "--set",
        "orders=2",
    )
    assert (code, "(Rényi filter)" in out) == (0, True)
    asked = ("--epsilon", 1, "--composition", "renyi", "--set", "orders=1")
    code, _, err = run("create", tmp_path / "none.db", *asked)
    assert (code, "must increase, above 1 and finite" in err) == (2, True)
