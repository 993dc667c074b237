"""Time limits of a block: also nested ones, and none where no signal can come."""

import math
import signal
import threading
import time

import pytest

from mechanisms.parameters import ParameterError
from verify.conduct.time_limit import TimeLimitReached, check_time_limit, time_limit


def wait(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def left():
    return signal.getitimer(signal.ITIMER_REAL)[0]


def test_a_block_that_takes_too_long_is_stopped_and_none_is_without_end():
    with pytest.raises(TimeLimitReached, match=r"stopped after 0\.01 s"), time_limit(0.01):
        wait(5.0)
    with pytest.raises(TimeLimitReached), time_limit(-1.0):
        wait(5.0)
    with time_limit(math.inf):
        assert left() == 0.0
    with time_limit(100.0):
        assert 99.0 < left() <= 100.0
    assert left() == 0.0


def test_an_inner_limit_takes_nothing_from_the_outer_one():
    with time_limit(50.0):
        with time_limit(100.0):  # the outer one holds
            assert 49.0 < left() <= 50.0
        assert 49.0 < left() <= 50.0
        for _ in range(3):  # each gave the outer one half a second more
            with pytest.raises(TimeLimitReached), time_limit(0.01):
                wait(5.0)
        assert 48.0 < left() <= 49.97
    assert left() == 0.0


def test_there_is_no_limit_outside_of_the_main_thread():
    done = []

    def work():
        with time_limit(0.001):
            wait(0.01)
            done.append(left())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [0.0]


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_a_limit_is_a_number_above_0(seconds):
    assert check_time_limit(1e-9) == 1e-9
    with pytest.raises(ParameterError, match="time_limit"):
        check_time_limit(seconds)
