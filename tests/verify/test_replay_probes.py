"""Probes on which a published record-and-replay tool is silent or wrong, asked of ours.

Cebere et al. (PETS 2026) freeze the outputs recorded on D and replay on D'. Measured on their tool: a replay
with fewer calls passes (a), a NumPy generator in the control flow of a correct algorithm is called a leak (b),
wrong noise scales (c) and outputs computed from raw data (d) are not seen, one call costs 384 µs (f), and lower
bounds of untrusted parts enter a "guarantee" (g).
"""

import math

import numpy as np
import pytest

from accountant import BasicComposition, Budget, Trust
from algorithms.play import play_records
from algorithms.problems import build_problem
from mechanisms import Box, Gaussian, Interval, Laplace
from verify import Pair, ReplaceOne, claimed, verify
from verify.findings.finding import Statement
from verify.functions.gate_replay import _replay_function
from verify.learners.accounting_run import AccountedRun, EnforcedTerms, run_accounting
from verify.learners.replay_run import OtherData, Replays

UNIT = Laplace(scale=1.0)
FEW = {"effort": "quick", "samples": 20_000}
PAIRS = [Pair(np.array(0.0), np.array(1.0))]


def replayed(code, *, replays=20, seed=0):
    def run(data, gate):
        return np.asarray(code(data.item(), gate), dtype=float).reshape(-1).tolist()

    return _replay_function(run, PAIRS, replays=replays, seed=seed)


def kinds(code, **options):
    return {finding.kind for finding in replayed(code, **options).findings}


# --- (a) fewer or more calls, and stopping that depends on data ----------------------------------


def stops_on_raw_data(data, gate):
    total = 0.0
    for number in range(6):
        total = gate.release(UNIT, data)
        if number + 3 * data > 4:
            break
    return total


def stops_on_released_values(data, gate):
    for _ in range(6):
        if gate.release(UNIT, data) > 1:
            return 1.0
    return 0.0


def releases_only_if(data, gate):
    return gate.release(UNIT, data) if data < 0.5 else 0.0


def stops_late_on_a_rare_answer(data, gate):
    noisy = gate.release(UNIT, data)
    if noisy > 2.5 and data > 0.5:  # only ever taken on values that D' is likelier to release
        gate.release(UNIT, data)
    return noisy


def test_calls_that_depend_on_data_are_seen_in_both_directions():
    assert kinds(stops_on_raw_data) == {"fewer-calls", "more-calls"}
    assert kinds(releases_only_if) >= {"fewer-calls", "more-calls"}
    assert "fewer-calls" in kinds(stops_late_on_a_rare_answer, replays=100)


def exits_on_data(data, gate):
    if data > 0.5:
        raise SystemExit(3)
    return gate.release(UNIT, data)


def interrupts_on_data(data, gate):
    if data > 0.5:
        raise KeyboardInterrupt
    return gate.release(UNIT, data)


def raises_on_data(data, gate):
    if data > 0.5:
        raise ValueError
    return gate.release(UNIT, data)


def raises_on_coins(data, gate):
    if gate.random.random() < 0.5:
        raise ValueError
    return gate.release(UNIT, data)


@pytest.mark.slow_cells("interrupts_on_data", "raises_on_data")
@pytest.mark.parametrize("function", [exits_on_data, interrupts_on_data, raises_on_data])
def test_an_error_or_exit_on_some_data_is_an_output_that_differs(function):
    data = ReplaceOne(Interval(0, 1), 1)
    result = verify(claimed(data=data)(lambda data, gate: function(data[0], gate)), epsilon=1.0, **FEW)
    assert result.verdict == "refuted"
    assert "fewer-calls" in {finding.kind for finding in result.findings}


@pytest.mark.slow
def test_an_error_that_does_not_depend_on_data_is_right():
    data = ReplaceOne(Interval(0, 1), 1)
    result = verify(claimed(data=data)(lambda data, gate: raises_on_coins(data[0], gate)), epsilon=1.0, **FEW)
    assert result.verdict == "unproven"
    assert {finding.kind for finding in result.findings} == {"raises"}


def test_calls_that_depend_on_released_values_are_right():
    assert kinds(stops_on_released_values) == set()


# --- (b) generators ------------------------------------------------------------------------------


def test_a_generator_from_the_gate_steers_a_correct_algorithm():
    def correct(data, gate):
        rounds = 1 + int(gate.random.integers(5))
        order = gate.random.permutation(3)
        return sum(gate.release(UNIT, data) for _ in range(rounds)) + order[0]

    def own_but_seeded(data, gate):
        return gate.release(UNIT, data) if np.random.default_rng(1).random() < 0.9 else 0.0

    assert kinds(correct) == kinds(own_but_seeded) == set()


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.01, 0.03, 0.1, 0.5, 0.9, 0.99])
def test_a_generator_of_its_own_is_named_and_never_called_a_leak(rate):
    """Without confirmation, a coin of rate 1/2 is called a leak in a quarter of the runs and more."""
    blamed = set()
    for seed in range(60):
        own = np.random.default_rng([seed, round(1000 * rate)])  # goes on from run to run

        def steered(data, gate, own=own):
            if own.random() < rate:
                return gate.release(UNIT, data)
            return gate.release(UNIT, data) + gate.release(UNIT, data)

        blamed |= kinds(steered, seed=seed)
    assert blamed == {"foreign-randomness"}


def playing(problem, data):
    return lambda learner, gate: play_records(learner, problem, gate, data)


def test_a_learner_with_a_generator_of_its_own_is_not_called_a_leak():
    problem = build_problem("top-k", {"arms": 3, "size": 1})
    blamed = set()
    for seed in range(20):
        own = np.random.default_rng(seed)

        class Steered:
            feedback_domain = Box(0, 1, 1)

            def __init__(self, gate, own=own):
                self.gate, self.odd = gate, own.random() < 0.1  # once per run

            def act(self):
                return np.full((self.gate.lanes, 1), int(self.odd))

            def observe(self, feedback):
                self.gate.release(UNIT, feedback)

        data = problem.draw_records(np.random.default_rng(seed), 6)
        plays = [playing(problem, each) for each in (data, 1.0 - data)]
        accounting = run_accounting(
            Steered,
            [AccountedRun(plays[0], taped=True)],
            EnforcedTerms(Budget.unlimited(), Trust.CENTRAL, BasicComposition()),
            [],
            budget=Budget.unlimited(),
            rounds=5,
            seed=np.random.SeedSequence(seed),
        )
        replays = Replays(Steered, np.array_equal, Statement.ROUND_DIFFERS)
        found = replays.findings(accounting.taped[0], plays[0], [OtherData("", play) for play in plays])
        blamed |= {finding.kind for finding in found}
    assert blamed == {"unrepeatable"}


# --- (c) wrong scales ----------------------------------------------------------------------------


def test_a_scale_that_depends_on_data_is_seen():
    def scaled(data, gate):
        return gate.release(Laplace(scale=1.0 + data), data)

    assert kinds(scaled) == {"mechanism"}


@pytest.mark.parametrize(("scale", "seen"), [(0.5, True), (0.99, True), (1.0, False), (2.0, False)])
def test_a_scale_too_small_for_the_claim_is_seen_from_the_releases(scale, seen):
    result = replayed(lambda data, gate: gate.release(Laplace(scale=scale), data))
    assert result.findings == []
    finding = result.releases_finding(1.0, 0.0)
    assert (finding is not None) == seen
    assert result.loss_bound(0.0).epsilon == pytest.approx(1 / scale, rel=1e-6)


def test_a_composition_without_a_split_budget_is_seen():
    result = replayed(lambda data, gate: [gate.release(UNIT, data) for _ in range(3)], replays=100)
    assert result.releases_finding(1.0, 0.0) is not None
    assert result.releases_finding(3.0, 0.0) is None


def test_a_variance_where_a_standard_deviation_belongs_is_seen_at_the_claimed_delta():
    sigma = Gaussian.for_epsilon_delta(0.5, 1e-5, sensitivity=UNIT.sensitivity).sigma

    def gaussian(of):
        return replayed(
            lambda data, gate: gate.release(Gaussian(sigma=of, sensitivity=UNIT.sensitivity), data),
            replays=200,
        )

    assert gaussian(math.sqrt(sigma)).releases_finding(0.5, 1e-5) is not None
    assert gaussian(sigma).releases_finding(0.5, 1e-5) is None


def test_calls_that_do_not_match_lose_nothing():
    result = replayed(stops_on_raw_data)
    assert result.loss_bound(0.0).epsilon == 0.0


# --- (d) what is returned is computed from raw data ----------------------------------------------


def test_an_output_from_raw_data_is_seen():
    assert kinds(lambda data, gate: [gate.release(UNIT, data), data > 0.5]) == {"raw-output"}
    assert kinds(lambda data, gate: 0.5 * gate.release(UNIT, data) + 1e-12 * data) == {"raw-output"}


def test_an_output_of_another_length_is_seen():
    assert kinds(lambda data, gate: [gate.release(UNIT, data)] * (1 + int(data))) == {"raw-output"}


# --- (f) no guarantee from what was only looked at -----------------------------------------------


def test_a_clean_replay_is_no_upper_bound():
    @claimed(data=Interval(0, 1))
    def correct(data, gate):
        return gate.release(Laplace(scale=2.0), data)

    result = verify(correct, epsilon=1.0, effort="quick", samples=20_000)
    assert not any(finding.failing for finding in result.findings)
    assert result.verdict == "unproven"
    assert result.upper.epsilon == math.inf
