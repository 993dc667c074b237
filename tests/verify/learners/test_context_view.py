"""Information in another user's action: the sign of a noisy sum, with exact probability for one feature."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from accountant import Simulation
from algorithms import DPLinUCB, LinUCB
from algorithms.claim import View
from verify.learners.context_view import ShownUser, users_who_tell
from verify.learners.contextual_family import ContextualFamily
from verify.sampling.evidence import Evidence


def test_the_action_after_the_batch_is_the_sign_of_the_noisy_sum():
    """Six standard errors: false alarm below 1e-8."""
    build = functools.partial(DPLinUCB, 1, epsilon=8.0, delta=1e-3, horizon=40)
    learner = build(Simulation(0, 1))
    best, middle = users_who_tell(build, 1, horizon=40, delta=1e-3, samples=10_000)
    assert best.batch == middle.batch == learner.first
    assert middle.others == 0 != best.others
    shown = ShownUser(build, 1, learner.first, 0.5)
    n = 2048
    for other, own in ((False, 1.0), (True, -1.0)):
        seen = shown.worlds().draw(other, n, np.random.SeedSequence(3)).values[:, 0]
        p = norm.cdf((0.5 + own) / learner.mechanism.sigma)
        assert abs((seen == 0).mean() - p) < 6 * np.sqrt(p * (1 - p) / n)


def test_without_noise_one_user_decides():
    build = functools.partial(LinUCB, 2, horizon=9)
    (shown,) = users_who_tell(build, 2, horizon=9, delta=0.0, samples=1000)
    worlds = shown.worlds()
    one, other = (worlds.draw(which, 64, np.random.SeedSequence(0)).values for which in (False, True))
    assert set(one.ravel()) == {0.0}
    assert set(other.ravel()) == {1.0}


@pytest.mark.parametrize(("horizon", "told"), [(13, True), (6, False)])
def test_nobody_tells_before_anything_is_released(horizon, told):
    build = functools.partial(DPLinUCB, 1, epsilon=4.0, delta=1e-3, horizon=13)
    assert build(Simulation(0, 1)).first in range(7, 12)
    assert (users_who_tell(build, 1, horizon=horizon, delta=1e-3, samples=100) != []) is told


@pytest.mark.parametrize(
    ("stopped", "view"),
    [(True, View.OTHER_ACTIONS.value), (False, View.ACTIONS.value), (True, View.ACTIONS.value)],
)
def test_users_are_tested_in_the_view_of_others_actions_only(stopped, view):
    family = SimpleNamespace(_stopped=stopped, claim=SimpleNamespace(view=view))
    assert ContextualFamily.source(family, Evidence(), None, None, None) is None
