"""A function in `map` is never part of a certificate, and one with state is found, wherever it keeps it."""

from pathlib import Path

import pytest

from mechanisms import AssumptionKind
from verify import verify

SUBJECTS = Path(__file__).parent.parent / "subjects" / "impure_maps.py"
FEW = {"effort": "quick", "samples": 5_000, "horizon": 12}

IMPURE = [
    "Divides",
    pytest.param("Method", marks=pytest.mark.slow),
    pytest.param("Callable", marks=pytest.mark.slow),
    pytest.param("Partial", marks=pytest.mark.slow),
    pytest.param("Closure", marks=pytest.mark.slow),
    pytest.param("DefaultArgument", marks=pytest.mark.slow),
    pytest.param("ClassAttribute", marks=pytest.mark.slow),
    pytest.param("Buffer", marks=pytest.mark.slow),
    "Generator",
]


@pytest.mark.slow
@pytest.mark.slow_cells("Divides")
@pytest.mark.parametrize("name", IMPURE)
def test_rewards_divided_by_the_largest_so_far_are_never_certified(name):
    result = verify(f"{SUBJECTS}:{name}", epsilon=1.0, **FEW)
    (assumption,) = result.assumptions
    assert assumption.kind is AssumptionKind.DECLARED_FUNCTION
    assert "impure_maps.py:" in assumption.where
    assert result.verdict != "certified"
    if name != "ClassAttribute":  # at 1, the largest there is, before its function is tried
        (finding,) = [finding for finding in result.findings if finding.kind == "impure-map"]
        assert "impure_maps.py:" in finding.where
        assert "once it has seen another value" in finding.message or "again" in finding.message


def test_a_pure_function_is_an_assumption_and_nothing_else():
    result = verify(f"{SUBJECTS}:Ufunc", epsilon=1.0, **FEW)
    assert result.verdict == "unproven"
    assert result.decision.reasons[0].text.startswith(
        "Unchecked assumption: your function square in map depends on nothing but"
    )
    assert not [finding for finding in result.findings if finding.failing]


@pytest.mark.slow
def test_transformations_are_certified():
    result = verify(f"{SUBJECTS}:Transformed", epsilon=1.0, **FEW)
    assert (result.verdict, result.assumptions) == ("certified", ())
