"""The notebooks run from top to bottom, print what they are committed with, and end cells with what shows itself."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))


def run_cell(source, names):
    """Run a cell as a notebook does; return its last expression's value, if it ends with one."""
    body = ast.parse(source)
    last = ast.Expression(body.body.pop().value) if isinstance(body.body[-1], ast.Expr) else None
    exec(compile(body, "cell", "exec"), names)
    return None if last is None else eval(compile(last, "cell", "eval"), names)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        value = run_cell("".join(cell["source"]), names)
        shown = {output["output_type"]: output for output in cell["outputs"]}
        printed = capsys.readouterr()
        assert printed.out == "".join(shown.get("stream", {"text": ""})["text"])
        assert printed.err == ""
        assert (value is not None) == ("execute_result" in shown)
        if value is not None:
            assert repr(value) == "".join(shown["execute_result"]["data"]["text/plain"])
            assert value._repr_html_().startswith("<style>")
    assert sum(bool(cell["outputs"]) for cell in cells) > 2
