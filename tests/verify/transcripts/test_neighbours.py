"""The replaced records of neighbouring data sets."""

from verify.transcripts.neighbours import spread_records


def test_spread_records_are_rounds():
    assert spread_records(20) == [1, 2, 3, 4, 8, 16, 20]
    assert spread_records(1) == [1]
