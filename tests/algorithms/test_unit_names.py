"""People who come in a row, in every second round, in every third: as often as they may, and never more."""

from collections import defaultdict

import pytest

from algorithms import OnePerson


@pytest.mark.parametrize("times", [1, 2, 4, 7])
def test_every_period_meets_somebody_who_comes_in_all_of_its_rounds(times: int) -> None:
    """People who took turns by one period came in half of the odd rounds: noise that was wrong there was certified."""
    name, rounds = OnePerson(times).everyone(times * 15), defaultdict(list)
    for number in range(1, times * 15 + 1):  # groups of 1 to 5
        rounds[name(number)].append(number)
    assert sorted(rounds) == list(range(1, 16))
    assert {len(each) for each in rounds.values()} == {times}
    for period in range(1, 6):
        met = {
            each[0] % period for each in rounds.values() if {b % period for b in each} == {each[0] % period}
        }
        assert met == set(range(period))
