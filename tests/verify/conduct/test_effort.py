"""Efforts: larger ones look further, a horizon cuts the layers that are longer, draws that are said hold everywhere."""

from dataclasses import asdict, replace
from itertools import pairwise

import pytest

from verify.conduct.effort import EFFORTS, FALSE_ALARM


def _sizes(settings, path=""):
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _sizes(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def test_a_larger_effort_is_smaller_nowhere():
    assert list(EFFORTS) == ["quick", "default", "thorough"]
    for smaller, larger in pairwise(EFFORTS.values()):
        sizes = dict(_sizes(asdict(smaller)))
        assert all(size >= sizes[name] for name, size in _sizes(asdict(larger)))
        assert larger.samples > smaller.samples
    assert {effort.significance for effort in EFFORTS.values()} == {FALSE_ALARM} == {1e-4}


@pytest.mark.parametrize("name", list(EFFORTS))
def test_no_layer_is_longer_than_the_horizon_and_none_grows(name):
    effort = EFFORTS[name]
    assert effort.for_horizon(None) is effort
    for rounds in (1, 3, 10**6):
        assert effort.for_horizon(rounds) == replace(
            effort,
            accounting_rounds=rounds,
            coupled_rounds=min(effort.coupled_rounds, rounds),
            view_rounds=min(effort.view_rounds, rounds),
            scan_rounds=min(effort.scan_rounds, rounds),
        )
    with pytest.raises(ValueError, match="horizon = 0"):
        effort.for_horizon(0)


def test_draws_that_are_said_hold_whatever_they_cost():
    effort = EFFORTS["quick"]
    assert effort.with_samples(None, 0.9) == replace(effort, confidence=0.9)
    few, many = effort.with_samples(20_000, 0.9), effort.with_samples(10**7, 0.9)
    assert few.given
    assert (few.samples, few.single_samples, few.batch_samples, few.search_samples) == (20_000,) * 4
    assert (many.samples, many.single_samples, many.batch_samples) == (10**7,) * 3
    assert many.search_samples == effort.search_samples  # the search gets no more than its own
    assert (few.confidence, many.confidence) == (0.9, 0.9)
