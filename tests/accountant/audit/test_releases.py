"""Releases given as mechanisms, an OpenDP measurement among them."""

import math
from dataclasses import replace

import pytest

from accountant.audit import Audit, AuditQuestion, EnforcedBudget, audit, calibrate, from_mechanisms
from accountant.budget import Budget
from mechanisms import (
    Gaussian,
    GaussianProfile,
    Laplace,
    LaplaceProfile,
    MixedNeighbours,
    Neighbouring,
    OpenDPMeasurement,
    ParameterError,
    Sensitivity,
    from_opendp,
    to_opendp,
)

UNIT = Sensitivity(1, 1, 1)


def test_mechanisms_compose_as_releases_of_everyone():
    releases = from_mechanisms([(Laplace(scale=4.0), 3), (Gaussian(sigma=2.0, sensitivity=UNIT), 1)])
    (group,) = releases.groups
    assert releases.profile_counts(group) == ((LaplaceProfile(1.0, 4.0), 3), (GaussianProfile(0.5), 1))
    with pytest.raises(ValueError, match="cannot be calibrated"):
        calibrate(releases, 0.1, 1e-6)


def test_ten_uses_of_an_opendp_measurement():
    """Each of its map's epsilon 1/4, whatever noise it may be: ten biased coins."""
    answer = audit(
        from_mechanisms([(from_opendp(to_opendp(Laplace(scale=4.0)), 1.0), 10)]), AuditQuestion(delta=0.0)
    ).answer
    assert answer.upper == 2.5


def test_relations_are_not_mixed():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(bounds=(0, 1))), dp.symmetric_distance()
    counting = space >> dp.t.then_sum() >> dp.m.then_laplace(scale=2.0)
    added = OpenDPMeasurement(counting, 1, declared_sensitivity=UNIT)
    assert from_mechanisms([(added, 1)]).neighbouring is Neighbouring.ADD_OR_REMOVE
    with pytest.raises(MixedNeighbours):
        from_mechanisms([(added, 1), (Laplace(scale=4.0), 1)])


@pytest.mark.parametrize(
    ("composition", "words"), [([], "at least one"), ([(Laplace(scale=1.0), 0)], "count = 0")]
)
def test_what_is_no_composition(composition, words):
    with pytest.raises(ParameterError, match=words):
        from_mechanisms(composition)


def test_groups_of_people_lose_more():
    """Gaussian noise as if it were k times smaller, Laplace noise with k times the largest loss; a budget likewise."""
    noise = [(Laplace(scale=4.0), 3), (Gaussian(sigma=2.0, sensitivity=UNIT), 1)]
    releases = from_mechanisms(noise).for_groups_of(3)
    (group,) = releases.groups
    assert releases.profile_counts(group) == ((LaplaceProfile(3.0, 4.0), 3), (GaussianProfile(1.5), 1))
    found = audit(releases, AuditQuestion(delta=1e-6), risk=True)
    assert (found.group_size, found.relation) == (3, "replace one, groups of 3")
    assert found.answer.lower > audit(from_mechanisms(noise), AuditQuestion(delta=1e-6)).answer.upper
    assert Audit.from_json(found.json()) == found


def test_what_a_run_was_held_to_is_said_of_the_group():
    chosen = EnforcedBudget("basic composition", Budget(0.5, 1e-9))
    releases = replace(from_mechanisms([(Laplace(scale=4.0), 1)]), chosen_under=chosen).for_groups_of(2)
    held = releases.chosen_under.budget
    assert (held.epsilon, held.delta) == (1.0, pytest.approx(1e-9 * (1.0 + math.exp(0.5)), rel=1e-11))
    assert Budget.unlimited().for_group(2) == Budget.unlimited()
    assert Budget(3.0, 0.5).for_group(2) == Budget.unlimited()


@pytest.mark.parametrize("size", [0, 1.5])
def test_groups_of_no_size_are_refused(size):
    with pytest.raises(ParameterError, match="group size"):
        from_mechanisms([(Laplace(scale=4.0), 1)]).for_groups_of(size)
    with pytest.raises(ParameterError, match="group size"):
        Budget(1.0).for_group(size)


def test_groups_of_groups_are_refused():
    pairs = from_mechanisms([(Laplace(scale=4.0), 1)]).for_groups_of(2)
    with pytest.raises(ParameterError, match="for groups already"):
        pairs.for_groups_of(2)
    assert pairs.for_groups_of(1) is pairs
