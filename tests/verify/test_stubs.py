"""A file that imports what is not here can be verified all the same, if that is said to be of no importance."""

import json
import sys

import pytest

from mechanisms import Interval
from verify import SubjectError, verify
from verify.subjects.stubs import stub_modules

FILE = """
import math
import no_such_plots.pyplot as plt
from no_such_plots.colours import RED
import no_such_bars

figure = plt.figure(figsize=(3, 4))

def noisy(data, rng):
    return data + rng.laplace(scale=0.25)
"""
ALL = ("no_such_plots", "no_such_bars")


@pytest.fixture
def subject(tmp_path):
    file = tmp_path / "plots.py"
    file.write_text(FILE)
    return f"{file}:noisy"


def checked(subject, **options):
    return verify(subject, epsilon=1.0, neighbours=Interval(0, 1), samples=4_096, **options)


def test_what_is_not_here_is_replaced_and_said_again_in_the_line_that_repeats_it(subject):
    result = checked(subject, stub=ALL)
    assert result.verdict == "refuted"
    assert "stub=('no_such_plots', 'no_such_bars')" in result.witness.reproduce
    assert not {name for name in sys.modules if name.startswith("no_such")}
    json.dumps(result.json())


def test_what_was_not_named_is_an_error(subject):
    with pytest.raises(SubjectError, match="no_such_bars"):
        checked(subject, stub=["no_such_plots"])


def test_what_is_installed_is_imported_as_it_is():
    with stub_modules(["fractions", "no_such_module"]):
        import fractions

        import no_such_module

    assert fractions.Fraction(1, 2) == 0.5
    assert no_such_module.anything(3) is not None
    with pytest.raises(ModuleNotFoundError):
        import no_such_module.part


@pytest.mark.parametrize("stub", ["matplotlib", ["not a name"], [3], 3])
def test_wrong_names_are_refused(subject, stub):
    with pytest.raises(ValueError, match="stub"):
        checked(subject, stub=stub)
