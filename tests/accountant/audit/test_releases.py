"""Releases given as mechanisms, an OpenDP measurement among them."""

import pytest

from accountant.audit import Question, audit, calibrate, from_mechanisms
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
    assert releases.counted(group) == ((LaplaceProfile(1.0, 4.0), 3), (GaussianProfile(0.5), 1))
    with pytest.raises(ValueError, match="cannot be calibrated"):
        calibrate(releases, 0.1, 1e-6)


def test_ten_uses_of_an_opendp_measurement():
    """Each of its map's epsilon 1/4, whatever noise it may be: ten biased coins."""
    answer = audit(
        from_mechanisms([(from_opendp(to_opendp(Laplace(scale=4.0)), 1.0), 10)]), Question(delta=0.0)
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
