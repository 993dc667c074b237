"""Functions of scripts and notebooks are verified without their main part, and what was not run is said."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

from verify import verify
from verify.subject_error import SubjectError
from verify.subjects.resolve import left_out_of, load_object

SCRIPT = """
import sys
import numpy as np
sys.path.append("elsewhere")
EPSILON, OTHER = 1.0, 2.0
SETTINGS = {}
SETTINGS["scale"] = 0.25
SETTINGS.update(scale=0.5 / EPSILON)
counts = []

def scale():
    return SETTINGS["scale"]

def noisy(data, rng):
    return data + rng.laplace(scale=scale())

def counted(data, rng):
    return sum(i for i in range(3)) + [data for k in range(2)][0]

for i in range(10**12):
    k = counts[i]

def fill():
    global LATER
    LATER = 3

fill()

def later(data, rng):
    return LATER

counts.append(noisy(0.0, np.random.default_rng()))
raise SystemExit(f"the main part was run: {EPSILON}")
"""


def notebook(folder: Path, *cells: str, language: str = "python") -> Path:
    path = folder / "notebook.ipynb"
    made = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    made.insert(1, {"cell_type": "markdown", "source": ["# Words"]})
    data = {"cells": made, "metadata": {"kernelspec": {"language": language}}, "nbformat": 4}
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_of_a_script_what_a_function_needs_is_run(script: Path) -> None:
    noisy = load_object(f"{script}::noisy")
    assert noisy.__globals__["SETTINGS"] == {"scale": 0.5}
    assert not {"counts", "fill", "later"} & noisy.__globals__.keys()
    assert left_out_of(f"{script}::noisy") == ("line 9", "line 20", "line 27", "line 32", "line 33")
    assert load_object(f"{script}::later")(0, None) == 3
    assert load_object(f"{script}::counted")(4, None) == 7


def test_a_script_that_is_imported_whole_says_how_not_to(script: Path) -> None:
    with pytest.raises(SubjectError, match=r"script.py:21 does not import: IndexError.*::object"):
        load_object(f"{script}:noisy")
    assert left_out_of(f"{script}:noisy") == ()


def test_a_function_of_a_script_is_verified(script: Path) -> None:
    from mechanisms import Interval

    result = verify(f"{script}::noisy", epsilon=1.0, neighbours=Interval(0, 1), samples=40_000)
    assert result.verdict == "refuted"
    (said,) = (finding.message for finding in result.findings if finding.kind == "not-run")
    assert "not executed: line 9; line 20; line 27; line 32; and 1 more (only" in said


def test_a_function_of_a_notebook_is_what_its_cells_make_it(tmp_path: Path) -> None:
    path = notebook(
        tmp_path,
        "%matplotlib inline\nimport math\nfiles = !ls\n?math",
        "%%bash\nexit 3",
        "%%time\n\ndef scale():\n    return math.pi\n",
        "def f(data, rng):\n    display(data)\n    return data + scale()\n",
        "raise SystemExit('the main part was run')",
        "this is no Python",
    )
    f = load_object(f"{path}:f")
    assert f(1.0, None) == pytest.approx(1.0 + 3.14159265)
    assert f.__code__.co_firstlineno == 4_001
    assert inspect.getsource(f).startswith("def f(data, rng)")
    assert left_out_of(f"{path}:f") == (
        "cell 1, line 1: %matplotlib inline",
        "cell 1, line 3: files = !ls",
        "cell 1, line 4: ?math",
        "cell 2: %%bash",
        "cell 3: %%time",
        "cell 6: is no Python that could be read",
        "cell 5, line 1",
    )


@pytest.mark.parametrize(
    ("cells", "name", "words"),
    [
        (["%%cython\ndef f(data): ..."], "f", r"no object 'f' at top level.*not read: cell 1: %%cython"),
        (["def g():\n    pass"], "f", "it defines g"),
        (
            ["x = 1\nraise KeyError(x)\ndef f(data, rng): ...\nf.x = undefined"],
            "f",
            "notebook.ipynb:1004 does not",
        ),
        (["x = 1\n" * 1_000], "f", "cell 1 has 1000 lines"),
    ],
)
def test_what_cannot_be_had_of_a_notebook_is_said(
    tmp_path: Path, cells: list[str], name: str, words: str
) -> None:
    with pytest.raises(SubjectError, match=words):
        load_object(f"{notebook(tmp_path, *cells)}:{name}")


def test_only_notebooks_of_python_are_read(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match="its language is julia"):
        load_object(f"{notebook(tmp_path, 'f(x) = x', language='julia')}:f")
    broken = tmp_path / "broken.ipynb"
    for text in ("{}", "[", '{"cells": [{"cell_type": "code", "source": 3}]}', "\0"):
        broken.write_text(text)
        with pytest.raises(SubjectError, match="is no Jupyter notebook"):
            load_object(f"{broken}:f")
    with pytest.raises(SubjectError, match="no such file"):
        load_object(f"{tmp_path / 'none.ipynb'}:f")
