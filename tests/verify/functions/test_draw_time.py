"""For long calls bets are made from the first calls on, and their bound holds whenever they end."""

import time

import numpy as np
import pytest

from mechanisms import Interval
from verify import AnyTwo, ReplaceOne, verify
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.conduct.interrupts import Stop
from verify.functions.draw_time import draws_fit, expected_seconds, seconds_for_calls
from verify.functions.function_subject import FunctionSubject
from verify.functions.runs import FunctionRuns

EFFORT = EFFORTS["default"]


class Clock:
    """A clock that stands still but for what calls say they take."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def half_noise(self, seconds):
        def half_noise(data, rng):
            self.now += seconds
            return data + rng.laplace(0.0, 0.5)

        return half_noise

    def lanes(self, seconds, overhead):
        def half_noise(data, rng, lanes):
            self.now += overhead + seconds * lanes
            return data + rng.laplace(0.0, 0.5, lanes)

        return half_noise


def seconds_of(function, told=None, *, lanes=False):
    subject = FunctionSubject(
        "subject", function, AnyTwo(Interval(0, 1)), None, takes_gate=False, takes_lanes=lanes
    )
    runs = FunctionRuns(subject, lanes)
    for part in range(3):
        runs.outputs(np.array(0.5), 64, np.random.SeedSequence(part))
    tell = (lambda share, doing: told.append(doing)) if told is not None else (lambda share, doing: None)
    return expected_seconds(runs, Conduct(EFFORT, 0, "", tell), np.array(0.5)), runs


def test_how_long_calls_take_is_reckoned_and_told(monkeypatch):
    clock, told = Clock(monkeypatch), []
    assert seconds_of(clock.half_noise(1e-5), told)[0] == pytest.approx(1.6 * 4.0)
    assert told == ["400,000 draws, whose calls take about 6 s"]


def test_draws_fit_while_they_and_those_that_doubt_them_take_no_more_than_is_left(monkeypatch):
    """Of 20 s, 3 are kept, and 85 % of the others are for calls: of 1 ms, with 1.6 calls a draw."""
    clock = Clock(monkeypatch)
    runs = seconds_of(clock.half_noise(1e-3))[1]
    conduct = Conduct(EFFORT, 0, "", seconds=20.0, began=clock.now)
    assert seconds_for_calls(conduct) == pytest.approx(0.85 * 17.0)
    most = int(0.85 * 17.0 / 1.6 / 1e-3)
    assert draws_fit(runs, conduct, most - 1)
    assert not draws_fit(runs, conduct, most + 1)
    clock.now += 18.0
    assert seconds_for_calls(conduct) == 0.0


def test_a_call_of_many_lanes_is_timed_where_a_call_of_few_is_mostly_overhead(monkeypatch):
    clock, told = Clock(monkeypatch), []
    seconds, _ = seconds_of(clock.lanes(1e-7, 5e-3), told, lanes=True)
    assert seconds == pytest.approx((1e-7 + 5e-3 / 4_096) * (1.6 * 10_000_000 + 3_000_000))
    assert told == ["10,000,000 draws"]


def test_what_is_compiled_at_the_first_call_is_not_counted(monkeypatch):
    clock, first = Clock(monkeypatch), [100.0]

    def compiled(data, rng):
        clock.now += first.pop() if first else 1e-3
        return rng.normal()

    _, runs = seconds_of(compiled)
    assert runs.seconds_a_draw == pytest.approx(1e-3)


def no_noise(clock, seconds):
    def gross(data, rng):
        clock.now += seconds
        return float(data > 0.5)

    return gross


def verified(subject, limit, **more):
    return verify(subject, epsilon=1.0, neighbours=Interval(0, 1), time_limit=limit, **more)


@pytest.mark.slow_cells("True-0.1-60.0-None-1.0", "False-0.25-60.0-refuted-2.0")
@pytest.mark.parametrize(
    ("noise", "seconds", "limit", "verdict", "least"),
    [
        (True, 0.1, 60.0, None, 1.0),
        pytest.param(True, 0.25, 600.0, "refuted", 1.5, marks=pytest.mark.slow),
        (False, 0.25, 60.0, "refuted", 2.0),
        (False, 10.0, 600.0, "unproven", 1.5),
    ],
)
def test_calls_of_any_cost_get_a_bound_in_time(monkeypatch, noise, seconds, limit, verdict, least):
    """One call took longer than all that a first look allowed, or a thousand draws than the limit: no bound at all."""
    clock = Clock(monkeypatch)
    result = verified(clock.half_noise(seconds) if noise else no_noise(clock, seconds), limit)
    assert clock.now <= limit
    assert verdict in (None, result.verdict)
    assert result.lower.epsilon >= least
    assert result.lower.confidence == 0.95
    (said,) = (finding.message for finding in result.findings if finding.kind == "fewer-draws")
    assert "four times as many are expected to show" in said
    assert ("a refutation needs about" in said) == (result.verdict == "unproven")


@pytest.mark.slow_cells("16")
@pytest.mark.parametrize("seed", [9, 16, 20, 30, 36])
def test_a_few_draws_of_a_correct_function_that_won_foretell_no_refutation(monkeypatch, seed):
    """Of seeds 0 to 39 these said so; of 200 runs at several limits 24 did."""
    clock = Clock(monkeypatch)

    def correct(data, rng):
        clock.now += 10.0
        return float(data + rng.laplace() > 0.5)

    result = verified(correct, 400.0, seed=seed)
    (said,) = (finding.message for finding in result.findings if finding.kind == "fewer-draws")
    assert "10 of each data set" in said
    assert "a refutation needs" not in said


@pytest.mark.slow
def test_calls_that_are_dear_on_some_data_only_leave_time_for_the_others(monkeypatch):
    clock = Clock(monkeypatch)

    def regression(data, rng):
        clock.now += 0.109 if np.any(np.asarray(data) == 0.0) else 0.0006
        return float(np.sum(data))

    result = verify(regression, epsilon=1.0, neighbours=ReplaceOne(Interval(0, 1), 4), time_limit=60.0)
    assert result.verdict == "refuted"
    assert clock.now <= 60.0


def test_an_output_that_is_kept_is_no_draw_however_dear(monkeypatch):
    """One draw of correct noise for each data set, and the same ever after: a sure difference, and no evidence."""
    clock, kept = Clock(monkeypatch), {}

    def cached(data, rng):
        clock.now += 0.25
        return (
            kept.setdefault(float(data), None)
            or kept.__setitem__(float(data), data + rng.laplace())
            or kept[float(data)]
        )

    result = verified(cached, 60.0)
    assert result.verdict == "unproven"
    assert "remembers" in {finding.kind for finding in result.findings}
    assert result.lower is None


@pytest.mark.slow
def test_a_long_test_that_is_stopped_before_its_final_draws_has_the_bound_of_its_first_bets(monkeypatch):
    clock = Clock(monkeypatch)

    def stop(share, doing):
        if "neighbours" in doing:
            raise Stop

    result = verified(clock.half_noise(1e-4), 600.0, progress=stop)
    assert "interrupted" in {finding.kind for finding in result.findings}
    assert result.lower.epsilon > 0.5
    assert result.lower.method == "betting, valid at any time"
