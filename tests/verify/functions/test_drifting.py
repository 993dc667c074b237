"""Counters and clocks in an output are left out and named, and what stands beside them is tested."""

import itertools
import time

import numpy as np
import pytest

from mechanisms import Interval
from verify import verify


def counted(release):
    """A function that counts its calls, and returns the number beside what it releases."""
    count = itertools.count()
    return lambda data, rng: release(next(count), data, rng)


def checked(function, epsilon=1.0):
    result = verify(function, epsilon=epsilon, neighbours=Interval(0, 1), samples=20_000)
    return result, {finding.kind: finding.message for finding in result.findings}


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "release",
    [
        lambda count, data, rng: [count, data],
        lambda count, data, rng: {"number": count, "value": data + rng.laplace(scale=0.3)},
        lambda count, data, rng: [time.perf_counter(), data + rng.laplace(scale=0.3)],
        lambda count, data, rng: [-3.0 * count + rng.normal(), int(data + rng.laplace(scale=0.3) > 0.5)],
    ],
    ids=["raw", "dictionary", "clock", "noisy-counter"],
)
def test_what_stands_beside_a_counter_or_a_clock_is_refuted(release):
    result, findings = checked(counted(release))
    assert result.verdict == "refuted"
    assert "left out and not tested: output " in findings["drift"]
    assert "output value" in result.witness.event or ("output 2" in result.witness.event)


def test_correct_noise_beside_a_counter_is_not_refuted():
    result, findings = checked(counted(lambda count, data, rng: [count, data + rng.laplace()]))
    assert result.verdict == "unproven"
    assert "left out and not tested: output 1." in findings["drift"]


def test_an_output_that_is_nothing_but_a_counter_stays_in_doubt():
    result, findings = checked(counted(lambda count, data, rng: count + data))
    assert result.verdict == "unproven"
    assert "draws are not independent" in findings["drift"]
    assert result.lower is None


def test_own_noise_that_does_not_drift_is_left_in():
    own = np.random.default_rng(3)
    _, findings = checked(lambda data, rng: [data + own.laplace(), own.integers(5)])
    assert "drift" not in findings
