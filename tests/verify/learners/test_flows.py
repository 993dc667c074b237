"""Data flow around the gate, in production, late or rarely; charges that depend on releases; the view tested."""

from collections import UserDict
from pathlib import Path

import numpy as np
import pytest

from accountant import Place, Recording
from accountant.gates.taped import _Published
from mechanisms import Box
from verify import verify
from verify.learners.other_records import boundary_values, groups_of_records, growing_records, other_records

SUBJECTS = Path(__file__).parent.parent / "subjects" / "flows.py"
FEW = {"effort": "quick", "samples": 6_000, "horizon": 40}


def verified(name: str, **options: object):
    return verify(f"{SUBJECTS}:{name}", epsilon=1.0, **{**FEW, **options})  # type: ignore[arg-type]


def failing(result) -> dict[str, str]:
    return {finding.kind: finding.message for finding in result.findings if finding.failing}


def line_of(words: str, within: str) -> int:
    lines = SUBJECTS.read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"class {within}("))
    return next(n for n in range(start, len(lines)) if words in lines[n]) + 1


@pytest.mark.slow_cells("AfterTheNoise", "UnderAnotherName")
@pytest.mark.parametrize(
    "name",
    [
        "InOneLane",
        pytest.param("ByTheTypesName", marks=pytest.mark.slow),
        pytest.param("InOneLateRound", marks=pytest.mark.slow),
        pytest.param("ForRareValues", marks=pytest.mark.slow),
        pytest.param("ForOneValue", marks=pytest.mark.slow),
        pytest.param("ThroughWarnings", marks=pytest.mark.slow),
        "AfterTheNoise",
        pytest.param("WhoPays", marks=pytest.mark.slow),
        pytest.param("IntoLaterBatches", marks=pytest.mark.slow),
        "UnderAnotherName",
    ],
)
def test_what_flows_around_the_gate_in_production_is_found(name: str) -> None:
    result = verified(name, horizon=120 if name.startswith("For") else 40)
    assert result.verdict != "certified"
    assert failing(result).keys() & {"raw-flow", "fewer-calls"}, result.findings


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "line", "what", "when"),
    [
        ("WhoPays", "mixed =", "the operation on a private value here depends on raw data", "all records"),
        ("WhoPaysByHand", "self.gate.release", "though its records agree", "half of the records"),
        ("WithinABatch", "self.sums.add", "though its records agree", "half of the records"),
    ],
)
def test_the_line_of_a_mixed_release_is_named(name: str, line: str, what: str, when: str) -> None:
    result = verified(name)
    assert result.verdict == "unproven"
    (finding,) = [f for f in result.findings if f.kind == "raw-flow"]
    assert finding.where.endswith(f"flows.py:{line_of(line, name)}")
    assert what in finding.message
    assert when in finding.message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AgainIfImplausible", "AgainIfTied", "AgainIfAllAreLow"])
def test_charges_beyond_the_claim_that_depend_on_releases_are_found(name: str) -> None:
    """The noise is 20 times its scale in one of e^20 rounds: no run shows it."""
    result = verified(name, horizon=200 if name == "AgainIfAllAreLow" else 40)
    assert result.verdict == "unproven"
    assert result.upper.epsilon == 2.0
    (finding,) = [finding for finding in result.findings if finding.kind == "overspent"]
    assert "2 releases through Laplace" in finding.message


@pytest.mark.slow
def test_who_pays_too_much_in_a_late_round_is_looked_at() -> None:
    """Coupled runs of this effort look at rounds 1 to 12; the bound is exact."""
    result = verified("AgainInALateRound", samples=1_024)
    assert (result.verdict, result.lower.epsilon) == ("refuted", pytest.approx(2.0))
    assert "round 33" in result.witness.neighbours["data"]


@pytest.mark.slow
def test_charges_within_the_claim_may_depend_on_releases() -> None:
    result = verified("AgainWithinTheBudget")
    assert result.verdict == "certified", result.decision.reasons
    assert result.upper.epsilon == 1.0
    assert "enforced by an accountant with this budget" in result.upper.method
    assert "give rounds of the same record the same name" in result.decision.reasons[-1].text


@pytest.mark.slow
def test_who_asks_until_the_accountant_refuses_claims_what_it_asks_for() -> None:
    """Ten releases at a quarter of the claim: only a budget of exactly the claim would keep it."""
    result = verified("AsksTheAccountant")
    assert result.verdict == "unproven"
    assert result.upper.epsilon == 2.5


@pytest.mark.slow_cells("OneLaneOnly-everything that is released in coupled runs")
@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("OneLaneOnly", "everything that is released in coupled runs"),
        ("PostProcesses", "everything that is released, before functions of it, in coupled runs"),
    ],
)
def test_honest_learners_whose_releases_are_seen_stay_certified(name: str, seen: str) -> None:
    result = verified(name, horizon=12, samples=10_000)
    assert result.verdict == "certified", result.decision.reasons
    assert result.details["tested_view"] == seen


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("FailsWhereNeighboursStand", "no coupled run was possible"),
        ("AnotherView", "learners show actions or releases"),
    ],
)
def test_a_view_that_is_not_tested_is_not_certified(name: str, why: str) -> None:
    result = verified(name, horizon=12)
    assert result.verdict == "unproven"
    assert why in failing(result)["view"]
    assert result.details["tested_view"] == "the sequence of actions"


# --- other data ----------------------------------------------------------------------------------


def test_telling_numbers_are_those_of_the_code_and_what_lies_between() -> None:
    class Learner(UserDict):  # of a module whose numbers are not the learner's
        threshold = 0.25

        def act(self, factor: float = 0.75) -> float:
            return factor if 0.125 < self.threshold < 3.0 else 0.0

    Learner.__module__ = "of_a_test"
    module = type(np)("of_a_test")
    module.Learner = Learner  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(__import__("sys").modules, "of_a_test", module)
        numbers = boundary_values(Learner, 0.0, 1.0)
        of_more = boundary_values(Learner, 0.0, 6e5).tolist()
        patched.setattr("verify.learners.other_records._MOST_NUMBERS", 3)
        assert boundary_values(Learner, 0.0, 1.0).tolist() == [0.0, 0.125, 0.25, 0.0625, 0.1875]
    known = {0.0, 1.0, 0.5, 1 / 3, 2 / 3, 0.25, 0.75, 0.125}
    assert known <= set(numbers)
    assert 3.0 not in numbers
    assert (0.0 + 0.125) / 2 in numbers
    assert (0.25 + 1 / 3) / 2 in numbers
    # Nothing else: Python 3.13 has a class know the line where it stands.
    assert of_more[: len(of_more) // 2 + 1] == [0.0, 0.125, 0.25, 0.75, 3.0, 2e5, 3e5, 4e5, 6e5]


def test_releases_with_a_record_in_common_do_not_stay_together() -> None:
    """Batches of two arms overlap: those that stay have no record in common, and what is in none changes."""
    run, place, none = Recording(), Place("learner.py", 1), np.zeros(1)
    run.inputs = [(record, none) for record in range(200)]
    batches = [frozenset(range(start, start + 20)) for start in range(0, 180, 10)]
    run.published = [_Published(None, None, none, (), none, place, batch) for batch in batches]
    for seed in range(20):
        *_, one, other = groups_of_records(run, np.random.default_rng(seed))
        assert (one.members | other.members).all()
        for group in (one, other):
            stay = [batch for batch in batches if not group.members[list(batch)].any()]
            assert stay
            assert sum(map(len, stay)) == (~group.members).sum()


def test_other_records_are_all_or_half_or_the_rest() -> None:
    domain, rng = Box(0, 1, 3), np.random.default_rng(0)
    data = growing_records(domain, 999, rng)
    assert data.shape == (1_000, 3)
    assert data[:100].max() < 0.01 < 0.5 < data[-1].max() <= 1.0
    numbers = np.array([0.0, 0.37, 1.0])
    run = Recording()
    run.inputs = [(record, row) for record, row in enumerate(data)]
    batches = [frozenset(range(start, start + 100)) for start in range(0, 1_000, 100)]
    place = Place("learner.py", 1)
    run.published = [_Published(None, None, numbers, (), numbers, place, batch) for batch in batches]
    every, half, *rest = [group.members for group in groups_of_records(run, rng)]
    assert every.all()
    halves = np.array([groups_of_records(run, rng)[1].members.reshape(10, 100) for _ in range(80)])
    whole = halves.all(axis=2) == halves.any(axis=2)
    assert (whole.sum(axis=1) == 5).all()
    assert 0.35 < halves[whole].mean() < 0.65  # 400 fair coins: false alarm below 1e-8
    assert 0.49 < halves[~whole].mean() < 0.51  # 40,000 fair coins: below 1e-4
    assert [members.reshape(10, 100).all(axis=1).nonzero()[0].tolist() for members in rest] == [
        [1, 3, 5, 7, 9],
        [0, 2, 4, 6, 8],
    ]
    assert (rest[0] != rest[1]).all()
    for members in (half, *rest):
        others = other_records(data, domain, numbers, rng, members)
        assert not (others != data)[~members].any()
    everything = other_records(data, domain, numbers, rng, every)
    assert (everything != data).any(axis=1).all()
    assert ((everything >= 0) & (everything <= 1)).all()
    assert (everything == 0.37).all(axis=1).any()
