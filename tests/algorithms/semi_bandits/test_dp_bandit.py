"""K-armed bandits: the pseudocode on the same releases, what a record pays, regret against theorems and others."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.optimize import brentq, minimize_scalar

from accountant import Accountant, Budget, BudgetExceeded, Coupled, GaussianComposition, Simulation
from algorithms import CUCBLDPBit, DPBandit, DPBanditGaussian, DPBanditLDP, simulate
from algorithms.catalogue.structured_entries import learners
from algorithms.estimates.doubling_batches import released_counts
from algorithms.estimates.laplace_sums import laplace_exponent
from algorithms.play import play_records
from algorithms.problems import Arms, ProblemError, SemiBandit, TopK
from algorithms.theory.bandit_regret import _behind, batch_plays, bit_plays
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance

MEANS = np.array([0.3, 0.8, 0.5, 0.6])
DELTA = 1e-3


class Kept(Simulation):
    """A simulation that keeps what is released."""

    def __init__(self, seed):
        super().__init__(seed, 64)
        self.kept = []

    def release(self, mechanism, private, where=None):
        released = super().release(mechanism, private, where)
        self.kept.append((released, where))
        return released


def literal_index(u, n, j, y, learner):
    """H(J(u)) + ln n by plain search over s; I of Laplace noises is as `test_laplace_sums` checks it."""
    noise = learner.noise
    share = n / (n + 4 * j * noise.proxy) if noise.scale else 1.0

    def index(left):
        return left + 0.4 * share * math.log1p(4 * math.pi * left) + math.log(n)

    if y >= n * u:
        return math.log(n)
    if noise.scale:
        arrays = (np.array([float(value)]) for value in (u, n, j, y))
        against = float(laplace_exponent(*arrays, noise=noise)[0])
        # A sum of j noises is the difference of two gamma variables.
        tail = integrate.quad(
            lambda g: stats.gamma.pdf(g, j) * stats.gamma.sf(g - y / noise.scale, j), 0, 80
        )[0]
        all_means = -math.log(2 * tail) if y < 0 else 0.0
        return index(max(against - min(all_means, 8.0), 0.0))
    all_means = y * y / (2 * j * noise.proxy) if y < 0 else 0.0

    def negative(s):
        return s * y + n * math.log(1 - u + u * math.exp(-s)) + j * noise.proxy * s * s / 2

    found = minimize_scalar(negative, bounds=(0, 200.0), method="bounded", options={"xatol": 1e-13})
    return index(max(-found.fun - min(all_means, 8.0), 0.0))


@pytest.mark.slow_cells("DPBandit-more0")
@pytest.mark.parametrize(("make", "more"), [(DPBandit, {}), (DPBanditGaussian, {"delta": DELTA})])
def test_the_pseudocode_on_the_same_releases(make, more):
    gate, rng = Kept(3), np.random.default_rng(4)
    learner = make(Arms(4), gate, epsilon=1.5, horizon=300, **more)
    first = learner.first
    lane, arm, left = 7, 0, first
    n, j, y = [0] * 4, [0] * 4, [0.0] * 4
    for record in range(300):
        action = learner.act()
        assert action[lane, 0] == arm
        rewards = (rng.random((64, 1)) < MEANS[action]).astype(float)
        learner.observe(gate.private(rewards, learner.feedback_domain, record))
        left -= 1
        if left:
            continue
        released, where = gate.kept[-1]
        assert where[lane].tolist() == [arm == i for i in range(4)]
        y[arm] += released[lane, arm]
        j[arm] += 1
        n[arm] += first if j[arm] == 1 else max(1, math.ceil(max(0.1, 1.5 / (j[arm] - 1)) * n[arm]))
        if 0 in j:
            arm, left = j.index(0), first
        else:
            u = min(max(max(y[i] / n[i] for i in range(4)), 0.0), 1.0)
            arm = int(np.argmin([literal_index(u, n[i], j[i], y[i], learner) for i in range(4)]))
            left = max(1, math.ceil(max(0.1, 1.5 / j[arm]) * n[arm]))
    assert max(j) > 5


@pytest.mark.parametrize("name", ["dp-bandit", "dp-bandit-gaussian", "dp-bandit-shuffle"])
def test_indices_that_are_kept_are_those_computed_anew(name):
    """To the last bit, in all lanes that release a batch: as after a restart, where nothing is kept."""
    problem = SemiBandit(Arms(5), [0.1, 0.2, 0.5, 0.6, 0.9])
    kept, anew = (
        learners[name].build(problem, epsilon=2.0, horizon=400)(Simulation(3, 64)) for _ in range(2)
    )
    looked_at = released = 0
    for t in range(70):
        arm = kept.act()
        np.testing.assert_array_equal(arm, anew.act())
        outcome = (np.random.default_rng(t).random((64, 1)) < problem.means[arm]).astype(float)
        vars(anew).pop("seen", None)
        before = tuple(each.copy() for each in kept.seen)
        for learner in (kept, anew):
            learner.observe(learner.gate.private(outcome, learner.feedback_domain, t))
        np.testing.assert_array_equal(kept.index, anew.index)
        known = np.isfinite(kept.index)
        looked_at += int(
            (known & np.logical_or(*(a != b for a, b in zip(before, kept.seen, strict=True)))).sum()
        )
        released += int(known[kept.released].sum())
    assert looked_at < released


def test_the_first_batch_is_as_long_as_noise_needs():
    gate = Simulation(0, 64)
    assert DPBandit(Arms(2), gate, epsilon=0.1, horizon=10**5).first == math.ceil(math.log(10**5) / 0.1)
    assert DPBandit(Arms(2), gate, epsilon=100, horizon=10**5).first == 1
    gaussian = DPBanditGaussian(Arms(2), gate, epsilon=1.0, delta=1e-3, horizon=10**4)
    assert gaussian.first == math.ceil(gaussian.mechanism.sigma * math.sqrt(2 * math.log(10**4)))


@pytest.mark.parametrize("horizon", [1, 7, 100, 12345])
@pytest.mark.parametrize("first", [1, 3, 50])
def test_counts_after_releases(horizon, first):
    counts = released_counts(horizon, first, 0.5)
    assert all(n <= horizon for n in counts)
    for j, n in enumerate(counts, start=1):
        assert n >= 1.5 ** (j - 1) * first
        assert (counts[j : j + 1] or [n + 1])[0] <= 1.5 * n + 1


def test_counts_where_shares_fall():
    assert released_counts(1000, 10, 0.1, 1.5)[:6] == [10, 25, 44, 66, 91, 119]
    ends = released_counts(10**7, 10, 0.1, 1.5)
    shares = [b / a - 1 for a, b in itertools.pairwise(ends)]
    assert all(share >= 0.1 for share in shares)
    assert all(
        share <= max(0.1, 1.5 / j) + 1 / n for j, (n, share) in enumerate(zip(ends, shares, strict=False), 1)
    )


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_record_pays_epsilon_once(epsilon):
    problem = SemiBandit(Arms(3), [0.2, 0.5, 0.9])
    accountant = Accountant(Budget(epsilon), noise=np.random.default_rng(5), seed=6)
    records = (np.random.default_rng(7).random((201, 3)) < 0.5).astype(float)
    learner = DPBandit(problem.structure, accountant, epsilon=epsilon, horizon=200)
    for _ in play_records(learner, problem, accountant, records):
        pass
    assert accountant.worst()[1].epsilon == epsilon
    learner.act()
    again = accountant.private([1.0], learner.feedback_domain, 1)
    with pytest.raises(BudgetExceeded):
        learner.observe(again)


def test_a_record_pays_epsilon_and_delta_once():
    accountant = Accountant(
        Budget(1.0, DELTA), composition=GaussianComposition(), noise=np.random.default_rng(5), seed=6
    )
    learner = DPBanditGaussian(Arms(2), accountant, epsilon=1.0, delta=DELTA, horizon=100)
    for record in range(100):
        learner.act()
        learner.observe(accountant.private([1.0], learner.feedback_domain, record))
    assert 1 - 1e-8 <= accountant.worst()[1].epsilon <= 1


@pytest.mark.few(1)
@pytest.mark.parametrize("record", [1, 9])
def test_the_largest_loss_is_epsilon(record):
    """In 2,560 lanes, exactly; the record's batch is released, and its neighbour's differs by one."""
    gate = Coupled(8, 64 * 40, 1)
    learner = DPBandit(Arms(3), gate, epsilon=1.0, horizon=60)
    for t in range(1, 61):
        learner.act()
        values = np.zeros((2, gate.lanes, 1))
        values[0] = t == record
        learner.observe(gate.private(values, learner.feedback_domain, t))
    assert not gate.divergences
    assert gate.loss.max() == pytest.approx(1.0, rel=1e-9)


def test_bits_are_those_of_the_other_learner_of_bits():
    """The same seed sends the same messages of the same values."""
    ones = []
    for make in (DPBanditLDP, CUCBLDPBit):
        gate = Simulation(5, 64)
        learner = make(Arms(1), gate, epsilon=1.0, horizon=30)
        for t in range(30):
            learner.act()
            learner.observe(gate.private(np.full((64, 1), 0.4), learner.feedback_domain, t))
        if make is DPBanditLDP:
            ones.append(learner.ones[:, 0])
        else:
            ones.append(((learner.estimates.mean - 0.5) / learner.bits.gain + 0.5)[:, 0] * 30)
    assert ones[0] == pytest.approx(ones[1], abs=1e-9)


def test_the_local_index():
    gate = Simulation(5, 64)
    learner = DPBanditLDP(Arms(3), gate, epsilon=1.0, horizon=50)
    assert learner.first == 2
    learner.count[:], learner.ones[:] = [20, 30, 8], [12, 15, 0]
    kl = [0.0, 30 * (0.5 * math.log(0.5 / 0.6) + 0.5 * math.log(0.5 / 0.4)), 8 * math.log(1 / 0.4)]
    against = [kl[i] + 0.2 * math.log(1 + 4 * math.pi * kl[i]) for i in range(3)]
    index = [against[i] + math.log((20, 30, 8)[i]) for i in range(3)]
    assert (learner.act() == int(np.argmin(index))).all()
    learner.count[:, 1] = learner.ones[:, 1] = 1
    assert (learner.act() == 1).all()


def test_one_arm_at_a_time_only():
    with pytest.raises(ProblemError, match="DPBandit plays bandit structures, not a TopK"):
        DPBandit(TopK(4, 2), Simulation(0, 64), epsilon=1.0, horizon=9)


def regret(name, problem, epsilon, horizon, runs=128):
    build = learners[name].build(problem, epsilon=epsilon, horizon=horizon)
    trace = simulate(build, problem, horizon=horizon, runs=runs, seed=2, checkpoints=1)
    return trace.regret_mean[-1], trace.regret_sem[-1]


@pytest.mark.few(1)
@pytest.mark.parametrize(("means", "epsilon"), [([0.75, 0.7, 0.7], 1.0), ([0.1, 0.02, 0.02, 0.02], 0.5)])
def test_less_than_half_the_regret_of_confidence_bounds(means, epsilon):
    """Measured ratios are above 2.3; the standard error of a ratio is below 0.06 here."""
    problem = SemiBandit(Arms(len(means)), means)
    mine, _ = regret("dp-bandit", problem, epsilon, 100_000)
    theirs, _ = regret("cucb-batch-least", problem, epsilon, 100_000)
    assert mine <= theirs / 2


@pytest.mark.slow
def test_less_regret_than_confidence_bounds_on_bits():
    problem = SemiBandit(Arms(4), [0.5, 0.3, 0.3, 0.3])
    mine, _ = regret("dp-bandit-ldp", problem, 2.0, 4_000, runs=64)
    theirs, _ = regret("cucb-ldp-bit", problem, 2.0, 4_000, runs=64)
    assert mine <= 0.8 * theirs


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["dp-bandit", "dp-bandit-gaussian", "dp-bandit-ldp"])
def test_regret_is_below_its_bound_where_that_says_something(name):
    problem = SemiBandit(Arms(2), [0.05, 0.95])
    bound = BOUNDS[name].evaluate(Instance(problem, 5.0, 3000))
    assert bound < 3000 * 0.9 / 3
    mean, error = regret(name, problem, 5.0, 3000, runs=64)
    assert mean + 6 * error < bound


def test_the_third_term_of_the_theorem_by_numerical_integration():
    """What is played while the best arm looks bad: H with w = 1, from where it is not counted to where it is T."""
    horizon, counted = 10**5, 60.0
    plays = np.array([4.0, 30.0, 60.0, 500.0])

    def grown(v):
        return v + 0.4 * math.log1p(4 * math.pi * v)

    end = brentq(lambda v: grown(v) - math.log(horizon), 0, 20)
    for each, found in zip(plays, _behind(horizon, plays, counted), strict=True):
        start = brentq(lambda v, n=each: grown(v) - math.log(counted / n), 0, 20) if each < counted else 0.0
        slope = integrate.quad(
            lambda v: (1 + 1.6 * math.pi / (1 + 4 * math.pi * v)) * math.exp(grown(v) - v), start, end
        )[0]
        assert found == pytest.approx(each * (slope + (each >= counted)), rel=1e-6)
        assert found >= each * slope


def test_what_the_theorem_says_of_plays():
    """Larger gaps never raise it, nor does less noise, but for where batches end; and it is T at most."""
    assert batch_plays(10**4, math.log(10**4), 2.0, 1.0, 1e-3) == 10**4
    assert bit_plays(10**4, 3.0, 1e6, 0.5) == 10**4
    assert batch_plays(1e13, 3.0, 2.0, 1.0, 0.9) == 1e13  # beyond what exponents are computed to
    assert bit_plays(10**4, 3.0, 1 / math.tanh(1e-9), 1e-9) == 10**4
    assert batch_plays(1, 0.0, 2.0, 1.0, 0.5) <= 1
    by_gap = [batch_plays(10**6, math.log(10**6), 2.0, 1.0, gap) for gap in (0.2, 0.4, 0.8)]
    assert by_gap == sorted(by_gap, reverse=True)
    by_noise = [batch_plays(10**6, b * math.log(10**6), 2 * b * b, b, 0.8) for b in (0.01, 0.1, 1.0)]
    assert by_noise[0] < 1.03 * by_noise[1] < by_noise[2]
    # The leading term where privacy costs nothing is 1.1 ln T / (2 gap^2), which z and the sums make 4 times as large.
    log_term = math.log(1e60)
    assert batch_plays(1e60, log_term, 2e-16, 0.0, 0.9) < 4.2 * log_term / (2 * 0.9**2)
