"""A ledger's amounts as JSON: spent amounts rounded up, remaining ones down, null where there is no number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from accountant.accountant import Accountant
from accountant.budget import Amount
from accountant.gates.lineage import RecordId
from accountant.ledger.store import Standing
from accountant.rules.reach import words_of_rule
from accountant.rules.rule import Rule
from mechanisms.numerics.rounding import down, up


def _account_json(
    accountant: Accountant, rules: Sequence[Rule], record: RecordId, standing: Standing
) -> dict[str, Any]:
    """Return a record's spent and remaining amounts, in all and by rule, in the numbers of the composition theorem."""
    left = accountant.composition.remaining_spend
    return {
        "record": record,
        "spent": _parts(standing.spent, up),
        "left": _parts(left(standing.spent, accountant.budget), down),
        "rules": [
            {
                "rule": str(rule),
                "bounds": words_of_rule(rule, rules, accountant.composition, accountant.budget),
                "left": _parts(left(spent, rule.budget), down),
            }
            for rule, spent in standing.counted
        ],
    }


def accounts_json(
    accountant: Accountant, records: Sequence[RecordId], standings: Sequence[Standing]
) -> dict[str, Any]:
    """Return the spent and the remaining amounts of records."""
    rules = accountant.rules
    found = [_account_json(accountant, rules, *each) for each in zip(records, standings, strict=True)]
    return {"neighbours": str(accountant.neighbouring), "records": found}


def summary_json(accountant: Accountant) -> dict[str, Any]:
    """Return the charges by release, and the worst record."""
    found = accountant.summary()
    worst = found.worst_record
    return {
        "budget": {"epsilon": _json_number(found.budget.epsilon), "delta": found.budget.delta},
        "composition": found.composition,
        "trust": found.trust.value,
        "neighbours": str(found.neighbouring),
        "records": found.records,
        "worst": None
        if worst is None
        else _account_json(accountant, accountant.rules, worst, accountant.ledger.standings([worst])[0]),
        "releases": [
            {
                "asked_by": line.where,
                "mechanism": line.mechanism,
                "releases": line.releases,
                "records": line.records,
                "largest_charge": line.charge.description,
                "noise": line.noise,
            }
            for line in found.lines
        ],
        "assumptions": [str(each) for each in found.assumptions],
    }


def _parts(amount: Amount, rounded: Callable[[Fraction], float]) -> Mapping[str, float | None]:
    return {name: None if value is None else _json_number(rounded(value)) for name, value in amount.parts()}


def _json_number(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
