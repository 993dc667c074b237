"""How often a true claim may be refuted is the caller's to say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mechanisms import Interval
from verify import Verification, verify


def slightly_wrong(data: float, rng: np.random.Generator, lanes: int) -> Any:
    return data + rng.laplace(scale=0.9, size=lanes)


def verified(false_alarm: float) -> Verification:
    return verify(
        slightly_wrong,
        epsilon=1.0,
        neighbours=Interval(0, 1),
        effort="quick",
        samples=60_000,
        false_alarm=false_alarm,
    )


def test_the_decisive_bound_gives_way_and_the_reported_one_does_not() -> None:
    loose, strict = verified(0.1), verified(1e-12)
    assert loose.lower is not None
    assert strict.lower is not None
    tested = [result.json()["black_box"] for result in (loose, strict)]
    assert tested[0]["strict_epsilon_lower"] > tested[1]["strict_epsilon_lower"]
    assert (loose.verdict, strict.verdict) == ("refuted", "unproven")
    assert "false_alarm=1e-12" in strict.json()["best_event"]["reproduce"]


@pytest.mark.parametrize("wrong", [0.0, -0.1, 0.6, True, float("nan")])
def test_what_is_no_rate(wrong: float) -> None:
    with pytest.raises(ValueError, match=r"false_alarm=.*: must lie in \(0, 0.5\]"):
        verified(wrong)
