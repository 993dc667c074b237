import math

import numpy as np
import pytest

from accountant import Accountant, Budget
from algorithms.play import play_records
from algorithms.problems import Cascade, RankedLists
from algorithms.published import CascadeUCBHybrid
from mechanisms import HorizonExceeded, Laplace

MEANS = [0.2, 0.7, 0.1, 0.5, 0.3, 0.5]
ROUNDS, EPSILON = 200, 400.0


def hybrid(values, noises, epsilon):
    """Follow Chan et al.'s hybrid mechanism on one stream; yield each prefix sum (noises: one per step)."""
    base, segment, alpha, noisy = 0.0, 0.0, {}, {}
    for t, (value, noise) in enumerate(zip(values, noises, strict=True), start=1):
        segment += value
        if t & (t - 1) == 0:  # the segment ends: one noise on its sum, and a new tree
            base += segment + noise[0]
            assert noise[1] == pytest.approx(2 / epsilon)
            segment, alpha, noisy = 0.0, {}, {}
        else:
            k = t.bit_length() - 1
            s = t - 2**k
            i = min(j for j in range(k) if s >> j & 1)
            alpha[i] = sum(alpha.pop(j, 0.0) for j in range(i)) + value
            for j in range(i):
                noisy.pop(j, None)
            noisy[i] = alpha[i] + noise[0]
            assert noise[1] == pytest.approx(2 * k / epsilon)
        yield base + sum(noisy[j] for j in noisy)


def drawn(run, lane):
    """Return {(round, item): (noise, scale)} of one lane."""
    found = {}
    for release in run.releases:
        for coordinate in np.flatnonzero(release.where[lane]):
            key = (release.round, int(coordinate))
            assert key not in found
            found[key] = (release.noise[lane, coordinate], release.mechanism.scale)
    return found


@pytest.mark.slow_cells("6", "3")
@pytest.mark.parametrize("positions", [1, 3, 6])
def test_it_plays_as_the_pseudocode(positions, recorded_run):
    problem = Cascade(6, positions, MEANS)

    def make(structure, gate):
        return CascadeUCBHybrid(structure, gate, epsilon=EPSILON, horizon=ROUNDS)

    run = recorded_run(make, problem, ROUNDS, 1)
    for lane in (0, 17, 63):
        records, noise = run.records[:, lane], drawn(run, lane)
        values, noises, total = [[] for _ in MEANS], [[] for _ in MEANS], [0.0] * 6
        for t in range(1, ROUNDS + 1):
            index = []
            for e in range(6):
                count = 1 + len(values[e])
                noise_margin = 3 * 6 * math.log(ROUNDS) ** 1.5 * math.log(t) / (EPSILON * count)
                mean = (records[0, e] + total[e]) / count
                index.append(mean + math.sqrt(1.5 * math.log(t) / count) + noise_margin)
            shown = sorted(range(6), key=lambda e: (-index[e], e))[:positions]
            played = run.actions[t - 1, lane].tolist()
            assert [index[e] for e in played] == pytest.approx([index[e] for e in shown], rel=1e-12)
            for e in played:
                values[e].append(records[t, e])
                noises[e].append(noise.pop((t, e)))
                *_, total[e] = hybrid(values[e], noises[e], EPSILON / 6)
                if records[t, e]:
                    break
        assert not noise
        np.testing.assert_allclose(run.learner.total[lane], total, rtol=0, atol=1e-9)
        assert run.learner.sums.steps[lane].tolist() == [len(v) for v in values]


def test_both_leaks_are_found():
    problem = Cascade(6, 3, MEANS)
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(1))
    learner = CascadeUCBHybrid(problem.structure, accountant, epsilon=1.0, horizon=4)
    for _ in play_records(learner, problem, accountant, np.zeros((5, 6))):
        pass
    reasons = {entry.note for entry in accountant.ledger.entries if entry.mechanism is None}
    assert any("w_0" in reason for reason in reasons)
    assert any("examinations" in reason for reason in reasons)
    assert any(isinstance(entry.mechanism, Laplace) for entry in accountant.ledger.entries)


@pytest.mark.parametrize("horizon", [1, 2, 3, 7])
def test_more_rounds_than_its_trees_have_leaves_are_refused(horizon):
    """A further value went to the place of another item's sums, or beyond all of them."""
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    learner = CascadeUCBHybrid(RankedLists(items=1, positions=1), accountant, epsilon=1.0, horizon=horizon)
    for user in range(horizon + 1):
        learner.act()
        feedback = accountant.private(np.zeros(1), learner.feedback_domain, user)
        if user < horizon:
            learner.observe(feedback)
    with pytest.raises(HorizonExceeded):
        learner.observe(feedback)
    assert accountant.spent(horizon).epsilon == 0
    assert learner.sums.steps.max() == horizon
