"""Values that rest on a user's own part are unproven at any nesting; those of the library alone are certified."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from mechanisms import (
    Box,
    Composed,
    Laplace,
    NumpyNoise,
    ParameterError,
    PureProfile,
    Repeated,
    Sensitivity,
    from_opendp,
    to_opendp,
)
from verify import verify
from verify.findings.subject_error import SubjectError
from verify.verification.resolve import load_object

LEARNERS = Path(__file__).parent / "subjects" / "learners.py"
NoisyMeans: Any = load_object(f"{LEARNERS}:NoisyMeans")
pytestmark = pytest.mark.usefixtures("small_searches")
FEW: dict[str, Any] = {"samples": 5_000, "effort": "quick"}


class TooQuiet(Laplace):
    """Adds no noise to a value in a narrow interval, which no sample hits."""

    def release(self, value: Any, noise: Any) -> Any:
        drawn = super().release(value, noise)
        return np.where(np.abs(np.asarray(value) - 0.7654321) < 1e-6, value, drawn)


WRAPPED = {
    "itself": TooQuiet(scale=1.0),
    "composed": Composed((TooQuiet(scale=2.0), Laplace(scale=2.0))),
    "repeated": Repeated(TooQuiet(scale=2.0), 2),
    "post-processed": TooQuiet(scale=1.0) >> np.negative,
    "nested": Repeated(Composed((TooQuiet(scale=4.0), Laplace(scale=4.0))) >> np.negative, 2),
    "replaced": dataclasses.replace(TooQuiet(scale=3.0), scale=1.0),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("mechanism", WRAPPED.values(), ids=WRAPPED.keys())
def test_a_wrapper_around_a_users_mechanism_is_unproven(mechanism: Any) -> None:
    result = verify(mechanism, epsilon=1.0, **FEW)
    assert result.upper.epsilon == pytest.approx(1.0)
    assert result.verdict == "unproven"
    assert result.decision.reasons[0].text.startswith(
        "Unchecked assumption: the privacy profile of your class TooQuiet is correct, "
    )
    (shown,) = result.json()["assumptions"]
    assert shown["kind"] == "foreign-class"
    assert "test_rests_on.py:" in shown["where"]


@pytest.mark.slow
def test_our_own_wrappers_are_certified() -> None:
    for mechanism in (
        Laplace(scale=1.0),
        Composed((Laplace(scale=2.0), Laplace(scale=2.0))),
        Repeated(Laplace(scale=2.0), 2) >> np.negative,
    ):
        result = verify(mechanism, epsilon=1.0, **FEW)
        assert (result.verdict, result.assumptions) == ("certified", ())
        assert result.json()["assumptions"] == []


@pytest.mark.slow
def test_a_measurement_of_opendp_is_an_assumption() -> None:
    result = verify(from_opendp(to_opendp(Laplace(scale=1.0)), 1.0), epsilon=1.0, **FEW)
    assert result.verdict == "unproven"
    assert result.json()["assumptions"][0]["kind"] == "opendp"


# OpenDP draws from a source without a seed: enough draws that a claim of 0.4 of a true 1 is refuted every time.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "verdict"), [pytest.param(1.0, "unproven", marks=pytest.mark.slow), (0.2, "refuted")]
)
def test_a_measurement_of_one_number_is_drawn_from_one_call_at_a_time(epsilon: float, verdict: str) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    result = verify(from_opendp(dp.m.make_laplace(*space, scale=1.0), 1.0), epsilon=epsilon, samples=4_096)
    assert result.verdict == verdict


@pytest.mark.slow
def test_a_measurement_of_vectors_of_any_length_is_drawn_from_and_a_query_says_how() -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    real = dp.atom_domain(T=float, nan=False)
    vectors = dp.m.make_gaussian(dp.vector_domain(real), dp.l2_distance(T=float), scale=0.5)
    assert verify(from_opendp(vectors, 1.0), epsilon=0.2, delta=1e-3, samples=4_096).verdict == "refuted"
    data = dp.vector_domain(dp.atom_domain(bounds=(0, 1))), dp.symmetric_distance()
    query = data >> dp.t.then_sum() >> dp.m.then_laplace(scale=2.0)
    with pytest.raises(ParameterError, match="is a query on data sets; verify the function that calls it"):
        verify(from_opendp(query, 1), epsilon=1.0)


@pytest.mark.slow_cells("False")
@pytest.mark.parametrize("vector", [False, True])
def test_a_measurement_of_integers_is_drawn_from_at_integers(vector: bool) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    one, vectors = (dp.atom_domain(T="i32"), dp.absolute_distance(T="i32")), dp.l1_distance(T="i32")
    space = (dp.vector_domain(one[0]), vectors) if vector else one
    measurement = dp.m.make_laplace(*space, scale=0.5)
    assert verify(from_opendp(measurement, 1), epsilon=0.2, samples=4_096).verdict == "refuted"
    with pytest.raises(SubjectError, match=r"give mechanisms\.from_opendp\(measurement, d_in="):
        verify(measurement, epsilon=1.0)


@pytest.mark.parametrize(
    ("owner", "name", "patch"),
    [
        (Laplace, "profile", lambda self, sensitivity=None: PureProfile(Fraction(1, 10))),
        (Sensitivity, "covers", lambda self, other: True),
        (NumpyNoise, "gaussian", lambda self, location, sigma: location),
        (Box, "check", lambda self, values, name="value": np.asarray(values)),
    ],
)
def test_a_library_that_was_patched_certifies_nothing(owner: Any, name: str, patch: Any) -> None:
    with mock.patch.object(owner, name, patch):
        result = verify(Repeated(Laplace(scale=10.0), 2), epsilon=1.0, **FEW)
    assert result.verdict == "unproven"
    assert {each.kind.value for each in result.assumptions} == {"patched"}
    assert f"{owner.__name__}.{name}" in result.decision.reasons[0].text


class HalfBox(Box):
    @property
    def sensitivity(self) -> Sensitivity:
        return super().sensitivity.multiply_by(0.5)


class ComposesTooQuiet(NoisyMeans):
    def published(self, feedback: Any) -> Any:
        scale, moved = self.laplace.scale, self.laplace.sensitivity
        return self.gate.release(Repeated(TooQuiet(scale=scale, sensitivity=moved), 1), feedback)[0]


class HalvesItsDomain(NoisyMeans):
    def __init__(self, structure: Any, gate: Any, *, epsilon: float, horizon: int) -> None:
        super().__init__(structure, gate, epsilon=epsilon, horizon=horizon)
        self.feedback_domain = HalfBox(0, 1, structure.size)


class PatchesItsNoise(NoisyMeans):
    def published(self, feedback: Any) -> Any:
        object.__setattr__(self.laplace, "release", lambda value, noise: np.asarray(value))
        return self.gate.release(self.laplace, feedback)


class PostProcessesQuietly(NoisyMeans):
    def published(self, feedback: Any) -> Any:
        scale, moved = self.laplace.scale, self.laplace.sensitivity
        return self.gate.release(TooQuiet(scale=scale, sensitivity=moved) >> np.negative, feedback)


class Anneals(NoisyMeans):
    """Shrinks its noise in place, behind the profile that it has cached."""

    def published(self, feedback: Any) -> Any:
        assert self.laplace.epsilon
        object.__setattr__(self.laplace, "scale", self.laplace.scale * 0.9)
        return self.gate.release(self.laplace, feedback)


class PostProcesses(NoisyMeans):
    """Ours, followed by a function, in a view of all that is released."""

    def published(self, feedback: Any) -> Any:
        return self.gate.release(self.laplace >> np.round, feedback)


@pytest.mark.slow_cells("PostProcessesQuietly-kinds3", "PatchesItsNoise-kinds2")
@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("learner", "kinds"),
    [
        (ComposesTooQuiet, {"foreign-class"}),
        (HalvesItsDomain, {"foreign-class"}),
        (PatchesItsNoise, {"patched"}),
        (PostProcessesQuietly, {"foreign-class"}),
    ],
)
def test_a_learner_that_rests_on_parts_of_its_own_is_unproven(learner: Any, kinds: set[str]) -> None:
    result = verify(learner, epsilon=1.0, **FEW, horizon=20)
    assert result.verdict != "certified"
    assert {each.kind.value for each in result.assumptions} == kinds


@pytest.mark.slow
def test_a_scale_that_shrinks_is_charged_for_as_it_is() -> None:
    result = verify(Anneals, epsilon=1.0, **FEW, horizon=20)
    assert result.verdict != "certified"
    assert result.upper.epsilon > 1.05


def test_a_function_of_a_release_keeps_its_certificate() -> None:
    result = verify(PostProcesses, epsilon=1.0, **FEW, horizon=20)
    assert (result.verdict, result.assumptions) == ("certified", ())
    assert not [finding for finding in result.findings if finding.kind == "no-lanes"]
    assert not result.lower.in_view or result.lower.samples  # what the function hides is no bound in the view


class TenRecords(NoisyMeans):  # type: ignore[misc]
    claim = dataclasses.replace(NoisyMeans.claim, differ="any ten records replaced by any others")


def test_words_of_a_claim_about_its_neighbours_are_an_assumption() -> None:
    result = verify(TenRecords, epsilon=1.0, effort="quick")
    assert result.verdict == "unproven"
    (shown,) = (each for each in result.json()["assumptions"] if each["kind"] == "claim")
    assert "any ten records" in shown["message"]


@pytest.mark.parametrize("norm", [0.0, float("inf")])
def test_a_mechanism_for_no_movement_or_any_is_refused_by_name(norm: float) -> None:
    with pytest.raises(ParameterError, match=r"mechanism = .*sensitivity must be finite and above 0"):
        verify(Laplace(scale=1.0, sensitivity=Sensitivity(norm, norm, norm)), epsilon=1.0, **FEW)
