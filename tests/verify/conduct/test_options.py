"""Parameters of a wrong type are refused by name, before anything is drawn."""

import math
import re

import pytest

from mechanisms import Interval
from verify import verify

WRONG = ("many", [1], {"a": 1}, b"x", 1j, True, None, math.nan, math.inf, 10**400, -1)
ALLOWED = {
    "delta": [None],
    "samples": [None],
    "horizon": [None],
    "floating_point": [True],
    "anytime": [True],
    "problem": [None, "many"],
    "settings": [None, {"a": 1}],
    "adversary": [None, "many"],
    "wealth": [None, "many", b"x"],
    "progress": [None],
    "time_limit": [math.inf],
}
NAMES = (
    *ALLOWED, "epsilon", "confidence", "false_alarm", "seed", "effort", "workers",
)  # fmt: skip


def never_called(data, rng, lanes):
    raise AssertionError("data were touched")


def called(**options):
    return verify(
        never_called, **{"epsilon": 1.0, "effort": "quick", "neighbours": Interval(0, 1), **options}
    )


@pytest.mark.parametrize("name", NAMES)
def test_wrong_types_are_refused_by_name(name):
    for value in WRONG:
        if value in ALLOWED.get(name, []) or (name in ("seed", "horizon") and value == 10**400):
            continue
        with pytest.raises(ValueError, match=f"^{name}") as refusal:
            called(**{name: value})
        assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": "1"}, "epsilon='1': must be a number"),
        ({"delta": [0.1]}, "delta=[0.1]: must be a number"),
        ({"samples": "many"}, "samples='many': must be a number"),
        ({"samples": math.inf}, "samples=inf: must be a whole number of at least 1"),
        ({"confidence": None}, "confidence=None: must be a number"),
        ({"horizon": "long"}, "horizon='long': must be a whole number of at least 1"),
        ({"workers": 10**9}, "workers=1000000000: must be at most 1000"),
        ({"effort": []}, "effort=[]: must be a name"),
        ({"settings": 3}, "settings=3: must be a dictionary of parameters by name"),
        ({"epsilon": 10**400}, "is larger than every float"),
    ],
)
def test_the_message_names_parameter_value_and_rule(options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        called(**options)


def test_very_long_time_limits_are_none():
    noisy = verify(
        lambda data, rng, lanes: data + rng.laplace(size=lanes),
        epsilon=1.0, effort="quick", samples=20_000, neighbours=Interval(0, 1), time_limit=1e300,
    )  # fmt: skip
    assert noisy.lower is not None
