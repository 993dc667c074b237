import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.reward_curve import RewardCurve

LANES = 3


@settings(max_examples=60)
@given(
    checkpoints=st.lists(st.integers(1, 60), min_size=1, max_size=8, unique=True),
    seed=st.integers(0, 2**32),
    longest=st.integers(1, 40),
)
def test_phases_of_any_length_give_the_reward_of_single_rounds(checkpoints, seed, longest):
    """Against adding one round after the other, in lanes that hold different lengths (0: a lane that is done)."""
    checkpoints = np.array(sorted(checkpoints), dtype=np.int64)
    horizon = int(checkpoints[-1])
    rng = np.random.default_rng(seed)
    curve = RewardCurve(checkpoints, LANES)
    rewards = [[] for _ in range(LANES)]
    left = np.full(LANES, horizon)
    while left.any():
        held = np.minimum(rng.integers(1, longest + 1, LANES), left)
        reward = rng.random(LANES)
        curve.add_phases(reward, held)
        for lane in range(LANES):
            rewards[lane] += [reward[lane]] * int(held[lane])
        left -= held
        assert curve.slowest_round == horizon - left.max()
    expected = np.cumsum(rewards, axis=1)[:, checkpoints - 1].T
    np.testing.assert_allclose(curve.kept, expected, rtol=1e-12)


def test_single_rounds():
    curve = RewardCurve(np.array([1, 3, 4]), LANES)
    for t in range(4):
        curve.add(np.array([1.0, t, 0.5]))
    np.testing.assert_allclose(curve.kept, [[1, 0, 0.5], [3, 3, 1.5], [4, 6, 2]])
