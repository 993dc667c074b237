"""Where calls are dear, fewer draws are planned from the beginning, so that a test ends within the time limit."""

import math
import time

import numpy as np
import pytest

from mechanisms import Interval
from verify import AnyTwo, verify
from verify.conduct.effort import EFFORTS
from verify.functions.draw_budget import DrawBudget
from verify.functions.draw_plan import expected_draws, plan_draws
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


def planned(function, *, lanes=False, limit=60.0, spent=0.0, effort=EFFORT):
    subject = FunctionSubject(
        "subject", function, AnyTwo(Interval(0, 1)), None, takes_gate=False, takes_lanes=lanes
    )
    runs = FunctionRuns(subject, lanes)
    for part in range(3):
        runs.outputs(np.array(0.5), 64, np.random.SeedSequence(part))
    budget = DrawBudget(runs, effort)
    return plan_draws(runs, budget, np.array(0.5), seed=0, limit=limit, spent=spent), runs


@pytest.mark.parametrize("limit", [30.0, 60.0, 120.0, 600.0])
@pytest.mark.parametrize("seconds", [0.01, 0.003])
def test_what_is_planned_fits_with_the_draws_that_doubt_a_refutation(monkeypatch, seconds, limit):
    plan, _ = planned(Clock(monkeypatch).half_noise(seconds), limit=limit)
    assert plan.draws >= 1_024
    assert 0.5 * (limit - 3.0) < 1.6 * seconds * plan.draws <= 0.85 * (limit - 3.0)
    assert plan.finding.kind == "fewer-draws"
    assert f"{plan.draws:,} of 400,000 draws" in plan.finding.message


def test_nothing_is_planned_where_all_fits_or_the_caller_said_how_many(monkeypatch):
    clock = Clock(monkeypatch)
    assert planned(clock.half_noise(1e-5))[0] is None
    assert planned(clock.half_noise(1.0), limit=math.inf)[0] is None
    given = EFFORT.with_samples(400_000, 0.95)
    assert planned(clock.half_noise(1.0), effort=given)[0] is None


def test_how_long_calls_take_is_announced(monkeypatch):
    clock = Clock(monkeypatch)
    _, runs = planned(clock.half_noise(1e-5))
    assert expected_draws(runs, DrawBudget(runs, EFFORT)) == "400,000 draws, whose calls take about 6 s"
    _, runs = planned(clock.lanes(1e-7, 5e-3), lanes=True)
    assert expected_draws(runs, DrawBudget(runs, EFFORT)) == "10,000,000 draws"


def test_a_call_of_many_lanes_is_timed_where_a_call_of_few_is_mostly_overhead(monkeypatch):
    clock = Clock(monkeypatch)
    assert planned(clock.lanes(1e-7, 5e-3), lanes=True)[0] is None
    plan, _ = planned(clock.lanes(1e-4, 5e-3), lanes=True)
    assert 0.8 * 57.0 < 2.6 * (1e-4 + 5e-3 / 4_096) * plan.draws / 0.85 <= 57.0


def test_a_limit_that_is_too_short_for_any_test_is_said_with_one_that_would_do(monkeypatch):
    plan, _ = planned(Clock(monkeypatch).half_noise(0.1), limit=30.0)
    assert plan.draws == 1_024
    assert "196 s suffice" in plan.finding.message


def test_what_is_compiled_at_the_first_call_is_not_counted(monkeypatch):
    clock, first = Clock(monkeypatch), [100.0]

    def compiled(data, rng):
        clock.now += first.pop() if first else 1e-3
        return rng.normal()

    _, runs = planned(compiled)
    assert runs.seconds_a_draw == pytest.approx(1e-3)


@pytest.mark.parametrize(("seconds", "limit"), [(0.01, 60.0), (0.001, 30.0)])
def test_half_the_noise_is_refuted_in_time_and_the_same_again_with_the_draws_that_are_said(
    monkeypatch, seconds, limit
):
    clock = Clock(monkeypatch)
    subject = clock.half_noise(seconds)
    result = verify(subject, epsilon=1.0, neighbours=Interval(0, 1), time_limit=limit, seed=1)
    assert result.verdict == "refuted"
    assert clock.now <= limit
    samples = int(result.witness.reproduce.split("samples=")[1].split(",")[0])
    again = verify(subject, epsilon=1.0, neighbours=Interval(0, 1), samples=samples, seed=1)
    assert again.lower == result.lower
    assert not again.findings
