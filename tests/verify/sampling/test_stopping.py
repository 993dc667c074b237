"""Learners and mechanisms that never end, or are stopped by hand: a report, and never a certificate."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from mechanisms import Laplace
from verify import verify
from verify.conduct.interrupts import Stop
from verify.conduct.time_limit import TimeLimitReached
from verify.sampling.evidence import Evidence
from verify.sampling.stopping import stopped_by_hand, stopped_in_time

LEARNERS = Path(__file__).parents[1] / "subjects" / "learners.py"


def findings_of(result):
    return {finding.kind: finding for finding in result.findings}


def loop_in(path: Path, text: str) -> set[str]:
    """Return the places of a loop of two lines, the second of which holds a text."""
    second = next(n for n, line in enumerate(path.read_text().splitlines(), 1) if line.endswith(text))
    return {f"{path.name}:{second - 1}", f"{path.name}:{second}"}


@pytest.mark.slow
def test_a_learner_that_never_ends_is_stopped_and_its_line_named() -> None:
    # Enough for a cold process beside others to come as far as the loop.
    result = verify(f"{LEARNERS}:NeverEnds", epsilon=1.0, effort="quick", time_limit=3.0)
    assert result.verdict == "unproven"
    stopped = findings_of(result)["time-limit"]
    assert "time limit of 3 s reached" in stopped.message
    assert Path(stopped.where).name in loop_in(LEARNERS, "# never ends")


class Endless(Laplace):
    """Releases at first, and never again."""

    def release(self, value, noise):
        if value.shape[0] > 1000:
            while True:
                pass  # for ever
        return super().release(value, noise)


@pytest.mark.slow
def test_a_mechanism_that_never_ends_is_stopped() -> None:
    result = verify(Endless(scale=1.0), epsilon=1.0, effort="quick", time_limit=1.0)
    assert result.verdict == "unproven"
    assert Path(findings_of(result)["time-limit"].where).name in loop_in(Path(__file__), "# for ever")


@pytest.mark.slow
def test_a_learner_stopped_by_hand_before_its_checks_are_done_is_not_certified(monkeypatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1.0)

    monkeypatch.setattr("verify.learners.replay_run.Replays.add", interrupt)
    result = verify("cucb-ldp1", epsilon=1.0, effort="quick")
    assert result.upper is not None
    assert result.upper.epsilon <= 1.0
    assert result.verdict == "unproven"
    assert findings_of(result)["interrupted"].failing
    assert result.json()["interrupted"]


@pytest.mark.slow
def test_linear_learners_keep_the_limit() -> None:
    result = verify("dp-dpe-central", epsilon=10.0, delta=0.25, time_limit=1.0)  # time enough to be built
    assert result.verdict == "unproven"
    assert "time-limit" in findings_of(result)


def test_a_test_stopped_by_hand_is_a_remark_and_a_time_limit_passes_through() -> None:
    evidence = Evidence()
    with stopped_by_hand(evidence):
        raise Stop
    (remark,) = evidence.findings
    assert (remark.kind, remark.failing) == ("interrupted", False)
    assert evidence.details == {"interrupted": True}
    with pytest.raises(TimeLimitReached), stopped_by_hand(evidence):
        raise TimeLimitReached
    assert evidence.findings == [remark]


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_limits_must_be_positive(seconds: float) -> None:
    with pytest.raises(ValueError, match="time_limit"), stopped_in_time(Evidence(), seconds):
        pass
