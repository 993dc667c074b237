import math
from fractions import Fraction

import numpy as np
import pytest

from accountant import Accountant, Budget
from algorithms.play import play_records
from algorithms.problems import SemiBandit, UniformMatroid, build_problem
from algorithms.published import DPTSMat, DPUCBMat

PROBLEMS = {
    "table 2": build_problem("linear-matroid"),
    "rank 1": build_problem("uniform-matroid", {"elements": 4}),
    "one basis": build_problem("uniform-matroid", {"elements": 3, "rank": 3}),
}
ROUNDS, EPSILON = 300, 30.0


def printed(structure, greedy, records, noise, normals):
    """Run Algorithm 2 on one lane, or Algorithm 3 if there are normal draws."""
    size, arms = structure.size, structure.arms
    epsilon0 = EPSILON / size
    effective, s, buffers = [1] * arms, [0] * arms, [[] for _ in range(arms)]
    mean = [records[0, e] + noise.pop((0, e)) for e in range(arms)]
    for t in range(1, ROUNDS + 1):
        log = math.log(size * t)
        index = [mean[e] + 3 * log / (epsilon0 * effective[e]) for e in range(arms)]
        if normals is None:
            index = [index[e] + math.sqrt(3 * log / effective[e]) for e in range(arms)]
        else:
            index = [index[e] + normals[t - 1][e] * math.sqrt(1 / effective[e]) for e in range(arms)]
        basis = greedy(structure, index)
        yield basis
        for e in basis:
            buffers[e].append(records[t, e])
            if len(buffers[e]) == 2 ** (s[e] + 1):
                effective[e] = 2 ** (s[e] + 1)
                mean[e] = (sum(buffers[e]) + noise.pop((t, e))) / effective[e]
                s[e] += 1
                buffers[e] = []
    assert not noise  # everything that was released is accounted for
    yield mean, effective


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("learner", [DPUCBMat, DPTSMat])
def test_it_plays_as_the_pseudocode(name, learner, recorded_run, greedy_basis):
    problem = PROBLEMS[name]
    run = recorded_run(lambda s, g: learner(s, g, epsilon=EPSILON), problem, ROUNDS, 1)
    scale = pytest.approx(problem.structure.size / EPSILON, rel=1e-15)
    assert all(release.mechanism.scale == scale for release in run.releases)
    for lane in (0, 17, 63):
        normals = [draw[lane] for draw in run.normals] if learner is DPTSMat else None
        replay = printed(problem.structure, greedy_basis, run.records[:, lane], run.noise(lane), normals)
        *actions, (mean, effective) = replay
        for t, basis in enumerate(actions):
            assert run.actions[t, lane].tolist() == basis
        np.testing.assert_allclose(run.learner.batches.mean[lane], mean, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(run.learner.batches.size[lane], effective)


@pytest.mark.few(2)
@pytest.mark.parametrize("learner", [DPUCBMat, DPTSMat])
@pytest.mark.parametrize(
    ("elements", "rank", "epsilon"), [(20, 1, 1.0), (7, 3, 0.1), (4, 2, 17.3), (5, 5, 2.0)]
)
def test_the_round_0_record_pays_for_all_elements(learner, elements, rank, epsilon):
    """L epsilon / K for one record of L values; epsilon / K each, so epsilon at worst, for separate ones."""
    problem = SemiBandit(UniformMatroid(elements, rank), np.linspace(0.1, 0.9, elements))
    records = np.full((121, elements), 0.5)
    paid = {}
    for initial in ("one", "separate"):
        accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(3), seed=3)
        built = learner(problem.structure, accountant, epsilon=epsilon, initial_records=initial)
        for _ in play_records(built, problem, accountant, records):
            pass
        record, worst = accountant.worst()
        paid[initial] = worst.epsilon
        if initial == "one" and elements > rank:
            assert record == 0
    share = 1 / Fraction(1 / (epsilon / rank))  # one value at the printed scale
    assert paid["one"] == pytest.approx(elements * share, rel=1e-36, abs=0.0)  # charges are rounded up
    assert paid["separate"] == pytest.approx(rank * share, rel=1e-36, abs=0.0)
    assert float(rank * share) == pytest.approx(epsilon, rel=1e-15)


@pytest.mark.parametrize("bad", ["two", "", None])
def test_initial_records_must_be_one_of_two_words(bad):
    with pytest.raises(ValueError, match="initial_records"):
        DPUCBMat(UniformMatroid(3, 1), Accountant(Budget(1.0)), epsilon=1.0, initial_records=bad)
