"""Progress of a verification: a stage's own share is a stretch of the whole."""

from __future__ import annotations

from verify.conduct.progress import subprogress


def test_a_stage_takes_its_stretch_of_the_whole() -> None:
    told: list[tuple[float, str]] = []
    stage = subprogress(lambda share, doing: told.append((share, doing)), 0.25, 0.75)
    for share in (0.0, 0.5, 1.0):
        stage(share, "final test")
    assert told == [(0.25, "final test"), (0.5, "final test"), (0.75, "final test")]


def test_stretches_nest() -> None:
    told: list[float] = []
    outer = subprogress(lambda share, doing: told.append(share), 0.5, 1.0)
    subprogress(outer, 0.0, 0.5)(1.0, "scan")
    assert told == [0.75]
