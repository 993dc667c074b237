"""Counters are tested by their steps, clocks are left out, both are named, and what stands beside them is tested."""

import itertools
import re
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


@pytest.mark.slow
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
    assert re.match(
        "(excluded from the test|tested as differences between calls): output ", findings["drift"]
    )
    assert "output value" in result.witness.event or ("output 2" in result.witness.event)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "show",
    [lambda value: f"{object()!r} {value:.2f}", lambda value: [repr(object()), value]],
    ids=["word", "list"],
)
def test_what_stands_beside_an_address_is_refuted_and_the_address_is_named(show):
    result, findings = checked(lambda data, rng: show(data + rng.laplace(scale=0.3)))
    assert result.verdict == "refuted"
    assert result.lower.epsilon > 2.0
    assert findings["drift"].startswith("excluded from the test: memory addresses")


def running(step):
    """A function that returns the sum of all its steps so far, beside correct noise."""
    total = 0.0

    def release(data, rng):
        nonlocal total
        total += step(data, rng)
        return [total, data + rng.laplace()]

    return release


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "step",
    [
        lambda data, rng: 1 + data,
        lambda data, rng: 1 + int(data > 0.5),
        lambda data, rng: int(data > 0.5),
        lambda data, rng: 1.0 + data + rng.laplace(scale=0.3),
        lambda data, rng: -0.1 * (3 - data),
    ],
    ids=["data", "bit", "only-a-bit", "little-noise", "fractions"],
)
def test_steps_that_tell_the_data_are_refuted(step):
    result, findings = checked(running(step))
    assert result.verdict == "refuted"
    assert "tested as differences between calls: output 1 (depends on earlier calls)" in findings["drift"]
    assert "the step from the one before to output 1" in result.witness.event


@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    [
        lambda data, rng: 1,
        lambda data, rng: 0.1,
        lambda data, rng: rng.integers(1, 4),
        lambda data, rng: -rng.exponential(),
        lambda data, rng: 3.0 + rng.normal(),
    ],
    ids=["one", "tenth", "random", "exponential", "walk"],
)
def test_steps_that_all_know_are_not_refuted(step):
    result, findings = checked(running(step))
    assert result.verdict == "unproven"
    assert "tested as differences between calls: output 1 (depends on earlier calls)" in findings["drift"]


@pytest.mark.slow
def test_noise_of_half_the_budget_in_steps_and_beside_them_is_not_refuted():
    total = 0.0

    def release(data, rng):
        nonlocal total
        total += 1.0 + data + rng.laplace(scale=2.0)
        return [total, data + rng.laplace(scale=2.0)]

    result, findings = checked(release)
    assert result.verdict == "unproven"
    assert "tested as differences between calls: output 1 (depends on earlier calls)" in findings["drift"]


@pytest.mark.slow
def test_a_clock_is_no_counter():
    result, findings = checked(lambda data, rng: [time.perf_counter(), data + rng.laplace()])
    assert result.verdict == "unproven"
    assert "excluded from the test: output 1 (counter or clock)" in findings["drift"]


@pytest.mark.slow
def test_steps_that_drift_are_left_out():
    squares = counted(lambda count, data, rng: [count**2, data + rng.laplace()])
    result, findings = checked(squares)
    assert result.verdict == "unproven"
    assert "excluded from the test: output 1 (counter or clock)" in findings["drift"]


def test_an_output_that_is_nothing_but_a_counter_is_tested_by_its_steps():
    result, findings = checked(counted(lambda count, data, rng: count + data))
    assert result.verdict == "refuted"
    assert "tested as differences between calls: the output (depends on earlier calls)" in findings["drift"]


def test_an_output_that_is_nothing_but_a_clock_stays_in_doubt():
    result, findings = checked(lambda data, rng: time.perf_counter() + data)
    assert result.verdict == "unproven"
    assert "draws are not independent" in findings["drift"]
    assert result.lower is None


@pytest.mark.slow
def test_own_noise_that_does_not_drift_is_left_in():
    own = np.random.default_rng(3)
    _, findings = checked(lambda data, rng: [data + own.laplace(), own.integers(5)])
    assert "drift" not in findings
