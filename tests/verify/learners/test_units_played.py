"""The unit of a claim is what is played: a person's name comes again, and all of its rounds differ together."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from accountant import Accountant
from algorithms import ONE_REPORT, OnePerson
from mechanisms import Box
from verify import verify
from verify.learners.accounting_run import EnforcedTerms
from verify.transcripts.neighbours import of_people, rounds_of

PEOPLE = Path(__file__).parents[1] / "subjects" / "people.py"
FEW = {"effort": "quick", "samples": 5_000}


@pytest.mark.slow_cells("EachRound-None-16-refuted-8.0-8.0")
@pytest.mark.parametrize(
    ("learner", "unit", "horizon", "verdict", "upper", "lower"),
    [
        ("EachRound", None, 16, "refuted", 8.0, 8.0),
        ("EighthOfEachRound", None, 24, "certified", 1.0, 1.0),
        ("SeventhOfEachRound", None, 24, "refuted", 8 / 7, 8 / 7),
        # Whoever comes without limit is played in every round, too.
        ("OfAnybody", None, 24, "refuted", 3.0, 3.0),
        ("EachRound", "one report", 16, "certified", 1.0, 1.0),
        ("OfRound", "one person, at most 2 rounds", 16, "refuted", 2.0, 2.0),
        ("EachRound", "one person, at most 1 round", 16, "certified", 1.0, 1.0),
    ],
)
@pytest.mark.few(2)
def test_a_claim_for_a_person_is_held_to_all_of_the_persons_rounds(
    learner: str, unit: str | None, horizon: int, verdict: str, upper: float, lower: float
) -> None:
    """A claim for "one person: all rounds that the person takes part in" was certified at the loss of one round."""
    result = verify(f"{PEOPLE}:{learner}", epsilon=1.0, unit=unit, horizon=horizon, **FEW)
    assert result.verdict == verdict
    assert result.upper.epsilon == pytest.approx(upper, rel=1e-12)
    assert result.lower.epsilon == pytest.approx(lower, rel=1e-6)
    assert result.lower.epsilon <= upper
    if verdict == "refuted":
        assert "the person of rounds" in result.witness.neighbours["data"]
        charged = " ".join(finding.message for finding in result.findings)
        assert f"total ε = {upper:.6g}" in charged  # as messages print it


@pytest.mark.slow
def test_gaussian_noise_for_each_round_is_refuted_for_a_person() -> None:
    result = verify(f"{PEOPLE}:GaussianEachRound", epsilon=1.0, delta=1e-4, horizon=16, **FEW)
    assert result.verdict == "refuted"
    assert 2.0 < result.lower.epsilon < result.upper.epsilon


def test_the_comment_is_no_part_of_what_is_protected() -> None:
    result = verify(f"{PEOPLE}:EachRound", epsilon=9.0, horizon=8, effort="quick", samples=2_048)
    assert result.claim.comment == "a customer, with all visits"
    text = " ".join(str(result).split())
    assert "one person, with all reports under the person's name, in at most 8 rounds." in text
    assert "all reports of one person replaced by any others" in text
    assert "customer" not in text.split("Neighbours:")[0]
    assert result.json()["claim"]["unit"] == "one person, at most 8 rounds"
    assert result.json()["claim"]["comment"] == "a customer, with all visits"


@pytest.mark.parametrize(
    ("subject", "delta"),
    [("dp-dpe-central", 1e-3), ("published/tree-linucb-gaussian", 1e-3), ("cucb-ldp1", 0.0)],
)
@pytest.mark.parametrize("unit", ["one report", "one person, at most 8 rounds"])
@pytest.mark.slow
def test_names_come_again_in_every_family(
    subject: str, delta: float, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[Counter[object]] = []
    make, private = EnforcedTerms.accountant, Accountant.private

    def made(self: EnforcedTerms, seed: np.random.SeedSequence) -> Accountant:
        entered.append(Counter())
        return make(self, seed)

    def counted(self: Accountant, values: object, domain: object, record: object) -> object:
        entered[-1][record] += 1
        return private(self, values, domain, record)  # type: ignore[arg-type]

    result = verify(subject, epsilon=1.0, delta=delta, unit=unit, effort="quick")
    monkeypatch.setattr(EnforcedTerms, "accountant", made)
    monkeypatch.setattr(Accountant, "private", counted)
    # An accountant that is watched proves nothing.
    verify(subject, epsilon=1.0, delta=delta, unit=unit, effort="quick")
    times = [max(count.values()) for count in entered if count]
    assert times
    if unit == "one report":
        assert (result.verdict, max(times)) == ("certified", 1)
    else:  # runs end where a person cannot pay, or already waits in sums
        assert result.verdict != "certified"
        assert 1 < max(times) <= 8


def test_the_rounds_of_people_differ_together() -> None:
    data = np.random.default_rng(0).random((17, 3))
    below, neighbours = of_people(data, Box(0, 1, 3), OnePerson(4), [1, 3, 9, 1])
    assert [neighbour.rounds for neighbour in neighbours] == [(1, 5, 9, 13), (3, 7, 11, 15)]
    for neighbour in neighbours:
        differ = np.flatnonzero((neighbour.apply_to(below) != below).any(axis=1))
        assert tuple(differ.tolist()) == neighbour.rounds
        assert (below[list(neighbour.rounds)] == 0).all()
    below, (everybody, *_) = of_people(data, Box(0, 1, 3), OnePerson(), [1])
    assert everybody.rounds == tuple(range(1, 17))
    assert rounds_of(2, 16, ONE_REPORT) == (2,)
    assert rounds_of(2, 16, OnePerson(2)) == (2, 10)


def test_a_unit_is_refused_where_nothing_is_played_for_it() -> None:
    with pytest.raises(ValueError, match=r"takes no .* unit"):
        verify(lambda data, rng: data, epsilon=1.0, neighbours=Box(0, 1, 1), unit="one person")
    with pytest.raises(
        ValueError, match="must be 'one report', 'one person, at most N rounds' or 'one person'"
    ):
        verify("cucb-ldp1", epsilon=1.0, unit="one customer")


@pytest.mark.slow
def test_a_learner_of_batches_says_why_a_person_is_not_proved() -> None:
    """It refuses who comes back within a batch, and the refusal alone was shown."""
    result = verify("cucb-batch", epsilon=1.0, unit="one person, at most 4 rounds", **FEW)
    assert result.verdict == "unproven"
    assert "stops where a person comes back before" in result.findings[0].message
