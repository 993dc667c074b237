"""Every experiment at a tiny size: it runs, and its report says something of each statement of the paper."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from algorithms.blocks import Processes
from algorithms.problems import SettingError
from algorithms.simulate import Trace
from verify.experiments.experiment import PaperTable, Size
from verify.experiments.named_experiments import experiments, named_experiments
from verify.experiments.reproduce import Reproduced
from verify.experiments.reproduction_document import reproduction_document
from verify.experiments.run_all import run_all
from verify.experiments.simulated_runs import SimulatedRuns
from verify.verification.resolve import every_learner

TINY = Size(20, 2, 2)


@functools.cache
def tiny_lines(name):
    """Return the lines of an experiment at the tiny size."""
    return experiments[name].lines(TINY)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Runs that several experiments share are simulated once."""
    return tmp_path_factory.mktemp("runs")


def test_no_name_is_not_the_beginning_of_all():
    with pytest.raises(SettingError, match="unknown experiment ''"):
        named_experiments(("",))


@pytest.mark.slow_cells("cascade/fig2a")
@pytest.mark.few(4)
@pytest.mark.parametrize("name", experiments)
def test_an_experiment_runs_and_reports(name, store):
    experiment = experiments[name]
    lines = tiny_lines(name)
    results = run_all(lines, store, executor=Processes(1), progress=lambda share, doing: None)
    content = experiment.content(results, lines) if isinstance(experiment, PaperTable) else None
    if content is not None:
        assert content.rows
        assert all(len(row) == len(content.columns) for row in content.rows)
    seen = tuple(statement.judge(results) for statement in experiment.statements)
    document = reproduction_document(Reproduced(name, Path("a.png"), Path("a.csv"), Path("a.md"), seen))
    compared, *_ = document.sections[1].blocks
    assert [row[0] for row in compared.rows] == [statement.says for statement in experiment.statements]


@pytest.mark.parametrize("name", experiments)
def test_published_learners_are_marked_and_false_ones_have_their_twin(name):
    lines = tiny_lines(name)
    played = {line.points[0][1].learner for line in lines}
    assert len({line.name for line in lines}) == len(lines)
    for line in lines:
        entry = every_learner[line.points[0][1].learner]
        assert (line.role == "published") == (
            entry.name.startswith("published/") and not entry.as_printed.startswith("makes no")
        )
        if line.role == "published" and entry.as_printed.startswith("FALSE"):
            assert entry.certified_form in played


@pytest.mark.parametrize("name", experiments)
def test_statements_are_of_lines_that_are_drawn(name, snapshot):
    """Each is judged on made-up runs by the names of the lines alone; all is as recorded, every number of a line, too.

    A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code.
    """
    rounds = np.unique(np.geomspace(1, 10_000, 60).round()).astype(np.int64)
    further = {"communication": {"reals": 9.0}, "best": [0, 1], "recommended": [[0, 1], [2, 3]]}

    def runs(value, factor):
        regret = factor * np.sqrt(rounds / (1.0 + value))[:, np.newaxis] * [1.0, 1.02]
        trace = Trace(rounds, regret, 2.0 * rounds[:, np.newaxis] - regret, 1.0)
        return SimulatedRuns(trace, "a", "b", "replace one", further=further)

    lines = tiny_lines(name)
    judged = []
    for tilt in (1.0, 0.7, 1.2):  # of each line over the one before
        drawn = {
            line.name: [(value, runs(value, tilt**number)) for value, _ in line.points]
            for number, line in enumerate(lines)
        }
        judged += [statement.judge(drawn) for statement in experiments[name].statements]
    assert all(each.words for each in judged)
    assert (
        "\n".join(map(str, (*map(described, lines), *experiments[name].sizes.items(), *judged))) == snapshot
    )


def described(line):
    """Return a line with its first and last point."""
    return replace(line, points=line.points[:1] + line.points[1:][-1:])


def test_paper_sizes_are_those_that_the_words_state_and_quick_ones_no_larger():
    """Two tables of bounds state no number of rounds."""
    unstated = set()
    for name, experiment in experiments.items():
        quick, paper = experiment.sizes["quick"], experiment.sizes["paper"]
        assert (
            (quick.runs <= paper.runs) & (quick.horizon <= paper.horizon) & (quick.points <= paper.points)
        ), name
        words = f"{experiment.shows} {experiment.setting}".replace("10⁶", "1,000,000")
        if paper.horizon > 1 and f"{paper.horizon:,}" not in re.findall(r"\d+(?:,\d+)*", words):
            unstated.add(name)
    assert unstated == {"csb/table1", "matroid/table1"}


@pytest.mark.parametrize(
    ("name", "values"),
    [("matroid/fig5b", np.linspace(0.5, 50.0, 50)), ("cascade/fig1e", 0.02 * np.arange(1, 101))],
)
def test_paper_sizes_have_the_values_of_epsilon_that_the_words_state(name, values):
    for line in experiments[name].lines(experiments[name].sizes["paper"]):
        if len(line.points) > 11:  # a few for the certified twins
            np.testing.assert_allclose([value for value, _ in line.points], values, rtol=1e-9)


def test_the_beginning_of_a_name_stands_for_all_that_begin_so():
    assert [each.name for each in named_experiments(("matroid/fig2",))] == ["matroid/fig2a", "matroid/fig2b"]
    assert [each.name for each in named_experiments(("matroid/fig1", "matroid/fig1"))] == ["matroid/fig1"]
    with pytest.raises(SettingError, match="unknown experiment 'matroid/fig9'"):
        named_experiments(("matroid/fig9",))
