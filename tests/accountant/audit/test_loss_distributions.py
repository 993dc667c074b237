"""Discretised privacy-loss distributions of dp-accounting: upper bounds, as close as their grid, or refused."""

import json
import math

import numpy as np
import pytest
from damaged import damaged, refusal
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings

from accountant import compose
from accountant.audit import (
    AuditQuestion,
    ReleaseFileError,
    audit,
    from_loss_distribution,
    loss_distribution_as_dict,
    read_releases,
    to_loss_distribution,
)
from mechanisms import (
    ApproximateProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    LaplaceProfile,
    Neighbouring,
    ParameterError,
    PerfectPrivacy,
    RandomizedResponse,
    RelatedProfile,
    ZeroConcentratedProfile,
    sampled,
)

A = Neighbouring.ADD_OR_REMOVE
COARSE = {"value_discretization_interval": 1e-2}
SMALL = {
    "rounded_probability_mass_function": {"-3": 0.2, "0": 0.3, "4": 0.5},
    "infinity_mass": 0.0,
    "value_discretization_interval": 0.25,
    "pessimistic_estimate": True,
}


def profile(saved, relation="add or remove one"):
    releases = from_loss_distribution(saved, relation)
    ((found, count),) = releases.profile_counts(releases.groups[0])
    assert count == 1
    return found


def test_a_sampled_gaussian_is_bounded_in_both_directions():
    """Above the exact curve at every epsilon, and dp-accounting's own reading of the same grid."""
    own = pld.from_gaussian_mechanism(1.0, sampling_prob=0.1, **COARSE)
    exact = sampled(RelatedProfile(GaussianProfile(1.0), A), 0.1, A)
    found = profile(json.loads(json.dumps(loss_distribution_as_dict(own))))
    assert found.neighbouring is A
    assert not found.attained()
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
        assert exact.delta(epsilon) <= found.delta(epsilon) <= exact.delta(epsilon) * (1 + 1e-3) + 1e-6
        assert found.delta(epsilon) == pytest.approx(own.get_delta_for_epsilon(epsilon), rel=1e-6)
    for count in (1, 20):
        upper = compose([(found, count)]).epsilon(1e-5).upper
        true = compose([(exact, count)]).epsilon(1e-5)
        theirs = own.self_compose(count).get_epsilon_for_delta(1e-5)
        assert true.lower <= upper
        assert upper == pytest.approx(theirs, abs=1e-5 * count)


def test_a_distribution_with_few_losses_is_read_exactly():
    """Randomized response, each of whose losses is a multiple of the interval."""
    response = RandomizedResponse(size=3, epsilon=0.5)
    p, q = response.truth_probability, response.lie_probability
    saved = {**SMALL, "rounded_probability_mass_function": {2: p, -2: q, 0: q}}
    found = profile(saved, "replace one")
    for epsilon in (0.0, 0.3, 0.5):
        assert found.delta(epsilon) == pytest.approx(response.profile().delta(epsilon), abs=1e-15)


def test_what_is_missing_is_infinite_and_what_is_too_much_is_of_the_smallest_losses():
    less = {**SMALL, "rounded_probability_mass_function": {"-3": 0.2, "0": 0.2999, "4": 0.5}}
    assert profile(less).infinite_mass == pytest.approx(1e-4)
    more = {**SMALL, "rounded_probability_mass_function": {"-8": 0.0004, "-3": 0.2, "0": 0.3, "4": 0.5}}
    assert profile(more) == profile(SMALL)
    more["rounded_probability_mass_function"]["-3"] = 0.1998
    assert profile(more).delta(-10.0) <= 1.0
    assert profile(more).delta(0.1) == profile(SMALL).delta(0.1)
    tiny = {**SMALL, "rounded_probability_mass_function": {"-4": -1e-17, "-3": 0.2, "0": 0.3, "4": 0.5}}
    assert profile(tiny) == profile(SMALL)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pessimistic_estimate": False}, "pessimistic_estimate = False: must be true"),
        ({"pessimistic_estimate": "yes"}, "pessimistic_estimate = 'yes'"),
        ({"value_discretization_interval": 0}, "value_discretization_interval = 0"),
        ({"infinity_mass": 0.2}, "add up to 1.2"),
        ({"infinity_mass": -0.2}, "infinity_mass = -0.2"),
        ({"rounded_probability_mass_function": {}}, "at least one multiple"),
        ({"rounded_probability_mass_function": {"1.5": 1.0}}, "'1.5': must be a whole multiple"),
        ({"rounded_probability_mass_function": {1.5: 1.0}}, "'1.5': must be a whole multiple"),
        ({"rounded_probability_mass_function": {"9" * 400: 1.0}}, "must be a whole multiple"),
        ({"rounded_probability_mass_function": {"1": 1.2, "0": -0.2}}, "must not be negative"),
        ({"rounded_probability_mass_function": {"1": 0.5, "01": 0.5}}, "one multiple twice"),
        ({"rounded_probability_mass_function": {"-4": 1.0}}, "no pair of distributions has it"),
        ({"symmetric": False}, "needs the key 'rounded_probability_mass_function_add'"),
        ({"infinity_mass_add": 0.0}, "then there is one distribution"),
        ({"proto": 1}, "unknown key 'proto'"),
    ],
)
def test_what_is_refused_and_why(change, words):
    with pytest.raises(ReleaseFileError) as error:
        from_loss_distribution({**SMALL, **change}, "add or remove one")
    assert words in str(error.value)


def test_two_directions_are_not_for_replacing_a_record():
    two = {**SMALL, "symmetric": False, "infinity_mass_add": 0.0}
    two["rounded_probability_mass_function_add"] = {"-2": 0.3, "0": 0.3, "3": 0.4}
    assert len(profile(two).directions()) == 2
    releases = from_loss_distribution(two, "add or remove one")
    result = audit(releases, AuditQuestion(delta=1e-6), budget=9.0, risk=True)
    assert result.answer.upper == pytest.approx(1.0, abs=1e-5)
    assert result.remaining.more["1: pessimistic privacy-loss distribution"] == 8
    assert all(found.upper >= 1.0 - 1e-5 for found in result.theorems.values())
    assert profile(two).pure_epsilon == 1
    with pytest.raises(ReleaseFileError, match="are for 'add or remove one' or 'zero out'"):
        from_loss_distribution(two, "replace one")


def test_a_file_holds_one(file):
    path = file(json.dumps(SMALL), "distribution.json")
    assert read_releases(path, "zero out").neighbouring is Neighbouring.ZERO_OUT
    with pytest.raises(ReleaseFileError, match="does not say when two data sets are neighbours"):
        read_releases(path)


@pytest.mark.parametrize(
    "own",
    [
        GaussianProfile(1.0),
        LaplaceProfile(1.0, 2.0),
        DiscreteLaplaceProfile(2, 3.0),
        ApproximateProfile(1, 1e-3),
        PerfectPrivacy(),
        sampled(RelatedProfile(GaussianProfile(2.0), A), 0.05, A),
        sampled(RelatedProfile(GaussianProfile(2.0), A), 0.05, Neighbouring.REPLACE_ONE),
    ],
    ids=lambda own: type(own).__name__,
)
def test_a_written_distribution_lies_above_by_at_most_its_interval(own):
    interval = 0.01
    saved = to_loss_distribution(own, interval)
    found = profile(saved, own.neighbouring)
    assert len(found.directions()) == len(own.directions())
    epsilon = np.linspace(-3.0, 5.0, 801) + 0.37 * interval
    for mine, side in zip(found.directions(), own.directions(), strict=True):
        assert np.all(mine.delta(epsilon) >= side.delta(epsilon) * (1 - 1e-13))
        assert np.all(mine.delta(epsilon) <= side.delta(epsilon - interval) * (1 + 1e-8) + 1e-9)
    theirs = pld.PrivacyLossDistribution.create_from_rounded_probability(**saved)
    assert theirs.get_delta_for_epsilon(0.5) == pytest.approx(found.delta(0.5), rel=1e-7, abs=1e-12)


def test_dp_accounting_composes_what_is_written():
    """500 steps on samples of 1 %: above 1.5803318997, by what its grid of 1e-3 costs."""
    step = sampled(RelatedProfile(GaussianProfile(1.0), A), 0.01, A)
    theirs = pld.PrivacyLossDistribution.create_from_rounded_probability(**to_loss_distribution(step))
    assert 1.5803318997 <= theirs.self_compose(500).get_epsilon_for_delta(1e-6) <= 1.581


def test_what_cannot_be_written():
    with pytest.raises(ParameterError, match=r"zero-concentrated .* is no loss distribution's curve"):
        to_loss_distribution(ZeroConcentratedProfile(0.1))
    for interval in (0.0, 1e-9, 500.0):
        with pytest.raises(ParameterError, match="interval = "):
            to_loss_distribution(GaussianProfile(1.0), interval)


def test_only_a_distribution_is_written():
    with pytest.raises(ParameterError, match="must be a PrivacyLossDistribution"):
        loss_distribution_as_dict(GaussianProfile(1.0))
    assert (
        math.fsum(loss_distribution_as_dict(pld.identity())["rounded_probability_mass_function"].values())
        == 1.0
    )


@settings(max_examples=30, deadline=None)
@given(content=damaged(SMALL))
def test_a_damaged_distribution_is_read_or_refused_in_one_line(content):
    assert len(refusal(lambda: from_loss_distribution(content, A)).splitlines()) <= 1
