"""Rules: limits beside the budget for a purpose, a tenant, a number of days, or people protected together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from accountant.budget import Budget
from accountant.files.data_files import DataFileError, from_toml, text_of
from accountant.filters.composition_theorem import Composition
from accountant.filters.groups import check_groups
from accountant.gates.lineage import RecordId
from accountant.pseudonym import Pseudonym
from accountant.record_name import canonical_name
from accountant.rules.scope import Scope, check_word
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import ParameterError, quoted


@dataclass(frozen=True, slots=True)
class Rule:
    """One more limit that every charge it counts must keep, beside the accountant's budget.

    The accountant's budget is the total: it counts every charge, for ever. A rule counts some of them: those for its
    purpose and its tenant, those of the last days. A charge is made if the budget and all rules that count it have
    room, or not at all.

    **In any `days`.** T of them, say. A charge of a record at time t is accepted if the charges since t - T, all
    reservations, and the new charge are within the rule's budget. Then for every s, the outputs that are published in
    (s, s + T] are within it. Let t' be the last accepted request among those whose outputs lie in the interval, and
    t₁ >= t' the time of the last of these outputs. Outputs of the interval that were drawn before t' are stamped later
    than t₁ - T >= t' - T, so they were counted at t'. Those drawn after t' were requested before it, so they were open
    reservations, and were counted, too: a reservation is stamped anew when it is drawn. So all of them are at most the
    sum that was checked at t'. The rule counts more than these: days are counted whole, in UTC, while any part of them
    may be in the window. In terms of privacy: given all outputs up to s, also where s was chosen by them, the outputs
    of the T after it satisfy the rule's budget, by the accountant's composition theorem used as a filter on that
    interval.

    Nothing is promised for longer times: k windows may lose k times the budget, so a fact that does not change is lost
    in the end. The accountant's budget, which no window renews, is the limit on that. A budget that is renewed on the
    first of each month promises less: epsilon = 1 a calendar month lets 2 through in a day. The rule rests on the
    clock: it never goes back, and if it is ahead of the last charge by more than half the shortest window, and a day,
    nothing is charged until an operator confirms it.

    **For groups.** The spent amounts of a group's members are added up as those of one unit, whose data may change
    all together: sums of epsilon for pure differential privacy; for zCDP and Gaussian DP (Σ √R)² of the members'
    totals R. For one release that is the weak triangle inequality of Rényi divergences, D_α <= α (ρ₁ k/(k - 1) + ρ₂
    k) at its best k, or the sum of the members' mu; for all of them, Minkowski's inequality. The four members of a
    household that each spend rho in the same releases have spent 16 rho, not 4.

    **For purposes and tenants.** A purpose has no view of its own, and the questions of a tenant may have been chosen
    by other tenants' outputs: a rule for them is a quota on charges, and every view is bounded by the budget. If
    `reached_by` names the tenants with answers that may reach a tenant, then its view is bounded by the sum of their
    limits and its own; see `accountant.rules.reach`.

    Parameters
    ----------
    budget
        The most that a record, or a group, may lose in the charges that the rule counts; `Budget.unlimited` only
        permits.
    purpose, tenant
        Those of the charges that it counts; None for all.
    days
        The limit holds in any interval of so many days; None for ever.
    groups
        Records that are protected together; no record in two of them. Without any, every record by itself.
    reached_by
        For a tenant's permanent limit on all its charges: the other tenants whose answers may reach it, so
        that its questions, outputs or refusals depend on them; ``()`` for none. That no other tenant's answers reach it
        is an assumption, which the operator has to enforce. By default those of all tenants may.

    Raises
    ------
    ParameterError
        If a parameter is of another kind or out of its range.
    """

    budget: Budget
    purpose: str | None = None
    tenant: str | None = None
    days: int | None = None
    groups: tuple[tuple[RecordId, ...], ...] = ()
    reached_by: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            raise ParameterError(
                f"budget = {quoted(self.budget)}: must be a Budget, such as Budget(epsilon=1.0)"
            )
        check_word("purpose", self.purpose)
        check_word("tenant", self.tenant)
        if self.days is not None and (type(self.days) is not int or not 1 <= self.days <= 3_660):
            raise ParameterError(
                f"days = {quoted(self.days)}: must be a whole number from 1 to 3660, or None"
            )
        if not _is_collection(self.groups) or not all(map(_is_collection, self.groups)):
            raise ParameterError(
                f"groups = {quoted(self.groups)}: must be groups of records, such as (('ann', 'bob'),)"
            )
        object.__setattr__(self, "groups", tuple(tuple(map(_member, group)) for group in self.groups))
        if not all(self.groups):
            raise ParameterError(
                f"groups = {quoted(self.groups)}: a group must have members, or the rule limits no record"
            )
        members = [record for group in self.groups for record in group]
        if len(set(members)) < len(members):
            twice = next(record for record in members if members.count(record) > 1)
            raise ParameterError(f"groups: record {twice!r} is named twice; it may be in one group, once")
        if self.reached_by is not None:
            self._check_reached_by()

    def _check_reached_by(self) -> None:
        given = self.reached_by
        if not _is_collection(given):
            raise ParameterError(
                f"reached_by = {quoted(given)}: must be names of tenants, such as ('shop',), or ()"
            )
        assert given is not None
        for each in given:
            check_word("reached_by: tenant", each)
        if None in given or len(set(given)) < len(given) or self.tenant in given:
            raise ParameterError(f"reached_by = {quoted(given)}: must name other tenants, each once")
        whole = self.purpose is None and self.days is None and not self.groups
        if self.tenant is None or not whole or self.budget.epsilon == float("inf"):
            raise ParameterError(
                f"reached_by = {quoted(given)}: is for a tenant's limit on all that is charged for it, for ever: a "
                "rule with a tenant and a finite epsilon, and without purpose, days and groups"
            )
        object.__setattr__(self, "reached_by", tuple(given))

    def counts(self, scope: Scope) -> bool:
        """Return True if the rule counts charges for this purpose and tenant."""
        return self.purpose in (None, scope.purpose) and self.tenant in (None, scope.tenant)

    def __str__(self) -> str:
        scope = str(Scope(self.purpose, self.tenant))
        kind = "quota" if scope and self.reached_by is None else "limit"
        whose = "its group's" if self.groups else "its"
        days = "" if self.days is None else f" in any {counted_noun(self.days, 'day')}"
        return f"{whose} {kind}{f' for {scope}' if scope else ''}{days}"

    def with_members(self, name_of: Callable[[Any], RecordId]) -> Rule:
        """Return the same rule with other names of the members of its groups."""
        return replace(self, groups=tuple(tuple(map(name_of, group)) for group in self.groups))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data, exact to the last bit."""
        return {
            "budget": self.budget.to_list(),
            "purpose": self.purpose,
            "tenant": self.tenant,
            "days": self.days,
            "groups": [list(group) for group in self.groups],
            **({} if self.reached_by is None else {"reached_by": list(self.reached_by)}),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Rule:
        """Return the rule that `to_dict` described."""
        return cls(
            Budget.from_list(saved["budget"]),
            saved["purpose"],
            saved["tenant"],
            saved["days"],
            tuple(tuple(group) for group in saved["groups"]),
            None if saved.get("reached_by") is None else tuple(saved["reached_by"]),
        )


_MAY_HAVE = ("epsilon", "delta", *(each.name for each in fields(Rule) if each.name != "budget"))
"""The keys that a rule in a file may have."""


def _member(record: RecordId) -> RecordId:
    return record if isinstance(record, Pseudonym) else canonical_name(record, "groups: record")


def _is_collection(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)


def read_rules(path: Path) -> list[Rule]:
    """Return the rules of a TOML file: a table ``[[rule]]`` each, with the parameters of `Rule`, epsilon and delta.

    Raises
    ------
    ParameterError
        If it is none, or a rule makes no sense; with the file and the number of the rule.
    """
    try:
        content = from_toml(text_of(path))
    except DataFileError as error:
        raise ParameterError(f"{path}: {error}") from None
    found = content.pop("rule", [])
    if content or not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ParameterError(f"{path}: must have tables [[rule]] and nothing else")
    rules = []
    for number, given in enumerate(found, start=1):
        table = dict(given)
        unknown = sorted(table.keys() - _MAY_HAVE)
        if unknown:
            raise ParameterError(f"{path}: rule {number}: {unknown[0]!r} is none of {', '.join(_MAY_HAVE)}")
        try:
            budget = Budget(table.pop("epsilon"), table.pop("delta", 0.0))
            rules.append(Rule(budget, **table))
        except KeyError:
            raise ParameterError(f"{path}: rule {number} has no epsilon (inf only permits)") from None
        except ValueError as error:
            raise ParameterError(f"{path}: rule {number}: {error}") from None
    return rules


def checked_rules(rules: Sequence[Rule], composition: Composition) -> tuple[Rule, ...]:
    """Return rules, if charges under a theorem can be held to them.

    Raises
    ------
    ParameterError
        If one is no `Rule`, two limit the same charges, the theorem guarantees nothing under one's budget, or has no
        sum for groups.
    """
    try:
        found = tuple(rules)
    except TypeError:
        raise ParameterError(f"rules = {quoted(rules)}: must be a list of Rule") from None
    seen: dict[Any, Rule] = {}
    for rule in found:
        if not isinstance(rule, Rule):
            raise ParameterError(
                f"rules: {quoted(rule)} must be a Rule, such as Rule(Budget(epsilon=0.5), days=30)"
            )
        if composition.settings().get("plan") is not None:
            raise ParameterError("rules: a plan fixes every release in advance; it takes no rules")
        same = (rule.purpose, rule.tenant, rule.days, rule.groups)
        if same in seen:
            raise ParameterError(f"rules: two of them limit the same charges: {seen[same]!r} and {rule!r}")
        seen[same] = rule
        composition.check(rule.budget)
        if rule.groups:
            check_groups(composition, rule.budget)
    return found
