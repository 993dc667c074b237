"""Every private learner's plan: proved or refuted for all K, L and epsilon, and kept by the running learner."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, GaussianComposition, Plan, PlanStep, Trust
from algorithms.catalogue.structured_entries import learners
from algorithms.estimates.randomized_bits import bits_of_one_message
from algorithms.play import play_records
from algorithms.problems import Arms, Cascade, Experts, SemiBandit, TopK, UniformMatroid
from algorithms.theory.plans import (
    PLANNED,
    _symbolic_plan,
    plan_and_claim,
    plan_counterexample,
    symbol,
    symbols,
)
from mechanisms import Gaussian, Sensitivity
from verify.learners.learner_subject import _proved_plan

GAUSSIAN = [
    name
    for name in PLANNED
    if not name.startswith("published/") and _symbolic_plan(name).currency == "mu_squared"
]
CERTIFIED = [name for name in PLANNED if not name.startswith("published/") and name not in GAUSSIAN]
PROBLEMS = {
    "bandit": lambda arms, size: SemiBandit(Arms(arms), np.linspace(0.1, 0.9, arms)),
    "semi-bandit": lambda arms, size: SemiBandit(TopK(arms, size), np.linspace(0.1, 0.9, arms)),
    "matroid": lambda arms, size: SemiBandit(UniformMatroid(arms, size), np.linspace(0.1, 0.9, arms)),
    "cascade": lambda arms, size: Cascade(arms, size, np.linspace(0.1, 0.9, arms)),
    "experts": lambda arms, size: SemiBandit(Experts(arms), np.linspace(0.1, 0.9, arms)),
}
ROUNDS = 40
TREES = ("cucb-dp", "cucb-dp-least")


def run(name, size, arms, epsilon, delta=None, rounds=ROUNDS, **options):
    entry = learners[name]
    accountant = Accountant(trust=Trust(entry.claim.model), noise=np.random.default_rng(3), seed=4, **options)
    problem = PROBLEMS[entry.family](arms, size)
    records = (np.random.default_rng(5).random((rounds + 1, arms)) < 0.5).astype(float)
    given = {"epsilon": epsilon, "horizon": rounds} | ({} if delta is None else {"delta": delta})
    accepted = {key: given[key] for key in given if key in inspect.signature(entry.make).parameters}
    for _ in play_records(
        entry.make(problem.structure, accountant, **accepted), problem, accountant, records
    ):
        pass
    return accountant


def at(name, size, arms, epsilon, kind):
    K, L, eps = symbols()
    few = min(size, math.ceil(epsilon / 4))
    values = {K: size, L: arms, eps: epsilon, symbol("T"): ROUNDS, symbol("q"): few}
    values[symbol("V")] = 2 ** bits_of_one_message(epsilon, size)
    return _symbolic_plan(name).evaluate(values, kind)


@pytest.mark.few(9)
@pytest.mark.parametrize("name", CERTIFIED)
def test_the_claim_is_proved_for_all_values(name):
    assert _proved_plan(name) == plan_and_claim(name)
    assert set(_symbolic_plan(name).costs().values()) == {symbols()[2]}  # tight: the cost is epsilon itself


@pytest.mark.parametrize("name", ["published/dpucb-mat", "published/dpts-mat"])
def test_the_printed_matroid_claims_are_refuted(name):
    K, L, eps = symbols()
    refutation = plan_counterexample(name)
    assert refutation is not None
    assert refutation.formula == L * eps / K
    assert refutation.kind == "the round-0 vector"
    assert refutation.point == {K: 1, L: 2, eps: 1}
    assert (
        str(refutation)
        == "the round-0 vector pays L*epsilon/K = 2, more than 1, at K = 1, L = 2, epsilon = 1"
    )


RAW = [name for name in PLANNED if name.startswith("published/c") and name.partition("/")[2] not in TREES]


@pytest.mark.slow_cells("cucb-dp")
@pytest.mark.parametrize("name", TREES)
def test_the_printed_trees_lose_the_number_of_nodes_over_two_logarithms(name):
    """Theorem 7: 0.738 epsilon at T = 10^5; more than epsilon at T = 2 and 4 only."""
    _, _, eps = symbols()
    plan = _symbolic_plan(f"published/{name}")
    (cost,) = plan.costs().values()

    def share_at(horizon):
        free = dict.fromkeys(plan.values.symbols, 1) | {symbol("T"): horizon}
        return float((cost / eps).subs(plan.values.exact_point(free)))

    share = {horizon: share_at(horizon) for horizon in range(2, 140)}
    for horizon, value in share.items():
        nodes = len(f"{horizon:b}")
        assert value == pytest.approx(nodes / (2 * math.log(horizon)), rel=1e-12)
    assert [horizon for horizon, value in share.items() if value > 1] == [2, 4]
    assert (round(share[2], 3), round(share[4], 3)) == (1.443, 1.082)
    assert share_at(10**5) == pytest.approx(0.738, abs=5e-4)
    # The node of round T is in no action: in their view the claim holds at T = 2 and 4 too.
    assert max(len(f"{horizon - 1:b}") / (2 * math.log(horizon)) for horizon in share) < 0.94
    refutation = plan_counterexample(f"published/{name}")
    assert refutation is not None
    assert refutation.point[symbol("T")] == 2


@pytest.mark.parametrize("name", RAW)
def test_printed_claims_with_raw_values_are_refuted_without_bound(name):
    refutation = plan_counterexample(name)
    assert refutation is not None
    assert refutation.cost == math.inf


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_claims_are_proved_in_gaussian_dp(name):
    assert _proved_plan(name) == plan_and_claim(name)
    assert set(_symbolic_plan(name).costs().values()) == {symbol("mu") ** 2}


@pytest.mark.few(2)
@pytest.mark.parametrize(("size", "arms", "epsilon", "delta"), [(1, 3, 1.0, 1e-3), (4, 6, 0.5, 1e-6)])
@pytest.mark.parametrize("name", GAUSSIAN)
def test_the_gaussian_ledger_agrees_with_the_formula(name, size, arms, epsilon, delta):
    """The worst record pays mu², mu the one of (epsilon, delta), up to the rounding of sigma."""
    accountant = run(
        name,
        size,
        arms,
        epsilon,
        delta=delta,
        rounds=120,  # with less, not even a first batch of some is released
        budget=Budget(epsilon, delta),
        composition=GaussianComposition(),
    )
    K, L, _ = symbols()
    mu = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=Sensitivity(1, 1, 1)).profile().gaussian_mu
    (kind,) = _symbolic_plan(name).records
    played = PROBLEMS[learners[name].family](arms, size).structure.size
    formula = float(_symbolic_plan(name).costs()[kind].subs({K: played, L: arms, symbol("mu"): mu}))
    record, _ = accountant.worst()
    assert float(accountant.ledger.spent(record).values[0]) == pytest.approx(formula, rel=1e-9)


def test_every_learner_that_claims_privacy_has_a_plan():
    private = {
        name for name, entry in learners.items() if not entry.as_printed.startswith("makes no privacy")
    }
    assert private == set(PLANNED)
    with pytest.raises(ValueError, match="no plan is known"):
        _symbolic_plan("cucb")


# A shuffled batch is a mechanism by its size, which the run chooses: what its users pay is in test_certified_privacy.
FIXED = [name for name in CERTIFIED if learners[name].claim.model != "shuffle"]
GRID = [(1, 1, 1.0), (1, 4, 0.3), (3, 3, 2.0), (4, 7, 1 / 3), (5, 6, 17.3)]
ON_GRID = [
    (name, *sizes)
    for name in FIXED
    for sizes in GRID
    if name != "dp-best-arm" or sizes[1] > 1  # one arm is the best one, and nobody pays
]


@pytest.mark.few(13)
@pytest.mark.parametrize(("name", "size", "arms", "epsilon"), ON_GRID)
def test_a_run_is_held_to_its_plan_and_uses_it_up(name, size, arms, epsilon):
    (kind,) = _symbolic_plan(name).records
    plan = at(name, size, arms, epsilon, kind)
    cost = sum(step.count * step.profile.pure_epsilon for step in plan.steps)
    assert Fraction(epsilon) * (1 - Fraction(1, 2**50)) <= cost <= Fraction(epsilon)
    accountant = run(name, size, arms, epsilon, budget=Budget(epsilon), plan=plan)
    _, worst = accountant.worst()
    assert float(worst.epsilon) == pytest.approx(epsilon, rel=1e-14)
    fullest = max(accountant.ledger.spent(record).values for record in accountant.ledger.records())
    assert fullest == tuple(step.count for step in plan.steps)


@pytest.mark.few(13)
@pytest.mark.parametrize(("name", "size", "arms", "epsilon"), ON_GRID)
def test_the_ledger_without_a_plan_agrees_with_the_formula(name, size, arms, epsilon):
    """Per record, the exact sum of charges is at most the plan's cost, and the worst record's is it."""
    (kind,) = _symbolic_plan(name).records
    plan = at(name, size, arms, epsilon, kind)
    cost = sum(step.count * step.profile.pure_epsilon for step in plan.steps)
    accountant = run(name, size, arms, epsilon, budget=Budget.unlimited())
    paid = [accountant.spent(record).epsilon for record in accountant.ledger.records()]
    assert max(paid) == pytest.approx(cost, rel=1e-36, abs=0.0)  # charges are rounded up


@pytest.mark.parametrize("name", [name for name in CERTIFIED if "mat" in name or name == "cucb-ldp1"])
def test_a_plan_with_one_release_less_is_broken(name):
    (kind,) = _symbolic_plan(name).records
    (step,) = at(name, 3, 4, 1.0, kind).steps
    with pytest.raises(BudgetExceeded):
        run(name, 3, 4, 1.0, budget=Budget(1.0), plan=Plan((PlanStep(step.mechanism, 2, step.sensitivity),)))


@pytest.mark.parametrize(("size", "arms", "epsilon"), [(1, 2, 1.0), (2, 5, 0.5), (4, 7, 2.0)])
@pytest.mark.parametrize("name", ["published/dpucb-mat", "published/dpts-mat"])
def test_the_printed_learners_pay_what_their_formulas_say(name, size, arms, epsilon):
    """K / epsilon is a float here, so that the formulas hold exactly; record 0 is the round-0 vector."""
    accountant = run(name, size, arms, epsilon, budget=Budget.unlimited())
    costs = _symbolic_plan(name).costs()
    K, L, eps = symbols()

    def value(kind):
        return Fraction(str(costs[kind].subs({K: size, L: arms, eps: Fraction(epsilon)})))

    assert accountant.spent(0).epsilon == value("the round-0 vector") == Fraction(epsilon) * arms / size
    rounds = [accountant.spent(record).epsilon for record in range(1, ROUNDS + 1)]
    assert max(rounds) == value("one round") == Fraction(epsilon)


def test_the_printed_cascade_learner_pays_infinity():
    accountant = run("published/cascade-ucb-ldp-laplace", 2, 4, 1.0, budget=Budget.unlimited())
    assert all(accountant.spent(record).epsilon is None for record in range(ROUNDS + 1))


def test_a_matroid_run_has_the_tight_epsilon_of_its_plan():
    """With δ allowed, K coordinates of Lap(K/ε) cost less than ε: the plan's certified interval says how much."""
    plan = at("cucb-batch", 4, 6, 16.0, "one round")
    accountant = run("cucb-batch", 4, 6, 16.0, budget=Budget(16.0), plan=plan)
    tight = accountant.guarantee(0.01)
    assert tight.width < 1e-6
    assert tight.upper < 15.9
    assert accountant.guarantee(0.0).upper == 16.0
