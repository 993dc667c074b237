"""Filters for fully adaptive use: what they charge, when they refuse, what they guarantee."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reopened import reopened
from scipy.stats import norm

from accountant import (
    Accountant,
    AdvancedComposition,
    BasicComposition,
    Budget,
    BudgetExceeded,
    GaussianComposition,
    RenyiComposition,
    TheoremMissing,
    ZeroConcentratedComposition,
)
from accountant.compositions import COMPOSITIONS
from accountant.filters.gaussian_composition import _square_limit
from accountant.filters.renyi import allowance, epsilon_of
from accountant.filters.zero_concentrated import _epsilon_of_rho, _rho_limit
from mechanisms import (
    AtomicProfile,
    Gaussian,
    GaussianProfile,
    Interval,
    Laplace,
    LaplaceProfile,
    PureProfile,
    RandomizedResponse,
    Sensitivity,
    ZeroConcentratedProfile,
)

UNIT = Sensitivity(1, 1, 1)
FILTERS = [
    AdvancedComposition(failures=0.1),
    ZeroConcentratedComposition(),
    RenyiComposition(),
    RenyiComposition(orders=(8.0,)),
    GaussianComposition(),
]
MECHANISMS = [
    Laplace(scale=20.0, sensitivity=UNIT),
    Laplace(scale=2.0, sensitivity=UNIT),
    RandomizedResponse(size=3, epsilon=0.05),
    Gaussian(sigma=20.0, sensitivity=UNIT, delta=1e-9),
    Gaussian(sigma=3.0, sensitivity=UNIT, delta=1e-9),
]


def release(accountant, mechanism, record="a"):
    if mechanism.sensitivity == UNIT and not mechanism.categorical:
        value = accountant.private([0.5], Interval(0, 1), record)
    else:
        from mechanisms import Categories

        value = accountant.private([1], Categories(mechanism.size), record)
    return accountant.release(mechanism, value)


def spend_all(composition, mechanism, budget=None, noise=0):
    accountant = Accountant(
        budget or Budget(2.0, 1e-6), composition=composition, noise=np.random.default_rng(noise)
    )
    for count in itertools.count():
        try:
            release(accountant, mechanism)
        except BudgetExceeded:
            return accountant, count


# --- against the exact loss of what was released -------------------------------------------------


@pytest.mark.few(4)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("composition", FILTERS, ids=lambda c: f"{c.name} {len(getattr(c, 'orders', ()))}")
def test_the_exact_loss_of_everything_released_is_within_the_budget(composition, mechanism):
    """The exact composed profile (Gaussian: closed; finite: convolution; Laplace: certified engine)."""
    from mechanisms.composition.composed_loss import compose

    accountant, count = spend_all(composition, mechanism)
    profile = mechanism.profile(UNIT)
    if count:
        assert compose([(profile, count)]).epsilon(1e-6).upper <= 2.0
    assert accountant.spent("a").epsilon <= 2
    assert accountant.odometer("a").epsilon >= accountant.spent("a").epsilon * Fraction(999, 1000)


def test_the_gaussian_filter_is_exact_for_gaussian_noise():
    """One more release would break the budget: N(0, 1) against N(√n / 20, 1)."""
    accountant, count = spend_all(GaussianComposition(), MECHANISMS[3])
    mu = math.sqrt(count) / 20
    over = math.sqrt(count + 1) / 20

    def delta(mu, epsilon):
        return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)

    assert delta(mu, 2.0) <= 1e-6 < delta(over, 2.0)
    assert float(accountant.spent("a").epsilon) == pytest.approx(GaussianProfile(mu).epsilon(1e-6), rel=1e-9)


def test_the_zcdp_filter_stops_where_the_formula_says():
    """Largest n with inf_α nαρ + conversion <= 2, by a dense scan of orders."""
    _, count = spend_all(ZeroConcentratedComposition(), MECHANISMS[3])
    orders = 1 + np.geomspace(1e-2, 1e4, 200_000)

    def epsilon(n):
        rho = n / 800
        return np.min(orders * rho + (math.log(1e6) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders))

    assert epsilon(count) <= 2 < epsilon(count + 1)


def test_the_advanced_filter_stops_where_the_formula_says():
    _, count = spend_all(AdvancedComposition(), Laplace(scale=100.0, sensitivity=UNIT))

    def epsilon(n):
        return math.sqrt(2 * math.log(1e6) * n * 1e-4) + n * 1e-4 / 2

    assert epsilon(count) <= 2 < epsilon(count + 1)
    _, few = spend_all(AdvancedComposition(), Laplace(scale=2.0, sensitivity=UNIT))
    assert few == 4  # basic composition is better for large losses, and exact


def test_the_advanced_filter_takes_the_better_condition_and_pays_for_deltas():
    budget = Budget(2.0, 1e-6)
    theorem = AdvancedComposition(failures=0.25)
    declared = Fraction(budget.delta) / 4
    exact = theorem.amount((Fraction(2), Fraction(10**6), declared))
    assert theorem.fits(exact, budget)  # the sum of epsilon alone needs no further delta
    assert not theorem.fits(theorem.amount((Fraction(21, 10), Fraction(1), Fraction(0))), budget)
    small = theorem.amount((Fraction(100), Fraction(1, 100), Fraction(0)))
    assert theorem.fits(small, budget)
    assert theorem.fits(theorem.amount((Fraction(100), Fraction(1, 100), declared)), budget)
    over = declared + Fraction(1, 10**30)
    assert not theorem.fits(theorem.amount((Fraction(100), Fraction(1, 100), over)), budget)
    assert not theorem.fits(theorem.amount((Fraction(0), Fraction(0), over)), budget)


def test_one_renyi_order_gets_all_of_delta():
    """Its limit is Proposition 12 of Canonne, Kamath & Steinke at δ itself; two orders have a part each."""
    alone = RenyiComposition(orders=(8.0,))
    budget = Budget(2.0, 1e-6)
    limit = allowance(8.0, 2.0, 1e-6)
    delta = math.exp(7 * (limit - 2.0)) / 7 * (1 - 1 / 8) ** 8
    assert delta == pytest.approx(1e-6, rel=1e-11)
    assert delta <= 1e-6
    just = alone.amount((Fraction(0), Fraction(limit * (1 - 1e-9))))
    above = alone.amount((Fraction(0), Fraction(limit * (1 + 1e-9))))
    assert alone.fits(just, budget)
    assert not alone.fits(above, budget)
    both = RenyiComposition(orders=(8.0, 9.0))
    assert not both.fits(both.amount((Fraction(0), just.values[1], None)), budget)
    half = allowance(8.0, 2.0, 5e-7)
    assert both.fits(both.amount((Fraction(0), Fraction(half * (1 - 1e-9)), None)), budget)


def test_an_infinite_loss_of_small_probability_is_paid_from_delta():
    class Leaky(Laplace):
        def profile(self, sensitivity=None):
            return AtomicProfile((Fraction(1, 10), Fraction(-1, 10)), (0.6, 0.4 - 1e-7), 1e-7)

    leaky = Leaky(scale=1.0, sensitivity=UNIT)
    theorem = RenyiComposition(failures=0.55)
    assert theorem.charge(leaky, UNIT).values[0] == Fraction(1e-7)
    accountant, count = spend_all(theorem, leaky, Budget(50.0, 1e-6))
    assert count == 5  # the sixth would go beyond 0.55 x 1e-6
    with pytest.raises(
        BudgetExceeded, match=r"charges record 'a' delta = 1e-07, and only delta = 5e-08 is left"
    ):
        release(accountant, leaky)
    with pytest.raises(TheoremMissing, match=r"RenyiComposition\(failures=0.1\)"):
        release(Accountant(Budget(50.0, 1e-6), composition=RenyiComposition()), leaky)


# --- conversions ---------------------------------------------------------------------------------


@settings(max_examples=12)
@given(st.floats(1e-6, 50.0), st.floats(1e-12, 0.5))
def test_zcdp_conversions_are_inverse_and_agree_with_the_profile(rho, delta):
    epsilon = _epsilon_of_rho(rho, delta)
    profile = ZeroConcentratedProfile(rho)
    reference = profile.epsilon(delta)
    if reference > profile._chord[0]:  # below it the profile knows more, of the total variation
        assert epsilon == pytest.approx(reference, rel=1e-6, abs=1e-9)
    assert epsilon >= reference * (1 - 1e-10)
    if epsilon > 1e-3:
        assert float(_rho_limit(epsilon, Fraction(delta))) == pytest.approx(rho, rel=1e-6)


@given(st.floats(1.01, 500.0), st.floats(0.01, 20.0), st.floats(1e-12, 0.5))
def test_renyi_conversions_are_inverse(order, epsilon, delta):
    divergence = allowance(order, epsilon, delta)
    assume(divergence > 0)
    assert epsilon_of(order, divergence, delta) == pytest.approx(epsilon, rel=1e-10)
    assert epsilon_of(order, divergence * (1 - 1e-9) - 1e-9, delta) <= epsilon


@given(
    st.one_of(st.floats(1e-7, 1.0), st.floats(1.0, 1e9)),
    st.floats(1e-3, 1e3),
    st.one_of(st.floats(1e-300, 0.9), st.floats(1e-12, 0.9)),
)
def test_renyi_conversions_are_on_the_safe_side_of_40_digits(s, size, delta):
    """At orders next to 1 as well, where 1 - 1/α cancels."""
    order = 1.0 + s
    with mpmath.workdps(40):
        a = mpmath.mpf(order)
        rest = (mpmath.log(mpmath.mpf(delta)) + mpmath.log(a - 1) - a * mpmath.log(1 - 1 / a)) / (a - 1)
        room = 1e-12 * (1 + size + abs(rest) + abs(math.log(delta)) / (order - 1.0))
        assert size + rest - room <= allowance(order, size, delta) <= size + rest
        assert max(0, size - rest) <= epsilon_of(order, size, delta) <= max(0, size - rest) + room


@settings(max_examples=12)
@given(st.floats(0.01, 20.0), st.floats(1e-12, 0.5))
def test_the_gaussian_limit_is_the_largest(epsilon, delta):
    mu = math.sqrt(_square_limit(epsilon, delta))
    assert GaussianProfile(mu * (1 - 1e-13)).delta(epsilon) <= delta * (1 + 1e-12)
    assert GaussianProfile(mu * (1 + 1e-9)).delta(epsilon) > delta


@given(st.floats(1e-5, 30.0), st.sampled_from([LaplaceProfile, PureProfile]))
def test_gaussian_mu_of_pure_losses_dominates(size, kind):
    profile = LaplaceProfile(size, 1.0) if kind is LaplaceProfile else PureProfile(Fraction(size))
    mu = profile.gaussian_mu
    points = np.linspace(0.0, size, 50)
    assert (GaussianProfile(mu).delta(points) >= profile.delta(points) * (1 - 1e-11) - 1e-15).all()
    if size < 10.0:
        assert GaussianProfile(mu * (1 - 1e-6)).delta(0.0) < profile.delta(0.0)  # and no smaller one does


@pytest.mark.slow
@given(st.floats(1e-4, 30.0))
def test_the_rho_of_laplace_noise_bounds_its_renyi_curve_and_no_smaller_one_does(size):
    profile = LaplaceProfile(size, 1.0)
    orders = 1 + np.geomspace(1e-3, 1e3, 60)
    ratio = profile.renyi(orders) / orders
    assert (ratio <= profile.rho * (1 + 1e-9)).all()
    assert ratio[0] >= profile.rho * (1 - 0.01)
    assert profile.rho <= size * size / 2


@settings(max_examples=12)
@given(st.floats(0.01, 20.0), st.floats(1e-12, 0.5), st.sampled_from([1.0, 2**0.5, 3.0, 0.1]))
def test_one_release_calibrated_for_the_budget_fits_and_no_louder_one(epsilon, delta, l2):
    budget = Budget(epsilon, delta)
    theorem = GaussianComposition()
    moved = Sensitivity(l2, l2, l2)
    mechanism = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=moved)
    charge = theorem.charge(mechanism, moved)
    assert theorem.fits(charge, budget)
    assert theorem.guarantee(charge, budget).epsilon <= Fraction(epsilon)
    louder = Gaussian(sigma=mechanism.sigma * (1 - 1e-9), sensitivity=moved)
    assert not theorem.fits(theorem.charge(louder, moved), budget)


def test_a_budget_of_epsilon_zero_has_the_total_variation():
    limit = (
        GaussianComposition().remaining_spend(GaussianComposition().zero_spend, Budget(0.0, 0.25)).values[0]
    )
    assert GaussianProfile(math.sqrt(limit)).delta(0.0) == pytest.approx(0.25, rel=1e-12)


# --- charges -------------------------------------------------------------------------------------


def test_linear_budgets_are_exact():
    """8 x 1/800 fits in 0.01, the ninth does not; in every currency that adds."""
    basic = BasicComposition()
    one = basic.amount((Fraction(1, 800), Fraction(0)))
    total = basic.zero_spend
    for _ in range(8):
        total = total + one
    assert total.epsilon == Fraction(1, 100)
    accountant = Accountant(Budget(0.01), noise=np.random.default_rng(0))
    for _ in range(8):
        release(accountant, Laplace.for_epsilon(1 / 800, sensitivity=UNIT))
    with pytest.raises(BudgetExceeded):
        release(accountant, Laplace.for_epsilon(1 / 800, sensitivity=UNIT))
    theorem = ZeroConcentratedComposition()
    charge = theorem.charge(Gaussian(sigma=20.0, sensitivity=UNIT), UNIT)
    assert charge.values == (Fraction(Gaussian(sigma=20.0, sensitivity=UNIT).profile().rho), 0)


@pytest.mark.parametrize("composition", [*FILTERS, BasicComposition()], ids=lambda c: c.name)
def test_totals_do_not_depend_on_the_order(composition):
    charges = [composition.charge(mechanism, UNIT) for mechanism in MECHANISMS]
    sums = set()
    for order in itertools.permutations(range(len(charges))):
        total = composition.zero_spend
        for i in order:
            total = total + charges[i]
        sums.add(total.values)
    assert len(sums) == 1


@pytest.mark.parametrize("composition", FILTERS, ids=lambda c: c.name)
def test_more_noise_costs_less(composition):
    for make in (
        lambda s: Laplace(scale=s, sensitivity=UNIT),
        lambda s: Gaussian(sigma=s, sensitivity=UNIT, delta=1e-9),
    ):
        loud, quiet = composition.charge(make(10.0), UNIT), composition.charge(make(5.0), UNIT)
        assert all(a <= b for a, b in zip(loud.values, quiet.values, strict=True))
        assert composition.exceeds(quiet, loud)
        assert not composition.exceeds(loud, quiet)


def test_charges_without_a_theorem_say_so():
    unbounded = Gaussian(sigma=1.0, sensitivity=UNIT)

    class Unknown(Gaussian):
        def profile(self, sensitivity=None):
            from mechanisms import NoPrivacy

            return NoPrivacy()

    mechanism = Unknown(sigma=1.0, sensitivity=UNIT)
    for composition in (ZeroConcentratedComposition(), RenyiComposition(), GaussianComposition()):
        accountant = Accountant(Budget(1.0, 1e-6), composition=composition, noise=np.random.default_rng(0))
        with pytest.raises(TheoremMissing, match=composition.name):
            release(accountant, mechanism)
        assert len(accountant.ledger) == 0
    with pytest.raises(TheoremMissing, match="names no delta"):
        release(Accountant(Budget(1.0, 1e-6), composition=AdvancedComposition()), unbounded)
    with pytest.raises(TheoremMissing, match=r"of its own.*AdvancedComposition\(failures=0.1\)"):
        release(Accountant(Budget(1.0, 1e-6), composition=AdvancedComposition()), MECHANISMS[3])


@pytest.mark.parametrize("composition", FILTERS, ids=lambda c: c.name)
def test_a_budget_without_delta_is_refused_at_once(composition):
    with pytest.raises(ValueError, match="delta = 0"):
        Accountant(Budget(1.0), composition=composition)


@pytest.mark.parametrize("composition", FILTERS, ids=lambda c: c.name)
def test_a_declassification_costs_more_than_any_budget(composition):
    accountant = Accountant(Budget(10.0, 0.5), composition=composition)
    value = accountant.private([0.5], Interval(0, 1), "a")
    with pytest.raises(BudgetExceeded):
        accountant.declassify(value, "a test")
    unlimited = Accountant(Budget(math.inf, 1e-6), composition=composition)
    unlimited.declassify(unlimited.private([0.5], Interval(0, 1), "a"), "a test")
    assert unlimited.spent("a").epsilon is None
    assert unlimited.odometer("a").epsilon is None
    assert unlimited.worst() == ("a", unlimited.spent("a"))
    assert "∞" in str(unlimited.summary())


@pytest.mark.parametrize("orders", [(), (1.0,), (2.0, 2.0), (3.0, 2.0), (math.inf,), (2.0, math.nan)])
def test_orders_must_increase_above_one(orders):
    with pytest.raises(ValueError, match="orders"):
        RenyiComposition(orders=orders)


# --- numbers that no theorem supports, and odometers ---------------------------------------------


@pytest.mark.parametrize("composition", [*FILTERS, BasicComposition()], ids=lambda c: c.name)
def test_guarantee_at_the_budgets_delta_is_its_epsilon(composition):
    accountant = Accountant(Budget(2.0, 1e-6), composition=composition)
    assert accountant.guarantee().upper == pytest.approx(2.0, rel=1e-9)
    assert accountant.guarantee(0.1).upper < 2.0
    if not isinstance(composition, GaussianComposition):
        with pytest.raises(TheoremMissing, match="declare a plan"):
            accountant.guarantee(1e-9)
    with pytest.raises(TheoremMissing, match="declare a plan"):
        accountant.guarantee(0.0)
    with pytest.raises(ValueError, match="delta"):
        accountant.guarantee(1.0)


def test_the_gaussian_filter_promises_a_whole_curve():
    accountant = Accountant(Budget(2.0, 1e-6), composition=GaussianComposition())
    mu = math.sqrt(_square_limit(2.0, 1e-6))
    assert accountant.guarantee(1e-9).upper == pytest.approx(GaussianProfile(mu).epsilon(1e-9), rel=1e-9)


def test_an_odometer_of_sums_is_the_sum():
    accountant = Accountant(Budget(2.0, 1e-6), noise=np.random.default_rng(0))
    release(accountant, Laplace(scale=4.0, sensitivity=UNIT))
    assert accountant.odometer("a").epsilon == Fraction(1, 4)
    assert accountant.odometer("b").epsilon == 0
    release(accountant, Gaussian(sigma=10.0, sensitivity=UNIT, delta=1e-7))
    with pytest.raises(TheoremMissing, match="another theorem"):
        accountant.odometer("a", 1e-8)


@pytest.mark.parametrize(
    "theorem",
    [AdvancedComposition(), ZeroConcentratedComposition(), GaussianComposition(), RenyiComposition()],
)
def test_who_has_lost_nothing_reads_nothing(theorem):
    """Not what chance may add to a loss that is none: 0.004 at δ = 1e-6."""
    assert theorem.odometer(theorem.zero_spend, 1e-6).epsilon == 0
    spent = theorem.charge(Laplace(scale=1e6), Sensitivity(1, 1, 1))
    assert theorem.odometer(spent, 1e-6).epsilon > 0


def test_odometers_cover_the_loss_at_a_moment_chosen_by_the_loss():
    """Stop when the loss is largest compared with the odometer; it exceeds it in at most a share δ of runs.

    20,000 runs of 40 Gaussian releases, δ = 0.05: the count is binomial with mean at most 1,000, and more
    than 1,140 has probability below 1e-4 even at equality.
    """
    theorem = ZeroConcentratedComposition()
    sigma, runs, rounds, delta = 4.0, 20_000, 40, 0.05
    rng = np.random.default_rng(12)
    losses = (1 / sigma * rng.standard_normal((runs, rounds)) + 1 / (2 * sigma**2)).cumsum(axis=1)
    charge = theorem.charge(Gaussian(sigma=sigma, sensitivity=UNIT), UNIT)
    total, bounds = theorem.zero_spend, []
    for _ in range(rounds):
        total = total + charge
        bounds.append(float(theorem.odometer(total, delta).epsilon))
    exceeded = (losses > np.array(bounds)).any(axis=1).sum()
    assert exceeded <= 1_140
    flat = (losses > float(theorem.guarantee(total, Budget(100.0, delta)).epsilon)).any(axis=1).sum()
    assert flat > 0  # the test could fail: some runs do go far


# --- saving --------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("composition", FILTERS, ids=lambda c: c.name)
def test_save_and_load_reproduce_every_number(composition, tmp_path):
    accountant = Accountant(Budget(5.0, 1e-6), composition=composition, noise=np.random.default_rng(0))
    for record, mechanism in itertools.product("ab", MECHANISMS[:4]):
        release(accountant, mechanism, record)
    release(accountant, MECHANISMS[0], "b")
    again = reopened(accountant, tmp_path, noise=np.random.default_rng(0))
    assert again.composition == accountant.composition
    assert again.to_dict() == accountant.to_dict()
    for record in "ab":
        assert again.ledger.spent(record) == accountant.ledger.spent(record)
        assert again.spent(record) == accountant.spent(record)
        assert again.remaining_spend(record) == accountant.remaining_spend(record)
    assert again.worst() == accountant.worst()
    assert accountant.worst()[0] == "b"
    assert composition.name in COMPOSITIONS


def test_a_spend_is_never_negative():
    with pytest.raises(ValueError, match="negative"):
        ZeroConcentratedComposition().amount((Fraction(-1), Fraction(0)))
    with pytest.raises(ValueError, match="numbers"):
        RenyiComposition().amount((Fraction(0),))


@settings(max_examples=30)
@given(st.lists(st.sampled_from(range(len(MECHANISMS))), max_size=30))
def test_what_is_left_plus_what_is_spent_is_the_limit(choices):
    budget = Budget(3.0, 1e-6)
    for composition in (ZeroConcentratedComposition(), GaussianComposition()):
        total = composition.zero_spend
        for i in choices:
            total = total + composition.charge(MECHANISMS[i], UNIT)
        limit = composition.remaining_spend(composition.zero_spend, budget)
        left = composition.remaining_spend(total, budget)
        if composition.fits(total, budget):
            assert left.values[0] + total.values[0] == limit.values[0]
        else:
            assert left.values[0] == 0 or total.values[0] <= limit.values[0]
