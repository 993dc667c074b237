"""Conversions between neighbouring relations: exact where a closed form is known, never below the truth."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from poisson import joining, subsampled

from mechanisms import (
    ApproximateProfile,
    AtomicProfile,
    ComposedProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    LaplaceProfile,
    NoPrivacy,
    ParameterError,
    PerfectPrivacy,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    ZeroConcentratedProfile,
    convert,
    sampled,
)
from mechanisms.amplification.sampling import Sampling
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.composition.finite_mixture import FiniteMixture
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.relations.conversion import GroupOfTwoProfile

A, R, Z = Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE, Neighbouring.ZERO_OUT
X = np.array([0.0, 0.05, 0.3, 1.0, 2.0, 3.5])


def split(base: PrivacyProfile) -> PrivacyProfile:
    """Hide the kind of a curve, so that the best split is searched for."""
    return GroupOfTwoProfile(joining(FiniteMixture(AtomicProfile((Fraction(0),), (1.0,)), base)))


CLOSED = [
    (GaussianProfile(0.7), GaussianProfile(1.4)),
    (LaplaceProfile(1.0, 2.0), LaplaceProfile(2.0, 2.0)),
    (PureProfile(Fraction(1, 3)), PureProfile(Fraction(2, 3))),
    (ZeroConcentratedProfile(0.1), ZeroConcentratedProfile(0.4)),
]


@pytest.mark.slow_cells("base3-twice3")
@pytest.mark.parametrize(("base", "twice"), CLOSED)
def test_a_group_of_two_in_closed_form(base: PrivacyProfile, twice: PrivacyProfile) -> None:
    group = convert(joining(base), R)
    assert (group.neighbouring, group.attained()) == (R, ())
    np.testing.assert_array_equal(group.delta(X), twice.delta(X))
    assert (group.pure_epsilon, group.rho, group.gaussian_mu) == (
        twice.pure_epsilon,
        twice.rho,
        twice.gaussian_mu,
    )
    both = (compose([(one, 7)]).epsilon(1e-5).upper for one in (group, twice))
    assert next(both) == pytest.approx(next(both), rel=1e-9)


@pytest.mark.parametrize(("base", "twice"), CLOSED[:2])
def test_the_best_split_is_the_closed_form(base: PrivacyProfile, twice: PrivacyProfile) -> None:
    """For log-concave noise the bound, minimised, is the curve at twice the movement."""
    np.testing.assert_allclose(split(base).delta(X), twice.delta(X), rtol=1e-7, atol=1e-15)


@pytest.mark.parametrize("rate", [0.02, 0.4])
def test_a_group_of_two_is_never_below_the_pair_for_replacing(rate: float) -> None:
    for base in (GaussianProfile(1.0), LaplaceProfile(1.0, 1.0)):
        group = convert(subsampled(base, rate), R)
        tight = sampled(joining(base), rate, R)
        assert (group.delta(X) >= tight.delta(X) * (1 - 1e-9)).all()
        assert (group.delta(X[:3]) <= 3.0 * tight.delta(X[:3])).all()


def test_a_group_of_two_of_atoms_by_all_splits() -> None:
    base = subsampled(DiscreteLaplaceProfile(1, 1.0), 0.3)
    removed, added = base.directions()
    splits = np.linspace(-2, 4, 6001)
    for x in (0.0, 0.2, 0.5):
        least = min(
            float(np.min(one.delta(splits) + np.exp(splits) * other.delta(x - splits)))
            for one, other in ((removed, added), (added, removed))
        )
        assert convert(base, R).delta(x) == pytest.approx(least, abs=5e-4)
        assert convert(base, R).delta(x) <= least + 1e-12


@pytest.mark.slow
def test_a_group_of_two_composes() -> None:
    group = convert(subsampled(DiscreteLaplaceProfile(1, 1.0), 0.1), R)
    total = compose([(group, 5), (GaussianProfile(0.3), 2)])
    alone = compose([(GaussianProfile(0.3), 2)])
    assert total.neighbouring is R
    assert alone.epsilon(1e-5).lower <= total.epsilon(1e-5).upper < 5 * float(group.pure_epsilon or 0) + 4.0
    approximate = convert(joining(ApproximateProfile(Fraction(1, 2), 1e-3)), R)
    assert approximate.delta(1.0) == pytest.approx(1e-3 * (1 + math.exp(0.5)), rel=1e-2)
    assert approximate.delta(1.0) <= 1e-3 * (1 + math.exp(0.5)) * (1 + 1e-6)
    assert 1e-3 < approximate.infinite_mass <= approximate.delta(30.0) * (1 + 1e-4)
    assert convert(joining(NoPrivacy()), R).delta(5.0) == 1.0
    assert convert(joining(PerfectPrivacy()), R).delta(0.0) == 0.0


SAME = [
    (GaussianProfile(1.0), Z),
    (composed_profile([(GaussianProfile(1.0), 1), (PureProfile(Fraction(1)), 1)]), Z),
    (sampled(GaussianProfile(1.0), 0.1, R, Sampling.FIXED_SIZE), Z),
    (sampled(joining(GaussianProfile(1.0)), 0.1, R), Z),
    (GroupOfTwoProfile(joining(GaussianProfile(1.0))), Z),
    (RelatedProfile(GaussianProfile(1.0), Z), A),
    (sampled(RelatedProfile(GaussianProfile(1.0), Z), 0.1, Z), A),
    (sampled(RelatedProfile(GaussianProfile(1.0), Z), 0.1, Z).directions()[1], A),
    (
        composed_profile(
            [
                (RelatedProfile(AtomicProfile((Fraction(1), Fraction(-1)), (0.75, 0.25)), Z), 1),
                (RelatedProfile(GaussianProfile(1.0), Z), 1),
            ]
        ),
        A,
    ),
    (
        ComposedProfile(
            (
                (RelatedProfile(GaussianProfile(1.0), Z), 1),
                (sampled(RelatedProfile(GaussianProfile(1.0), Z), 0.1, Z), 1),
            )
        ),
        A,
    ),
]


@pytest.mark.slow_cells("profile2-zero out")
@pytest.mark.parametrize(("profile", "to"), SAME)
def test_the_same_curve_for_another_relation(profile: PrivacyProfile, to: Neighbouring) -> None:
    found = convert(profile, to)
    assert found.neighbouring is to
    np.testing.assert_array_equal(found.delta(X), profile.delta(X))
    assert [side.neighbouring for side in found.directions()] == [to] * len(profile.directions())
    loss = found.directions()[0].loss()
    assert (loss is None) == (profile.directions()[0].loss() is None)
    assert composed_profile([(found, 1), (found, 1)]).neighbouring is to
    for count in (1, 3) if isinstance(profile, RelatedProfile | GaussianProfile | FixedSizeProfile) else (1,):
        mine, old = compose([(found, count)]), compose([(profile, count)])
        assert mine.epsilon(1e-4) == dataclasses.replace(old.epsilon(1e-4), neighbouring=to)
        assert mine.neighbouring is to


def test_what_comes_of_held_parts_is_held() -> None:
    fixed = sampled(LaplaceProfile(1.0, 1.0), 0.1, R, Sampling.FIXED_SIZE)
    group = convert(joining(ZeroConcentratedProfile(0.1)), R)
    for profile in (
        composed_profile([(fixed, 1), (fixed, 1)]),
        composed_profile([(fixed, 1), (PureProfile(Fraction(1)), 1)]),
        composed_profile([(composed_profile([(fixed, 1), (fixed, 1)]), 1), (GaussianProfile(1.0), 1)]),
        composed_profile([(group, 1), (group, 1)]),
        composed_profile([(group, 1), (GaussianProfile(1.0), 1)]),
    ):
        assert profile.neighbouring is R
        with pytest.raises(ParameterError, match="no statement changes"):
            RelatedProfile(profile, A)
        assert convert(profile, Z).delta(0.3) == profile.delta(0.3)


def test_all_other_conversions_are_refused() -> None:
    profiles = {
        A: joining(GaussianProfile(1.0)),
        R: GaussianProfile(1.0),
        Z: RelatedProfile(GaussianProfile(1.0), Z),
    }
    refused = [(source, to) for source, to in itertools.permutations(Neighbouring, 2)]
    for allowed in ((A, R), (R, Z), (Z, A)):
        assert convert(profiles[allowed[0]], allowed[1]).neighbouring is allowed[1]
        refused.remove(allowed)
    for source, to in refused:
        with pytest.raises(ParameterError, match=f"from '{source}' directly"):
            convert(profiles[source], to)
    for relation, profile in profiles.items():
        assert convert(profile, relation) is profile
    with pytest.raises(ParameterError, match="must be for 'add or remove one'"):
        GroupOfTwoProfile(GaussianProfile(1.0))


def test_whole_numbers_are_parameters_like_any_others() -> None:
    """A shift of 1 was kept as it is, and the conversion asked it for what only floats have."""
    whole, real = (
        RelatedProfile(LaplaceProfile(*pair), Neighbouring.ADD_OR_REMOVE) for pair in ((1, 2), (1.0, 2.0))
    )
    changed = [convert(each, Neighbouring.REPLACE_ONE) for each in (whole, real)]
    assert changed[0].gaussian_mu == changed[1].gaussian_mu
    assert changed[0].bounds(np.array(0.3)) == changed[1].bounds(np.array(0.3))


@pytest.mark.parametrize("far", [301.0, 800.0, 1e4, 1e300])
def test_a_group_of_two_has_a_bound_everywhere(far: float) -> None:
    """Beyond the exponentials that floats hold it was nan."""
    at = np.array([far, -far])
    for base in (joining(DiscreteLaplaceProfile(1, 1.0)), subsampled(GaussianProfile(1.0), 0.3)):
        lower, upper = GroupOfTwoProfile(base).bounds(at)
        assert (lower[0], upper[1]) == (0.0, 1.0)
        assert 0.0 <= upper[0] < 1e-280
    leaking = GroupOfTwoProfile(joining(ApproximateProfile(Fraction(1), 1e-5)))
    assert 2e-5 <= leaking.bounds(at)[1][0] <= 1.0001 * leaking.infinite_mass


def test_at_many_points_a_curve_without_a_closed_form_is_by_chords_above_it() -> None:
    """In e^ε; at fewer points the best split is looked for at each."""
    group = GroupOfTwoProfile(RelatedProfile(RandomizedResponse(size=3, epsilon=0.7).profile(), A))
    assert group._closed_form is None
    many = np.linspace(0.0, 1.5, 2049)
    by_chords, few = group.delta(many), many[1::300]
    each = group.delta(few)
    assert (by_chords[1::300] >= each * (1.0 - 1e-8)).all()
    assert (by_chords[1::300] <= each * (1.0 + 1e-6)).all()
    assert (np.diff(by_chords) <= 0.0).all()


def test_two_records_of_what_loses_nothing_lose_nothing_and_others_something() -> None:
    for base in (PerfectPrivacy(), AtomicProfile((Fraction(0),), (1.0,))):
        assert convert(RelatedProfile(base, A), R).delta(0.0) == 0.0
    one = RandomizedResponse(size=3, epsilon=1.0).profile()
    assert convert(RelatedProfile(one, A), R).delta(0.0) >= one.delta(0.0) > 0.3
