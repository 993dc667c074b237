"""A learner's own coins hide a part of what it releases, unless they are seen."""

from pathlib import Path

import pytest

from verify import verify

SUBJECTS = Path(__file__).parent.parent / "subjects" / "hidden_coins.py"
HIDDEN = (
    "Coin",
    "OneCoin",
    "CoinBefore",
    "Signs",
    "Scales",
    "InReleases",
    "Waits",
    "Elsewhere",
    "OfCopy",
    "OfChild",
)
FEW = {"effort": "quick", "samples": 6_000, "horizon": 30}


def verified(name: str, epsilon: float, **options: object):
    return verify(f"{SUBJECTS}:{name}", epsilon=epsilon, **{**FEW, **options})  # type: ignore[arg-type]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", HIDDEN)
def test_a_hidden_coin_does_not_refute_what_is_true(name: str) -> None:
    """True at 0.620, and refuted at 0.7 as exact before: coupled runs took the coin for seen; nothing proves 0.7."""
    result = verified(name, 0.7)
    assert result.verdict == "unproven"
    assert result.upper.epsilon == pytest.approx(1.0)
    assert result.lower.epsilon < 0.621 or not result.lower.in_view


@pytest.mark.slow
@pytest.mark.parametrize("name", HIDDEN)
def test_what_the_ledger_proves_is_certified(name: str) -> None:
    expected = "unproven" if name == "Elsewhere" else "certified"  # its coin cannot be repeated
    assert verified(name, 1.0).verdict == expected


@pytest.mark.slow
def test_a_coin_that_is_seen_hides_nothing() -> None:
    result = verified("Public", 0.7)
    assert result.verdict == "refuted"
    assert result.lower.epsilon == pytest.approx(1.0, abs=1e-6)


@pytest.mark.slow
def test_a_class_says_for_itself_that_its_draws_are_seen() -> None:
    assert verified("SaidOfAnother", 0.7).verdict == "unproven"


@pytest.mark.slow
def test_a_leak_beside_a_hidden_coin_is_refuted_in_the_message() -> None:
    """Noise for 3 in half of the rounds, ln(1 + (e³ - 1) / 2) = 2.35: the message itself is sampled."""
    result = verified("Leaks", 1.0, samples=40_000)
    assert result.verdict == "refuted"
    assert 1.0 < result.lower.epsilon < 2.36


@pytest.mark.slow
def test_all_releases_beside_the_coin_are_shown_as_more_than_is_seen() -> None:
    result = verified("InReleases", 1.0)
    assert result.verdict == "certified"
    assert result.details["coupled"]["largest_loss"] == pytest.approx(1.0)


def test_a_density_that_is_somebodys_word_refutes_nothing() -> None:
    """It was refuted at 0.9 as exact; two Laplace noises of scale 1 lose less than 0.9 in all that is seen of one."""
    result = verified("WordOfNoise", 0.9)
    assert result.verdict == "unproven"
    assert result.assumptions
    assert result.lower.method == "black-box test"
