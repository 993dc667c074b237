"""The registry: complete, consistent, and every specimen something that can be verified and run anywhere."""

import math
import pickle
import re

import numpy as np
import pytest
from oracles import oracles

from verify.neighbouring.adjacency import Pair
from verify.zoo import specimens
from verify.zoo.specimen import specimen as a_specimen

FUNCTIONS = [specimen for specimen in specimens.values() if hasattr(specimen.subject, "dpwitness_claim")]
EVERY = pytest.mark.parametrize(
    "specimen", [specimens[name] for name in oracles if name in specimens], ids=lambda specimen: specimen.name
)

CLASSICS = {
    "laplace", "laplace-parallel", "truncated-geometric", "noisy-hist-1", "noisy-hist-2", "noisy-max-1", "noisy-max-2",
    "noisy-max-3", "noisy-max-4", "svt1", "svt2", "svt3", "svt4", "svt5", "svt6", "numerical-svt", "gap-svt",
    "gap-svt-value", "rappor", "one-time-rappor", "prefix-sum", "prefix-sum-all", "partial-sum", "partial-sum-bad",
    "smart-sum", "smart-sum-bad", "grr", "sue", "oue", "olh", "subset-selection", "snapping", "float-laplace",
    "gaussian", "gaussian-classic-large", "exponential", "staircase", "geometric", "curator",
}  # fmt: skip


def adjacency(specimen):
    return specimen.subject.dpwitness_claim.neighbours


def test_the_classics_are_here_under_unique_names():
    assert set(specimens) >= CLASSICS
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in specimens)
    assert all(name == specimen.name for name, specimen in specimens.items())


def test_every_function_has_its_oracle():
    assert oracles.keys() == {specimen.name for specimen in FUNCTIONS}


def test_a_name_is_taken_once():
    known = {"epsilon": 1.0, "true_epsilon": 1.0, "source": "ours", "why": "a second one"}
    with pytest.raises(ValueError, match="name = 'laplace': is another specimen's"):
        a_specimen("laplace", **known)(lambda data, rng: data)


@pytest.mark.parametrize("specimen", specimens.values(), ids=lambda specimen: specimen.name)
def test_a_specimen_says_what_it_is(specimen):
    assert specimen.source
    assert specimen.why
    assert len(specimen.subject.__doc__ or type(specimen.subject).__doc__) > 30
    assert specimen.epsilon > 0
    assert 0 <= specimen.delta < 1
    assert not (specimen.hidden and specimen.correct)
    assert specimen.correct or not specimen.floating_point
    copy = pickle.loads(pickle.dumps(specimen.subject))
    assert copy is specimen.subject or copy == specimen.subject or type(copy) is type(specimen.subject)


@pytest.mark.few(3)
@EVERY
def test_the_oracles_pair_is_a_pair_of_neighbours(specimen):
    oracle = oracles[specimen.name]
    adjacency(specimen).check(Pair(oracle.data, oracle.other))


@EVERY
def test_draws_have_one_shape_and_repeat_for_a_seed(specimen):
    varies = False
    oracle = oracles[specimen.name]
    for data in (oracle.data, oracle.other):
        given = data.item() if data.ndim == 0 else data.copy()
        first = specimen.subject(given, np.random.default_rng(7), 64)
        again = specimen.subject(given, np.random.default_rng(7), 64)
        other_seed = specimen.subject(given, np.random.default_rng(8), 64)
        single = specimen.subject(given, np.random.default_rng(7), 1)
        assert first.shape[0] == 64
        assert single.shape == (1, *first.shape[1:])
        assert np.array_equal(first, again, equal_nan=first.dtype.kind == "f")
        varies |= not np.array_equal(first, other_seed, equal_nan=first.dtype.kind == "f")
        if data.ndim:
            assert np.array_equal(given, data)  # the data are left as they are
    assert varies  # some specimens are constant on one of the two, which is what gives them away


@pytest.mark.slow_cells("gap-svt")
@EVERY
def test_the_oracle_never_sees_more_than_the_truth(specimen):
    oracle = oracles[specimen.name]
    p, q = oracle.masses()
    assert p.shape == q.shape
    assert p.min() >= 0
    assert q.min() >= 0
    # Quadrature of the value laws is good to 2e-6 in total.
    assert p.max() <= 1 + 2e-6
    assert q.max() <= 1 + 2e-6
    assert oracle.epsilon(specimen.delta) <= specimen.true_epsilon * (1 + 1e-6)
    limits = [oracle.limit(n, delta=specimen.delta) for n in (100_000, 2_000_000, 100_000_000)]
    assert limits == sorted(limits)
    assert limits[-1] <= specimen.true_epsilon


@pytest.mark.slow_cells("gap-svt")
@EVERY
def test_a_refutable_claim_can_be_refuted(specimen):
    """Two million draws a side suffice, at a false alarm of 1e-4, if the right event is found."""
    strict = oracles[specimen.name].limit(2_000_000, delta=specimen.delta, confidence=1 - 1e-4)
    assert (strict > specimen.epsilon) == specimen.refutable
    assert specimen.refutable or strict < math.inf


def test_claims_and_first_draws_are_as_recorded(snapshot):
    """A mistake in a constant of a specimen would make another one of it, right or wrong as before.

    A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code.
    """
    lines = []
    for name, each in specimens.items():
        lines.append(
            f"{name} {each.epsilon:.6g} {each.delta:.6g} {each.true_epsilon:.6g} {each.floating_point}"
        )
        if name in oracles:
            drawn = each.subject(oracles[name].data.copy(), np.random.default_rng(7), 40)[[0, 1, 2, -1]]
            lines += [" ".join(f"{number:.6g}" for number in row) for row in drawn.reshape(4, -1).tolist()]
    assert "\n".join(lines) == snapshot
