"""Options are declared once; values of a wrong type are refused by name, before anything is drawn."""

import inspect
import math
import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import verify.verification.assertion
from mechanisms import Interval, Laplace
from verify import assert_dp
from verify.conduct import rules
from verify.verification.options import Options, option, takes
from verify.verification.reproduction import reproduction
from verify.verification.resolve import resolve
from verify.verification.verification import verify as verified

WRONG = ("many", [1], {"a": 1}, b"x", 1j, True, None, math.nan, math.inf, 10**400, -1)
ALLOWED = {
    "delta": [None],
    "samples": [None],
    "horizon": [None],
    "floating_point": [True],
    "anytime": [True, "many"],
    "problem": [None, "many"],
    "settings": [None, {"a": 1}],
    "adversary": [None, "many"],
    "progress": [None],
    "time_limit": [math.inf],
}
NAMES = (
    *ALLOWED, "epsilon", "confidence", "significance", "seed", "effort", "workers",
)  # fmt: skip


def never_called(data, rng, lanes):
    raise AssertionError("data were touched")


def called(**options):
    return verified(
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
        ({"epsilon": "1"}, "epsilon = '1': must be one real number"),
        ({"delta": [0.1]}, "delta = [0.1]: must be one real number"),
        ({"samples": "many"}, "samples = 'many': must be one real number"),
        ({"samples": math.inf}, "samples = inf: must be a whole number of at least 1"),
        ({"confidence": None}, "confidence = None: must be one real number"),
        ({"horizon": "long"}, "horizon = 'long': must be a whole number"),
        (
            {"workers": 10**9},
            "workers = 1000000000: must be a whole number from 1 to 1,000, dask, or dask:ADDRESS",
        ),
        ({"seed": 2**1_024}, ": must be below 2^1024"),
        ({"effort": []}, "effort = []: must be a name"),
        ({"settings": 3}, "settings = 3: must be a dictionary of parameters by name"),
        ({"epsilon": 10**400}, "is larger than every float"),
        (
            {"epsilon": 1 - Fraction(1, 10**30)},
            "must be a float exactly; 1.0 is the nearest",
        ),  # a harder claim
        ({"delta": Fraction(1, 10**400)}, "must be a float exactly; 0.0 is the nearest"),
    ],
)
def test_the_message_names_parameter_value_and_rule(options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        called(**options)


def test_numbers_of_other_types_are_taken_for_what_they_are():
    given = {
        "epsilon": Fraction(1, 2),
        "confidence": np.float64(0.9),
        "time_limit": Fraction(1001, 2),
        "seed": np.int64(3),
        "horizon": np.int32(7),
    }
    taken = {name: getattr(Options(**given), name) for name in given}
    assert taken == {"epsilon": 0.5, "confidence": 0.9, "time_limit": 500.5, "seed": 3, "horizon": 7}
    assert [type(value) for value in taken.values()] == [float, float, float, int, int]


@pytest.mark.slow
def test_very_long_time_limits_are_none():
    noisy = verified(
        lambda data, rng, lanes: data + rng.laplace(size=lanes),
        epsilon=1.0, effort="quick", samples=20_000, neighbours=Interval(0, 1), time_limit=1e300,
    )  # fmt: skip
    assert noisy.lower is not None


@dataclass(frozen=True, kw_only=True)
class _WithPatience(Options):
    """The options, and one more: all that a new option takes."""

    patience: int = option(2, "Cups of tea before it gives up.", rules.integer(1), flag="--patience")


@takes(_WithPatience)
def verify_patiently(subject: object, options: _WithPatience) -> _WithPatience:
    """Wait.

    Parameters
    ----------
    subject
        For whom.

    Returns
    -------
    Options
        As they were given.
    """
    return options


def test_an_option_that_is_declared_once_is_everywhere(monkeypatch):
    assert inspect.signature(verify_patiently).parameters["patience"].default == 2
    assert "patience\n    Cups of tea before it gives up.\n\nReturns" in inspect.getdoc(verify_patiently)
    with pytest.raises(ValueError, match="patience = 0: must be at least 1"):
        verify_patiently("x", patience=0)

    found, given = resolve("cucb"), verify_patiently("cucb", epsilon=1.0, patience=3)
    assert reproduction("cucb", found, given) == "dpwitness verify cucb --epsilon 1 --seed 0 --patience 3"
    mechanism = Laplace(scale=1.0)
    said = reproduction(mechanism, resolve(mechanism), given)
    assert said == f"verify({mechanism!r}, epsilon=1.0, seed=0, patience=3)"
    assert "patience" not in reproduction("cucb", found, verify_patiently("cucb", patience=2))

    class Passed(Exception):
        pass

    def stop(subject, **options):
        raise Passed(verify_patiently(subject, **options).patience)

    monkeypatch.setattr(verify.verification.assertion, "verify", stop)
    with pytest.raises(Passed, match="7"):
        assert_dp(mechanism, epsilon=1.0, patience=7)


def test_options_are_part_of_the_signature_and_of_the_documentation_of_verify():
    names = [name for name in inspect.signature(verified).parameters if name != "subject"]
    assert names == list(inspect.signature(Options).parameters)
    assert all(f"\n{name}\n    " in inspect.getdoc(verified) for name in names)
    with pytest.raises(TypeError, match="epsilin"):
        verified("cucb", epsilin=1.0)


@pytest.mark.parametrize(
    ("args", "options", "words"),
    [
        ((), {"epsilom": 1.0}, r"verify\(\): got an unexpected keyword argument 'epsilom'"),
        ((1.0,), {}, r"verify\(\): too many positional arguments"),
    ],
)
def test_what_is_no_option_is_refused_in_the_name_of_the_function(args, options, words):
    with pytest.raises(TypeError, match=words):
        verified("zoo/laplace", *args, **options)
