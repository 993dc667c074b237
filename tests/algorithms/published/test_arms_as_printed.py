"""K-armed bandits as published against literal transcriptions, what a record pays, and their regret theorems."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta

from accountant import Accountant, Budget
from algorithms.problems import Arms, SemiBandit
from algorithms.published import DPIMED, DPSE, AdaPKLUCB, LazyDPTS
from algorithms.theory.published_bandit_regret import _elimination_plays, _episode_plays
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import Laplace

PROBLEM = SemiBandit(Arms(4), [0.2, 0.9, 0.5, 0.7])
ROUNDS = 150


def kl(p, q):
    return sum(a * math.log(a / b) if a > 0 else 0.0 for a, b in ((p, q), (1 - p, 1 - q)))


def clip(x):
    return min(max(x, 0.0), 1.0)


def replayed(run, lane):
    """Return (round, arm played, outcome, noise) of one lane's rounds, and its noises by round and arm."""
    noise = run.noise(lane)
    for t, actions in enumerate(run.actions, start=1):
        arm = int(actions[lane, 0])
        yield t, arm, run.records[t, lane, arm], noise


def klucb_index(t, played, mean, epsilon):
    """The index of (7)."""
    level = 3.1 * math.log(t) / (played / 2)
    p, end = clip(mean + level / epsilon), 1 - 1e-15
    if p == 1 or kl(p, end) <= level:
        return 1.0
    return brentq(lambda q: kl(p, q) - level, p, end, xtol=1e-14)


@pytest.mark.slow_cells("20.0")
@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_adap_klucb(epsilon, recorded_run):
    run = recorded_run(lambda s, g: AdaPKLUCB(s, g, epsilon=epsilon), PROBLEM, ROUNDS, 4)
    assert {release.mechanism for release in run.releases} == {run.learner.mechanism}
    assert isinstance(run.learner.mechanism, Laplace)
    assert run.learner.mechanism.scale == 1 / epsilon
    for lane in (0, 63):
        played, mean, episode, expected = [0] * 4, [0.0] * 4, [], []
        for t, arm, outcome, noise in replayed(run, lane):
            if not expected:  # line 6
                assert not episode

                if 0 in played:
                    chosen = played.index(0)
                else:
                    indices = [klucb_index(t, played[a], mean[a], epsilon) for a in range(4)]
                    chosen = arm if indices[arm] >= max(indices) - 1e-9 else None  # ties but for rounding
                    assert chosen is not None
                expected = [chosen] * max(played[chosen], 1)
            assert arm == expected.pop()
            episode.append(outcome)
            if not expected:
                played[arm] += len(episode)
                mean[arm] = sum(episode) / len(episode) + noise[t, arm] / len(episode)
                episode = []
        assert sum(played) > ROUNDS / 2


@pytest.mark.parametrize("epsilon", [0.5, 20.0])
@pytest.mark.parametrize("growth", [0.1, 1.0])
def test_dp_imed(epsilon, growth, recorded_run):
    def d(p, u):
        """By search over z, on a grid that no kink falls between by much."""
        if u <= p:
            return 0.0
        z = np.linspace(p, u, 4001)[1:-1]
        values = (
            epsilon * (z - p) + z * np.log(z / u) + (1 - z) * np.log((1 - z) / (1 - u) if u < 1 else 1e300)
        )
        return min(values.min(), kl(p, u) if u < 1 else math.inf, epsilon * (u - p))

    run = recorded_run(lambda s, g: DPIMED(s, g, epsilon=epsilon, growth=growth), PROBLEM, ROUNDS, 5)
    n, total, batch, left = [0] * 4, [0.0] * 4, 0.0, 0
    for t, arm, outcome, noise in replayed(run, 7):
        if not left:
            if 0 in n:
                assert arm == n.index(0)
            else:
                means = [clip(total[a] / n[a]) for a in range(4)]
                index = [n[a] * d(means[a], max(means)) + math.log(n[a]) for a in range(4)]
                assert index[arm] <= min(index) + 1e-3 * max(n)
            left = max(1, math.ceil(growth * n[arm]))
            size, batch = left, 0.0
        batch, left = batch + outcome, left - 1
        if not left:
            total[arm] += batch + noise[t, arm]
            n[arm] += size
    np.testing.assert_array_equal(run.learner.batches.size[7], n)
    np.testing.assert_allclose(run.learner.batches.total[7], total, atol=1e-9)


def test_lazy_dp_ts(recorded_run):
    epsilon = 2.0
    run = recorded_run(lambda s, g: LazyDPTS(s, g, epsilon=epsilon), PROBLEM, ROUNDS, 6)
    size, mean, batch = [0] * 4, [0.0] * 4, [[] for _ in range(4)]
    for t, arm, outcome, noise in replayed(run, 3):
        uniform = run.normals[t - 1][3]
        if 0 in size:
            assert arm == size.index(0)
        else:
            theta = []
            for a in range(4):
                c = clip(mean[a] + 3 * math.log(t) / (epsilon * size[a]))
                theta.append(beta.ppf(uniform[a], c * size[a] + 1, (1 - c) * size[a] + 1))
            assert arm == int(np.argmax(theta))
        batch[arm].append(outcome)
        if len(batch[arm]) == (1 if size[arm] == 0 else 2 * size[arm]):
            size[arm] = len(batch[arm])
            mean[arm] = (sum(batch[arm]) + noise[t, arm]) / size[arm]
            batch[arm] = []
    assert max(size) >= 16


def literal_dp_se(arms, horizon, epsilon, outcome, laplace):
    """Yield the arms that Algorithm 2 pulls; `outcome` of a round, `laplace` of a round and an arm are given."""
    remaining, e, t = list(range(arms)), 0, 0
    while len(remaining) > 1:
        e += 1
        s = len(remaining)
        sampling, privacy = math.log(8 * s * e**2 * horizon), math.log(4 * s * e**2 * horizon)
        needed = max(32 * sampling / 4.0**-e, 8 * privacy / (epsilon * 2.0**-e)) + 1
        r, sums = 0, dict.fromkeys(remaining, 0.0)
        while r < needed:
            for a in remaining:
                yield a
                t += 1
                sums[a] += outcome(t, a)
            r += 1
        noisy = {a: (sums[a] + laplace(t, a)) / r for a in remaining}
        far = 2 * (math.sqrt(sampling / (2 * needed)) + privacy / (needed * epsilon))
        remaining = [a for a in remaining if max(noisy.values()) - noisy[a] <= far]
    while True:
        yield remaining[0]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_dp_se(epsilon, recorded_run):
    """Through two epochs to the last arm; at epsilon = 0.05 it is privacy that sets their lengths."""
    problem, rounds = SemiBandit(Arms(3), [0.1, 0.95, 0.6]), 36_000
    run = recorded_run(lambda s, g: DPSE(s, g, epsilon=epsilon, horizon=rounds), problem, rounds, 7)
    noise, records = run.noise(9), run.records[:, 9]
    literal = literal_dp_se(3, rounds, epsilon, lambda t, a: records[t, a], lambda t, a: noise[t, a])
    np.testing.assert_array_equal(run.actions[:, 9, 0], list(itertools.islice(literal, rounds)))
    assert run.learner.left[9].tolist() == [False, True, False]


def test_dp_se_starts_in_turn_and_removes_what_is_further_off_than_its_radii():
    """On an accountant, at epsilon = 32: noise beyond a twentieth of the radii has a probability below 1e-50."""
    epsilon, horizon = 32.0, 1000
    accountant = Accountant(Budget(epsilon), noise=np.random.default_rng(1), seed=2)
    learner = DPSE(Arms(3), accountant, epsilon=epsilon, horizon=horizon)
    needed = 128 * math.log(24 * horizon) + 1
    radii = math.sqrt(math.log(24 * horizon) / (2 * needed)) + math.log(12 * horizon) / (needed * epsilon)
    means = [1.0, 1.0 - 1.9 * radii, 1.0 - 2.1 * radii]
    literal = literal_dp_se(3, horizon, epsilon, lambda t, a: means[a], lambda t, a: 0.0)
    learner.rounds.passed = True  # the horizon's warning has a test of its own
    for user in range(3 * math.ceil(needed)):
        action = learner.act()
        assert action[0, 0] == next(literal) == user % 3
        assert len(accountant.ledger) == 0
        learner.observe(accountant.private([means[action[0, 0]]], learner.feedback_domain, user))
    assert learner.left.tolist() == [[True, True, False]]
    assert accountant.worst()[1].epsilon == epsilon
    assert [learner.act()[0, 0], next(literal)] == [0, 0]


@pytest.mark.parametrize("make", [AdaPKLUCB, DPIMED])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_setting_out_of_range_is_refused(make, value):
    name = "alpha" if make is AdaPKLUCB else "growth"
    with pytest.raises(ValueError, match=f"{name} = "):
        make(Arms(2), Accountant(Budget(1.0)), epsilon=1.0, **{name: value})


# --- regret theorems ----------------------------------------------------------------------------------


def test_the_theorem_of_dp_se_in_plain_numbers():
    horizon, arms, epsilon = 10**6, 3, 0.1
    expected = 0.0
    for e in (1, 2):  # a gap of 0.3 is above 2^-2
        sampling = 32 * math.log(8 * 3 * e**2 * horizon) * 4**e
        privacy = 8 * math.log(4 * 3 * e**2 * horizon) / epsilon * 2**e
        expected += math.ceil(max(sampling, privacy) + 1)
    assert _elimination_plays(horizon, arms, epsilon, 0.3) == expected
    assert _elimination_plays(100, arms, epsilon, 0.3) == 100
    problem = SemiBandit(Arms(3), [0.6, 0.9, 0.9])
    whole = BOUNDS["published/dp-se"].evaluate(Instance(problem, epsilon, horizon))
    assert whole == pytest.approx(0.3 + 0.3 * expected)


def test_the_theorem_of_adap_klucb_in_plain_numbers():
    horizon, arms, epsilon, gap = 3000, 3, 0.5, 0.3
    level = 3.1 * math.log(horizon)
    most = max(2**k for k in range(30) if 2 * math.sqrt(level / 2**k) + 4 * level / (epsilon * 2**k) >= gap)
    failures = sum(3 * (1 + math.log2(t)) * t**-2.1 for t in range(4, horizon + 1))
    assert _episode_plays(horizon, arms, epsilon, gap) == pytest.approx(min(horizon, 2 * most + failures))
    # Beyond 10,000 rounds the sum is continued by an integral, which is above it and close.
    easy = _episode_plays(10**7, 3, 100.0, 0.9)
    level = 3.1 * math.log(10**7)
    most = max(2**k for k in range(30) if 2 * math.sqrt(level / 2**k) + 0.04 * level / 2**k >= 0.9)
    t = np.arange(4, 10**6)
    exact = 2 * most + np.sum(3 * (1 + np.log2(t)) * t**-2.1)
    assert exact < easy < exact + 0.01
