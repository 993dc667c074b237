"""Files that somebody else may have written: read, or refused in one sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from damaged import damaged
from hypothesis import HealthCheck, given, settings

from accountant import Accountant, Budget
from accountant.audit import read_releases
from accountant.files.data_files import DataFileError, from_json, from_toml, without_repetition
from mechanisms import Interval, Laplace

RELEASES = {
    "release": [
        {"mechanism": "gaussian", "name": "g", "sigma": 1.0, "sensitivity": 1.0, "count": 3, "sampling_rate": 0.1},
        {"mechanism": "laplace", "scale": 2, "sensitivity": 1, "records": ["a", "b"]},
        {"mechanism": "randomized-response", "epsilon": 1.0, "k": 3, "partition": "p"},
    ]
}  # fmt: skip


def ledger() -> Accountant:
    accountant = Accountant(Budget(3.0, 1e-5), noise=np.random.default_rng(0), seed=1)
    for record in ("a", "b", 7):
        accountant.release(Laplace(scale=4.0), accountant.private([0.5], Interval(0, 1), record))
    return accountant


def exported() -> Any:
    with TemporaryDirectory() as folder:
        ledger().export(Path(folder) / "ledger.json")
        return json.loads((Path(folder) / "ledger.json").read_text())


OFTEN = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@OFTEN
@given(damaged(RELEASES))
def test_damaged_releases_are_read_or_refused(tmp_path: Path, document: Any) -> None:
    file = tmp_path / "releases.json"
    file.write_text(json.dumps(document))
    with suppress(ValueError):  # every other error fails the test
        read_releases(file)


@OFTEN
@given(damaged(exported()))
def test_damaged_ledgers_are_read_or_refused(tmp_path: Path, document: Any) -> None:
    file = tmp_path / "ledger.json"
    file.write_text(json.dumps(document))
    with suppress(ValueError):
        read_releases(file)


def test_a_repeated_key_is_found_in_one_pass() -> None:
    compared = 0

    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    keys = [Key(i) for i in range(1_000)]
    with pytest.raises(DataFileError, match="the key '999' occurs twice"):
        without_repetition([(key, 0) for key in (*keys, Key(999))])
    assert 0 < compared < 100


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, "NaN", "1e999", "1e-999", '{"a": 1, "a": 2}', "1" * 5_000, "", "\x00"],
)
def test_json_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(DataFileError, match=r"\A[^\n]*\Z"):
        from_json(text)


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 100_000, "a = 1\na = 2", "a = 1e-999", "a = -1e999", "a = 1" + "0" * 5_000, "\x00"],
)
def test_toml_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(DataFileError, match=r"\A[^\n]*\Z"):
        from_toml(text)


def test_infinities_in_toml_are_those_that_it_writes() -> None:
    assert from_toml("a = inf\nb = -inf") == {"a": float("inf"), "b": float("-inf")}


def test_what_nests_deeper_than_whoever_reads_on_has_room_for_is_refused() -> None:
    """Python's own parser takes some hundred levels more, on which what follows it would run out of stack."""
    deep = "[" * 200 + "]" * 200
    assert from_json(deep) == json.loads(deep)
    assert from_toml(f"a = {deep[1:-1]}") == {"a": json.loads(deep[1:-1])}
    for text in (f"[{deep}]", '{"a":' * 201 + "1" + "}" * 201):
        with pytest.raises(DataFileError, match="nested too deep: at most 200 levels"):
            from_json(text)
    with pytest.raises(DataFileError, match="nested too deep"):
        from_toml(f"a = {deep}")
