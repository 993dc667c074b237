"""Releases as rows of a CSV file: the same as the tables that say it, and errors with their line."""

import datetime
import json

import pytest

from accountant.audit import ReleaseFileError, read_releases
from mechanisms import Neighbouring

ROWS = """mechanism,sigma,scale,sampling_rate,count,records,date,notes
gaussian,20.0,,,2,ann;bob,2026-01-05,"weekly, north"
laplace,,4,,,bob,2026-02-01,
gaussian,20.0,,,1, bob ,2026-01-12,
gaussian,1.5,,0.01,30,,2026-03-01,

laplace,,4,,3,ann,2025-12-31,
"""
TABLES = [
    {"mechanism": "gaussian", "sigma": 20.0, "count": 2, "records": ["ann", "bob"], "date": "2026-01-05"},
    {"mechanism": "laplace", "scale": 4, "records": "bob", "date": "2026-02-01"},
    {"mechanism": "gaussian", "sigma": 20.0, "count": 1, "records": ["bob"]},
    {"mechanism": "gaussian", "sigma": 1.5, "sampling_rate": 0.01, "count": 30},
    {"mechanism": "laplace", "scale": 4, "count": 3, "records": "ann", "date": "2025-12-31", "notes": "late"},
]


def test_rows_are_tables_and_equal_ones_are_one_kind(file):
    rows = read_releases(file("\ufeff" + ROWS, "year.csv"), "add or remove one")
    written = file(json.dumps({"neighbours": "add or remove one", "release": TABLES}), "year.json")
    tables = read_releases(written)
    assert rows.groups == tables.groups
    assert [kind.name for kind in rows.kinds] == [kind.name for kind in tables.kinds]
    assert len(rows.kinds) == 3
    counts = {group.name: dict(group.counts) for group in rows.groups}
    assert counts == {"ann": {0: 2, 1: 3, 2: 30}, "bob": {0: 3, 1: 1, 2: 30}}
    assert [rows.profile_counts(group) for group in rows.groups] == [
        tables.profile_counts(group) for group in tables.groups
    ]
    assert (rows.about.first, rows.about.last) == (datetime.date(2025, 12, 31), datetime.date(2026, 3, 1))


def test_a_column_says_the_relation(file):
    path = file("mechanism,scale,neighbours\nlaplace,2,zero out\n", "a.csv")
    assert read_releases(path).neighbouring is Neighbouring.ZERO_OUT
    assert read_releases(path, "zero out").neighbouring is Neighbouring.ZERO_OUT
    with pytest.raises(ReleaseFileError, match="line 2: release 1: neighbours = 'zero out'"):
        read_releases(path, "replace one")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must hold at least one"),
        ("mechanism,scale\n", "must hold at least one"),
        ("mechanism,scale,scale\nlaplace,1,2\n", "line 1: column 'scale'"),
        ("mechanism,\nlaplace,1\n", "line 1: column ''"),
        ("mechanism,epsilon\npure,\uff11\n", "line 2: release 1: epsilon = '\uff11': must be"),
        ("mechanism,scale\nlaplace\n", "line 2: 1 cells: must be as many as columns, 2"),
        ("mechanism;scale\nlaplace;1\n", "line 1: no column 'mechanism' among 'mechanism;scale'"),
        ("mechanism,epsilon,delta\napproximate,1,1e-400\n", "line 2: 1e-400 is smaller than every float"),
        ('mechanism,scale\nlaplace,"1"x\n', "line 2: not valid CSV"),
        ("mechanism,scale\n\nlaplace,1_0\n", "line 3: release 1: scale = '1_0': must be one real number"),
        ("mechanism,scale\nlaplace,nan\n", "line 2: release 1: scale = nan"),
        ('mechanism,scale,notes\nlaplace,1,"a\nb"\nlaplace,x,\n', "line 4: release 2: scale = 'x'"),
        ("mechanism,scale,date\nlaplace,1,5.1.2026\n", "date = '5.1.2026': must be a date, year-month-day"),
        ("mechanism,scale,records\nlaplace,1,;\n", "records = "),
        (
            "mechanism,sigma,sampling_rate\ngaussian,1,0.1\n",
            "line 2: release 1: sampling_rate = 0.1: what a sampled",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(file, text, words):
    with pytest.raises(ReleaseFileError) as error:
        read_releases(file(text, "year.csv"))
    assert words in str(error.value)


@pytest.mark.parametrize(("cell", "epsilon"), [("true", 1.0), ("FALSE", 2.0), ("", 2.0)])
def test_truth_in_a_cell(file, cell, epsilon):
    releases = read_releases(file(f"mechanism,scale,monotone\nnoisy-max,1,{cell}\n", "a.csv"))
    assert releases.kinds[0].build(1.0).pure_epsilon == epsilon
