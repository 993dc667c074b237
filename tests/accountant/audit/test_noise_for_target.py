"""The least noise with which a release file meets a target."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from release_files import GROUPS

from accountant.audit import calibrate, read_releases, worst_group
from accountant.audit.noise_for_target import calibrate_advantage, calibrate_risk
from accountant.audit.releases import Group, Release, Releases
from mechanisms import GaussianProfile, LaplaceProfile, ParameterError, PrivacyProfile
from mechanisms.composition import least_noise
from mechanisms.composition.composed_loss import compose

Build = Callable[[float], PrivacyProfile]


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


def platform(groups: int, first: Build) -> Releases:
    """Two kinds of noise; who has much of one has little of the other, and no group is within another."""
    kinds = {"first": first, "laplace": lambda f: LaplaceProfile(1.0, 3.0 * f)}
    return Releases(
        tuple(Release(name, build) for name, build in kinds.items()),
        tuple(Group(f"record {i}", 1, {0: i + 1, 1: groups - i}) for i in range(groups)),
    )


def gaussian(factor: float) -> PrivacyProfile:
    return GaussianProfile(0.5 / factor)


def laplace(factor: float) -> PrivacyProfile:
    return LaplaceProfile(1.0, 2.0 * factor)


@pytest.mark.parametrize(
    ("calibrated", "first"),
    [
        (lambda releases: calibrate(releases, 2.0, 1e-6), gaussian),
        (lambda releases: calibrate(releases, 2.0, 0.0), laplace),
        (lambda releases: calibrate_advantage(releases, 0.3, 1e-6), gaussian),
        (lambda releases: calibrate_risk(releases, 0.05, 0.01, 1e-6), gaussian),
    ],
)
def test_the_factor_is_the_largest_that_a_group_needs(calibrated, first):
    releases = platform(4, first)
    alone = [calibrated(replace(releases, groups=(group,))).factor for group in releases.groups]
    assert calibrated(releases).factor == pytest.approx(max(alone), rel=1e-6)


def test_many_groups_are_calibrated_by_few(monkeypatch):
    made = []

    def counted(releases):
        made.append(releases)
        return compose(releases)

    for module in (worst_group, least_noise):
        monkeypatch.setattr(module, "compose", counted)
    counts = np.random.default_rng(0).poisson(5.0, (20_000, 2))
    groups = tuple(Group(f"record {i}", 1, dict(enumerate(row))) for i, row in enumerate(counts.tolist()))
    releases = replace(platform(1, gaussian), groups=groups)
    result = calibrate(releases, 1.0, 1e-6)
    assert len(made) < 300
    assert result.epsilon == pytest.approx(1.0, abs=1e-6)


def test_a_delta_of_its_own_may_be_the_target(file):
    """δ at the largest loss was that δ and 4e-15 of it more: no amount of noise was said to be enough."""
    kind = "approximate'\nepsilon = 1\ndelta = 1e-3"
    found = calibrate(read_releases(file(f"[[release]]\nmechanism = '{kind}\n")), 0.5, 1e-3)
    assert found.epsilon == pytest.approx(0.5, rel=1e-6)
    assert found.epsilon <= 0.5


def test_what_no_noise_changes_is_named(file):
    releases = read_releases(file("[[release]]\nmechanism = 'binomial'\ntrials = 1000\nshift = 1\n"))
    with pytest.raises(
        ValueError, match=r"no amount of noise.*: release '1: .*' has no noise that a factor changes"
    ):
        calibrate(releases, 0.1, 1e-6)


def test_targets_out_of_reach(file):
    releases = read_releases(file('[[release]]\nmechanism = "approximate"\nepsilon = 1\ndelta = 1e-3\n'))
    with pytest.raises(ValueError, match="no amount of noise"):
        calibrate(releases, 1.0, 1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        (0.0, 0.0, "epsilon = 0.0: must be above 0 at delta=0"),
        (-1.0, 1e-6, r"epsilon = -1.0: must be a number from 0 to 1e\+100"),
        (math.inf, 1e-6, r"epsilon = inf: must be a number from 0 to 1e\+100"),
        (math.nan, 1e-6, r"epsilon = nan: must be a number from 0 to 1e\+100"),
        (1.0, -1e-6, r"delta = -1e-06: must lie in \[0, 1\)"),
        (1.0, 1.0, r"delta = 1.0: must lie in \[0, 1\)"),
        (1.0, math.nan, r"delta = nan: must lie in \[0, 1\)"),
    ],
)
def test_what_is_no_target_is_refused(file, epsilon, delta, words):
    releases = read_releases(file('[[release]]\nmechanism = "laplace"\nscale = 1\n'))
    with pytest.raises(ValueError, match=words):
        calibrate(releases, epsilon, delta)


@pytest.mark.slow
def test_noise_beyond_floats_is_said_to_be_that(file):
    """The search went on to sigma = inf, which nobody had written, and squares of μ were an OverflowError."""
    for sigma, delta, why in (
        ("1e300", 0.0, r"times the noise would be sigma = inf: must be positive and finite"),
        ("1e-300", 0.3, r"no factor up to 2\^60 on the noise meets the target"),
    ):
        kind = "discrete-gaussian" if delta == 0.0 else "gaussian"
        releases = read_releases(file(f'[[release]]\nmechanism = "{kind}"\nsigma = {sigma}\ncount = 2\n'))
        with (
            np.errstate(invalid="ignore"),
            pytest.raises(ValueError, match=f"epsilon=0.04 at delta={delta:g}: .*{why}"),
        ):
            calibrate(releases, 0.04, delta)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_rates_at_the_ends_are_refused(rate):
    """Zero was a math domain error."""
    with pytest.raises(ParameterError, match="must lie in"):
        calibrate_risk(platform(4, gaussian), 0.5, rate, 1e-6)
