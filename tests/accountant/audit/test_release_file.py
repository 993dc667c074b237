"""Composition files: tables or ledgers, and one clear line for everything else."""

import math

import numpy as np
import pytest

from accountant import Accountant, Budget, ZeroConcentratedComposition
from accountant.audit.release_file import read_releases
from accountant.audit.releases import ReleaseFileError
from mechanisms import (
    Interval,
    Laplace,
    LaplaceProfile,
    NoPrivacy,
    Sensitivity,
)


@pytest.fixture
def read(tmp_path):
    def call(text, suffix=".toml"):
        file = tmp_path / f"releases{suffix}"
        file.write_text(text)
        return read_releases(file)

    return call


def test_other_files(read, tmp_path):
    with pytest.raises(ReleaseFileError, match=r"not valid TOML.*line 1"):
        read("x =\n")
    with pytest.raises(ReleaseFileError, match=r"\.toml, \.json or \.csv"):
        read("", ".yaml")
    with pytest.raises(ReleaseFileError, match="must hold `release` tables"):
        read("[1]", ".json")
    with pytest.raises(ReleaseFileError, match="no such file"):
        read_releases(tmp_path / "nothing.toml")
    with pytest.raises(ReleaseFileError, match="no URL is read here") as refused:
        read_releases("postgresql://me:secret@host/ledger")
    assert "secret" not in str(refused.value)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ReleaseFileError, match="not a text file"):
        read_releases(binary)


def test_a_saved_ledger_is_a_composition(tmp_path):
    accountant = Accountant(
        Budget(math.inf, 1e-6), composition=ZeroConcentratedComposition(), noise=np.random.default_rng(0)
    )
    noise = Laplace(scale=4.0, sensitivity=Sensitivity(1, 1, 1))
    for record in ("a", "b", "a", 7):
        accountant.release(noise, accountant.private([0.5], Interval(0, 1), record))
    both = accountant.private([0.5], Interval(0, 0.5), "a") + accountant.private([0.5], Interval(0, 0.5), "b")
    accountant.release(noise, both)
    accountant.export(tmp_path / "ledger.json")
    releases = read_releases(tmp_path / "ledger.json")
    found = {group.name: (group.records, dict(group.counts)) for group in releases.groups}
    assert found == {"a": (1, {0: 2, 1: 1}), "b": (1, {0: 1, 1: 1}), "7": (1, {0: 1})}
    assert [kind.build(1.0) for kind in releases.kinds] == [
        LaplaceProfile(1.0, 4.0),
        LaplaceProfile(0.5, 4.0),
    ]
    with pytest.raises(ReleaseFileError, match="cannot be calibrated"):
        releases.kinds[0].build(2.0)


def test_declassified_values_have_no_privacy_and_of_unknown_mechanisms_nothing_is_known(tmp_path):
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))

    class Mine(Laplace):
        pass

    accountant.release(Mine(scale=4.0), accountant.private([0.5], Interval(0, 1), "a"))
    accountant.declassify(accountant.private([0.5], Interval(0, 1), "b"), "a test")
    accountant.export(tmp_path / "ledger.json")
    releases = read_releases(tmp_path / "ledger.json")
    unknown, declassified = (kind.build(1.0) for kind in releases.kinds)
    assert (unknown.delta(9.0), unknown.attained()) == (1.0, ())
    assert declassified == NoPrivacy()


def test_an_empty_or_damaged_ledger_is_refused(tmp_path):
    file = tmp_path / "ledger.json"
    Accountant(Budget(1.0)).export(file)
    with pytest.raises(ReleaseFileError, match="no release"):
        read_releases(file)
    file.write_text(file.read_text().replace('"entries"', '"entrees"'))
    with pytest.raises(ValueError, match="damaged"):
        read_releases(file)


def test_records_7_and_text_7_are_one(tmp_path):
    accountant = Accountant(Budget(9.0), noise=np.random.default_rng(0))
    for record in (7, "7", "7"):
        accountant.release(Laplace(scale=4.0), accountant.private([0.5], Interval(0, 1), record))
    accountant.export(tmp_path / "ledger.json")
    assert [dict(group.counts) for group in read_releases(tmp_path / "ledger.json").groups] == [{0: 3}]
