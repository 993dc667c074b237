"""What a ledger says of amounts, as JSON has it: spent rounded up, left rounded down, null for no number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from accountant.accountant import Accountant
from accountant.budget import Amount
from accountant.gates.provenance import RecordId
from mechanisms.rounding import up


def account_json(accountant: Accountant, record: RecordId) -> dict[str, Any]:
    """Return what a record has spent and has left, in all and by rule, in the numbers of the composition theorem."""
    spent = accountant.ledger.spent(record)
    return {
        "record": record,
        "spent": _parts(spent, up),
        "left": _parts(accountant.composition.left(spent, accountant.budget), _down),
        "rules": [
            {"rule": str(rule), "left": _parts(left, _down)}
            for rule, left in accountant.left_by_rule(record).items()
        ],
    }


def summary_json(accountant: Accountant) -> dict[str, Any]:
    """Return who paid what for which release, and the worst record."""
    found = accountant.summary()
    worst = found.worst_record
    return {
        "budget": {"epsilon": _number(found.budget.epsilon), "delta": found.budget.delta},
        "composition": found.composition,
        "trust": found.trust.value,
        "neighbours": str(found.neighbouring),
        "records": found.records,
        "worst": None if worst is None else account_json(accountant, worst),
        "releases": [
            {
                "asked_by": line.where,
                "mechanism": line.mechanism,
                "releases": line.releases,
                "records": line.records,
                "largest_charge": line.charge.words,
                "noise": line.noise,
            }
            for line in found.lines
        ],
        "assumptions": [str(each) for each in found.assumptions],
    }


def _parts(amount: Amount, rounded: Callable[[Fraction], float]) -> Mapping[str, float | None]:
    return {name: None if value is None else _number(rounded(value)) for name, value in amount.parts()}


def _down(value: Fraction) -> float:
    return -up(-value) + 0.0


def _number(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
