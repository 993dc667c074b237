"""A planted gate passes everything on, bit for bit, and lets its fault act when and where it should."""

import dataclasses

import numpy as np
import pytest

from accountant import Accountant, Budget, ForeignValue, Simulation
from algorithms.play import play_records
from algorithms.problems import build_problem
from faults.fault import Fault, Misuse
from faults.learner_faults import LEARNER_FAULTS
from faults.noise_faults import RawValue
from faults.planted_gate import PlantedGate
from faults.planted_learner import planted_learner
from faults.planted_subject import plant
from mechanisms import Box, Laplace
from verify import verify
from verify.verification.resolve import every_learner

DOMAIN = Box(0, 1, 2)
LAPLACE = Laplace(scale=2.0, sensitivity=DOMAIN.sensitivity)


def accountant():
    return Accountant(Budget(100.0), noise=np.random.default_rng(5), seed=6)


def observed(gate, real, values, record=1):
    lanes = np.broadcast_to(values, (real.lanes, 2))
    return gate.observed(real.private(lanes, DOMAIN, record))


@pytest.mark.parametrize("name", ["cucb-batch", "cascade-ucb-batch", "cascade-ucb-rr", "cucb-ldp1"])
def test_without_a_fault_a_learner_plays_and_pays_as_ever(name):
    entry = every_learner[name]
    problem = build_problem(entry.default_problem, {})
    records = problem.draw_records(np.random.default_rng(0), 41)
    runs = []
    for make in (entry.make, planted_learner(entry.make, LEARNER_FAULTS["none"])):
        gate = accountant()
        learner = dataclasses.replace(entry, make=make).build(problem, epsilon=1.0, horizon=40)(gate)
        actions = [action.tolist() for action in play_records(learner, problem, gate, records)]
        entries = [(e.mechanism, e.charge, e.records) for e in gate.ledger.entries]
        runs.append((actions, entries, gate.assumptions))
    assert runs[0] == runs[1]


@pytest.mark.slow
@pytest.mark.usefixtures("faults_as_library")
def test_without_a_fault_a_verification_says_the_same():
    results = [
        verify(subject, epsilon=1.0, delta=1e-3, effort="quick", samples=10_000)
        for subject in ("dp-pe-local", plant("dp-pe-local", "none"))
    ]
    another = {"subject": "", "best_event": "", "date": "", "digests": {}}
    first, second = ({**r.json(), **another} for r in results)
    first["reasons"], second["reasons"] = first["reasons"][:1], second["reasons"][:1]  # no proof for a mutant
    assert first == second


@pytest.mark.parametrize("lanes", [1, 128])
def test_a_late_fault_acts_from_its_round_on(lanes):
    real = Simulation(3, lanes)
    gate = PlantedGate(real, Fault("late", "", "", RawValue, start=3))
    for number in range(1, 6):
        value = observed(gate, real, [0.25, 0.75], number)
        raw = bool((gate.release(LAPLACE, value) == [0.25, 0.75]).all())
        assert (raw, gate.did_act) == (number >= 3, number >= 3)


def test_a_rare_value_opens_its_own_lanes_only():
    real = Simulation(3, 128)
    gate = PlantedGate(real, Fault("rare", "", "", RawValue, span=(0.6, 0.62)))
    values = np.full((128, 2), 0.5)
    values[7, 1] = 39 / 64
    for number in (1, 2):
        outputs = gate.release(LAPLACE, gate.observed(real.private(values, DOMAIN, number)))
        assert np.flatnonzero((outputs == values).all(axis=1)).tolist() == [7]
        values[7, 1] = 0.5  # once it was met, it acts


def test_a_fault_of_one_lane_spares_many():
    fault = Fault("one", "", "", RawValue, one_lane=True)
    for lanes, acts in ((1, True), (128, False)):
        real = Simulation(3, lanes)
        gate = PlantedGate(real, fault)
        gate.release(LAPLACE, observed(gate, real, [0.25, 0.75]))
        assert gate.did_act is acts


def test_the_real_gate_still_checks_whose_value_it_is():
    real, other = accountant(), accountant()
    gate = PlantedGate(real, Fault("none", "", "", Misuse))
    with pytest.raises(ForeignValue):
        real.release(LAPLACE, gate.private([[0.1, 0.2]], DOMAIN, 1))
    with pytest.raises(ForeignValue):
        gate.release(LAPLACE, np.zeros((1, 2)))
    assert not other.ledger.entries
    assert not real.ledger.entries
