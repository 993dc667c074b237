"""No mutant whose true loss exceeds the claim is certified, and harmless ones are as certified as their learner."""

import inspect

import pytest

from algorithms.learner import DEFAULT_DELTA
from faults.function_faults import FUNCTION_FAULTS, GATE_FUNCTION_FAULTS
from faults.learner_faults import LEARNER_FAULTS
from faults.verified_mutants import verified_mutants
from mechanisms import Interval, Laplace
from verify import claimed
from verify.verification.resolve import every_learner

pytestmark = pytest.mark.usefixtures("faults_as_library")

CERTIFIED = [name for name, entry in every_learner.items() if entry.certified_form == name]

# One learner of each way to release: messages, categories, sums of batches; in short runs, so that a tenth of the slow
# test's mutants costs seconds. Every fault is planted in one of them, but for the one that acts from round 1,001 on.
MESSAGES = """
    more-noise raw-value raw-value-from-40 raw-value-after-rare-value transformation-with-memory
"""
LINEAR = """
    none doubled-noise no-noise half-noise half-noise-asked-for released-twice half-sensitivity
    released-again-if-implausible released-again-by-hand raw-value-on-one-lane parameter-from-data shared-noise
    cached-noise another-name function-with-memory
"""
SHORT = {"horizon": 45, "samples": 4_000}
PLANTED = {
    "dp-pe-local": ({"delta": 1e-3, "horizon": 30}, LINEAR.split()),
    "cucb-ldp-bit": (SHORT, MESSAGES.split()),
    "cascade-ucb-rr": (SHORT, ["none", "shared-noise-from-40"]),
    "cucb-batch": (SHORT, ["never-cleared", "boundary-off-by-one", "narrow-domain"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("learner", PLANTED)
def test_a_tenth_of_the_mutants(learner):
    options, names = PLANTED[learner]
    honest, mutants = verified_mutants(learner, names, epsilon=1.0, effort="quick", **options)
    assert honest.verdict == "certified"
    assert [each.fault.name for each in mutants] == names
    for each in mutants:
        assert (each.result.verdict == "certified") is each.fault.harmless, each.fault.name


def test_every_fault_is_planted():
    planted = {name for _, names in PLANTED.values() for name in names}
    assert planted == set(LEARNER_FAULTS) - {"raw-value-from-1001"}


@pytest.mark.slow
@pytest.mark.parametrize("learner", CERTIFIED)
def test_no_mutant_that_exceeds_the_claim_is_certified(learner):
    takes_delta = "delta" in inspect.signature(every_learner[learner].make).parameters
    delta = {"delta": DEFAULT_DELTA} if takes_delta else {}
    honest, mutants = verified_mutants(learner, epsilon=1.0, effort="quick", **delta)
    assert honest.verdict == "certified"
    assert len(mutants) >= 13  # of 22 learners: more than 250 mutants
    assert not [each.fault.name for each in mutants if each.falsely_certified]
    harmless = [each.result.verdict for each in mutants if each.fault.harmless]
    assert harmless == ["certified"] * 3


def test_there_are_enough_learners_for_two_hundred_and_fifty_mutants():
    assert 13 * len(CERTIFIED) >= 250


@claimed(data=Interval(0, 1))
def noisy(data, rng, lanes):
    return data + rng.laplace(scale=1.0, size=lanes)


@claimed(data=Interval(0, 1))
def with_gate(data, gate):
    return gate.release(Laplace(scale=1.0), data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "faults", "seen"),
    [
        (noisy, FUNCTION_FAULTS, {"fixed-seed", "noise-from-pool", "released-twice"}),
        (with_gate, GATE_FUNCTION_FAULTS, set(GATE_FUNCTION_FAULTS) - {"none"}),
    ],
)
def test_functions(function, faults, seen):
    _, mutants = verified_mutants(function, epsilon=1.0, effort="quick", samples=4_000)
    assert [each.fault.name for each in mutants] == list(faults)
    results = {each.fault.name: each.result for each in mutants}
    assert not any(result.verdict == "certified" for result in results.values())
    failing = {name for name, result in results.items() if any(each.failing for each in result.findings)}
    refuted = {name for name, result in results.items() if result.verdict == "refuted"}
    assert "none" not in failing | refuted
    assert failing | refuted >= seen
