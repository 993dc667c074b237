"""The script that sets certified learners beside published ones: true epsilons, matching, and what it checks."""

import math
import runpy
import sys
from pathlib import Path

import pytest
from scipy.stats import norm

from algorithms.problems import build_problem, contextual_problems, linear_problems

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "compare_learners.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


def test_true_epsilons_are_those_of_the_formulas(script):
    row, noise, separate = script["Row"], script["noise_epsilon"], script["SEPARATE"]
    top_k, cascade, table_2 = (build_problem(name) for name in ("top-k", "cascade", "linear-matroid"))
    assert noise(row("published/cucb-dp"), top_k, 1.0, 10**5) == pytest.approx(17 / (2 * math.log(1e5)))
    assert noise(row("cucb-batch"), top_k, 0.7, 1000) == pytest.approx(0.7)
    assert noise(row("cucb-ldp-bit"), top_k, 0.7, 1000) == pytest.approx(0.7)
    assert noise(row("published/dpucb-mat"), table_2, 2.0, 10) == pytest.approx(14 / 3)
    assert noise(row("published/dpucb-mat", separate), table_2, 2.0, 10) == pytest.approx(2.0)
    printed = "published/cascade-ucb-ldp-laplace"
    assert noise(row(printed), cascade, 1.0, 10) == pytest.approx(0.5)
    assert script["matched_claim"](row(printed), cascade, 1.0, 10) == pytest.approx(2.0)
    linear = linear_problems["linear"].build()
    claim = script["matched_claim"](row("published/dp-dpe-central"), linear, 1.0, 1000)
    assert noise(row("published/dp-dpe-central"), linear, claim, 1000) == pytest.approx(1.0)
    assert claim > 1.4  # as printed it has more noise than its claim needs
    contexts, printed = contextual_problems["contexts"].build(), "published/tree-linucb-gaussian"
    claim = script["matched_claim"](row(printed), contexts, 1.0, 1000)
    mu = claim / (4 * math.log(4 / 1e-3)) * math.sqrt(10 / 11)  # a record is in 10 of 11 nodes
    assert norm.cdf(mu / 2 - 1 / mu) - math.e * norm.cdf(-mu / 2 - 1 / mu) == pytest.approx(1e-3, rel=1e-4)


def test_only_what_is_private_counts_as_private(script):
    row, separate = script["Row"], script["SEPARATE"]
    assert row("published/cucb-dp").private
    assert row("published/dpucb-mat", separate).private
    assert row("published/dp-dpe-central").private  # matched: its claim is false for large epsilon only
    for name in (
        "published/dpucb-mat",
        "published/cascade-ucb-ldp-laplace",
        "cucb",
        "published/cascade-ucb-hybrid",
    ):
        assert not row(name).private


def test_every_learner_is_in_a_table(script):
    problems = [build_problem(name) for name in ("arms", "linear-matroid", "cascade", "experts")]
    problems += [linear_problems["linear"].build(sigma=sigma) for sigma in (0.0, 0.1)]
    problems += [contextual_problems["contexts"].build()]
    trusts = ("none", "central", "local", "shuffle")
    shown = {
        row.name for problem in problems for trust in trusts for row in script["rows_for"](problem, trust)
    }
    assert set(script["ENTRIES"]) - shown == set(script["APART"])


def test_what_speaks_against_the_recommended_learner_is_said(script):
    row, outcome = script["Row"], script["Outcome"]
    tables = [
        outcome(row("published/cucb-dp"), 50.0, 1.0),
        outcome(row("cucb-batch"), 70.0, 1.0),
        outcome(row("cucb-batch-gaussian"), 20.0, 1.0),
    ]
    said = list(script["contradictions"](tables, "cucb-batch", "cucb-batch"))
    assert len(said) == 2
    assert (
        "cucb-batch-gaussian (δ) (20 ± 1.0) is better than the recommended cucb-batch (70 ± 1.0)" in said[0]
    )
    assert "published/cucb-dp = (50 ± 1.0) is better than its certified form cucb-batch (70 ± 1.0)" in said[1]
    tables[1] = outcome(row("cucb-batch"), 52.0, 1.0)  # within two standard errors of the difference
    assert list(script["contradictions"](tables, "cucb-batch", "cucb-batch-gaussian")) == []


@pytest.mark.slow
def test_it_goes_on_from_what_is_stored(script, tmp_path, monkeypatch, capsys):
    arguments = [
        "--setting",
        "sets",
        "--trust",
        "none",
        "--horizons",
        "20",
        "--runs",
        "2",
        "--store",
        str(tmp_path),
    ]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
    told = []
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            script["main"]()
        assert ended.value.code == 0
        blocks = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.block")}
        told.append((capsys.readouterr().out, blocks))
    assert told[0] == told[1]
    assert "sets: 4 of .05 x 16, .2 x 4, none, T = 20" in told[0][0]
    assert blocks


@pytest.mark.slow
def test_the_script_runs_on_a_movielens_archive(script, tmp_path, monkeypatch, capsys):
    genres = [f"G{number % 20}" for number in range(100)]
    lines = [f"{number}::Film::{genre}" for number, genre in enumerate(genres)]
    (tmp_path / "movies.dat").write_text("\n".join(lines), encoding="latin-1")
    rated = [f"{user}::{movie}::5::1" for user in range(30) for movie in range(100) if (user * movie) % 7 < 3]
    (tmp_path / "ratings.dat").write_text("\n".join(rated), encoding="latin-1")
    arguments = [
        "--setting",
        "none",
        "--trust",
        "central",
        "--horizons",
        "5",
        "--epsilons",
        "2",
        "--runs",
        "2",
    ]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments, "--movielens", str(tmp_path)])
    with pytest.raises(SystemExit):
        script["main"]()
    out = capsys.readouterr().out
    assert "matroid: movielens, central, T = 5" in out
    assert "| published/dpucb-mat, initial_records separate = |" in out
