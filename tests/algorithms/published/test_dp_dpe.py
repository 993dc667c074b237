"""Distributed phased elimination as printed: widths by hand, the classical noise's true cost."""

import functools
import math

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, Simulation
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear.linear_phases import Phase
from algorithms.linear.linear_play import play_linear, simulate_phases
from algorithms.problems import linear_problems
from algorithms.published.dp_dpe import DPE, DPDPECentral, DPDPELocal, DPDPEShuffle

PROBLEM = linear_problems["linear"].build(
    actions=60, dimension=5, length=0.6, sigma=0.1, population=2000, instance=9, rewards="signs"
)
KEYWORDS = {"horizon": 5000, "population": 2000, "sigma": 0.1}
SUPPORT = np.array([0, 4, 9, 33, 41, 50])
COUNTS = np.array([6, 5, 7, 4, 4, 8])


def printed_width(name: str, epsilon: float, delta: float) -> float:
    """W_l of phase 5 with 16 clients, B = 1, formula by formula."""
    d, k, horizon, u, s, h = 5, 60, 5000, 16, 6, 2**5
    big = 4 * d * math.log(math.log(d)) + 16
    sigma_nl = 2 * math.sqrt(2 * s * math.log(1.25 / delta)) / epsilon
    epshat = epsilon / (18 * math.sqrt(math.log(2 / delta)))
    sigma_n = {
        "none": 0.0,
        "central": 2 * (sigma_nl / u) * math.sqrt(big * d),
        "local": 2 * sigma_nl * math.sqrt(big * d / u),
        "shuffle": 2 * math.sqrt(360 * s * math.log(4 * s / delta)) / (u * epshat) * math.sqrt(big * d),
    }[name]
    return (math.sqrt(2 * d / (u * h)) + 0.1 / math.sqrt(u) + sigma_n) * math.sqrt(2 * math.log(k * horizon))


@pytest.mark.slow_cells("DPDPEShuffle-shuffle")
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("make", "name"),
    [(DPE, "none"), (DPDPECentral, "central"), (DPDPELocal, "local"), (DPDPEShuffle, "shuffle")],
)
def test_estimate_and_elimination_by_hand(make: type, name: str) -> None:
    """Averages of forty sizes, so that constants of the width show."""
    epsilon, delta = 40.0, 0.2
    extra = {} if make is DPE else {"epsilon": epsilon, "delta": delta}
    width = printed_width(name, epsilon, delta)
    phase = Phase(5, SUPPORT, COUNTS, 16, np.ones(6))
    v = sum(
        t * np.outer(PROBLEM.actions[x], PROBLEM.actions[x]) for x, t in zip(SUPPORT, COUNTS, strict=True)
    )
    rng = np.random.default_rng(3)
    sizes = set()
    for scale in np.geomspace(0.3, 5.0, 40):
        averages = scale * width * rng.standard_normal(6)
        g = sum(t * y * PROBLEM.actions[x] for x, t, y in zip(SUPPORT, COUNTS, averages, strict=True))
        theta = np.linalg.solve(v, g)
        kept = [
            i
            for i, x in enumerate(PROBLEM.actions)
            if max(theta @ (b - x) for b in PROBLEM.actions) <= 2 * width
        ]
        learner = make(PROBLEM.actions, Simulation(0, 1), **KEYWORDS, **extra)
        learner._eliminate(phase, averages, np.zeros(6))
        assert learner.active.tolist() == kept
        sizes.add(len(kept))
    assert len(sizes) > 10


@pytest.mark.parametrize("make", [DPDPECentral, DPDPELocal])
@pytest.mark.parametrize(
    ("epsilon", "delta", "truth"), [(10.0, 0.25, 18.356), (1.0, 1e-3, 0.6339), (5.0, 0.25, None)]
)
def test_the_classical_noise_costs_what_it_costs(
    make: type, epsilon: float, delta: float, truth: float | None
) -> None:
    """Known facts: 18.356 for a claim of 10 at delta = 0.25; slack where the claim is small."""
    accountant = Accountant(Budget(math.inf, 1.0), noise=np.random.default_rng(0), seed=1)
    learner = make(PROBLEM.actions, accountant, epsilon=epsilon, delta=delta, **(KEYWORDS | {"horizon": 40}))
    list(play_linear(learner, PROBLEM, accountant, np.random.default_rng(2)))
    paid = float(accountant.worst()[1].epsilon)  # type: ignore[arg-type]
    if truth is not None:
        assert paid == pytest.approx(truth, rel=1e-4)
    assert (paid <= epsilon) is (epsilon < 5.12)


def test_an_accountant_refuses_the_printed_claim() -> None:
    accountant = Accountant(Budget(10.0, 0.25), noise=np.random.default_rng(0), seed=1)
    learner = DPDPECentral(PROBLEM.actions, accountant, epsilon=10.0, delta=0.25, **KEYWORDS)  # type: ignore[arg-type]
    with pytest.raises(BudgetExceeded):
        list(play_linear(learner, PROBLEM, accountant, np.random.default_rng(2)))


def test_the_shuffled_claim_holds_with_huge_slack() -> None:
    accountant = Accountant(Budget(math.inf, 1.0), noise=np.random.default_rng(0), seed=1)
    learner = DPDPEShuffle(
        PROBLEM.actions, accountant, epsilon=10.0, delta=1e-6, **(KEYWORDS | {"horizon": 40})
    )  # type: ignore[arg-type]
    list(play_linear(learner, PROBLEM, accountant, np.random.default_rng(2)))
    assert float(accountant.worst()[1].epsilon) < 10.0 / 150  # type: ignore[arg-type]


@pytest.mark.slow
def test_certified_regret_is_never_more_than_the_printed_one() -> None:
    """The same problem and the same nominal parameters, 2 runs each."""
    for name in ("central", "shuffle", "local"):
        regrets = []
        for prefix in ("", "published/"):
            make = linear_learners[f"{prefix}dp-dpe-{name}"].make
            build = functools.partial(
                make, PROBLEM.actions, epsilon=20.0, delta=1e-3, reward_bound=1.0, **KEYWORDS
            )
            trace = simulate_phases(build, PROBLEM, runs=2, seed=2)
            assert trace.best_kept.all()
            regrets.append(trace.regret.mean())
        assert regrets[0] <= regrets[1]
        if name != "local":
            assert regrets[0] < 0.5 * regrets[1]


def test_fixed_number_of_clients() -> None:
    build = functools.partial(DPE, PROBLEM.actions, fixed_clients=30, **KEYWORDS)  # type: ignore[arg-type]
    trace = simulate_phases(build, PROBLEM, runs=1, seed=2)
    assert trace.communication[0].reals > 0
    learner = build(Simulation(0, 1))
    phase = learner.act()
    assert phase is not None
    assert phase.clients == 30
