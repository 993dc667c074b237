"""A ledger in memory as a file: its entries are decided again, and are those that it has."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from accountant import BasicComposition, Budget, Cost, Entry, Ledger, Place, Rule, Trust
from accountant.filters.units import Limit
from accountant.ledger.events import Charge
from accountant.ledger.store import AnswerErased, CannotPay, KeyUsed, Settled
from accountant.rules.limits import NotPermitted
from accountant.rules.scope import Scope
from accountant.stores import export, sql_store
from accountant.stores.export import export_ledger, read_export
from accountant.terms import Terms
from mechanisms import Laplace, Sensitivity

UNIT = Sensitivity(1, 1, 1)
BUDGET = Budget(4.0)
RULES = (Rule(Budget(3.0), days=30), Rule(Budget(6.0), groups=(("ann", 7),)))


def spend_at_random(ledger: Ledger, chosen: random.Random, times: int) -> None:
    limit, held = Limit(ledger.units, BUDGET), []
    for number in range(times):
        entries = []
        for _ in range(chosen.choice((1, 1, 2))):
            scale = chosen.choice((3, 8, 8, 50))
            paid = tuple(chosen.sample(("ann", "bob", 7, "é"), chosen.choice((1, 1, 3))))
            cost = Cost(Fraction(1, scale), Fraction(0))
            entries.append(Entry(Laplace(scale=scale), UNIT, cost, paid, Place("f.py", scale), "n"))
        request = chosen.choice((None, None, f"key {number // 3}"))
        hold = chosen.random() < 0.3
        try:
            position = ledger.do(
                Charge(
                    entries,
                    limit.holds,
                    hold=hold,
                    request=request,
                    scope=Scope(chosen.choice((None, "ads"))),
                )
            ).position
            if hold:
                held.append(position)
            if request is not None and not hold and chosen.random() < 0.5:
                ledger.keep_answer(request, b"1")
            if held and chosen.random() < 0.7:
                (ledger.draw if chosen.random() < 0.5 else ledger.give_back)(held.pop(0))
        except (CannotPay, NotPermitted, KeyUsed, Settled, AnswerErased):
            continue


@pytest.mark.parametrize("rules", [(), RULES], ids=["no rules", "rules"])
@pytest.mark.parametrize("seed", range(5))
def test_an_export_has_what_the_ledger_has(
    seed: int, rules: tuple[Rule, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_store, "_KEPT", 2)
    monkeypatch.setattr(export, "_AT_ONCE", 3)
    ledger = Ledger(BasicComposition(), rules)
    spend_at_random(ledger, random.Random(seed), 60)
    terms = Terms(BUDGET, ledger.units.composition, Trust.CENTRAL, strict=False)
    export_ledger(ledger, terms, (), ("why", Place("g.py", 1)), tmp_path / "ledger.json")
    replay, names, _ = read_export(tmp_path / "ledger.json")
    assert [(each.entries, each.scope, each.request) for each in replay.charge_events(names)] == [
        (each.entries, each.scope, each.request) for each in ledger.charge_events()
    ]
    spent: dict[Any, Any] = {names[number]: account.spent for number, account in replay.accounts.items()}
    paid = {record: account.spent for record, account in ledger.accounts.items()}
    assert {each: total for each, total in spent.items() if any(total)} == {
        each: total for each, total in paid.items() if any(total)
    }
    assert replay.named_rules(names) == rules
    assert replay.closure == ("why", Place("g.py", 1))
    states = sorted(replay.reservations.values())
    assert states == sorted(ledger.reservations.values())
    assert {key: each.digest for key, each in replay.requests.items()} == {
        key: each.digest for key, each in ledger.requests.items()
    }


def test_an_export_of_nothing_can_be_read(tmp_path: Path) -> None:
    ledger = Ledger(BasicComposition())
    terms = Terms(BUDGET, ledger.units.composition, Trust.CENTRAL, strict=False)
    export_ledger(ledger, terms, (), None, tmp_path / "ledger.json")
    replay, names, _ = read_export(tmp_path / "ledger.json")
    assert (replay.position, dict(names), replay.terms.budget) == (1, {}, BUDGET)
