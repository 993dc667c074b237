"""The accountant's curve of a learner: every record's releases, composed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from accountant import Cost, Entry, Place, compose
from mechanisms import Gaussian, Laplace, Mechanism, Sensitivity
from verify import verify
from verify.learners.ledger_profile import _MOST_KINDS, larger, largest_counts, ledger_profile

UNIT = Sensitivity(1.0, 1.0, 1.0)


def entries(*releases: tuple[Mechanism, tuple[int, ...]]) -> list[Entry]:
    """The ledger's entries of some releases and the records in them."""
    charge = Cost(Fraction(1), Fraction(0))
    return [Entry(mechanism, UNIT, charge, records, Place("file", 1), "") for mechanism, records in releases]


def test_the_most_releases_of_any_record_count() -> None:
    narrow, wide = Laplace(scale=1.0), Laplace(scale=4.0)
    alike = largest_counts(entries((wide, (1, 2)), (wide, (2, 3)), (wide, (2,)), (narrow, (4,))))
    assert alike is not None
    assert {mechanism: count for (mechanism, _), count in alike.items()} == {wide: 3, narrow: 1}
    profile = ledger_profile(alike, "one run")
    assert profile is not None
    assert "up to 3 releases" in profile.method
    for epsilon in (0.0, 0.3, 0.7, 1.5):
        three, one = (
            compose([(m.profile(UNIT), n)]).delta(epsilon).upper for m, n in ((wide, 3), (narrow, 1))
        )
        assert profile.delta(epsilon) == max(three, one)


def test_records_in_several_kinds_of_releases_and_declassified_ones_have_no_curve() -> None:
    mixed = entries((Laplace(scale=1.0), (1,)), (Laplace(scale=2.0), (1,)))
    assert largest_counts(mixed) is None
    assert ledger_profile(None, "") is None
    assert ledger_profile({}, "") is None
    declassified = Entry(None, None, mixed[0].charge, (7,), Place("file", 1), "why")
    assert largest_counts([declassified]) is None
    many = {(Laplace(scale=1.0 + i), UNIT): 1 for i in range(_MOST_KINDS + 1)}
    assert ledger_profile(many, "") is None


def test_runs_are_joined_kind_by_kind() -> None:
    one, two = (Laplace(scale=1.0), UNIT), (Laplace(scale=2.0), UNIT)
    assert larger({one: 2}, {one: 1, two: 3}) == {one: 2, two: 3}
    assert larger(None, {one: 1}) is None
    assert larger({one: 1}, None) is None


@pytest.mark.slow
def test_a_local_gaussian_learner_shows_its_randomizers_own_curve() -> None:
    """Its (ε, δ) alone allows far more at every other ε; at the claim both meet."""
    result = verify("cucb-ldp-gaussian", epsilon=1.0, delta=1e-3, effort="quick")
    band = result.json()["band"]
    assert band["delta_upper_by"].startswith("privacy profile of the one release of a record")
    sigma = Gaussian.for_epsilon_delta(1.0, 1e-3, sensitivity=UNIT)
    curve = np.array(band["delta_upper"])
    exact = np.array([float(sigma.profile().delta(epsilon)) for epsilon in band["epsilon"]])
    assert curve == pytest.approx(exact, rel=1e-6, abs=1e-12)
    assert all(low <= up + 1e-12 for low, up in zip(band["delta_lower"], curve, strict=True))
