"""Bounds on a tenant's knowledge beyond its own rule: answers to other tenants may reach it.

"b reaches a" if anything that is chosen for tenant a or sent to a (its questions, if any, their records, refusals) may
depend on outputs for tenant b.

**Theorem.** Let no tenant outside a set R reach R, and let nothing that also counts others ever refuse a charge of R.
Then of each record the joint view of R is within the sum of the limits of R, and so is the view of each in R.
*Proof.* Every choice for a tenant of R is a function of outputs for R and of fresh randomness. So the releases for
R, in order, are one adaptive composition whose adversary sees these outputs alone; their own accounts refuse by
charges, which are functions of these outputs, too. The charges never pass the sum of the limits, so the theorem
in use, as a filter at that sum, applies; a view is a function of the transcript.

The second condition holds by an order and a check. `accountant.ledger.ledger_state.first_refused` checks first that
rules permit the purpose and tenant (the same whatever was charged), then all rules of the tenant, of all records of the
charge (they count its own charges only), then the budget and rules without a tenant. A charge within the tenant's limit
is within these, too: `check_reach` has found that the limits of all tenants fit each of them together, and every charge
is for one of these tenants. So the words of a refusal, also of a charge that is over the budget by itself, are computed
from the tenant's own charges. A view here is outputs, refusals with their words, and numbers of further releases; not
the time of an answer, nor the state of a service (busy, out of reach, closed), nor a ledger's totals of all tenants.

No smaller bound holds: with an answer at epsilon = 1, tenant b can choose a question for tenant a, whose own limit is
0.1; the view of a then loses 1.1. And no account per tenant bounds its view of answers that were chosen by others
(arXiv 2506.05290). Where no rule has `reached_by`, all tenants may reach all, and the budget is the bound.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

from accountant.budget import Budget
from accountant.filters.composition_theorem import BasicComposition, Composition
from accountant.filters.gaussian_composition import GaussianComposition
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from accountant.rules.rule import Rule
from mechanisms.parameters import ParameterError


def check_reach(rules: Sequence[Rule], composition: Composition, budget: Budget) -> None:
    """Refuse rules with a ``reached_by`` list for a tenant, unless the promise that goes with it holds.

    Raises
    ------
    ParameterError
        If a rule has `reached_by` and limits of this theorem have no sum, a tenant has no limit of its own, one that is
        named is reached by others that are not, or some account that tenants share may refuse one of them: a refusal
        would reveal the others' answers to it.
    """
    promised = [rule for rule in rules if rule.reached_by is not None]
    if not promised:
        return
    if not isinstance(composition, BasicComposition | ZeroConcentratedComposition | GaussianComposition):
        raise ParameterError(
            f"rules: reached_by: limits under the {composition.name} have no sum; basic composition, zCDP and Gaussian "
            "DP have one"
        )
    own = _own_limits(rules)
    for tenant in sorted({rule.tenant for rule in rules if rule.tenant is not None}):
        if tenant not in own:
            raise ParameterError(
                f"rules: reached_by: tenant {tenant!r} has no limit of its own, for ever and for all purposes: the "
                "limits of all tenants together must fit the budget"
            )
    windows = next((rule for rule in rules if rule.days is not None), None)
    if windows is not None:
        raise ParameterError(
            f"rules: reached_by: {windows} depends on the times of charges, which may depend on other tenants' "
            "outputs: leave out rules for days"
        )
    for rule in promised:
        reach = _reach(rule, own)
        for tenant in sorted(reach):
            if tenant not in own:
                raise ParameterError(
                    f"rules: reached_by={rule.reached_by!r}: no rule has a tenant {tenant!r}"
                )
            further = sorted(_reach(own[tenant], own) - reach)
            if further:
                raise ParameterError(
                    f"rules: reached_by={rule.reached_by!r} of tenant {rule.tenant!r}: tenant {tenant!r} is reached by "
                    f"{further[0]!r}, who then reaches this one, too"
                )
    _check_shared([rule for rule in rules if rule.tenant is None], own, composition, budget)


def _check_shared(
    shared: Sequence[Rule], own: Mapping[str, Rule], composition: Composition, budget: Budget
) -> None:
    """Refuse unless the limits of all tenants together fit every account that they share."""
    together = _sum_of(own, own, composition)
    for limit, words in ((budget, "the budget"), *((rule.budget, str(rule)) for rule in shared)):
        if not composition.fits(together, limit):
            raise ParameterError(
                f"rules: reached_by: the limits of all tenants, {together}, do not fit {words} together: a "
                "refusal of one would reveal outputs of the others"
            )
    for rule in shared:
        if rule.groups:
            raise ParameterError(
                f"rules: reached_by: {rule} counts the charges of all tenants, of several records together: a "
                "refusal of one would reveal outputs of the others; give each tenant such a rule"
            )


def words_of_rule(rule: Rule, rules: Sequence[Rule], composition: Composition, budget: Budget) -> str:
    """Return the quantity that a rule bounds, as a clause.

    Parameters
    ----------
    rule
        The rule.
    rules
        All that are in force, checked.
    composition, budget
        The theorem and the total budget of the accounts.
    """
    if rule.budget.epsilon == float("inf"):
        return "nothing: it permits charges"
    if rule.reached_by is not None:
        own = _own_limits(rules)
        reach = sorted(_reach(rule, own))
        most = composition.guarantee(_sum_of(reach, own, composition), budget).description
        others = [repr(each) for each in reach if each != rule.tenant]
        whose = (
            f"the limits of it and of {', '.join(others)}, who reach it"
            if others
            else "no other tenant reaches it"
        )
        return f"what tenant {rule.tenant!r} learns of a record is at most {most}: {whose}"
    if rule.tenant is not None:
        return (
            f"a quota of what is charged for tenant {rule.tenant!r}; what it learns is bounded by the budget, as other "
            "tenants' answers may reach it"
        )
    if rule.purpose is not None:
        return f"a quota of what is charged for purpose {rule.purpose!r}; what is learnt is bounded by the budget"
    whom = "of a group" if rule.groups else "of a record"
    return f"a bound on what is learnt {whom}" + (" in any such time" if rule.days is not None else "")


def _own_limits(rules: Sequence[Rule]) -> dict[str, Rule]:
    """Return each tenant's limit on all that is charged for it, for ever."""
    return {
        rule.tenant: rule
        for rule in rules
        if rule.tenant is not None
        and rule.purpose is None
        and rule.days is None
        and not rule.groups
        and rule.budget.epsilon < float("inf")
    }


def _reach(rule: Rule, own: Collection[str]) -> set[str]:
    """Return the tenants with answers that may reach a tenant, itself included."""
    return set(own) if rule.reached_by is None else {str(rule.tenant), *rule.reached_by}


def _sum_of(tenants: Collection[str], own: Mapping[str, Rule], composition: Composition) -> Any:
    limits = [
        composition.remaining_spend(composition.zero_spend, own[tenant].budget).values for tenant in tenants
    ]
    return composition.amount(tuple(sum(each, Fraction(0)) for each in zip(*limits, strict=True)))
