"""Regret theorems of linear bandits: each formula once more in plain numbers, and simulated regret below them."""

import math

import numpy as np
import pytest

from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear.elimination import inverse_root
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import LinearBandit, linear_problems
from algorithms.theory import linear_regret
from algorithms.theory.linear_regret import LINEAR_BOUNDS
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance, unit_mu
from mechanisms import Gaussian, Sensitivity

EPSILON, DELTA, ALPHA, SIGMA, D, K = 5.0, 1e-3, 0.8, 0.1, 4, 15
PROBLEM = linear_problems["linear"].build(dimension=D, actions=K)
UNBOUNDED = linear_problems["linear"].build(dimension=D, actions=K, rewards="gaussian")
S = math.floor(4 * D * math.log(math.log(D)) + 16)
MU = 1 / Gaussian.for_epsilon_delta(EPSILON, DELTA, sensitivity=Sensitivity(1, 1, 1)).sigma


def bound(name: str, horizon: int, problem: object = PROBLEM) -> float:
    return BOUNDS[name].evaluate(Instance(problem, EPSILON, horizon, DELTA))  # type: ignore[arg-type]


def test_all_linear_learners_have_a_theorem_but_fixed_u() -> None:
    assert set(LINEAR_BOUNDS) == set(linear_learners) - {"published/dpe-fixed-u"}


@pytest.mark.parametrize("t", [10, 4096, 10**6])
def test_printed_distributed_theorems(t: int) -> None:
    log = math.log(K * t)
    c0 = math.sqrt(2**0.2) / (math.sqrt(2**0.2) - 1)
    c1 = sum(2 ** (-ALPHA * (j - 1) / 2) for j in range(2, 400))
    c2 = sum(2 ** (-ALPHA * (j - 1)) for j in range(2, 400))
    dpe = 2 * (2 + S) + 8 * c0 * math.sqrt(2 * D * 2**ALPHA * t**0.2 * log) + 20 * S * math.sqrt(D * log)
    dpe += 16 * SIGMA * math.sqrt(2 * 2**ALPHA * log) * t**0.6 + 4 * c1 * SIGMA * S * math.sqrt(2 * log)
    dpe += 4 * math.log2(t)  # of phases, of which the paper counts log(2T/h)
    assert bound("published/dpe", t) == pytest.approx(dpe)
    noise = 2 * math.sqrt(2 * math.log(1.25 / DELTA)) / EPSILON
    shape = 8 * 2**ALPHA * S * math.sqrt(2 * D * log) * (t**0.2 / (2**0.2 - 1) + c2 * S)
    assert bound("published/dp-dpe-central", t) == pytest.approx(dpe + noise * shape)
    shuffled = math.sqrt(360 * math.log(4 * S / DELTA)) * 18 * math.sqrt(math.log(2 / DELTA)) / EPSILON
    assert bound("published/dp-dpe-shuffle", t) == pytest.approx(dpe + shuffled * shape)
    local = dpe + 32 * noise * S * math.sqrt(D) * math.sqrt(2 * 2**ALPHA * log) * t**0.6
    local += 8 * c1 * noise * S**2 * math.sqrt(2 * D * log)
    assert bound("published/dp-dpe-local", t) == pytest.approx(local)


@pytest.mark.parametrize("t", [10, 4096, 10**6])
def test_printed_standard_theorems(t: int) -> None:
    log = math.log(K * t)
    pe = 4 * S + 32 * math.sqrt(2 * D * t * log) + 24 * math.sqrt(S) * math.sqrt(2 * D * log)
    pe += 4 * math.log2(2 * t / S)
    assert bound("published/pe", t) == pytest.approx(pe)
    noise = 2 * math.sqrt(2 * math.log(1.25 / DELTA)) / EPSILON
    shape = 16 * D * math.sqrt(2 * S * log) * (math.log2(t) + 1)
    assert bound("published/dp-pe-central", t) == pytest.approx(pe + noise * shape)
    shuffled = math.sqrt(720 * math.log(2 / DELTA) / EPSILON**2 + 0.5)
    assert bound("published/dp-pe-shuffle", t) == pytest.approx(pe + shuffled * shape)
    local = (
        pe + 64 * D * noise * math.sqrt(2 * S * t * log) + 16 * D * noise * S**1.5 * math.sqrt(2 * log / S)
    )
    assert bound("published/dp-pe-local", t) == pytest.approx(local)


def least(summands: list[tuple[int, float]], first: int, t: int, problem: LinearBandit) -> float:
    """Rounds times their cost, or times the largest gap at most where that is less than half of what can be lost."""
    largest = problem.gaps.max()
    capped = sum(rounds * min(cost, largest) for rounds, cost in summands)
    return capped if 2 * capped < largest * (t - first) else sum(rounds * cost for rounds, cost in summands)


@pytest.mark.parametrize("t", [1, 5, 2000, 10**6])
@pytest.mark.parametrize("unbounded", [False, True])
def test_certified_distributed_theorems(t: int, unbounded: bool) -> None:
    problem = UNBOUNDED if unbounded else PROBLEM
    phases = math.floor(math.log2(t / 2 + 1))
    x = math.log(2 * K * max(phases, 1) * t)
    summands: dict[str, list[tuple[int, float]]] = {
        name: [] for name in ("dpe", "dp-dpe-central", "dp-dpe-local", "dp-dpe-shuffle")
    }
    for number in range(1, max(phases, 1) + 1):
        h, u = 2**number, math.ceil(2 ** (ALPHA * number) - 1e-9)
        clip = 1 + math.sqrt(2 * (SIGMA**2 + 1) * math.log(2 * S * u * max(phases, 1) * t))
        tau = 2 * (clip if unbounded else 1) * math.sqrt(S) / (u * MU)
        for name, noise in zip(summands, (0, tau, tau * math.sqrt(u), 1.3 * tau), strict=True):
            form = (SIGMA**2 + 2 * D / h) / u + noise**2 * 2 * D * (1 + 1 / h)
            summands[name].append((2 * h + S, (4 if number < phases else 2) * math.sqrt(2 * x * form)))
    for name, each in summands.items():
        assert bound(name, t, problem) == pytest.approx(2 * S + 8 + least(each, 2 + S, t, problem))


@pytest.mark.parametrize("t", [1, 100, 5000, 10**6])
def test_certified_standard_theorems(t: int) -> None:
    phases = max(1, math.floor(math.log2(t / S + 1)))
    x = math.log(2 * K * phases * t)
    summands: dict[str, list[tuple[int, float]]] = {
        name: [] for name in ("pe", "dp-pe-central", "dp-pe-local", "dp-pe-shuffle")
    }
    for number in range(1, phases + 1):
        h = S * 2 ** (number - 1)
        q = min(2 * D / h, 4 * D**2 * S / h**2) * (2 / MU) ** 2
        for name, noise in zip(summands, (0, q, 2 * D * (2 / MU) ** 2 / h, 1.69 * q), strict=True):
            each = 4 if number < phases else 2  # the leader is played instead of the phase that is cut
            summands[name].append((2 * h + S, each * math.sqrt(2 * x * (2 * D / h + noise))))
    for name, all_of_it in summands.items():
        assert bound(name, t) == pytest.approx(4 * S + 2 + least(all_of_it, 2 * S, t, PROBLEM))


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("dp-dpe-central", 0.2326),
        ("dp-dpe-shuffle", 0.282),
        ("dp-pe-central", 0.2156),
        ("dp-pe-shuffle", 0.2218),
    ],
)
def test_bounds_below_a_third_of_the_worst_regret(name: str, share: float) -> None:
    """At epsilon = 1 and T = 1e6 on the default problem; .446, .579, .305 and .343 where no summand is capped."""
    instance = Instance(linear_problems["linear"].build(), 1.0, 10**6, 1e-6)
    assert LINEAR_BOUNDS[name].evaluate(instance) / instance.trivial_regret == pytest.approx(share, rel=1e-3)


def test_a_theorem_for_bounded_rewards_says_nothing_of_others() -> None:
    for name in LINEAR_BOUNDS:
        finite = name in ("dpe", "dp-dpe-central", "dp-dpe-local", "dp-dpe-shuffle")
        assert math.isfinite(bound(name, 1000, UNBOUNDED)) == finite


@pytest.mark.parametrize("name", [name for name in LINEAR_BOUNDS if name.startswith("published/")])
def test_a_printed_learner_keeps_the_best_action(name: str) -> None:
    build = linear_learners[name].build(PROBLEM, epsilon=EPSILON, delta=DELTA, horizon=1500)
    assert simulate_phases(build, PROBLEM, runs=2, seed=9).best_kept.all()


def test_bounds_take_the_learners_settings() -> None:
    faster = Instance(PROBLEM, EPSILON, 1000, DELTA, {"alpha": 0.5})
    assert BOUNDS["dpe"].evaluate(faster) != bound("dpe", 1000)
    wider = Instance(PROBLEM, EPSILON, 1000, DELTA, {"reward_bound": 2.0})
    assert BOUNDS["dp-pe-central"].evaluate(wider) > bound("dp-pe-central", 1000)


def test_regimes() -> None:
    plane = linear_problems["linear"].build(dimension=2, actions=5)
    for name in LINEAR_BOUNDS:
        covers = BOUNDS[name].covers
        assert covers(Instance(PROBLEM, EPSILON, 1000))
        assert covers(Instance(plane, EPSILON, 1000)) != name.startswith("published/")  # S needs d >= 3
        assert not covers(Instance(PROBLEM, EPSILON, 1000, settings={"reward_bound": 0.5}))  # clips
        distributed = name in ("dpe", "dp-dpe-central", "dp-dpe-local", "dp-dpe-shuffle")
        assert covers(Instance(UNBOUNDED, EPSILON, 1000)) == distributed
        small = name in ("dp-dpe-shuffle", "dp-pe-shuffle")
        assert BOUNDS[name].regime.startswith("epsilon up to about") == small


@pytest.mark.parametrize(
    ("name", "least", "largest"), [("dp-dpe-shuffle", 20.0, 50.0), ("dp-pe-shuffle", 10.0, 30.0)]
)
def test_shuffled_noise_is_as_the_theorem_says_up_to_some_epsilon(
    name: str, least: float, largest: float
) -> None:
    """Beyond, two clients (one) add more than 1.3 times the central noise: rounding alone is a quarter of a step."""
    covers = BOUNDS[name].covers
    assert covers(Instance(PROBLEM, least, 1000))
    assert not covers(Instance(PROBLEM, largest, 1000))


CERTIFIED = [name for name in linear_learners if not name.startswith("published/")]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", CERTIFIED)
def test_without_a_horizon_the_bound_is_the_sum_over_the_epochs(name):
    """Of all that have ended what it is with their horizon; of the open one the least of that and of its phases'."""
    problem = LinearBandit(np.eye(3), np.array([0.6, 0.0, 0.0]), 0.1, 10**6, "signs")
    bound, anytime = BOUNDS[name], {"anytime": "yes"}

    def told(horizon):
        return bound.evaluate(Instance(problem, 2.0, horizon, 0.1))

    def free(rounds):
        return bound.evaluate(Instance(problem, 2.0, rounds, 0.1, anytime))

    for rounds in (33, 500, 1056):
        own = bound.value_of(bound.begun, Instance(problem, 2.0, 1024, 0.1), t=rounds - 32)
        assert free(rounds) == pytest.approx(told(32) + min(own, told(1024)), rel=1e-12)
    own = bound.value_of(bound.begun, Instance(problem, 2.0, 2**20, 0.1), t=10**5 - 1056)
    assert free(10**5) == pytest.approx(told(32) + told(1024) + min(own, told(2**20)), rel=1e-12)
    values = [free(rounds) for rounds in (1, 32, 33, 200, 1056, 1057, 20_000, 10**6)]
    assert values == sorted(values)
    assert free(10**5) < 2.5 * told(10**5)
    dominant = bound.dominant(Instance(problem, 2.0, 10**5, 0.1, anytime))[1]
    assert 0 < dominant <= free(10**5)


@pytest.mark.parametrize("name", ["dpe", "dp-dpe-central", "pe"])
def test_a_run_that_is_not_over_keeps_the_bound_on_its_phases(name):
    """Regret of single runs, told a horizon far away: below it in every round, and so it is in expectation."""
    problem = LinearBandit(np.array([[1.0], [-1.0], [0.5]]), np.array([0.9]), 0.0, 10**6, "signs")
    instance = Instance(problem, 5.0, 2**20, 0.1)
    build = linear_learners[name].build(problem, epsilon=5.0, delta=0.1, horizon=2**20)
    bound = BOUNDS[name]
    for path in simulate_phases(build, problem, runs=4, seed=1, rounds=5000).paths:
        for rounds, regret in path.T[1:]:
            assert regret <= bound.value_of(bound.begun, instance, t=float(rounds))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (0.05, 1e-2)])
def test_what_is_not_calibrated_follows_from_the_fewest_clients(epsilon, delta, monkeypatch):
    """With one level of data all clients' bits are as many for any number of them; each took seconds at small ones."""
    asked = []
    ratio = linear_regret._shuffled_ratio

    def counted(loss, failure, clients):
        asked.append(clients)
        return ratio(loss, failure, clients)

    monkeypatch.setattr(linear_regret, "_shuffled_ratio", counted)
    instance = Instance(linear_problems["linear"].build(), epsilon, 100, delta)
    assert linear_regret.shuffles_well(instance, 2)
    square = unit_mu(epsilon, delta) ** 2
    left = [n for n in linear_regret._ASKED if n > 2 and n not in asked]
    assert 3 in left
    for n in left:
        assert 4 * square * n < 1
        assert (
            ratio(epsilon, delta, n) ** 2 <= ratio(epsilon, delta, 2) ** 2 * (1 + 1 / 2048) + square * n / 2
        )


@pytest.mark.slow
def test_short_actions_are_learned_in_runs_that_are_long_enough():
    """The square of their length was lost beside others' in rounding: half of all rounds went to the worse action."""
    problem = LinearBandit([[1.0, 0.0], [0.0, 9e-6]], [0.0, 1.0], 0.0, 10**6, "signs")
    build = linear_learners["dpe"].build(problem, epsilon=1.0, horizon=2**52, settings={"alpha": 0.02})
    regret = simulate_phases(build, problem, runs=4, seed=1).regret
    assert regret.mean() < 0.02 * 9e-6 * 2**52  # the bound is a third of all


@pytest.mark.parametrize("short", [1.0, 1e-3, 1e-6, 5e-8])
def test_an_inverse_of_short_actions_is_exact(short):
    points = np.array([[0.6, 0.8, 0.0], [-0.8 * short, 0.6 * short, 0.0]])
    root = inverse_root(points, np.array([4.0, 9.0]))
    assert ((points @ root) ** 2).sum(axis=1) == pytest.approx([1 / 4, 1 / 9], rel=1e-6)
    assert not root[2].any()
