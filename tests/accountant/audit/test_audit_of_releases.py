"""Audits of release files: known answers, the worst group, what is left of a budget."""

import math

import pytest
from release_files import GROUPS, TABLE

from accountant import Accountant, Bound, Budget
from accountant.audit import AuditQuestion, audit, read_releases
from mechanisms import GaussianProfile, Interval, Laplace, ParameterError
from mechanisms.composition.enclosure import lower_end


def test_a_thousand_laplace_releases(file):
    """8.204440343933935814 at 1e-6 (residues with 1,300 digits); every theorem is above it."""
    result = audit(read_releases(file(TABLE)), AuditQuestion(delta=1e-6))
    assert result.answer.lower <= 8.204440343933935814 <= result.answer.upper
    assert result.answer.width < 1e-7
    assert result.best_theorem == "privacy-loss distributions"
    assert len(result.theorems) >= 7
    assert all(found.upper >= result.answer.lower for found in result.theorems.values())
    assert result.theorems["basic composition"].upper == pytest.approx(50)


def test_delta_at_an_epsilon_is_the_inverse(file):
    releases = read_releases(file(TABLE))
    at = audit(releases, AuditQuestion(epsilon=8.204440343933935814))
    assert at.answer.lower <= 1e-6 * (1 + 1e-9)
    assert at.answer.upper >= 1e-6 * (1 - 1e-9)
    assert at.answer.width < 1e-12


def test_approximate_releases_at_epsilon_zero(file):
    """Total variation of three (1, 1e-3) responses: all mass lost, or the majority of three coins tells."""
    text = '[[release]]\nmechanism = "approximate"\nepsilon = 1\ndelta = 1e-3\ncount = 3\n'
    result = audit(read_releases(file(text)), AuditQuestion(epsilon=0.0))
    p = 1 / (1 + math.exp(-1))
    majority = p**3 + 3 * p**2 * (1 - p)
    expected = 1 - (1 - 1e-3) ** 3 * (1 - (2 * majority - 1))
    assert isinstance(result.answer, Bound)
    assert expected <= result.answer.upper <= expected * (1.0 + 1e-9)
    assert all(found.upper >= expected for found in result.theorems.values())


def test_groups_that_share_no_record_do_not_add_up(file):
    releases = read_releases(file(GROUPS))
    result = audit(releases, AuditQuestion(delta=1e-6))
    assert (result.worst.name, result.groups) == ("south", 3)
    assert [(one.name, one.count) for one in result.released] == [
        ("1: gaussian sigma=20", 1500),
        ("2: laplace scale=1", 0),
    ]
    expected = GaussianProfile(math.sqrt(1500) / 20).epsilon(1e-6)
    assert result.answer.upper == pytest.approx(expected, rel=1e-8)


def test_what_is_left_and_what_still_fits(file):
    """Against the closed form: the largest n with √((1500 + n)/400)-GDP within 12."""
    result = audit(read_releases(file(GROUPS)), AuditQuestion(delta=1e-6), budget=12.0)
    assert result.remaining.epsilon == pytest.approx(12.0 - result.answer.upper)
    more = result.remaining.more["1: gaussian sigma=20"]
    assert GaussianProfile(math.sqrt(1500 + more) / 20).epsilon(1e-6) <= 12.0
    assert GaussianProfile(math.sqrt(1501 + more) / 20).epsilon(1e-6) > 12.0
    none = audit(read_releases(file(GROUPS)), AuditQuestion(delta=1e-6), budget=3.0)
    assert none.remaining.epsilon == 0.0
    assert set(none.remaining.more.values()) == {0}
    assert (result.within, none.within) == (True, False)


def test_releases_that_cost_nothing_always_fit(file):
    text = TABLE + '\n[[release]]\nmechanism = "pure"\nepsilon = 0\nname = "free"\n'
    assert (
        audit(read_releases(file(text)), AuditQuestion(delta=1e-6), budget=9.0).remaining.more["free"]
        == math.inf
    )


def test_small_and_large_gaussians_are_audited_without_a_warning(file):
    """Each takes its own form of the curve; the other one overflows there."""
    found = audit(
        read_releases(file("mechanism,sigma\ngaussian,0.01\ngaussian,20\n", "releases.csv")),
        AuditQuestion(delta=1e-6),
    )
    assert found.answer.lower == pytest.approx(
        GaussianProfile(math.hypot(100.0, 0.05)).epsilon(1e-6), rel=1e-9
    )


@pytest.mark.slow
def test_a_loss_so_far_above_the_question_that_terms_overflow_has_both_ends(file):
    rows = "gaussian,2e-6,,\npermute-and-flip,,3e-5,\npure,,,2400\n"
    found = audit(
        read_releases(file(f"mechanism,sigma,scale,epsilon\n{rows}", "releases.csv")),
        AuditQuestion(epsilon=20.6),
    )
    assert 0.9 < found.answer.lower <= found.answer.upper == 1.0


class Unknown(Laplace):
    """A mechanism that a ledger cannot rebuild."""


def test_an_unknown_mechanism_proves_no_loss_and_no_attack(tmp_path):
    """Nothing is known of it: only the upper ends are there, beside what another release costs alone."""
    unit = Interval(0, 1)
    accountant = Accountant(Budget(3.0))
    accountant.release(
        Unknown.for_epsilon(0.5, sensitivity=unit.sensitivity), accountant.private([0.5], unit, "a")
    )
    accountant.export(tmp_path / "unknown.json")
    found = audit(read_releases(tmp_path / "unknown.json"), AuditQuestion(delta=1e-6), risk=True)
    assert isinstance(found.answer, Bound)
    assert found.answer.upper == math.inf
    for attack in (found.risk.advantage, found.risk.accuracy, *found.risk.true_positive_rates.values()):
        assert isinstance(attack, Bound)
        assert attack.upper == 1.0

    known = Laplace.for_epsilon(0.5, sensitivity=unit.sensitivity)
    accountant.release(known, accountant.private([0.5], unit, "a"))
    accountant.export(tmp_path / "both.json")
    both = audit(read_releases(tmp_path / "both.json"), AuditQuestion(delta=1e-6)).answer
    assert both.upper == math.inf
    assert 0.49 < lower_end(both) <= known.profile().epsilon(1e-6)


@pytest.mark.parametrize("number", ["delta", "epsilon"])
@pytest.mark.parametrize("value", ["x", math.nan, -1, math.inf, True, [0.1]])
def test_a_question_refuses_what_is_no_number_in_its_range(number: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"^{number} = "):
        AuditQuestion(**{number: value})
