"""Entries of a ledger are read as they were written, and as nothing else."""

import pytest

from accountant.stores.chain import parse_entry
from mechanisms import ParameterError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"paid":1} {"paid":0}', "there is text after it: ' .*paid"),
        ('{"paid":1}\n', "there is text after it"),
        (' {"paid":1}', "there is no JSON at"),
        ('{"paid":}', "there is no JSON at"),
        ("", "there is no JSON at"),
    ],
)
def test_an_entry_is_one_object_and_nothing_else(text: str, words: str) -> None:
    assert parse_entry('{"paid":1}') == {"paid": 1}
    with pytest.raises(ParameterError, match=words):
        parse_entry(text)
