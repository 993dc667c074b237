"""Linear learners of a user's own: none that leaks is certified, and none that keeps its claim is refuted."""

import math
from pathlib import Path

import pytest

from mechanisms import GaussianProfile
from mechanisms.profiles.gaussian_profile import largest_mu
from verify import verify

SUBJECTS = Path(__file__).parent.parent / "subjects" / "linear_learners.py"
LAPLACE = 1.4
LEAKING = {  # the delta that the wrong noise is for, at epsilon = 1
    "TwoKinds": 0.3,
    "TwoKinds9": 0.9,
    "TwoKinds99": 0.99,
    "TwoKindsLocal": 0.3,
    "TwoKindsLaplace": None,  # 1.4 times epsilon
    "Adaptive": 0.9,
    "AdaptiveLocal": 0.9,
    "Late": 0.9,
    "LateLocal": 0.9,
    "Concentrated": 0.9,
    "Catches": 0.9,
}
HONEST = (
    "ClipsItself",
    "Turns",  # it is charged for more than it moves
    "Own",
    "OwnLocal",
    "ScalesAndClips",
    "TwiceHonest",
    "TwiceLocal",
    "Alternates",
    "Careful",
    "ShortPhases",
    "Mine",
    "Coin",
    "CoinOnce",
    "CoinOfThem",
    "CoinOnScale",
)


def verified(name: str, epsilon: float = 1.0):
    horizon = 1000 if name.startswith("Late") else 300
    return verify(
        f"{SUBJECTS}:{name}", epsilon=epsilon, delta=1e-3, effort="quick", samples=5_000, horizon=horizon
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("name", LEAKING)
def test_a_leaking_learner_is_refuted_by_plays(name: str) -> None:
    """Nine of them were certified: an upper bound of their own was made of one record's charges.

    At least so much was lost: bounds are wrong with probability 5e-5 each.
    """
    result = verified(name)
    delta = LEAKING[name]
    true = LAPLACE if delta is None else GaussianProfile(float(largest_mu(1.0, delta))).epsilon(1e-3)
    assert result.verdict == "refuted"
    assert result.lower.in_view
    assert 0.8 * true < result.lower.epsilon < true
    assert result.upper.epsilon > 1.0 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_learner_is_certified(name: str) -> None:
    """Reports that the learner clips itself were refuted at 309 by a pair that no data reach."""
    result = verified(name)
    assert result.verdict == "certified"
    assert result.upper.every_run
    assert result.lower.epsilon < result.upper.epsilon, "of data that were played, not of what noise is for"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lower", "least"),
    [("Pure", 1.0, 1.0), ("QuarterOfTheNoise", 4.0, 4.0), ("PureByGaussianNoise", math.inf, 2.0)],
)
def test_the_event_of_a_pure_claim_is_a_likelihood_ratio(name: str, lower: float, least: float) -> None:
    """Its probability is counted in plays: it was said to be exactly 1, and on D′ to be e^-ε or 0."""
    result = verify(f"{SUBJECTS}:{name}", epsilon=1.0, delta=0.0, effort="quick", samples=20_000, horizon=120)
    assert result.verdict == ("certified" if name == "Pure" else "refuted")
    assert result.lower.epsilon == pytest.approx(lower, rel=1e-5)
    witness = result.witness
    assert witness.details["largest_loss"] == pytest.approx(least, rel=1e-5)
    assert witness.hits is not None
    assert witness.trials == 6
    assert witness.probability == witness.hits / 6 < 1.0
    assert witness.probability_prime <= witness.probability * math.exp(-least) * (1.0 + 1e-5)
    printed = " ".join(str(result).split())
    assert "(from the densities)" in printed
    assert "identifies D" not in printed


def test_what_is_declassified_and_shown_to_nobody_does_not_refute() -> None:
    """It was refuted, with an infinite loss: plays of pairs took the value for shown."""
    result = verify(f"{SUBJECTS}:Unread", epsilon=1.0, delta=0.0, effort="quick", samples=5_000, horizon=120)
    assert result.verdict == "unproven"
    assert not result.lower.in_view


@pytest.mark.slow
def test_the_event_shows_the_lower_bound_where_the_claim_is_not_refuted() -> None:
    """(P - δ) / P′ is e^ε of the lower bound: at the claim's own ε, P came out below δ, and the ratio below 0."""
    result = verify("dp-pe-shuffle", epsilon=10.0, delta=0.25, effort="quick", samples=20_000, horizon=60)
    ratio = (result.witness.probability - 0.25) / result.witness.probability_prime
    assert math.log(ratio) == pytest.approx(result.lower.epsilon, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Coin", "CoinOnce", "CoinOfThem", "CoinOnScale"])
def test_a_coin_that_nobody_sees_does_not_refute_what_is_true(name: str) -> None:
    """Noise for 1 beside a coin: all lose less than 0.45 at delta = 1e-3; the ledger proves 1."""
    result = verified(name, 0.6)
    assert result.verdict == "unproven"
    assert not result.lower.in_view
