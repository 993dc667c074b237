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


def test_clients_in_order_are_named_alike() -> None:
    """Linear learners' clients were named in rows: a person without limit came eight times, whatever the claim."""
    limited, unlimited = OnePerson(4).everyone_in_order(), OnePerson().everyone_in_order()
    name = OnePerson(4).everyone(60)
    clients = [97 - each for each in range(60)]
    assert [limited(each) for each in clients] == [name(number) for number in range(1, 61)]
    assert {unlimited(each) for each in clients} == {1}


def test_so_many_reports_in_a_row_are_of_one_person() -> None:
    name = OnePerson(2).in_order()
    assert [name(client) for client in (9, 4, 9, 7, 3, 4, 1)] == [1, 1, 1, 2, 2, 1, 3]
