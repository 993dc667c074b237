"""Keys: only their hashes are kept, and a file that others could have written is not believed."""

import json
from pathlib import Path

import pytest

from accountant.rules.scope import Scope
from accountant.service.keys import KeyFile, KeyScope


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys")


def test_a_key_is_found_by_itself_and_nothing_else(keys: KeyFile) -> None:
    assert keys.load_keys() == ()
    first, second = keys.add("ann", [KeyScope.SPEND]), keys.add("bob", [KeyScope.READ, KeyScope.SPEND])
    found = keys.find(first)
    assert found is not None
    assert (found.name, found.allows(KeyScope.SPEND), found.allows(KeyScope.READ)) == ("ann", True, False)
    assert keys.find(second[:-1]) is keys.find("") is keys.find(first + "x") is keys.find("\udcff") is None
    text = keys.path.read_text()
    assert first not in text
    assert found.digest.hex() in text
    assert keys.path.stat().st_mode & 0o777 == 0o600


def test_an_administrators_key_allows_everything(keys: KeyFile) -> None:
    found = keys.find(keys.add("root", [KeyScope.ADMIN]))
    assert found is not None
    assert all(found.allows(scope) for scope in KeyScope)


def test_what_another_process_changes_holds_at_once(keys: KeyFile) -> None:
    key = keys.add("ann", [KeyScope.SPEND])
    assert keys.find(key) is not None
    KeyFile(keys.path).remove("ann")
    assert keys.find(key) is None
    again = KeyFile(keys.path).add("ann", [KeyScope.SPEND])
    assert again != key
    assert keys.find(again) is not None


@pytest.mark.parametrize("name", ["", "a:b", "a b", "-x", "x" * 65, "ann\n", "é"])
def test_names_that_are_none(keys: KeyFile, name: str) -> None:
    with pytest.raises(ValueError, match=r"name = .*must be 1 to 64 letters"):
        keys.add(name, [KeyScope.READ])


def test_names_are_for_one_key(keys: KeyFile) -> None:
    keys.add("ann", [KeyScope.READ])
    with pytest.raises(ValueError, match="name = 'ann': there is a key of this name"):
        keys.add("ann", [KeyScope.READ])
    with pytest.raises(ValueError, match="name = 'bob': there is no key"):
        keys.remove("bob")
    with pytest.raises(ValueError, match="at least one of read, spend, act, observe, admin"):
        keys.add("bob", [])


def test_a_file_that_others_may_write_is_not_believed(keys: KeyFile) -> None:
    key = keys.add("ann", [KeyScope.READ])
    keys.path.chmod(0o620)
    with pytest.raises(ValueError, match="may be written by others"):
        keys.find(key)


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: [],
        lambda saved: {**saved, "format": "2"},
        lambda saved: {**saved, "keys": {}},
        lambda saved: {**saved, "keys": [{}]},
        lambda saved: {**saved, "keys": [{**saved["keys"][0], "scopes": ["all"]}]},
        lambda saved: {
            **saved,
            "keys": [{**saved["keys"][0], "run": ["shop"]}],
        },  # misspelled, it would limit nothing
        lambda saved: {**saved, "keys": [{**saved["keys"][0], "runs": []}]},
        lambda saved: {**saved, "keys": [{**saved["keys"][0], "runs": "shop"}]},
        lambda saved: {**saved, "keys": [{**saved["keys"][0], "purpose": ""}]},
        lambda saved: {**saved, "keys": [{**saved["keys"][0], "sha256": "00"}]},
        lambda saved: {**saved, "keys": [{**saved["keys"][0], "sha256": 7}]},
        lambda saved: {**saved, "keys": [{**saved["keys"][0], "name": "a:b"}]},
    ],
)
def test_damaged_files_are_named(keys: KeyFile, change) -> None:  # type: ignore[no-untyped-def]
    keys.add("ann", [KeyScope.READ])
    keys.path.write_text(json.dumps(change(json.loads(keys.path.read_text()))))
    with pytest.raises(ValueError, match="keys: is no file of keys"):
        KeyFile(keys.path).load_keys()


def test_a_key_may_be_for_some_runs_only(keys: KeyFile) -> None:
    keys.add("web", [KeyScope.ACT], ["shop", "news"])
    keys.add("ann", [KeyScope.ACT], spends_on=Scope("ads", "acme"))
    web, ann = KeyFile(keys.path).load_keys()
    assert [web.spends_on, ann.spends_on] == [Scope(), Scope("ads", "acme")]
    assert [web.reaches(run) for run in ("shop", "news", "other", None)] == [True, True, False, False]
    assert [ann.reaches(run) for run in ("shop", None)] == [True, True]
    with pytest.raises(ValueError, match=r"run = '\.\.': must be 1 to 64 letters"):
        keys.add("bob", [KeyScope.ACT], [".."])
