"""What looks like a mechanism or a bandit is found in the source; nothing is run, and the rest is passed over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verify.repository.callables import found_in, python_files
from verify.subject_error import SubjectError

SOURCE = """
raise SystemExit("nothing of a checkout is run")

def laplace_mechanism(value, epsilon): return value + np.random.laplace(scale=1 / epsilon)
def simulate(value): return value + np.random.laplace()
def epsilon_of(budget): return 2 * budget
def plot_epsilon(epsilon): return plt.plot(rng.laplace(epsilon))

class Mechanism:
    def __init__(self, epsilon): self.epsilon = epsilon
    def randomise(self, value): raise NotImplementedError
    def noise(self): return rng.laplace(scale=1 / self.epsilon)

class Laplace(Mechanism):
    def randomise(self, value): return value + self.noise()

class Greedy:
    def __init__(self, epsilon): self.epsilon = epsilon
    def select_arm(self): return 0
    def update(self, arm, reward): pass

class DPUCB(Greedy):
    def update(self, arm, reward): self.sums[arm] += reward + rng.laplace()

class Solver:
    def step(self, last_reward, last_arm): raise NotImplementedError

class PrivateSolver(Solver):
    def step(self, last_reward, last_arm): return self.rng.laplace()

class Regressor:
    def predict(self, X): return X
    def partial_fit(self, X, y): pass
"""


def test_mechanisms_and_bandits_are_found_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(SOURCE)
    found = [(each.kind, each.name, each.line, each.private) for each in found_in(path)]
    assert found == [
        ("mechanism", "laplace_mechanism", 4, True),
        ("mechanism", "Laplace.randomise", 15, True),
        ("bandit", "Greedy", 17, False),
        ("bandit", "DPUCB", 22, True),
        ("bandit", "PrivateSolver", 28, True),
    ]
    assert found_in(path)[1].constructor.lineno == 10  # type: ignore[union-attr]


def test_notebooks_are_read_and_tests_and_installed_code_are_not(tmp_path: Path) -> None:
    for name in (
        "a/code.py",
        "tests/code.py",
        "a/test_code.py",
        ".venv/code.py",
        "build/code.py",
        "note.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(SOURCE)
    (tmp_path / "link.py").symlink_to(tmp_path / "a/code.py")
    notebook = tmp_path / "b.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": "%pylab\n" + SOURCE}]}))
    assert list(python_files(tmp_path)) == [tmp_path / "a/code.py", notebook]
    assert found_in(notebook)[0].line == 1_005


def test_what_is_no_python_is_said(tmp_path: Path) -> None:
    path = tmp_path / "old.py"
    path.write_text("print 'Python 2'")
    with pytest.raises(SubjectError, match=r"old\.py: cannot be read as Python"):
        found_in(path)


def test_one_file_that_is_nested_too_deep_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "deep.py"
    path.write_text("x = " + "-" * 20_000 + "1")  # MemoryError of the parser, RecursionError of later ones
    with pytest.raises(SubjectError, match=r"deep\.py: cannot be read as Python: \w"):
        found_in(path)
    cell = {"cell_type": "code", "source": path.read_text()}
    (tmp_path / "deep.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert found_in(tmp_path / "deep.ipynb") == []
