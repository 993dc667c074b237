"""Neighbouring relations: what states one, and that two never add up."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from poisson import joining, subsampled

from mechanisms import (
    ApproximateProfile,
    AtomicProfile,
    BinomialProfile,
    Composed,
    ComposedProfile,
    DiscreteGaussianProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    Laplace,
    LaplaceProfile,
    NoPrivacy,
    ParameterError,
    PerfectPrivacy,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    Repeated,
    ZeroConcentratedProfile,
)
from mechanisms.composition.composed_loss import ComposedLoss, compose
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.composition.many_compositions import largest_deltas
from mechanisms.composition.theorems import THEOREMS
from mechanisms.domains.neighbouring import (
    MixedNeighbours,
    Neighbouring,
    common_neighbouring,
    conversion_hint,
)
from mechanisms.profiles.related_profile import RelatedProfile, bare, restate

A, R, Z = Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE, Neighbouring.ZERO_OUT

CURVES: list[PrivacyProfile] = [
    GaussianProfile(0.5),
    LaplaceProfile(1.0, 2.0),
    PureProfile(Fraction(1, 2)),
    ApproximateProfile(Fraction(1, 2), 1e-6),
    ZeroConcentratedProfile(0.1),
    DiscreteLaplaceProfile(2, 5.0),
    DiscreteGaussianProfile(1, 3.0),
    BinomialProfile(10, 1, 0.5, 1),
    BinomialProfile(10, 1, 0.3, 1),
    RandomizedResponse(size=3, epsilon=1.0).profile(),
    PerfectPrivacy(),
    NoPrivacy(),
]


@pytest.mark.few(3)
@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: type(curve).__name__)
@pytest.mark.parametrize("relation", [A, Z])
def test_a_stated_curve_is_the_curve(curve: PrivacyProfile, relation: Neighbouring) -> None:
    own = RelatedProfile(curve, relation)
    assert (curve.neighbouring, own.neighbouring) == (R, relation)
    x = np.array([-1.0, 0.0, 0.05, 0.3, 2.0])
    np.testing.assert_array_equal(own.delta(x), curve.delta(x))
    np.testing.assert_array_equal(own.bounds(x), curve.bounds(x))
    for name in ("pure_epsilon", "infinite_mass", "rho", "gaussian_mu", "bound", "relative_error"):
        assert getattr(own, name) == getattr(curve, name)
    np.testing.assert_array_equal(own.renyi([1.5, 4.0]), curve.renyi([1.5, 4.0]))
    assert own.epsilon(1e-3) == curve.epsilon(1e-3)
    assert [side.neighbouring for side in (*own.directions(), *own.attained())] == [relation] * (
        1 + len(curve.attained())
    )
    assert own.loss() == curve.loss()
    if not isinstance(curve, NoPrivacy):
        for count in (1,) if isinstance(curve, BinomialProfile) else (1, 2):
            mine, plain = compose([(own, count)]), compose([(curve, count)])
            assert mine.epsilon(1e-5) == dataclasses.replace(plain.epsilon(1e-5), neighbouring=relation)
            assert mine.delta(0.4) == dataclasses.replace(plain.delta(0.4), neighbouring=relation)
            assert mine.neighbouring is relation
            assert composed_profile([(own, count)]).neighbouring is relation
            assert composed_profile([(own, count)]).delta(0.2) == composed_profile([(curve, count)]).delta(
                0.2
            )


MIXES = [
    (GaussianProfile(1.0), joining(GaussianProfile(1.0))),
    (RelatedProfile(LaplaceProfile(1.0, 2.0), Z), joining(GaussianProfile(1.0))),
    (RelatedProfile(PureProfile(Fraction(1)), Z), PureProfile(Fraction(1))),
    (GaussianProfile(1.0), subsampled(GaussianProfile(1.0), 0.1)),
    (AtomicProfile((Fraction(1), Fraction(-1)), (0.75, 0.25)), subsampled(LaplaceProfile(1.0, 2.0), 0.1)),
    (PerfectPrivacy(), joining(GaussianProfile(1.0))),
    (joining(NoPrivacy()), GaussianProfile(1.0)),
    (joining(ZeroConcentratedProfile(0.1)), GaussianProfile(1.0)),
    (
        composed_profile([(joining(PureProfile(Fraction(1))), 3)]),
        composed_profile([(PureProfile(Fraction(1)), 3)]),
    ),
    (
        composed_profile([(joining(LaplaceProfile(1.0, 2.0)), 1), (joining(GaussianProfile(1.0)), 1)]),
        GaussianProfile(1.0),
    ),
    (
        composed_profile(
            [(subsampled(GaussianProfile(1.0), 0.1), 1), (joining(PureProfile(Fraction(1))), 1)]
        ),
        PureProfile(Fraction(1)),
    ),
]


@pytest.mark.parametrize(("one", "other"), MIXES)
@pytest.mark.parametrize("swapped", [False, True])
def test_two_relations_are_refused_everywhere(
    one: PrivacyProfile, other: PrivacyProfile, swapped: bool
) -> None:
    one, other = (other, one) if swapped else (one, other)
    releases = [(one, 1), (other, 2)]
    refused = pytest.raises(MixedNeighbours, match=f"{one.neighbouring}.*{other.neighbouring}.*convert")
    with refused:
        composed_profile([(one, 1), (other, 1)])
    with refused:
        compose(releases)
    with refused:
        ComposedLoss(tuple(releases))
    with refused:
        compose(releases).theorems(delta=1e-6)
    with refused:
        compose(releases).theorems(delta=0.0)
    with refused:
        compose(releases).theorems(epsilon=1.0)
    for theorem in THEOREMS.values():
        with refused:
            theorem.epsilon(releases, 1e-6)
    with refused:
        largest_deltas([one, other], np.ones((1, 2)), 1.0, 1e-6)


def test_compositions_keep_their_relation() -> None:
    for curves in ([GaussianProfile(1.0), LaplaceProfile(1.0, 2.0)], CURVES[:4], [CURVES[9], CURVES[0]]):
        total = RelatedProfile(curves[0], Z)
        for curve in curves[1:]:
            total = composed_profile([(total, 1), (RelatedProfile(curve, Z), 1)])
            assert total.neighbouring is Z
    mixture = composed_profile(
        [
            (joining(AtomicProfile((Fraction(1), Fraction(-1)), (0.75, 0.25))), 1),
            (subsampled(GaussianProfile(1.0), 0.1).directions()[0], 1),
        ]
    )
    assert isinstance(mixture, ComposedProfile)
    assert mixture.neighbouring is A


def test_a_statement_is_made_once_and_only_where_the_movement_decides() -> None:
    with pytest.raises(ParameterError, match="holds for it as it is"):
        RelatedProfile(GaussianProfile(1.0), R)
    for fixed in (joining(GaussianProfile(1.0)), subsampled(GaussianProfile(1.0), 0.1)):
        with pytest.raises(ParameterError, match="no statement changes"):
            RelatedProfile(fixed, Z)
        with pytest.raises(ParameterError, match="no statement changes"):
            RelatedProfile(composed_profile([(fixed, 1), (fixed, 1)]), R)
    with pytest.raises(ParameterError, match="must be a Neighbouring"):
        RelatedProfile(GaussianProfile(1.0), "add or remove one")  # type: ignore[arg-type]
    assert restate(GaussianProfile(1.0), R) == GaussianProfile(1.0) == bare(joining(GaussianProfile(1.0)))


def test_mechanisms_say_their_relation() -> None:
    noise = Laplace(scale=2.0)
    assert noise.neighbouring is R is noise.profile().neighbouring
    assert noise.profile_for(A) == joining(noise.profile())
    assert noise.profile_for(R) == noise.profile()
    for local in (
        RandomizedResponse(size=2, epsilon=1.0),
        Repeated(RandomizedResponse(size=2, epsilon=1.0), 2),
        Composed((RandomizedResponse(size=2, epsilon=1.0), RandomizedResponse(size=2, epsilon=2.0))),
        RandomizedResponse(size=2, epsilon=1.0) >> abs,
    ):
        with pytest.raises(ParameterError, match="number of reports"):
            local.profile_for(A)
        assert local.profile_for(Z).neighbouring is Z


def test_names() -> None:
    assert [Neighbouring.from_name(name) for name in ("Replace One", "add-or_remove one", Z)] == [R, A, Z]
    for name in ("", "replace", "bounded", None, 3, "substitute"):
        with pytest.raises(ParameterError, match="must be one of 'replace one'"):
            Neighbouring.from_name(name)
    assert str(A) == "add or remove one"
    assert common_neighbouring([]) is R
    for one, other in itertools.permutations(Neighbouring, 2):
        assert "Neighbouring." in conversion_hint(one, other)
    assert len({relation.description for relation in Neighbouring}) == 3
