import pytest
from recorded_numbers import NearNumbers


@pytest.mark.parametrize(
    ("now", "recorded", "equal"),
    [
        ("δ 0.12345 of 3", "δ 0.12346 of 3", True),
        ("δ 0.12345 of 3", "δ 0.12347 of 3", False),
        ("δ 0.12345 of 3", "δ 0.12345 of 4", False),
        ("δ 0.12345 of 3", "ε 0.12345 of 3", False),
        ("-1.2345e-300", "-1.2346e-300", True),
        ("-1.2345e-300", "1.2345e-300", False),
        ("1.2345e-300", "1.2345e-301", False),
        ("0.51", "0.5", False),
        ("1.00", "1.01", False),
        ("0.99999", "1.0", True),
        ("0.0", "1e-300", False),
        ("inf 1.5", "inf", False),
        ("width 4^-19", "width 4^-20", True),
        ("width 4^-19", "width 4^-21", False),
        ("1,000 rounds", "1,001 rounds", False),
    ],
)
def test_records_are_equal_but_for_last_digits(now: str, recorded: str, equal: bool) -> None:
    assert NearNumbers().matches(serialized_data=now, snapshot_data=recorded) is equal
