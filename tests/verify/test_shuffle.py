"""Verification of shuffle protocols, in the view of the analyzer."""

from pathlib import Path

import pytest

from mechanisms import Binomial, ShuffledMean
from verify import verify

pytestmark = pytest.mark.usefixtures("small_searches")


@pytest.mark.slow
def test_the_published_scalar_protocol_holds_with_slack() -> None:
    """A claim of 10 costs 0.815 (exact); half of that is refuted by the profile itself."""
    noise = ShuffledMean.scalar_as_printed(10.0, 1e-6, clients=100, bound=1.0).mechanism
    report = verify(noise, epsilon=10.0, delta=1e-6)
    assert report.verdict == "certified"
    assert 0.814 < report.upper.epsilon < 0.816
    assert verify(noise, epsilon=0.5, delta=1e-6).verdict == "refuted"


@pytest.mark.slow
def test_a_calibrated_vector_protocol_is_certified() -> None:
    noise = ShuffledMean.calibrated(1.0, 1e-3, clients=20, size=3, bound=1.0).mechanism
    report = verify(noise, epsilon=1.0, delta=1e-3, samples=100_000)
    assert report.verdict == "certified"
    assert report.lower.epsilon <= report.upper.epsilon <= 1.0


def test_an_upper_curve_alone_refutes_nothing() -> None:
    """Several coordinates: the grid's curve is a bound, so a claim just below it is not refuted by it."""
    noise = Binomial(trials=400, shift=1, dimension=3, delta=1e-3)
    report = verify(noise, epsilon=noise.epsilon * (1 - 1e-6), delta=1e-3, samples=100_000)
    assert report.verdict == "unproven"


SUBJECTS = Path(__file__).parent / "subjects" / "shuffles.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "why"),
    [
        ("NoShuffler", "through Laplace; under shuffle trust"),
        ("NoiseOfTheServer", "through Binomial; under shuffle trust"),
        ("AbsentClients", "the bits of 5 clients"),
    ],
)
def test_a_shuffle_claim_needs_a_shuffler(learner: str, why: str) -> None:
    result = verify(
        f"{SUBJECTS}:{learner}", epsilon=1.0, delta=1e-3, effort="quick", horizon=8, samples=4_000
    )
    assert result.verdict == "unproven"
    assert why in next(finding.message for finding in result.findings if finding.kind == "trust")


@pytest.mark.slow
def test_a_learner_with_a_shuffler_is_certified() -> None:
    result = verify(
        f"{SUBJECTS}:Shuffles", epsilon=1.0, delta=1e-3, effort="quick", horizon=20, samples=8_000
    )
    assert result.verdict == "certified", result.reasons
