import functools
import itertools
import math
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import sympy as sp

from accountant import Simulation
from algorithms import CascadeUCBRR, CUCBBatch, simulate
from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import (
    Arms,
    Cascade,
    DisjointPaths,
    Experts,
    FailingTopK,
    LinearBandit,
    LinearContexts,
    MaximumCoverage,
    SemiBandit,
    ShortestPath,
    TopK,
    UniformMatroid,
)
from algorithms.structured_learner import PLAYS
from algorithms.theory.confidence_theorem import ConfidenceTheorem
from algorithms.theory.linear_regret import LINEAR_BOUNDS
from algorithms.theory.regret import BOUNDS, WITHOUT_BOUND
from algorithms.theory.regret_bound import Instance


def bound(name, problem, epsilon, horizon):
    settings = {"index": "confidence"} if name.startswith("cascade-ucb-batch") else {}
    return BOUNDS[name].evaluate(Instance(problem, epsilon, horizon, settings=settings))


def test_every_registered_learner_has_a_bound_or_a_reason_why_not():
    assert {*BOUNDS, *WITHOUT_BOUND} == {*learners, *linear_learners, *contextual_learners}
    assert not set(BOUNDS) & set(WITHOUT_BOUND)


# Each formula once more, in plain numbers, on an instance where every term counts.
MATROID = SemiBandit(UniformMatroid(5, 3), [0.9, 0.8, 0.6, 0.5, 0.1])
D = {3: (0.1, 0.4), 4: (0.5, 0.8)}  # element: least and largest gap; all 3 optimal ones are better


def test_theorem_5_for_randomized_response():
    """The expected costs of an item of gaps of .1 and .3, and of .3 and .5: S(Delta, Delta_max; N)."""
    problem, epsilon, horizon = Cascade(5, 3, [0.1, 0.6, 0.5, 0.4, 0.3]), 1.3, 1000
    x = math.log(6 * 5 * horizon**2)
    p0 = (1 - 0.6) * (1 - 0.5)
    gain = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 3)
    root = math.sqrt(x) + math.sqrt(2)
    square = (p0 * root**2 + math.exp(-2) * (3 + math.sqrt(2 * x))) / (2 * gain**2 * p0**2)
    expected = 1.0
    for least, largest in ((0.3, 0.5), (0.1, 0.3)):
        expected += square * (2 / least - 1 / largest) + 2 * largest
    assert bound("cascade-ucb-rr", problem, epsilon, horizon) == pytest.approx(expected)


def test_the_other_bounds():
    horizon, epsilon, log = 1000, 0.7, math.log(1000)
    top_k = SemiBandit(TopK(5, 3), [0.9, 0.8, 0.6, 0.5, 0.1])
    worst = 2.3 - (0.6 + 0.5 + 0.1)
    cucb = 5 * worst * (6 * log * 3**2 / 0.1**2 + math.pi**2 / 3 + 1)
    assert bound("cucb", top_k, epsilon, horizon) == pytest.approx(cucb)
    # Arms 0 and 1 cost as much as the exchange of arm 2 (0.6 - 0.5), arm 2 that of arm 1 (0.8 - 0.5).
    members = sum(2 / gap - 1 / worst for gap in (0.1, 0.5, 0.1, 0.1, 0.3))
    ldp2 = 128 * 9 * log / epsilon**2 * members + 15 * worst
    ldp1 = 128 * 9 * 9 * log / epsilon**2 * members + 15 * worst
    assert bound("cucb-ldp2", top_k, epsilon, horizon) == pytest.approx(ldp2)
    assert bound("cucb-ldp1", top_k, epsilon, horizon) == pytest.approx(ldp1)
    omm = sum(
        8 * log * (2 / least - 1 / largest) + 4 / 3 * math.pi**2 * 3 * largest
        for least, largest in D.values()
    )
    assert bound("omm", MATROID, epsilon, horizon) == pytest.approx(omm)
    cascade = Cascade(5, 3, [0.1, 0.6, 0.5, 0.4, 0.3])
    ucb1 = 6 * log * (2 / 0.3 - 1 / 0.5 + 2 / 0.1 - 1 / 0.3) + 5 * math.pi**2 / 3
    assert bound("cascade-ucb1", cascade, epsilon, horizon) == pytest.approx(ucb1)


@pytest.mark.parametrize("horizon", [1, 3, 7, 2**20 - 1, 2**20, 10**6])
def test_learner_and_theorem_have_the_same_exponent(horizon):
    from algorithms.theory.confidence_theorem import x
    from algorithms.theory.regret_bound import K, L, T, epsilon

    numbers = {T: horizon, L: 5, K: 3, epsilon: 1.0}
    cascade = Cascade(5, 3, [0.5] * 5)
    learner = CascadeUCBRR(cascade.structure, Simulation(0, 64), epsilon=1.0, horizon=horizon)
    assert learner.exponent == pytest.approx(
        float(dict(BOUNDS["cascade-ucb-rr"].definitions)[x].subs(numbers))
    )


def test_an_item_as_good_as_the_last_of_the_best_counts_with_its_gap_to_a_better_one():
    """The third item ties with the second, and is 0.4 worse than the first."""
    problem, epsilon, horizon = Cascade(3, 2, [0.9, 0.5, 0.5]), 1.3, 1000
    b, gap, p0, largest = 2 / epsilon, 0.4, 0.1, 0.4
    phases = 3 * (2 + math.log2(horizon))
    x, y = math.log(3 * 3 * phases * horizon**2), math.log(20 * phases)
    root, tail = math.sqrt(x) + math.sqrt(y), b * (x + y)
    noise = 2 * b * root * math.sqrt(phases * (1 + 0.9**2))
    # Of the equation that Q_0 solves: (gap Q_0 - tail)^2 = root^2 Q_0 / (2 p0) + noise^2.
    linear = 2 * gap * tail + root**2 / (2 * p0)
    few = (linear + math.sqrt(linear**2 - 4 * gap**2 * (tail**2 - noise**2))) / (2 * gap**2)
    expected = 1 + gap * (1 + 1.1 / p0) * few + largest
    assert bound("cascade-ucb-batch", problem, epsilon, horizon) == pytest.approx(expected)


def test_where_nothing_can_be_lost_bounds_are_0():
    """Also that of cucb-batch, whose terms divide by the largest regret of a round."""
    equal = [0.5, 0.5, 0.5]
    problems = {
        "bandit": SemiBandit(Arms(3), equal),
        "semi-bandit": SemiBandit(TopK(3, 2), equal),
        "matroid": SemiBandit(UniformMatroid(3, 2), equal),
        "cascade": Cascade(3, 2, equal),
        "experts": SemiBandit(Experts(3), equal),
        "linear": LinearBandit(np.eye(3)[:1], np.eye(3)[0], 0.0, 100, "signs"),
        "contextual": LinearContexts(np.zeros(3), 4),
    }
    for name, entry in {**learners, **linear_learners, **contextual_learners}.items():
        if name in BOUNDS:
            assert bound(name, problems[entry.make.family], 2.0, 1000) == 0


def test_an_item_that_always_attracts_leaves_no_finite_bound():
    problem = Cascade(3, 2, [1.0, 0.5, 0.2])
    assert bound("cascade-ucb-rr", problem, 1.0, 100) == math.inf


def test_regimes():
    def covered(name, problem, epsilon, horizon, **settings):
        return BOUNDS[name].covers(Instance(problem, epsilon, horizon, settings=settings))

    top_k = SemiBandit(TopK(5, 4), [0.9, 0.8, 0.6, 0.5, 0.1])
    assert covered("cucb-ldp2", top_k, 3.6, 100)
    assert not covered("cucb-ldp2", top_k, 3.7, 100)
    assert covered("cucb-ldp1", top_k, 14.0, 100)
    assert covered("cucb-ldp2", top_k, 3.6, 400_000_000)
    assert not covered("cucb-ldp2", top_k, 3.6, 400_000_001)
    assert covered("cucb-ldp1", top_k, 1.0, 10**7)
    assert not covered("cucb-ldp1", top_k, 1.0, 10**7, anytime="yes")  # of indices of H_13 = 2e9
    assert covered("published/cucb-ldp-gaussian", top_k, 1.0, 100)
    assert not covered("published/cucb-ldp-gaussian", top_k, 1.0, 100, noise_multiplier=0.01)


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"horizon": -5}, {"horizon": 1.5}, {"delta": 1.0}])
def test_an_instance_is_one_that_learners_can_be_built_on(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} = .*: must"):
        Instance(**({"problem": MATROID, "epsilon": 1.0, "horizon": 10} | wrong))


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_is_about_what_its_learner_plays(name):
    """Nobody claims one elsewhere, and it is infinite, whatever its expression would be there."""
    played = {
        "bandit": SemiBandit(Arms(3), [0.9, 0.5, 0.1]),
        "semi-bandit": SemiBandit(DisjointPaths(2, 2), [0.9, 0.5, 0.3, 0.1]),
        "matroid": MATROID,
        "cascade": Cascade(3, 2, [0.5, 0.3, 0.1]),
        "experts": SemiBandit(Experts(3), [0.5, 0.3, 0.1]),
        "linear": LinearBandit([[1.0, 0, 0], [0, 1.0, 0]], [0.5, 0.1, 0], sigma=0.1, population=100),
        "contextual": LinearContexts(np.array([0.5, 0.2]), 3),
    }
    make = {**learners, **linear_learners, **contextual_learners}[name].make
    for kind, problem in played.items():
        instance = Instance(problem, 1.0, 10**4)
        assert instance.family == kind
        if kind not in PLAYS.get(make.family, (make.family,)):
            theorem = BOUNDS[name].bound_for(instance)
            assert not theorem.covers(instance)
            assert not theorem.claimed(instance)
            assert theorem.evaluate(instance) == math.inf


def test_a_theorem_needs_an_oracle_whose_failures_do_not_last():
    """A failure lasts as long as the weights: only indices that grow with the rounds are other ones in each."""
    failing = SemiBandit(FailingTopK(2, 1, 0.3), [0.9, 0.1])
    never = SemiBandit(FailingTopK(2, 1, 1.0), [0.9, 0.1])
    greedy = SemiBandit(MaximumCoverage(2, 2, 1), [0.1, 0.8, 0.4, 0.5])  # alpha below 1
    names = [name for name in BOUNDS if learners.get(name) and learners[name].make.family == "semi-bandit"]
    covered = {name for name in names if BOUNDS[name].covers(Instance(failing, 1.0, 1000))}
    assert covered == {"cucb", "published/cucb-ldp-gaussian"}
    for name in names:
        theorem, instance = BOUNDS[name], Instance(failing, 50.0, 1000)
        assert theorem.covers(Instance(never, 1.0, 1000)) is (theorem.elsewhere is None)
        assert theorem.bound_for(Instance(greedy, 1.0, 1000)).covers(Instance(greedy, 1.0, 1000))
        assert theorem.claimed(instance) is (name in covered)
        assert ("never fails" in theorem.regime_on(instance)) is (name not in covered)


@pytest.mark.slow
def test_why_failures_must_not_last():
    """Regret of 256 runs is above the bound on the same arms and an oracle that never fails, by five errors."""
    problem, horizon = SemiBandit(FailingTopK(2, 1, 0.3), [0.1, 0.9]), 1_000_000
    trace = simulate(
        functools.partial(CUCBBatch, problem.structure, epsilon=10.0, horizon=horizon),
        problem,
        horizon=horizon,
        runs=256,
        seed=1,
        checkpoints=2,
    )
    regret = trace.regret[-1]
    beyond = regret.mean() - 5 * regret.std() / 256**0.5
    assert beyond > bound("cucb-batch", SemiBandit(TopK(2, 1), [0.1, 0.9]), 10.0, horizon)


def test_bounds_derived_for_learners_as_printed():
    horizon, epsilon, delta, log = 1000, 0.7, 1e-3, math.log(1000)
    cascade = Cascade(5, 3, [0.1, 0.6, 0.5, 0.4, 0.3])
    gaps = 2 / 0.3 - 1 / 0.5 + 2 / 0.1 - 1 / 0.3
    for name, radius in (
        ("laplace", math.sqrt(1.5) + 3 / epsilon * math.sqrt(24)),
        ("gaussian", math.sqrt(1.5) + 4 / epsilon * math.sqrt(3 * math.log(1.25 / delta))),
        (
            "composition",
            math.sqrt(1.5) + 4 / epsilon * math.sqrt(6 * 3 * math.log(math.e + epsilon / delta)),
        ),
    ):
        expected = 4 * radius**2 * log * gaps + 10 * math.pi**2 / 3
        assert bound(f"published/cascade-ucb-ldp-{name}", cascade, epsilon, horizon) == pytest.approx(
            expected
        )
    top_k = SemiBandit(TopK(5, 3), [0.9, 0.8, 0.6, 0.5, 0.1])
    plays = 128 * 3 * math.log(1.25 / delta) * math.log(1005) * 9 / (epsilon**2 * 0.1**2)
    expected = (plays + 2 * (1 + log) + 1) * 5 * 1.1
    assert bound("published/cucb-ldp-gaussian", top_k, epsilon, horizon) == pytest.approx(expected)
    x, expected = math.log(3 * horizon), 4.5 * 5 * 1.1 / 27
    for least, largest in D.values():
        expected += 48 * x * (2 / least - 1 / largest)
        expected += 48 * 3 / epsilon * x * min(3, 1 + math.log(largest / least))
    assert bound("published/dpucb-mat", MATROID, epsilon, horizon) == pytest.approx(expected)


def test_paths_and_coverage_have_bounds_too():
    paths = SemiBandit(ShortestPath.grid(3, 3), np.linspace(0.1, 0.9, 12))
    instance = Instance(paths, 1.0, 10**6)
    assert 0 < BOUNDS["cucb-batch"].bound_for(instance).evaluate(instance) < math.inf
    coverage = SemiBandit(MaximumCoverage(3, 1, 1), [1.0, 0.6, 0.8])
    instance = Instance(coverage, 1.0, 10**6)
    assert 0 < BOUNDS["cucb-ldp-bit"].bound_for(instance).evaluate(instance) < math.inf


def test_few_arms_of_a_path():
    """How many the theorem elsewhere and the learner feed, told the horizon and not."""
    played = Instance(SemiBandit(DisjointPaths(2, 3), [0.9, 0.8, 0.6, 0.5, 0.1, 0.2]), 3.0, 1000)
    theorem = BOUNDS["cucb-batch"].bound_for(played)
    untold = replace(played, settings={"anytime": "yes"})
    for instance, arms in ((played, 2), (untold, 3)):
        confidence = theorem.confidence
        assert isinstance(confidence, ConfidenceTheorem)
        told = None if instance.anytime else instance.horizon
        learner = CUCBBatch(instance.problem.structure, Simulation(0, 64), epsilon=3.0, horizon=told)
        assert theorem.value_of(confidence.few, instance) == learner.few == arms


def test_a_theorem_elsewhere_is_about_no_other_structure():
    bound = BOUNDS["cucb-batch"]
    for structure, own in ((TopK(4, 2), True), (UniformMatroid(4, 2), True), (DisjointPaths(2, 2), False)):
        about = bound.bound_for(Instance(SemiBandit(structure, [0.3, 0.45, 0.6, 0.9]), 1.0, 100))
        assert (about is bound) is own
    failing = Instance(SemiBandit(FailingTopK(4, 2, 0.5), [0.3, 0.45, 0.6, 0.9]), 1.0, 100)
    assert bound.bound_for(failing) is bound
    assert not bound.covers(failing)


def instance_of(name):
    """Return an instance that the bound of a learner is about."""
    family = {**learners, **linear_learners, **contextual_learners}[name].family
    problem = {
        "bandit": SemiBandit(Arms(3), [0.2, 0.5, 0.9]),
        "semi-bandit": SemiBandit(TopK(3, 2), [0.2, 0.5, 0.9]),
        "matroid": MATROID,
        "cascade": Cascade(5, 3, [0.1, 0.6, 0.5, 0.4, 0.3]),
        "experts": SemiBandit(Experts(3), [0.2, 0.5, 0.9]),
        "linear": LinearBandit(np.eye(3), np.eye(3)[0], 0.0, 100, "signs"),
        "contextual": LinearContexts(np.eye(3)[0], 4),
    }[family]
    return Instance(problem, 2.0, 1000)


POINT = {"Delta": 0.6, "Delta_max": 0.8, "rho": 4 / 3, "theta": 0.1, "l": 3.0, "t": 20.0}
"""Values at which expressions are recorded, of symbols that no instance has values of; others are numbers from 2 on."""

LONG = {
    (f"dp-dpe-{model}", part)
    for model in ("central", "local", "shuffle")
    for part in ("constant", "begun", "remainder")
}
"""Sums of seconds; that of dpe is the same but for the noise."""


def statements(name, stated, bound):
    """Yield all expressions of a bound, its proof and its theorem elsewhere, with their values, and all settings."""
    instance = replace(instance_of(name), horizon=10**6)
    for field in fields(stated):
        value = getattr(stated, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            each = part[1] if isinstance(part, tuple) else part  # of a definition: what it stands for
            if is_dataclass(each):
                yield from statements(name, each, each if field.name == "elsewhere" else bound)
            elif isinstance(each, float | bool):
                yield field.name, each
            elif isinstance(each, sp.Expr) and (name, field.name) not in LONG:
                named = [each, *(definition for _, definition in bound.definitions)]
                symbols = {symbol.name for expression in named for symbol in expression.free_symbols}
                unknown = sorted(symbols - {symbol.name for symbol in bound.values(instance)})
                point = {symbol: POINT.get(symbol, 2.0 + 0.3 * i) for i, symbol in enumerate(unknown)}
                yield field.name, bound.value_of(each, instance, **point)


def test_statements_of_theorems_are_as_recorded(snapshot):
    """No constant of a bound, or of what a proof says of a learner, changes unseen; that they are right, others say.

    A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code.
    """
    lines = [
        f"{name}: " + "; ".join(f"{what} {value:.6g}" for what, value in statements(name, bound, bound))
        for name, bound in sorted(BOUNDS.items())
    ]
    assert "\n".join(lines) == snapshot


@pytest.mark.few(22)
@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_every_bound_says_which_of_its_terms_is_largest(name):
    instance = instance_of(name)
    whole = BOUNDS[name].evaluate(instance)
    _, largest = BOUNDS[name].dominant(instance)
    assert 0 < largest <= whole * (1 + 1e-12)


# --- learning ---------------------------------------------------------------------------------------

EASY = {
    "bandit": SemiBandit(Arms(4), [0.05, 0.95, 0.1, 0.9]),
    "semi-bandit": SemiBandit(TopK(4, 2), [0.05, 0.95, 0.1, 0.9]),
    "matroid": SemiBandit(UniformMatroid(4, 2), [0.05, 0.95, 0.1, 0.9]),
    "cascade": Cascade(4, 2, [0.02, 0.55, 0.05, 0.5]),
    "experts": SemiBandit(Experts(4), [0.05, 0.95, 0.1, 0.9]),
}
RUNS = 64

USUAL = (20.0, 4000)


def uniform_regret(problem):
    """Return what a round of uniform play costs: some of four arms, in every order where order counts."""
    actions = np.array(list(itertools.permutations(range(4), problem.structure.size)))
    return problem.benchmark - problem.expected_reward(actions).mean()


@functools.cache
def easy_trace(name, epsilon, horizon):
    problem = EASY[learners[name].family]
    build = learners[name].build(problem, epsilon=epsilon, horizon=horizon)
    return simulate(build, problem, horizon=horizon, runs=RUNS, seed=10, checkpoints=horizon // 10)


COSTLY = {
    "published/cascade-ucb-hybrid",
    "published/cucb-dp",
    "published/cucb-dp-least",
    "published/lazy-dp-ts",
}
"""Learners whose trees or draws take seconds; they are replayed against their pseudocode, too."""


LONGER = {"published/dp-se": 40_000, "published/adap-klucb": 40_000}
"""Learners that need more rounds than others to learn anything."""


PROOF_CHECKED = {*LINEAR_BOUNDS} | {
    name for name in {*BOUNDS} - {*LINEAR_BOUNDS} if BOUNDS[name].confidence is not None
}
"""Learners whose proofs are checked in every round, in tests of ``verify.regret_claims``."""


@pytest.mark.slow_cells("published/dpts-mat", "cts")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in COSTLY | PROOF_CHECKED | set(LONGER) else [])
        for name in learners
    ],
)
def test_learning_happens(name):
    """On an easy instance at epsilon = 20 the second half costs less than the first, and below a third of
    uniform play (not below half of the first: whoever learns in doubling batches pays in steps). Both
    differences are above 6 s.e. of 64 runs, so chance (1e-9) does not decide; some learners
    have a run in hundreds that loses far more than the others.
    """
    epsilon, horizon = USUAL
    horizon = LONGER.get(name, horizon)
    trace = easy_trace(name, epsilon, horizon)
    middle = int(np.searchsorted(trace.rounds, horizon // 2))
    first, second = trace.regret[middle], trace.regret[-1] - trace.regret[middle]
    excess = first - second
    assert excess.mean() > 6 * excess.std() / math.sqrt(RUNS)
    third = uniform_regret(EASY[learners[name].family]) * horizon / 2 / 3
    assert second.mean() + 6 * second.std() / math.sqrt(RUNS) < third
