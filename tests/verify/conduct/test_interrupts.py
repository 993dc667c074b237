"""The first Ctrl-C stops a verification, the second leaves its report alone, the third ends everything."""

from __future__ import annotations

import signal
import threading

import pytest

import verify.verification.verification
from mechanisms import Interval
from verify import verify as verified
from verify.conduct.interrupts import Stop, count_interrupts, subject_exceptions


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_three_presses() -> None:
    before = signal.getsignal(signal.SIGINT)
    with count_interrupts() as outer, count_interrupts() as inner:
        assert inner is outer
        with pytest.raises(KeyboardInterrupt):
            press()
        press()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_stop_is_no_exception_of_code_under_test() -> None:
    """A `KeyboardInterrupt` may be a press of Ctrl-C unless presses are counted."""

    def caught(error: BaseException) -> bool:
        try:
            raise error
        except subject_exceptions():
            return True
        except BaseException:
            return False

    assert [caught(error) for error in (Stop(), KeyboardInterrupt(), SystemExit())] == [False, False, True]
    with count_interrupts():
        assert [caught(error) for error in (Stop(), KeyboardInterrupt(), SystemExit())] == [False, True, True]


def test_a_report_that_follows_takes_three() -> None:
    with count_interrupts() as presses:
        presses.report_follows()
        press()
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with count_interrupts():
            press()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_change_nothing() -> None:
    handlers = []

    def within() -> None:
        with count_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=within)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]


@pytest.mark.slow_cells("False")
@pytest.mark.parametrize("stopped", [False, True])
def test_presses_while_the_report_is_made_lose_nothing(stopped: bool, monkeypatch) -> None:
    conclude = verify.verification.verification._conclude

    def noisy(data, rng, lanes):
        if stopped:
            press()
        return data + rng.laplace(size=lanes)

    def pressed(*arguments):
        press()
        return conclude(*arguments)

    monkeypatch.setattr(verify.verification.verification, "_conclude", pressed)
    result = verified(noisy, epsilon=1.0, effort="quick", samples=20_000, neighbours=Interval(0, 1))
    assert ("interrupted" in [finding.kind for finding in result.findings]) == stopped
