"""Proofs as data: what gates derived is accepted by the independent checker, and is refused where it is changed."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, BasicComposition, Budget, GaussianComposition
from accountant.audit.release_tables import from_tables
from accountant.filters.renyi import RenyiComposition
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from accountant.proofs.audit_proof import audit_proof
from accountant.proofs.proof_document import (
    DerivedReleases,
    NoProof,
    enforced_theorem,
    exact_number,
    forms_of_mechanism,
)
from algorithms.theory.linear_plans import LINEAR_PLANNED
from algorithms.theory.plans import PLANNED, plan_and_claim, plan_as_data, plan_counterexample
from mechanisms import (
    Binomial,
    Box,
    Categories,
    Choose,
    Clip,
    Composed,
    DiscreteLaplace,
    Gaussian,
    Integers,
    Interval,
    Laplace,
    OneHot,
    RandomizedResponse,
    Repeated,
    Sensitivity,
)
from mechanisms.transformations import (
    Above,
    Affine,
    BitsToCategory,
    CategoryToOneHot,
    FirstAbove,
    LinearMap,
    RandomRounding,
    Table,
)

PLANNED_THEOREM = {"name": "plan", "resolution": 10}
CLAIM = {"relation": "replace one", "unit": "one report"}
WIDE = Sensitivity(1e3, 1e3, 1e3)


def follows(checker: Any, document: Any) -> bool:
    """Whether the checker accepts a document; what it does not, it refuses by an exception."""
    try:
        checker.check(checker.load(json.dumps(document).encode()))
    except Exception:
        return False
    return True


def spent(gate: Accountant, record: str, theorem: Any, limit: Any) -> dict[str, Any]:
    """Return the proof that a run's only record keeps exactly what it was charged."""
    releases = DerivedReleases()
    releases.add_run(gate)
    found = gate.ledger.spent(record).values
    names = {"basic": ("epsilon", "delta"), "gdp": ("mu_squared",), "zcdp": ("rho",)}[limit["name"]]
    amounts = {name: exact_number(value) for name, value in zip(names, found, strict=False)}
    return releases.document({**CLAIM, **amounts}, {"name": limit["name"], **amounts}, {})


PATHS: list[tuple[Any, Any]] = [
    (Box(-1, 2, 2), lambda x: x * 0.1),
    (Box(-1, 2, 2), lambda x: x.take(np.array([[1, 0, 1]]))),
    (Box(-1, 2, 2), lambda x: x.take(np.array([[1, -1]])) * -3.0),
    (Box(-1, 2, 2), lambda x: x.sum() + 5.0),
    (Box(-1, 2, 2), lambda x: x + x),
    (Box(-1, 2, 2), lambda x: x.map(LinearMap([[0.1, 0.7], [1.0, -0.3]]))),
    (Box(-1, 2, 2), lambda x: (x * 3.0 + 1.0).map(Clip(0, 0.3))),
    (Integers(-2, 3, 2), lambda x: x.map(Clip(-1, 1)) * 2.0),
    (OneHot(3), lambda x: x.take(np.array([[0, 2]]))),
    (OneHot(3), lambda x: x),
    (OneHot(2, allow_none=False), lambda x: x.map(LinearMap([[0.5, 2.0]]))),
    (Interval(0, 1), lambda x: x.map(Affine(0.1, 0.3) >> Affine(0.7))),
    (Interval(0, 1), lambda x: x.map(RandomRounding(0.0, 3.0, 0.5, 0, 3))),
    (Categories(3), lambda x: x.map(CategoryToOneHot(3))),
    (Categories(3), lambda x: x.map(Table([0.5, 1.5, 2.0]))),
    (Categories(3), lambda x: x.map(Table(np.array([[0.5, 1.5], [2.0, 0.1], [0.0, 0.0]])))),
]


@pytest.mark.parametrize("case", range(len(PATHS)))
def test_what_a_gate_charges_is_what_the_checker_derives(case: int, checker: Any) -> None:
    domain, path = PATHS[case]
    gate = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    value = path(gate.private(domain.extremes()[0], domain, "ann"))
    gate.release(Laplace(scale=2.5, sensitivity=WIDE), value)
    proof = spent(gate, "ann", BasicComposition(), {"name": "basic"})
    assert follows(checker, proof)
    for key in ("claim", "theorem"):
        less = copy.deepcopy(proof)
        less[key]["epsilon"] = exact_number(Fraction(less[key]["epsilon"]) * Fraction(999_999, 1_000_000))
        assert not follows(checker, less)


@pytest.mark.parametrize(
    "noise",
    [
        Binomial(trials=200, shift=1, delta=1e-5, ones=2),
        DiscreteLaplace(scale=3.0, sensitivity=Sensitivity(5.0, 5.0, 5.0)),
        Gaussian(sigma=3.0, sensitivity=WIDE, delta=1e-5),
    ],
)
def test_noise_is_written_as_it_is_charged(noise: Any, checker: Any) -> None:
    gate = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    gate.release(noise, gate.private([1], Integers(0, 1), "ann"))
    proof = spent(gate, "ann", BasicComposition(), {"name": "basic"})
    assert follows(checker, proof)
    charged = proof["releases"]["release 1"]["charged"]
    charged["epsilon"] = exact_number(Fraction(charged["epsilon"]) * Fraction(999_999, 1_000_000))
    assert not follows(checker, proof)


def test_categories_are_answered_at_random(checker: Any) -> None:
    gate = Accountant(Budget(2.0), noise=np.random.default_rng(0))
    clicks = gate.private([0.0, 1.0, 0.0], OneHot(3), "ann")
    gate.release(RandomizedResponse(size=4, epsilon=1.0), clicks.map(FirstAbove()))
    bits = gate.private([0.3, 0.6], Box(0, 1, 2), "ann").map(Above(0.5)).map(BitsToCategory(2))
    gate.release(RandomizedResponse(size=4, epsilon=1.0), bits)
    assert follows(checker, spent(gate, "ann", BasicComposition(), {"name": "basic"}))


@pytest.mark.parametrize("theorem", [GaussianComposition(), ZeroConcentratedComposition()])
def test_filters_are_enforced_as_they_are_written(theorem: Any, checker: Any) -> None:
    budget = Budget(1.0, delta=1e-5)
    gate = Accountant(budget, composition=theorem, noise=np.random.default_rng(0))
    noise = Gaussian(sigma=12.0, sensitivity=Sensitivity.of_box([1.0, 1.0]))
    for _ in range(3):
        gate.release(noise, gate.private([0.5, 0.5], Box(0, 1, 2), "ann"))
    releases = DerivedReleases()
    releases.add_run(gate)
    claim = {**CLAIM, "epsilon": exact_number(1.0), "delta": exact_number(1e-5)}
    assert follows(checker, releases.document(claim, enforced_theorem(theorem, budget), {}))
    with pytest.raises(NoProof, match="proofs do not have this theorem"):
        enforced_theorem(RenyiComposition(), budget)
    with pytest.raises(NoProof, match="nothing is enforced"):
        enforced_theorem(BasicComposition(), Budget.unlimited())


@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [
        (Laplace(scale=2.5), 0.0),
        (Laplace(scale=2.5), 1e-3),
        (Gaussian.for_epsilon_delta(0.7, 1e-5, sensitivity=Sensitivity.of_box([1.0, 1.0])), 1e-5),
        (DiscreteLaplace(scale=2.0), 1e-3),
        (RandomizedResponse(size=3, epsilon=1.0), 0.1),
        (Binomial(trials=400, shift=1, delta=1e-5, ones=3), 1e-5),
        (Repeated(Laplace(scale=10.0), 10) >> abs, 0.0),
        (Clip(0, 2) >> Choose([0, 2]) >> Affine(0.1, 0.3) >> Laplace(scale=1.0, sensitivity=WIDE), 0.0),
        (Above(0.5) >> RandomizedResponse(size=2, epsilon=1.0), 0.0),
    ],
)
def test_a_mechanism_is_as_private_as_its_profile_says(mechanism: Any, delta: float, checker: Any) -> None:
    releases = DerivedReleases()
    releases.add_planned("one report", forms_of_mechanism(mechanism))
    epsilon = mechanism.profile().epsilon(delta)
    claim = {**CLAIM, "epsilon": exact_number(epsilon), "delta": exact_number(delta)}
    assert follows(checker, releases.document(claim, PLANNED_THEOREM, {}))
    less = {**claim, "epsilon": exact_number(epsilon * (1 - 1e-6))}
    assert not follows(checker, releases.document(less, PLANNED_THEOREM, {}))


class Louder(Laplace):
    """A mechanism of somebody else's class, which may draw anything."""


def test_two_rows_of_an_index_have_no_rule() -> None:
    """They are two values: what each loses was taken for what both do."""
    with pytest.raises(NoProof, match="there is no rule for what is done before"):
        list(forms_of_mechanism(CategoryToOneHot(2) >> Choose([[0], [1]]) >> Laplace(scale=1.0)))
    releases = DerivedReleases()
    releases.add_planned("one report", forms_of_mechanism(Composed((Louder(scale=1.0),))))
    with pytest.raises(NoProof, match="proofs have no rule for it"):
        releases.document(CLAIM, PLANNED_THEOREM, {})


def test_nothing_released_proves_nothing() -> None:
    releases = DerivedReleases()
    releases.add_run(Accountant(Budget(1.0), noise=np.random.default_rng(0)))
    with pytest.raises(NoProof, match="nothing was released"):
        releases.document(CLAIM, PLANNED_THEOREM, {})


def test_every_plan_is_proved_refuted_or_known_at_given_values_only(checker: Any) -> None:
    found: dict[str, list[str]] = {"proved": [], "proved of stated costs": [], "refuted": [], "neither": []}
    for name in (*PLANNED, *LINEAR_PLANNED):
        refuted = plan_counterexample(name) is not None
        try:
            said = checker.check(json.loads(json.dumps(plan_as_data(name))))
            assert not refuted, name
            assert ("(stated): " in said) == (plan_and_claim(name)[0].promises != ()), name
            found["proved of stated costs" if "(stated): " in said else "proved"].append(name)
        except (NoProof, checker.Wrong):
            found["refuted" if refuted else "neither"].append(name)
    assert [len(found["proved"]), len(found["proved of stated costs"])] == [22, 4]
    assert found["neither"] == ["published/dp-dpe-shuffle", "published/dp-pe-shuffle"]


FILES: dict[str, tuple[list[dict[str, Any]], float, float]] = {
    "gaussian": ([{"mechanism": "gaussian", "sigma": 5.0, "count": 10}], 2.9217, 1e-6),
    "unfair bits": (
        [{"mechanism": "binomial", "trials": 4000, "shift": 2, "probability": 0.1}],
        0.4478,
        1e-6,
    ),
    "counters": ([{"mechanism": "square-root-counter", "sigma": 10.0, "horizon": 100}], 0.9, 1e-6),
    "groups": (
        [
            {"mechanism": "laplace", "scale": 2.0, "records": ["a", "b"]},
            {"mechanism": "laplace", "scale": 1.0, "records": ["b"], "count": 3},
        ],
        3.5,
        0.0,
    ),
    "selections": (
        [
            {"mechanism": "noisy-max", "scale": 10.0, "count": 2},
            {"mechanism": "permute-and-flip", "scale": 10.0, "count": 3},
            {"mechanism": "sparse-vector", "threshold_scale": 10.0, "query_scale": 20.0, "positives": 2},
        ],
        1.3,
        0.0,
    ),
    "notions": ([{"mechanism": "pure", "epsilon": 0.5, "count": 3}], 1.5, 0.0),
}


@pytest.mark.parametrize("name", FILES)
def test_a_release_file_costs_what_it_is_said_to(name: str, checker: Any) -> None:
    tables, epsilon, delta = FILES[name]
    releases = from_tables("here", {"release": tables})
    assert follows(checker, audit_proof(releases, epsilon, delta))
    assert not follows(checker, audit_proof(releases, epsilon * 0.6, delta))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (
            {"mechanism": "propose-test-release", "test_scale": 1.0, "epsilon": 1.0, "delta": 1e-7},
            "no rule for prop",
        ),
        (
            {"mechanism": "randomized-response", "size": 2, "epsilon": 1.0, "shuffled": 100},
            "shuffled messages",
        ),
        ({"mechanism": "exponential-mechanism", "scale": 1.0, "monotone": True}, "in one direction"),
        (
            {"mechanism": "randomized-response", "size": 2, "epsilon": 1.0, "neighbours": "zero out"},
            "no rule for 'zero out'",
        ),
    ],
)
def test_what_has_no_rule_is_refused_by_name(table: dict[str, Any], why: str) -> None:
    with pytest.raises(NoProof, match=why):
        audit_proof(from_tables("here", {"release": [table]}), 1.0, 1e-6)
