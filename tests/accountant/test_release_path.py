"""The path of a release, from the call to the noise."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import accountant
import mechanisms
from accountant import (
    Accountant,
    AdvancedComposition,
    BasicComposition,
    Budget,
    Composition,
    GaussianComposition,
    RenyiComposition,
    ZeroConcentratedComposition,
)
from mechanisms import Gaussian, Interval, Laplace, Mechanism

LIBRARY = tuple(str(Path(package.__file__).parent) for package in (accountant, mechanisms))
SHARE = Interval(0, 1)


def entered(call: Callable[[], Any]) -> set[tuple[str, str]]:
    """Return the functions of this library that a call enters: the file and the name of each."""
    found = set()

    def keep(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(LIBRARY):
            found.add((code.co_filename, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(keep)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize(
    ("composition", "mechanism"),
    [
        (BasicComposition(), Laplace(scale=1e3)),
        (AdvancedComposition(), Laplace(scale=1e3)),
        (RenyiComposition(), Laplace(scale=1e3)),
        (ZeroConcentratedComposition(), Gaussian(sigma=1e3, sensitivity=SHARE.sensitivity)),
        (GaussianComposition(), Gaussian(sigma=1e3, sensitivity=SHARE.sensitivity)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_release_can_be_followed_in_one_sitting(composition: Composition, mechanism: Mechanism) -> None:
    """At most thirteen files and forty functions from `release` to the noise, guards included."""
    gate = Accountant(Budget(10.0, 1e-6), composition=composition, noise=np.random.default_rng(0))
    value = gate.private([0.5], SHARE, record="ann")
    gate.release(mechanism, value)  # the mechanism is examined and priced
    functions = entered(lambda: gate.release(mechanism, value))
    files = {file for file, _ in functions}
    assert len(files) <= 13, sorted(files)
    assert len(functions) <= 40, sorted(functions)
    assert {"Accountant.release", "calling_place", "Ledger.do"} <= {name for _, name in functions}
