"""Rules as a service shows them, with the record nearest to each limit: on its page, and for Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accountant.budget import Amount, Budget
from accountant.filters.composition_theorem import Composition
from accountant.filters.share import share_spent
from accountant.gates.lineage import RecordId
from accountant.ledger.store import RuleStanding
from accountant.rules.reach import words_of_rule
from accountant.rules.rule import Rule
from accountant.service.metrics import Gauge
from mechanisms.numerics.rounding import down

MEASURED = 100
"""The rules, of one ledger, that have gauges of their own."""


@dataclass(frozen=True)
class RuleShown:
    """A rule, and the record nearest to its limit.

    Attributes
    ----------
    number
        Its place among the rules in force, from 1.
    rule
        The rule.
    nearest
        The record, or the members of the group; empty if the rule has counted nothing.
    spent
        The guarantee for their spent amount, in words.
    left
        Their remaining amount.
    share
        The share that is spent; None if it is no one number, or nothing limits it.
    nearly
        The number of records, or groups, that have nearly spent it; None as for `share`.
    bounds
        The quantity that the rule bounds, in words.
    """

    number: int
    rule: Rule
    nearest: tuple[RecordId, ...]
    spent: str
    left: Amount
    share: float | None
    nearly: int | None
    bounds: str


def rules_shown(
    composition: Composition, budget: Budget, standings: Sequence[RuleStanding]
) -> list[RuleShown]:
    """Return the rules of accounts with this budget as shown, in their order."""
    rules = [each.rule for each in standings]
    return [
        RuleShown(
            number,
            each.rule,
            each.nearest,
            composition.guarantee(each.spent, each.rule.budget).description,
            composition.remaining_spend(each.spent, each.rule.budget),
            share_spent(composition, each.spent, each.rule.budget),
            each.nearly,
            words_of_rule(each.rule, rules, composition, budget),
        )
        for number, each in enumerate(standings, start=1)
    ]


def rule_gauges(rules: Sequence[RuleShown], *labels: tuple[str, str]) -> list[Gauge]:
    """Return Prometheus gauges of rules: sums over all, and the first `MEASURED` one by one; no record is named.

    Parameters
    ----------
    rules
        The rules as shown.
    labels
        The labels of their ledger or run.
    """
    nearly = sum(bool(each.nearly) for each in rules)
    found = [
        Gauge("dpwitness_rules", "Rules in force beside the budget.", len(rules), labels),
        Gauge(
            "dpwitness_rules_nearly_spent",
            "Rules of which a record or group has spent 80 % or more.",
            nearly,
            labels,
        ),
    ]
    for each in rules[:MEASURED]:
        of = (*labels, *_labels(each))
        if each.share is not None:
            words = "Share of a rule's limit that the record or group nearest to it has spent."
            found.append(Gauge("dpwitness_rule_largest_share_spent", words, each.share, of))
        if each.nearly is not None:
            words = "Records, or groups, that have spent 80 % or more of a rule's limit."
            found.append(Gauge("dpwitness_rule_nearly_spent", words, each.nearly, of))
        if each.share is not None:
            words = "Remaining amount, rounded down, of the record or group nearest to a rule's limit."
            found += [
                Gauge("dpwitness_rule_least_left", words, down(left), (*of, ("amount", name)))
                for name, left in each.left.parts()
                if left is not None
            ]
    return found


def _labels(shown: RuleShown) -> tuple[tuple[str, str], ...]:
    rule = shown.rule
    known = (("purpose", rule.purpose), ("tenant", rule.tenant), ("days", rule.days))
    return ("rule", str(shown.number)), *((name, str(word)) for name, word in known if word is not None)
