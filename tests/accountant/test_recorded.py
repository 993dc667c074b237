"""Mechanisms that were loaded from a ledger and cannot be rebuilt."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from accountant import Accountant, Budget, RecordedMechanism, SensitivityExceeded
from accountant.recorded import describe, recall
from accountant.stores.opening import verify_store
from mechanisms import Box, DensityUnavailable, Interval, Laplace, Mechanism, Sensitivity


class Nameless:
    def __repr__(self):
        return "Nameless(7)"

    def to_dict(self):
        raise RuntimeError("no")


def test_what_can_be_rebuilt_is():
    mechanism = Laplace.for_epsilon(0.1, sensitivity=Sensitivity.of_box([1.0] * 3))
    assert recall(json.loads(describe(mechanism))) == mechanism


def test_what_cannot_is_remembered():
    lost = recall(json.loads(describe(Nameless())))
    assert repr(lost) == "Nameless(7)"
    assert describe(lost) == describe(Nameless())
    unknown = recall({"kind": "Unheard", "scale": 2.0})
    assert "Unheard" in repr(unknown)
    assert recall(unknown.to_dict()) == unknown
    assert isinstance(unknown, Mechanism)


def test_it_promises_and_releases_nothing():
    lost = RecordedMechanism('{"recorded": "x"}')
    assert lost.epsilon == math.inf
    assert lost.nominal_delta == 0.0
    assert lost.profile().delta(5.0) == 1.0
    assert lost.profile().attained() == ()  # nothing is known of a lower end
    with pytest.raises(TypeError, match="cannot release anything"):
        lost.release([1.0], np.random.default_rng(0))
    with pytest.raises(DensityUnavailable):
        lost.log_density([1.0], [1.0])
    gate = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    with pytest.raises(SensitivityExceeded):
        gate.release(lost, gate.private([0.5], Box(0, 1, 1), 1))
    assert len(gate.ledger) == 0


class Unnamed(Laplace):
    """A mechanism of a user's: no other process knows its kind."""


def test_a_store_names_what_is_on_trust(tmp_path: Path) -> None:
    """The charge of a mechanism that can be rebuilt is computed again, and is no such case."""
    path, sensitivity = tmp_path / "ledger.db", Sensitivity(1, 1, 1)
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path)
    for mechanism in (
        Unnamed(scale=4.0, sensitivity=sensitivity),
        Laplace(scale=4.0, sensitivity=sensitivity),
    ):
        accountant.release(mechanism, accountant.private([0.5], Interval(0, 1), "ann"))
    accountant.ledger.close()  # type: ignore[attr-defined]
    (trusted,) = verify_store(path).trusted
    assert "Unnamed" in trusted
