"""Arguments of an accountant: every wrong kind is refused before anything is charged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, GaussianComposition, Plan, PlanStep, Simulation, Trust, check_gate
from accountant.refusals import TrustViolation
from mechanisms import Gaussian, Interval, Laplace, NumpyNoise, OpenDPNoise

UNIT = Interval(0, 1)
QUARTER = Laplace.for_epsilon(0.25, sensitivity=UNIT.sensitivity)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 1.0}, r"budget = 1\.0: must be a Budget"),
        ({"budget": Budget}, "budget = <class .*>: must be a Budget"),
        ({"trust": "local"}, r"trust = 'local': must be Trust\.CENTRAL, Trust\.LOCAL or Trust\.SHUFFLE"),
        ({"trust": None}, "trust = None: must be"),
        ({"noise": 3}, "noise = 3: must be a noise source"),
        ({"noise": "x"}, "noise = 'x': must be a noise source"),
        ({"noise": OpenDPNoise}, "noise = <class .*>: must be a noise source"),
        ({"composition": GaussianComposition}, "composition = <class .*>: must be a composition theorem"),
        ({"composition": "gaussian"}, "composition = 'gaussian': must be a composition theorem"),
        ({"plan": (PlanStep(QUARTER),)}, r"plan = \(PlanStep.*\): must be a Plan"),
        ({"plan": Plan((PlanStep(QUARTER),)), "composition": GaussianComposition()}, "not both"),
        ({"seed": "x"}, "seed = 'x': must be None or a whole number"),
        ({"seed": -1}, "seed = -1: must be None or a whole number"),
    ],
)
def test_what_is_of_another_kind_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Accountant(**{"budget": Budget(1.0), **given})


def test_what_is_documented_is_taken(tmp_path: Path) -> None:
    for noise in (None, np.random.default_rng(0), OpenDPNoise(), NumpyNoise(np.random.default_rng(0))):
        accountant = Accountant(Budget(1.0), noise=noise, seed=3, trust=Trust.LOCAL)
        accountant.release(QUARTER, accountant.private([0.4], UNIT, "ann"))
        assert accountant.trust is Trust.LOCAL
    with pytest.raises(ValueError, match=r"^noise = 3: must be a noise source"):
        Accountant(Budget(1.0), noise=3, store=tmp_path / "ledger.db")  # type: ignore[arg-type]
    assert not (tmp_path / "ledger.db").exists()


def test_what_is_no_domain_and_no_mechanism_is_refused() -> None:
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    for domain in ((0, 1), Interval):
        with pytest.raises(ValueError, match=r"domain = .*: must be a domain"):
            accountant.private([0.4], domain, "ann")  # type: ignore[arg-type]
    for gate in (accountant, Simulation(0, 1)):
        with pytest.raises(ValueError, match=r"mechanism = <class .*>: must be a mechanism"):
            gate.release(Laplace, gate.private([0.4], UNIT, "ann"))  # type: ignore[arg-type, attr-defined]
    assert accountant.spent("ann").epsilon == 0


def test_a_gate_that_trusts_nobody_takes_local_learners_only() -> None:
    local = Accountant(Budget(1.0), trust=Trust.LOCAL)
    check_gate(local, "local", "Mine")
    for model in ("central", "shuffle"):
        with pytest.raises(TrustViolation, match=f"Mine works in the {model} model"):
            check_gate(local, model, "Mine")
        check_gate(Accountant(Budget(1.0)), model, "Mine")
        check_gate(Simulation(0, 1), model, "Mine")
    shuffled = Accountant(Budget(1.0), trust=Trust.SHUFFLE)
    check_gate(shuffled, "shuffle", "Mine")
    for model in ("central", "local"):
        with pytest.raises(TrustViolation, match=f"Mine works in the {model} model, without a shuffler"):
            check_gate(shuffled, model, "Mine")
    for gate in (None, 7, Accountant, Budget(1.0)):
        with pytest.raises(ValueError, match=r"gate = .*: must be a gate"):
            check_gate(gate, "local", "Mine")


@pytest.mark.parametrize("seed", [7, np.random.SeedSequence(7)])
def test_public_draws_are_none_of_the_noise_of_the_same_seed(seed: Any) -> None:
    # Else whoever sees the draws, and a learner shows them, takes the noise away.
    accountant = Accountant(
        Budget(1.0, 1e-3), noise=np.random.default_rng(7), seed=seed, composition=GaussianComposition()
    )
    value = accountant.private([0.25], UNIT, record="r")
    released = accountant.release(Gaussian(sigma=20.0, sensitivity=UNIT.sensitivity), value)
    drawn = accountant.random.standard_normal(100)
    assert not np.isclose(released - 20.0 * drawn, 0.25).any()
    again = Accountant(Budget(1.0), seed=seed).random.standard_normal(100)
    assert (drawn == again).all()
