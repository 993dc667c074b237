"""Laws of action sequences: enumeration against brute force, samples against enumeration, and closed forms."""

import math
from itertools import product

import numpy as np
import pytest

from mechanisms import ParameterError
from verify.events.view_sample import Column
from verify.likelihood.policy_law import PolicyLaw
from verify.likelihood.policy_laws import exponential_weights_law, thompson_law
from verify.statistics.privacy_loss import loss_lower_bound

ZEROS = np.zeros((4, 2))
FLIPPED = ZEROS.copy()
FLIPPED[1, 1] = 1.0
COLUMNS = tuple(Column(f"a{t}", f"action {t}", "category") for t in range(1, 5))

BUILDERS = {
    "exp3": lambda rewards: exponential_weights_law(rewards, rate=0.5, exploration=0.1),
    "hedge": lambda rewards: exponential_weights_law(rewards, rate=0.5, full_information=True),
    "thompson": thompson_law,
}


@pytest.mark.parametrize("name", BUILDERS)
def test_enumeration_is_the_product_of_the_steps(name):
    law = BUILDERS[name](FLIPPED)
    sequences = np.array(list(product(range(2), repeat=4)), dtype=float)
    likelihood = np.exp(law.log_likelihood(sequences))
    assert likelihood.sum() == pytest.approx(1.0, abs=1e-12)
    listed = law.enumerated
    assert listed.probabilities == pytest.approx(likelihood[listed.positions(sequences).argsort()], abs=1e-12)
    pair, other = law.compared(BUILDERS[name](ZEROS)), np.exp(BUILDERS[name](ZEROS).log_likelihood(sequences))
    assert pair.epsilon().lower == pytest.approx(np.log(likelihood / other).max(), abs=1e-9)
    assert pair.delta(0.1).lower == pytest.approx(
        np.maximum(likelihood - math.exp(0.1) * other, 0).sum(), abs=1e-9
    )


def test_hedge_has_the_epsilon_of_its_exponential_mechanisms():
    """A flipped reward moves one log weight by η in every later round: below η each, nearly η if it is far behind."""
    behind, flipped = np.zeros((3, 2)), np.zeros((3, 2))
    behind[0, 0] = flipped[0, 0] = 40.0
    flipped[1, 1] = 1.0
    pair = (exponential_weights_law(r, rate=0.5, full_information=True) for r in (flipped, behind))
    law, other = pair
    assert law.compared(other).epsilon().lower == pytest.approx(0.5, abs=1e-6)


def test_exp3_follows_its_pseudocode():
    """K = 2, after a reward of 1 for action 0 taken with probability 1/2 its score is 2."""
    rewards = np.zeros((2, 2))
    rewards[0, 0] = 1.0
    law = exponential_weights_law(rewards, rate=0.3, exploration=0.2)
    first = law.step(np.zeros((1, 0), dtype=np.int64))
    assert first.tolist() == [[0.5, 0.5]]
    after = law.step(np.array([[0], [1]]))
    assert after[0, 0] == pytest.approx(0.8 * math.exp(0.6) / (math.exp(0.6) + 1) + 0.1)
    assert after[1].tolist() == [0.5, 0.5]


def test_thompson_probabilities_are_beta_integrals():
    """P(Beta(2, 1) > Beta(1, 1)) = 2/3, and with two failures P(Beta(1, 3) > Beta(1, 1)) = 1/4."""
    rewards = np.zeros((3, 2))
    rewards[0, 0] = 1.0
    law = thompson_law(rewards)
    assert law.step(np.array([[0], [1]])) == pytest.approx(
        np.array([[2 / 3, 1 / 3], [2 / 3, 1 / 3]]), abs=1e-12
    )
    law = thompson_law(np.zeros((3, 2)))
    assert law.step(np.array([[0, 0]]))[0, 0] == pytest.approx(1 / 4, abs=1e-12)


@pytest.mark.parametrize("name", ["exp3", "hedge"])
def test_long_sequences_bound_from_below_what_enumeration_gives(name, monkeypatch):
    law, other = BUILDERS[name](FLIPPED), BUILDERS[name](ZEROS)
    exact = law.compared(other)
    epsilon, delta = exact.epsilon(0.02), exact.delta(0.1)
    pure = exact.epsilon()
    monkeypatch.setattr("verify.likelihood.policy_law.MOST_SEQUENCES", 1)
    sampled = law.compared(other)
    assert pure.upper >= sampled.epsilon().lower >= 0.8 * pure.lower
    assert sampled.epsilon(0.02).lower >= 0.5 * epsilon.lower  # from above: the next test
    assert delta.upper >= sampled.delta(0.1).lower >= 0.8 * delta.lower
    assert sampled.epsilon().upper == math.inf
    assert sampled.event(0.1, COLUMNS) is None


def test_sampled_bounds_hold_as_often_as_stated():
    """At 95 % more than 25 of 200 bounds fail with probability below 1e-4; the largest loss has most mass here."""
    pair = BUILDERS["hedge"](FLIPPED).compared(BUILDERS["hedge"](ZEROS))
    exact = pair.epsilon(0.02).upper
    losses = (pair.loss(pair.law.sample(np.random.default_rng(seed), 1024)) for seed in range(200))
    bounds = [loss_lower_bound(loss[None, :], 0.02, 0.05).epsilon for loss in losses]
    assert sum(bound > exact for bound in bounds) <= 25
    assert np.mean(bounds) >= 0.9 * exact


def test_a_heavy_tail_of_losses_still_gives_a_bound():
    """The largest losses lie where too few draws are left to tell their share from δ."""
    bounds = [
        loss_lower_bound(np.random.default_rng(seed).exponential(8.0, size=(1, 4096)), 0.01, 0.05).epsilon
        for seed in range(20)
    ]
    assert np.median(bounds) >= 25.0
    assert sum(bound == 0.0 for bound in bounds) <= 3


@pytest.mark.parametrize("name", BUILDERS)
def test_samples_agree_with_their_law_and_contradict_others(name, monkeypatch):
    law, other = BUILDERS[name](FLIPPED), BUILDERS[name](ZEROS)
    views = law.sample(np.random.default_rng(3), 20_000)
    assert law.contradiction(views, 1e-6) is None
    assert other.contradiction(views, 1e-6) is not None
    monkeypatch.setattr("verify.likelihood.policy_law.MOST_SEQUENCES", 1)  # the rounds one by one
    assert law.contradiction(views, 1e-6) is None
    assert "by the law" in other.contradiction(views, 1e-6)


def test_impossible_sequences_contradict():
    def first_twice(past):
        return np.tile([1.0, 0.0], (len(past), 1))

    law = PolicyLaw(first_twice, 2, 2)
    assert law.contradiction(np.zeros((5, 2)), 1e-6) is None
    assert "impossible" in law.contradiction(np.array([[0.0, 1.0]]), 1e-6)
    assert "impossible" in law.contradiction(np.array([[0.0, 2.0]]), 1e-6)
    assert "3 actions, 2 by the law" in law.contradiction(np.zeros((5, 3)), 1e-6)
    other = PolicyLaw(lambda past: np.full((len(past), 2), 0.5), 2, 2)
    assert law.compared(other).epsilon().lower == pytest.approx(math.log(4))
    assert other.compared(law).epsilon().lower == math.inf


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda past: np.full((len(past), 3), 1 / 3), "returned shape"),
        (lambda past: np.full((len(past), 2), 0.4), "sum to 1"),
        (lambda past: np.tile([1.5, -0.5], (len(past), 1)), "sum to 1"),
    ],
)
def test_what_is_no_policy_is_refused(returned, words):
    with pytest.raises(ParameterError, match=words):
        PolicyLaw(returned, 2, 2).enumerated  # noqa: B018
    with pytest.raises(ParameterError, match="rewards"):
        thompson_law(np.full((3, 2), 0.5))
