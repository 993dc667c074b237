"""The proof of a symbolic plan as data: its claim for all values of its symbols."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from accountant.gates.derivation import ExactDomain
from accountant.plans.formulas import ConditionUnproved, PlanStatement
from accountant.plans.symbolic import (
    SymbolicGaussian,
    SymbolicLaplace,
    SymbolicPlan,
    SymbolicResponse,
    SymbolicStep,
)
from accountant.plans.values import IntegerRange
from accountant.proofs.proof_document import FORMAT, NoProof, domain_data, exact_number
from mechanisms import Neighbouring

if TYPE_CHECKING:
    import sympy as sp

_UNIT_INTERVAL = domain_data(ExactDomain("box", Fraction(0), Fraction(1), 1))


def plan_document(plan: SymbolicPlan, claim: sp.Expr, unit: str, tested: Mapping[str, Any]) -> dict[str, Any]:
    """Return the proof that every record of a plan pays at most its claim, for all values, as data.

    What is no polynomial (a floor, a logarithm, the smaller of two numbers) becomes a symbol of its own, of which the
    least value is stated: what holds for all its values holds for those that it has.

    Parameters
    ----------
    plan
        The plan.
    claim
        What a record may pay in the plan's currency.
    unit
        What a record is, in words of the closed vocabulary.
    tested
        What is known beside the proof.

    Raises
    ------
    NoProof
        If a release or a formula has no rule.
    """
    formulas = _Formulas(plan)
    most = formulas.data(claim)
    limits = {"epsilon": most, "delta": 0} if plan.currency == "epsilon" else {"mu_squared": most}
    releases: dict[str, dict[str, Any]] = {}
    records: dict[str, dict[str, Any]] = {}
    for kind, steps in plan.records.items():
        for step in steps:
            name = f"release {len(releases) + 1}"
            releases[name] = formulas.release(step, plan.currency)
            records.setdefault(kind, {})[name] = formulas.data(step.count)
    return {
        "format": FORMAT,
        "claim": {"relation": Neighbouring.REPLACE_ONE.value, "unit": unit, **limits},
        "symbols": formulas.symbols,
        "releases": releases,
        "records": records,
        "theorem": {"name": "basic" if plan.currency == "epsilon" else "gdp", **limits},
        "tested": dict(tested),
    }


class _Formulas:
    """Formulas of a plan as data, and the symbols that they declare.

    Attributes
    ----------
    symbols
        The plan's, and one for each part of a formula that is no polynomial.
    """

    def __init__(self, plan: SymbolicPlan) -> None:
        self.symbols: dict[str, dict[str, Any]] = {}
        self._declared = plan.values.declared
        self._names: dict[Any, str] = {}
        for symbol, kind in plan.values.symbols.items():
            whole = isinstance(kind, IntegerRange)
            self._declare(
                symbol, str(symbol), kind.least if isinstance(kind, IntegerRange) else kind.bound, whole
            )

    def _declare(self, node: Any, name: str, least: Any, whole: bool) -> str:
        self.symbols[name] = {"least": self.data(least), "whole": whole}
        return self._names.setdefault(node, name)

    def data(self, value: Any) -> Any:
        """Return a formula as data.

        Raises
        ------
        NoProof
            If nothing is known of a part that is no polynomial.
        """
        import sympy as sp

        node = sp.sympify(value)
        if node in self._names:
            return self._names[node]
        if node.is_Rational:
            return exact_number(Fraction(int(node.p), int(node.q)))
        if node.is_Add:
            return self._folded("+", list(map(self.data, node.args)))
        if node.is_Mul:
            top, bottom = node.as_numer_denom()
            if bottom == 1:
                return self._folded("*", list(map(self.data, node.args)))
            return ["/", self.data(top), self.data(bottom)]
        if node.is_Pow and node.exp.is_Integer:
            power = self._folded("*", [self.data(node.base)] * abs(int(node.exp)))
            return power if node.exp > 0 else ["/", 1, power]
        return self._declare(node, f"x{len(self.symbols)}", *self._least(node))

    @staticmethod
    def _folded(sign: str, parts: list[Any]) -> Any:
        return functools.reduce(lambda a, b: [sign, a, b], parts)

    def _least(self, node: sp.Expr) -> tuple[int, bool]:
        """Return the least value of a part that is no polynomial, and whether it is whole."""
        import sympy as sp

        statement = PlanStatement(self._declared, [node, *node.args])
        try:
            cases = list(statement.cases())
            whole = isinstance(node, sp.floor) or (
                isinstance(node, sp.Min | sp.Max)
                and all(case.is_integer(part) for case in cases for part in node.args)
            )
            if all(case.is_positive(node) for case in cases):
                return int(whole), whole
            if whole and all(case.is_not_negative(node) for case in cases):
                return 0, whole
        except ConditionUnproved as error:
            raise NoProof(f"{node}: it is not shown that {error}") from None
        raise NoProof(f"{node}: it is not shown to be above 0")

    def release(self, step: SymbolicStep, currency: str) -> dict[str, Any]:
        """Return a release as data.

        Raises
        ------
        NoProof
            If there is no rule for it.
        """
        release = step.release
        domain = _UNIT_INTERVAL
        if isinstance(release, SymbolicLaplace):
            mechanism = {"kind": "laplace", "scale": self.data(release.scale)}
        elif isinstance(release, SymbolicGaussian):
            mechanism = {"kind": "gaussian", "variance": self.data(release.variance)}
        elif isinstance(release, SymbolicResponse):
            size = self.data(release.size)
            domain = {"kind": "categories", "low": 0, "high": 0, "size": size}
            mechanism = {
                "kind": "randomized response",
                "size": size,
                "epsilon": self.data(release.epsilon),
            }
        else:
            raise NoProof(f"{release!r}: its noise has no formula; there is a proof for given numbers only")
        cost = operator.attrgetter(currency)(release)
        if cost is None:
            raise NoProof(f"{release!r}: has no {currency}")
        charged = {currency: self.data(cost), **({"delta": 0} if currency == "epsilon" else {})}
        return {"domain": domain, "steps": [], "terms": 1, "mechanism": mechanism, "charged": charged}
