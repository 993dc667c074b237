"""Users for the runs of contextual learners."""

import numpy as np

from algorithms.problems import LinearContexts
from verify.learners.contextual_data import constant_users, drawn_users, growing_users, other_users

PROBLEM = LinearContexts([0.0, 0.5, 0.5], 4)


def test_users_have_the_problems_shape_and_grow():
    rng = np.random.default_rng(1)
    for users in (
        drawn_users(PROBLEM, 30, rng),
        growing_users(PROBLEM, 30, rng),
        constant_users(PROBLEM, 30, -1.0),
    ):
        assert users.contexts.shape == (30, 4, 3)
        assert users.rewards.shape == (30, 4)
        assert np.linalg.norm(users.contexts, axis=2).max() <= 1 + 1e-12
        assert np.abs(users.rewards).max() <= 1
    grown = growing_users(PROBLEM, 30, rng)
    lengths = np.linalg.norm(grown.contexts, axis=2)[:, 0]
    assert lengths[0] < 0.01 < 0.99 < lengths[-1]
    assert (np.diff(lengths) > 0).all()


def test_only_those_replaced_are_others():
    rng = np.random.default_rng(2)
    users = drawn_users(PROBLEM, 200, rng)
    replaced = np.arange(200) % 2 == 0
    others = other_users(users, np.array([-0.25, 0.25]), replaced, rng)
    assert (others.contexts[~replaced] == users.contexts[~replaced]).all()
    assert (others.rewards[~replaced] == users.rewards[~replaced]).all()
    same = (others.contexts == users.contexts).all(axis=(1, 2)) & (others.rewards == users.rewards).all(
        axis=1
    )
    assert not same[replaced].any()
    assert (np.abs(others.contexts) == 0.25).all(axis=(1, 2)).any()  # numbers that the code names
    assert (others.rewards == -users.rewards).all(axis=1).any()
