"""Stated laws against draws: what is exact, what contradicts, and what alone refutes."""

import math

import numpy as np
import pytest

from mechanisms import Laplace
from verify.events.view_sample import Column, ViewSample
from verify.likelihood.audit import audit_likelihood
from verify.likelihood.density_law import law_of
from verify.likelihood.finite_law import FiniteLaw
from verify.likelihood.policy_law import PolicyLaw
from verify.likelihood.policy_laws import exponential_weights_law
from verify.sampling.draws import Candidate

REAL = (Column("output", "the output", "real"),)


def candidate(draw, columns=REAL):
    """A pair of worlds from ``draw(other, rng, n)``."""

    def sample(other, n, seed):
        values = np.asarray(draw(other, np.random.default_rng(seed), n), dtype=float)
        return ViewSample(values.reshape(n, len(columns)), columns)

    return Candidate("0 / 1", sample)


def audit(laws, draw, columns=REAL, *, epsilon, delta=0.0, samples=100_000, seed=1, false_alarm=1e-4):
    return audit_likelihood(
        [laws],
        [candidate(draw, columns)],
        claim_epsilon=epsilon,
        claim_delta=delta,
        samples=samples,
        confidence=0.95,
        false_alarm=false_alarm,
        seed=seed,
    )


def response(p):
    return FiniteLaw.of({0: p, 1: 1 - p}), FiniteLaw.of({0: 1 - p, 1: p})


def respond(p):
    return lambda other, rng, n: (rng.random(n) < (p if other else 1 - p)).astype(float)


def test_a_true_law_above_the_claim_is_refuted_by_its_own_event():
    found = audit(response(0.9), respond(0.9), epsilon=2.0)
    assert found.contradiction is None
    assert found.epsilon.lower == pytest.approx(math.log(9), abs=1e-12)
    assert found.refuted
    assert 2.1 < found.epsilon_lower < math.log(9)
    assert found.event is not None
    assert [finding.kind for finding in found.findings] == ["stated-law"]
    assert "draws show it" in found.findings[0].message
    assert found.lower_bound().decisive
    first = "data" if not found.swapped else "data_prime"
    assert found.witness("zero", "one", "again").neighbours[first] == "zero"


def test_a_true_law_within_the_claim_gives_a_bound_and_no_finding():
    found = audit(response(0.9), respond(0.9), epsilon=2.2)
    assert not found.refuted
    assert found.findings == []
    assert found.lower_bound().epsilon > 2.1


def test_a_law_that_exaggerates_refutes_nothing():
    """It says ε = ln 9; the function has ln 3. The draws contradict it, and nothing is concluded."""
    found = audit(response(0.9), respond(0.75), epsilon=1.5)
    assert [finding.kind for finding in found.findings] == ["law"]
    assert "contradict the stated law" in found.findings[0].message
    assert found.lower_bound() is None
    assert not found.refuted


def test_a_law_that_lies_where_nobody_looked_refutes_nothing_either():
    """A rare outcome of the law that never occurs: the law breaks the claim, the draws do not show it."""
    rare = FiniteLaw.of({0: 0.5, 1: 0.5 - 1e-7, 2: 1e-7}), FiniteLaw.of({0: 0.5, 1: 0.5})
    found = audit(rare, lambda other, rng, n: rng.integers(0, 2, n), epsilon=1.0)
    assert found.contradiction is None
    assert found.epsilon.lower == math.inf
    assert not found.refuted
    assert "too few to show it" in found.findings[0].message


def test_a_correct_function_at_its_boundary_is_refuted_as_rarely_as_stated():
    """At false alarm 0.05 more than 13 of 100 refutations have probability below 1e-3; none is due to a law."""
    p = math.e / (1 + math.e)
    found = [
        audit(response(p), respond(p), epsilon=1.0, samples=4_000, seed=seed, false_alarm=0.05)
        for seed in range(100)
    ]
    assert sum(one.refuted for one in found) <= 13
    assert all(one.contradiction is None for one in found)


def test_a_noisy_sum_with_half_the_noise():
    laws = law_of(Laplace(scale=0.5), 0.0), law_of(Laplace(scale=0.5), 1.0)
    found = audit(laws, lambda other, rng, n: other + rng.laplace(scale=0.5, size=n), epsilon=1.0)
    assert found.refuted
    assert found.epsilon.lower == pytest.approx(2.0, abs=1e-6)
    assert found.epsilon_lower > 1.9
    assert found.delta.lower == pytest.approx(1 - math.exp(-0.5), abs=1e-6)
    wrong = audit(laws, lambda other, rng, n: other + rng.laplace(scale=1.0, size=n), epsilon=1.0)
    assert wrong.contradiction is not None
    assert not wrong.refuted


def test_a_policy_too_long_to_enumerate_is_refuted_by_its_exact_score():
    flipped, zeros = np.zeros((17, 2)), np.zeros((17, 2))
    flipped[1, 1] = 1.0
    laws = tuple(exponential_weights_law(r, rate=0.2, exploration=0.2) for r in (zeros, flipped))
    columns = tuple(Column(f"a{t}", f"action {t}", "category") for t in range(1, 18))

    def draw(other, rng, n):
        return laws[int(other)].sample(rng, n)

    found = audit(laws, draw, columns, epsilon=0.3, samples=8_000)
    assert not laws[0].enumerable
    assert found.contradiction is None
    assert found.refuted
    assert found.event is None
    assert "log-likelihood ratio" in found.event_words


def test_a_delta_is_allowed_for():
    laws = FiniteLaw.of({0: 0.99, 1: 0.01}), FiniteLaw.of({0: 1})

    def draw(other, rng, n):
        return np.zeros(n) if other else rng.random(n) < 0.01

    assert audit(laws, draw, epsilon=1.0, delta=1e-3).refuted
    reversed_ = audit(laws[::-1], lambda other, rng, n: draw(not other, rng, n), epsilon=1.0, delta=1e-3)
    assert (reversed_.swapped, reversed_.refuted) == (True, True)
    allowed = audit(laws, draw, epsilon=1.0, delta=0.02)
    assert allowed.epsilon.upper < 0.1
    assert not allowed.refuted
    assert allowed.findings == []


def test_pairs_and_candidates_must_match():
    with pytest.raises(ValueError, match="one pair of laws for each"):
        audit_likelihood(
            [], [], claim_epsilon=1, claim_delta=0, samples=1, confidence=0.95, false_alarm=1e-4, seed=0
        )
    broken = PolicyLaw(lambda past: np.ones((len(past), 2)), 1, 2)
    with pytest.raises(ValueError, match="next_action"):
        audit((broken, broken), respond(0.5), epsilon=1.0)
