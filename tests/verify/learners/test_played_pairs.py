"""Faults in a play of coupled runs, and results that may not count as one."""

from collections.abc import Iterator

import numpy as np
import pytest

from algorithms.claim import ClaimForm, View
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.learners import played_pairs
from verify.learners.played_pairs import PlayedNeighbours, PlayedPairs
from verify.sampling.evidence import Evidence


def plays(*, raising: bool) -> PlayedPairs:
    def play(learner: object, gate: object, numbers: object) -> Iterator[None]:
        yield
        if raising:
            raise ZeroDivisionError("a learner's own")

    form = ClaimForm(model="local", view=View.MESSAGE, unit="one report", source="a test")
    pairs = PlayedNeighbours([("D", "D′")], [1], play)
    conduct = Conduct(EFFORTS["quick"], 0, "")
    return PlayedPairs(
        lambda gate: None,
        pairs,
        form.with_parameters(1.0, 0.0),
        conduct,
        draws_from_gate=True,
        sees_draws=True,
    )


def test_what_a_learner_raises_ends_its_plays() -> None:
    assert plays(raising=True).add(Evidence(), np.random.SeedSequence(0)) is None
    assert plays(raising=False).add(Evidence(), np.random.SeedSequence(0)) is False


def test_a_fault_of_the_bounds_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for a learner's, and the verdict went on without lower bounds."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError("our own")

    monkeypatch.setattr(PlayedPairs, "_pure_bounds", fails)
    monkeypatch.setattr(played_pairs, "compose", fails)
    with pytest.raises(ZeroDivisionError, match="our own"):
        plays(raising=False).add(Evidence(), np.random.SeedSequence(0))
