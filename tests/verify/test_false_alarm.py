"""The probability of a false alarm is the caller's choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from algorithms import ClaimForm, View
from mechanisms import Interval
from verify import Verification, verify
from verify.conduct.effort import EFFORTS, FALSE_ALARM
from verify.learners.verify_learner import _with_shared_error


def slightly_wrong(data: float, rng: np.random.Generator, lanes: int) -> Any:
    return data + rng.laplace(scale=0.9, size=lanes)


def verified(significance: float) -> Verification:
    return verify(
        slightly_wrong,
        epsilon=1.0,
        neighbours=Interval(0, 1),
        effort="quick",
        samples=60_000,
        significance=significance,
    )


def test_the_decisive_bound_gives_way_and_the_reported_one_does_not() -> None:
    loose, strict = verified(0.1), verified(1e-12)
    assert loose.lower is not None
    assert strict.lower is not None
    tested = [result.json()["black_box"] for result in (loose, strict)]
    assert tested[0]["strict_epsilon_lower"] > tested[1]["strict_epsilon_lower"]
    assert (loose.verdict, strict.verdict) == ("refuted", "unproven")
    assert "significance=1e-12" in strict.json()["best_event"]["reproduce"]


@pytest.mark.parametrize("wrong", [0.0, -0.1, 0.6, True, float("nan")])
def test_what_is_no_rate(wrong: float) -> None:
    with pytest.raises(
        ValueError, match=r"significance = .*: must (lie in \(0, 0.5\]|be one real number|be a number)"
    ):
        verified(wrong)


def test_layers_that_may_both_refute_share_the_rate() -> None:
    """Coupled runs of releases rest on draws for δ > 0, and refute by themselves where the adversary sees releases."""
    for view, delta, share in (
        (View.MESSAGE, 1e-3, 0.5),
        (View.RELEASES, 1e-3, 0.5),
        (View.ACTIONS, 1e-3, 1.0),
        (View.MESSAGE, 0.0, 1.0),
    ):
        claim = ClaimForm(model="local", view=view, unit="one report", source="a test").with_parameters(
            1.0, delta
        )
        assert _with_shared_error(EFFORTS["quick"], claim).significance == share * FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("rates", [{"significance": 1e-6}, {"confidence": 1.0 - 1e-6}])
def test_a_rate_below_what_a_linear_learners_view_leaves_out_is_refused(rates: dict[str, float]) -> None:
    with pytest.raises(
        ValueError, match=r"significance = .*, confidence = .*: must leave errors above 2e-06"
    ):
        verify(
            "published/dp-dpe-central",
            epsilon=10.0,
            delta=0.25,
            effort="quick",
            horizon=500,
            **rates,
        )
