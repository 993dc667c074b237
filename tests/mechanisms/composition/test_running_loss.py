"""Losses that grow release by release: the same numbers as the composition of all, and little work."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import RunningLoss, compose
from mechanisms import (
    ApproximateProfile,
    BinomialProfile,
    BoundedRangeProfile,
    DiscreteGaussianProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    LaplaceProfile,
    MixedNeighbours,
    ParameterError,
    PrivacyProfile,
    PureProfile,
    RandomizedResponse,
    ZeroConcentratedProfile,
)
from mechanisms.composition.contour import Contour, TiltedLoss, Transform, plan_contour
from mechanisms.composition.enclosure import lower_end
from mechanisms.composition.product import Product
from mechanisms.composition.saddle import saddle_for_delta
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.gaussian_loss import GaussianLoss
from mechanisms.losses.privacy_loss import PrivacyLoss
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledDirection, SubsampledProfile


def joins(profile: PrivacyProfile) -> PrivacyProfile:
    return RelatedProfile(profile, Neighbouring.ADD_OR_REMOVE)


def sampled(sigma: float, rate: float) -> PrivacyProfile:
    return SubsampledProfile(joins(GaussianProfile(1.0 / sigma)), rate)


KINDS = [
    LaplaceProfile(1.0, 9.0),
    LaplaceProfile(1.0, 31.0),
    GaussianProfile(0.05),
    GaussianProfile(0.4),
    DiscreteLaplaceProfile(2, 25.0),
    DiscreteGaussianProfile(1, 12.0),
    RandomizedResponse(size=3, epsilon=0.2).profile(),
    ApproximateProfile(Fraction(1, 10), 1e-7),
    BoundedRangeProfile(Fraction(1, 8)),
]


@given(
    steps=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 30)), min_size=1, max_size=4),
    delta=st.sampled_from([1e-3, 1e-6, 1e-12]),
)
@settings(max_examples=6, deadline=None)
def test_after_each_release_it_meets_the_composition_of_all(
    steps: list[tuple[PrivacyProfile, int]], delta: float
) -> None:
    running = RunningLoss()
    for i, (profile, count) in enumerate(steps):
        running.add(profile, count)
        found, whole = running.epsilon(delta), compose(steps[: i + 1]).epsilon(delta)
        assert type(found) is type(whole)
        assert found.neighbouring is whole.neighbouring
        assert found.upper == pytest.approx(whole.upper, rel=1e-6, abs=3.1e-7)
        assert (lower_end(found) or 0.0) <= whole.upper
        assert (lower_end(whole) or 0.0) <= found.upper


def test_two_hundred_of_each_contain_the_golden_value() -> None:
    running = RunningLoss()
    replanned = 0
    for i in range(200):
        scale = 20.0 * 20.0 ** (i / 199)
        running.add(LaplaceProfile(1.0, scale))
        running.add(GaussianProfile(1.0 / scale))
        replanned += running._directions[0].epsilon(1e-6, 1e-7) is None
        found = running.epsilon(1e-6)
    assert 1.797697785797770103328 in found
    assert found.width < 1e-9
    assert (
        replanned <= 20
    )  # ln 400 / ln 1.5 and a few at the start: the others cost no more at the end than before
    assert running.delta(found.upper).lower <= 1e-6 <= running.delta(found.lower).upper


@pytest.mark.slow
def test_a_second_direction_takes_over_what_came_before() -> None:
    running = RunningLoss(
        [(joins(LaplaceProfile(1.0, 20.0)), 40), (joins(ApproximateProfile(Fraction(0), 1e-8)), 3)]
    )
    running.epsilon(1e-5)
    running.add(sampled(1.0, 0.01), 300)
    for delta in (1e-5, 1e-9):
        running.epsilon(delta).intersect(running.composed.epsilon(delta))
    assert running.composed.epsilon(1e-5).lower > RunningLoss([(sampled(1.0, 0.01), 300)]).epsilon(1e-5).upper


@pytest.mark.parametrize("added", [1, 4, 1000])
def test_a_longer_contour_contains_the_closed_form(added: int) -> None:
    loss = GaussianLoss(0.25)
    saddle = saddle_for_delta(loss, 1e-6)
    plan = plan_contour(TiltedLoss(loss, saddle.s), saddle, 1e-12, 1e4)
    assert plan is not None
    contour = Contour(loss, plan)
    grown = contour.including(contour.transform(GaussianLoss(0.01)), added)
    whole = GaussianProfile(math.sqrt(0.25 + 0.01 * added))
    for epsilon in (0.5, 2.0, 6.0):
        lower, upper = grown.bounds(epsilon)
        assert lower <= whole.delta(epsilon) * (1 + 1e-12)
        assert upper >= whole.delta(epsilon) * (1 - 1e-12)
    lower, upper = contour.bounds(2.0)
    assert lower <= GaussianProfile(0.5).delta(2.0) <= upper
    assert upper < grown.bounds(2.0)[1]


def test_what_outcomes_may_switch_and_what_has_only_a_curve_is_composed_anew() -> None:
    for profile in (BinomialProfile(20, 1, 0.3), ZeroConcentratedProfile(0.01)):
        running = RunningLoss([(profile, 2)])
        assert running.epsilon(1e-6, width=1e-6) == running.composed.epsilon(1e-6, width=1e-6)
    assert RunningLoss().epsilon(1e-6).upper == 0.0
    assert RunningLoss([(PureProfile(Fraction(1, 2)), 3)]).epsilon(0.0).upper == 1.5


def test_what_is_not_included_yet_counts_with_its_largest_loss() -> None:
    noise = LaplaceProfile(1.0, 20.0)
    running = RunningLoss([(noise, 999)])
    running.epsilon(1e-6)
    running.add(noise)
    (growing,) = running._directions
    after = compose([(noise, 1000)]).epsilon(1e-6)
    assert growing.at_most(after.upper + 0.051, 1e-6)
    assert growing._pending
    assert not growing.at_most(after.lower - 1e-6, 1e-6)
    assert not growing._pending
    assert growing.at_most(after.upper + 1e-6, 1e-6)


def test_a_direction_that_is_far_behind_is_hardly_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    running = RunningLoss([(sampled(1.0, 0.01), 300)])
    running.epsilon(1e-6)
    transforms = []
    transform = Contour.transform

    def counted(contour: Contour, loss: PrivacyLoss) -> Transform:
        transforms.append(loss)
        return transform(contour, loss)

    monkeypatch.setattr(Contour, "transform", counted)
    for i in range(10):
        running.add(sampled(1.0 + 0.01 * i, 0.01))
        running.epsilon(1e-6)
    assert len(transforms) == 10
    assert running.epsilon(1e-6).upper >= compose(running.releases).epsilon(1e-6).lower


def test_on_an_error_nothing_is_taken() -> None:
    running = RunningLoss([(LaplaceProfile(1.0, 20.0), 100)])
    before = running.epsilon(1e-6)
    with pytest.raises(MixedNeighbours):
        running.add(joins(LaplaceProfile(1.0, 20.0)))
    with pytest.raises(ParameterError, match="count"):
        running.add(LaplaceProfile(1.0, 20.0), 0)
    assert running.epsilon(1e-6) == before
    assert running.releases == ((LaplaceProfile(1.0, 20.0), 100),)
    single = RunningLoss([(SubsampledDirection(joins(GaussianProfile(1.0)), 0.1, True), 2)])
    with pytest.raises(ParameterError, match="no pair of data sets"):
        single.add(SubsampledDirection(joins(GaussianProfile(1.0)), 0.1, False))
    for delta in (-1e-3, 1.0, math.nan):
        with pytest.raises(ParameterError, match="delta"):
            running.epsilon(delta)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("earlier", "profile"),
    [
        ([(LaplaceProfile(1.0, 20.0), 100), (GaussianProfile(0.05), 50)], LaplaceProfile(1.0, 30.0)),
        ([(sampled(1.0, 0.01), 400)], sampled(0.9, 0.02)),
        ([(PureProfile(Fraction(1, 4)), 2)], PureProfile(Fraction(1, 4))),
        ([(ApproximateProfile(Fraction(1, 20), 1e-7), 3)], ApproximateProfile(Fraction(1, 20), 1e-7)),
    ],
)
def test_room_is_the_largest_number_that_fits(
    earlier: list[tuple[PrivacyProfile, int]], profile: PrivacyProfile
) -> None:
    running = RunningLoss(earlier)
    budget = running.epsilon(1e-6).upper + 0.6
    room = int(running.remaining_releases(profile, epsilon=budget, delta=1e-6))
    assert room >= 1
    assert (lower_end(compose([*earlier, (profile, room)]).epsilon(1e-6)) or 0.0) <= budget
    assert compose([*earlier, (profile, room + 1)]).epsilon(1e-6).upper > budget
    assert running.releases == tuple(earlier)
    assert running.remaining_releases(profile, epsilon=0.0, delta=1e-6) == 0


def test_room_for_what_costs_nothing_has_no_end() -> None:
    running = RunningLoss([(LaplaceProfile(1.0, 20.0), 100)])
    assert running.remaining_releases(PureProfile(Fraction(0)), epsilon=9.0, delta=1e-6) == math.inf
    with pytest.raises(MixedNeighbours):
        running.remaining_releases(sampled(1.0, 0.01), epsilon=9.0, delta=1e-6)


def test_it_comes_back_from_json_to_the_last_bit() -> None:
    plain = [(profile, i + 1) for i, profile in enumerate([*KINDS, BinomialProfile(200, 3, 0.1)])]
    for releases in (plain, [(sampled(1.1, 0.01), 7), (joins(KINDS[0]), 2)]):
        running = RunningLoss(releases)
        again = RunningLoss.from_dict(json.loads(json.dumps(running.to_dict())))
        assert again.releases == running.releases


def test_what_is_no_stream_is_refused() -> None:
    class Own(LaplaceProfile):
        pass

    with pytest.raises(ParameterError, match="of this library"):
        RunningLoss([(Own(1.0, 2.0), 1)]).to_dict()
    wrong = {"kind": "LaplaceProfile", "shift": 1.0, "scale": -2.0, "bound": ""}
    for profile in (3, {}, {"kind": "Accountant"}, {"kind": "LaplaceProfile", "width": 1.0}, wrong):
        with pytest.raises(ParameterError, match=r"kind|profile"):
            RunningLoss.from_dict({"releases": [{"profile": profile, "count": 1}]})
    for saved in ({}, {"releases": 3}, {"releases": [{"count": 1}]}):
        with pytest.raises(ParameterError):
            RunningLoss.from_dict(saved)


def test_work_does_not_grow_with_what_was_released(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    whole = Product.epsilon_and_contour

    def counted(self: Product, delta: float, width: float) -> object:
        calls.append(sum(self.counts))
        return whole(self, delta, width)

    monkeypatch.setattr(Product, "epsilon_and_contour", counted)
    running = RunningLoss([(sampled(1.0, 0.01), 300)])
    for _ in range(200):
        running.add(sampled(1.0, 0.01))
        running.epsilon(1e-5)
    assert len(calls) <= 6


def test_what_fewer_releases_cost_with_fixed_data_is_a_lower_end() -> None:
    profile = FixedSizeProfile(GaussianProfile(1.0), 0.05)
    running = RunningLoss([(profile, 40)])
    first = running.epsilon(1e-5)
    running.add(profile, 5)
    found, whole = running.epsilon(1e-5), compose([(profile, 45)]).epsilon(1e-5)
    assert running._directions[0].epsilon(1e-5, 1e-7) is not None  # it was not computed anew
    assert (
        first.lower
        == found.lower
        < whole.lower
        < compose([(profile, 45)]).directions[0].epsilon(1e-5, 1e-7).lower
    )
    assert found.upper == pytest.approx(whole.upper, rel=1e-7)


def test_losses_below_floats_have_room() -> None:
    """The logarithm of a loss that is 0 as a float was a math domain error."""
    hardly = LaplaceProfile(1e-300, 1e300)
    assert RunningLoss([(hardly, 2)]).remaining_releases(hardly, epsilon=1.0, delta=1e-6) == math.inf


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_before_a_contour_is_planned_and_beyond_the_largest_loss_all_are_composed(epsilon: float) -> None:
    running = RunningLoss([(LaplaceProfile(1.0, 4.0), 6)])
    whole = compose(running.releases).delta(epsilon)
    assert running.delta(epsilon).upper == pytest.approx(whole.upper, rel=1e-6)
    running.epsilon(1e-6)
    assert running.delta(epsilon).upper == pytest.approx(whole.upper, rel=1e-6)
    assert running.delta(epsilon).upper == 0.0 or epsilon < 1.5
