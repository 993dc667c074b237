"""Two phases: price, reserve, release, commit; whatever happens between, the charge stays."""

import json
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reopened import reopened

from accountant import (
    Accountant,
    Budget,
    BudgetExceeded,
    ForeignValue,
    Private,
    SensitivityExceeded,
    TheoremMissing,
    Trust,
    TrustViolation,
)
from accountant.rules import clock
from mechanisms import Box, Composed, Gaussian, Interval, Laplace, Sensitivity

HALF = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))


@pytest.fixture
def accountant():
    return Accountant(Budget(1.0), noise=np.random.default_rng(0))


def value(accountant, record="a", size=1):
    return accountant.private([0.5] * size, Box(0, 1, size), record)


def test_a_price_charges_nothing(accountant):
    quote = accountant.price(HALF, value(accountant))
    assert quote.affordable
    assert quote.entries[0].charge.epsilon == Fraction(1, 2)
    assert quote.entries[0].records == ("a",)
    assert str(quote) == "1 record would pay epsilon = 0.5, neighbours: replace one"
    assert len(accountant.ledger) == 0
    assert quote.place.file == __file__


def test_the_whole_way(accountant):
    reservation = accountant.reserve(accountant.price(HALF, value(accountant)))
    assert accountant.spent("a").epsilon == Fraction(1, 2)
    assert reservation.state == "reserved"
    outputs = reservation.release()
    assert outputs.shape == (1, 1)
    reservation.commit()
    assert reservation.state == "committed"
    assert accountant.spent("a").epsilon == Fraction(1, 2)


def test_a_crash_between_the_phases_keeps_the_charge(accountant, tmp_path):
    accountant.reserve(accountant.price(HALF, value(accountant)))
    assert reopened(accountant, tmp_path).spent("a").epsilon == Fraction(1, 2)  # and nothing more happens
    with pytest.raises(RuntimeError), accountant.reserve(accountant.price(HALF, value(accountant))):
        raise RuntimeError("a crash")
    assert accountant.spent("a").epsilon == 1


def test_a_mechanism_that_fails_keeps_the_charge(accountant):
    class Broken(Laplace):
        def release(self, value, noise):
            raise RuntimeError("broken")

    broken = Broken(scale=2.0, sensitivity=Sensitivity(1, 1, 1))
    reservation = accountant.reserve(accountant.price(broken, value(accountant)))
    with pytest.raises(RuntimeError):
        reservation.release()
    with pytest.raises(ValueError, match="released"):
        reservation.cancel()
    assert accountant.spent("a").epsilon == Fraction(1, 2)


def test_cancelling_gives_back_exactly_what_was_charged(accountant):
    accountant.release(Laplace(scale=3.0, sensitivity=Sensitivity(1, 1, 1)), value(accountant))
    before = json.dumps(accountant.to_dict())
    reservation = accountant.reserve(accountant.price(HALF, value(accountant)))
    accountant.release(HALF, value(accountant, "b"))
    assert accountant.worst()[0] == "a"
    reservation.cancel()
    assert accountant.spent("a").epsilon == Fraction(1, 3)
    assert accountant.worst() == ("b", accountant.spent("b"))
    assert [entry.records for entry in accountant.ledger.entries] == [("a",), ("b",)]
    assert before in json.dumps(accountant.to_dict()) or len(accountant.ledger) == 2
    accountant.release(HALF, value(accountant))  # there is room again
    with pytest.raises(BudgetExceeded):
        accountant.release(HALF, value(accountant))


def test_a_context_manager_commits_or_cancels(accountant):
    with accountant.reserve(accountant.price(HALF, value(accountant))) as reservation:
        reservation.release()
    assert reservation.state == "committed"
    with accountant.reserve(accountant.price(HALF, value(accountant))) as reservation:
        pass
    assert reservation.state == "cancelled"
    assert accountant.spent("a").epsilon == Fraction(1, 2)


@pytest.mark.parametrize(
    ("before", "call"),
    [
        ([], "commit"),
        (["release"], "release"),
        (["release"], "cancel"),
        (["release", "commit"], "release"),
        (["release", "commit"], "commit"),
        (["cancel"], "release"),
        (["cancel"], "cancel"),
    ],
)
def test_every_other_order_is_refused(accountant, before, call):
    reservation = accountant.reserve(accountant.price(HALF, value(accountant)))
    for name in before:
        getattr(reservation, name)()
    spent = accountant.spent("a")
    with pytest.raises(ValueError, match="this reservation is"):
        getattr(reservation, call)()
    assert accountant.spent("a") == spent


def test_sums_that_change_must_be_priced_again(accountant):
    sums = accountant.sums(1)
    at = np.zeros((1, 1), int)
    sums.add(value(accountant), at=at)
    quote = accountant.price(HALF, sums)
    sums.add(value(accountant, "b"), at=at)
    with pytest.raises(ValueError, match="price it again"):
        accountant.reserve(quote)
    quote = accountant.price(HALF, sums)
    assert "2 records" in str(quote)
    reservation = accountant.reserve(quote)
    sums.clear(np.ones((1, 1), bool))
    sums.add(value(accountant, "c"), at=at)
    with pytest.raises(ValueError, match="price it again"):
        reservation.release()
    assert accountant.spent("c").epsilon == 0


def test_a_quote_reserved_twice_is_paid_twice(accountant):
    quote = accountant.price(HALF, value(accountant))
    first, second = accountant.reserve(quote), accountant.reserve(quote)
    assert accountant.spent("a").epsilon == 1
    second.cancel()
    assert accountant.spent("a").epsilon == Fraction(1, 2)
    assert not np.array_equal(first.release(), accountant.price(HALF, value(accountant)))
    with pytest.raises(BudgetExceeded):
        [accountant.reserve(quote) for _ in range(2)]


def test_pricing_refuses_what_releasing_would(accountant):
    other = Accountant(Budget(1.0))
    with pytest.raises(ForeignValue):
        accountant.price(HALF, value(other))
    with pytest.raises(ForeignValue):
        accountant.reserve(other.price(HALF, value(other)))
    with pytest.raises(SensitivityExceeded):
        accountant.price(HALF, accountant.private([0.5], Interval(0, 2), "a"))
    with pytest.raises(TheoremMissing):
        accountant.price(Gaussian(sigma=1.0, sensitivity=Sensitivity(1, 1, 1)), value(accountant))
    local = Accountant(Budget(1.0), trust=Trust.LOCAL)
    with pytest.raises(TrustViolation):
        local.price(HALF, value(local) + value(local, "b"))


def test_an_unaffordable_quote_names_the_record(accountant):
    two = Laplace(scale=0.5, sensitivity=Sensitivity(1, 1, 1))
    quote = accountant.price(two, value(accountant, "poor"))
    assert not quote.affordable
    assert quote.refused == "poor"
    with pytest.raises(BudgetExceeded):
        accountant.reserve(quote)


def test_masks_are_kept(accountant):
    wide = Laplace(scale=2.0, sensitivity=Sensitivity(1, 1, 1))
    where = np.array([[False, True]])
    reservation = accountant.reserve(accountant.price(wide, value(accountant, size=2), where))
    where[:] = True  # the caller's array is not the quote's
    outputs = reservation.release()
    assert outputs[0, 0] == 0
    assert outputs[0, 1] != 0


def test_eight_threads_never_reserve_more_than_the_budget():
    """A short switch interval makes a check that is not one step with its charge overspend within a few tries."""
    import sys
    from concurrent.futures import ThreadPoolExecutor

    from accountant import ZeroConcentratedComposition

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for composition in (None, ZeroConcentratedComposition()):
            accountant = Accountant(
                Budget(4.0, 1e-6), composition=composition, noise=np.random.default_rng(0)
            )
            noise = Laplace(scale=8.0, sensitivity=Sensitivity(1, 1, 1))
            quotes = [accountant.price(noise, value(accountant)) for _ in range(120)]

            def attempt(quote, accountant=accountant):
                try:
                    with accountant.reserve(quote) as reservation:
                        reservation.release()
                except BudgetExceeded:
                    return 0
                return 1

            with ThreadPoolExecutor(8) as pool:
                made = sum(pool.map(attempt, quotes))
            assert made == len(accountant.ledger)
            assert accountant.composition.fits(accountant.ledger.spent("a"), accountant.budget)
            assert not accountant.price(noise, value(accountant)).affordable
    finally:
        sys.setswitchinterval(interval)


@pytest.fixture(params=["memory", "store"])
def another(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Accountant]:
    """Return what gives an accountant of the same budgets: the same one in memory, or others on one store."""
    path = None if request.param == "memory" else tmp_path / "ledger.db"
    first = Accountant(Budget(1.0), noise=np.random.default_rng(0), store=path)
    if path is None:
        return lambda: first
    return lambda: Accountant(Budget(1.0), noise=np.random.default_rng(1), store=path)


def entered(accountant: Accountant, value: float, record: str = "ann") -> Private:
    return accountant.private([value], Interval(0, 1), record)


def test_a_reservation_with_a_key_is_drawn_by_a_release_with_it(another: Callable[[], Accountant]) -> None:
    """Whoever draws it: it is charged once, and drawn once for all who ask."""
    one, other = another(), another()
    reserved = [one.reserve(one.price(HALF, entered(one, 0.0)), request="monday") for _ in range(2)]
    assert one.spent("ann").epsilon == Fraction(1, 2)
    shown = other.release(HALF, entered(other, 1.0), request="monday")
    assert (one.release(HALF, entered(one, 1.0), request="monday") == shown).all()
    assert one.spent("ann").epsilon == Fraction(1, 2)
    with pytest.raises(ValueError, match="drawn or given back before"):
        reserved[1].cancel()


def test_a_reservation_of_a_key_and_a_release_with_it_show_the_same(
    another: Callable[[], Accountant],
) -> None:
    one = another()
    reservation = one.reserve(one.price(HALF, entered(one, 0.5)), request="monday")
    shown = reservation.release()
    assert (one.release(HALF, entered(one, 0.5), request="monday") == shown).all()


@pytest.mark.parametrize("request_", [1, True, b"monday", ["monday"], math.nan])
def test_the_key_of_a_request_is_a_text(request_: Any, another: Callable[[], Accountant]) -> None:
    one = another()
    for ask in (
        lambda: one.release(HALF, entered(one, 0.5), request=request_),
        lambda: one.reserve(one.price(HALF, entered(one, 0.5)), request=request_),
    ):
        with pytest.raises(ValueError, match=r"request = .*must be a text"):
            ask()
    assert one.spent("ann").epsilon == 0


@pytest.mark.parametrize("name", ["x" * 2_000, "\U0001f600" * 167])
def test_what_could_not_be_saved_is_refused_in_memory(name: str) -> None:
    one = Accountant(Budget(1.0))
    for record, key in ((name, None), ("ann", name)):
        with pytest.raises(ValueError, match="must have at most 2000 characters as JSON"):
            one.release(HALF, one.private([0.5], Interval(0, 1), record), request=key)
    with pytest.raises(ValueError, match=r"record = a whole number of .*: must have at most"):
        one.private([0.5], Interval(0, 1), 10**5_000)
    one.private([0.5], Interval(0, 1), name[: len(name) - 2])
    assert one.spent("ann").epsilon == 0


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return what lets so many hours pass, or as many come back."""
    passed = [0]
    begun, since = clock.wall(), clock.running()
    monkeypatch.setattr(clock, "wall", lambda: begun + passed[0])
    monkeypatch.setattr(clock, "running", lambda: since + passed[0])

    def wait(hours: float) -> None:
        passed[0] += round(3_600_000 * hours)

    return wait


def test_a_reservation_whose_holder_died_ends_at_its_deadline(
    another: Callable[[], Accountant], hours: Callable[[float], None]
) -> None:
    one, other = another(), another()
    reserved = one.reserve(one.price(HALF, entered(one, 0.5)), seconds=3_600)
    assert reserved.until is not None
    forever = other.reserve(other.price(HALF, entered(other, 0.5)))
    assert forever.until is None
    hours(0.99)
    assert not other.price(HALF, entered(other, 0.5)).affordable
    hours(0.01)
    for ask in (other.remaining_spend, one.spent):
        assert ask("ann").epsilon == Fraction(1, 2)
    assert other.price(HALF, entered(other, 0.5)).affordable
    assert other.remaining_releases(HALF, "ann") == 1
    with pytest.raises(ValueError, match="is given back; it was to be drawn before"):
        reserved.release()
    other.release(HALF, entered(other, 0.5))
    hours(1e6)
    assert forever.release().shape == (1, 1)
    assert one.remaining_spend("ann").epsilon == 0


def test_what_is_drawn_before_its_deadline_stays_charged(
    another: Callable[[], Accountant], hours: Callable[[float], None]
) -> None:
    """Also if the clock is put back, or ahead by years."""
    one, other = another(), another()
    drawn = one.reserve(one.price(HALF, entered(one, 0.5)), seconds=60)
    drawn.release()
    kept = one.reserve(one.price(HALF, entered(one, 0.5)), request="monday", seconds=60)
    again = other.reserve(other.price(HALF, entered(other, 0.5)), request="monday", seconds=1e9)
    assert again.until == kept.until
    other.release(HALF, entered(other, 0.5), request="monday")
    for step in (1.0, -2.0, 1e6):
        hours(step)
        assert other.remaining_spend("ann").epsilon == 0
        with pytest.raises(BudgetExceeded):
            other.release(HALF, entered(other, 0.5))
    with pytest.raises(ValueError, match="was drawn"):
        kept.cancel()


def test_a_reservation_that_has_ended_is_never_drawn_though_the_clock_is_put_back(
    another: Callable[[], Accountant], hours: Callable[[float], None]
) -> None:
    one, other = another(), another()
    ended = one.reserve(one.price(HALF, entered(one, 0.5)), request="monday", seconds=60)
    hours(1)
    other.release(HALF, entered(other, 0.5))
    hours(-2)
    for draw in (ended.release, lambda: other.release(HALF, entered(other, 0.5), request="monday")):
        with pytest.raises(ValueError, match="is given back; it was to be drawn before"):
            draw()
    other.release(HALF, entered(other, 0.5))
    assert other.remaining_spend("ann").epsilon == 0


def test_a_block_that_outlasts_its_reservation_ends_in_peace(
    another: Callable[[], Accountant], hours: Callable[[float], None]
) -> None:
    one = another()
    with one.reserve(one.price(HALF, entered(one, 0.5)), seconds=60) as reserved:
        hours(1)
    assert reserved.state == "cancelled"
    assert one.spent("ann").epsilon == 0


@pytest.mark.parametrize("seconds", [0, -1, math.inf, math.nan, 2e9, "60", True])
def test_a_deadline_is_a_positive_number_of_seconds(seconds: Any, another: Callable[[], Accountant]) -> None:
    one = another()
    with pytest.raises(ValueError, match="seconds"):
        one.reserve(one.price(HALF, entered(one, 0.5)), seconds=seconds)
    assert one.spent("ann").epsilon == 0


def test_the_key_of_a_reservation_is_for_nothing_else(another: Callable[[], Accountant]) -> None:
    one = another()
    kept = one.reserve(one.price(HALF, entered(one, 0.5)), request="kept")
    with pytest.raises(ValueError, match=r"request = 'kept'.*another release"):
        one.release(HALF, entered(one, 0.5, "bob"), request="kept")
    kept.cancel()
    for again in (
        lambda: one.release(HALF, entered(one, 0.5), request="kept"),
        lambda: one.reserve(one.price(HALF, entered(one, 0.5)), request="kept"),
    ):
        with pytest.raises(ValueError, match=r"request = 'kept': reservation [0-9]+ was given back"):
            again()
    one.release(HALF, entered(one, 0.5), request="released")
    with pytest.raises(ValueError, match="request = 'released': this key was used for a release"):
        one.reserve(one.price(HALF, entered(one, 0.5)), request="released")
    assert one.spent("ann").epsilon == Fraction(1, 2)
    assert one.spent("bob").epsilon == 0


def test_an_export_takes_as_long_as_its_ledger(tmp_path):
    """Lines that are run for a reservation that was given back do not grow with how many there are."""

    def lines(count):
        accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
        quote = accountant.price(HALF, value(accountant))
        for _ in range(count):
            accountant.reserve(quote).cancel()
        seen = 0

        def trace(frame, event, argument):
            nonlocal seen
            if "accountant" not in frame.f_code.co_filename:
                return None
            seen += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            accountant.export(tmp_path / "ledger.json")
        finally:
            sys.settrace(before)
        return seen

    few, more, most = lines(50), lines(100), lines(150)
    assert most - more <= 1.1 * (more - few)


@pytest.mark.parametrize("store", [None, "ledger.db"])
@pytest.mark.parametrize("reserved", [False, True])
@pytest.mark.parametrize("stops", [ConnectionError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("masked", [False, True])
def test_a_function_never_sees_two_draws_for_one_charge(tmp_path, store, reserved, stops, masked):
    """It saw another one where it was interrupted (Ctrl-C), and a retry drew once more."""
    gate = Accountant(
        Budget(1.0), noise=np.random.default_rng(0), store=None if store is None else tmp_path / store
    )
    where = np.array([[True]]) if masked else None
    seen = []

    def send(output):
        seen.append(output.item())
        if len(seen) < 3:
            raise stops
        return 10 * output

    sent = HALF >> send >> np.abs
    if reserved:
        gate.reserve(gate.price(sent, entered(gate, 0.5), where), request="monday")
    for _ in range(2):
        with pytest.raises(stops):
            gate.release(sent, entered(gate, 0.5), where, request="monday")
    again = [gate.release(sent, entered(gate, 0.5), where, request="monday").item() for _ in range(2)]
    assert len(seen) == 4
    assert set(seen) == {seen[0]}
    assert again == [10 * abs(seen[0])] * 2
    gate.release(sent, entered(gate, 0.5), where, request="tuesday")
    assert seen[4] != seen[0]
    assert gate.remaining_spend("ann").epsilon == 0
    if store is not None:
        gate.ledger.verify()


def test_functions_of_two_accountants_at_once_see_one_draw(tmp_path):
    """Whoever asked while the first one's function ran drew once more."""
    one, other = (
        Accountant(Budget(1.0), noise=np.random.default_rng(seed), store=tmp_path / "ledger.db")
        for seed in range(2)
    )
    seen = []

    def send(output):
        seen.append(output.item())
        if len(seen) == 1:
            other.release(HALF >> send, entered(other, 0.5), request="monday")
        return output

    outputs = one.release(HALF >> send, entered(one, 0.5), request="monday")
    assert seen == [outputs.item()] * 2
    assert one.spent("ann").epsilon == Fraction(1, 2)


@pytest.mark.parametrize("stops", [ConnectionError, KeyboardInterrupt])
def test_a_draw_that_may_have_been_seen_inside_of_a_mechanism_is_not_drawn_again(stops):
    gate = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    seen = []

    def send(output):
        seen.append(output)
        raise stops

    inside = Composed((HALF >> send,))
    with pytest.raises(stops):
        gate.release(inside, entered(gate, 0.5), request="monday")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"request = 'monday': its draw failed"):
            gate.release(inside, entered(gate, 0.5), request="monday")
    assert len(seen) == 1


def test_a_reservation_that_was_given_back_by_another_is_not_said_to_be_released(
    another: Callable[[], Accountant], hours: Callable[[float], None]
) -> None:
    one = another()
    ended = one.reserve(one.price(HALF, entered(one, 0.5)), seconds=60)
    with pytest.raises(ValueError, match="is given back"), ended:  # noqa: PT012
        hours(1)
        ended.release()
    assert ended.state == "cancelled"
    with pytest.raises(
        ValueError, match="this reservation is cancelled: only a reserved one can be released"
    ):
        ended.release()
    taken = one.reserve(one.price(HALF, entered(one, 0.5)))
    one._take_back(taken.position)  # as an operator or a service does
    with pytest.raises(ValueError, match="given back"):
        taken.release()
    assert taken.state == "cancelled"
