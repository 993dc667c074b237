"""The public registry's deployments: facts of each, and audits of the figures that are published."""

import datetime
import json
from decimal import Decimal

import pytest
from click.testing import CliRunner

from verify.commands.command_group import cli
from verify.deployments.known_deployments import _audit_figure, audit_figures, known_deployments


def figure(name, what):
    (found,) = [each for each in audit_figures(f"deployments/{name}") if each.what == what]
    return found


def test_every_entry_is_audited_or_says_why_not():
    found = known_deployments()
    assert len(found) == 42
    for each in found.values():
        assert bool(each.figures) != bool(each.not_audited), each.name
        assert len(each.commit) == 40
        assert datetime.date.fromisoformat(each.publication_date)
        assert each.curators


@pytest.mark.parametrize(
    ("name", "what", "published", "by", "given"),
    [
        ("census_redistricting_data", "person tables", "17.14", "any zCDP mechanism", 17.158),
        ("census_redistricting_data", "housing unit tables", "2.47", "any zCDP mechanism", 2.387),
        ("user_url_privacy", "total", "1.453", "Gaussian noise", 1.476),
        ("recurve_energy_dp", "before sampling", "6.8", "basic composition", 6.80),
    ],
)
def test_published_figures_against_their_own_parameters(name, what, published, by, given):
    found = next(
        each for each in audit_figures(f"deployments/{name}") if each.what == what and each.symbol == "ε"
    )
    assert found.published == published
    assert found.given[by][1] == pytest.approx(given, abs=6e-4)
    assert found.given[by][1] >= given - 5e-4


def test_verdicts_say_what_a_difference_means():
    assert (
        figure("census_redistricting_data", "person tables").by
        == "any zCDP mechanism, within the rounding of ρ"
    )
    assert figure("census_demographic_and_housing", "person tables").by == "the simple formula"
    assert figure("mhusage", "total").by == "any zCDP mechanism"
    first = figure("recurve_energy_dp", "of a sample, as first published")
    assert first.verdict == "smaller"
    assert first.difference < -3.8
    assert figure("covid19_search_trends_symptoms", "normalization counts").verdict == "larger"
    assert figure("wikimedia_russian_editor_activity_statistics_2023", "total").verdict == "agrees"
    assert figure("census_supplemental_demographic_and_housing", "total").verdict == "not published"


@pytest.mark.parametrize(
    ("published", "verdict"),
    [
        ("17.13", "smaller"),
        ("17.14", "agrees"),
        ("17.18", "agrees"),
        ("17.20", "larger"),
        ("17.92", "agrees"),
    ],
)
def test_a_planted_figure_is_judged_by_its_digits(published, verdict):
    planted = {"what": "planted", "rho": "2.56", "epsilon": published, "delta": "1e-10"}
    found = _audit_figure(planted)
    assert found.verdict == verdict
    if verdict != "agrees":
        nearest = min(abs(Decimal(published) - Decimal(one[1])) for one in found.given.values())
        assert abs(found.difference) == pytest.approx(float(nearest))


def test_one_command_shows_the_table():
    shown = CliRunner().invoke(cli, ["list", "deployments", "redistricting"])
    assert shown.exit_code == 0
    said = " ".join(shown.output.split())
    assert "Published: ε = 17.14 at δ = 1e-10. From ρ = 2.56: ≤ 17.1584 for any zCDP mechanism" in said
    assert "017edf7af6ad6d4448fc0ac9c1850423ad353bc4" in said
    listed = json.loads(CliRunner().invoke(cli, ["list", "deployments", "--json"]).output)
    assert not listed["learners"] + listed["problems"] + listed["zoo"]
    assert len(listed["deployments"]) == 42
    judged = [one["verdict"] for each in listed["deployments"] for one in each["figures"]]
    assert judged.count("smaller") == 2
