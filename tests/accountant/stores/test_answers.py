"""One answer for one charge: it is an entry by its digest, and one that was erased is never drawn anew."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from accountant import Accountant, Budget
from accountant.ledger.store import AnswerErased
from accountant.stores.folding import fold
from accountant.stores.opening import open_store, verify_store
from accountant.stores.store_refusals import LedgerDamaged
from mechanisms import Interval, Laplace

NOISE = Laplace.for_epsilon(0.25, sensitivity=Interval(0, 1).sensitivity)


def opened(path: Path) -> Accountant:
    return Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path)


def ask(accountant: Accountant, request: str | None = "key") -> float:
    return float(
        accountant.release(NOISE, accountant.private([0.5], Interval(0, 1), "ann"), request=request)[0, 0]
    )


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    ask(opened(path))
    return path


@pytest.mark.parametrize("again", [False, True])
def test_an_answer_that_was_erased_is_not_drawn_anew(path: Path, again: bool) -> None:
    accountant = opened(path)
    if again:
        ask(accountant)
    change(path, "UPDATE request SET answer = NULL")
    for _ in range(3):
        with pytest.raises(AnswerErased, match="request = 'key': was answered, and the answer is gone"):
            ask(accountant)
    with pytest.raises(AnswerErased):
        accountant.ledger.keep_answer("key", b"another")
    verify_store(path)  # what was charged, and that it was answered, is as it was
    assert ask(accountant, "other") != ask(accountant, "another")


def test_another_answer_in_its_place_is_noticed(path: Path) -> None:
    change(path, "UPDATE request SET answer = x'00'")
    with pytest.raises(LedgerDamaged, match="the answer to request 'key' is not the one that was given"):
        verify_store(path)


def test_a_digest_that_was_erased_is_noticed(path: Path) -> None:
    change(path, "UPDATE request SET answer = NULL, answered = NULL")
    with pytest.raises(LedgerDamaged, match="the table `request` does not fit"):
        verify_store(path)


@pytest.mark.parametrize("forget", [False, True])
def test_an_answer_outlives_a_fold_of_its_charge(tmp_path: Path, forget: bool) -> None:
    path = tmp_path / "ledger.db"
    accountant = opened(path)
    answer = ask(accountant)
    ask(accountant, None)
    store = open_store(path)
    fold(store, 2**45, "ann", "room", forget_requests=forget)
    verify_store(path)
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(1), store=path)
    assert (ask(accountant) == answer) is not forget
    assert accountant.spent("ann").epsilon == (0.75 if forget else 0.5)
    verify_store(path)
