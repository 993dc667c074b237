"""Learners of linear bandits refuse wrong actions and numbers when they are built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, Simulation
from algorithms import DPDPECentral, DPPECentral
from algorithms.linear.linear_parameters import checked_actions
from algorithms.problems import TopK


def build(make: Any, actions: Any = None, **settings: Any) -> Any:
    gate = settings.pop("gate", Accountant(Budget(1.0, 1e-6)))
    given = {"epsilon": 1.0, "delta": 1e-6, "horizon": 100}
    if make is DPDPECentral:
        given |= {"population": 1000, "sigma": 0.1}
    return make(np.eye(2) if actions is None else actions, gate, **{**given, **settings})


@pytest.mark.parametrize("make", [DPDPECentral, DPPECentral])
@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.ones(3), r"actions of shape \(3,\): must be of shape \(k, d\)"),
        (np.zeros((0, 3)), r"actions of shape \(0, 3\): must be"),
        (np.zeros((3, 0)), r"actions of shape \(3, 0\): must be"),
        (np.zeros((1, 2, 2)), r"actions of shape \(1, 2, 2\): must be"),
        ("abc", r"actions: must be numbers of shape \(k, d\)"),
        (TopK(arms=6, size=3), "actions: must be numbers of shape"),
        (
            [[1.0, 0.0], [np.nan, 0.0]],
            r"actions\[1\] has length nan: must be at most 1, and every number finite",
        ),
        ([[np.inf, 0.0]], r"actions\[0\] has length inf: must be"),
        (5 * np.eye(2), r"actions\[0\] has length 5: must be at most 1"),
    ],
)
def test_actions_are_vectors_in_the_unit_ball(make: Any, actions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(make, actions)


def test_unit_vectors_as_floats_have_them_are_taken_and_copied() -> None:
    actions = np.random.default_rng(0).standard_normal((1000, 7))
    actions /= np.linalg.norm(actions, axis=1)[:, np.newaxis]
    copied = checked_actions(actions)
    np.testing.assert_array_equal(copied, actions)
    actions[0] = 9.0
    assert np.abs(copied).max() <= 1


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (DPDPECentral, {"sigma": "x"}, "sigma = 'x': must be a number from 0 to"),
        (DPDPECentral, {"sigma": -0.1}, "sigma = -0"),
        (DPDPECentral, {"sigma": np.nan}, "sigma = nan: must be"),
        (DPDPECentral, {"sigma": True}, "sigma = True: must be"),
        (DPDPECentral, {"reward_bound": "1"}, "reward_bound = '1': must be a number from 1e-100 to"),
        (DPDPECentral, {"alpha": "x"}, r"alpha = 'x': must be a number in \(0, 1\)"),
        (DPDPECentral, {"fixed_clients": 2.5}, r"fixed_clients = 2\.5: must be a whole number"),
        (DPPECentral, {"reward_bound": "1"}, "reward_bound = '1': must be a number from 1e-100 to"),
        (DPPECentral, {"reward_bound": 10**400}, "reward_bound = 10.*: must be a number from 1e-100 to"),
        (DPPECentral, {"reward_bound": None}, "reward_bound = None: .*: a single reward is not concentrated"),
        (DPPECentral, {"gate": 7}, "gate = 7: must be a gate"),
        (DPDPECentral, {"gate": Simulation(0, 64)}, "gate.lanes = 64: .* one lane only"),
    ],
)
def test_numbers_are_numbers_in_their_range(make: Any, settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(make, **settings)
    build(make)
