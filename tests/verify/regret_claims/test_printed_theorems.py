"""The papers' theorems that are wrong as printed are seen to be; what is right about one is said, too."""

from types import SimpleNamespace

import pytest
from printed_theorems import PRINTED_THEOREMS, PrintedFinding, check_printed

from algorithms.theory.regret import BOUNDS
from verify.findings.sentences import exact
from verify.regret_claims.regret_report import ProofCheck

ALL = {theorem.name: theorem for theorem in PRINTED_THEOREMS}
BEYOND = [f"Chen et al. 2020, Theorem {number}" for number in (2, 4)]
LEMMA = "cascading bandits paper, Theorem 4"
VIOLATED = [*BEYOND, LEMMA]
QUICK = [name for name in ALL if (name.endswith("Theorem 2") and name not in BEYOND) or "5.1" in name]


@pytest.mark.slow_cells("distributed linear bandits paper, Theorem 5.1")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in ALL],
)
def test_each_shows_on_its_instance(name):
    finding = check_printed(ALL[name], **({} if name in VIOLATED else {"runs": 2}))
    assert finding.verdict == ("violated" if name in VIOLATED else "out of regime")
    assert ALL[name].says
    assert finding.report.reproduce.startswith(f"dpwitness regret {ALL[name].learner} ")
    if name in BEYOND:  # of its regime: regret alone tells, whatever the proof's events do
        assert not finding.report.theorem.covered
        assert finding.explanation.text.startswith("Expected regret after")
        assert "good event" in [check.name for check in finding.report.proof if check.violated]
    if name == LEMMA:
        assert finding.report.verdict == "consistent"
        assert "The corrected bound is consistent." in finding.explanation.text


@pytest.mark.parametrize("verdict", ["consistent", "undecided", "vacuous"])
def test_what_was_seen_is_what_the_verdict_is_for(verdict):
    """Where few runs left the corrected bound undecided, that was all that was said to be seen."""
    false = ProofCheck("gap lemma", 0.0, 0.0, exact("false in 3 runs"))
    report = SimpleNamespace(verdict=verdict, proof=(), reasons=(exact("undecided"),))
    finding = PrintedFinding(ALL[LEMMA], report, (false,))
    assert finding.verdict == "violated"
    assert str(finding.explanation) == f"gap lemma: false in 3 runs. The corrected bound is {verdict}."


def test_a_theorem_that_is_corrected_says_so_in_its_bound():
    for theorem in PRINTED_THEOREMS:
        if theorem.learner in BOUNDS:
            assert theorem.wrong
