"""Event trees of dp-accounting: read under each relation, written, told from what has no exact counterpart."""

import json
import math
import random
import sys
from collections import namedtuple
from fractions import Fraction

import mpmath as mp
import pytest
from damaged import damaged, refusal
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import compose
from accountant.audit import (
    ReleaseFileError,
    calibrate,
    dp_event_as_dict,
    from_dp_event,
    read_releases,
    to_dp_event,
)
from mechanisms import (
    BoundedRangeProfile,
    DiscreteLaplaceProfile,
    GaussianProfile,
    MixedNeighbours,
    Neighbouring,
    NoPrivacy,
    ParameterError,
    PureProfile,
    RandomizedResponse,
)
from mechanisms.amplification.random_allocation import RandomAllocationProfile, SelectedStepsProfile
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.composition.enclosure import Bound
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.related_profile import restate

A, R, Z = Neighbouring.ADD_OR_REMOVE, Neighbouring.REPLACE_ONE, Neighbouring.ZERO_OUT
RELATIONS = {
    A: NeighboringRelation.ADD_OR_REMOVE_ONE,
    R: NeighboringRelation.REPLACE_ONE,
    Z: NeighboringRelation.REPLACE_SPECIAL,
}
STEP = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
TRAINING = dp_event.SelfComposedDpEvent(STEP, 500)


def counted(event, relation):
    releases = from_dp_event(event, relation)
    (group,) = releases.groups
    assert releases.neighbouring is relation
    return releases.profile_counts(group)


def epsilon(event, relation, delta=1e-6):
    return compose(counted(event, relation)).epsilon(delta)


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", [A, Z])
def test_mixtures_of_gaussians(relation):
    """The golden number is that of two quadratures; of one Gaussian they are that Gaussian."""
    event = dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 2.0], [0.9801, 0.0198, 0.0001])
    found = epsilon(dp_event.SelfComposedDpEvent(event, 100), relation)
    assert found.lower - 1e-10 <= 0.4806295192 <= found.upper + 1e-10
    assert found.width < 1e-9
    step = 1e-3  # of its grid: it rounds each loss up by at most so much
    accountant = PLDAccountant(RELATIONS[relation], step).compose(event, 100)
    assert found.upper <= accountant.get_epsilon(1e-6) <= found.upper + 100 * step
    again = to_dp_event(counted(event, relation))
    assert (again.standard_deviation, again.sensitivities) == (2.0, [0.0, 1.0, 2.0])
    alone = epsilon(dp_event.MixtureOfGaussiansDpEvent(2.0, [1.0], [1.0]), relation).upper
    assert alone == pytest.approx(epsilon(dp_event.GaussianDpEvent(2.0), relation).upper, rel=1e-9)


def test_truncated_batches():
    """dp-accounting takes a looser pair for full batches; batches that are never full are Poisson's."""
    event = dp_event.TruncatedSubsampledGaussianDpEvent(10_000, 0.01, 150, 1.0)
    found = epsilon(dp_event.SelfComposedDpEvent(event, 500), A)
    assert isinstance(found, Bound)
    assert 1.59 <= found.upper <= 1.59222
    assert found.upper <= PLDAccountant(RELATIONS[A], 1e-3).compose(event, 500).get_epsilon(1e-6)
    assert to_dp_event(counted(event, A)) == event
    never = dp_event.TruncatedSubsampledGaussianDpEvent(10_000, 0.01, 10_000, 1.0)
    assert epsilon(never, A).upper == pytest.approx(epsilon(STEP, A).upper, rel=1e-9)


ALLOCATED = {
    "class_name": "RandomAllocationDpEvent",
    "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.0},
    "num_selected": 1,
    "num_steps": 100,
}
"""As the versions of dp-accounting that have it write it."""


def test_random_allocation(monkeypatch):
    """Five epochs of 100 steps cost less than 500 steps on Poisson samples; written where the event is known."""
    found = epsilon({"class_name": "SelfComposedDpEvent", "event": ALLOCATED, "count": 5}, A)
    assert found.lower <= 1.435070
    assert found.upper >= 1.435030
    assert found.width <= 1e-3
    assert found.upper < epsilon(dp_event.SelfComposedDpEvent(STEP, 500), A).lower
    assert counted(ALLOCATED, Z) == ((RandomAllocationProfile(restate(GaussianProfile(1.0), Z), 100), 1),)
    twice = {**ALLOCATED, "num_selected": 2}
    assert counted(twice, A) == ((SelectedStepsProfile(restate(GaussianProfile(1.0), A), 100, 2), 1),)
    once = {**ALLOCATED, "num_steps": 1}
    assert counted(once, R) == counted(dp_event.GaussianDpEvent(1.0), R)
    monkeypatch.delattr(dp_event, "RandomAllocationDpEvent", raising=False)
    with pytest.raises(ParameterError, match="RandomAllocationProfile for 'add or remove one' has no exact"):
        to_dp_event(counted(ALLOCATED, A))
    written = namedtuple("RandomAllocationDpEvent", ("event", "num_selected", "num_steps"))
    monkeypatch.setattr(dp_event, "RandomAllocationDpEvent", written, raising=False)
    for event, steps in ((ALLOCATED, 1), (twice, 2)):
        assert to_dp_event(counted(event, A)) == (dp_event.GaussianDpEvent(1.0), steps, 100)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_events_against_dp_accounting(seed):
    """Its distributions are rounded up to a grid of 1e-4: never below the lower end, and near the upper one."""
    draw = random.Random(seed)
    for _ in range(15):
        sigma, rate, count = draw.uniform(0.6, 4.0), draw.uniform(0.005, 0.3), draw.choice([1, 3, 30, 300])
        gaussian = dp_event.GaussianDpEvent(sigma)
        joint = dp_event.ComposedDpEvent([gaussian, dp_event.GaussianDpEvent(2.0 * sigma)])
        weights = [1.0 - rate, 0.7 * rate, 0.3 * rate]
        event, plain = draw.choice(
            [
                (dp_event.MixtureOfGaussiansDpEvent(sigma, [0.0, 1.0, 1.5], weights),) * 2,
                (
                    dp_event.PoissonSampledDpEvent(rate, joint),
                    dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma / math.sqrt(1.25))),
                ),
                (dp_event.PoissonSampledDpEvent(rate, gaussian),) * 2,
            ]
        )
        found = epsilon(dp_event.SelfComposedDpEvent(event, count), A)
        theirs = PLDAccountant(RELATIONS[A]).compose(plain, count).get_epsilon(1e-6)
        assert found.lower <= theirs + 1e-9
        assert theirs <= found.upper + 2e-4 * math.sqrt(count) + 1e-3 * found.upper


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_sample_of_everybody_is_none(relation):
    """A replaced record is in the sample before and after, and moves the query by twice the norm."""
    noise = dp_event.GaussianDpEvent(1.0)
    sampled = [dp_event.PoissonSampledDpEvent(1.0, noise)]
    if relation is R:
        sampled.append(dp_event.SampledWithoutReplacementDpEvent(10, 10, noise))
    for event in sampled:
        assert counted(event, relation) == counted(noise, relation)


def test_several_gaussians_on_one_sample_are_one():
    """As adaptive clipping writes them: 1 and 10 together are one of (1 + 1/100)^{-1/2}."""
    joint = dp_event.ComposedDpEvent(
        [dp_event.GaussianDpEvent(1.0), dp_event.NoOpDpEvent(), dp_event.GaussianDpEvent(10.0)]
    )
    run = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.01, joint), 1000)
    found = epsilon(run, A)
    assert found.lower - 1e-10 <= 2.1474953056 <= found.upper + 1e-10
    assert found.width < 1e-9
    four = dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(2.0), 4)
    for relation in (A, R):
        again = epsilon(dp_event.PoissonSampledDpEvent(0.01, four), relation).upper
        once = epsilon(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), relation).upper
        assert once <= again <= once * (1 + 1e-12)


@pytest.mark.parametrize(("relation", "expected"), [(A, 1.5803318997), (Z, 1.5803318997), (R, 2.2382069821)])
def test_the_golden_training_run(relation, expected):
    """A contour integral with 50 digits; what a record that is added loses, 1.0473676973, is less."""
    found = epsilon(TRAINING, relation)
    assert found.lower <= expected + 5e-11
    assert found.upper >= expected - 5e-11
    assert found.width < 1e-8


EVENTS = [
    dp_event.GaussianDpEvent(1.3),
    dp_event.LaplaceDpEvent(2.0),
    dp_event.DiscreteLaplaceDpEvent(0.7, 2),
    dp_event.RandomizedResponseDpEvent(0.3, 4),
    dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(0.7)),
    pytest.param(
        dp_event.ComposedDpEvent(
            [
                TRAINING,
                dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(30.0), 7),
                dp_event.NoOpDpEvent(),
            ]
        ),
        marks=pytest.mark.slow,  # seven seconds of dp-accounting's grids
    ),
    dp_event.PoissonSampledDpEvent(1.0, dp_event.GaussianDpEvent(2.0)),
    dp_event.PoissonSampledDpEvent(0.0, dp_event.GaussianDpEvent(2.0)),
]


@pytest.mark.few(5)
@pytest.mark.parametrize("relation", [A, R, Z])
@pytest.mark.parametrize("event", EVENTS)
def test_what_dp_accounting_says_of_the_same_event(event, relation):
    """Its upper estimate is ours, but for its rounding of losses to multiples of 1e-4."""
    other = PLDAccountant(RELATIONS[relation])
    if not other.supports(event):
        return
    if isinstance(event, dp_event.RandomizedResponseDpEvent) and relation is Z:
        with pytest.raises(ReleaseFileError, match="'replace one' only"):
            from_dp_event(event, relation)
        return
    other.compose(event)
    for delta in (1e-6, 1e-2):
        found = epsilon(event, relation, delta)
        theirs = other.get_epsilon(delta)
        assert found.upper <= theirs + 1e-8
        assert found.upper >= theirs - 1e-3


@settings(max_examples=25, deadline=None)
@given(
    noise=st.floats(0.3, 30.0),
    rate=st.floats(0.001, 0.999),
    count=st.integers(1, 20),
    relation=st.sampled_from([A, R, Z]),
    kind=st.sampled_from(["gaussian", "laplace", "discrete", "sampled", "fixed", "zcdp", "response"]),
)
def test_round_trips_keep_the_curve(noise, rate, count, relation, kind):
    gaussian = dp_event.GaussianDpEvent(noise)
    event = {
        "gaussian": gaussian,
        "laplace": dp_event.LaplaceDpEvent(noise),
        "discrete": dp_event.DiscreteLaplaceDpEvent(1 / noise, 3),
        "sampled": dp_event.PoissonSampledDpEvent(rate, gaussian),
        "fixed": dp_event.SampledWithoutReplacementDpEvent(1000, count, gaussian),
        "zcdp": dp_event.ZCDpEvent(noise),
        "response": dp_event.RandomizedResponseDpEvent(rate, 2 + count),
    }[kind]
    relation = R if kind in ("fixed", "response") else relation
    tree = dp_event.ComposedDpEvent([dp_event.SelfComposedDpEvent(event, count), dp_event.NoOpDpEvent()])
    ((profile, times),) = counted(tree, relation)
    ((again, same),) = counted(to_dp_event([(profile, times)]), relation)
    assert times == same == count
    assert type(again) is type(profile)
    assert again.epsilon(1e-3) == pytest.approx(profile.epsilon(1e-3), rel=1e-10, abs=1e-12)
    assert again.delta(0.5) == pytest.approx(profile.delta(0.5), rel=1e-8, abs=1e-300)


def test_three_forms_of_one_event():
    saved = json.loads(json.dumps(dp_event_as_dict(TRAINING)))
    assert saved["class_name"] == "SelfComposedDpEvent"
    assert saved["event"]["event"] == {
        "module_name": "dp_accounting.dp_event",
        "class_name": "GaussianDpEvent",
        "noise_multiplier": 1.0,
    }
    expected = counted(TRAINING, A)
    assert counted(saved, A) == counted(TRAINING.to_named_tuple(), A) == expected
    assert dp_event_as_dict(saved) == dp_event_as_dict(TRAINING.to_named_tuple()) == saved


def test_equal_events_are_one_kind_of_release():
    tree = dp_event.ComposedDpEvent([STEP, dp_event.GaussianDpEvent(3.0), TRAINING, STEP])
    assert [count for _, count in counted(tree, A)] == [502, 1]


def test_relations_go_by_the_names_of_both_libraries():
    gaussian = dp_event.GaussianDpEvent(1.0)
    for relation, theirs in RELATIONS.items():
        for name in (theirs, theirs.name, relation.value):
            assert from_dp_event(gaussian, name).neighbouring is relation
    assert counted(gaussian, R)[0][0] == GaussianProfile(2.0)


def test_trees_over_an_epoch_are_as_many_nodes_as_hold_a_record():
    """Seven steps make three levels: at most √3 / σ."""
    tree = dp_event.SingleEpochTreeAggregationDpEvent(2.0, [3, 7, 4])
    assert counted(tree, Z) == ((restate(GaussianProfile(0.5), Z), 3),)
    with pytest.raises(ReleaseFileError, match=r"event: SingleEpochTree.*for 'zero out' only"):
        from_dp_event(tree, A)


@pytest.mark.parametrize(("p", "k"), [(0.5, 1), (0.0, 1), (1.0, 3), (1.0, 1)])
def test_a_response_that_says_nothing_costs_nothing(p, k):
    """There is one value to say, or each is drawn at random."""
    response = dp_event.RandomizedResponseDpEvent(p, k)
    assert counted(response, R) == counted(dp_event.NoOpDpEvent(), R)
    assert epsilon(response, R, 0.0).upper == 0.0


def test_no_noise_is_no_privacy():
    for event in (
        dp_event.NonPrivateDpEvent(),
        dp_event.GaussianDpEvent(0.0),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(0.0)),
    ):
        assert epsilon(event, A).upper == math.inf
    assert isinstance(to_dp_event(counted(dp_event.NonPrivateDpEvent(), A)), dp_event.NonPrivateDpEvent)
    assert epsilon(dp_event.ComposedDpEvent([]), A).upper == 0.0
    assert isinstance(to_dp_event(counted(dp_event.NoOpDpEvent(), R)), dp_event.NoOpDpEvent)
    assert isinstance(to_dp_event([]), dp_event.NoOpDpEvent)


@pytest.mark.parametrize(
    ("event", "relation", "words"),
    [
        (dp_event.UnsupportedDpEvent(), A, "event: UnsupportedDpEvent has no exact counterpart"),
        (dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [1.0]), R, "not for 'replace one'"),
        (dp_event.TruncatedSubsampledGaussianDpEvent(9, 0.5, 3, 1.0), Z, "holds for 'add or remove one'"),
        (dp_event.TruncatedSubsampledGaussianDpEvent(9, 1.5, 3, 1.0), A, "sampling_probability = 1.5"),
        (dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [0.5]), A, "must be positive and add up to 1"),
        (dp_event.ZCDpEvent(1.0, 0.5), A, "event: ZCDpEvent: xi = 0.5"),
        (
            dp_event.ComposedDpEvent([dp_event.NoOpDpEvent(), dp_event.GaussianDpEvent(-1.0)]),
            A,
            r"event.events\[1\]: GaussianDpEvent: noise_multiplier = -1.0: must not be negative",
        ),
        (dp_event.SelfComposedDpEvent(dp_event.NoOpDpEvent(), 0), A, "count = 0"),
        ({**ALLOCATED, "num_selected": 51}, A, "num_selected = 51: must be at most half"),
        ({**ALLOCATED, "num_steps": 10**400}, A, "num_steps = 100000"),
        (ALLOCATED, R, "random allocation has pairs for 'add or remove one' and 'zero out'"),
        ({**ALLOCATED, "event": ALLOCATED}, A, "a sample of a sample, RandomAllocationDpEvent"),
        (dp_event.PoissonSampledDpEvent(1.5, dp_event.NoOpDpEvent()), A, "sampling_probability = 1.5"),
        (dp_event.PoissonSampledDpEvent(0.5, TRAINING), A, "a sample of a sample, PoissonSampledDpEvent"),
        (
            dp_event.PoissonSampledDpEvent(
                0.5, dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(1.0), dp_event.LaplaceDpEvent(1.0)])
            ),
            A,
            "if all are Gaussian; LaplaceDpEvent is not",
        ),
        (
            dp_event.SampledWithoutReplacementDpEvent(10, 2, dp_event.GaussianDpEvent(1.0)),
            A,
            "fixed size has a pair for 'replace one' only",
        ),
        (dp_event.SampledWithoutReplacementDpEvent(2, 3, dp_event.NoOpDpEvent()), R, "sample_size = 3"),
        (dp_event.RandomizedResponseDpEvent(0.5, 3), A, "'replace one' only"),
        ({"class_name": "GaussianDpEvent", "sigma": 1}, A, "has the fields noise_multiplier, not sigma"),
        ({"class_name": "ComposedDpEvent", "events": "ab"}, A, "events = 'ab': must be a list"),
        ({"noise_multiplier": 1}, A, "must be a DpEvent"),
        (None, A, "must be a DpEvent"),
        (dp_event.NoOpDpEvent(), "both", "neighbours = 'both': must be one of"),
    ],
)
def test_what_is_refused_and_why(event, relation, words):
    with pytest.raises(ReleaseFileError, match=words):
        from_dp_event(event, relation)


@pytest.mark.parametrize(
    "profile",
    [
        BoundedRangeProfile(1),
        restate(PureProfile(1), A),
        DiscreteLaplaceProfile(3, 2.0),
        FixedSizeProfile(GaussianProfile(1.0), math.pi / 4),
        composed_profile([(RandomizedResponse(size=3, epsilon=1.0).profile(), 2)]),
    ],
    ids=lambda profile: type(profile).__name__,
)
def test_profiles_that_no_event_has(profile):
    with pytest.raises(ParameterError, match="has no exact counterpart among events"):
        to_dp_event([(profile, 1)])


@pytest.mark.parametrize("profile", [PureProfile(1), NoPrivacy("the noise is unknown")], ids=str)
def test_a_bound_is_no_event_that_attains_it(profile):
    with pytest.raises(ParameterError, match=r"it is a bound, .*, and an event says what is attained"):
        to_dp_event([(profile, 1)])


def test_a_response_is_an_event():
    event = to_dp_event([(RandomizedResponse(size=2, epsilon=1.0).profile(), 1)])
    assert event.num_buckets == 2
    assert event.noise_parameter == pytest.approx(2 / (1 + math.e))


def test_relations_are_not_mixed():
    with pytest.raises(MixedNeighbours):
        to_dp_event([(GaussianProfile(1.0), 1), (restate(GaussianProfile(1.0), A), 1)])


def test_a_file_holds_an_event_and_the_reader_says_the_relation(file):
    path = file(json.dumps(dp_event_as_dict(TRAINING)), "event.json")
    releases = read_releases(path, "add or remove one")
    assert releases.neighbouring is A
    assert calibrate(releases, 0.5, 1e-6).parameters.keys() == {
        "1: gaussian sigma=1 sampling_rate=0.01 sampling=poisson"
    }
    with pytest.raises(
        ReleaseFileError, match=r"event\.json: .* does not say when two data sets are neighbours"
    ):
        read_releases(path)


def test_reading_needs_no_dp_accounting_and_writing_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    composition = counted({"class_name": "GaussianDpEvent", "noise_multiplier": 1.0}, R)
    with pytest.raises(ImportError, match=r"pip install 'dpwitness\[dp-accounting\]'"):
        to_dp_event(composition)


@settings(max_examples=10, deadline=None)
@given(
    content=damaged(
        dp_event_as_dict(
            dp_event.ComposedDpEvent(
                [TRAINING, dp_event.SingleEpochTreeAggregationDpEvent(2.0, [3, 7]), dp_event.ZCDpEvent(0.5)]
            )
        )
    )
)
def test_a_damaged_tree_is_read_or_refused_in_one_line(content):
    assert len(refusal(lambda: from_dp_event(content, Z)).splitlines()) <= 1


@settings(max_examples=30)
@given(st.lists(st.floats(1e-160, 1e160), min_size=2, max_size=4))
def test_the_noise_of_several_gaussians_is_rounded_down(sigmas):
    """Those of a sample are one whose precision is the sum of theirs: of a little less noise."""
    joint = dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(sigma) for sigma in sigmas])
    ((profile, _),) = counted(dp_event.PoissonSampledDpEvent(0.01, joint), A)
    noise = Fraction(to_dp_event([(profile, 1)]).event.noise_multiplier)
    total = sum(1 / Fraction(sigma) ** 2 for sigma in sigmas)
    assert 1 - Fraction(1, 2**47) <= noise**2 * total <= 1


@settings(max_examples=30)
@given(st.floats(1e-9, 0.999), st.integers(2, 1000))
def test_the_loss_of_a_response_is_rounded_up(p, k):
    ((profile, _),) = counted(dp_event.RandomizedResponseDpEvent(p, k), R)
    with mp.workdps(40):
        exact = mp.log1p(k * (1 - mp.mpf(p)) / mp.mpf(p))
        assert exact <= mp.mpf(float(profile.pure_epsilon)) <= exact * (1 + mp.mpf(2) ** -47)
