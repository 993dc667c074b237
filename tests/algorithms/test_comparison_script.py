"""The script that sets certified learners beside published ones: true epsilons, matching, and what it checks."""

import math
import runpy
import sys
from pathlib import Path

import pytest

from algorithms.problems import build_problem

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "compare_learners.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


def test_true_epsilons_are_those_of_the_formulas(script):
    row, noise, separate = script["Row"], script["noise_epsilon"], script["SEPARATE"]
    top_k, cascade, table_2 = (build_problem(name) for name in ("top-k", "cascade", "linear-matroid"))
    assert noise(row("published/cucb-dp"), top_k, 1.0, 10**5) == pytest.approx(17 / (2 * math.log(1e5)))
    assert noise(row("cucb-dp"), top_k, 0.7, 1000) == pytest.approx(0.7)
    assert noise(row("cucb-ldp-bit"), top_k, 0.7, 1000) == pytest.approx(0.7)
    assert noise(row("published/dpucb-mat"), table_2, 2.0, 10) == pytest.approx(14 / 3)
    assert noise(row("published/dpucb-mat", separate), table_2, 2.0, 10) == pytest.approx(2.0)
    printed = "published/cascade-ucb-ldp-laplace"
    assert noise(row(printed), cascade, 1.0, 10) == pytest.approx(0.5)
    assert noise(row(printed, script["SCALED"]), cascade, 1.0, 10) == pytest.approx(50.0)
    assert script["matched_claim"](row(printed), cascade, 1.0, 10) == pytest.approx(2.0)


def test_only_what_is_private_counts_as_private(script):
    row, separate = script["Row"], script["SEPARATE"]
    assert row("published/cucb-dp").private
    assert row("published/dpucb-mat", separate).private
    for name in (
        "published/dpucb-mat",
        "published/cascade-ucb-ldp-laplace",
        "cucb",
        "published/cascade-ucb-hybrid",
    ):
        assert not row(name).private


def test_a_published_learner_with_less_regret_is_reported(script):
    row, outcome = script["Row"], script["Outcome"]
    better = outcome(row("published/cucb-dp"), 1.4, 1.0, 50.0, 1.0)
    certified = [
        outcome(row(name), 1.0, 1.0, regret, 1.0)
        for name, regret in (("cucb-dp", 70.0), ("cucb-batch-all", 40.0))
    ]
    elsewhere = outcome(row("cucb-ldp-bit"), 1.0, 1.0, 1.0, 1.0)  # another trust model
    ((line, fine),) = script["compare"]("somewhere", [better, *certified, elsewhere], 1.0)
    assert not fine
    assert "**no**" in line
    assert "cucb-batch-all: 40" in line
    certified[0] = outcome(row("cucb-dp"), 1.0, 1.0, 54.0, 1.0)
    ((line, fine),) = script["compare"]("somewhere", [better, *certified, elsewhere], 1.0)
    assert fine


def test_the_script_runs_on_a_movielens_archive(script, tmp_path, monkeypatch, capsys):
    genres = [f"G{number % 20}" for number in range(100)]
    lines = [f"{number}::Film::{genre}" for number, genre in enumerate(genres)]
    (tmp_path / "movies.dat").write_text("\n".join(lines), encoding="latin-1")
    rated = [f"{user}::{movie}::5::1" for user in range(30) for movie in range(100) if (user * movie) % 7 < 3]
    (tmp_path / "ratings.dat").write_text("\n".join(rated), encoding="latin-1")
    arguments = ["--setting", "matroid", "--horizon", "20", "--epsilons", "2", "--movielens", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
    with pytest.raises(SystemExit):
        script["main"]()
    out = capsys.readouterr().out
    assert "## movielens: epsilon = 2, T = 20, 64 runs" in out
    assert "| movielens | 2 | published/dpucb-mat, initial_records separate (claims 2)" in out
