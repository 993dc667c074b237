"""The limits of a service on sizes, times and clients."""

import math

import pytest

from accountant.service.service_limits import Places, Rate, ServiceLimits


def test_a_rate_lets_twice_its_second_come_at_once_and_then_so_many_a_second() -> None:
    now = 0.0
    rate = Rate(5.0, lambda: now)
    assert [rate.admits("ann") for _ in range(12)] == [True] * 10 + [False] * 2
    assert rate.admits("bob")
    now = 0.5
    assert [rate.admits("ann") for _ in range(3)] == [True, True, False]
    now = 1000.0
    assert [rate.admits("ann") for _ in range(11)] == [True] * 10 + [False]


def test_places_are_shared() -> None:
    places = Places(3, 2)
    ends = [places.take("ann") for _ in range(3)]
    assert [end is None for end in ends] == [False, False, True]
    assert places.take("bob") is not None
    assert places.take("cid") is None
    for _ in range(2):
        ends[0]()  # type: ignore[misc]
    assert [places.take(name) is None for name in ("cid", "ann")] == [False, True]


@pytest.mark.parametrize("name", ["max_body", "timeout", "requests_per_second", "at_once", "records"])
def test_limits_are_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} = 0: must be positive"):
        ServiceLimits(**{name: 0})


@pytest.mark.parametrize("seconds", [0.0001, 2e9, math.inf])
def test_no_service_lets_reservations_last_as_long_as_no_accountant_does(seconds: float) -> None:
    with pytest.raises(ValueError, match=r"reservation = .*: must be seconds from 0\.001 to 1e\+09"):
        ServiceLimits(reservation=seconds)
