"""Every exit of an accountant examines, charges and draws its own copy, and says what it rests on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reopened import reopened

from accountant import (
    Accountant,
    AssumptionRefused,
    BasicComposition,
    Budget,
    Coupled,
    Plan,
    PlanStep,
    Private,
)
from accountant.refusals import ForeignValue
from mechanisms import (
    AssumptionKind,
    Box,
    Composed,
    Interval,
    LaneStreams,
    Laplace,
    Mechanism,
    NumpyNoise,
    OpenDPNoise,
    Repeated,
    Sensitivity,
    from_opendp,
    to_opendp,
)
from mechanisms.noise.mechanism import BuiltInMechanism

SHARE = Interval(0, 1)
OWN = Laplace(scale=2.0)


class TooQuiet(Laplace):
    def release(self, value: Any, noise: Any) -> Any:
        return np.asarray(value, dtype=np.float64)


class HalfBox(Box):
    @property
    def sensitivity(self) -> Sensitivity:
        return super().sensitivity.multiply_by(0.5)


class HalfPrice(BasicComposition):
    def charge(self, mechanism: Any, sensitivity: Any) -> Any:
        return super().charge(Laplace(scale=mechanism.scale * 2.0), sensitivity)


class Free(Accountant):
    def _pay(self, entries: Any, place: Any) -> None:
        pass


class Lenient(Plan):
    pass


class Generous(Budget):
    pass


class Silent(NumpyNoise):
    secure = True  # so it says

    def laplace(self, location: Any, scale: Any) -> Any:
        return np.asarray(location)


def opened(**settings: Any) -> Accountant:
    """Make an accountant whose noise rests on nothing."""
    return Accountant(Budget(10.0), **settings)


Exit = Callable[[Accountant, Mechanism, Private], Any]


def by_release(accountant: Accountant, mechanism: Mechanism, value: Private) -> Any:
    return accountant.release(mechanism, value)


def by_reservation(accountant: Accountant, mechanism: Mechanism, value: Private) -> Any:
    with accountant.reserve(accountant.price(mechanism, value)) as reservation:
        return reservation.release()


def by_sums(accountant: Accountant, mechanism: Mechanism, value: Private) -> Any:
    sums = accountant.sums(1)
    sums.add(value, np.array([[0]]), release=mechanism)
    return accountant.release(mechanism, sums)


every_exit = pytest.mark.parametrize("leave", [by_release, by_reservation, by_sums])


def nested(leaf: Mechanism) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.just(leaf),
        lambda inner: st.one_of(
            inner.map(lambda one: Composed((one, one))),
            st.builds(Repeated, inner, st.integers(1, 2)),
            inner.map(lambda one: one >> np.negative),  # type: ignore[attr-defined]
        ),
        max_leaves=4,
    )


@pytest.mark.few(1)
@every_exit
@given(nested(TooQuiet(scale=2.0)))
@settings(max_examples=25, deadline=None)
def test_no_exit_lets_a_users_mechanism_out_unsaid(leave: Exit, mechanism: Mechanism) -> None:
    accountant = Accountant(Budget(1000.0))
    leave(accountant, mechanism, accountant.private([1.0], SHARE, "ann"))
    assert [each.kind for each in accountant.assumptions] == [AssumptionKind.FOREIGN_CLASS]
    assert "TooQuiet" in accountant.assumptions[0].message
    assert "TooQuiet" in str(accountant.summary())


@pytest.mark.slow_cells("by_release")
@every_exit
@given(nested(OWN))
@settings(max_examples=25, deadline=None)
def test_our_own_mechanisms_leave_without_assumptions(leave: Exit, mechanism: Mechanism) -> None:
    accountant = Accountant(Budget(1000.0), strict=True)
    leave(accountant, mechanism, accountant.private([1.0], SHARE, "ann"))
    assert accountant.assumptions == ()


@every_exit
def test_strict_refuses_and_charges_nothing(leave: Exit) -> None:
    accountant = opened(strict=True)
    value = accountant.private([1.0], SHARE, "ann")
    with pytest.raises(AssumptionRefused, match="rests on: the privacy profile of your class TooQuiet"):
        leave(accountant, Repeated(TooQuiet(scale=2.0), 2), value)
    assert len(accountant.ledger) == 0
    assert accountant.assumptions == ()
    by_release(accountant, OWN, value)  # and goes on with what is proved


def test_strict_refuses_domains_functions_of_declared_stability_and_measurements() -> None:
    accountant = opened(strict=True)
    with pytest.raises(AssumptionRefused, match="the widths of your class HalfBox are correct"):
        accountant.private([1.0, 1.0], HalfBox(0, 1, 2), "ann")
    value = accountant.private([1.0], SHARE, "ann")
    with pytest.raises(AssumptionRefused, match="HalfBox"):
        value.map(lambda values: values, into=HalfBox(0, 1, 1))
    with pytest.raises(
        AssumptionRefused, match=r"your function .*lambda.* in map depends on nothing but its argument"
    ):
        value.map(lambda values: values / 2, stability=0.5)
    with pytest.raises(AssumptionRefused, match="OpenDP measurement"):
        accountant.release(from_opendp(to_opendp(OWN), 1.0), value)
    assert len(accountant.ledger) == 0


@pytest.mark.parametrize(
    ("kind", "settings", "name"),
    [
        (Accountant, {"composition": HalfPrice()}, "HalfPrice"),
        (Accountant, {"plan": Lenient((PlanStep(OWN, 1),))}, "Lenient"),
        (Accountant, {"plan": Plan((PlanStep(TooQuiet(scale=2.0), 1),))}, "TooQuiet"),
        (Accountant, {"noise": Silent(np.random.default_rng(0))}, "Silent"),
        (Accountant, {"budget": Generous(1.0)}, "Generous"),
        (Free, {}, "Free"),
    ],
)
def test_what_an_accountant_is_made_of_is_a_part_too(kind: Any, settings: dict[str, Any], name: str) -> None:
    given_settings = {"budget": Budget(10.0), **settings}
    assert [name in each.message for each in kind(**given_settings).assumptions] == [True]
    with pytest.raises(AssumptionRefused, match=name):
        kind(**given_settings, strict=True)


@every_exit
def test_what_is_patched_between_price_and_draw_is_without_effect(leave: Exit) -> None:
    accountant = opened()
    mechanism = Laplace(scale=2.0)
    reservation = accountant.reserve(accountant.price(mechanism, accountant.private([1.0], SHARE, "ann")))
    object.__setattr__(mechanism, "release", lambda value, noise: value)
    object.__setattr__(mechanism, "scale", 1e-9)
    assert abs(reservation.release()[0, 0] - 1.0) > 1e-3
    entry = accountant.ledger.entries[0]
    assert entry.mechanism == Laplace(scale=2.0)


@every_exit
def test_a_parameter_that_changed_is_charged_as_it_is(leave: Exit) -> None:
    accountant = opened()
    mechanism = Laplace(scale=2.0)
    leave(accountant, mechanism, accountant.private([1.0], SHARE, "ann"))
    object.__setattr__(mechanism, "scale", 0.5)
    leave(accountant, mechanism, accountant.private([1.0], SHARE, "bob"))
    assert float(accountant.spent("ann").epsilon) == 0.5
    assert float(accountant.spent("bob").epsilon) == 2.0


def test_a_noise_source_patched_after_construction_is_without_effect() -> None:
    source = NumpyNoise(np.random.default_rng(0))
    accountant = opened(noise=source)
    source.laplace = lambda location, scale: location  # type: ignore[method-assign]
    assert accountant.release(OWN, accountant.private([1.0], SHARE, "ann"))[0, 0] != 1.0
    with mock.patch.object(NumpyNoise, "laplace", lambda self, location, scale: location):
        accountant.release(OWN, accountant.private([1.0], SHARE, "bob"))
    assert [each.kind for each in accountant.assumptions] == [AssumptionKind.SEEDED, AssumptionKind.PATCHED]


def test_a_class_patched_for_one_release_is_on_record() -> None:
    accountant = opened()
    with mock.patch.object(Laplace, "release", lambda self, value, noise: np.asarray(value)):
        accountant.release(OWN, accountant.private([1.0], SHARE, "ann"))
    accountant.release(OWN, accountant.private([1.0], SHARE, "ann"))
    assert [str(each) for each in accountant.assumptions] == [
        "the replacement of Laplace.release does the same"
    ]


@contextlib.contextmanager
def rewritten(function: Any) -> Iterator[None]:
    code = function.__code__
    function.__code__ = (lambda self, value, more: value).__code__
    try:
        yield
    finally:
        function.__code__ = code


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda: mock.patch.object(Laplace, "profile"), "Laplace.profile"),
        (lambda: mock.patch.object(Sensitivity, "covers", return_value=True), "Sensitivity.covers"),
        (lambda: mock.patch.object(BuiltInMechanism, "to_dict"), "BuiltInMechanism.to_dict"),
        (lambda: mock.patch.object(NumpyNoise, "laplace", lambda self, at, scale: at), "NumpyNoise.laplace"),
        (lambda: rewritten(Laplace.release), "Laplace.release"),
        (
            lambda: mock.patch.dict(Laplace.__init__.__kwdefaults__ or {}, sensitivity=None),
            "Laplace.__init__",
        ),
        (lambda: mock.patch.object(Laplace, "more", 1, create=True), "Laplace.more"),
    ],
)
def test_what_is_patched_after_many_releases_is_on_record(change: Any, named: str) -> None:
    """What a mechanism was found to be at its last release is not believed at the next."""
    accountant, mechanism = opened(noise=np.random.default_rng(0)), Laplace(scale=64.0)
    for _ in range(4):
        accountant.release(mechanism, accountant.private([1.0], SHARE, "ann"))
    before = accountant.assumptions
    with change():
        accountant.release(mechanism, accountant.private([1.0], SHARE, "ann"))
    accountant.release(mechanism, accountant.private([1.0], SHARE, "ann"))
    (found,) = accountant.assumptions[len(before) :]
    assert found.kind is AssumptionKind.PATCHED
    assert named in found.message


@pytest.mark.parametrize(
    "change",
    [
        lambda mechanism: object.__setattr__(mechanism, "scale", 32.0),
        lambda mechanism: object.__setattr__(mechanism, "sensitivity", Sensitivity(2.0, 2.0, 2.0)),
        lambda mechanism: object.__setattr__(mechanism.sensitivity, "l1", 2.0),
    ],
)
def test_what_changes_after_many_releases_is_what_is_charged(change: Any) -> None:
    accountant, mechanism = opened(), Laplace(scale=64.0, sensitivity=Sensitivity(1.0, 1.0, 1.0))
    for _ in range(4):
        accountant.release(mechanism, accountant.private([1.0], SHARE, "ann"))
    change(mechanism)
    accountant.release(mechanism, accountant.private([1.0], SHARE, "ann"))
    *_, before, after = accountant.ledger.entries
    assert before.mechanism == Laplace(scale=64.0, sensitivity=Sensitivity(1.0, 1.0, 1.0))
    assert after.mechanism == mechanism != before.mechanism
    vars(mechanism)["release"] = lambda value, noise: np.asarray(value)
    released = accountant.release(mechanism, accountant.private([1.0], SHARE, "ann"))
    assert released[0, 0] != 1.0
    assert [each.kind for each in accountant.assumptions] == [AssumptionKind.PATCHED]


def test_what_is_written_into_a_quotes_mechanism_draws_nothing() -> None:
    """The gate draws a copy that nobody sees: this one would have shown the value for the price of a quiet release."""
    accountant, mechanism = opened(), Laplace(scale=4.0)
    for _ in range(3):  # a mechanism of one release, and one that is known
        quote = accountant.price(mechanism, accountant.private([1.0], SHARE, "ann"))
        object.__setattr__(quote.mechanism, "scale", 1e-12)
        assert abs(accountant.reserve(quote).release()[0, 0] - 1.0) > 1e-6


@pytest.mark.slow
def test_so_many_mechanisms_take_no_more_memory() -> None:
    accountant = Accountant(Budget(float("inf")), noise=np.random.default_rng(0))
    value = accountant.private([1.0], SHARE, "ann")
    for i in range(1, 3_000):
        mechanism = Laplace(scale=float(i))
        for _ in range(2):
            accountant.price(mechanism, value)
    assert len(accountant._owned) <= 1_024


def test_all_three_exits_and_declassification_are_one_function() -> None:
    accountant = Accountant(Budget(float("inf")), noise=np.random.default_rng(0))
    value = accountant.private([1.0], SHARE, "ann")
    with mock.patch.object(Accountant, "_publish", side_effect=LookupError):
        for leave in (by_release, by_reservation, by_sums):
            with pytest.raises(LookupError):
                leave(accountant, OWN, value)
        with pytest.raises(LookupError):
            accountant.declassify(value, "to be seen")


def test_a_private_value_of_another_class_has_no_account() -> None:
    class Mine(Private):
        pass

    accountant = opened()
    value = accountant.private([1.0], SHARE, "ann")
    with pytest.raises(ForeignValue):
        accountant.release(OWN, Mine(accountant, value._values, value._provenance))


def test_assumptions_survive_a_restart(tmp_path: Path) -> None:
    accountant = opened()
    accountant.release(TooQuiet(scale=2.0), accountant.private([1.0], SHARE, "ann"))
    again = reopened(accountant, tmp_path)
    assert again.assumptions == accountant.assumptions != ()


class Quiet(NumpyNoise):
    """A user's, which may do anything."""


@pytest.mark.parametrize(
    ("noise", "kinds"),
    [
        (None, []),
        (OpenDPNoise(), []),
        (np.random.default_rng(0), [AssumptionKind.SEEDED]),
        (np.random.default_rng(), [AssumptionKind.SEEDED]),  # nobody can tell whether it was given a seed
        (np.random.Generator(np.random.Philox(3)), [AssumptionKind.SEEDED]),
        (NumpyNoise(np.random.default_rng(0)), [AssumptionKind.SEEDED]),
        (NumpyNoise(LaneStreams(0, 64)), [AssumptionKind.SEEDED]),
        (Quiet(np.random.default_rng(0)), [AssumptionKind.FOREIGN_CLASS]),
    ],
)
def test_noise_that_may_be_drawn_again_is_an_assumption(noise: Any, kinds: list[AssumptionKind]) -> None:
    accountant = Accountant(Budget(10.0), noise=noise)
    assert [each.kind for each in accountant.assumptions] == kinds
    if AssumptionKind.SEEDED in kinds:
        assert "an adversary that draws the same noise subtracts it" in str(accountant.summary())


def test_two_accountants_of_one_seed_say_so() -> None:
    """The difference of their releases is the difference of the data, and neither listed an assumption."""
    one, other = (Accountant(Budget(1.0), noise=np.random.default_rng(7)) for _ in range(2))
    first = one.release(OWN, one.private([1.0], SHARE, "ann"))
    second = other.release(OWN, other.private([0.25], SHARE, "ann"))
    assert first - second == pytest.approx(0.75, abs=1e-9)
    assert one.assumptions == other.assumptions
    (assumption,) = one.assumptions
    assert assumption.kind is AssumptionKind.SEEDED


def test_a_store_says_once_that_noise_was_drawn_from_a_generator(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    for seed in (1, 2):
        accountant = Accountant(Budget(10.0), noise=np.random.default_rng(seed), store=path)
        accountant.release(OWN, accountant.private([1.0], SHARE, "ann"))
        assert [each.kind for each in accountant.assumptions] == [AssumptionKind.SEEDED]
        accountant.ledger.close()  # type: ignore[attr-defined]
    later = Accountant(Budget(10.0), store=path)
    assert [each.kind for each in later.assumptions] == [AssumptionKind.SEEDED]
    with pytest.raises(ValueError, match="strict=True needs noise"):
        Accountant(Budget(10.0), noise=np.random.default_rng(0), strict=True)


@pytest.mark.parametrize("strict", [1, "yes", None])
def test_strict_is_true_or_false(strict: Any) -> None:
    with pytest.raises(ValueError, match="strict = "):
        opened(strict=strict)


def test_exact_losses_name_their_assumptions_too() -> None:
    gate = Coupled(0, 64, 1)
    gate.release(TooQuiet(scale=2.0), gate.private(np.ones((2, 64)), SHARE, "ann"))
    assert ["TooQuiet" in each.message for each in gate.assumptions] == [True]


def test_what_is_written_into_a_ledgers_mechanism_draws_nothing() -> None:
    """Another accountant's release of the same mechanism is noisy, and charged."""
    first = opened()
    first.release(Laplace(scale=2.125), first.private([1.0], SHARE, "ann"))
    vars(first.ledger.entries[0].mechanism)["release"] = lambda value, noise: np.asarray(value)
    second = opened()
    released = second.release(Laplace(scale=2.125), second.private([1.0], SHARE, "ann"))
    assert released[0, 0] != 1.0
    assert second.assumptions == ()


@dataclass
class _Bent:
    """A post-processing function, which costs nothing."""

    factor: float

    def __call__(self, output: Any) -> Any:
        output *= self.factor
        return np.round(output)


@pytest.mark.parametrize("masked", [False, True])
def test_post_processing_is_coupled_through_what_it_processes(masked: bool) -> None:
    data = np.stack([np.zeros((64, 2)), np.ones((64, 2))])
    where = np.arange(128).reshape(64, 2) % 3 == 0 if masked else None
    plain, processed = Coupled(0, 64, 1), Coupled(0, 64, 1)
    box, noise = Box(0, 1, 2), Laplace(scale=4.0, sensitivity=Box(0, 1, 2).sensitivity)
    outputs = plain.release(noise, plain.private(data, box, "ann"), where)
    bent = processed.release(noise >> np.negative >> _Bent(3.0), processed.private(data, box, "ann"), where)
    np.testing.assert_array_equal(bent, np.round(-3.0 * outputs))
    np.testing.assert_array_equal(processed.loss, plain.loss)
    assert (plain.more_than_seen, processed.more_than_seen) == (False, True)
    assert processed.loss.max() > 0.0


class Guarded(NumpyNoise):
    """Says nothing of itself, so that it is what NumPy's noise is."""


@pytest.mark.parametrize(
    "noise",
    [np.random.default_rng(0), NumpyNoise(np.random.default_rng(0)), Guarded(np.random.default_rng(0))],
)
def test_strict_takes_no_noise_that_is_not_secure(noise: Any, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"noise = .*: strict=True needs noise .*numpy:PCG64 is for tests and simulation"
    ):
        Accountant(Budget(1.0), noise=noise, strict=True)
    with pytest.raises(ValueError, match=r"^noise = .*: strict=True needs noise"):
        reopened(opened(strict=True), tmp_path, noise=noise)
