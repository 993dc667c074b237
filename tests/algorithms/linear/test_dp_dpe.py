"""Distributed phased elimination, certified: accounting, estimates, widths, refusals."""

import doctest
import functools
import importlib
import math
from dataclasses import replace

import numpy as np
import pytest

import algorithms.published as printed
from accountant import Accountant, Budget, Private, Simulation
from algorithms.linear.dp_dpe import DPE, DPDPECentral, DPDPELocal, DPDPEShuffle
from algorithms.linear.dp_pe import PE
from algorithms.linear.linear_phases import Phase, PopulationTooSmall, Schedule
from algorithms.linear.linear_play import play_linear, simulate_phases
from algorithms.problems import linear_problems
from algorithms.problems.linear import LinearBandit
from algorithms.problems.problem_errors import ProblemError
from mechanisms import Communication

PRIVATE = [DPDPECentral, DPDPELocal, DPDPEShuffle]
private = pytest.mark.parametrize("make", PRIVATE, ids=lambda make: make.__name__)

SMALL = linear_problems["linear"].build(
    actions=30, dimension=4, length=0.6, sigma=0.1, population=600, instance=5, rewards="gaussian"
)
SIGNS = linear_problems["linear"].build(
    actions=30, dimension=4, length=0.6, sigma=0.1, population=600, instance=5, rewards="signs"
)


def settings(problem: LinearBandit, horizon: int) -> dict[str, object]:
    return {
        "horizon": horizon,
        "population": problem.population,
        "sigma": problem.sigma,
        "reward_bound": 1.0 if problem.rewards == "signs" else None,
    }


def test_the_private_ones_run_on_secure_noise() -> None:
    for make in PRIVATE:
        accountant = Accountant(Budget(5.0, 1e-4), seed=2)
        learner = make(SIGNS.actions, accountant, epsilon=5.0, delta=1e-4, **settings(SIGNS, 40))
        assert (
            sum(phase.rounds for phase in play_linear(learner, SIGNS, accountant, np.random.default_rng(3)))
            == 40
        )


@pytest.mark.few(1)
@pytest.mark.parametrize("make", [DPE, *PRIVATE], ids=lambda make: make.__name__)
@pytest.mark.parametrize("problem", [SMALL, SIGNS], ids=["gaussian", "signs"])
def test_the_best_action_is_kept(make: type, problem: LinearBandit) -> None:
    """Probability of failure at most 1/T in each of 10 runs of each learner, T = 2000."""
    private = {} if make is DPE else {"epsilon": 5.0, "delta": 1e-3}
    build = functools.partial(make, problem.actions, **settings(problem, 2000), **private)
    assert simulate_phases(build, problem, runs=10, seed=8).best_kept.all()


PHASE = Phase(1, np.arange(5), np.ones(5, dtype=np.int64), 3, np.ones(5))


def literal_elimination(counts: list[int], averages: np.ndarray, noise: list[float], x: float) -> list[int]:
    """Section by section: weights, estimate, c_a(x), widths, the comparison; 6 clients, all 30 actions active."""
    support = [0, 3, 7, 11, 20]
    omega = [1 / (1 / (6 * counts[j]) + noise[j]) for j in range(5)]
    v = sum(omega[j] * np.outer(SMALL.actions[s], SMALL.actions[s]) for j, s in enumerate(support))
    g = sum(omega[j] * averages[j] * SMALL.actions[s] for j, s in enumerate(support))
    theta = np.linalg.solve(v, g)
    widths = []
    for a in SMALL.actions:
        c = [omega[j] * a @ np.linalg.solve(v, SMALL.actions[s]) for j, s in enumerate(support)]
        assert sum(c[j] * SMALL.actions[s] for j, s in enumerate(support)) == pytest.approx(a)
        form = sum(c[j] ** 2 * (1 / (6 * counts[j]) + noise[j]) for j in range(5))
        widths.append(math.sqrt(2 * x * (0.01 * a @ a / 6 + form)))
    best = max(theta @ b - w for b, w in zip(SMALL.actions, widths, strict=True))
    return [i for i, (a, w) in enumerate(zip(SMALL.actions, widths, strict=True)) if theta @ a + w >= best]


def test_estimate_and_widths_against_a_literal_transcription() -> None:
    """Forty sets of averages of all sizes, so that constants of the width show."""
    counts, noise = [3, 1, 2, 4, 2], [0.01, 0.02, 0.0, 0.03, 0.01]
    rng = np.random.default_rng(2)
    sizes = set()
    for scale in np.geomspace(0.5, 30, 40):
        learner = DPE(SMALL.actions, Simulation(0, 1), horizon=2000, population=600, sigma=0.1)
        assert learner.exponent == pytest.approx(math.log(2 * 30 * 9 * 2000))
        averages = scale * rng.standard_normal(5)
        phase = Phase(2, np.array([0, 3, 7, 11, 20]), np.array(counts), 6, np.ones(5))
        learner._eliminate(phase, averages, np.array(noise))
        assert learner.active.tolist() == literal_elimination(counts, averages, noise, learner.exponent)
        sizes.add(learner.active.size)
    assert len(sizes) > 10


def test_the_estimate_sees_the_true_averages() -> None:
    """Whatever the clipping bounds: reports are in their units, the estimate is not."""
    plain = LinearBandit(SMALL.actions, SMALL.theta, 0.0, 600)
    seen: list[tuple[np.ndarray, np.ndarray]] = []

    class Watched(DPE):
        def _eliminate(self, phase: Phase, averages: np.ndarray, noise: np.ndarray) -> None:
            seen.append((averages, np.sqrt(1.0 / (phase.clients * phase.counts)), plain.means[phase.support]))  # type: ignore[arg-type]
            super()._eliminate(phase, averages, noise)

    simulate_phases(
        lambda gate: Watched(plain.actions, gate, horizon=2000, population=600, sigma=0.0),
        plain,
        runs=1,
        seed=3,
    )  # type: ignore[arg-type]
    assert len(seen) >= 8
    for averages, deviation, means in seen:  # type: ignore[misc]
        assert np.all(np.abs(averages - means) < 6 * deviation)  # type: ignore[has-type]


def test_an_active_set_that_does_not_span() -> None:
    flat = np.zeros((6, 3))
    flat[:, 0] = [1.0, 0.9, 0.5, -0.3, 0.2, 0.8]
    problem = LinearBandit(flat, np.array([0.7, 0.1, 0.0]), 0.1, 600)
    build = functools.partial(
        DPDPECentral, flat, epsilon=50.0, delta=0.1, horizon=2000, population=600, sigma=0.1
    )
    trace = simulate_phases(build, problem, runs=3, seed=1)
    assert trace.best_kept.all()
    assert trace.regret.max() < 0.5 * problem.gaps.mean() * 2000


def test_one_action_one_round_one_dimension() -> None:
    single = LinearBandit([[0.5]], [0.2], 0.0, 600)  # type: ignore[arg-type]
    for horizon in (1, 2, 7):
        build = functools.partial(DPE, single.actions, horizon=horizon, population=600, sigma=0.0)
        trace = simulate_phases(build, single, runs=1, seed=0)
        assert trace.regret.tolist() == [0.0]
        assert trace.curves[0][0, -1] == horizon


@pytest.mark.parametrize("make", [DPE, PE, printed.DPE, printed.PE])
def test_a_last_action_needs_no_reports(make: type) -> None:
    """Certified: it is played to the end at once, also if it is the zero vector, which has no design."""
    zero_best = LinearBandit([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]], [0.7, 0.6], 0.0, 5000, "signs")  # type: ignore[arg-type]
    standard = {"population": 5000, "sigma": 0.0} if make in (DPE, printed.DPE) else {}
    build = functools.partial(make, zero_best.actions, horizon=5000, reward_bound=1.0, **standard)
    trace = simulate_phases(build, zero_best, runs=2, seed=1)
    assert trace.best_kept.all()
    assert trace.curves[0][0, -1] == 5000
    assert trace.curves[0][1, -1] == trace.curves[0][1, -2]  # the best action alone in the end
    one = make(SMALL.actions[:1], Simulation(0, 1), horizon=5000, reward_bound=1.0, **standard)
    phase = one.act()
    assert phase is not None
    if make in (DPE, PE):
        assert (phase.clients, phase.counts.tolist()) == (0, [5000])
    else:
        assert phase.clients > 0


@pytest.mark.parametrize(
    "module",
    [
        "algorithms.linear.dp_dpe",
        "algorithms.linear.dp_pe",
        "algorithms.durable.durable_run",
        "algorithms.linear.g_optimal",
        "mechanisms.counters.tree_counter",
    ],
)
def test_documented_examples_run(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 1
    assert result.failed == 0


def test_schedule() -> None:
    """Known facts: 18 phases complete within T = 10⁶ and need 50,796 clients."""
    schedule = Schedule(10**6)
    assert schedule.phases == 18
    assert sum(schedule.clients(number) for number in range(1, 19)) == 50_796
    assert schedule.clients(18) == 21_619
    assert Schedule(10**6, fixed_clients=290).clients(18) == 290
    assert Schedule(10, alpha=0.5).clients(2) == 2  # 2^(alpha l) is whole: no guard client
    for horizon in range(1, 70):
        phases = Schedule(horizon).phases
        assert sum(2**number for number in range(1, phases + 1)) <= horizon < 2 ** (phases + 2) - 2


@private
def test_a_population_that_is_too_small_is_refused_before_anything_runs(make: type) -> None:
    gate = Simulation(0, 1)
    with pytest.raises(
        PopulationTooSmall, match="population = 50795: 18 phases within horizon 1000000 need 50796"
    ):
        make(SMALL.actions, gate, epsilon=1.0, delta=0.1, horizon=10**6, population=50_795, sigma=0.1)


def test_communication_counts_what_is_sent() -> None:
    """A real per coordinate and client, or all bits of the protocol."""
    phases = []
    for make in (DPDPECentral, DPDPEShuffle):
        gate = Simulation(4, 1)
        learner = make(SIGNS.actions, gate, epsilon=1.0, delta=1e-3, **settings(SIGNS, 100))  # type: ignore[arg-type]
        phases = list(play_linear(learner, SIGNS, gate, np.random.default_rng(1)))
        reals = sum(phase.support.size * phase.clients for phase in phases)
        if make is DPDPECentral:
            assert learner.communication == Communication(reals=reals)
        else:
            assert learner.communication.reals == 0
            assert learner.communication.bits > 15 * reals


def test_runs_are_reproducible_and_their_own() -> None:
    build = functools.partial(DPDPECentral, SIGNS.actions, epsilon=50.0, delta=0.1, **settings(SIGNS, 2000))  # type: ignore[arg-type]
    two, four = (simulate_phases(build, SIGNS, runs=runs, seed=6) for runs in (2, 4))
    assert two.regret.tolist() == four.regret[:2].tolist()
    assert len(set(four.regret.tolist())) > 1


def test_reports_are_clipped_to_public_bounds() -> None:
    phase = Phase(1, np.arange(2), np.array([1, 4]), 3, np.array([2.0, 4.0]))
    assert phase.report([9.0, -2.0]).tolist() == [1.0, -0.5]
    learner = DPE(SMALL.actions, Simulation(0, 1), horizon=2000, population=600, sigma=0.1)
    opened = learner.act()
    assert opened is not None
    s, n = opened.support.size, opened.counts
    wanted = 1 + np.sqrt(2 * (0.01 + 1 / n) * math.log(2 * s * opened.clients * 9 * 2000))
    assert opened.bounds == pytest.approx(wanted)


def test_problem_laws() -> None:
    """Means and variances of 40,000 clients' averages, five standard errors each (16 comparisons)."""
    support, counts, n = np.array([1, 5]), np.array([3, 8]), 40_000
    for problem in (SMALL, SIGNS):
        y = problem.draw_averages(support, counts, n, np.random.default_rng(7))
        assert y.shape == (n, 2)
        spread = (problem.sigma * np.linalg.norm(problem.actions[support], axis=1)) ** 2
        second = problem.means[support] ** 2 + spread
        own = 1.0 if problem.rewards == "gaussian" else 1.0 - second
        variance = spread + own / counts
        assert np.all(np.abs(y.mean(axis=0) - problem.means[support]) < 5 * np.sqrt(variance / n))
        assert np.all(np.abs(y.var(axis=0) / variance - 1) < 5 * math.sqrt(3 / n))
    assert np.abs(SIGNS.draw_averages(support, counts, n, np.random.default_rng(7))).max() <= 1.0


def test_clients_deviate_by_sigma() -> None:
    """Average rewards of 10⁶ rounds show <theta_u, x> itself; five standard errors."""
    for rewards in ("gaussian", "signs"):
        problem = LinearBandit(SMALL.actions, SMALL.theta, 0.15, 600, rewards)  # type: ignore[arg-type]
        y = problem.draw_averages(np.array([2]), np.array([10**6]), 20_000, np.random.default_rng(1))
        assert y.var() / 0.15**2 == pytest.approx(1.0, abs=5 * math.sqrt(2 / 20_000))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"actions": [[2.0, 0.0]]}, "actions: a vector has length"),
        ({"theta": [0.0, 1.5]}, "theta: a vector has length"),
        ({"theta": [0.0]}, "must be \\(k, d\\)"),
        ({"sigma": -0.1}, "sigma"),
        ({"population": 0}, "population"),
        ({"rewards": "uniform"}, "rewards"),
        ({"rewards": "signs", "theta": [0.99, 0.0]}, "could reach"),
    ],
)
def test_problem_refusals(change: dict[str, object], named: str) -> None:
    fields = {"actions": np.eye(2), "theta": [0.5, 0.0], "sigma": 0.1, "population": 5} | change
    with pytest.raises(ProblemError, match=named):
        LinearBandit(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"alpha": 1.0}, "alpha"),
        ({"sigma": math.nan}, "sigma"),
        ({"reward_bound": 0.0}, "reward_bound"),
        (
            {"sigma": 1e200},
            "sigma",
        ),  # their squares would be beyond the floats, found by act or after all have paid
        ({"reward_bound": 1e200}, "reward_bound"),
        ({"reward_bound": 1e-200}, "reward_bound"),
        ({"replacement": "no"}, "replacement"),
        ({"population": 2**63}, "population"),
        ({"fixed_clients": 10**400}, "fixed_clients"),
    ],
)
def test_learner_refusals(change: dict[str, object], named: str) -> None:
    keywords = {"epsilon": 1.0, "delta": 0.1, "horizon": 100, "population": 600, "sigma": 0.1} | change
    with pytest.raises(ValueError, match=f"^{named}"):
        DPDPECentral(SMALL.actions, Simulation(0, 1), **keywords)  # type: ignore[arg-type]


def test_who_played_another_phase_is_refused_and_pays_nothing() -> None:
    accountant = Accountant(Budget(2.0, 1e-4), noise=np.random.default_rng(1), seed=2)
    learner = DPDPECentral(SIGNS.actions, accountant, epsilon=2.0, delta=1e-4, **settings(SIGNS, 1000))
    clients = iter(range(SIGNS.population))

    def report(phase: Phase, client: int) -> Private:
        return accountant.private(phase.report(np.zeros(phase.counts.size))[np.newaxis], phase.domain, client)

    first = learner.act()
    for _ in range(first.clients):
        learner.observe(report(first, next(clients)), phase=first)
    second = learner.act()
    for changed in (
        {"support": second.support[::-1]},
        {"counts": second.counts + 1},
        {"bounds": 2.0 * second.bounds},
    ):
        other = replace(second, number=1, **changed)
        with pytest.raises(
            ValueError, match=r"phase = \d: must play as the open one, 2: the report came too late"
        ):
            learner.observe(report(second, 500), phase=other)
    for no_phase in (second.number, "2", learner):
        with pytest.raises(ValueError, match=r"^phase = .*: must be a phase that act returned, or None"):
            learner.observe(report(second, 500), phase=no_phase)  # type: ignore[arg-type]
    assert accountant.spent(500).epsilon == 0
    for _ in range(second.clients):
        learner.observe(report(second, next(clients)), phase=replace(second, number=9))
    assert learner.open_phase is None


def test_one_lane_and_the_order_of_calls() -> None:
    with pytest.raises(ValueError, match="one lane"):
        DPE(SMALL.actions, Simulation(0, 64), horizon=10, population=600, sigma=0.1)
    gate = Simulation(0, 1)
    learner = DPE(SMALL.actions, gate, horizon=100, population=600, sigma=0.1)
    value = gate.private(np.zeros((1, 5)), PHASE.domain, 1)
    with pytest.raises(RuntimeError, match="call act first"):
        learner.observe(value)
    learner.act()
    with pytest.raises(RuntimeError, match="reports are missing"):
        learner.act()
