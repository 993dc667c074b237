"""A value that takes long to read is read less often."""

import pytest

from accountant.service.cached_value import CachedValue


@pytest.mark.parametrize(("takes", "read"), [(0.1, [1, 2, 3, 4]), (2.0, [1, 1, 1, 2])])
def test_what_takes_long_serves_ten_times_as_long(takes: float, read: list[int]) -> None:
    now, times = 0.0, 0

    def reads() -> int:
        nonlocal now, times
        now, times = now + takes, times + 1
        return times

    remembered = CachedValue(reads, clock=lambda: now)
    found = []
    for wait in (0.0, 0.0, 19.9, 0.2):
        now += wait
        found.append(remembered.get())
    assert found == read


def test_what_lasts_is_read_once_meanwhile_however_long_it_took() -> None:
    now, times = 0.0, 0

    def reads() -> int:
        nonlocal now, times
        now, times = now + 5.0, times + 1
        return times

    remembered = CachedValue(reads, clock=lambda: now, lasts=1.0)
    found = []
    for wait in (0.0, 0.9, 0.2, 0.0):
        now += wait
        found.append(remembered.get())
    assert found == [1, 1, 2, 2]


def test_what_could_not_be_read_is_read_again() -> None:
    reads = iter([1, 0, 1])
    now = 0.0

    def read() -> float:
        nonlocal now
        now += 1.0
        return 1 / next(reads)

    remembered = CachedValue(read, clock=lambda: now)
    assert remembered.get() == 1.0
    now += 11.0
    with pytest.raises(ZeroDivisionError):
        remembered.get()
    assert remembered.get() == 1.0
