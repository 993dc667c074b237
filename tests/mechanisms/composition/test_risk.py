"""Error rates of attacks: certified ends against closed forms and against likelihood-ratio tests."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from accountant import (
    attack_accuracy,
    compose,
    membership_advantage,
    posterior,
    reconstruction_success,
    risk_of,
    trade_off,
    true_positive_rate,
)
from mechanisms import (
    GaussianProfile,
    LaplaceProfile,
    Neighbouring,
    ParameterError,
    PrivacyProfile,
    RandomizedResponse,
)
from mechanisms.amplification.sampled_group import SampledGroupDirection
from mechanisms.composition import risk
from mechanisms.composition.composed_loss import ComposedLoss
from mechanisms.composition.enclosure import Bound, Enclosure
from mechanisms.composition.least_noise import least_noise, least_noise_for_risk
from mechanisms.composition.risk import Risk, true_positive_rate_at_most
from mechanisms.losses.atomic_loss import AtomicLoss
from mechanisms.profiles.bounding_profiles import response_atoms
from mechanisms.profiles.fixed_size import FixedSizeProfile
from mechanisms.profiles.related_profile import RelatedProfile
from mechanisms.profiles.subsampled import SubsampledDirection, SubsampledProfile


def sampled(base: PrivacyProfile, rate: float) -> PrivacyProfile:
    return SubsampledProfile(RelatedProfile(base, Neighbouring.ADD_OR_REMOVE), rate)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    mu=st.floats(1e-3, 6.0), count=st.integers(1, 1000), rate=st.floats(-6.0, -0.05).map(lambda x: 10.0**x)
)
def test_gaussians_have_their_closed_form(mu: float, count: int, rate: float) -> None:
    loss = compose([(GaussianProfile(mu / math.sqrt(count)), count)])
    found = true_positive_rate(loss, rate)
    exact = float(ndtr(ndtri(rate) + mu))
    assert found.lower * (1.0 - 1e-9) <= exact <= found.upper * (1.0 + 1e-9)
    assert found.width <= 1e-5 * found.upper
    assert true_positive_rate_at_most(loss, rate) <= found.upper * (1.0 + 1e-6)
    advantage = membership_advantage(loss)
    assert advantage.lower - 1e-12 <= 2.0 * float(ndtr(mu / 2.0)) - 1.0 <= advantage.upper + 1e-12


def best_test(p: np.ndarray, q: np.ndarray, false: float) -> float:
    """Neyman & Pearson: take outcomes by falling likelihood ratio, the last one with a probability."""
    order = np.argsort(-p / q)
    falses = np.concatenate([[0.0], np.cumsum(q[order])])
    trues = np.concatenate([[0.0], np.cumsum(p[order])])
    return float(np.interp(false, falses, trues))


FALSE = (1e-4, 0.03, 0.4)


def test_randomized_response_by_the_best_test_itself() -> None:
    base = RandomizedResponse(size=3, epsilon=1.0).profile()
    loss = base.loss()
    assert isinstance(loss, AtomicLoss)
    first = np.array(loss.probabilities)
    second = first * np.exp(-np.array([float(own) for own in loss.losses]))
    p, q = np.ones(1), np.ones(1)
    for _ in range(4):
        p, q = np.outer(p, first).ravel(), np.outer(q, second).ravel()
    for false in FALSE:
        found = true_positive_rate(compose([(base, 4)]), false)
        assert found.lower * (1.0 - 1e-9) <= best_test(p, q, false) <= found.upper * (1.0 + 1e-9)
        assert found.width <= 1e-4 * found.upper


def test_sampled_laplace_noise_by_the_best_test_itself() -> None:
    """On a fine lattice of outcomes; adding and removing a record differ, and the larger rate counts."""
    x = np.linspace(-40.0, 41.0, 400_001)
    q = np.exp(-np.abs(x) / 1.7)
    p = 0.3 * np.exp(-np.abs(x - 1.0) / 1.7) + 0.7 * q
    p, q = p / p.sum(), q / q.sum()
    profile = sampled(LaplaceProfile(1.0, 1.7), 0.3)
    for false in FALSE:
        best = max(best_test(p, q, false), best_test(q, p, false))
        found = true_positive_rate(compose([(profile, 1)]), false)
        assert found.lower * (1.0 - 3e-4) <= best <= found.upper * (1.0 + 3e-4)
        assert found.width <= 1e-4 * found.upper


def test_the_notes_of_an_independent_prototype() -> None:
    loss = compose([(LaplaceProfile(1.0, 20.0), 1000)])
    for rate, known in ((0.1, 0.6128281), (1e-3, 0.0639242), (1e-5, 0.0034859)):
        found = true_positive_rate(loss, rate)
        assert found.lower - 5e-8 <= known <= found.upper + 5e-8


def test_the_other_numbers_follow() -> None:
    loss = compose([(GaussianProfile(1.0), 1)])
    advantage = membership_advantage(loss)
    accuracy = attack_accuracy(loss)
    assert accuracy.lower == pytest.approx(0.5 + advantage.lower / 2.0, abs=1e-12)
    # The best accuracy at prior p is the largest of p TPR + (1-p) (1-FPR) over all points of the curve.
    rates = np.concatenate([np.geomspace(1e-9, 1e-3, 3000), np.linspace(1e-3, 0.9999, 4001)])
    for prior in (0.02, 0.3, 0.8):
        best = float(np.max(prior * ndtr(ndtri(rates) + 1.0) + (1.0 - prior) * (1.0 - rates)))
        found = attack_accuracy(loss, prior)
        assert best <= found.upper
        assert found.lower == pytest.approx(max(best, prior, 1.0 - prior), abs=1e-6)
    point = trade_off(loss, 0.1)
    assert point.lower <= float(1.0 - ndtr(ndtri(0.1) + 1.0)) <= point.upper
    assert reconstruction_success(loss, 1e-3) == true_positive_rate(loss, 1e-3)
    assert posterior(0.5, 0.01, 0.1) == pytest.approx(0.05 / 0.059)
    risk = risk_of(loss, (0.1,))
    assert risk.advantage == advantage
    assert risk.accuracy.lower == accuracy.lower
    assert 0.5 + 0.5 * advantage.upper <= risk.accuracy.upper <= accuracy.upper
    assert risk.true_positive_rates == {0.1: true_positive_rate(loss, 0.1)}


def test_extremes() -> None:
    assert true_positive_rate(compose([]), 0.25).upper == 0.25
    assert membership_advantage(compose([])).upper == 0.0
    open_book = true_positive_rate(compose([(LaplaceProfile(1.0, 0.01), 1)]), 1e-5)
    assert open_book.lower > 1.0 - 1e-9
    for rate in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError, match="false_positive_rate"):
            true_positive_rate(compose([(GaussianProfile(1.0), 1)]), rate)
    with pytest.raises(ParameterError, match="prior"):
        attack_accuracy(compose([]), 0.0)
    for true, false, name in ((1.5, 0.1, "true_positive"), (0.5, 0.0, "false_positive")):
        with pytest.raises(ParameterError, match=name):
            posterior(true, false, 0.5)


def test_the_least_noise_for_a_risk() -> None:
    """Of n Gaussians μ√n = Φ⁻¹(TPR) - Φ⁻¹(FPR); of an advantage a, μ√n = 2 Φ⁻¹((1 + a)/2)."""

    def compositions(factor: float) -> list[list[tuple[PrivacyProfile, int]]]:
        return [[(GaussianProfile(1.0 / factor), 25)]]

    factor = least_noise_for_risk(compositions, 0.02, 0.001)
    assert factor == pytest.approx(5.0 / float(ndtri(0.02) - ndtri(0.001)), rel=1e-6)
    assert true_positive_rate_at_most(compose(compositions(factor)[0]), 0.001) <= 0.02
    factor = least_noise(compositions, 0.0, 0.1)
    assert factor == pytest.approx(5.0 / (2.0 * float(ndtri(0.55))), rel=1e-6)
    with pytest.raises(ParameterError, match="true_positive_rate"):
        least_noise_for_risk(compositions, 0.001, 0.02)


@pytest.mark.slow
def test_neighbouring_epsilons_share_contours() -> None:
    loss = compose([(sampled(GaussianProfile(1.0), 0.02), 400), (sampled(LaplaceProfile(1.0, 9.0), 0.1), 30)])
    for epsilon in np.linspace(0.0, 3.0, 25):
        fresh = compose(loss.releases)
        shared = loss.directed_delta(float(epsilon), width=1e-9)
        for own, alone in zip(shared, fresh.directed_delta(float(epsilon), width=1e-9), strict=True):
            own.intersect(alone)
            assert own.width <= max(1e-6 * own.upper, 1.01 * alone.width)
    assert 2 <= sum(len(direction._contours) for direction in loss.directions) <= 20


def test_where_lines_cancel_the_lower_end_is_below() -> None:
    """Two randomized responses at the kink of their profile: it was above by 2e-12 of itself."""
    epsilon, k = 1.5032328955790986, 1.0508709819664746e-06
    rate = true_positive_rate(compose([(response_atoms(Fraction(epsilon), 0.0, ""), 2)]), k)
    with mp.workdps(40):
        best = k * mp.exp(2 * mp.mpf(epsilon))  # of both answers: likelier by e^{2ε}
        assert rate.lower <= best <= rate.upper
    assert rate.width < 1e-5 * rate.upper


@pytest.mark.slow
def test_lower_ends_of_samples_of_fixed_size_are_what_data_sets_attain() -> None:
    """δ of three randomized responses on one of two records, as test_sampling.py counts it, bounds every attack."""
    worst = {
        0.0: 0.3465878679450075,
        0.3: 0.2596121845745506,
        0.6: 0.1755103901140026,
        1.0: 0.0844586780367604,
    }
    loss = compose([(FixedSizeProfile(RandomizedResponse(epsilon=1.0, size=2).profile(), 0.5), 3)])
    accuracy = attack_accuracy(loss)
    assert accuracy.lower <= 0.5 + 0.5 * worst[0.0] + 1e-12 < accuracy.upper
    for rate in (0.01, 0.1, 0.3):
        found = true_positive_rate(loss, rate)
        assert rate < found.lower <= min(delta + math.exp(x) * rate for x, delta in worst.items()) + 1e-12


@pytest.mark.parametrize("added", [False, True])
def test_one_direction_alone_is_bounded_by_its_own_best_tests(added: bool) -> None:
    """The reverse of a removed record is an added one: its curve was taken for the removed one's below ε = 0."""
    q, mu = 0.1, 2.0
    base = RelatedProfile(GaussianProfile(mu), Neighbouring.ADD_OR_REMOVE)
    loss = compose([(SubsampledDirection(base, q, added), 1)])
    at = np.linspace(-12.0, 12.0, 241)
    sampled, without = (1.0 - q) * ndtr(-at) + q * ndtr(mu - at), ndtr(-at)
    hits, alarms = (1.0 - without, 1.0 - sampled) if added else (sampled, without)
    for rate, true in zip(alarms[60:200:20], hits[60:200:20], strict=True):
        found = true_positive_rate(loss, float(rate))
        assert found.lower <= true * (1 + 1e-9)
        assert true * (1 - 1e-12) <= found.upper <= true * (1 + 1e-6) + 1e-9
    for prior in (0.3, 0.7):
        best = float(np.max(prior * hits + (1.0 - prior) * (1.0 - alarms)))
        assert best * (1 - 1e-12) <= attack_accuracy(loss, prior).upper <= best + 1e-3


@pytest.mark.parametrize("added", [False, True])
def test_one_direction_beside_what_knows_both_is_bounded_too(added: bool) -> None:
    """Of an added record beside a profile with both directions, the curve of a removed one alone was looked at."""
    both = sampled(response_atoms(Fraction(1), 0.0, ""), 0.1)
    side = both.directions()[int(added)]
    alone, beside = compose([(side, 2)]), compose([(side, 1), (both, 1)])
    for prior in (0.45, 0.55):
        assert attack_accuracy(beside, prior).upper >= attack_accuracy(alone, prior).lower


def test_directions_of_a_group_do_not_mix() -> None:
    base = RelatedProfile(GaussianProfile(1.0), Neighbouring.ADD_OR_REMOVE)
    sides = [SampledGroupDirection(base, 0.1, 2, added) for added in (False, True)]
    with pytest.raises(ParameterError, match="no pair of data sets has both"):
        compose([(side, 1) for side in sides])


@pytest.mark.slow_cells("1e-300-1e-300")
@pytest.mark.few(5)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mu", [1e-300, 1e-15, 1e-12, 40.0, 1e6])
@pytest.mark.parametrize("rate", [1e-300, 0.5, 1.0 - 1e-16])
def test_the_smallest_losses_and_rates(mu: float, rate: float) -> None:
    """Nodes that are one float made lines of a slope of 0/0; 1/rate overflowed; δ(0) + rate was rounded down."""
    loss = compose([(GaussianProfile(mu), 1)])
    found = true_positive_rate(loss, rate)
    with mp.workdps(400):
        if rate == 0.5:
            true = mp.ncdf(mu)
            assert found.lower <= true <= found.upper
            assert true <= true_positive_rate_at_most(loss, rate)
    assert rate * (1 - 1e-11) <= found.lower <= found.upper <= 1.0


@pytest.mark.parametrize(
    "number",
    [
        lambda loss: true_positive_rate(loss, 1e-301),
        lambda loss: true_positive_rate_at_most(loss, 1e-301),
        lambda loss: trade_off(loss, 1e-301),
        lambda loss: risk_of(loss, (1e-301,)),
    ],
)
def test_rates_whose_inverse_is_no_float_are_refused(number) -> None:
    with pytest.raises(ParameterError, match=r"false_positive_rate = 1e-301: must be at least 1e-300"):
        number(compose([(GaussianProfile(40.0), 1)]))
    with pytest.raises(ParameterError, match=r"without = 1e-301: must be at least 1e-300"):
        reconstruction_success(compose([(GaussianProfile(40.0), 1)]), 1e-301)


def test_a_rate_near_one_has_a_narrow_interval() -> None:
    """The best ε is a little below 0, of the size of μ: it was looked for among 40 of them."""
    found = true_positive_rate(compose([(GaussianProfile(1e-3), 1)]), 0.9)
    true = float(ndtr(ndtri(0.9) + 1e-3))
    assert (
        true - 1e-6 * (true - 0.9) - 1e-9 <= found.lower <= true <= found.upper <= true + 1e-6 * (true - 0.9)
    )


def test_guessing_is_a_lower_end_exactly() -> None:
    for prior in (0.1, 0.3, 1e-17, 0.001):
        assert Fraction(attack_accuracy(compose([]), prior).lower) <= max(
            Fraction(prior), 1 - Fraction(prior)
        )


def test_a_posterior_of_the_smallest_floats() -> None:
    assert posterior(0.0, 5e-324, 1.0 - 1e-16) == 0.0
    true, false, prior = 1e-200, 1e-200, 1e-200  # products are no floats
    assert posterior(true, false, prior) == pytest.approx(prior, rel=1e-15)
    exact = (
        Fraction(0.7) * Fraction(0.3) / (Fraction(0.7) * Fraction(0.3) + (1 - Fraction(0.3)) * Fraction(0.1))
    )
    assert Fraction(posterior(0.7, 0.1, 0.3)) >= exact
    assert Fraction(math.nextafter(posterior(0.7, 0.1, 0.3), 0.0)) < exact


def test_after_a_deadline_a_risk_takes_one_curve_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one of 60 points was asked for, each of which may take a tenth of a second."""
    asked = []
    whole = ComposedLoss.directed_delta

    def counted(self: ComposedLoss, epsilon: float, **how: object) -> tuple[Enclosure, ...]:
        asked.append(epsilon)
        return whole(self, epsilon, **how)

    monkeypatch.setattr(ComposedLoss, "directed_delta", counted)
    monkeypatch.setattr(risk, "time_is_over", lambda: True)
    found = true_positive_rate(compose([(GaussianProfile(1.0), 1)]), 0.01)
    assert set(asked) == {0.0, -math.log(0.01)}
    assert found.lower <= float(ndtr(ndtri(0.01) + 1.0)) <= found.upper < 1.0


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.07), (0.0, 1e-300), (1e-9, 1e-6), (0.7, 0.01), (3.0, 0.2), (800.0, 1e-6)]
)
def test_risks_are_bounded_by_one_delta_as_its_worst_pair_has_them(epsilon: float, delta: float) -> None:
    share = 1.0 / (1.0 + math.exp(-epsilon))
    p = np.array([delta, (1.0 - delta) * share, (1.0 - delta) * (1.0 - share), 0.0])
    q, unknown = p[::-1], Bound(1.0, "nothing")
    rates = (*FALSE, 1e-5, 1e-9)
    found = Risk(unknown, unknown, dict.fromkeys(rates, unknown), ((0.0, 1.0), (900.0, 1.0)))
    found = found.within(epsilon, delta)
    advantage = float(np.sum(np.maximum(p - q, 0.0)))
    assert advantage <= found.advantage.upper <= advantage + 1e-14
    assert 0.5 + 0.5 * advantage <= found.accuracy.upper <= 0.5 + 0.5 * advantage + 1e-14
    with np.errstate(divide="ignore"):
        for false in FALSE:
            best = best_test(p, q, false)
            assert best * (1.0 - 1e-14) <= found.true_positive_rates[false].upper <= best + 1e-14
    assert all(found.true_positive_rates[false].upper >= false for false in rates)  # as guessing does
    assert found.profile == ((0.0, found.advantage.upper), (900.0, delta))
    assert found.within(0.0, 1.0) == found
