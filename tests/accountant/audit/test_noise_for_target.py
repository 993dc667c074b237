"""The least noise with which a release file meets a target."""

import math

import pytest
from release_files import GROUPS

from accountant.audit import calibrate, read_releases
from mechanisms import GaussianProfile


def test_calibrating_gaussians_meets_the_closed_form(file):
    result = calibrate(
        read_releases(file('[[release]]\nmechanism = "gaussian"\nsigma = 3.0\ncount = 100\n')), 1.0, 1e-6
    )
    sigma = result.parameters["1: gaussian sigma=3"]["sigma"]
    assert GaussianProfile(10 / sigma).epsilon(1e-6) <= 1.0
    assert GaussianProfile(10 / (sigma * (1 - 1e-6))).epsilon(1e-6) > 1.0
    assert result.epsilon <= 1.0


def test_calibrating_up_and_down(file):
    for scale in (0.001, 1.0, 5e5):
        releases = read_releases(file(f'[[release]]\nmechanism = "laplace"\nscale = {scale}\ncount = 10\n'))
        for delta in (0.0, 1e-6):
            result = calibrate(releases, 2.0, delta)
            found = result.factor * scale
            assert found == pytest.approx(5.0, rel=1e-6 if delta == 0 else 1e-2)
            assert 2.0 * (1 - 1e-6) <= result.epsilon <= 2.0


def test_every_group_meets_the_target(file):
    releases = read_releases(file(GROUPS))
    result = calibrate(releases, 1.0, 1e-6)
    assert result.epsilon == pytest.approx(1.0, abs=1e-6)


def test_targets_out_of_reach(file):
    releases = read_releases(file('[[release]]\nmechanism = "approximate"\nepsilon = 1\ndelta = 1e-3\n'))
    with pytest.raises(ValueError, match="no amount of noise"):
        calibrate(releases, 1.0, 1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        (0.0, 1e-6, "epsilon=0.0: must be a finite number above 0"),
        (math.inf, 1e-6, "epsilon=inf: must be a finite number above 0"),
        (math.nan, 1e-6, "epsilon=nan: must be a finite number above 0"),
        (1.0, -1e-6, r"delta=-1e-06: must lie in \[0, 1\)"),
        (1.0, 1.0, r"delta=1.0: must lie in \[0, 1\)"),
        (1.0, math.nan, r"delta=nan: must lie in \[0, 1\)"),
    ],
)
def test_what_is_no_target_is_refused(file, epsilon, delta, words):
    releases = read_releases(file('[[release]]\nmechanism = "laplace"\nscale = 1\n'))
    with pytest.raises(ValueError, match=words):
        calibrate(releases, epsilon, delta)
