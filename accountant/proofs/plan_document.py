"""The proof of a symbolic plan as data: its claim for all values of its symbols."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from accountant.gates.derivation import ExactDomain
from accountant.plans.formulas import formula
from accountant.plans.symbolic import (
    NumericClaim,
    SymbolicCalibrated,
    SymbolicGaussian,
    SymbolicLaplace,
    SymbolicPlan,
    SymbolicResponse,
    SymbolicStep,
)
from accountant.proofs.proof_document import NoProof, claim_data, exact_number, proof_data, release_data
from mechanisms import Neighbouring

_UNIT_INTERVAL = ExactDomain("box", Fraction(0), Fraction(1), 1)


def plan_document(plan: SymbolicPlan, claim: Any, unit: str, tested: Mapping[str, Any]) -> dict[str, Any]:
    """Return the proof that every record of a plan pays at most its claim, for all values, as data.

    The checker decides whether the proof holds. It knows only the range of a computed symbol: a bound on the whole
    range holds at the computed values.

    Parameters
    ----------
    plan
        The plan.
    claim
        The most that a record may pay, in the plan's currency.
    unit
        The privacy unit, in words of the closed vocabulary.
    tested
        Results of tests, recorded beside the proof.

    Raises
    ------
    NoProof
        If a release or a formula has no rule.
    """
    if isinstance(claim, NumericClaim):
        raise NoProof(f"{claim} is known at given values only")
    most = _data(claim)
    limits = {"epsilon": most, "delta": 0} if plan.currency == "epsilon" else {"mu_squared": most}
    releases: dict[str, dict[str, Any]] = {}
    records: dict[str, dict[str, Any]] = {}
    for kind, steps in plan.records.items():
        for step in steps:
            name = f"release {len(releases) + 1}"
            releases[name] = _release(step, plan.currency)
            records.setdefault(kind, {})[name] = _data(step.count)
    symbols = {
        str(symbol): {"least": _data(kind.bound), "whole": kind.whole}
        for symbol, kind in plan.values.symbols.items()
    }
    theorem = {"name": "basic" if plan.currency == "epsilon" else "gdp", **limits}
    claimed = claim_data(Neighbouring.REPLACE_ONE, unit, **limits)
    return proof_data(claimed, releases, records, theorem, symbols, tested)


def _data(number: Any) -> Any:
    """Return a formula as data."""
    node = formula("number", number)
    if node.is_Symbol:
        return str(node)
    if node.is_Rational:
        return exact_number(Fraction(int(node.p), int(node.q)))
    value: Any = None
    if node.is_Add:
        for part in map(_data, node.args):
            value = part if value is None else ["+", value, part]
        return value
    for factor in node.args if node.is_Mul else (node,):
        base, power = (factor.base, int(factor.exp)) if factor.is_Pow else (factor, 1)
        for part in [_data(base)] * abs(power):
            value = [("*" if power > 0 else "/"), 1 if value is None else value, part]
    return 1 if value is None else value


def _release(step: SymbolicStep, currency: str) -> dict[str, Any]:
    """Return a release as data.

    Raises
    ------
    NoProof
        If there is no rule for it.
    """
    release = step.release
    domain = _UNIT_INTERVAL
    if isinstance(release, SymbolicLaplace):
        mechanism = {"kind": "laplace", "scale": _data(release.scale)}
    elif isinstance(release, SymbolicGaussian):
        mechanism = {"kind": "gaussian", "variance": _data(release.variance)}
    elif isinstance(release, SymbolicResponse):
        size = _data(release.size)
        domain = ExactDomain("categories", Fraction(0), Fraction(0), size)
        mechanism = {"kind": "randomized response", "size": size, "epsilon": _data(release.epsilon)}
    elif isinstance(release, SymbolicCalibrated):  # the checker marks what is taken as it is stated
        mechanism = {"kind": "stated approximate", "epsilon": _data(release.epsilon), "delta": 0}
    else:
        raise NoProof(f"{release!r}: has no finite cost")
    cost = operator.attrgetter(currency)(release)
    if cost is None:
        raise NoProof(f"{release!r}: has no {currency}")
    charged = {currency: _data(cost), **({"delta": 0} if currency == "epsilon" else {})}
    return release_data(domain, mechanism, charged)
