"""A gate closes when a function of private data fails: nobody can catch the error and go on."""

import threading

import numpy as np
import pytest
from reopened import reopened

from accountant import Accountant, Budget, Coupled, GateBusy, GateClosed, Recorder, Replay, Simulation
from mechanisms import Box, Categories, Composed, Interval, Laplace, NumpyNoise, Repeated

UNIT = Interval(0, 1)


def accountant():
    return Accountant(Budget(9.0), noise=np.random.default_rng(0))


def value_of(gate):
    if isinstance(gate, Coupled):
        return gate.private(np.ones((2, 64, 1)), Box(0, 1, 1), 1)
    return gate.private(np.ones((gate.lanes, 1)), Box(0, 1, 1), 1)


@pytest.mark.parametrize("make", [accountant, lambda: Simulation(0, 64), lambda: Coupled(0, 64, 1)])
@pytest.mark.parametrize(
    "failing",
    [
        lambda private: private.map(lambda raw: raw, into=Box(0, 0.5, 1)),
        lambda private: private.map(lambda raw: 1 // int((raw < 0).sum()), into=UNIT),
        lambda private: private.map(lambda raw: raw / 0, stability=1.0),
        lambda private: private.map(lambda raw: raw + 7, into=Categories(2)),
    ],
)
def test_an_error_in_map_closes_the_gate(make, failing):
    gate = make()
    private = value_of(gate)
    before = value_of(gate)
    assert gate.closure is None
    with pytest.raises((ValueError, ZeroDivisionError)):
        failing(private)
    why, where = gate.closure
    assert "map" in why
    assert where.file == __file__
    for use in (
        lambda: gate.release(Laplace(scale=1.0), before),
        lambda: gate.declassify(before, "a test"),
        lambda: value_of(gate),
    ):
        with pytest.raises(GateClosed, match="closed since"):
            use()


class Broken(Laplace):
    """One of a user's own, which fails on ones."""

    def release(self, value, noise):
        if np.any(value == 1):
            raise RuntimeError("too large")
        return super().release(value, noise)


@pytest.mark.parametrize("make", [accountant, lambda: Simulation(0, 64), lambda: Coupled(0, 64, 1)])
@pytest.mark.parametrize(
    "broken", [Broken(scale=1.0), Repeated(Broken(scale=1.0), 2), Broken(scale=1.0) >> np.abs]
)
def test_an_error_in_a_mechanism_of_a_user_closes_the_gate(make, broken):
    """It gets the raw value, as a function in map does, and the error told of it for free."""
    gate = make()
    private = value_of(gate)
    with pytest.raises(RuntimeError):
        gate.release(broken, private)
    why, where = gate.closure
    assert why == "a mechanism failed (RuntimeError)"
    assert where.file == __file__
    with pytest.raises(GateClosed, match="closed since"):
        gate.release(Laplace(scale=1.0), private)


class BrokenSource(NumpyNoise):
    def laplace(self, location, scale):
        raise RuntimeError("too large")


def test_an_error_in_a_noise_source_of_a_user_closes_the_gate():
    gate = Accountant(Budget(9.0), noise=BrokenSource(np.random.default_rng(0)))
    with pytest.raises(RuntimeError):
        gate.release(Laplace(scale=1.0), value_of(gate))
    with pytest.raises(GateClosed, match="a mechanism failed"):
        value_of(gate)


def fails(_):
    raise ConnectionError


def interrupted(_):
    raise KeyboardInterrupt


class Stopped(Laplace):
    """One of a user's own, during which the user presses Ctrl-C."""

    def release(self, value, noise):
        raise KeyboardInterrupt


@pytest.mark.parametrize("make", [accountant, lambda: Simulation(0, 64), lambda: Coupled(0, 64, 1)])
@pytest.mark.parametrize(
    "follows",
    [
        Laplace(scale=1.0) >> fails,
        Laplace(scale=1.0) >> interrupted,
        Broken(scale=1.0) >> fails,
        Stopped(scale=1.0),
        Composed((Laplace(scale=1.0), Repeated(Laplace(scale=1.0), 2))),  # outputs of two shapes
    ],
)
def test_what_fails_on_released_values_leaves_the_gate_open(make, follows):
    gate = make()
    with pytest.raises((ConnectionError, KeyboardInterrupt, ValueError)):
        gate.release(follows, value_of(gate) * 0.5)
    assert gate.closure is None
    gate.release(Laplace(scale=2.0), value_of(gate))


def test_wrong_arguments_of_map_leave_the_gate_open():
    gate = accountant()
    private = value_of(gate)
    for wrong in ({}, {"into": UNIT, "stability": 1.0}, {"stability": -1.0}):
        with pytest.raises(ValueError, match=r"map|stability"):
            private.map(lambda raw: raw, **wrong)
    assert gate.closure is None


def test_a_closed_accountant_charges_nothing_more(tmp_path):
    gate = accountant()
    private = value_of(gate)
    with pytest.raises(ValueError, match="map"):
        private.map(lambda raw: raw + 5, into=Box(0, 1, 1))
    with pytest.raises(GateClosed):
        gate.release(Laplace(scale=1.0), private)
    assert len(gate.ledger) == 0
    loaded = reopened(gate, tmp_path)
    assert loaded.closure == gate.closure
    with pytest.raises(GateClosed, match="closed since"):
        value_of(loaded)


def test_a_ledger_is_saved_to_a_file_only(tmp_path):
    with pytest.raises(ValueError, match="must be a file"):
        accountant().export(tmp_path)
    with pytest.raises(ValueError, match="folder that exists"):
        accountant().export(tmp_path / "nowhere" / "ledger.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [accountant, lambda: Simulation(0, 64), lambda: Coupled(0, 64, 1)])
@pytest.mark.parametrize(
    "use",
    [
        lambda gate, private: gate.release(Laplace(scale=1.0), private),
        lambda gate, private: gate.declassify(private, "a test"),
        lambda gate, private: value_of(gate),
    ],
)
def test_a_gate_is_shut_to_what_follows_a_mechanism(make, use):
    gate = make()
    private = value_of(gate)
    with pytest.raises(GateBusy, match="what follows a mechanism sees released values only") as refusal:
        gate.release(Laplace(scale=1.0) >> (lambda noisy: noisy + use(gate, private)), private)
    assert refusal.value.where.file == __file__
    gate.release(Laplace(scale=1.0) >> np.abs, private)  # it is open again


def test_gates_for_raw_values_are_shut_to_what_follows_a_mechanism():
    def nested(gate):
        return gate.release(
            Laplace(scale=1.0) >> (lambda noisy: noisy + gate.release(Laplace(scale=1.0), 1.0)), 0.5
        )

    for gate in (Recorder(np.random.SeedSequence(1)), Replay(np.random.SeedSequence(1), [])):
        with pytest.raises(GateBusy):
            nested(gate)


def test_another_thread_may_price_while_a_mechanism_draws():
    gate = accountant()
    private = value_of(gate)
    priced = []

    def other(noisy):
        thread = threading.Thread(target=lambda: priced.append(gate.price(Laplace(scale=1.0), private)))
        thread.start()
        thread.join()
        return noisy

    gate.release(Laplace(scale=1.0) >> other, private)
    assert len(priced) == 1
