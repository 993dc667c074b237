"""Plans of private learners: the releases of one record, with symbols for K, L and epsilon.

K is the size of a super arm (of a basis, of a list), L the number of arms, T the horizon of a tree. A plan lists
the releases that a record is part of at most. By `plan_as_data` the independent checker proves that they cost no more
than the learner claims, for all K, L, epsilon and T; `plan_counterexample` looks for numbers at which they cost more.
Where noise is Gaussian the claim is one of Gaussian DP: mu is the one with which the claimed (epsilon, delta) holds.
For learners that choose them, q is the number of arms with outcomes that a round feeds, V the number of values of a
message. Computed are c = min(2, K), the number of coordinates of a click vector that a record moves; n = floor(log2 T)
+ 1; and l, a bound on ln T.
The runtime ledger of each learner is tested against the same plan.

>>> print(plan_counterexample("published/dpucb-mat"))
the round-0 vector pays L*epsilon/K = 2, more than 1, at K = 1, L = 2, epsilon = 1
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from accountant.plans.symbolic import (
    CounterexampleFound,
    DeclassifiedStep,
    NumericClaim,
    SymbolicCalibrated,
    SymbolicGaussian,
    SymbolicLaplace,
    SymbolicPlan,
    SymbolicResponse,
    SymbolicStep,
    find_counterexample,
)
from accountant.plans.values import IntegerRange, RealAbove, SymbolDomain
from accountant.proofs.plan_document import plan_document
from algorithms.estimates.shuffled_counts import ShuffledCounts
from algorithms.theory.linear_plans import LINEAR_PLANNED, linear_claim, linear_plan, log_above
from algorithms.unit import ONE_REPORT
from mechanisms import Mechanism
from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    import sympy as sp


@functools.cache
def symbols() -> tuple[sp.Symbol, sp.Symbol, sp.Symbol]:
    """Return K, L and epsilon."""
    import sympy

    size, arms, epsilon = sympy.symbols("K L epsilon")
    return size, arms, epsilon


def symbol(name: str) -> sp.Symbol:
    """Return a further symbol: T, mu, q, V, c, n or l."""
    import sympy

    return sympy.Symbol(name)


def _plan(
    records: Mapping[str, tuple[SymbolicStep, ...]],
    source: str,
    *,
    gaussian: bool = False,
    least_horizon: int | None = None,
    chosen: Mapping[sp.Symbol, IntegerRange | RealAbove] | None = None,
) -> SymbolicPlan:
    """Make a plan; with `least_horizon` it has T, at least that, for a further symbol, others that are `chosen`."""
    size, arms, epsilon = symbols()
    parameter = symbol("mu") if gaussian else epsilon
    horizon = {} if least_horizon is None else {symbol("T"): IntegerRange(least_horizon)}
    values = SymbolDomain(
        {
            size: IntegerRange(1),
            arms: IntegerRange(size),
            parameter: RealAbove(0),
            **horizon,
            **(chosen or {}),
        }
    )
    return SymbolicPlan(values, records, source, "mu_squared" if gaussian else "epsilon")


def _laplace(moved: sp.Expr | int, why: str) -> SymbolicStep:
    """Return the release of `moved` coordinates with Lap(moved / epsilon)."""
    return SymbolicStep(SymbolicLaplace(moved / symbols()[2], coordinates=moved), moved, why)


def _gaussian(moved: sp.Expr, why: str) -> SymbolicStep:
    """Return the release of `moved` coordinates with N(0, moved / mu²)."""
    return SymbolicStep(SymbolicGaussian(moved / symbol("mu") ** 2, coordinates=moved), moved, why)


def _noisy(
    moved: str, why: str, source: str = "this library", *, record: str = "one round", gaussian: bool = False
) -> Callable[[], SymbolicPlan]:
    """Return a function that makes the plan of one release, with Laplace or normal noise, of `moved` coordinates."""

    def plan() -> SymbolicPlan:
        import sympy

        step = (_gaussian if gaussian else _laplace)(sympy.sympify(moved), why)
        # From 1 on, as K is 1 at least.
        of_clicks = IntegerRange(1, computed=lambda point: min(2, int(point[symbols()[0]])))
        values = {"q": IntegerRange(1), "c": of_clicks}
        chosen = {symbol(moved): values[moved]} if moved in values else None
        return _plan({record: (step,)}, source, gaussian=gaussian, chosen=chosen)

    return plan


def _response(size: str, why: str) -> Callable[[], SymbolicPlan]:
    """Return a function that makes the plan of one randomized response among `size` categories."""

    def plan() -> SymbolicPlan:
        import sympy

        step = SymbolicStep(SymbolicResponse(sympy.sympify(size), symbols()[2]), 1, why)
        chosen = {symbol("V"): IntegerRange(2)} if size == "V" else None
        return _plan({"one user": (step,)}, "this library", chosen=chosen)

    return plan


def _shuffled(make: Callable[[Mapping[Any, Any]], Mechanism], why: str) -> Callable[[], SymbolicPlan]:
    """Return a function that makes the plan of bits that are calibrated numerically."""
    return lambda: _plan(
        {"one user": (SymbolicStep(SymbolicCalibrated(symbols()[2], make), 1, why),)}, "this library"
    )


def _shuffled_bit(point: Mapping[Any, Any]) -> Mechanism:
    """Return the shuffler of a bit of two users at delta = 1e-6: an instance of the calibration."""
    return ShuffledCounts(float(point[symbols()[2]]), 1e-6).mechanism(2)


def _shuffled_clicks(point: Mapping[Any, Any]) -> Mechanism:
    """Return the shuffler of two users' clicks, of which two counts move at most."""
    size, _, epsilon = symbols()
    moved = min(2, int(point[size]))
    return ShuffledCounts(float(point[epsilon]), 1e-6, moved, moved).mechanism(2)


def _tree_as_printed(fed: sp.Expr | int) -> SymbolicPlan:
    """`fed` coordinates in floor(log2 T) + 1 nodes each, with noise of scale 2 fed ln(T) / epsilon, rounded up."""
    horizon, nodes, logarithm, epsilon = symbol("T"), symbol("n"), symbol("l"), symbols()[2]
    computed: dict[sp.Symbol, IntegerRange | RealAbove] = {
        nodes: IntegerRange(1, computed=lambda point: int(point[horizon]).bit_length()),  # as T >= 1
        logarithm: RealAbove(0, computed=lambda point: log_above(int(point[horizon]))),
    }
    why = "every outcome fed lies in one node of each of the tree's n = floor(log2 T) + 1 levels"
    step = SymbolicStep(SymbolicLaplace(fed * 2 * logarithm / epsilon, coordinates=fed), fed * nodes, why)
    # At T = 1 the scale is 0.
    return _plan({"one round": (step,)}, "Chen et al. 2020, Algorithm 3", least_horizon=2, chosen=computed)


def _matroid_as_printed() -> SymbolicPlan:
    size, arms, epsilon = symbols()
    noise = SymbolicLaplace(size / epsilon, coordinates=arms)
    first = SymbolicStep(noise, arms, "line 2: one noisy value of every element")
    later = SymbolicStep(noise, size, "each of the K outcomes enters one batch")
    return _plan(
        {"the round-0 vector": (first,), "one round": (later,)}, "matroid bandits paper, Algorithms 2 and 3"
    )


def _cascade_as_printed() -> SymbolicPlan:
    return _plan(
        {
            "one user": (
                SymbolicStep(DeclassifiedStep("how many numbers are sent is the position of the click")),
                _laplace(symbols()[0], "every examined position"),
            ),
            "the round-0 vector": (SymbolicStep(DeclassifiedStep("w_0 is used raw")),),
        },
        "cascading bandits paper, Algorithms 2 and 3",
    )


def _cascade_hybrid_as_printed() -> SymbolicPlan:
    """Return the plan without the sums of the hybrid mechanism: it is infinite already."""
    return _plan(
        {
            "one round": (SymbolicStep(DeclassifiedStep("the counts of examinations are used raw")),),
            "the round-0 vector": (SymbolicStep(DeclassifiedStep("w_0 is used raw")),),
        },
        "cascading bandits paper, Algorithm 1",
    )


def _cucb_gaussian_as_printed() -> SymbolicPlan:
    noise = _gaussian(symbols()[0], "each of at most K played outcomes is sent once")
    raw = SymbolicStep(DeclassifiedStep("u_0 is sent raw"))
    return _plan(
        {"one user": (noise,), "the round-0 vector": (raw,)},
        "cascading bandits paper, Algorithm 4",
        gaussian=True,
    )


_SENT = "each of at most K played outcomes is sent once"
_LEAST_SENT = "the least-pulled played outcome is sent once"
_BATCHED = "one outcome enters one batch, released once"
_COUNTED = "the click vector enters one histogram, released once"

_PLANS: dict[str, Callable[[], SymbolicPlan]] = {
    "cucb-ldp1": _noisy("K", _SENT, "Chen et al. 2020, Algorithm 1", record="one user"),
    "cucb-ldp2": _noisy("1", _LEAST_SENT, "Chen et al. 2020, Algorithm 2", record="one user"),
    "cucb-ldp-bit": _response("V", "one message, of the bits of a few outcomes"),
    "cucb-ldp-gaussian": _noisy("K", _SENT, record="one user", gaussian=True),
    "cucb-batch-gaussian": _noisy(
        "K", "each of the K outcomes enters one batch, whose sum is released once", gaussian=True
    ),
    "cucb-batch": _noisy("q", "each of the q outcomes fed enters one batch, whose sum is released once"),
    "dp-bandit": _noisy("1", _BATCHED),
    "dp-best-arm": _noisy("1", _BATCHED),
    "dp-bandit-gaussian": _noisy("1", _BATCHED, gaussian=True),
    "dp-bandit-shuffle": _shuffled(_shuffled_bit, "one bit enters one batch, shuffled once"),
    "dp-bandit-ldp": _response("2", "one bit about one outcome"),
    "dp-hedge": _noisy(
        "K",
        "the outcomes of all K experts enter one stream, whose rows are one release of them in units of the norm "
        "of its column",
        gaussian=True,
    ),
    "cascade-ucb-rr": _response("K + 1", "one symbol: the clicked position, or none"),
    "cascade-ucb-batch": _noisy("c", _COUNTED),
    "cascade-ucb-batch-gaussian": _noisy("c", _COUNTED, gaussian=True),
    "cascade-ucb-batch-shuffle": _shuffled(
        _shuffled_clicks, "the click vector enters one histogram, shuffled once"
    ),
    **{
        f"published/{name}": _noisy("1", _BATCHED, source)
        for name, source in (
            ("dp-se", "Sajed & Sheffet 2019, Algorithm 2"),
            ("adap-klucb", "Azize & Basu 2022, Algorithm 1"),
            ("dp-imed", "Azize, Wu, Honda, Orabona, Ito & Basu 2025"),
            ("lazy-dp-ts", "Hu & Hegde 2022, Algorithm 2"),
        )
    },
    "published/cucb-dp": lambda: _tree_as_printed(symbols()[0]),
    "published/cucb-dp-least": lambda: _tree_as_printed(1),
    "published/dpucb-mat": _matroid_as_printed,
    "published/dpts-mat": _matroid_as_printed,
    "published/cascade-ucb-hybrid": _cascade_hybrid_as_printed,
    "published/cascade-ucb-ldp-laplace": _cascade_as_printed,
    "published/cascade-ucb-ldp-gaussian": _cascade_as_printed,
    "published/cascade-ucb-ldp-composition": _cascade_as_printed,
    "published/cucb-ldp-gaussian": _cucb_gaussian_as_printed,
}
PLANNED = tuple(_PLANS)
"""The registered names of learners with a plan: all that claim privacy."""


@functools.cache
def _symbolic_plan(name: str) -> SymbolicPlan:
    """Return the plan of a learner by its registered name.

    Raises
    ------
    ParameterError
        If no plan is known: the learner claims no privacy, or does not exist.
    """
    if name not in _PLANS:
        raise ParameterError(f"name = {name!r}: no plan is known; there are plans for {', '.join(PLANNED)}")
    return _PLANS[name]()


def plan_and_claim(name: str) -> tuple[SymbolicPlan, sp.Expr | NumericClaim]:
    """Return the plan of a learner and the claimed limit on the cost of a record, in the currency of the plan.

    Raises
    ------
    ParameterError
        If no plan is known.
    """
    if name in LINEAR_PLANNED:
        return linear_plan(name), linear_claim(name)
    plan = _symbolic_plan(name)
    return plan, symbols()[2] if plan.currency == "epsilon" else symbol("mu") ** 2


def plan_as_data(name: str) -> dict[str, Any]:
    """Return the claim of a learner's plan for all values of its symbols, and its proof, as data.

    Raises
    ------
    ParameterError
        As `plan_and_claim`; `NoProof` if values are released raw.
    """
    return plan_document(*plan_and_claim(name), str(ONE_REPORT), {})


def plan_counterexample(name: str) -> CounterexampleFound | None:
    """Return K, L, epsilon (or mu) and T at which a record pays more than its learner claims; None if none were found.

    Raises
    ------
    ParameterError
        As `plan_and_claim`.
    """
    return find_counterexample(*plan_and_claim(name))
