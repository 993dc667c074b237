"""Phased elimination for standard linear bandits: certified and printed side by side."""

import functools
import math

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, Simulation
from algorithms.linear.dp_pe import PE, REWARD_DOMAIN, DPPECentral, DPPELocal, DPPEShuffle
from algorithms.linear.linear_phases import RewardPhase
from algorithms.linear.linear_play import play_linear, simulate_phases
from algorithms.problems import linear_problems
from algorithms.published import dp_pe as printed
from mechanisms import Communication

PROBLEM = linear_problems["linear"].build(
    actions=25, dimension=4, length=0.7, sigma=0.0, population=10_000, instance=6, rewards="signs"
)
SUPPORT = np.array([1, 4, 9, 13, 20])
COUNTS = np.array([6, 5, 7, 4, 12])
every = pytest.mark.parametrize("make", [DPPECentral, DPPELocal, DPPEShuffle], ids=lambda make: make.__name__)


def test_the_printed_noise_costs_what_it_costs() -> None:
    """18.356 for a claim of 10 at delta = 0.25 (Gaussian); a tenth of the claim and less (shuffled)."""
    paid = {}
    for make in (printed.DPPECentral, printed.DPPELocal, printed.DPPEShuffle):
        accountant = Accountant(Budget(math.inf, 1.0), noise=np.random.default_rng(1), seed=2)
        learner = make(PROBLEM.actions, accountant, epsilon=10.0, delta=0.25, horizon=60)
        list(play_linear(learner, PROBLEM, accountant, np.random.default_rng(3)))
        paid[make] = float(accountant.worst()[1].epsilon)  # type: ignore[arg-type]
    assert paid[printed.DPPECentral] == pytest.approx(18.356, abs=1e-3)
    assert paid[printed.DPPELocal] == pytest.approx(18.356, abs=1e-3)
    assert paid[printed.DPPEShuffle] < 1.0
    refusing = Accountant(Budget(10.0, 0.25), noise=np.random.default_rng(1))
    learner = printed.DPPECentral(PROBLEM.actions, refusing, epsilon=10.0, delta=0.25, horizon=60)
    with pytest.raises(BudgetExceeded):
        list(play_linear(learner, PROBLEM, refusing, np.random.default_rng(3)))


def literal(kind: str, sums: np.ndarray, noise: np.ndarray, learner: object) -> list[int]:
    """The elimination of phase 3 (h = 4 · 21), formula by formula; B = 1."""
    h, d, k, horizon, s = 4 * 21, 4, 25, 3000, 5
    points = PROBLEM.actions[SUPPORT]
    if kind == "certified":
        v = [1 / t + z / t**2 for t, z in zip(COUNTS, noise, strict=True)]
        weights, x = (
            [1 / one for one in v],
            math.log(2 * k * math.floor(math.log2(horizon / 21 + 1)) * horizon),
        )
        matrix = sum(w * np.outer(p, p) for w, p in zip(weights, points, strict=True))
        theta = np.linalg.solve(
            matrix, sum(w * y / t * p for w, y, t, p in zip(weights, sums, COUNTS, points, strict=True))
        )
        widths = []
        for a in PROBLEM.actions:
            c = [w * a @ np.linalg.solve(matrix, p) for w, p in zip(weights, points, strict=True)]
            widths.append(math.sqrt(2 * x * sum(one**2 * var for one, var in zip(c, v, strict=True))))
        best = max(theta @ a - w for a, w in zip(PROBLEM.actions, widths, strict=True))
        return [i for i, a in enumerate(PROBLEM.actions) if theta @ a + widths[i] >= best]
    matrix = sum(t * np.outer(p, p) for t, p in zip(COUNTS, points, strict=True))
    theta = np.linalg.solve(matrix, sum(y * p for y, p in zip(sums, points, strict=True)))
    sigma = 2 * math.sqrt(2 * math.log(1.25 / 0.2)) / 30.0
    sigma_n = {
        "none": 0.0,
        "central": 2 * d * sigma * math.sqrt(s) / h,
        "local": 2 * d * sigma * math.sqrt(2 * s / h),
        "shuffle": 2 * d * math.sqrt(max(noise)) * math.sqrt(s) / h,
    }[kind]
    width = (math.sqrt(2 * d / h) + sigma_n) * math.sqrt(2 * math.log(k * horizon))
    return [
        i for i, a in enumerate(PROBLEM.actions) if max(theta @ (b - a) for b in PROBLEM.actions) <= 2 * width
    ]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (PE, "certified"),
        (DPPECentral, "certified"),
        (printed.PE, "none"),
        (printed.DPPECentral, "central"),
        (printed.DPPELocal, "local"),
        (printed.DPPEShuffle, "shuffle"),
    ],
)
def test_elimination_against_a_literal_transcription(make: type, kind: str) -> None:
    extra = {} if make in (PE, printed.PE) else {"epsilon": 30.0, "delta": 0.2}
    noise = np.array([3.0, 1.0, 0.5, 2.0, 4.0])
    rng = np.random.default_rng(2)
    sizes = set()
    for scale in np.geomspace(2.0, 200.0, 40):
        learner = make(PROBLEM.actions, Simulation(0, 1), horizon=3000, **extra)
        assert learner.length(3) == 4 * 21
        sums = scale * rng.standard_normal(5)
        phase = RewardPhase(3, SUPPORT, COUNTS, 34, np.ones(5))
        learner._eliminate(phase, sums / COUNTS, noise / COUNTS**2)
        assert learner.active.tolist() == literal(kind, sums, noise, learner)
        sizes.add(learner.active.size)
    assert len(sizes) > 6


@pytest.mark.few(2)
@pytest.mark.parametrize("make", [PE, DPPECentral, DPPELocal, DPPEShuffle], ids=lambda make: make.__name__)
def test_the_best_action_is_kept(make: type) -> None:
    """Probability of failure at most 1/T in each of 5 runs of each learner, T = 2000."""
    extra = {} if make is PE else {"epsilon": 8.0, "delta": 0.01}
    build = functools.partial(make, PROBLEM.actions, horizon=2000, **extra)
    assert simulate_phases(build, PROBLEM, runs=5, seed=4).best_kept.all()


@pytest.mark.few(1)
@every
def test_noise_of_a_sum_has_its_proxy(make: type) -> None:
    """120 first phases of zero rewards: at least 480 sums, in units of their proxies; false alarm 1e-6."""
    ratios = []
    for seed in range(120):
        gate = Simulation(seed, 1)
        learner = make(PROBLEM.actions, gate, epsilon=2.0, delta=0.01, horizon=3000)
        phase = learner.act()
        for client in range(phase.clients):
            learner.observe(gate.private(np.zeros((1, 1)), REWARD_DOMAIN, client))
        noise = learner.learned.variances - 1.0 / phase.counts
        ratios += (learner.learned.averages**2 / noise).tolist()
    spread = 4.9 * math.sqrt(2 / len(ratios))
    assert np.mean(ratios) < 1 + spread
    assert np.mean(ratios) > (0.85 if make is DPPEShuffle else 1) - spread  # rounding is less than its proxy


@pytest.mark.slow
def test_certified_regret_is_never_more_than_the_printed_one() -> None:
    for name in ("PE", "DPPECentral", "DPPEShuffle", "DPPELocal"):
        extra = {} if name == "PE" else {"epsilon": 8.0, "delta": 1e-3}
        regrets = []
        for make in (
            {"PE": PE, "DPPECentral": DPPECentral, "DPPEShuffle": DPPEShuffle, "DPPELocal": DPPELocal}[name],
            getattr(printed, name),
        ):
            build = functools.partial(make, PROBLEM.actions, horizon=2000, **extra)
            trace = simulate_phases(build, PROBLEM, runs=2, seed=2)
            assert trace.best_kept.all()
            regrets.append(trace.regret.mean())
        assert regrets[0] <= regrets[1]


def test_communication() -> None:
    gate = Simulation(0, 1)
    for make, unit in ((DPPECentral, "reals"), (DPPEShuffle, "bits")):
        learner = make(PROBLEM.actions, gate, epsilon=1.0, delta=0.1, horizon=100)
        reports = sum(
            phase.clients for phase in play_linear(learner, PROBLEM, gate, np.random.default_rng(1))
        )
        sent = getattr(learner.communication, unit)
        assert sent == reports if unit == "reals" else sent >= 2 * reports
        assert Communication() != learner.communication


def test_refusals() -> None:
    with pytest.raises(ValueError, match="one lane"):
        PE(PROBLEM.actions, Simulation(0, 64), horizon=10)
    for change, named in (
        ({"reward_bound": -1.0}, "reward_bound"),
        ({"reward_bound": None}, "reward_bound = None.*a single reward"),
    ):
        with pytest.raises(ValueError, match=named):
            DPPECentral(
                PROBLEM.actions, Simulation(0, 1), **({"epsilon": 1.0, "delta": 0.1, "horizon": 9} | change)
            )  # type: ignore[arg-type]
    learner = PE(PROBLEM.actions, Simulation(0, 1), horizon=100)
    learner.act()
    with pytest.raises(RuntimeError, match="rewards are missing"):
        learner.act()


@every
def test_a_phase_says_who_plays_what_and_what_is_reported(make: type) -> None:
    """The same loop as for distributed learners: phase.report, phase.domain."""
    gate = Simulation(0, 1)
    extra = {} if make is PE else {"epsilon": 2.0, "delta": 0.01}
    learner = make(PROBLEM.actions, gate, horizon=200, reward_bound=2.0, **extra)
    assert learner.reward_bound == 2.0
    phase = learner.act()
    assert phase.domain == REWARD_DOMAIN
    assert phase.calibration == REWARD_DOMAIN.sensitivity
    assert [phase.report(reward).tolist() for reward in (1.0, [-9.0])] == [[0.5], [-1.0]]
    order = []
    for client, action in enumerate(phase.order.tolist()):
        assert learner.next_action == action
        assert learner.open_phase is phase
        learner.observe(gate.private(phase.report(0.0)[np.newaxis], phase.domain, client))
        order.append(action)
    assert len(order) == phase.rounds == phase.clients
    assert {action: order.count(action) for action in order} == dict(
        zip(phase.support.tolist(), phase.counts.tolist(), strict=True)
    )
    assert learner.next_action is None
    assert learner.open_phase is None


def test_rewards_may_come_in_any_order_if_they_say_what_was_played():
    """At an epsilon whose noise cannot be told from none: the sums of the actions are those of their own clients."""
    learners, rewards = [], {}
    for order in (1, -1):
        accountant = Accountant(Budget(1e7, 1e-3), noise=np.random.default_rng(0))
        learner = DPPECentral(np.eye(3), accountant, epsilon=1e7, delta=1e-3, horizon=2_000)
        phase = learner.act()
        for client, action in list(enumerate(phase.order))[::order]:
            rewards.setdefault(client, (-1.0) ** client * (action + 1) / 4)
            before = learner.played, learner.communication
            unplayed = accountant.private([[0.0]], phase.domain, "nobody")
            with pytest.raises(ValueError, match="action = 7: is not played in this phase; waited for are"):
                learner.observe(unplayed, action=7)
            assert (learner.played, learner.communication) == before
            report = accountant.private(phase.report([rewards[client]])[np.newaxis], phase.domain, client)
            learner.observe(report, action=int(action))
        assert learner.open_phase is None
        assert accountant.spent("nobody").epsilon == 0
        learners.append(learner)
    assert learners[0].learned.averages == pytest.approx(learners[1].learned.averages, abs=1e-4)


def test_an_action_with_all_its_rewards_takes_no_more():
    accountant = Accountant(Budget(1.0, 1e-3), noise=np.random.default_rng(0))
    learner = DPPECentral(np.eye(3), accountant, epsilon=1.0, delta=1e-3, horizon=2_000)
    phase = learner.act()
    first = int(phase.support[0])
    for client in range(int(phase.counts[0])):
        learner.observe(accountant.private([[0.0]], phase.domain, client), action=first)
    late = accountant.private([[0.0]], phase.domain, "late")
    with pytest.raises(ValueError, match=f"action = {first}: has all its rewards in this phase"):
        learner.observe(late, action=first)
    assert accountant.spent("late").epsilon == 0
    assert learner.next_action == int(phase.support[1])
