"""A release and an addition to sums are each one step for other threads; assumptions are saved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from reopened import reopened

from accountant import Accountant, Budget
from mechanisms import AssumptionKind, Interval, Laplace

SHARE = Interval(0, 1)
NOISE = Laplace.for_epsilon(1.0, sensitivity=SHARE.sensitivity)
PLACE = np.array([[0]])


def meanwhile(
    accountant: Accountant, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]
) -> threading.Thread:
    """Let another thread act between the charge of the next release and its sample."""
    thread = threading.Thread(target=act)
    pay: Any = accountant._pay

    def pay_and_wait(*arguments: Any, **options: Any) -> Any:
        receipt = pay(*arguments, **options)
        thread.start()
        thread.join(0.2)
        return receipt

    monkeypatch.setattr(accountant, "_pay", pay_and_wait)
    return thread


@pytest.mark.parametrize("how", ["release", "declassify", "reserve"])
def test_nobody_enters_sums_between_their_charge_and_their_release(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A record that did would be in what is shown, and pay nothing."""
    accountant = Accountant(Budget(float("inf")), noise=np.random.default_rng(0))
    sums = accountant.sums(1)
    sums.add(accountant.private([0.5], SHARE, "ann"), PLACE)
    late = accountant.private([0.5], SHARE, "bob")
    if how == "reserve":
        reservation = accountant.reserve(accountant.price(NOISE, sums))
        real: Any = accountant._check_unchanged
        thread = threading.Thread(target=lambda: sums.add(late, PLACE))

        def check_and_wait(quote: Any) -> None:
            real(quote)
            thread.start()
            thread.join(0.2)

        monkeypatch.setattr(accountant, "_check_unchanged", check_and_wait)
        shown = reservation.release()
        quiet = Accountant(Budget(1.0), noise=np.random.default_rng(0))
        assert shown == quiet.release(NOISE, quiet.private([0.5], SHARE, "ann"))
    else:
        thread = meanwhile(accountant, monkeypatch, lambda: sums.add(late, PLACE))
        if how == "release":
            shown = accountant.release(NOISE, sums)
            quiet = Accountant(Budget(1.0), noise=np.random.default_rng(0))
            assert shown == quiet.release(NOISE, quiet.private([0.5], SHARE, "ann"))
        else:
            assert accountant.declassify(sums, "for the test") == 0.5
    thread.join()
    assert set(accountant.ledger.records()) == {"ann"}
    assert sums._values.item() == 1.0  # now bob is there


def test_what_is_released_is_what_the_mask_said_when_it_was_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a caller uses its buffer again meanwhile, the other record would be shown and pay nothing."""
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    sums = accountant.sums(2)
    for place, record in enumerate(("ann", "bob")):
        sums.add(accountant.private([1.0], SHARE, record), np.array([[place]]))
    mask = np.array([[True, False]])
    thread = meanwhile(accountant, monkeypatch, lambda: mask.fill(True))
    shown = accountant.release(NOISE, sums, where=mask)
    thread.join()
    assert mask.all()
    assert shown[0, 0] != 0.0 == shown[0, 1]
    assert set(accountant.ledger.records()) == {"ann"}


def test_assumptions_are_saved_with_the_ledger(tmp_path: Any) -> None:
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    accountant.private([0.5], SHARE, "ann").map(lambda values: values / 3, stability=1 / 3)
    _, _, assumption = accountant.assumptions
    assert assumption.kind is AssumptionKind.DECLARED_STABILITY
    assert "0.333" in assumption.message
    assert "test_accountant_turns.py:" in assumption.where
    assert str(assumption) in str(accountant.summary())
    again = reopened(accountant, tmp_path, noise=np.random.default_rng(0))
    assert set(again.assumptions) == set(accountant.assumptions)
