"""A pseudonym is a text and no name."""

import json
import pickle

import pytest

from accountant import Accountant, Budget
from accountant.pseudonym import Pseudonym
from mechanisms import Interval


def test_it_is_equal_to_no_name() -> None:
    shown = Pseudonym("erased:1")
    assert shown == Pseudonym("erased:1")
    assert shown != Pseudonym("erased:2")
    assert shown != "erased:1"
    assert shown != "erased:1"
    assert len({shown, "erased:1", Pseudonym("erased:1")}) == 2
    assert json.dumps([shown]) == '["erased:1"]'
    assert pickle.loads(pickle.dumps(shown)) == shown


def test_nothing_of_it_can_be_released() -> None:
    with pytest.raises(ValueError, match="record = 'erased:1': must be an int or a str"):
        Accountant(Budget(1.0)).private([0.5], Interval(0, 1), Pseudonym("erased:1"))
