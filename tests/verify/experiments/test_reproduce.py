"""From an experiment to its files: a stopped run goes on with the same result, and workers change nothing."""

from __future__ import annotations

import csv

import pytest

from algorithms.blocks import Processes
from verify.experiments import run_all
from verify.experiments.configuration import simulated
from verify.experiments.experiment import Size
from verify.experiments.named_experiments import experiments
from verify.experiments.reproduce import reproduce
from verify.experiments.simulated_runs import SimulatedRuns

TINY = Size(60, 3, 2)
NAME = "matroid/fig4a"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What an undisturbed run leaves."""
    return reproduce(experiments[NAME], tmp_path_factory.mktemp("whole"), size=TINY)


def test_picture_table_and_report_are_written(whole):
    assert whole.picture.read_bytes().startswith(b"\x89PNG")
    text = whole.report.read_text(encoding="utf-8")
    assert "## Comparison with the paper" in text
    assert "| published/dpts-mat | published | FALSE: one round-0 record" in text
    compared = text.split("## Comparison with the paper")[1].split("## ")[0].splitlines()
    reasons = [line for line in compared if line.startswith("- ")]  # 60 rounds show nothing
    assert len(reasons) == len(set(reasons)) == 2
    assert text.count("At small ε the margin") == 1
    with whole.data.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["line"] for row in rows} == {"CTS", "DPTS-MAT", "CUCB certified"}
    assert {row["run"] for row in rows} == {"0", "1", "2"}
    assert {row["round"] for row in rows if row["line"] == "CTS"} >= {"1", "60"}
    last = [row for row in rows if row["round"] == "60"]
    for row in last:  # regret and reward add up to what the best basis is worth
        assert float(row["regret"]) + float(row["reward"]) == pytest.approx(60 * 2.15)


def test_a_stopped_run_goes_on_and_leaves_the_same(whole, tmp_path, monkeypatch):
    played = []

    def until_the_second(configuration, **keywords):
        played.append(configuration.learner)
        if len(played) == 2:
            raise KeyboardInterrupt
        return simulated(configuration, **keywords)

    monkeypatch.setattr(run_all, "simulated", until_the_second)
    with pytest.raises(KeyboardInterrupt):
        reproduce(experiments[NAME], tmp_path, size=TINY)
    assert len(list((tmp_path / "runs").iterdir())) == 1
    told = []
    again = reproduce(
        experiments[NAME], tmp_path, size=TINY, progress=lambda share, doing: told.append(share)
    )
    assert len(played) == 4  # one was stored, one was stopped, and two were left
    assert again.data.read_bytes() == whole.data.read_bytes()
    assert told == sorted(told)
    assert told[0] > 1 / 4
    assert told[-1] == pytest.approx(1.0)


@pytest.mark.slow
def test_workers_change_nothing(whole, tmp_path):
    assert reproduce(experiments[NAME], tmp_path, size=TINY, executor=Processes(2)).data.read_bytes() == (
        whole.data.read_bytes()
    )


@pytest.mark.slow
def test_a_broken_file_is_simulated_again(whole, tmp_path):
    reproduce(experiments[NAME], tmp_path, size=TINY)
    for path in (tmp_path / "runs").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    assert reproduce(experiments[NAME], tmp_path, size=TINY).data.read_bytes() == whole.data.read_bytes()


def test_runs_survive_a_file_bit_for_bit(tmp_path):
    configuration = experiments[NAME].lines(TINY)[0].points[0][1]
    runs = simulated(configuration)
    runs.save(tmp_path / "runs.json")
    kept = SimulatedRuns.load(tmp_path / "runs.json")
    assert kept.json() == runs.json()
    assert SimulatedRuns.from_json(runs.json()).json() == runs.json()


def test_what_has_an_influence_is_in_the_key():
    """Of the size, the settings and the learner; not of the line's label."""
    keys = {
        point[1].key
        for size in (TINY, Size(61, 3, 2), Size(60, 4, 2))
        for line in experiments["matroid/fig2b"].lines(size)
        for point in line.points
    }
    assert len(keys) == 3 * 7


def test_the_data_set_of_the_paper_is_exact(tmp_path):
    found = reproduce(experiments["matroid/table2"], tmp_path, size=TINY)
    with found.data.open(encoding="utf-8") as file:
        rows = [tuple(row) for row in csv.reader(file)][1:]
    assert rows == [
        ("(1, 0, 0)", "0.80", "yes", ""), ("(0, 1, 0)", "0.75", "yes", ""), ("(0, 0, 1)", "0.60", "yes", ""),
        ("(1, 0, 1)", "0.20", "no", ""), ("(0, 1, 1)", "0.30", "no", ""), ("(2, 0, 0)", "0.40", "no", ""),
        ("(0, 0, 0)", "0.70", "no", "a loop: in no basis"),
    ]  # fmt: skip
    assert found.seen[0].holds


@pytest.mark.slow
def test_the_users_movies_take_the_place_of_the_made_up_ones(tmp_path):
    folder = tmp_path / "ml-1m"
    folder.mkdir()
    movies = [f"{m}::Film {m} (1999)::{'Drama' if m % 2 else 'Action|Comedy'}" for m in range(1, 121)]
    ratings = [f"{user}::{m}::4::1" for m in range(1, 121) for user in range(1, 6) if (user + m) % 3]
    (folder / "movies.dat").write_text("\n".join(movies), encoding="latin-1")
    (folder / "ratings.dat").write_text("\n".join(ratings), encoding="latin-1")
    made_up = reproduce(experiments["matroid/table3"], tmp_path / "out", size=Size(5, 2))
    assert "made-up movie" in made_up.data.read_text(encoding="utf-8")
    assert "--movielens" not in made_up.repeat
    real = reproduce(experiments["matroid/table3"], tmp_path / "out", size=Size(5, 2), data=folder)
    assert "--movielens" in real.report.read_text(encoding="utf-8")
    text = real.data.read_text(encoding="utf-8")
    assert "made-up" not in text
    assert "Film " in text
    assert "Drama" in text


def test_the_widths_of_linear_bandits_are_exact(tmp_path):
    found = reproduce(experiments["linear/table3"], tmp_path, size=TINY)
    with found.data.open(encoding="utf-8") as file:
        rows = {row[0]: row[3:] for row in csv.reader(file)}
    # S = 80 ln ln 20 + 16 = 103.78, sqrt(2 ln 5) = 1.7941, 4,096 clients
    noise = 2 * 103.78**0.5 * 1.7941 / 10
    assert float(rows["LDP-DPE"][1]) == pytest.approx(noise, rel=5e-3)
    assert float(rows["LDP-DPE"][0]) == pytest.approx(2 * noise * (103.78 * 20 / 4096) ** 0.5, rel=5e-3)
    assert float(rows["CDP-DPE"][0]) == pytest.approx(2 * noise * (103.78 * 20) ** 0.5 / 4096, rel=5e-3)
