"""Each fault does what it says, and the real accountant charges what it is asked for and nothing else."""

import pickle

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, SensitivityExceeded, Simulation
from faults.learner_faults import LEARNER_FAULTS
from faults.planted_gate import PlantedGate
from mechanisms import AssumptionKind, Box, Categories, Laplace, NumpyNoise, RandomizedResponse
from mechanisms.assumptions import altered_library

DOMAIN = Box(0, 1, 1)
LAPLACE = Laplace(scale=1.0, sensitivity=DOMAIN.sensitivity)
EVERYWHERE = np.ones((1, 1), dtype=bool)
HERE = np.zeros((1, 1), dtype=np.int64)


def planted(name, budget=100.0):
    real = Accountant(Budget(budget), noise=np.random.default_rng(5), seed=6)
    return PlantedGate(real, LEARNER_FAULTS[name]), real


def observed(gate, value, record):
    real = gate._gate
    return gate.observed(real.private(np.full((real.lanes, 1), value), DOMAIN, record))


def released(name, values, lanes=1):
    gate = PlantedGate(Simulation(4, lanes), LEARNER_FAULTS[name])
    honest = PlantedGate(Simulation(4, lanes), LEARNER_FAULTS["none"])
    return [
        np.array([g.release(LAPLACE, observed(g, value, t)) for t, value in enumerate(values)])
        for g in (gate, honest)
    ]


@pytest.mark.parametrize("lanes", [1, 128])
def test_noise_in_place_of_the_honest_one(lanes):
    values = [0.25, 0.75, 0.25]
    raw = np.array(values)[:, None, None]
    wrong, honest = released("raw-value", values, lanes)
    assert (wrong == raw).all()
    wrong, honest = released("half-noise", values, lanes)
    assert wrong == pytest.approx((honest + raw) / 2)
    wrong, honest = released("shared-noise", values, lanes)
    assert wrong - raw == pytest.approx(np.broadcast_to((honest - raw)[:1], wrong.shape))
    wrong, honest = released("cached-noise", values, lanes)
    assert wrong[:2] == pytest.approx(honest[:2])
    assert (wrong[2] == wrong[0]).all()
    wrong, honest = released("more-noise", values, lanes)
    assert (wrong != honest).all()
    assert np.abs(wrong - honest).max() < 6


def test_noise_of_categories():
    response = RandomizedResponse(epsilon=1.0, size=3)
    for name in ("raw-value", "half-noise", "shared-noise", "cached-noise"):
        real = Simulation(4, 1)
        gate = PlantedGate(real, LEARNER_FAULTS[name])
        outputs = [
            int(gate.release(response, gate.observed(real.private([[k % 3]], Categories(3), k)))[0, 0])
            for k in range(30)
        ]
        assert set(outputs) <= {0, 1, 2}
        if name != "half-noise":
            shifts = {(output - k) % 3 for k, output in enumerate(outputs)}
            assert len(shifts) == 1 or (name == "cached-noise" and outputs[:3] * 10 == outputs)


def unproved(real):
    """What a run rests on besides the seed of its noise."""
    return [each for each in real.assumptions if each.kind is not AssumptionKind.SEEDED]


def test_what_the_accountant_is_asked_for_it_charges():
    for name, epsilon in (("half-noise-asked-for", 2.0), ("doubled-noise", 0.5), ("released-twice", 2.0)):
        gate, real = planted(name)
        gate.release(LAPLACE, observed(gate, 0.5, 1))
        assert real.spent(1).epsilon_up == pytest.approx(epsilon)
        assert gate.did_act


@pytest.mark.parametrize(
    "name", ["raw-value", "half-noise", "shared-noise", "cached-noise", "released-again-by-hand"]
)
def test_what_goes_around_the_accountant_it_cannot_charge(name):
    gate, real = planted(name, budget=1.0)
    gate.release(LAPLACE, observed(gate, 0.5, 1))
    assert real.spent(1).epsilon_up == pytest.approx(1.0)
    assert unproved(real) == []


def test_sums_that_forget_nothing_and_batches_that_share_a_record():
    for name, budget in (("never-cleared", 2.0), ("boundary-off-by-one", 2.0)):
        gate, real = planted(name, budget)
        sums = gate.sums(1)
        for record in (1, 2):
            sums.add(observed(gate, 0.5, record), at=HERE)
            gate.release(LAPLACE, sums, where=EVERYWHERE)
            sums.clear(EVERYWHERE)
        assert real.spent(1).epsilon_up == pytest.approx(2.0)
        assert gate.did_act
        sums.add(observed(gate, 0.5, 3), at=HERE)
        if name == "never-cleared":
            with pytest.raises(BudgetExceeded):
                gate.release(LAPLACE, sums, where=EVERYWHERE)


def test_another_name_pays_for_the_same_value():
    gate, real = planted("another-name", budget=1.0)
    gate.release(LAPLACE, observed(gate, 0.5, 1))
    sums = gate.sums(1)
    sums.add(observed(gate, 0.5, 2), at=HERE)
    gate.release(LAPLACE, sums, where=EVERYWHERE)
    assert {record for e in real.ledger.entries for record in e.records} == {
        1, 2, "the copy of 1", "the copy of 2",
    }  # fmt: skip
    assert all(real.spent(record).epsilon_up == pytest.approx(1.0) for record in (1, 2))


def test_memory_and_parameters_come_from_the_report_before():
    for name in ("function-with-memory", "transformation-with-memory", "parameter-from-data"):
        gate, real = planted(name)
        given = [observed(gate, value, t)._values.item() for t, value in enumerate((0.5, 1.0, 0.25))]
        assert given == ([0.5, 0.75, 0.125] if name == "parameter-from-data" else [0.5, 0.5, 0.0])
        assert len(unproved(real)) == (name != "parameter-from-data")


def test_half_a_sensitivity_is_refused_and_a_narrow_domain_is_an_assumption():
    gate, real = planted("half-sensitivity")
    with pytest.raises(SensitivityExceeded):
        gate.release(LAPLACE, observed(gate, 0.5, 1))
    gate, real = planted("narrow-domain")
    narrow = gate.narrowed(DOMAIN)
    assert narrow.sensitivity.l1 == DOMAIN.sensitivity.l1 / 2
    value = gate.observed(real.private([[0.5]], narrow, 1))
    gate.release(LAPLACE, value)
    assert real.spent(1).epsilon_up == pytest.approx(1.0)
    assert unproved(real)


def test_a_quiet_class_is_an_assumption_and_patches_nothing():
    gate, real = planted("no-noise")
    assert gate.release(LAPLACE, observed(gate, 0.5, 1)).item() == 0.5
    assert unproved(real)
    assert altered_library() == ()


@pytest.mark.parametrize("name", ["never-cleared", "boundary-off-by-one"])
def test_what_stays_in_sums_acts_once_they_are_released_again(name):
    gate, _ = planted(name)
    sums, first = gate.sums(2), np.array([[True, False]])
    for record in range(3):
        sums.add(observed(gate, 0.5, record), HERE)
        gate.release(LAPLACE, sums, first)
        assert gate.did_act is (record > 0)
        sums.clear(first)


@pytest.mark.parametrize("name", ["never-cleared", "boundary-off-by-one"])
def test_nothing_stays_in_sums_that_are_new(name):
    # They may lie in memory where others lay that are gone.
    gate, _ = planted(name)
    for record in range(100):
        sums = gate.sums(1 + record % 2)
        sums.add(observed(gate, 0.5, record), HERE)
        gate.release(LAPLACE, sums)
        sums.clear(np.ones(sums.shape, dtype=bool))
        del sums
    assert not gate.did_act


def test_the_last_value_stays_where_it_was():
    gate, _ = planted("boundary-off-by-one")
    sums, both = gate.sums(2), np.ones((1, 2), dtype=bool)
    for record, place in enumerate((1, 0)):
        sums.add(observed(gate, 0.5, record), HERE + place)
    gate.release(LAPLACE, sums)
    sums.clear(both)
    for where, acts in (([[False, True]], False), ([[True, False]], True)):
        gate.release(LAPLACE, sums, np.array(where))
        assert gate.did_act is acts


def test_an_implausible_message_is_asked_for_again():
    class Far(NumpyNoise):
        def laplace(self, location, scale):
            return location + 100.0

    fault = LEARNER_FAULTS["released-again-if-implausible"]
    for noise, times in ((np.random.default_rng(1), 1), (Far(np.random.default_rng(1)), 2)):
        real = Accountant(Budget(100.0), noise=noise)
        gate = PlantedGate(real, fault)
        gate.release(LAPLACE, observed(gate, 0.5, 1))
        assert len(real.ledger.entries) == times


def test_every_fault_says_why():
    for name, fault in LEARNER_FAULTS.items():
        assert name == fault.name
        assert fault.words
        assert fault.why
        assert fault.rounds > fault.start


def test_a_fault_is_the_same_in_another_process():
    """Tables of many learners' mutants are put together from several processes."""
    for fault in LEARNER_FAULTS.values():
        assert pickle.loads(pickle.dumps(fault)) == fault
    assert len(set(LEARNER_FAULTS.values())) == len(LEARNER_FAULTS)
